//! The shortest training: the plan of each method that takes the fewest days by device limit.
//!
//! Every plan of a grid has a bound on its days, by that of its step ([`super::step_bound`]); plans are simulated in the order of their
//! bounds until the next bound is beyond the best that fits, so that the answer is the grid's best and
//! few of them are simulated. Host memory is assumed unlimited. After "Layered gradient accumulation and modular
//! pipeline parallelism" (arXiv 2106.02679). Not for one plan's closed forms, which are [`crate::bounds`]'s.

mod breakdown;
mod choice;
mod closed_form;
mod fewest;
mod goal;
mod grid;
mod method;
mod question;
mod run;

pub use breakdown::StepBreakdown;
pub use choice::TrainingChoice;
pub use closed_form::ClosedForm;
pub use fewest::BestTraining;
pub use goal::{Goal, USUAL_STEPS};
pub use method::{METHODS, Method, StageAssignment};
pub use question::TrainingSearch;
pub use run::TrainingAnswer;

#[cfg(test)]
mod tests;
