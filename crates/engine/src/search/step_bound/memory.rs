//! The memory that a rank needs at least: that of moments when it begins a backward.

use crate::plan::pass::{STAGE_BUFFERS, stage_buffer};
use crate::program::StageCost;
use crate::scenario::Scenario;
use crate::stack::Overlap;
use crate::units::Bytes;

use super::{ROUNDING, StepBound};

/// A rank's memory when it begins a backward, for any number of micro-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::search) struct RankMemory {
    /// Its state, the second copy of its weights, and weights and gradients in buffers.
    state: Bytes,
    /// Beside that, whatever the number of micro-batches: what backward works in, and what units keep.
    working: Bytes,
    /// Checkpoints of each micro-batch, where all are held.
    kept: Bytes,
    /// Checkpoints where a rank holds no more than `most`, each of a stage and a micro-batch.
    held: Bytes,
    stages: u32,
    most: u32,
}

impl RankMemory {
    /// All memory that it holds.
    pub fn at(&self, micro_batches: u32) -> Bytes {
        self.state + self.without_state(micro_batches)
    }

    /// Memory that it holds beside its state.
    pub(crate) fn without_state(&self, micro_batches: u32) -> Bytes {
        let all = u64::from(micro_batches) * u64::from(self.stages) <= u64::from(self.most);
        self.working + if all { self.kept * f64::from(micro_batches) } else { self.held }
    }

    /// Whether another rank never holds more.
    pub fn covers(&self, other: &Self) -> bool {
        let as_much = self.working + self.state >= other.working + other.state;
        as_much && self.kept >= other.kept && self.held >= other.held && self.most >= other.most
    }
}

impl StepBound<'_> {
    /// The memory of a rank when it begins its first backward, and that of its next stage where it has another one.
    pub fn memory(&self, rank: usize) -> impl Iterator<Item = RankMemory> + use<> {
        let moments = if self.staged {
            [Some(self.first_backward(rank)), self.next_backward(rank)]
        } else {
            [Some(self.unit_memory()), None]
        };
        moments.into_iter().flatten()
    }

    /// The first backward begins with the last stage. Both weight buffers are full by then, since forward has passed all
    /// stages.
    fn first_backward(&self, rank: usize) -> RankMemory {
        let (stages, begins) = (self.stages_per_rank(), self.last_stage(rank));
        let sum = |of: fn(&StageCost) -> Bytes| self.of_rank(rank).map(of).sum::<Bytes>();
        let other = if stages > 1 { self.least_gathered(rank) } else { Bytes::ZERO };
        // The last two stages may be in the buffers until backward is over, and then leave no copy.
        let copied = self.of_rank(rank).take(stages.saturating_sub(STAGE_BUFFERS));
        let copies: Bytes = copied.map(|stage| stage.secondary).sum();
        let most = (self.rules.checkpoints)(self.counts(), rank as u32);
        RankMemory {
            state: sum(|stage| stage.state) + copies + begins.gathered + other + begins.gradients,
            working: begins.working,
            kept: sum(|stage| stage.kept),
            held: self.checkpoints(rank, most),
            stages: stages as u32,
            most,
        }
    }

    /// When backward turns to the last stage but one, the gradients of the last one are being reduced: there are two
    /// buffers of gradients, unless the reduction holds compute up. What backward works in comes later.
    fn next_backward(&self, rank: usize) -> Option<RankMemory> {
        let ends = self.last_stage(rank);
        let begins = self.of_rank(rank).nth(self.stages_per_rank().checked_sub(2)?)?;
        if self.overlap == Overlap::None || ends.gradients == Bytes::ZERO {
            return None;
        }
        let first = self.first_backward(rank);
        let state = first.state - ends.gathered + self.least_gathered(rank) + begins.gradients;
        let next = RankMemory { state, working: Bytes::ZERO, ..first };
        if !self.rules.alternates {
            return Some(RankMemory { kept: first.kept - ends.kept, ..next });
        }
        // With 2 ranks of 3 stages, backward 2 is the first of stage 1. Rank 0 has passed 7 forwards before backward 0,
        // and 8 before the forward that precedes backward 2. Where those two take one buffer from each other, the forward
        // may outlast the reduction.
        let ranks = self.ranks as u32;
        let most = first.most + ranks - 1;
        let [forward, backward] = [most / ranks % first.stages, first.stages - 2];
        let contend = forward != backward && stage_buffer(forward) == stage_buffer(backward);
        let held = self.checkpoints(rank, most) - ends.kept * f64::from(ranks);
        let passed = RankMemory { kept: Bytes::ZERO, held, most, ..next };
        (self.rules.grouped && !contend).then_some(passed)
    }

    fn last_stage(&self, rank: usize) -> &StageCost {
        self.stage(self.terms.order.len() - self.ranks + rank)
    }

    /// Gathered weights of the rank's smallest stage.
    fn least_gathered(&self, rank: usize) -> Bytes {
        self.of_rank(rank).map(|stage| stage.gathered).reduce(Bytes::min).unwrap_or(Bytes::ZERO)
    }

    /// Checkpoints of a rank after so many forwards.
    fn checkpoints(&self, rank: usize, count: u32) -> Bytes {
        self.forwards(rank, count).map(|(stage, times)| stage.kept * times).sum()
    }

    /// Units keep what one micro-batch needs. The logits are gone when the last layer begins.
    fn unit_memory(&self) -> RankMemory {
        let kept: Bytes = self.order().map(|unit| unit.kept).sum();
        let mut memory = RankMemory {
            state: Bytes::ZERO,
            working: kept,
            kept: Bytes::ZERO,
            held: Bytes::ZERO,
            stages: 1,
            most: u32::MAX,
        };
        if self.knows_state {
            let (ends, units) = (usize::from(self.has_ends), self.terms.order.len());
            let layer = self.stage(units - 1 - ends);
            let ends_with =
                |of: fn(&StageCost) -> Bytes| if self.has_ends { of(self.stage(units - 1)) } else { Bytes::ZERO };
            let logits = ends_with(|head| head.kept);
            let most = kept + ends_with(|head| head.working);
            let begun = kept - logits + layer.working;
            memory.working = most.max(begun);
            let buffers = most.max(begun + layer.gathered + layer.gradients) - memory.working;
            // The head's second copy may be free by then.
            let copies: Bytes = self.order().take(units - ends).map(|unit| unit.secondary).sum();
            let stays: Bytes = self.order().skip(ends).take(units - 2 * ends).map(|unit| unit.stays).sum();
            memory.state = self.order().map(|unit| unit.state).sum::<Bytes>() + copies + stays + buffers;
        }
        memory
    }
}

/// Bytes that the allocator reserves for so many.
pub(in crate::search) fn reserved(scenario: &Scenario, asked: Bytes) -> Bytes {
    let allocator = &scenario.calibration.allocator;
    asked * ((1.0 + allocator.fragmentation) * ROUNDING) + allocator.reserve
}
