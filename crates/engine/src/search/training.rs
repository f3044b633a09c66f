//! The shortest training: the plan of each method that takes the fewest days by device limit.
//!
//! Every plan of a grid has a bound on its days, by that of its step (`search::step_bound`); plans are simulated in the order of their
//! bounds until the next bound is beyond the best that fits, so that the answer is the grid's best and
//! few of them are simulated. Host memory is assumed unlimited. After "Layered gradient accumulation and modular
//! pipeline parallelism" (arXiv 2106.02679). Not for one plan's closed forms, which are [`crate::bounds`]'s.

mod breakdown;
mod candidates;
mod closed_form;
mod method;
mod question;
mod run;

pub use breakdown::StepBreakdown;
pub use closed_form::ClosedForm;
pub use method::{METHODS, Method, StageAssignment};
pub use question::{Goal, TrainingChoice, TrainingSearch, USUAL_STEPS};
pub use run::{BestTraining, TrainingAnswer};

#[cfg(test)]
mod tests;
