//! One search over whole plans: size, tensor, context and pipeline ranks, schedule and virtual stages, micro-batch,
//! recompute, order of accumulation, and over how many ranks each part of the state is sharded.
//!
//! Branch and bound, exact over its grid: shapes of the mesh, then their schedules with each recompute, then extents.
//! Each has a floor under the time of its plans (module `floor`) and is opened in the order of the floors, until no floor
//! is below the best plans found: what is left out cannot be better. Rounds are the same on any number of threads. Not
//! for a choice of sharding for each operator ([`super::planner`]), nor for batches of any size ([`super::training`]).

mod aim;
mod answer;
mod best_plans;
mod extents;
mod floor;
mod freedom;
mod run;
mod shape;
mod workers;

pub use aim::{Aim, SearchLimits, TokenPace};
pub use answer::{FoundWhole, PlanCounts, SearchShare, WholeAnswer};
pub use best_plans::{unbeaten, weighed};
pub use freedom::{Allowed, Freedom, changed};
pub(super) use freedom::{MOST_SEQUENCES, micro_batches};
pub use run::PlanSearch;

#[cfg(test)]
mod tests;
