//! A row of the table of plans: the plan, and its place.

use shardscope_engine::search::plans::EvaluatedPlan;

/// A row.
#[derive(Debug, Clone)]
pub struct PlanRow {
    /// Its place by the objective.
    pub rank: usize,
    /// The plan, and what it comes to.
    pub found: EvaluatedPlan,
}
