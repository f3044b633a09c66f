//! Groups of parameters with one sharding, as the parameter groups of an optimizer have one learning rate. Not for
//! which operators are in a group ([`super::operator_layouts`]).

use super::unit_costs::UnitCosts;
use crate::units::Count;

/// Parameters that share one sharding, and their costs under it.
#[derive(Clone, Copy)]
pub(super) struct ParameterGroup<'a> {
    pub costs: &'a UnitCosts<'a>,
    /// On one tensor and pipeline rank, before sharding.
    pub parameters: Count,
}

impl<'a> ParameterGroup<'a> {
    /// From a number of parameters before tensor parallelism splits them.
    pub fn new(costs: &'a UnitCosts<'a>, parameters: u64) -> Self {
        Self { costs, parameters: costs.local(parameters) }
    }
}
