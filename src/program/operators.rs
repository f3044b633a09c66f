//! The step of a rank whose operators are not all placed alike.

use crate::cost::Rates;
use crate::scenario::Layout;

use super::boundary::ParameterGroup;
use super::build::RankBuilder;
use super::order::UnitList;
use super::places::{OperatorLayouts, StageParameters};
use super::state::ModelState;
use super::step::{build_order, recomputed_layers};

/// Builds the step and gives the memory of the rank's states.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, builder: RankBuilder<'_>) -> ModelState {
    let places = OperatorLayouts::of(rates.scenario, layout);
    let (costs, model) = (places.costs(rates, false), &rates.scenario.model);
    let whole = places.layers_of(0..model.layers, recomputed_layers(&costs[0]), [model.vocab > 0; 2]);
    let mut listing = UnitList::default();
    for backward in [false, true] {
        places.list(&costs, &whole, backward, &mut listing);
    }
    let held = places.holdings(&whole);
    let share = |held: &StageParameters| ParameterGroup::of(&costs[held.way], held.parameters);
    let shares: Vec<ParameterGroup<'_>> = held.iter().map(share).collect();
    build_order(listing.order(), &shares, builder);
    ModelState::of_shares(&shares)
}
