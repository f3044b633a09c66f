//! The tasks of a pipeline rank before its first pass and after its last.

use crate::plan::pass::Direction;

use super::super::boundary;
use super::super::build::GraphBuilder;
use super::super::label::{ModelPart, Phase, TaskKind};
use super::super::memory::MemoryKind;
use super::super::network_transfer::NetworkTransfer;
use super::super::step::TaskEmitter;
use super::super::stream::Stream;
use super::super::task::{TaskEvent, waits};
use super::context::{PipelineContext, label, pause};

impl PipelineContext<'_> {
    /// The host's fixed times before all else.
    pub(super) fn write_begin(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        let rates = self.costs().rates;
        let groups = self.parameter_groups(rank);
        let owners = groups.first().map_or(1, |group| group.costs.layout.optimizer);
        TaskEmitter::write_host_time(graph, rates.host_step(owners));
        TaskEmitter::write_host_time(graph, rates.host_micro_batch());
        boundary::average_weights(&groups, graph);
    }

    /// The boundary, after the sum over the ends of the pipeline.
    pub(super) fn write_end(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        self.sum_tied_gradients(graph, rank);
        graph.task_loop(1, |body| boundary::build(&self.parameter_groups(rank), self.streams, body));
    }

    /// Sums the reduced gradients of an embedding and of logits tied to it, where the first and the last rank have a
    /// copy each (`finalize_model_grads` of Megatron-LM). The two ranks are neighbours where the pipeline closes: each
    /// has the sum when both have done their part.
    fn sum_tied_gradients(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        let (sends, arrival) = match rank {
            0 => (Direction::Backward, TaskEvent::ArrivedForward),
            last if last + 1 == self.counts.ranks => (Direction::Forward, TaskEvent::ArrivedBackward),
            _ => return,
        };
        let costs = &self.layout_costs[self.embedding];
        let Some(transfer) = costs.tied_gradient_sum() else { return };
        // Each rank sends its share and waits for the other's, so that both go on at the later of the two.
        graph.expect(arrival);
        graph.task_loop(1, |body| {
            let label = label(Stream::Pipeline, TaskKind::AllReduce, ModelPart::Embedding, Phase::Backward);
            let source = Some(costs.source(NetworkTransfer::TiedGradients));
            let mut task = body.transfer(&transfer, source, Stream::Pipeline, self.contention(), label);
            task.waits = waits(
                [TaskEvent::Released, TaskEvent::Reduced, TaskEvent::Summed].map(|event| Some(body.after(event, 0))),
            );
            (task.signals, task.sends) = ([Some(TaskEvent::Reduced), None], Some(sends));
            body.push(task);
            let mut task = pause(body);
            task.waits = waits([Some(body.after(TaskEvent::Reduced, 0)), Some(body.after(arrival, 0))]);
            body.push(task);
        });
    }
}

/// Frees the bytes that are left in the buffers.
pub(super) fn free_buffers(graph: &mut GraphBuilder<'_>, left: i64) {
    graph.task_loop(u32::from(left > 0), |body| {
        let mut task = pause(body);
        task.frees[MemoryKind::Gathered] = left;
        body.push(task);
    });
}
