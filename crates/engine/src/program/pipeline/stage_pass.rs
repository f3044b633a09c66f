//! The tasks of one pass over a stage for one micro-batch, from its arrival to its send. Not for the stage's weights
//! and gradients ([`super::buffers`]).

use crate::plan::pass::Pass;
use crate::units::Bytes;

use super::super::build::GraphBuilder;
use super::super::label::{ModelPart, TaskKind};
use super::super::network_transfer::NetworkTransfer;
use super::super::step::{RunSite, TaskEmitter};
use super::super::stream::Stream;
use super::super::task::{TaskEvent, waits};
use super::super::unit_order::CheckpointFetch;
use super::context::{PipelineContext, label};

/// A pass over a stage, with its arrival and its send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PassShape {
    pub work: usize,
    pub pass: Pass,
    pub receives: bool,
    /// The level over which it sends its results.
    pub sends: Option<usize>,
}

/// Work of a pass for the pass after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NextPass {
    /// The host's fixed time, where a micro-batch begins.
    pub opens_micro_batch: bool,
    /// The copy of a checkpoint.
    pub checkpoint: Option<NextCheckpoint>,
}

/// A backward that begins with a checkpoint from the host: its work and pass, and its layer and micro-batch beyond those
/// of the pass before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NextCheckpoint {
    pub work: usize,
    pub pass: Pass,
    pub layer: u32,
    pub micro_batch: u32,
}

impl PipelineContext<'_> {
    /// The shape of a rank's pass over the stage `index` of the model. At the ends of the model it has no neighbour to
    /// wait for or to send to.
    pub(super) fn shape(&self, rank: u32, index: u32, work: usize, pass: Pass) -> PassShape {
        let (first, last) = match pass {
            Pass::Forward => (0, self.stages.len() - 1),
            _ => (self.stages.len() - 1, 0),
        };
        let linked = self.counts.ranks > 1 && pass.propagates();
        let sends = (linked && index != last).then(|| self.costs().hop(rank, pass));
        PassShape { work, pass, receives: linked && index != first, sends }
    }

    /// Writes a pass with `ahead` gathers issued ahead of it, and its work for the pass after it.
    pub(super) fn write_pass(&self, graph: &mut GraphBuilder<'_>, shape: PassShape, ahead: usize, next: NextPass) {
        let PassShape { work, pass, receives, sends } = shape;
        let arrival = TaskEvent::arrival(pass.into());
        if receives {
            graph.expect(arrival);
        }
        let emit = self.emit();
        let after = next.checkpoint.and_then(|copy| self.first_copy(copy));
        let mut turns = self.list(&self.stages.distinct[work], pass).turns().peekable();
        while let Some(runs) = turns.next() {
            let after = turns.peek().map_or(after, |next| CheckpointFetch::new(&next[0], 0));
            // Each layer's backward fetches the checkpoint of the next one, where layers take turns that of the next in the
            // turn. The last layer of a run fetches that of what follows, or nothing, and is written apart: 8 layers are
            // a loop of 7 and one more.
            let last_alone = u32::from(after.is_some() || runs[0].unit_pass.checkpoint > Bytes::ZERO);
            let count = runs[0].count;
            let mut costs = |times: u32, position: u32, copy: Option<CheckpointFetch>| {
                graph.task_loop(times, |body| {
                    for (index, run) in runs.iter().enumerate() {
                        let start = [
                            (self.fetches && pass.propagates())
                                .then(|| body.after(TaskEvent::Gathered, ahead.cast_signed() as i64)),
                            receives.then(|| body.after(arrival, 0)),
                        ];
                        let site = RunSite { run, position, micro_batch: 0 };
                        let copy = runs.get(index + 1).map_or(copy, |next| CheckpointFetch::new(next, position));
                        emit.write_stage_unit_pass(body, site, start, copy);
                    }
                });
            };
            costs(count - last_alone, 0, CheckpointFetch::new(&runs[0], 1));
            costs(last_alone, count - last_alone, after);
        }
        if let Some(level) = sends {
            graph.task_loop(1, |body| self.send(body, pass, level));
        }
        if next.opens_micro_batch {
            TaskEmitter::write_host_time(graph, self.costs().rates.host_micro_batch());
        }
    }

    /// The copy of the checkpoint with which a backward begins.
    fn first_copy(&self, next: NextCheckpoint) -> Option<CheckpointFetch> {
        let runs = &self.list(&self.stages.distinct[next.work], next.pass).runs;
        let copy = runs.first().and_then(|run| CheckpointFetch::new(run, 0));
        copy.map(|copy| copy.from(next.layer, next.micro_batch))
    }

    /// Sends activations, or their gradients, to the rank of the neighbouring stage; each tensor rank sends its share.
    fn send(&self, body: &mut GraphBuilder<'_>, pass: Pass, level: usize) {
        let label = label(Stream::Pipeline, TaskKind::PointToPoint, ModelPart::Model, self.costs().phase(pass));
        let source = Some(self.costs().source(NetworkTransfer::Send { level }));
        let mut task = body.transfer(&self.costs().send(level), source, Stream::Pipeline, self.contention(), label);
        task.waits = waits([Some(body.after(TaskEvent::Released, 0))]);
        task.sends = Some(pass.into());
        body.push(task);
    }
}
