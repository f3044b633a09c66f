//! Bubble, checkpoints and collectives of a plan's pipeline in closed form. Not for its transfers, nor for the forms
//! themselves: each schedule has its own ([`crate::plan::ScheduleRules`]).

use crate::plan::pass::{PipelineCounts, StageCollectives};
use crate::plan::{Accumulation, Plan, Schedule, ScheduleRules};

/// A plan's pipeline: its counts, and the rules of the schedule that it runs.
#[derive(Debug, Clone, Copy)]
pub struct Pipeline {
    /// The counts; a single rank has a single stage.
    pub counts: PipelineCounts,
    /// The order of its passes. Layered accumulation is breadth first, whatever the plan says; without a pipeline and
    /// without that, micro-batches run one by one.
    pub rules: &'static ScheduleRules,
}

impl Pipeline {
    /// The pipeline that a plan asks for; without one, a single rank with a single stage.
    pub fn new(plan: &Plan) -> Self {
        let (ranks, micro_batches) = (plan.pipeline, plan.accumulate);
        let stages = if ranks > 1 { plan.virtual_stages() } else { 1 };
        let rules = match (ranks, plan.accumulation) {
            (1, Accumulation::Standard) => Schedule::USUAL.rules(),
            _ => plan.schedule_rules(),
        };
        Self { counts: PipelineCounts { ranks, stages, micro_batches }, rules }
    }

    /// Bubble overhead, idle over busy time [layered B8].
    pub fn bubble(self) -> f64 {
        (self.rules.bubble)(self.counts)
    }

    /// Gathers of a stage's weights by a rank in a step, and reductions of a stage's gradients, where two buffers hold
    /// what is gathered [layered C5].
    pub fn collectives(self) -> StageCollectives {
        (self.rules.collectives)(self.counts)
    }

    /// The most checkpoints that a rank holds, each of one stage and one micro-batch [layered B6, C4].
    pub fn checkpoints(self) -> u32 {
        (self.rules.checkpoints)(self.counts, 0)
    }

    /// Micro-batches that pass a stage before its rank turns to another.
    pub fn together(self) -> u32 {
        (self.rules.together)(self.counts)
    }
}

#[cfg(test)]
mod tests;
