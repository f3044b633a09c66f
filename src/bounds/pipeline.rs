//! Bubble and checkpoints of a pipeline in closed form. Not for its transfers.

use crate::plan::{Accumulation, Plan, Schedule};

/// The counts of a pipeline; stages are those of one rank. Contiguous stages make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// Ranks (`P`, `n_l`).
    pub ranks: u32,
    /// Stages on each rank (`K`).
    pub stages: u32,
    /// Micro-batches (`M`, `n_mu`).
    pub micro_batches: u32,
    /// Whether all micro-batches of a stage come before the next.
    pub breadth_first: bool,
}

impl Pipeline {
    /// Of a plan: layered accumulation is breadth first, whatever the schedule.
    pub fn new(plan: &Plan) -> Self {
        let layered = plan.accumulation == Accumulation::Layered;
        let breadth_first = layered || (plan.pipeline > 1 && plan.schedule == Schedule::BreadthFirst);
        let looped = plan.pipeline > 1 && (breadth_first || plan.schedule == Schedule::Interleaved);
        let stages = if looped { plan.stages_per_rank } else { 1 };
        Self { ranks: plan.pipeline, stages, micro_batches: plan.accumulate, breadth_first }
    }

    /// Bubble overhead, idle over busy time [layered B8]: `(P - 1) / (M K)` where there are as many
    /// micro-batches as ranks, and for any count `((K - 1) max(M, P) + M + P - 1) / (M K) - 1`.
    pub fn bubble(self) -> f64 {
        let [ranks, stages, micro_batches] = [self.ranks, self.stages, self.micro_batches].map(f64::from);
        // Example: P = 4, M = 8, K = 1 has 8 + 4 - 1 = 11 slots for 8 of work: 3 / 8 of it idle.
        let slots = (stages - 1.0) * micro_batches.max(ranks) + micro_batches + ranks - 1.0;
        slots / (micro_batches * stages) - 1.0
    }

    /// How often a rank gathers the weights of a stage in a step, and how often it reduces the gradients of one, where
    /// two buffers hold what is gathered [layered C5]: its only stage once. Breadth first each stage is gathered on
    /// the way there and on the way back, except the last two, which stay; so is it in one group of interleaved
    /// micro-batches. In all other groups the stages of forward and backward take one buffer from each other, for
    /// many micro-batches at every pass, on the rank that does so most `2 (K - 2) P` times a group, and for odd `K`
    /// `2 (K - 1) P - 2` (counted for K 2..8, P 2..8; the last rank and one in the middle, to within 2 a step).
    pub fn collectives(self) -> [u32; 2] {
        let Self { ranks, stages, micro_batches, breadth_first } = self;
        let groups = if breadth_first { 1 } else { (micro_batches / ranks).max(1) };
        match (stages, groups) {
            (1, _) => [1, 1],
            (2, _) => [2, 2 * groups],
            (_, 1) => [2 * stages - 2, stages],
            _ => {
                let odd = stages % 2;
                let taken = 2 * (stages - 2 + odd) * ranks - 2 * odd;
                [2 * stages + (groups - 1) * taken, stages * groups]
            }
        }
    }

    /// The most checkpoints that a rank holds, each of one stage and one micro-batch [layered B6, C4]: of
    /// every micro-batch breadth first and in `GPipe`, of as many as ranks in 1F1B, those that go ahead and one
    /// depth first: `2 (P - 1) + (K - 1) P + 1`; of one micro-batch without a pipeline.
    pub fn checkpoints(self, schedule: Schedule) -> u32 {
        let all = self.micro_batches * self.stages;
        match schedule {
            // The order of the arms matters: layered accumulation is breadth first on one rank too.
            _ if self.breadth_first => all,
            _ if self.ranks == 1 => 1,
            Schedule::GPipe | Schedule::BreadthFirst => all,
            Schedule::OneForwardOneBackward => all.min(self.ranks),
            Schedule::Interleaved => all.min(2 * (self.ranks - 1) + (self.stages - 1) * self.ranks + 1),
        }
    }
}

#[cfg(test)]
mod tests;
