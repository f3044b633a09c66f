//! Whose work a span is: that of one micro-batch, or of more.

use crate::plan::{Accumulation, Reduction, Schedule};
use crate::program::{Lane, ModelPart, TaskKind};
use crate::scenario::Scenario;

use super::Span;

/// The micro-batches that a span works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanMicroBatches {
    /// One, from 0.
    One(u32),
    /// Every one of the step: their sum is reduced.
    All,
    /// Whichever need it while it is there, or none.
    Unsaid,
}

impl SpanMicroBatches {
    /// Of a span of a scenario's step.
    pub fn of(span: &Span, scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        // A stage's weights come and its gradients go with the stage, whichever micro-batches cross it meanwhile.
        let staged = plan.pipeline > 1 || plan.accumulation == Accumulation::Layered;
        match span.lane {
            Lane::Pipeline if span.activity.kind == TaskKind::AllReduce => Self::All,
            Lane::Reduce if reduced_once(scenario) => Self::All,
            Lane::Gather | Lane::Reduce if staged => Self::Unsaid,
            Lane::HostIn | Lane::HostOut if staged && plan.offload.state() => Self::Unsaid,
            _ if span.activity.part == ModelPart::Model => Self::Unsaid,
            _ => Self::One(span.activity.micro_batch),
        }
    }
}

/// Whether every gradient is reduced once a step: if none is sharded, or if each stage is left once. Where operators
/// are placed apart that is not known.
fn reduced_once(scenario: &Scenario) -> bool {
    let plan = &scenario.plan;
    let summed = || plan.reduction == Reduction::Step || scenario.layout().is_ok_and(|layout| layout.gradients == 1);
    match plan.effective_schedule() {
        Schedule::Interleaved if plan.pipeline > 1 => summed(),
        _ if plan.pipeline > 1 || plan.accumulation == Accumulation::Layered => true,
        _ => plan.operators.is_empty() && summed(),
    }
}

#[cfg(test)]
mod tests;
