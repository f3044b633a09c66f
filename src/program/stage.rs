//! Stages of a pipeline: which layers each has, and what a pass over it computes.

use super::build::Piece;
use super::schedule::split;
use super::step::{Run, recomputed_layers};
use super::visit::{Visit, Visits};

/// What a stage works on. Stages that differ in nothing but their layers' numbers share it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Work {
    layers: u32,
    /// Its first layers that are computed again from their input.
    again: u32,
    embedding: bool,
    head: bool,
    /// Parameters on one tensor rank, and the units that hold them.
    pub elements: f64,
    pub units: f64,
}

/// All stages, in the order in which forward passes them.
pub(super) struct Stages {
    ranks: u32,
    pub works: Vec<Work>,
    /// Which of them each stage does, and its first layer.
    stages: Vec<(usize, u32)>,
}

impl Stages {
    /// Layers dealt as evenly as they go, by what the stack balances.
    pub fn of(visits: &Visits<'_>, ranks: u32, stages_per_rank: u32) -> Self {
        let model = &visits.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(visits);
        let ends = model.vocab > 0;
        let (embedding, head) = if ends { (time(&visits.embedding()), time(&visits.head())) } else { (0.0, 0.0) };
        let layer = time(&visits.layers(recomputed > 0));
        let balance = visits.rates.scenario.stack.balance;
        let [layer, embedding, head] = balance.weights(model.layers, count, [layer, embedding, head]);
        let layers = split(model.layers, count, layer, embedding, head);
        let mut all = Self { ranks, works: Vec::new(), stages: Vec::with_capacity(layers.len()) };
        let mut first = 0;
        for (index, layers) in (0..count).zip(layers) {
            let again = recomputed.saturating_sub(first).min(layers);
            let work = Work::of(visits, (layers, again), ends && index == 0, ends && index + 1 == count);
            let known = all.works.iter().position(|other| *other == work);
            let place = known.unwrap_or(all.works.len());
            if known.is_none() {
                all.works.push(work);
            }
            all.stages.push((place, first));
            first += layers;
        }
        all
    }

    /// Their work, by index, in the order of forward.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.stages.iter().map(|(work, _)| *work)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.stages.len() as u32
    }

    /// The place in the model of one of a rank's stages.
    pub fn index(&self, rank: u32, stage: u32) -> u32 {
        stage * self.ranks + rank
    }

    /// What one of a rank's stages works on, by index.
    pub fn work(&self, rank: u32, stage: u32) -> usize {
        self.stages[self.index(rank, stage) as usize].0
    }

    /// The first layer of one of a rank's stages.
    pub fn first_layer(&self, rank: u32, stage: u32) -> u32 {
        self.stages[self.index(rank, stage) as usize].1
    }

    /// What one of a rank's stages works on.
    pub fn of_rank(&self, rank: u32, stage: u32) -> &Work {
        &self.works[self.work(rank, stage)]
    }
}

impl Work {
    /// Tied logits have a copy of the embedding's weights.
    fn of(visits: &Visits<'_>, (layers, again): (u32, u32), embedding: bool, head: bool) -> Self {
        let model = &visits.rates.scenario.model;
        let copied = if model.tied && !embedding { u64::from(model.vocab) * u64::from(model.hidden) } else { 0 };
        let ends = [
            if embedding { model.embedding_parameters() } else { 0 },
            if head { model.head_parameters() + copied } else { 0 },
        ];
        let parameters = u64::from(layers) * model.layer_parameters() + ends[0] + ends[1];
        let elements = parameters as f64 / f64::from(visits.layout.tensor);
        let units = f64::from(layers) + f64::from(u8::from(embedding)) + f64::from(u8::from(head));
        Self { layers, again, embedding, head, elements, units }
    }

    /// The runs of visits in one direction; layers count from the stage's first.
    pub fn runs(&self, visits: &Visits<'_>, backward: bool) -> Vec<Run> {
        let way = usize::from(backward);
        let kept = self.layers - self.again;
        let run = |visit: Visit, count: u32, layer: u32| Run { visit, count, layer, step: 1 };
        let mut runs = Vec::with_capacity(4);
        if self.embedding {
            runs.push(run(visits.embedding()[way], 1, 0));
        }
        runs.push(run(visits.layers(true)[way], self.again, 0));
        runs.push(run(visits.layers(false)[way], kept, self.again));
        if self.head {
            runs.push(run(visits.head()[way], 1, 0));
        }
        runs.retain(|run| run.count > 0);
        if backward {
            runs.reverse();
            for run in &mut runs {
                (run.layer, run.step) = (run.layer + run.count - 1, -1);
            }
        }
        runs
    }
}

/// Forward and backward of a unit.
fn time(visits: &[Visit; 2]) -> f64 {
    let pieces = visits.iter().flat_map(|visit| visit.steps).map(|step| step.piece);
    pieces.map(|piece: Piece| piece.work.time + piece.host).sum()
}
