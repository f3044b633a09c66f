//! Plans that choose for each operator how its state is placed, after OSDP (IJCAI 2023, arXiv 2209.13258), and
//! with it micro-batch, accumulation and recompute.
//!
//! Two cost models: the paper's, additive and searched exactly by [`classes`], and the simulator, searched step
//! by step from where the paper's model leads. Whatever was searched, the simulator evaluates the plan that
//! is chosen. The search is a climb, not exact, since operators' times are no sum; the best that treats all operators
//! alike is that of the exact search ([`super::plans`]), from which a climb begins too: no plan here is worse. [`profile`] plans from measured rows. Not for batch and recompute of a plan whose sharding is
//! settled ([`super::tuned`]).

mod candidate;
pub mod classes;
mod climb;
mod found;
mod judge;
mod memory_curve;
mod paper;
mod placement_gain;
pub mod profile;
mod refined;
mod request;
mod run;
mod space;

pub use found::{FoundPlan, PlanAnswer, Uniform};
pub use memory_curve::MemoryCurve;
pub use placement_gain::PlacementGain;
pub use refined::{best_plans, refined};
pub use request::{CostModel, PlanRequest, PlannerObjective};
pub use run::plan;

#[cfg(test)]
mod tests;
