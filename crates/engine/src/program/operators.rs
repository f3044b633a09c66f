//! The step of a rank where a plan shards some operators in another way than the rest. Not for which layout each has
//! ([`super::operator_layouts`]).

use crate::cost::Rates;
use crate::plan::pass::Pass;
use crate::scenario::Layout;

use super::build::RankBuilder;
use super::operator_layouts::{OperatorLayouts, StageEnds, StageParameters};
use super::parameter_group::ParameterGroup;
use super::state::ModelState;
use super::step::build_order;
use super::unit_order::{UnitList, recomputed_layers};

/// Builds the step and gives the memory of the rank's states; `list` is filled with its unit passes.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, list: &mut UnitList, builder: RankBuilder<'_>) -> ModelState {
    let layouts = OperatorLayouts::new(rates.scenario, layout);
    let (costs, model) = (layouts.costs(rates, false), &rates.scenario.model);
    let ends = StageEnds { embedding: model.vocab > 0, head: model.vocab > 0 };
    let whole = layouts.stage_layers(0..model.layers, recomputed_layers(&costs[0]), ends);
    list.clear();
    for pass in [Pass::Forward, Pass::Backward] {
        layouts.list(&costs, &whole, pass, list);
    }
    let held = layouts.holdings(&whole);
    let group = |held: &StageParameters| ParameterGroup::new(&costs[held.layout], held.parameters);
    let groups: Vec<ParameterGroup<'_>> = held.iter().map(group).collect();
    build_order(list.order(), &groups, builder);
    ModelState::of_groups(&groups)
}
