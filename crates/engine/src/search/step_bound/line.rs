//! Lines over the number of micro-batches, and the greatest of them. Not for what they are made of.

use derive_more::{Add, Mul};

use crate::units::{Bytes, Seconds};

use super::ROUNDING;
use super::memory::RankMemory;

/// `fixed + each x micro-batches`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Mul)]
pub(super) struct BoundLine {
    pub fixed: Seconds,
    pub each: Seconds,
}

impl BoundLine {
    /// The line behind something that takes so long.
    pub fn after(self, before: Seconds) -> Self {
        Self { fixed: before + self.fixed, each: self.each }
    }

    /// Its value at a number of micro-batches.
    pub fn at(self, micro_batches: f64) -> Seconds {
        self.fixed + self.each * micro_batches
    }

    /// Whether no number of micro-batches has another line above this one.
    fn covers(self, other: Self) -> bool {
        self.fixed >= other.fixed && self.each >= other.each
    }
}

/// The part of a step that a line bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundSpan {
    /// Until the last rank has passed all forward, where no backward comes before that.
    Forward,
    /// The rest of such a step.
    Backward,
    /// A whole step.
    Step,
}

/// The greatest of lines at one number of micro-batches.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepMaximum {
    micro_batches: f64,
    spans: [Seconds; 3],
}

impl StepMaximum {
    pub fn new(micro_batches: u32) -> Self {
        Self { micro_batches: f64::from(micro_batches), spans: [Seconds::ZERO; 3] }
    }

    pub fn add(&mut self, span: BoundSpan, line: BoundLine) {
        let most = &mut self.spans[span as usize];
        *most = most.max(line.at(self.micro_batches));
    }

    pub fn time(&self) -> Seconds {
        step_time(self.spans)
    }
}

/// Time of a step whose spans take so long.
fn step_time([forward, backward, step]: [Seconds; 3]) -> Seconds {
    // The last rank passes all forward before it passes all backward, so those two add up.
    (forward + backward).max(step) * ROUNDING
}

/// The greatest lines, for any number of micro-batches.
#[derive(Debug, Default)]
pub(in crate::search) struct StepEnvelope {
    /// The lines of each span.
    spans: [Vec<BoundLine>; 3],
    ranks: Vec<RankMemory>,
}

impl StepEnvelope {
    pub(super) fn add(&mut self, span: BoundSpan, line: BoundLine) {
        let lines = &mut self.spans[span as usize];
        // 3 + 2 m is nowhere above 4 + 2 m, so that it adds nothing.
        if !lines.iter().any(|known| known.covers(line)) {
            lines.retain(|known| !line.covers(*known));
            lines.push(line);
        }
    }

    pub(super) fn add_memory(&mut self, rank: RankMemory) {
        if !self.ranks.iter().any(|known| known.covers(&rank)) {
            self.ranks.push(rank);
        }
    }

    /// Time of a step.
    pub fn time(&self, micro_batches: u32) -> Seconds {
        let count = f64::from(micro_batches);
        let most = |lines: &Vec<BoundLine>| lines.iter().map(|line| line.at(count)).fold(Seconds::ZERO, Seconds::max);
        step_time(self.spans.each_ref().map(most))
    }

    /// Memory of the fullest rank when it begins a backward.
    pub fn memory(&self, micro_batches: u32) -> Bytes {
        self.ranks.iter().map(|rank| rank.at(micro_batches)).fold(Bytes::ZERO, Bytes::max)
    }
}
