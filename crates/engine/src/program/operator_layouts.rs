//! The sharding of each operator of a model, and the units that follow from it. Not for the tasks of a step
//! ([`super::step`], [`super::pipeline`]).
//!
//! A layer is one unit where one entry of the plan places both its attention and its MLP and slices neither, else two.
//! Equal neighbouring layers form one range, whose units repeat as one group: A0 M0 A1 M1 and so on. Where kinds of layers
//! take turns, a range has the layers of one place in the turn, and the group the units of all: W0 W1 F2 W3 W4 F5.

use crate::units::Count;
use std::ops::Range;
use std::sync::Arc;

use crate::cost::{Parameters, PerPiece, Piece, Rates};
use crate::model::LayerKind;
use crate::plan::pass::Pass;
use crate::plan::{Placement, Site};
use crate::scenario::{Layout, Scenario};

use super::label::ModelPart;
use super::layer_units::{self, Run};
use super::unit_costs::UnitCosts;
use super::unit_order::{UnitList, UnitRun};
use super::unit_work::UnitWork;

/// A sharding of operators and the number of slices that it cuts them into.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OperatorLayout {
    layout: Layout,
    slices: u32,
}

/// Layers of one kind with the same placement and the same recompute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LayerRange {
    /// The range's first layer, counted from the stage's first.
    first: u32,
    layers: u32,
    /// From one of its layers to the next: 1 for neighbours. So many ranges take turns, layer by layer.
    step: u32,
    kind: LayerKind,
    /// The layouts of its pieces, by index.
    placed: PerPiece<usize>,
    units: [Run; 2],
    recomputed: bool,
}

/// The ends of the model that a stage has beside its layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StageEnds {
    pub embedding: bool,
    pub head: bool,
}

/// The layers of a stage, and the ends that go with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StageLayers {
    ranges: Vec<LayerRange>,
    ends: StageEnds,
}

/// The parameters of a stage that share one sharding.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct StageParameters {
    /// Their layout, by index.
    pub layout: usize,
    pub parameters: Parameters,
    /// Units that hold them, and collectives that gather or reduce all of those.
    pub units: Count,
    pub collectives: Count,
}

/// The shardings of a plan's operators.
pub(super) struct OperatorLayouts<'a> {
    scenario: &'a Scenario,
    /// The plan's own sharding first.
    layouts: Vec<OperatorLayout>,
    /// The plan's entries for operators, and which sharding each has.
    placements: &'a [Placement],
    entries: Vec<usize>,
    /// For each sharding, the index of the one that its experts have on a mesh of their own; empty without such a mesh.
    experts: Vec<usize>,
}

impl LayerRange {
    /// Whether another range of neighbours goes on as this one.
    fn goes_on_as(&self, next: &Self) -> bool {
        let treatment = |range: &Self| (range.kind, range.placed, range.units, range.recomputed);
        self.step == 1 && next.step == 1 && treatment(self) == treatment(next)
    }
}

/// Splits ranges that take turns off the front or, in backward, off the back.
fn split_turn<'r>(ranges: &mut &'r [LayerRange], backward: bool) -> Option<&'r [LayerRange]> {
    let step = if backward { ranges.last() } else { ranges.first() }?.step as usize;
    let turn;
    if backward {
        (*ranges, turn) = ranges.split_at(ranges.len() - step);
    } else {
        (turn, *ranges) = ranges.split_at(step);
    }
    Some(turn)
}

impl<'a> OperatorLayouts<'a> {
    pub fn new(scenario: &'a Scenario, layout: &Layout) -> Self {
        Self::placed(scenario, layout, &scenario.plan.operators)
    }

    /// The plan's default sharding for every operator, ignoring its entries.
    pub fn plain(scenario: &'a Scenario, layout: &Layout) -> Self {
        Self::placed(scenario, layout, &[])
    }

    fn placed(scenario: &'a Scenario, layout: &Layout, placements: &'a [Placement]) -> Self {
        let mut layouts = vec![OperatorLayout { layout: *layout, slices: 1 }];
        let entry = |placement: &Placement| {
            let own = OperatorLayout { layout: layout.placed(scenario, &placement.extents), slices: placement.split };
            layouts.iter().position(|known| *known == own).unwrap_or_else(|| {
                layouts.push(own);
                layouts.len() - 1
            })
        };
        let entries = placements.iter().map(entry).collect();
        // Behind all others, so that the first is the plan's own.
        let mut experts = Vec::new();
        if scenario.model.experts.is_some() && layout.has_expert_mesh() {
            experts.extend((layouts.len()..).take(layouts.len()));
            layouts.extend_from_within(..);
            for own in &experts {
                layouts[*own].layout = layouts[*own].layout.of_experts();
            }
        }
        Self { scenario, layouts, placements, entries, experts }
    }

    /// The layouts of a layer's pieces, by index. Where experts have a mesh of their own, an entry for MLPs places
    /// them, and the router goes with the mixer.
    fn pieces(&self, layer: u32) -> PerPiece<usize> {
        let [mixer, mlp] = [Site::Attention(layer), Site::Mlp(layer)].map(|site| self.layout_of(site));
        PerPiece::from_fn(|piece| match piece {
            Piece::Mixer | Piece::Router => mixer,
            Piece::Mlp => mlp,
            Piece::Experts => self.experts.get(mlp).copied().unwrap_or(mlp),
        })
    }

    /// The costs of unit passes, layout by layout, where units have this work.
    pub(crate) fn costs_with<'v>(
        &'v self,
        rates: &'v Rates<'v>,
        staged: bool,
        work: &Arc<UnitWork>,
    ) -> Vec<UnitCosts<'v>> {
        let costs = |(place, own): (usize, &'v OperatorLayout)| UnitCosts {
            place,
            ..UnitCosts::with_work(rates, &own.layout, staged, Arc::clone(work))
        };
        self.layouts.iter().enumerate().map(costs).collect()
    }

    /// The layout of an operator, by index.
    pub(crate) fn layout_of(&self, site: Site) -> usize {
        // Logits that reuse the embedding lie where it lies.
        let site = if site == Site::Head && self.scenario.model.has_tied_logits() { Site::Embedding } else { site };
        Placement::find(self.placements, site).map_or(0, |entry| self.entries[entry])
    }

    /// All layers of the model, with its ends.
    pub(crate) fn whole_model(&self, recomputed: u32) -> StageLayers {
        let model = &self.scenario.model;
        let ends = StageEnds { embedding: model.vocab > 0, head: model.vocab > 0 };
        self.stage_layers(0..model.all_layers(), recomputed, ends)
    }

    /// The ranges of a stage's layers, with its ends. Layers before `recomputed` are recomputed.
    pub(crate) fn stage_layers(&self, layers: Range<u32>, recomputed: u32, ends: StageEnds) -> StageLayers {
        let mut ranges: Vec<LayerRange> = Vec::new();
        let mut layer = layers.start;
        while layer < layers.end {
            let [attention, mlp] =
                [Site::Attention(layer), Site::Mlp(layer)].map(|site| Placement::find(self.placements, site));
            let end = self.changes(recomputed).filter(|change| *change > layer).fold(layers.end, u32::min);
            let recomputed = layer < recomputed;
            let range = |layer: u32, count: u32, step: u32| {
                let (first, kind) = (layer - layers.start, self.scenario.model.kind(layer));
                let placed = self.pieces(layer);
                // Compared by entry, not by layout: two entries are two units for a runtime even where they shard alike.
                let split = attention != mlp || self.layouts[placed[Piece::Mixer]].slices > 1;
                let units = layer_units::runs(kind, kind.has_experts() && !self.experts.is_empty(), split);
                LayerRange { first, layers: count, step, kind, placed, units, recomputed }
            };
            let mut add = |next: LayerRange| match ranges.last_mut() {
                // 32 equal layers are one range; with every fourth layer placed elsewhere they are ranges of 3, 1, 3, 1 ...
                Some(last) if last.goes_on_as(&next) => last.layers += next.layers,
                _ => ranges.push(next),
            };
            // 62 layers of which each sixth is of another kind: ten turns of six ranges, and two layers more.
            let (period, mixed) = self.turn(layer..end);
            let turns = (end - layer) / period;
            if !mixed {
                add(range(layer, end - layer, 1));
                layer = end;
            } else if turns > 1 {
                (layer..layer + period).for_each(|layer| add(range(layer, turns, period)));
                layer += turns * period;
            } else {
                add(range(layer, 1, 1));
                layer += 1;
            }
        }
        StageLayers { ranges, ends }
    }

    /// Layers after which the kinds of some layers come again, and whether these differ.
    fn turn(&self, mut layers: Range<u32>) -> (u32, bool) {
        let (model, first) = (&self.scenario.model, layers.start);
        let period = model.kind_period();
        let mixed = period > 1 && layers.any(|layer| model.kind(layer) != model.kind(first));
        (period, mixed)
    }

    /// Layers at which placement, recompute or the turns of kinds change.
    fn changes(&self, recomputed: u32) -> impl Iterator<Item = u32> {
        let placed = self.placements.iter().filter_map(|placement| placement.layers);
        let placed = placed.flat_map(|layers| [layers.first, layers.last + 1]);
        placed.chain(self.scenario.model.kind_changes()).chain([recomputed])
    }

    /// A stage's parameters, layout by layout; logits that are tied to an embedding elsewhere have a copy of its
    /// weights.
    pub(crate) fn holdings(&self, work: &UnitWork, layers: &StageLayers) -> Vec<StageParameters> {
        let (scenario, model, whole) =
            (self.scenario, &self.scenario.model, Count::from(self.scenario.stack.collectives.per_layer));
        let mut held = vec![StageParameters::default(); self.layouts.len()];
        let mut add = |layout: usize, (count, slices): (u32, u32), parameters: Parameters, collectives: Count| {
            let units = Count::from(count) * f64::from(slices);
            held[layout].layout = layout;
            held[layout].parameters = held[layout].parameters + parameters * f64::from(count);
            held[layout].units += units;
            held[layout].collectives += collectives * units.get();
        };
        for LayerRange { layers: count, kind, placed, units, .. } in &layers.ranges {
            for pieces in units {
                let Some(first) = pieces.first() else { continue };
                let (layout, collectives) = (placed[*first], layer_units::collectives(pieces, whole));
                let parameters = layer_units::parameters(pieces, |piece| work.layers.get(*kind).parameters[piece]);
                add(layout, (*count, self.layouts[layout].slices), parameters, collectives);
            }
        }
        // A tied model counts the shared matrix with the embedding. The last rank of a pipeline has no embedding, and
        // keeps a copy of the matrix, as in Megatron-LM (`shared_embedding_or_output_weight`); so it does where it looks
        // further tokens up.
        let elsewhere = scenario.plan.pipeline > 1 && !layers.ends.embedding;
        let copied =
            if model.shares_embedding() && elsewhere { u64::from(model.vocab) * u64::from(model.hidden) } else { 0 };
        if layers.ends.embedding {
            add(self.layout_of(Site::Embedding), (1, 1), Parameters::embedding(scenario), whole);
        }
        if layers.ends.head {
            add(
                self.layout_of(Site::Head),
                (1, 1),
                Parameters::head(scenario) + Parameters::outside(scenario, copied, scenario.trains_embedding()),
                whole,
            );
        }
        held.retain(|holding| holding.parameters.weights > Count::ZERO);
        held
    }

    /// Appends a pass over a stage's units.
    pub fn list(&self, costs: &[UnitCosts<'_>], layers: &StageLayers, pass: Pass, list: &mut UnitList) {
        let end = |(there, site, part): (bool, Site, ModelPart), list: &mut UnitList| {
            if there {
                let unit_pass = costs[self.layout_of(site)].end_pass(part, pass);
                list.add_turn(|runs| runs.push(UnitRun { unit_pass, count: 1, ..UnitRun::default() }));
            }
        };
        let embedding = (layers.ends.embedding, Site::Embedding, ModelPart::Embedding);
        let head = (layers.ends.head, Site::Head, ModelPart::Head);
        let (backward, mut left) = (pass.is_backward(), &layers.ranges[..]);
        let [first, last] = if backward { [head, embedding] } else { [embedding, head] };
        end(first, list);
        while let Some(turn) = split_turn(&mut left, backward) {
            list.add_turn(|runs| {
                let add = |range| self.add_runs(costs, range, pass, runs);
                if backward { turn.iter().rev().for_each(add) } else { turn.iter().for_each(add) }
            });
        }
        end(last, list);
    }

    /// Adds a pass over the units of a range, which take turns.
    fn add_runs(&self, costs: &[UnitCosts<'_>], range: &LayerRange, pass: Pass, runs: &mut Vec<UnitRun>) {
        let LayerRange { first, layers, step, kind, placed, units, recomputed } = *range;
        // Backward begins with the last layer of the range and counts down.
        let ahead = step.cast_signed();
        let (layer, step) = if pass.is_backward() { (first + (layers - 1) * step, -ahead) } else { (first, ahead) };
        let (costs, slices) = (placed.map(|layout| &costs[layout]), placed.map(|layout| self.layouts[layout].slices));
        let add = |unit_pass| runs.push(UnitRun { unit_pass, count: layers, layer, step, beside: 0 });
        layer_units::pass_over(kind, units, costs, slices, recomputed, pass, add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mixer;
    use crate::plan::{Extent, Extents, Layers, Operator};
    use crate::testing;

    /// Layers 2 and 3 of 8 are placed elsewhere, and the first 5 are recomputed: 0 and 1, 2 and 3, 4, 5 to 7. A stage of
    /// layers 3 to 6 has 3, 4, 5 and 6, counted from its first.
    #[test]
    fn layers_form_ranges_from_one_change_to_the_next() {
        let mut scenario = testing::scenario();
        scenario.plan.operators = vec![Placement {
            layers: Some(Layers { first: 2, last: 3 }),
            operator: Operator::Layer,
            extents: Extents { weights: Some(Extent::Device), ..Extents::default() },
            split: 1,
        }];
        let layout = scenario.layout().expect("it is possible");
        let ranges = |layers: StageLayers| {
            layers.ranges.iter().map(|range| (range.first, range.layers, range.recomputed)).collect::<Vec<_>>()
        };
        let (placed, plain) = (OperatorLayouts::new(&scenario, &layout), OperatorLayouts::plain(&scenario, &layout));
        let whole = ranges(placed.whole_model(5));
        assert_eq!(whole, [(0, 2, true), (2, 2, true), (4, 1, true), (5, 3, false)]);
        let stage = placed.stage_layers(3..7, 5, StageEnds { embedding: false, head: false });
        assert_eq!(ranges(stage), [(0, 1, true), (1, 1, true), (2, 2, false)]);
        assert_eq!(ranges(plain.whole_model(5)), [(0, 5, true), (5, 3, false)]);
    }

    /// 8 layers of which each third sees everything, the others but a window: two turns of three ranges, and two layers
    /// more. A stage that begins in the middle of a turn has turns of its own, and one that is shorter than two has none.
    #[test]
    fn kinds_that_take_turns_form_ranges_side_by_side() {
        let mut scenario = testing::scenario();
        scenario.model = std::sync::Arc::new(testing::of_kinds(testing::model(8, 1024), 4));
        let layout = scenario.layout().expect("it is possible");
        let layouts = OperatorLayouts::new(&scenario, &layout);
        let ranges = |layers: &StageLayers| {
            let range = |range: &LayerRange| (range.first, range.layers, range.step, range.kind.mixer == Mixer::Window);
            layers.ranges.iter().map(range).collect::<Vec<_>>()
        };
        let whole = layouts.whole_model(0);
        assert_eq!(ranges(&whole), [(0, 2, 3, true), (1, 2, 3, true), (2, 2, 3, false), (6, 2, 1, true)]);
        let ends = StageEnds { embedding: false, head: false };
        let stage = |layers| ranges(&layouts.stage_layers(layers, 0, ends));
        assert_eq!(stage(1..7), [(0, 2, 3, true), (1, 2, 3, false), (2, 2, 3, true)]);
        assert_eq!(stage(4..8), [(0, 1, 1, true), (1, 1, 1, false), (2, 2, 1, true)]);
        // Forward passes layers 0 to 7 in order, backward the other way round.
        let rates = Rates::new(&scenario, &crate::cost::Factors::default());
        let costs = layouts.costs_with(&rates, false, &Arc::new(UnitWork::new(&rates, &layout)));
        let passed = |pass: Pass| {
            let mut list = UnitList::default();
            layouts.list(&costs, &whole, pass, &mut list);
            let turn = |runs: &[UnitRun]| {
                let of_turn = |turn: u32| runs.iter().map(move |run| run.layer_at(turn)).collect::<Vec<_>>();
                (0..runs[0].count).flat_map(of_turn).collect::<Vec<_>>()
            };
            list.turns().flat_map(turn).collect::<Vec<u32>>()
        };
        assert_eq!(passed(Pass::Forward), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(passed(Pass::Backward), [7, 6, 5, 4, 3, 2, 1, 0]);
    }
}
