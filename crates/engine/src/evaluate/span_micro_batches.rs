//! Which micro-batches a span of a trace works for: one, all, or none in particular. Not for drawing it.

use crate::plan::Reduction;
use crate::program::{ModelPart, Stream, TaskKind};
use crate::scenario::{Layout, Scenario};

use super::trace::Span;

/// The micro-batches that a span works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanMicroBatches {
    /// One, from 0.
    One(u32),
    /// Every one of the step: their sum is reduced.
    All,
    /// None in particular: a stage's weights serve whichever micro-batches pass while they are there.
    Unsaid,
}

impl Span {
    /// The micro-batches of a scenario's step that it works for.
    pub fn micro_batches(&self, scenario: &Scenario, layout: &Layout) -> SpanMicroBatches {
        let plan = &scenario.plan;
        // A stage's weights come and its gradients go with the stage, whichever micro-batches cross it meanwhile.
        let staged = plan.staged();
        match self.lane {
            // The sum of a tied embedding's gradients, between the ends of a pipeline.
            Stream::Pipeline if self.activity.kind == TaskKind::AllReduce => SpanMicroBatches::All,
            Stream::Reduce if reduced_once(scenario, layout) => SpanMicroBatches::All,
            Stream::Replicas if !scenario.sums_each_micro_batch() => SpanMicroBatches::All,
            Stream::Gather | Stream::Reduce | Stream::Replicas if staged => SpanMicroBatches::Unsaid,
            Stream::HostIn | Stream::HostOut if staged && plan.offload.state() => SpanMicroBatches::Unsaid,
            _ if self.activity.part == ModelPart::Model => SpanMicroBatches::Unsaid,
            _ => SpanMicroBatches::One(self.activity.micro_batch),
        }
    }
}

/// Whether every gradient is reduced once a step: if none is sharded, or if each stage is left once. With
/// per-operator sharding that is not known.
fn reduced_once(scenario: &Scenario, layout: &Layout) -> bool {
    let plan = &scenario.plan;
    let summed = || plan.reduction == Reduction::Step || layout.gradients == 1;
    // Interleaved 1F1B on 4 ranks takes 8 micro-batches in two groups of 4: backward leaves each stage twice.
    let leaves_once = plan.pipeline == 1 || !plan.effective_schedule().rules().grouped;
    if plan.staged() { leaves_once || summed() } else { plan.operators.is_empty() && summed() }
}

#[cfg(test)]
mod tests;
