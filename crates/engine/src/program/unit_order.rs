//! The unit passes of one micro-batch in order, and the way through them.

use crate::plan::Recompute;
use crate::plan::pass::Pass;
use crate::units::Bytes;

use super::label::ModelPart;
use super::unit_costs::UnitCosts;
use super::unit_pass::UnitPass;

/// Consecutive unit passes that differ only in the layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnitRun {
    pub unit_pass: UnitPass,
    pub count: u32,
    pub layer: u32,
    /// From one layer to the next: against their order in backward, over other kinds where these take turns.
    pub step: i32,
    /// Which model beside the trained one it is of, from 1; 0 of the trained one.
    pub beside: usize,
}

/// The copy of a checkpoint from the host, one unit ahead of the backward that starts from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointFetch {
    pub bytes: Bytes,
    pub part: ModelPart,
    /// The layer, its step with the body's iterations, and the micro-batch.
    pub layer: u32,
    pub step: i32,
    pub micro_batch: u32,
}

impl CheckpointFetch {
    /// The fetch for the pass at `position` of a run; `None` where it needs none.
    pub fn new(run: &UnitRun, position: u32) -> Option<Self> {
        let UnitRun { unit_pass: UnitPass { part, checkpoint, .. }, step, .. } = *run;
        let layer = run.layer.wrapping_add_signed(step * position.cast_signed());
        (checkpoint > Bytes::ZERO).then_some(Self { bytes: checkpoint, part, layer, step, micro_batch: 0 })
    }

    /// Moves the layer and micro-batch to those of another launch.
    pub fn from(self, layer: u32, micro_batch: u32) -> Self {
        Self { layer: self.layer.wrapping_add(layer), micro_batch, ..self }
    }
}

impl UnitRun {
    pub(crate) fn layer_at(&self, position: u32) -> u32 {
        (i64::from(self.layer) + i64::from(self.step) * i64::from(position)) as u32
    }
}

/// Runs that take turns, as the units of a layer do, or layers of several kinds. They have the same count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnitGroup {
    pub first: usize,
    pub runs: usize,
}

/// Runs in order, pattern by pattern.
#[derive(Debug, Clone, Default)]
pub(super) struct UnitList {
    pub runs: Vec<UnitRun>,
    pub patterns: Vec<UnitGroup>,
}

impl UnitList {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.patterns.clear();
    }

    /// Adds runs that take turns.
    pub fn add_turn(&mut self, add: impl FnOnce(&mut Vec<UnitRun>)) {
        let first = self.runs.len();
        add(&mut self.runs);
        self.patterns.push(UnitGroup { first, runs: self.runs.len() - first });
    }

    /// Passes of units in a micro-batch.
    pub fn passes(&self) -> u32 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Bytes that forward of a micro-batch leaves on the host for backward.
    pub fn to_host(&self) -> Bytes {
        let forward = self.runs.iter().filter(|run| run.unit_pass.pass == Pass::Forward);
        forward.map(|run| run.unit_pass.to_host * f64::from(run.count)).sum()
    }

    /// The runs of each pattern.
    pub fn turns(&self) -> impl Iterator<Item = &[UnitRun]> {
        self.patterns.iter().map(|pattern| &self.runs[pattern.first..pattern.first + pattern.runs])
    }

    pub fn run(&self, place: UnitPosition) -> &UnitRun {
        &self.runs[self.patterns[place.pattern].first + place.run]
    }

    /// The pass `distance` after another one; with `wrap`, into the next micro-batches.
    pub fn find(&self, place: UnitPosition, distance: u32, wrap: bool) -> Option<UnitPosition> {
        (0..distance).try_fold(place, |place, _| self.next(place, wrap))
    }

    fn next(&self, place: UnitPosition, wrap: bool) -> Option<UnitPosition> {
        let count = self.run(place).count;
        if place.run + 1 < self.patterns[place.pattern].runs {
            return Some(UnitPosition { run: place.run + 1, ..place });
        }
        if place.position + 1 < count {
            return Some(UnitPosition { run: 0, position: place.position + 1, ..place });
        }
        // Attention and MLP of a layer are two runs of one group: A0 M0 A1 M1 ... With one run each it is A0 A1 ...
        // alone.
        let begun = UnitPosition { run: 0, position: 0, ..place };
        if place.pattern + 1 < self.patterns.len() {
            return Some(UnitPosition { pattern: place.pattern + 1, ..begun });
        }
        wrap.then_some(UnitPosition { pattern: 0, later: place.later + 1, ..begun })
    }

    /// Number of a pattern's turns whose next `ahead` passes belong to the pattern too.
    pub fn alike(&self, pattern: UnitGroup, ahead: u32) -> u32 {
        self.runs[pattern.first].count.saturating_sub(ahead.div_ceil(pattern.runs as u32))
    }
}

/// One pass of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnitPosition {
    pub pattern: usize,
    /// The run of the pattern, by index.
    pub run: usize,
    pub position: u32,
    /// Micro-batches after the running one.
    pub later: u32,
}

/// Number of layers that are recomputed from their input: the first ones of the model, or of each stage in a pipeline.
pub(super) fn recomputed_layers(costs: &UnitCosts<'_>) -> u32 {
    let layers = costs.rates.scenario.model.all_layers();
    match costs.rates.scenario.plan.recompute {
        Recompute::Full => layers,
        Recompute::Share(share) => libm::round(share * f64::from(layers)) as u32,
        Recompute::None | Recompute::Selective => 0,
    }
}
