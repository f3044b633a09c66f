//! Stages of a pipeline: which layers each has, and what a pass over it computes.

use super::build::Piece;
use super::order::Listing;
use super::places::{Holding, Places, Section};
use super::schedule::split;
use super::step::recomputed_layers;
use super::visit::{Visit, Visits};

/// What a stage works on. Stages that differ in nothing but their layers' numbers share it.
pub(super) struct Work {
    section: Section,
    /// What is visited there and back; layers count from the stage's first.
    pub passes: [Listing; 2],
    /// Its parameters, by how they are placed.
    pub holdings: Vec<Holding>,
}

/// All stages, in the order in which forward passes them.
pub(super) struct Stages {
    ranks: u32,
    pub works: Vec<Work>,
    /// Which of them each stage does, and its first layer.
    places: Vec<(usize, u32)>,
}

impl Stages {
    /// Layers dealt as evenly as they go, by what the stack balances: the times of `visits`.
    pub fn of(places: &Places<'_>, ways: &[Visits<'_>], visits: &Visits<'_>, ranks: u32, stages_per_rank: u32) -> Self {
        let model = &visits.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(visits);
        let ends = model.vocab > 0;
        let (embedding, head) = if ends { (time(&visits.embedding()), time(&visits.head())) } else { (0.0, 0.0) };
        // The share of the layers that is computed again is that of each stage, and without a pipeline the first layers.
        let again = |layers: u32| match ranks {
            1 => layers.min(recomputed),
            _ => (u64::from(layers) * u64::from(recomputed) / u64::from(model.layers)) as u32,
        };
        let [once, twice] = [false, true].map(|again| time(&visits.layers(again)));
        let layer = once + (twice - once) * f64::from(recomputed) / f64::from(model.layers);
        let balance = visits.rates.scenario.stack.balance;
        let [layer, embedding, head] = balance.weights(model.layers, count, [layer, embedding, head]);
        let layers = split(model.layers, count, layer, embedding, head);
        let mut all = Self { ranks, works: Vec::new(), places: Vec::with_capacity(layers.len()) };
        let mut first = 0;
        for (index, layers) in (0..count).zip(layers) {
            let ends = [ends && index == 0, ends && index + 1 == count];
            let computed_again = first + again(first + layers) - again(first);
            let section = places.section(first..first + layers, computed_again, ends);
            let known = all.works.iter().position(|other| other.section == section);
            let place = known.unwrap_or(all.works.len());
            if known.is_none() {
                all.works.push(Work::of(places, ways, section));
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

impl Work {
    fn of(places: &Places<'_>, ways: &[Visits<'_>], section: Section) -> Self {
        let passes = [false, true].map(|backward| {
            let mut listing = Listing::default();
            places.list(ways, &section, backward, &mut listing);
            listing
        });
        Self { passes, holdings: places.holdings(&section), section }
    }
}

/// Forward and backward of a unit.
fn time(visits: &[Visit; 2]) -> f64 {
    let pieces = visits.iter().flat_map(|visit| visit.steps).map(|step| step.piece);
    pieces.map(|piece: Piece| piece.work.time + piece.host).sum()
}
