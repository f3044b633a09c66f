//! One search over whole plans: size, tensor, context and pipeline ranks, schedule and virtual stages, micro-batch,
//! recompute, order of accumulation, and over how many ranks each part of the state is sharded.
//!
//! Branch and bound, exact over its grid: shapes of the mesh, then their schedules with each recompute, then extents.
//! Each has a lower bound on the time of its plans (module `lower_bound`) and is expanded in the order of the bounds,
//! until no bound is below the best plans found: what is left out cannot be better. Rounds are the same on any number
//! of threads. Not for a choice of sharding for each operator ([`super::planner`]), nor for batches of any size
//! ([`super::training`]).

mod answer;
mod best_plans;
mod branch_and_bound;
mod extents;
mod launched;
mod launchers;
mod lower_bound;
mod objective;
mod search_space;
mod shape;
mod transfers;
mod workers;

pub use answer::{EvaluatedPlan, PlanCounts, PlanSearchAnswer, SearchPhase, SearchShare};
pub use best_plans::{pareto_figures, pareto_front};
pub use branch_and_bound::PlanSearch;
pub use launchers::Launchers;
pub(super) use lower_bound::{least_memory, least_scores};
pub use objective::TokenPace;
pub use objective::{Margin, Objective, SearchLimits};
pub use search_space::{Allowed, SearchSpace, launched_fields, searched_fields};
pub(super) use search_space::{Grain, MOST_SEQUENCES, micro_batches};
pub(super) use workers::BorrowedWorkspace;

#[cfg(test)]
mod tests;
