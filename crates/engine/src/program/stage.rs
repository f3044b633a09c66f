//! The stages of a pipeline: the layers of each, and the unit passes over them.

use std::cell::OnceCell;

use crate::model::PerKind;
use crate::plan::StageSizes;
use crate::plan::pass::Pass;
use crate::units::Seconds;

use super::label::ModelPart;
use super::operator_layouts::{OperatorLayouts, StageEnds, StageLayers, StageParameters};
use super::stage_sizes::{PartTimes, stage_sizes};
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
    /// Index of the stage's work.
    pub work: usize,
    pub first_layer: u32,
}

impl PipelineStages {
    /// Assigns layers as the plan says, or as the stack does: by counts, by parameters, or by times from `costs`.
    pub fn new(layouts: &OperatorLayouts<'_>, costs: &UnitCosts<'_>, ranks: u32, stages_per_rank: u32) -> Self {
        let model = &costs.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(costs);
        let ends = model.vocab > 0;
        // The share of the layers that is computed again is that of each stage, and without a pipeline the first
        // layers.
        // With 24 of 32 layers recomputed, the first 8 layers count 6, the first 16 count 12: 6 in each stage of 8.
        let again = |layers: u32| match ranks {
            1 => layers.min(recomputed),
            _ => (u64::from(layers) * u64::from(recomputed) / u64::from(model.all_layers())) as u32,
        };
        let share = f64::from(recomputed) / f64::from(model.all_layers());
        let scenario = costs.rates.scenario;
        // Of what stands beside the trained model there is no backward, of the ends no more than of the layers.
        let passes = if scenario.plan.stands_beside { &[Pass::Forward][..] } else { &[Pass::Forward, Pass::Backward] };
        let mut layers = match &scenario.plan.stage_layers {
            // Without a pipeline each layer is a stage where micro-batches pass layer by layer.
            StageSizes::Layers(counts) if ranks > 1 => counts.clone(),
            _ => stage_sizes(scenario.stack.balance, model, [ranks, stages_per_rank], || {
                let of_kind = PerKind::new(model, |kind| {
                    let [once, twice] =
                        [false, true].map(|again| time(passes, |pass| costs.layer_passes(kind, again, pass)));
                    once + (twice - once) * share
                });
                let [embedding, head] = [ModelPart::Embedding, ModelPart::Head].map(|part| {
                    if ends { time(passes, |pass| vec![costs.end_pass(part, pass)]) } else { Seconds::ZERO }
                });
                let layers = (0..model.layers).map(|layer| *of_kind.get(model.kind(layer))).collect();
                let further = *of_kind.get(model.kind(model.layers)) * f64::from(model.mtp_layers);
                PartTimes { layers, embedding, head: head + further }
            }),
        };
        // Layers that predict further tokens are behind all others, where the logits are, however these are shared out
        // (`get_mtp_num_layers_to_build` of Megatron-Core).
        if let Some(last) = layers.last_mut() {
            *last += model.mtp_layers;
        }
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
                    holdings: layouts.holdings(&costs.work, &own),
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
    /// The stage's units in the order of a pass.
    pub fn list(&self, layouts: &OperatorLayouts<'_>, costs: &[UnitCosts<'_>], pass: Pass) -> &UnitList {
        self.passes[pass as usize].get_or_init(|| {
            let mut list = UnitList::default();
            layouts.list(costs, &self.layers, pass, &mut list);
            list
        })
    }
}

/// Time of some passes of some units.
fn time(passes: &[Pass], units: impl Fn(Pass) -> Vec<UnitPass>) -> Seconds {
    let steps = passes.iter().copied().flat_map(units).flat_map(|unit_pass| unit_pass.steps);
    steps.map(|step| step.piece.time()).sum()
}
