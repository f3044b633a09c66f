//! The memory that a rank needs at least: that of the moment when it begins its first backward.

use crate::plan::pass::PipelineCounts;
use crate::scenario::Scenario;
use crate::units::Bytes;

use super::{ROUNDING, StepBound};

/// A rank's memory when it begins its first backward, for any number of micro-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::search) struct RankMemory {
    /// Its state, and the weights and gradients in buffers.
    state: Bytes,
    /// Beside that, whatever the number of micro-batches: what backward works in, and what units keep.
    working: Bytes,
    /// Checkpoints of a micro-batch: of all its stages, and of the stage that has least.
    kept: Bytes,
    least: Bytes,
    stages: u32,
    /// The most checkpoints that it holds, each of a stage and a micro-batch.
    most: u32,
}

impl RankMemory {
    /// All memory that it holds.
    pub fn at(&self, micro_batches: u32) -> Bytes {
        self.state + self.without_state(micro_batches)
    }

    /// Memory that it holds beside its state.
    pub(crate) fn without_state(&self, micro_batches: u32) -> Bytes {
        let passed = if u64::from(micro_batches) * u64::from(self.stages) <= u64::from(self.most) {
            self.kept * f64::from(micro_batches)
        } else {
            // Which stages they are of is not asked: they are counted as those of the smallest. Each stage has one at
            // least.
            (self.least * f64::from(self.most)).max(self.kept)
        };
        self.working + passed
    }

    /// Whether another rank never holds more.
    pub fn covers(&self, other: &Self) -> bool {
        let as_much = self.working + self.state >= other.working + other.state;
        as_much && self.kept >= other.kept && self.least >= other.least && self.most >= other.most
    }
}

impl StepBound<'_> {
    /// The memory of a rank.
    pub fn memory(&self, rank: usize) -> RankMemory {
        if !self.staged {
            return self.unit_memory();
        }
        let stages = self.stages_per_rank() as u32;
        let counts = PipelineCounts { ranks: self.ranks as u32, stages, micro_batches: u32::MAX / stages };
        // Backward begins with the last stage.
        let begins = self.stage(self.terms.order.len() - self.ranks + rank);
        RankMemory {
            state: self.of_rank(rank).map(|stage| stage.state).sum::<Bytes>() + begins.buffers,
            working: begins.working,
            kept: self.of_rank(rank).map(|stage| stage.kept).sum(),
            least: self.of_rank(rank).map(|stage| stage.kept).reduce(Bytes::min).unwrap_or(Bytes::ZERO),
            stages,
            most: (self.rules.checkpoints)(counts, rank as u32),
        }
    }

    /// Units keep what one micro-batch needs. The logits are gone when the last layer begins.
    fn unit_memory(&self) -> RankMemory {
        let kept: Bytes = self.order().map(|unit| unit.kept).sum();
        let mut memory = RankMemory {
            state: Bytes::ZERO,
            working: kept,
            kept: Bytes::ZERO,
            least: Bytes::ZERO,
            stages: 1,
            most: u32::MAX,
        };
        if self.knows_state {
            let (ends, units) = (usize::from(self.has_ends), self.terms.order.len());
            let layer = self.stage(units - 1 - ends);
            let logits = if self.has_ends { self.stage(units - 1).kept } else { Bytes::ZERO };
            let begun = kept - logits + layer.working;
            memory.working = kept.max(begun);
            let buffers = kept.max(begun + layer.buffers) - memory.working;
            memory.state = self.order().map(|unit| unit.state).sum::<Bytes>() + buffers;
        }
        memory
    }
}

/// Bytes that the allocator reserves for so many.
pub(in crate::search) fn reserved(scenario: &Scenario, asked: Bytes) -> Bytes {
    let allocator = &scenario.calibration.allocator;
    asked * ((1.0 + allocator.fragmentation) * ROUNDING) + allocator.reserve
}
