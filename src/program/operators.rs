//! The step of a rank whose operators are not all placed alike.

use crate::cost::Rates;
use crate::scenario::Layout;

use super::boundary::Share;
use super::build::Builder;
use super::order::Listing;
use super::places::{Holding, Places};
use super::state::State;
use super::step::{build_order, recomputed_layers};

/// Builds the step and gives the memory of the rank's states.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, builder: Builder<'_>) -> State {
    let places = Places::of(rates.scenario, layout);
    let (visits, model) = (places.visits(rates, false), &rates.scenario.model);
    let whole = places.section(0..model.layers, recomputed_layers(&visits[0]), [model.vocab > 0; 2]);
    let mut listing = Listing::default();
    for backward in [false, true] {
        places.list(&visits, &whole, backward, &mut listing);
    }
    let held = places.holdings(&whole);
    let share = |held: &Holding| Share::of(&visits[held.way], held.parameters);
    let shares: Vec<Share<'_>> = held.iter().map(share).collect();
    build_order(listing.order(), &shares, builder);
    State::of_shares(&shares)
}
