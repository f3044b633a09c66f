//! The visits of one micro-batch in order, and which of them comes next.

use super::step::{Run, recomputed_layers};
use super::visit::{Visit, Visits};

/// The most runs of a micro-batch whose layers are one unit each: embedding, two kinds of layers and head,
/// there and back.
pub(super) const RUNS: usize = 8;

/// Runs that take turns, layer by layer: the units of a layer. They have the same count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pattern {
    pub first: usize,
    pub runs: usize,
}

/// Each run by itself.
pub(super) const ALONE: [Pattern; RUNS] = {
    let mut patterns = [Pattern { first: 0, runs: 1 }; RUNS];
    let mut index = 0;
    while index < RUNS {
        patterns[index].first = index;
        index += 1;
    }
    patterns
};

/// Runs that are put in order one pattern after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    pub runs: Vec<Run>,
    pub patterns: Vec<Pattern>,
}

impl Listing {
    /// Adds visits that take turns `count` times, the first time of this layer and then of those in one direction.
    pub fn add(&mut self, visits: &[Visit], count: u32, layer: u32, step: i32) {
        self.patterns.push(Pattern { first: self.runs.len(), runs: visits.len() });
        self.runs.extend(visits.iter().map(|visit| Run { visit: *visit, count, layer, step }));
    }

    pub fn order(&self) -> Order<'_> {
        Order { runs: &self.runs, patterns: &self.patterns }
    }

    /// The runs of each pattern.
    pub fn turns(&self) -> impl Iterator<Item = &[Run]> {
        self.patterns.iter().map(|pattern| &self.runs[pattern.first..pattern.first + pattern.runs])
    }
}

/// Runs in order.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub runs: &'a [Run],
    pub patterns: &'a [Pattern],
}

/// One visit of an order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub pattern: usize,
    /// Which run of the pattern.
    pub run: usize,
    pub position: u32,
    /// Micro-batches later than the one that is running.
    pub later: u32,
}

/// The runs of layers that are one unit each, and how many there are.
pub(super) fn whole_layers(visits: &Visits<'_>) -> ([Run; RUNS], usize) {
    let model = &visits.rates.scenario.model;
    let layers = model.layers;
    let recomputed = recomputed_layers(visits);
    let (mut runs, mut used) = ([Run::default(); RUNS], 0);
    let mut run = |visit: Visit, count: u32, layer: u32, step: i32| {
        if count > 0 {
            runs[used] = Run { visit, count, layer, step };
            used += 1;
        }
    };
    let [again, again_back] = visits.layers(true);
    let [kept, kept_back] = visits.layers(false);
    let ends = (model.vocab > 0).then(|| (visits.embedding(), visits.head()));
    if let Some((embedding, _)) = &ends {
        run(embedding[0], 1, 0, 0);
    }
    run(again, recomputed, 0, 1);
    run(kept, layers - recomputed, recomputed, 1);
    if let Some((_, head)) = &ends {
        run(head[0], 1, 0, 0);
        run(head[1], 1, 0, 0);
    }
    run(kept_back, layers - recomputed, layers - 1, -1);
    run(again_back, recomputed, recomputed.saturating_sub(1), -1);
    if let Some((embedding, _)) = &ends {
        run(embedding[1], 1, 0, 0);
    }
    (runs, used)
}

impl<'a> Order<'a> {
    pub fn run(&self, place: Place) -> &'a Run {
        &self.runs[self.patterns[place.pattern].first + place.run]
    }

    /// The visit `distance` after another one; with `wrap`, into the next micro-batches.
    pub fn find(&self, place: Place, distance: u32, wrap: bool) -> Option<Place> {
        (0..distance).try_fold(place, |place, _| self.next(place, wrap))
    }

    fn next(&self, place: Place, wrap: bool) -> Option<Place> {
        let count = self.run(place).count;
        if place.run + 1 < self.patterns[place.pattern].runs {
            return Some(Place { run: place.run + 1, ..place });
        }
        if place.position + 1 < count {
            return Some(Place { run: 0, position: place.position + 1, ..place });
        }
        let begun = Place { run: 0, position: 0, ..place };
        if place.pattern + 1 < self.patterns.len() {
            return Some(Place { pattern: place.pattern + 1, ..begun });
        }
        wrap.then_some(Place { pattern: 0, later: place.later + 1, ..begun })
    }

    /// How many turns of a pattern are alike: those after which the `ahead` next visits are of it too.
    pub fn alike(&self, pattern: Pattern, ahead: u32) -> u32 {
        self.runs[pattern.first].count.saturating_sub(ahead.div_ceil(pattern.runs as u32))
    }
}
