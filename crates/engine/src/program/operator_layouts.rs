//! The sharding of each operator of a model, and the units that follow from it. Not for the tasks of a step
//! ([`super::step`], [`super::pipeline`]).
//!
//! A layer is one unit where one entry of the plan places both its attention and its MLP and slices neither, else two.
//! Equal neighbouring layers form one range, whose units repeat as one group: A0 M0 A1 M1 and so on.

use crate::units::Count;
use std::ops::Range;

use crate::cost::{PerSublayer, Rates};
use crate::plan::pass::Pass;
use crate::plan::{Placement, Site};
use crate::scenario::{Layout, Scenario};

use super::label::ModelPart;
use super::sublayers;
use super::unit_costs::UnitCosts;
use super::unit_order::UnitList;

/// A sharding of operators and the number of slices that it cuts them into.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OperatorLayout {
    layout: Layout,
    slices: u32,
}

/// Neighbouring layers with the same placement and the same recompute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LayerRange {
    /// The range's first layer, counted from the stage's first.
    first: u32,
    layers: u32,
    /// The layouts of attention and MLP, by index.
    placed: PerSublayer<usize>,
    /// Whether attention and MLP are units of their own.
    apart: bool,
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
    pub parameters: u64,
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
}

impl LayerRange {
    fn alike(&self, other: &Self) -> bool {
        (self.placed, self.apart, self.recomputed) == (other.placed, other.apart, other.recomputed)
    }
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
        Self { scenario, layouts, placements, entries }
    }

    /// The costs of unit passes, layout by layout.
    pub fn costs<'v>(&'v self, rates: &'v Rates<'v>, staged: bool) -> Vec<UnitCosts<'v>> {
        // What units compute and hold of activations is the same wherever their state lies: worked out once for all.
        let plain = UnitCosts::new(rates, &self.layouts[0].layout, staged);
        self.layouts.iter().map(|own| UnitCosts { layout: &own.layout, ..plain }).collect()
    }

    /// The layout of an operator, by index.
    pub(crate) fn layout_of(&self, site: Site) -> usize {
        // Logits that reuse the embedding lie where it lies.
        let site = if site == Site::Head && self.scenario.model.tied { Site::Embedding } else { site };
        Placement::find(self.placements, site).map_or(0, |entry| self.entries[entry])
    }

    /// All layers of the model, with its ends.
    pub(crate) fn whole_model(&self, recomputed: u32) -> StageLayers {
        let model = &self.scenario.model;
        let ends = StageEnds { embedding: model.vocab > 0, head: model.vocab > 0 };
        self.stage_layers(0..model.layers, recomputed, ends)
    }

    /// The ranges of a stage's layers, with its ends. Layers before `recomputed` are recomputed.
    pub(crate) fn stage_layers(&self, layers: Range<u32>, recomputed: u32, ends: StageEnds) -> StageLayers {
        let mut ranges: Vec<LayerRange> = Vec::new();
        let mut layer = layers.start;
        while layer < layers.end {
            let sites = PerSublayer { attention: Site::Attention(layer), mlp: Site::Mlp(layer) };
            let placed = sites.map(|site| self.layout_of(site));
            let entries = sites.map(|site| Placement::find(self.placements, site));
            // Compared by entry, not by layout: two entries are two units for a runtime even where they shard alike.
            let apart = entries.attention != entries.mlp || self.layouts[placed.attention].slices > 1;
            let end = self.changes(recomputed).filter(|change| *change > layer).fold(layers.end, u32::min);
            let (first, recomputed) = (layer - layers.start, layer < recomputed);
            let next = LayerRange { first, layers: end - layer, placed, apart, recomputed };
            // 32 equal layers are one range; with every fourth layer placed elsewhere they are ranges of 3, 1, 3, 1 ...
            match ranges.last_mut() {
                Some(last) if last.alike(&next) => last.layers += next.layers,
                _ => ranges.push(next),
            }
            layer = end;
        }
        StageLayers { ranges, ends }
    }

    /// Layers that may differ from the one before.
    fn changes(&self, recomputed: u32) -> impl Iterator<Item = u32> {
        let placed = self.placements.iter().filter_map(|placement| placement.layers);
        placed.flat_map(|layers| [layers.first, layers.last + 1]).chain([recomputed])
    }

    /// A stage's parameters, layout by layout; logits that are tied to an embedding elsewhere have a copy of its
    /// weights.
    pub(crate) fn holdings(&self, layers: &StageLayers) -> Vec<StageParameters> {
        let (model, whole) = (&self.scenario.model, Count::from(self.scenario.stack.collectives.per_layer));
        let mut held = vec![StageParameters::default(); self.layouts.len()];
        let mut add = |layout: usize, (count, slices): (u32, u32), parameters: u64, collectives: Count| {
            let units = Count::from(count) * f64::from(slices);
            held[layout].layout = layout;
            held[layout].parameters += u64::from(count) * parameters;
            held[layout].units += units;
            held[layout].collectives += collectives * units.get();
        };
        for LayerRange { layers: count, placed: PerSublayer { attention, mlp }, apart, .. } in
            layers.ranges.iter().copied()
        {
            if apart {
                let half = sublayers::collectives(whole);
                add(attention, (count, self.layouts[attention].slices), model.attention_parameters(), half);
                add(mlp, (count, self.layouts[mlp].slices), model.mlp_parameters(), half);
            } else {
                add(attention, (count, 1), model.layer_parameters(), whole);
            }
        }
        // A tied model counts the shared matrix with the embedding. The last stage of a pipeline has no embedding, and
        // keeps a copy of the matrix, as in Megatron-LM (`shared_embedding_or_output_weight`).
        let copied =
            if model.tied && !layers.ends.embedding { u64::from(model.vocab) * u64::from(model.hidden) } else { 0 };
        if layers.ends.embedding {
            add(self.layout_of(Site::Embedding), (1, 1), model.embedding_parameters(), whole);
        }
        if layers.ends.head {
            add(self.layout_of(Site::Head), (1, 1), model.head_parameters() + copied, whole);
        }
        held.retain(|holding| holding.parameters > 0);
        held
    }

    /// Appends a pass over a stage's units.
    pub fn list(&self, costs: &[UnitCosts<'_>], layers: &StageLayers, pass: Pass, list: &mut UnitList) {
        let StageLayers { ranges, ends } = layers;
        let end = |there: bool, site: Site, part: ModelPart, list: &mut UnitList| {
            if there {
                list.add(&[costs[self.layout_of(site)].end_pass(part, pass)], 1, 0, 0);
            }
        };
        if pass.is_backward() {
            end(ends.head, Site::Head, ModelPart::Head, list);
            for range in ranges.iter().rev() {
                self.list_range(costs, range, pass, list);
            }
            end(ends.embedding, Site::Embedding, ModelPart::Embedding, list);
        } else {
            end(ends.embedding, Site::Embedding, ModelPart::Embedding, list);
            for range in ranges {
                self.list_range(costs, range, pass, list);
            }
            end(ends.head, Site::Head, ModelPart::Head, list);
        }
    }

    /// Appends a pass over a range's units.
    fn list_range(&self, costs: &[UnitCosts<'_>], range: &LayerRange, pass: Pass, list: &mut UnitList) {
        let LayerRange { first, layers, placed, apart, recomputed } = *range;
        // Backward begins with the last layer of the range and counts down.
        let (layer, step) = if pass.is_backward() { (first + layers - 1, -1) } else { (first, 1) };
        if apart {
            let slices = placed.map(|layout| self.layouts[layout].slices);
            let units = sublayers::layer(placed.map(|layout| &costs[layout]), slices, recomputed, pass);
            list.add(&units, layers, layer, step);
        } else {
            list.add(&[costs[placed.attention].layer_pass(recomputed, pass)], layers, layer, step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
