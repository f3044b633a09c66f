//! A row of the table of plans: the plan, and what is worked out of it once.

use crate::scenario::Layout;
use crate::search::plans::FoundWhole;

/// A row.
#[derive(Debug, Clone)]
pub struct PlanRow {
    /// Its place by the objective.
    pub rank: usize,
    /// The plan, and what it comes to.
    pub found: FoundWhole,
    /// Over how many ranks its state lies, its operators apart.
    pub layout: Option<Layout>,
}

impl PlanRow {
    pub(super) fn new(rank: usize, found: FoundWhole) -> Self {
        let FoundWhole { scenario, .. } = &found;
        let layout = scenario.layout().ok();
        Self { rank, found, layout }
    }
}
