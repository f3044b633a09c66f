//! The stages of a pipeline: the layers of each, and the unit passes over them.

use std::cell::OnceCell;

use crate::plan::pass::Pass;
use crate::units::Seconds;

use super::label::ModelPart;
use super::operator_layouts::{OperatorLayouts, StageEnds, StageLayers, StageParameters};
use super::unit_costs::UnitCosts;
use super::unit_order::{UnitList, recomputed_layers};
use super::unit_pass::UnitPass;

/// The work of a stage, shared by stages that differ only in their layers' numbers.
pub(super) struct StageWork {
    layers: StageLayers,
    /// Its units in the order of each pass, listed when they are needed: no schedule has all passes. Layers count from
    /// the stage's first.
    passes: [OnceCell<UnitList>; Pass::ALL.len()],
    /// Parameters by layout.
    pub holdings: Vec<StageParameters>,
}

/// All stages, in the order in which forward passes them.
pub(super) struct PipelineStages {
    ranks: u32,
    pub distinct: Vec<StageWork>,
    /// Each stage's place in the model.
    places: Vec<StagePlace>,
}

/// A stage's place in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StagePlace {
    /// Its work, by index.
    pub work: usize,
    pub first_layer: u32,
}

impl PipelineStages {
    /// Assigns layers as evenly as possible, by the weights that the stack balances, from the times of `costs`.
    pub fn new(layouts: &OperatorLayouts<'_>, costs: &UnitCosts<'_>, ranks: u32, stages_per_rank: u32) -> Self {
        let model = &costs.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(costs);
        let ends = model.vocab > 0;
        let [embedding, head] = [ModelPart::Embedding, ModelPart::Head]
            .map(|part| if ends { time(|pass| costs.end_pass(part, pass)) } else { 0.0 });
        // The share of the layers that is computed again is that of each stage, and without a pipeline the first
        // layers.
        // With 24 of 32 layers recomputed, the first 8 layers count 6, the first 16 count 12: 6 in each stage of 8.
        let again = |layers: u32| match ranks {
            1 => layers.min(recomputed),
            _ => (u64::from(layers) * u64::from(recomputed) / u64::from(model.layers)) as u32,
        };
        let [once, twice] = [false, true].map(|again| time(|pass| costs.layer_pass(again, pass)));
        let layer = once + (twice - once) * f64::from(recomputed) / f64::from(model.layers);
        let balance = costs.rates.scenario.stack.balance;
        let [layer, embedding, head] = balance.weights(model.layers, count, [layer, embedding, head]);
        let layers = split(model.layers, count, layer, embedding, head);
        let mut all = Self { ranks, distinct: Vec::new(), places: Vec::with_capacity(layers.len()) };
        let mut first = 0;
        for (index, layers) in (0..count).zip(layers) {
            let ends = StageEnds { embedding: ends && index == 0, head: ends && index + 1 == count };
            let computed_again = first + again(first + layers) - again(first);
            let own = layouts.stage_layers(first..first + layers, computed_again, ends);
            // A pipeline of 64 equal stages has three different ones: the first with the embedding, the last with the
            // head, and one for all between. Tasks are built once for each.
            let known = all.distinct.iter().position(|other| other.layers == own);
            let work = known.unwrap_or(all.distinct.len());
            if known.is_none() {
                all.distinct.push(StageWork {
                    passes: Default::default(),
                    holdings: layouts.holdings(&own),
                    layers: own,
                });
            }
            all.places.push(StagePlace { work, first_layer: first });
            first += layers;
        }
        all
    }

    /// The stages' works, by index, in the order of forward.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|place| place.work)
    }

    /// Number of stages.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// The place of a rank's stage among all stages, in the order of forward.
    pub fn index(&self, rank: u32, stage: u32) -> u32 {
        stage * self.ranks + rank
    }

    /// The place of a rank's stage in the model.
    pub fn place(&self, rank: u32, stage: u32) -> StagePlace {
        self.places[self.index(rank, stage) as usize]
    }
}

impl StageWork {
    /// Its units in the order of a pass.
    pub fn list(&self, layouts: &OperatorLayouts<'_>, costs: &[UnitCosts<'_>], pass: Pass) -> &UnitList {
        self.passes[pass as usize].get_or_init(|| {
            let mut list = UnitList::default();
            layouts.list(costs, &self.layers, pass, &mut list);
            list
        })
    }
}

/// Seconds of forward and backward of a unit.
fn time(unit: impl Fn(Pass) -> UnitPass) -> f64 {
    let steps = [Pass::Forward, Pass::Backward].into_iter().flat_map(|pass| unit(pass).steps);
    steps.map(|step| step.piece.time()).sum::<Seconds>().get()
}

/// Layers of each stage: each layer goes to the stage with least time so far, the earliest among equals. The times of
/// layers, embedding and head are those of forward and backward together.
fn split(layers: u32, stages: u32, layer: f64, embedding: f64, head: f64) -> Vec<u32> {
    let last = stages as usize - 1;
    let mut counts = vec![0; stages as usize];
    if last == 0 {
        counts[0] = layers;
        return counts;
    }
    // Stages between the ends fill up level by level.
    // `level` is the time of the stage between the ends that is next to get a layer: those before it are one layer
    // ahead.
    let (mut first_time, mut level, mut last_time) = (embedding, 0.0, head);
    let mut next = 1;
    for _ in 0..layers {
        let between = if last > 1 { level } else { f64::INFINITY };
        if first_time <= between && first_time <= last_time {
            counts[0] += 1;
            first_time += layer;
        } else if between <= last_time {
            counts[next] += 1;
            next += 1;
            if next == last {
                (next, level) = (1, level + layer);
            }
        } else {
            counts[last] += 1;
            last_time += layer;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Balance;

    #[test]
    fn layers_go_where_there_is_least() {
        assert_eq!(split(8, 4, 1.0, 0.0, 0.0), [2, 2, 2, 2]);
        // The head costs two layers: 2 + 2 + 2 + (0 + 2).
        assert_eq!(split(6, 4, 1.0, 0.0, 2.0), [2, 2, 2, 0]);
        assert_eq!(split(9, 4, 1.0, 0.0, 0.0), [3, 2, 2, 2]);
    }

    /// Embedding and head may have a stage each to themselves, whatever a stack balances, and no other stage is without
    /// a layer.
    #[test]
    fn ends_do_without_layers_where_there_are_fewer_than_stages() {
        for balance in [Balance::Time, Balance::Layers, Balance::LayersAndEnds] {
            let layers = |layers: u32, stages: u32| {
                let [layer, embedding, head] = balance.weights(layers, stages, [1.0, 0.1, 3.0]);
                split(layers, stages, layer, embedding, head)
            };
            assert_eq!(layers(6, 8), [0, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
            assert_eq!(layers(7, 8), [1, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
        }
    }
}
