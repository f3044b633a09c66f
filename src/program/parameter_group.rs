//! Groups of parameters that are sharded alike.

use super::unit_costs::UnitCosts;
use crate::units::Count;

/// Parameters that are sharded alike, and how.
#[derive(Clone, Copy)]
pub(super) struct ParameterGroup<'a> {
    pub costs: &'a UnitCosts<'a>,
    /// On one tensor and pipeline rank, before sharding.
    pub parameters: Count,
}

impl<'a> ParameterGroup<'a> {
    /// Of so many parameters, all tensor ranks together.
    pub fn new(costs: &'a UnitCosts<'a>, parameters: u64) -> Self {
        Self { costs, parameters: costs.local(parameters) }
    }
}
