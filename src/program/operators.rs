//! The step of a rank where a plan shards some operators in a way of their own. Not for which way that is
//! ([`super::operator_layouts`]).

use crate::cost::Rates;
use crate::plan::pass::Pass;
use crate::scenario::Layout;

use super::build::RankBuilder;
use super::operator_layouts::{OperatorLayouts, StageParameters};
use super::parameter_group::ParameterGroup;
use super::state::ModelState;
use super::step::build_order;
use super::unit_order::{UnitList, recomputed_layers};

/// Builds the step and gives the memory of the rank's states.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, builder: RankBuilder<'_>) -> ModelState {
    let places = OperatorLayouts::new(rates.scenario, layout);
    let (costs, model) = (places.costs(rates, false), &rates.scenario.model);
    let whole = places.stage_layers(0..model.layers, recomputed_layers(&costs[0]), [model.vocab > 0; 2]);
    let mut listing = UnitList::default();
    for pass in [Pass::Forward, Pass::Backward] {
        places.list(&costs, &whole, pass, &mut listing);
    }
    let held = places.holdings(&whole);
    let share = |held: &StageParameters| ParameterGroup::new(&costs[held.way], held.parameters);
    let shares: Vec<ParameterGroup<'_>> = held.iter().map(share).collect();
    build_order(listing.order(), &shares, builder);
    ModelState::of_groups(&shares)
}
