//! The tasks that fill and empty the buffers of a pipeline rank. Not for when stages take turns in them, which follows
//! from the order of passes ([`crate::plan::ScheduleRules`]).
//!
//! Where the state lives on the host, a stage's shard is copied from there before each gather, and its reduced
//! gradients are copied there when backward leaves the stage [layered B5]; the host adds them to earlier ones. Sums that are still
//! to be reduced over other ranks come back with the stage's last backward. A stage's first gather leaves a second copy
//! of the weights, which serves gathers for backward and is freed after the last backward [frontier D4]; a stage that
//! stays in its buffer needs none.

use crate::cost::{Parameters, Transfer};
use crate::plan::pass::Pass;
use crate::units::{Bytes, Count, Share};

use super::super::build::GraphBuilder;
use super::super::label::{ModelPart, Phase, TaskKind};
use super::super::memory::MemoryKind;
use super::super::network_transfer::ReductionScope;
use super::super::operator_layouts::StageParameters;
use super::super::stream::Stream;
use super::super::task::{Task, TaskEvent, bytes, memory_of, waits};
use super::super::unit_costs::UnitCosts;
use super::super::unit_pass::{Gradients, UnitCollective};
use super::context::{PipelineContext, label, pause};

/// A stage that takes a weight buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StageFill {
    pub work: usize,
    /// The stage that had the buffer before.
    pub evicts: Option<usize>,
    pub pass: Pass,
    /// Whether it leaves a second copy.
    pub keeps_secondary: bool,
}

/// A gradient buffer that backward of a stage takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GradientBuffer {
    pub work: usize,
    /// Whether it takes sums that earlier stretches of backward left on the host.
    pub resumed: bool,
}

/// The reduction of a stage's gradients when backward leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GradientDrain {
    pub work: usize,
    pub gradients: Gradients,
    /// Whether sums of its gradients have come back from the host.
    pub resumed: bool,
    /// Whether the host adds them to sums that are there.
    pub added: bool,
    /// Whether it frees a second copy.
    pub frees_secondary: bool,
}

impl<'a> PipelineContext<'a> {
    /// A stage's parameters, by layout.
    fn holdings(&self, work: usize) -> impl Iterator<Item = (&UnitCosts<'a>, StageParameters, Parameters)> {
        let placed = |holding: &StageParameters| {
            let costs = &self.layout_costs[holding.layout];
            (costs, *holding, costs.local(holding.parameters))
        };
        self.stages.distinct[work].holdings.iter().map(placed)
    }

    /// Sums bytes over a stage's weights.
    fn sum(&self, work: usize, of: impl Fn(&UnitCosts<'a>, Count) -> Bytes) -> Bytes {
        self.holdings(work).map(|(costs, _, own)| of(costs, own.weights)).sum()
    }

    /// Sums bytes over a stage's gradients.
    fn sum_trained(&self, work: usize, of: impl Fn(&UnitCosts<'a>, Count) -> Bytes) -> Bytes {
        self.holdings(work).map(|(costs, _, own)| of(costs, own.trained)).sum()
    }

    /// Bytes that a stage takes in its buffer beyond the one that it evicts.
    pub(super) fn net_buffer_bytes(&self, work: usize, evicts: Option<usize>) -> i64 {
        let buffer = |work: usize| bytes(self.sum(work, UnitCosts::buffer));
        buffer(work) - evicts.map_or(0, buffer)
    }

    /// Bytes of a gradient buffer that a stage's backward fills; none where gradients stay whole all the time.
    pub(super) fn gradient_buffer(&self, work: usize) -> i64 {
        self.holdings(work).map(|(costs, _, own)| bytes(costs.gradient_buffer(own.trained))).sum()
    }

    /// Bytes of sums on the host that are still to be reduced over other ranks.
    pub(super) fn unreduced(&self, work: usize) -> Bytes {
        self.sum_trained(work, UnitCosts::unreduced)
    }

    /// Fills a buffer, once what was in it has been used for the last time.
    pub(super) fn fill(&self, graph: &mut GraphBuilder<'_>, fill: StageFill) {
        let StageFill { work, evicts, pass, keeps_secondary } = fill;
        graph.task_loop(1, |body| {
            let mut tasks = self.fetch_weights(body, work, pass);
            // One stage may be several transfers, one for each layout of its operators. The first takes
            // the buffer and the last reports the stage: the stream is in order, so that all are done by then.
            if let Some(first) = tasks.first_mut() {
                first.allocates[MemoryKind::Gathered] += self.net_buffer_bytes(work, evicts);
            }
            if let Some(last) = tasks.last_mut() {
                last.signals[1] = Some(TaskEvent::Gathered);
                last.frees[MemoryKind::Secondary] -=
                    if keeps_secondary { bytes(self.sum(work, UnitCosts::secondary)) } else { 0 };
            }
            for task in tasks {
                body.push(task);
            }
        });
    }

    /// The tasks that bring a stage's weights; the last one runs on the same stream for all stages.
    fn fetch_weights(&self, body: &mut GraphBuilder<'_>, work: usize, pass: Pass) -> Vec<Task> {
        let phase = self.costs().phase(pass);
        let released = Some(body.after(TaskEvent::Released, 0));
        let copied = self.sum(work, |costs, elements| costs.loaded(elements, pass));
        let loaded = (copied > Bytes::ZERO).then(|| body.after(TaskEvent::Loaded, -1));
        let mut tasks = Vec::new();
        if copied > Bytes::ZERO {
            let task =
                self.emit().fetch_weights(body, copied, label(Stream::HostIn, TaskKind::Copy, ModelPart::Layer, phase));
            tasks.push(Task { waits: waits([released]), signals: [Some(TaskEvent::Loaded), None], ..task });
        }
        let mut gathered = false;
        for (costs, holding, Parameters { weights: elements, .. }) in self.holdings(work) {
            let Some(gather) = costs.gather(elements, costs.parts(elements, holding.collectives), pass) else {
                continue;
            };
            let streams = [self.streams.gather, Stream::Gather];
            let mut task = self.transfer(body, &gather, streams, phase, holding.units);
            task.waits = waits([released, loaded]);
            tasks.push(task);
            gathered = true;
        }
        // Passes count on one `Gathered` for each stage, raised in the order of need on one stream. A stage that needs
        // no transfer there gets one that takes no time.
        if tasks.is_empty() || (self.gathers && !gathered) {
            let stream = if self.gathers { self.streams.gather } else { Stream::HostIn };
            let label = label(Stream::Gather, TaskKind::AllGather, ModelPart::Layer, phase);
            let task = body.transfer(&Transfer::default(), None, stream, Share::ZERO, label);
            tasks.push(Task { waits: waits([released, loaded]), ..task });
        }
        tasks
    }

    /// A collective of a stage, which travels unit by unit through a buffer for one, on a stream and on a lane of the timeline.
    fn transfer(
        &self,
        body: &mut GraphBuilder<'_>,
        moved: &UnitCollective,
        [stream, lane]: [Stream; 2],
        phase: Phase,
        units: Count,
    ) -> Task {
        let label = label(lane, moved.kind, ModelPart::Layer, phase);
        let task = body.transfer(&moved.transfer, Some(moved.source), stream, self.contention(), label);
        let buffer = memory_of(MemoryKind::Communication, moved.buffer / units.get());
        Task { allocates: buffer, frees: buffer, ..task }
    }

    /// Takes a gradient buffer for a stage that needs one; sums to be reduced with its gradients come from the host
    /// beside its backward.
    pub(super) fn take_gradient_buffer(
        &self,
        graph: &mut GraphBuilder<'_>,
        GradientBuffer { work, resumed }: GradientBuffer,
    ) {
        let waiting = self.gradient_buffer(work);
        graph.task_loop(u32::from(waiting > 0), |body| {
            let mut task = pause(body);
            // Two gradient buffers: this stage may begin while the one before is reduced, not before the one before
            // that is done.
            let emptied = if self.offload.state() { TaskEvent::Stored } else { TaskEvent::Reduced };
            task.waits = waits([Some(body.after(emptied, 1))]);
            task.allocates[MemoryKind::Gradients] = waiting;
            body.push(task);
            if resumed {
                let label = label(Stream::HostIn, TaskKind::Copy, ModelPart::Layer, Phase::Backward);
                let mut task = self.emit().copy(body, self.unreduced(work), label);
                task.waits = waits([Some(body.after(TaskEvent::Released, 0)), Some(body.after(TaskEvent::Stored, 1))]);
                task.signals = [Some(TaskEvent::Loaded), None];
                task.allocates[MemoryKind::Gradients] = bytes(self.unreduced(work));
                body.push(task);
            }
        });
    }

    /// Reduces a stage's gradients when backward leaves it: sharded ones each time, all after its last backward.
    pub(super) fn drain(&self, graph: &mut GraphBuilder<'_>, drain: GradientDrain) {
        let GradientDrain { work, gradients, resumed, frees_secondary, .. } = drain;
        let complete = gradients == Gradients::Complete;
        graph.task_loop(1, |body| {
            if frees_secondary {
                let mut task = pause(body);
                task.frees[MemoryKind::Secondary] = bytes(self.sum(work, UnitCosts::secondary));
                body.push(task);
            }
            let (mut tasks, mut replicas) = (Vec::new(), Vec::new());
            for (costs, holding, Parameters { trained: elements, .. }) in
                self.holdings(work).filter(|(costs, ..)| complete || !costs.keeps_whole_gradients())
            {
                let scope = ReductionScope { shards: true, replicas: complete };
                let reduction = costs.reduction(elements, scope, costs.parts(elements, holding.collectives));
                replicas.extend(reduction.replicas);
                let Some(reduce) = reduction.reduce else { continue };
                let streams = [self.streams.reduce, Stream::Reduce];
                let mut task = self.transfer(body, &reduce, streams, Phase::Backward, holding.units);
                let sums = resumed.then(|| body.after(TaskEvent::Loaded, 0));
                task.waits = waits([Some(body.after(TaskEvent::Released, 0)), sums]);
                task.frees[MemoryKind::Gradients] =
                    bytes(costs.gradient_buffer(elements)) - bytes(costs.stored(elements, gradients));
                tasks.push(task);
            }
            let freed: i64 = tasks.iter().map(|task| task.frees[MemoryKind::Gradients]).sum();
            if let Some(task) = tasks.last_mut() {
                task.signals = [Some(TaskEvent::Reduced), None];
                task.frees[MemoryKind::Gradients] += if resumed { bytes(self.unreduced(work)) } else { 0 };
            }
            for task in tasks {
                body.push(task);
            }
            for sum in replicas {
                let label = label(Stream::Replicas, sum.kind, ModelPart::Layer, Phase::Backward);
                let task = self.emit().replica_sum(body, &sum, label);
                body.push(task);
            }
            if self.offload.state() {
                self.store(body, drain, self.gradient_buffer(work) - freed);
            }
        });
    }

    /// Copies the remaining gradients of a stage to the host, which frees what is left of their buffer: they may have more bits in
    /// it than there.
    fn store(
        &self,
        body: &mut GraphBuilder<'_>,
        GradientDrain { work, gradients, added, .. }: GradientDrain,
        left: i64,
    ) {
        let copied = self.sum_trained(work, |costs, elements| costs.stored(elements, gradients));
        let label = label(Stream::HostOut, TaskKind::Copy, ModelPart::Layer, Phase::Backward);
        let mut task = self.emit().copy(body, copied, label);
        task.waits = waits([TaskEvent::Released, TaskEvent::Reduced].map(|event| Some(body.after(event, 0))));
        task.signals = [(!added).then_some(TaskEvent::Stored), None];
        task.frees[MemoryKind::Gradients] = left;
        body.push(task);
        self.emit().add_on_host(body, if added { copied } else { Bytes::ZERO }, label);
    }
}
