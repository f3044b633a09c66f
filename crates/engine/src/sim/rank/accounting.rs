//! A rank's accounting: where its time went and how much memory it had allocated. Not for what happens when.

use crate::program::{Phase, Picos, SERIAL, STREAMS, Stream, Task, TaskClass};

use super::super::outcome::{MemoryPeak, Observer, StallCause};
use super::super::stream::{Cursor, RankRole};
use super::{RankContext, RankState, task_position};

impl RankState {
    /// Books a span of time under what it was spent on, and samples the memory in use.
    pub(super) fn account<O: Observer>(&mut self, passed: Picos, context: &mut RankContext<'_, O>) {
        if self.memory_changed {
            self.sample_memory(context);
        }
        // Each picosecond is booked once: under what computes, or else under what compute waits for. Communication is
        // counted beside that, hidden or not.
        let role = context.role;
        let class = |stream: Stream| role.task(&self.streams[stream].cursor).class;
        if self.running.iter().any(|stream| class(stream) == TaskClass::Transfer) {
            self.totals.communication += passed;
        }
        let next = self.next_compute(&role);
        let phase = next.map_or(Phase::Update, |task| task.label.phase);
        let running = next.filter(|_| self.running.contains(Stream::Compute)).map(|task| task.class);
        let computing = match running {
            Some(TaskClass::Compute) => Some(&mut self.totals.compute),
            Some(TaskClass::Optimizer) => Some(&mut self.totals.optimizer),
            Some(TaskClass::Host) => Some(&mut self.totals.host),
            Some(TaskClass::Transfer) | None => None,
        };
        if let Some(total) = computing {
            *total += passed;
            self.totals.phases[phase as usize] += passed;
            return;
        }
        // Where the stack overlaps nothing, collectives run on compute's own stream, and are exposed from end to end.
        let cause = if running.is_some() {
            StallCause::Transfer(Stream::Compute)
        } else {
            self.stall_cause(Stream::Compute, STREAMS, role)
        };
        let awaited = match cause {
            StallCause::Transfer(stream) => Some(role.task(&self.streams[stream].cursor)),
            StallCause::Bubble | StallCause::Other => None,
        };
        self.totals.phases[awaited.map_or(phase, |task| task.label.phase) as usize] += passed;
        match cause {
            StallCause::Transfer(_) => self.totals.stall(awaited.map(|task| &task.label), passed),
            StallCause::Bubble => self.totals.bubble += passed,
            StallCause::Other => self.totals.waiting += passed,
        }
        context.observer.idle(role.rank, cause, self.clock, self.clock + passed);
    }

    /// The task that computes or is the next to compute, as far as launches are on their streams.
    fn next_compute<'p>(&self, role: &RankRole<'p>) -> Option<&'p Task> {
        if self.active.contains(Stream::Compute) {
            return Some(role.task(&self.streams[Stream::Compute].cursor));
        }
        let at = self.at.filter(|_| !self.stage.issued())?;
        Cursor::first(role, at, Stream::Compute).map(|cursor| role.task(&cursor))
    }

    /// The running transfer that a stream's next task waits for, through other waits.
    fn stall_cause(&self, stream: Stream, depth: usize, role: RankRole<'_>) -> StallCause {
        if !self.stage.issued() && self.at.is_some() {
            // All that the launch needs of this rank is there.
            return StallCause::Bubble;
        }
        if !self.active.contains(stream) {
            // Nothing left to compute: the launch, or the step, ends with what still travels.
            let travelling = (self.running & SERIAL).iter().next().or_else(|| self.running.iter().next());
            return travelling.map_or(StallCause::Other, StallCause::Transfer);
        }
        let mut waits = false;
        // Compute waits for a gather, which waits for a copy from the host that runs: the copy is the cause. A chain
        // without a circle visits each stream once at most, so that `depth` cuts nothing off.
        for need in self.requirements(stream, role) {
            let Some(producer) = role.code.producer(need.event) else { continue };
            if self.events[need.event as usize] >= need.least || producer == stream {
                continue;
            }
            waits = true;
            if self.running.contains(producer) {
                return StallCause::Transfer(producer);
            }
            if depth > 0
                && let found @ (StallCause::Transfer(_) | StallCause::Bubble) =
                    self.stall_cause(producer, depth - 1, role)
            {
                return found;
            }
        }
        // What others have not sent counts once nothing else is missing.
        let mut remote = self.requirements(stream, role).filter(|need| need.event.remote());
        if !waits && remote.next().is_some() { StallCause::Bubble } else { StallCause::Other }
    }

    /// Samples the memory in use from now on. What is allocated and freed at the same moment does not count.
    pub(crate) fn sample_memory<O: Observer>(&mut self, context: &mut RankContext<'_, O>) {
        self.memory_changed = false;
        let allocated = self.allocated.total();
        if allocated != self.last_sample {
            self.last_sample = allocated;
            context.observer.memory(context.role.rank, &self.allocated, self.clock);
        }
        if allocated > self.peak_bytes {
            self.peak_bytes = allocated;
            // What computes then says most; then what else runs.
            let during = self.running.iter().next().unwrap_or(Stream::Compute);
            let cursor = &self.streams[during].cursor;
            self.peak = MemoryPeak {
                allocated: self.allocated,
                at: self.clock,
                task: cursor.task,
                place: task_position(cursor),
            };
        }
    }
}
