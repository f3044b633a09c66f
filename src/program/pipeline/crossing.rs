//! One crossing of a stage: forward or backward for one micro-batch, from what arrives to what is sent on.

use super::super::build::{PIPELINE, RoutineBuilder};
use super::super::label::{Kind, Lane, Part, Phase};
use super::super::step::{self, Emit};
use super::super::task::{Counter, waits};
use super::{Pipeline, label};

/// Forward or backward of a stage, between what it receives and what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crossing {
    pub work: usize,
    pub backward: bool,
    pub receives: bool,
    /// The level over which it sends what it has computed.
    pub sends: Option<usize>,
}

/// What a pass does for the one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Next {
    /// The host's fixed time, where a micro-batch begins.
    pub opens: bool,
    /// The copy of a checkpoint.
    pub copy: Option<NextCopy>,
}

/// A backward that begins with a checkpoint from the host: its work, and its layer and micro-batch beyond those
/// of the pass before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NextCopy {
    pub work: usize,
    pub layer: u32,
    pub micro_batch: u32,
}

impl Pipeline<'_> {
    /// What a rank does for a crossing, `ahead` gathers ahead, and for what is `next`.
    pub(super) fn cross(&self, routine: &mut RoutineBuilder<'_>, crossing: Crossing, ahead: usize, next: Next) {
        let Crossing { work, backward, receives, sends } = crossing;
        let arrival = if backward { Counter::ArrivedBackward } else { Counter::ArrivedForward };
        if receives {
            routine.expect(arrival);
        }
        let emit = self.emit();
        let listing = &self.stages.works[work].passes[usize::from(backward)];
        let after = next.copy.and_then(|copy| self.first_copy(copy));
        let mut turns = listing.turns().peekable();
        while let Some(runs) = turns.next() {
            let after = turns.peek().map_or(after, |next| step::Ahead::of(&next[0], 0));
            let apart = u32::from(after.is_some() || runs[0].visit.checkpoint > 0.0);
            let count = runs[0].count;
            let mut visits = |times: u32, position: u32, copy: Option<step::Ahead>| {
                routine.block(times, |block| {
                    for (index, run) in runs.iter().enumerate() {
                        let start = [
                            self.fetches.then(|| block.after(Counter::Gathered, ahead.cast_signed() as i64)),
                            receives.then(|| block.after(arrival, 0)),
                        ];
                        let run = step::Run { count: times, layer: run.layer_at(position), ..*run };
                        emit.stage_visit(block, &run, start, copy.filter(|_| index + 1 == runs.len()));
                    }
                });
            };
            visits(count - apart, 0, step::Ahead::of(&runs[0], 1));
            visits(apart, count - apart, after);
        }
        if let Some(level) = sends {
            routine.block(1, |block| self.send(block, arrival, level));
        }
        if next.opens {
            Emit::host(routine, self.visits().rates.software.micro_batch.get());
        }
    }

    /// The copy of the checkpoint with which a backward begins.
    fn first_copy(&self, next: NextCopy) -> Option<step::Ahead> {
        let runs = &self.stages.works[next.work].passes[1].runs;
        let copy = runs.first().and_then(|run| step::Ahead::of(run, 0));
        copy.map(|copy| copy.from(next.layer, next.micro_batch))
    }

    /// Activations, or their gradients, to the rank of the neighbouring stage; each tensor rank its share.
    fn send(&self, block: &mut RoutineBuilder<'_>, arrival: Counter, level: usize) {
        let phase = Phase::of(arrival == Counter::ArrivedBackward);
        let label = label(Lane::Pipeline, Kind::PointToPoint, Part::Model, phase);
        let mut task = block.transfer(&self.visits().send(level), PIPELINE, self.contention(), label);
        task.waits = waits([Some(block.after(Counter::Released, 0))]);
        task.sends = Some(arrival);
        block.push(task);
    }
}
