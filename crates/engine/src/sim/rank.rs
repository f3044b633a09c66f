//! One rank: its streams, events, shared resources and memory. Not for how it goes from launch to launch ([`launch`]).

mod accounting;
mod launch;

use crate::plan::pass::{Direction, PerDirection};
use crate::program::{
    EVENTS, FULL_DEMAND, LaunchPosition, PerMemoryKind, PerStream, Picos, RESOURCES, Stream, StreamSet, TaskClass,
    TaskPosition,
};

use super::arrivals::{ArrivalTrain, Inbox, SentTrain};
use super::gap::Gap;
use super::outcome::{MemoryPeak, Observer, Outcome, PipelineDrain, RankLimits, TimeTotals};
use super::slowdown::{slowdown, time_for, work_done};
use super::stream::{Cursor, RankRole, Requirement, StreamHead};

pub(super) use launch::{LaunchEntry, LaunchStage, NOTHING_QUEUED};

/// A rank at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankState {
    /// The launch that compute is at; none is left otherwise.
    pub at: Option<LaunchPosition>,
    /// How often the launches before it raise each event.
    base: [i64; EVENTS],
    /// Progress in that launch.
    pub stage: LaunchStage,
    /// Whether it had to wait for another rank to begin, and whether it has stopped to be compared with earlier states.
    pub waited: bool,
    pub paused: bool,
    /// Whether it waits for what the rank before sends forward, and for what the one after sends backward.
    pub awaits: PerDirection<bool>,
    pub streams: PerStream<StreamHead>,
    /// Streams with tasks queued, and those of them that run one.
    pub active: StreamSet,
    pub running: StreamSet,
    /// Tasks on each stream, the running one included.
    pub pending: PerStream<u32>,
    /// How often each event was raised; of arrivals, how many were used.
    pub events: [i64; EVENTS],
    /// How much was sent to the next rank and to the one before, and when the last of it was.
    pub sent: PerDirection<Sent>,
    pub clock: Picos,
    pub allocated: PerMemoryKind<i64>,
    /// Whether that has changed since the last sample, and its sum then.
    pub memory_changed: bool,
    last_sample: i64,
    pub totals: TimeTotals,
    pub peak: MemoryPeak,
    pub peak_bytes: i64,
    pub load: [u32; RESOURCES],
    /// Its state instead, while it moves from gap to gap: the launch is not begun then, and streams, loads and events,
    /// arrivals apart, are stale.
    pub gap: Option<Gap>,
}

/// A rank's sends in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sent {
    pub count: u64,
    pub last: Picos,
}

/// The surroundings of a rank: everything else that it reads and writes while it advances.
pub(super) struct RankContext<'a, O> {
    pub role: RankRole<'a>,
    pub inbox: &'a mut Inbox,
    /// Trains of transfers that the rank has sent, with their times of arrival.
    pub sent: &'a mut Vec<SentTrain>,
    pub observer: &'a mut O,
}

/// The outcome of a rank's wait for other ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemoteWait {
    /// The rank waits for tasks of its own.
    Own,
    /// Another rank has sent what it waits for; it arrives then.
    Until(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

impl RankState {
    pub fn new(at: Option<LaunchPosition>) -> Self {
        Self {
            at,
            base: [0; EVENTS],
            stage: LaunchStage::Ahead,
            waited: false,
            paused: false,
            awaits: PerDirection::both(false),
            streams: PerStream::default(),
            active: StreamSet::EMPTY,
            running: StreamSet::EMPTY,
            pending: PerStream::default(),
            events: [0; EVENTS],
            sent: PerDirection::default(),
            clock: 0,
            allocated: PerMemoryKind::default(),
            memory_changed: false,
            last_sample: 0,
            totals: TimeTotals::default(),
            peak: MemoryPeak::default(),
            peak_bytes: 0,
            load: [0; RESOURCES],
            gap: None,
        }
    }

    /// When the next task ends; `MAX` if none runs.
    pub fn next(&self) -> Picos {
        self.running.iter().map(|stream| self.streams[stream].end).min().unwrap_or(Picos::MAX)
    }

    /// Whether it has nothing left to do.
    pub fn finished(&self) -> bool {
        self.at.is_none() && self.active.is_empty()
    }

    /// The first task on its streams that has not ended.
    pub fn blocked(&self) -> Option<u32> {
        (if self.gap.is_some() { StreamSet::EMPTY } else { self.active })
            .iter()
            .next()
            .map(|stream| self.streams[stream].cursor.task)
    }

    /// Whether it has gone beyond limits: holds too much, or has too much left to compute, itself or on the ranks that
    /// follow it.
    pub fn is_beyond(&self, limits: &RankLimits, role: &RankRole<'_>) -> bool {
        let computes = self.gap.is_none() && self.running.contains(Stream::Compute);
        let begun = if computes { role.task(&self.streams[Stream::Compute].cursor).duration } else { 0 };
        let left = limits.computing.saturating_sub(self.totals.alone + begun);
        // With 5 left, 1 of it an update, and 3 on the ranks before it, no step ends in less than 4 + 3.
        let goes_back = |drain: &PipelineDrain| self.at.is_some_and(|at| at.launch <= drain.launch);
        let drained = |drain: PipelineDrain| left.saturating_sub(drain.after) + drain.before;
        let rest = left.max(limits.drain.filter(goes_back).map_or(0, drained));
        self.peak_bytes > limits.allocated || self.clock + rest > limits.end
    }

    pub fn outcome(&self) -> Outcome {
        Outcome { end: self.clock, totals: self.totals, peak: self.peak }
    }

    /// Starts every task of some streams whose conditions hold, then finds when each running one ends.
    pub(crate) fn start_ready<O: Observer>(&mut self, among: StreamSet, context: &mut RankContext<'_, O>) {
        // Starting a task raises no event, so that one round over the streams, in any order, starts all that can.
        for stream in (self.active & !self.running & among).iter() {
            if self.ready(stream, context.role, context.inbox) {
                self.start(stream, context);
            }
        }
        self.find_ends(&context.role);
    }

    /// Finds when each running task ends.
    pub(crate) fn find_ends(&mut self, role: &RankRole<'_>) {
        // Two transfers that need 3/4 and 1/2 of a link load it with 5/4: both run at a pace of 5120 of 4096, that is
        // 5/4 of their time alone, and have 3/5 and 2/5 of the link.
        let shared = self.load.iter().any(|load| *load > FULL_DEMAND);
        for stream in self.running.iter() {
            let stream = &mut self.streams[stream];
            let slowdown = if shared { slowdown(&self.load, role.task(&stream.cursor)) } else { FULL_DEMAND };
            (stream.slowdown, stream.end) = (slowdown, self.clock + time_for(stream.remaining, slowdown));
        }
    }

    /// Whether the conditions of the task at a stream's head hold.
    pub fn ready(&mut self, stream: Stream, role: RankRole<'_>, inbox: &Inbox) -> bool {
        // Events only grow, so that the condition that failed last is asked first; most often it fails again.
        let head = &self.streams[stream];
        if head.unmet.is_some_and(|need| !self.is_met(&need, inbox)) {
            return false;
        }
        let unmet = self.requirements(stream, role).find(|need| !self.is_met(need, inbox));
        self.streams[stream].unmet = unmet;
        unmet.is_none()
    }

    /// The conditions of the task at a stream's head.
    pub(crate) fn requirements<'p>(
        &self,
        stream: Stream,
        role: RankRole<'p>,
    ) -> impl Iterator<Item = Requirement> + use<'_, 'p> {
        let cursor = self.streams[stream].cursor;
        let here = self.at == Some(cursor.at);
        role.task(&cursor).waits.iter().map_while(|wait| *wait).map(move |wait| {
            // A gather in iteration 3 of its loop (one gather each), 10 gathers into the step, with an offset of 0: at
            // least 10 + 3 + 0 = 13 must be done.
            let before =
                if here { self.base[wait.event as usize] } else { role.program.expected(&cursor.at, wait.event) };
            Requirement {
                event: wait.event,
                least: before + role.expected_in_launch(&cursor, wait.event) + wait.offset,
            }
        })
    }

    fn is_met(&self, need: &Requirement, inbox: &Inbox) -> bool {
        match need.event.direction() {
            Some(direction) => inbox.arrivals(direction).nth(need.least).is_some_and(|arrival| arrival <= self.clock),
            None => self.events[need.event as usize] >= need.least,
        }
    }

    /// Arrivals for which tasks wait that miss nothing else.
    pub fn wait(&self, role: RankRole<'_>, inbox: &Inbox) -> RemoteWait {
        let mut wait = RemoteWait::Own;
        for stream in (self.active & !self.running).iter() {
            let Some(unmet) = self.streams[stream].unmet else { continue };
            let Some(direction) = unmet.event.direction() else { continue };
            // Where something of the rank's own is missing too, the end of an own task is the next moment to look
            // again.
            let own = |need: &Requirement| !need.event.remote() && self.events[need.event as usize] < need.least;
            if self.requirements(stream, role).any(|need| own(&need)) {
                continue;
            }
            wait = match (wait, inbox.arrivals(direction).nth(unmet.least)) {
                (RemoteWait::Unknown, _) | (_, None) => RemoteWait::Unknown,
                (RemoteWait::Until(first), Some(arrival)) => RemoteWait::Until(first.min(arrival)),
                (RemoteWait::Own, Some(arrival)) => RemoteWait::Until(arrival),
            };
        }
        wait
    }

    /// Moves to the moment `at`, ending what ends then; nothing ends before.
    pub(crate) fn advance_to<O: Observer>(&mut self, at: Picos, context: &mut RankContext<'_, O>) {
        let passed = at - self.clock;
        if passed > 0 {
            self.account(passed, context);
            for stream in self.running.iter() {
                let stream = &mut self.streams[stream];
                // Work done is rounded down, and the end found from what is left is rounded up: no task ends before its
                // work is done.
                stream.remaining = stream.remaining.saturating_sub(work_done(passed, stream.slowdown));
            }
            self.clock = at;
        }
        for stream in self.running.iter() {
            if self.streams[stream].end == at {
                self.end(stream, context);
            }
        }
    }

    /// Sends something that arrives then.
    pub fn send<O>(&mut self, arrival: Picos, direction: Direction, context: &mut RankContext<'_, O>) {
        let sent = self.sent.get_mut(direction);
        *sent = Sent { count: sent.count + 1, last: arrival };
        context.sent.push(SentTrain { train: ArrivalTrain::one(arrival), direction });
    }

    /// Books what it has sent in `times` periods like the one since `before`.
    pub(crate) fn skip_sent(&mut self, before: &Self, period: Picos, times: u64) {
        for direction in Direction::ALL {
            let (sent, before) = (self.sent.get_mut(direction), before.sent.get(direction));
            if sent.count > before.count {
                *sent =
                    Sent { count: sent.count + (sent.count - before.count) * times, last: sent.last + period * times };
            }
        }
    }

    fn start<O: Observer>(&mut self, stream: Stream, context: &mut RankContext<'_, O>) {
        let cursor = self.streams[stream].cursor;
        let task = context.role.task(&cursor);
        self.streams[stream].remaining = task.duration;
        self.running.insert(stream);
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load += demand;
        }
        self.allocated += task.allocates;
        self.memory_changed |= !task.allocates.is_zero();
        context.observer.started(context.role.rank, task, task_position(&cursor), self.clock);
    }

    fn end<O: Observer>(&mut self, stream: Stream, context: &mut RankContext<'_, O>) {
        let cursor = self.streams[stream].cursor;
        let task = context.role.task(&cursor);
        self.running.remove(stream);
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load -= demand;
        }
        self.allocated -= task.frees;
        self.memory_changed |= !task.frees.is_zero();
        self.totals.alone += if task.class == TaskClass::Transfer { 0 } else { task.duration };
        for event in task.signals.iter().flatten() {
            self.events[*event as usize] += 1;
        }
        if let Some(direction) = task.sends {
            self.send(self.clock, direction, context);
        }
        context.observer.ended(context.role.rank, task, self.clock);
        // Tasks of a launch further on may be queued as well, where that was issued ahead; they follow in order.
        self.pending[stream] -= 1;
        if self.pending[stream] == 0 {
            self.active.remove(stream);
        } else {
            let next = cursor.next(&context.role, stream).or_else(|| first_after(&context.role, cursor.at, stream));
            self.streams[stream] = StreamHead { cursor: next.unwrap_or(cursor), ..StreamHead::default() };
        }
    }
}

pub(super) fn task_position(cursor: &Cursor) -> TaskPosition {
    TaskPosition { at: cursor.at, iteration: cursor.iteration }
}

/// The first task of a stream in the launches after `at`.
fn first_after(role: &RankRole<'_>, mut at: LaunchPosition, stream: Stream) -> Option<Cursor> {
    loop {
        at = role.program.after(at)?;
        if role.graph(&at).streams.contains(stream) {
            return Cursor::first(role, at, stream);
        }
    }
}
