//! PipelineStages of a pipeline: which layers each has, and what a pass over it computes.

use crate::units::Seconds;

use super::build::LaunchedWork;
use super::order::UnitList;
use super::places::{OperatorLayouts, StageLayers, StageParameters};
use super::schedule::split;
use super::step::recomputed_layers;
use super::visit::{UnitCosts, UnitPass};

/// What a stage works on. PipelineStages that differ in nothing but their layers' numbers share it.
pub(super) struct StageWork {
    layers_of: StageLayers,
    /// What is visited there and back; layers count from the stage's first.
    pub passes: [UnitList; 2],
    /// Its parameters, by how they are placed.
    pub holdings: Vec<StageParameters>,
}

/// All stages, in the order in which forward passes them.
pub(super) struct PipelineStages {
    ranks: u32,
    pub works: Vec<StageWork>,
    /// Which of them each stage does, and its first layer.
    places: Vec<(usize, u32)>,
}

impl PipelineStages {
    /// Layers dealt as evenly as they go, by what the stack balances: the times of `costs`.
    pub fn of(
        places: &OperatorLayouts<'_>,
        ways: &[UnitCosts<'_>],
        costs: &UnitCosts<'_>,
        ranks: u32,
        stages_per_rank: u32,
    ) -> Self {
        let model = &costs.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(costs);
        let ends = model.vocab > 0;
        let (embedding, head) = if ends { (time(&costs.embedding()), time(&costs.head())) } else { (0.0, 0.0) };
        // The share of the layers that is computed again is that of each stage, and without a pipeline the first layers.
        let again = |layers: u32| match ranks {
            1 => layers.min(recomputed),
            _ => (u64::from(layers) * u64::from(recomputed) / u64::from(model.layers)) as u32,
        };
        let [once, twice] = [false, true].map(|again| time(&costs.layers(again)));
        let layer = once + (twice - once) * f64::from(recomputed) / f64::from(model.layers);
        let balance = costs.rates.scenario.stack.balance;
        let [layer, embedding, head] = balance.weights(model.layers, count, [layer, embedding, head]);
        let layers = split(model.layers, count, layer, embedding, head);
        let mut all = Self { ranks, works: Vec::new(), places: Vec::with_capacity(layers.len()) };
        let mut first = 0;
        for (index, layers) in (0..count).zip(layers) {
            let ends = [ends && index == 0, ends && index + 1 == count];
            let computed_again = first + again(first + layers) - again(first);
            let layers_of = places.layers_of(first..first + layers, computed_again, ends);
            let known = all.works.iter().position(|other| other.layers_of == layers_of);
            let place = known.unwrap_or(all.works.len());
            if known.is_none() {
                all.works.push(StageWork::of(places, ways, layers_of));
            }
            all.places.push((place, first));
            first += layers;
        }
        all
    }

    /// Their work, by index, in the order of forward.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|(work, _)| *work)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// The place in the model of one of a rank's stages.
    pub fn index(&self, rank: u32, stage: u32) -> u32 {
        stage * self.ranks + rank
    }

    /// What one of a rank's stages works on, by index.
    pub fn work(&self, rank: u32, stage: u32) -> usize {
        self.places[self.index(rank, stage) as usize].0
    }

    /// The first layer of one of a rank's stages.
    pub fn first_layer(&self, rank: u32, stage: u32) -> u32 {
        self.places[self.index(rank, stage) as usize].1
    }
}

impl StageWork {
    fn of(places: &OperatorLayouts<'_>, ways: &[UnitCosts<'_>], layers_of: StageLayers) -> Self {
        let passes = [false, true].map(|backward| {
            let mut listing = UnitList::default();
            places.list(ways, &layers_of, backward, &mut listing);
            listing
        });
        Self { passes, holdings: places.holdings(&layers_of), layers_of }
    }
}

/// Seconds of forward and backward of a unit.
fn time(costs: &[UnitPass; 2]) -> f64 {
    let pieces = costs.iter().flat_map(|visit| visit.steps).map(|step| step.piece);
    pieces.map(|piece: LaunchedWork| piece.work.time + piece.host).sum::<Seconds>().get()
}
