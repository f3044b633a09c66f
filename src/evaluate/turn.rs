//! Whose work a span is: that of one micro-batch, or of more.

use crate::plan::Reduction;
use crate::program::{Lane, ModelPart, TaskKind};
use crate::scenario::Scenario;

use super::trace::Span;

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

impl Span {
    /// The micro-batches of a scenario's step that it works for.
    pub fn micro_batches(&self, scenario: &Scenario) -> SpanMicroBatches {
        let plan = &scenario.plan;
        // A stage's weights come and its gradients go with the stage, whichever micro-batches cross it meanwhile.
        let staged = plan.staged();
        match self.lane {
            Lane::Pipeline if self.activity.kind == TaskKind::AllReduce => SpanMicroBatches::All,
            Lane::Reduce if reduced_once(scenario) => SpanMicroBatches::All,
            Lane::Replicas if plan.reduction != Reduction::MicroBatch => SpanMicroBatches::All,
            Lane::Gather | Lane::Reduce | Lane::Replicas if staged => SpanMicroBatches::Unsaid,
            Lane::HostIn | Lane::HostOut if staged && plan.offload.state() => SpanMicroBatches::Unsaid,
            _ if self.activity.part == ModelPart::Model => SpanMicroBatches::Unsaid,
            _ => SpanMicroBatches::One(self.activity.micro_batch),
        }
    }
}

/// Whether every gradient is reduced once a step: if none is sharded, or if each stage is left once. With
/// per-operator sharding that is not known.
fn reduced_once(scenario: &Scenario) -> bool {
    let plan = &scenario.plan;
    let summed = || plan.reduction == Reduction::Step || scenario.layout().is_ok_and(|layout| layout.gradients == 1);
    // Where micro-batches come in groups, backward leaves each stage once a group.
    let leaves_once = plan.pipeline == 1 || !plan.effective_schedule().rules().grouped;
    if plan.staged() { leaves_once || summed() } else { plan.operators.is_empty() && summed() }
}

#[cfg(test)]
mod tests;
