//! Passes of micro-batches over the virtual stages of a pipeline, and how their order is written down. Not for which
//! order a schedule takes: each has a file of its own beside [`crate::plan::Schedule`].

use std::ops::Range;

/// A pass of a micro-batch over layers.
///
/// Backward is two things: the gradients of its inputs, for which the stage before waits, and those of its weights,
/// for which nothing waits before they are reduced. The schedules that users choose from run both together; zero-bubble
/// schedules (Qi et al., arXiv 2401.10241) run them apart, the second where a rank would stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pass {
    /// Forward.
    #[default]
    Forward,
    /// The gradients of inputs and weights together.
    Backward,
    /// The gradients of the inputs.
    BackwardInputs,
    /// The gradients of the weights.
    BackwardWeights,
}

impl Pass {
    /// Every pass, the whole backward pass before its halves.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Backward, Self::BackwardInputs, Self::BackwardWeights];

    /// Whether it runs against the order of the layers.
    pub const fn is_backward(self) -> bool {
        !matches!(self, Self::Forward)
    }

    /// Whether it computes what goes on from layer to layer, activations or their gradients: it multiplies by the
    /// weights, and a neighbouring stage waits for it.
    pub(crate) const fn propagates(self) -> bool {
        !matches!(self, Self::BackwardWeights)
    }

    /// Whether it computes the gradients of weights, after which the unit's activations are free.
    pub(crate) const fn completes_gradients(self) -> bool {
        matches!(self, Self::Backward | Self::BackwardWeights)
    }
}

impl From<Pass> for Direction {
    fn from(pass: Pass) -> Self {
        if pass.is_backward() { Self::Backward } else { Self::Forward }
    }
}

/// A way through the layers, and so from one pipeline rank to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// From the first layer to the last.
    #[default]
    Forward,
    /// From the last layer to the first.
    Backward,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Backward];
}

/// A value for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    /// From the first layer to the last.
    pub forward: T,
    /// From the last layer to the first.
    pub backward: T,
}

impl<T> PerDirection<T> {
    /// Makes the value of each direction.
    pub fn from_fn(mut make: impl FnMut(Direction) -> T) -> Self {
        Self { forward: make(Direction::Forward), backward: make(Direction::Backward) }
    }

    /// One value for both directions.
    pub const fn both(value: T) -> Self
    where
        T: Copy,
    {
        Self { forward: value, backward: value }
    }

    /// The one for a direction, or for that of a pass.
    pub fn get(&self, direction: impl Into<Direction>) -> &T {
        match direction.into() {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// Mutable access to the value of a direction.
    pub fn get_mut(&mut self, direction: impl Into<Direction>) -> &mut T {
        match direction.into() {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }

    /// Applies a function to each value.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection { forward: make(self.forward), backward: make(self.backward) }
    }
}

/// A pass over one of a rank's virtual stages for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagePass {
    /// Which of the rank's stages, from 0.
    pub stage: u32,
    /// The pass over that stage.
    pub pass: Pass,
    /// The micro-batch, from 0, when the pass runs first.
    pub micro_batch: u32,
}

impl StagePass {
    /// A forward.
    pub const fn forward(stage: u32, micro_batch: u32) -> Self {
        Self { stage, pass: Pass::Forward, micro_batch }
    }

    /// A backward for inputs.
    #[cfg(any(test, feature = "testing"))]
    pub const fn inputs(stage: u32, micro_batch: u32) -> Self {
        Self { stage, pass: Pass::BackwardInputs, micro_batch }
    }

    /// A backward for weights.
    #[cfg(any(test, feature = "testing"))]
    pub const fn weights(stage: u32, micro_batch: u32) -> Self {
        Self { stage, pass: Pass::BackwardWeights, micro_batch }
    }

    /// A backward.
    pub const fn backward(stage: u32, micro_batch: u32) -> Self {
        Self { stage, pass: Pass::Backward, micro_batch }
    }

    /// Moves it `micro_batches` later.
    #[must_use]
    pub const fn later(self, micro_batches: u32) -> Self {
        Self { micro_batch: self.micro_batch + micro_batches, ..self }
    }
}

/// One pass, or two that take turns, so many times in a row; each time for the next micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassRun {
    /// How often.
    pub repeat: u32,
    /// The pass, or the first of the two.
    pub first: StagePass,
    /// The second of the two.
    pub second: Option<StagePass>,
}

impl PassRun {
    /// Its passes, the first time.
    pub fn passes(&self) -> impl Iterator<Item = StagePass> + use<> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// The pass with which it ends.
    pub fn last(&self) -> StagePass {
        self.second.unwrap_or(self.first)
    }

    /// Moves it `micro_batches` later.
    #[must_use]
    pub fn later(self, micro_batches: u32) -> Self {
        Self {
            first: self.first.later(micro_batches),
            second: self.second.map(|pass| pass.later(micro_batches)),
            ..self
        }
    }

    /// The pass that completes gradients, if there is one.
    pub fn completing(&self) -> Option<StagePass> {
        self.passes().find(|pass| pass.pass.completes_gradients())
    }
}

/// Runs of passes, so many times in a row, each time for the next micro-batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassLoop {
    /// The runs, by index.
    pub runs: Range<usize>,
    /// How often.
    pub repeat: u32,
}

/// The passes of one rank in a step, in order.
#[derive(Debug, Default)]
pub struct PassOrder {
    /// Runs of passes.
    pub runs: Vec<PassRun>,
    /// Runs that repeat together, in order.
    pub loops: Vec<PassLoop>,
    /// Runs that repeat together, each time for as many micro-batches later as there are ranks: a group of them.
    pub group: Range<usize>,
    /// How often they do.
    pub groups: u32,
}

impl PassOrder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { groups: 1, ..Self::default() }
    }

    /// Adds a run, joining it with an equal neighbour.
    pub fn add(&mut self, repeat: u32, first: StagePass, second: Option<StagePass>) {
        if repeat == 0 {
            return;
        }
        if let Some(last) = self.runs.last_mut() {
            // F0 F1 F2 that goes on with F3 is one run: a schedule may list pass by pass.
            let next = last.later(last.repeat);
            if (next.first, next.second) == (first, second) {
                last.repeat += repeat;
                return;
            }
        }
        self.runs.push(PassRun { repeat, first, second });
    }

    /// Adds passes that take turns, each a run of its own: those of two stages that take one buffer from each other every
    /// time, or more than two passes. What they find in the buffers is the same each time but the first, and what follows
    /// them each time but the last: those two are listed apart.
    pub(crate) fn add_turns<const N: usize>(&mut self, repeat: u32, passes: [StagePass; N]) {
        let runs = |time: u32| passes.map(|pass| PassRun { repeat: 1, first: pass.later(time), second: None });
        if repeat > 0 {
            self.runs.extend(runs(0));
        }
        if repeat > 2 {
            let start = self.runs.len();
            self.runs.extend(runs(1));
            self.loops.push(PassLoop { runs: start..self.runs.len(), repeat: repeat - 2 });
        }
        if repeat > 1 {
            self.runs.extend(runs(repeat - 1));
        }
    }
}

#[cfg(test)]
impl PassOrder {
    /// Every run, by index, loops and groups unrolled, and how many micro-batches later it runs.
    pub(crate) fn unrolled_runs(&self, ranks: u32) -> Vec<(usize, u32)> {
        let mut unrolled = Vec::new();
        let mut list = |runs: Range<usize>, later: u32| {
            let mut index = runs.start;
            while index < runs.end {
                let repeated = self.loops.iter().find(|repeated| repeated.runs.start == index);
                let (end, repeat) = repeated.map_or((index + 1, 1), |repeated| (repeated.runs.end, repeated.repeat));
                (0..repeat).for_each(|time| unrolled.extend((index..end).map(|run| (run, later + time))));
                index = end;
            }
        };
        list(0..self.group.start, 0);
        (0..self.groups).for_each(|group| list(self.group.clone(), group * ranks));
        list(self.group.end..self.runs.len(), 0);
        unrolled
    }

    /// Every pass.
    pub(crate) fn unrolled(&self, ranks: u32) -> Vec<StagePass> {
        let times = |(run, later): (usize, u32)| (later..later + self.runs[run].repeat).map(move |later| (run, later));
        let passes = |(run, later): (usize, u32)| self.runs[run].later(later).passes();
        self.unrolled_runs(ranks).into_iter().flat_map(times).flat_map(passes).collect()
    }
}

/// The counts of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineCounts {
    /// Ranks (`P`).
    pub ranks: u32,
    /// Virtual stages on each rank (`K`).
    pub stages: u32,
    /// Micro-batches of a step (`M`).
    pub micro_batches: u32,
}

impl PipelineCounts {
    /// Bubble overhead, idle over busy time [layered B8], of any schedule that starts each stage as soon as it can and
    /// has forward and backward of a micro-batch together: `(P - 1) / (M K)` where there are as many micro-batches as
    /// ranks, and for any count `((K - 1) max(M, P) + M + P - 1) / (M K) - 1`.
    pub fn bubble(self) -> f64 {
        let [ranks, stages, micro_batches] = [self.ranks, self.stages, self.micro_batches].map(f64::from);
        let slots = (stages - 1.0) * micro_batches.max(ranks) + micro_batches + ranks - 1.0;
        slots / (micro_batches * stages) - 1.0
    }

    /// Checkpoints where every micro-batch of every stage is kept.
    pub(crate) const fn all_checkpoints(self) -> u32 {
        self.micro_batches * self.stages
    }

    /// How often a rank has passed one of its stages after so many forwards: all micro-batches where these are all forwards,
    /// else depth first, where forward `i` is of stage `i / P mod K`.
    pub(crate) fn forwards_of(self, stage: u32, forwards: u32) -> u32 {
        if forwards == self.all_checkpoints() {
            return self.micro_batches;
        }
        let period = self.ranks * self.stages;
        let last = (forwards % period).saturating_sub(stage * self.ranks).min(self.ranks);
        forwards / period * self.ranks + last
    }

    /// Gathers and reductions of a rank's stages where forward passes them once and backward once, with two buffers
    /// [layered C5]: the last two of forward stay for backward.
    pub(crate) const fn collectives_once(self) -> StageCollectives {
        match self.stages {
            1 => StageCollectives { gathers: 1, reductions: 1 },
            stages => StageCollectives { gathers: 2 * stages - 2, reductions: stages },
        }
    }
}

/// Collectives of a rank in a step where its stages take turns in two buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageCollectives {
    /// Gathers of a stage's weights.
    pub gathers: u32,
    /// Reductions of a stage's gradients.
    pub reductions: u32,
}

/// Buffers for gathered stages, and as many for their gradients [layered C5].
pub(crate) const STAGE_BUFFERS: usize = 2;

/// The buffer of a stage: they take turns.
pub(crate) const fn stage_buffer(stage: u32) -> usize {
    stage as usize % STAGE_BUFFERS
}
