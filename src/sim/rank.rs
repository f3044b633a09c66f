//! One rank: its streams, events, shared resources and memory.

mod books;

use crate::program::{
    EVENTS, HELD, LaunchPosition, Picos, RESOURCES, SERIAL, STREAMS, StreamSet, Task, TaskEvent, TaskPosition, WHOLE,
};

use super::arrivals::{ArrivalTrain, Inbox};
use super::gap::Gap;
use super::observer::Observer;
use super::outcome::{MemoryPeak, Outcome, TimeTotals};
use super::stream::{Cursor, RankRole, Requirement, StreamHead};

/// A rank at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankState {
    /// The launch that compute is at; none is left otherwise.
    pub at: Option<LaunchPosition>,
    /// What was announced to the events before it.
    base: [i64; EVENTS],
    /// Its progress in that launch.
    pub stage: LaunchStage,
    /// Whether it had to wait for another rank to begin, and whether it has stopped to be compared with earlier states.
    pub waited: bool,
    pub paused: bool,
    /// Whether it waits for what the rank before sends, and the one after.
    pub awaits: [bool; 2],
    pub streams: [StreamHead; STREAMS],
    /// Streams with tasks queued, and those of them that run one.
    pub active: StreamSet,
    pub running: StreamSet,
    /// Tasks on each stream, the running one included.
    pub pending: [u32; STREAMS],
    /// How often each event was raised; of arrivals, how many were used.
    pub events: [i64; EVENTS],
    /// How much was sent to the next rank and to the one before, and when the last of it was.
    pub sent: [Sent; 2],
    pub clock: Picos,
    pub held: [i64; HELD],
    /// Whether that has changed since the last sample, and its sum then.
    pub changed: bool,
    seen: i64,
    pub totals: TimeTotals,
    pub peak: MemoryPeak,
    pub fullest: i64,
    pub load: [u32; RESOURCES],
    /// Its state instead, while it moves from gap to gap: the launch is not begun then, and streams, loads and events,
    /// arrivals apart, are stale.
    pub gap: Option<Gap>,
}

/// A rank's progress in a launch: whether its tasks are queued (issued), and whether compute has begun with it.
///
/// Either may be first. Gathers may start before compute can, so that a launch may be issued before it is begun; and
/// where all that compute waits for is there, it is begun first, and may then be replayed without being issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaunchStage {
    /// Nothing is done.
    Ahead,
    /// Its tasks are on their streams, and compute has not begun with it.
    Issued,
    /// Compute begins with it, and its tasks are not on their streams.
    Begun,
    /// Both.
    Running,
}

impl LaunchStage {
    /// Whether its tasks are on their streams.
    pub const fn issued(self) -> bool {
        matches!(self, Self::Issued | Self::Running)
    }

    /// Whether compute has begun with it.
    pub const fn begun(self) -> bool {
        matches!(self, Self::Begun | Self::Running)
    }

    const fn issue(self) -> Self {
        if self.begun() { Self::Running } else { Self::Issued }
    }

    const fn begin(self) -> Self {
        if self.issued() { Self::Running } else { Self::Begun }
    }
}

/// What a rank has sent one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sent {
    pub count: u64,
    pub last: Picos,
}

/// What a rank reads and writes beside itself while it advances.
pub(super) struct RankContext<'a, O> {
    pub role: RankRole<'a>,
    pub inbox: &'a mut Inbox,
    /// What it sends, and when that arrives.
    pub sent: &'a mut Vec<(ArrivalTrain, TaskEvent)>,
    pub observer: &'a mut O,
}

/// What a rank's wait for other ranks leaves to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemoteWait {
    /// It waits for its own tasks only.
    Own,
    /// Another rank has sent what it waits for; it arrives then.
    Until(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

/// When compute can begin with a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaunchEntry {
    Now,
    /// When what another rank has sent arrives.
    At(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

/// Which way something goes that raises an event: 0 for forward, 1 for backward.
pub(super) fn way(event: TaskEvent) -> usize {
    usize::from(event == TaskEvent::ArrivedBackward)
}

impl RankState {
    pub fn new(at: Option<LaunchPosition>) -> Self {
        Self {
            at,
            base: [0; EVENTS],
            stage: LaunchStage::Ahead,
            waited: false,
            paused: false,
            awaits: [false; 2],
            streams: [StreamHead::default(); STREAMS],
            active: StreamSet::EMPTY,
            running: StreamSet::EMPTY,
            pending: [0; STREAMS],
            events: [0; EVENTS],
            sent: [Sent::default(); 2],
            clock: 0,
            held: [0; HELD],
            changed: false,
            seen: 0,
            totals: TimeTotals::default(),
            peak: MemoryPeak::default(),
            fullest: 0,
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

    pub fn outcome(&self) -> Outcome {
        Outcome { end: self.clock, totals: self.totals, peak: self.peak }
    }

    /// Whether the launch that compute is at is over: compute and what is serialised with it.
    pub fn launch_is_over(&self) -> bool {
        self.stage.issued() && (self.active & SERIAL).is_empty()
    }

    /// Tasks of the launch that compute is at on each stream, if they are there.
    pub fn due<'p>(&self, role: &RankRole<'p>) -> &'p [u32; STREAMS] {
        match &self.at {
            Some(at) if self.stage.issued() => &role.graph(at).tasks,
            _ => &[0; STREAMS],
        }
    }

    /// Puts the tasks of the launch that compute is at on their streams, if they are not there.
    pub fn issue(&mut self, role: &RankRole<'_>) {
        let Some(at) = self.at.filter(|_| !self.stage.issued()) else { return };
        let graph = role.graph(&at);
        for stream in graph.streams.iter() {
            self.pending[stream] += graph.tasks[stream];
            if !self.active.contains(stream)
                && let Some(cursor) = Cursor::first(role, at, stream)
            {
                self.streams[stream] = StreamHead { cursor, ..StreamHead::default() };
                self.active.insert(stream);
            }
        }
        self.stage = self.stage.issue();
    }

    /// Begins with the launch. Memory is looked at then in any case, so that a launch's own account of it is whole.
    pub fn begin(&mut self) {
        (self.stage, self.paused, self.changed) = (self.stage.begin(), false, true);
    }

    /// Whether compute can begin with a launch in which nothing starts before, while the rank has nothing on
    /// its streams but what runs; `None` if that is not how things are.
    pub fn entry(&self, role: RankRole<'_>, inbox: &Inbox) -> Option<LaunchEntry> {
        let at = self.at.filter(|_| self.active == self.running && (self.running & SERIAL).is_empty())?;
        let waits = role.graph(&at).entry.as_ref()?;
        if self.running.iter().any(|stream| self.pending[stream] > 1) {
            return None;
        }
        // From here on nothing that is queued can start before this launch: every stream with work runs its last task.
        let mut entry = LaunchEntry::Now;
        for crate::program::EventWait { event, offset } in waits.iter().map_while(|wait| *wait) {
            let least = self.base[event as usize] + offset;
            if !event.remote() {
                // A running task will raise it, at a moment that is not known here: the launch goes the exact way.
                if self.events[event as usize] < least {
                    return None;
                }
                continue;
            }
            match inbox.by(event).nth(least) {
                Some(arrival) if arrival <= self.clock || entry == LaunchEntry::Unknown => {}
                Some(arrival) => {
                    let latest = if let LaunchEntry::At(other) = entry { other.max(arrival) } else { arrival };
                    entry = LaunchEntry::At(latest);
                }
                None => entry = LaunchEntry::Unknown,
            }
        }
        Some(entry)
    }

    /// Stalls before a launch until the arrival that it needs.
    pub fn stall_until<O: Observer>(&mut self, arrival: Picos, context: &mut RankContext<'_, O>) {
        self.waited = true;
        self.rest(arrival, context);
        if self.clock < arrival {
            self.advance_to(arrival, context);
        }
    }

    /// Stalls before a launch while running tasks end, up to the moment `by`. Returns when the next one after it ends.
    pub fn rest<O: Observer>(&mut self, by: Picos, context: &mut RankContext<'_, O>) -> Picos {
        loop {
            self.find_ends(&context.role);
            let next = self.next();
            if next > by || next == Picos::MAX {
                return next;
            }
            self.advance_to(next, context);
        }
    }

    /// Moves on to the launch after the one that is over.
    pub fn leave_launch<O>(&mut self, context: &mut RankContext<'_, O>) {
        let Some(at) = self.at else { return };
        let graph = context.role.graph(&at);
        for event in [TaskEvent::ArrivedForward, TaskEvent::ArrivedBackward] {
            // Arrivals are forgotten when the launch that used them is over, never earlier: until then its tasks may
            // still ask for them.
            let taken = graph.advance[event as usize];
            if taken > 0 {
                self.events[event as usize] += taken;
                context.inbox.by_mut(event).take(taken as u64);
            }
        }
        for (base, announced) in self.base.iter_mut().zip(graph.advance) {
            *base += announced;
        }
        self.at = context.role.program.after(at);
        (self.stage, self.waited) = (LaunchStage::Ahead, false);
    }

    /// Sets the events to what was announced before the launch, less what is owed.
    pub fn count(&mut self, role: &RankRole<'_>, owed: &[i64; EVENTS]) {
        let Some(at) = &self.at else { return };
        // In a gap nothing is queued, so that each event stands at what was announced, less what transfers in flight
        // have still to raise.
        self.base = role.program.all_announced(at);
        self.events = std::array::from_fn(|event| self.base[event] - owed[event]);
    }

    /// Advances the events by what whole iterations announce; and what was announced before the launch too, where the
    /// iterations are of launches.
    pub fn announce(&mut self, announced: &[i64; EVENTS], launches: bool) {
        for ((count, base), announced) in self.events.iter_mut().zip(&mut self.base).zip(announced) {
            *count += announced;
            *base += if launches { *announced } else { 0 };
        }
    }

    /// Whether compute, or what is serialised with it, can begin with the launch.
    pub fn can_begin(&mut self, role: RankRole<'_>, inbox: &Inbox) -> bool {
        (self.active & SERIAL).iter().any(|stream| self.ready(stream, role, inbox))
    }

    /// Starts every task of some streams whose conditions hold, then finds when each running one ends.
    pub fn start_ready<O: Observer>(&mut self, among: StreamSet, context: &mut RankContext<'_, O>) {
        // Starting a task raises no event, so that one round over the streams, in any order, starts all that can.
        for stream in (self.active & !self.running & among).iter() {
            if self.ready(stream, context.role, context.inbox) {
                self.start(stream, context);
            }
        }
        self.find_ends(&context.role);
    }

    /// Finds when each running task ends.
    pub fn find_ends(&mut self, role: &RankRole<'_>) {
        // Two transfers that need 3/4 and 1/2 of a link load it with 5/4: both run at a pace of 5120 of 4096, that is
        // 5/4 of their time alone, and have 3/5 and 2/5 of the link.
        let shared = self.load.iter().any(|load| *load > WHOLE);
        for stream in self.running.iter() {
            let stream = &mut self.streams[stream];
            let pace = if shared { pace(&self.load, role.task(&stream.cursor)) } else { WHOLE };
            (stream.pace, stream.end) = (pace, self.clock + scaled_up(stream.remaining, pace));
        }
    }

    /// Whether the conditions of the task at a stream's head hold.
    pub fn ready(&mut self, stream: usize, role: RankRole<'_>, inbox: &Inbox) -> bool {
        // Events only grow, so that the condition that failed last is asked first; most often it fails again.
        let head = &self.streams[stream];
        if head.unmet.is_some_and(|need| !self.met(&need, inbox)) {
            return false;
        }
        let unmet = self.needs(stream, role).find(|need| !self.met(need, inbox));
        self.streams[stream].unmet = unmet;
        unmet.is_none()
    }

    /// The conditions of the task at a stream's head.
    pub fn needs<'p>(&self, stream: usize, role: RankRole<'p>) -> impl Iterator<Item = Requirement> + use<'_, 'p> {
        let cursor = self.streams[stream].cursor;
        let here = self.at == Some(cursor.at);
        role.task(&cursor).waits.iter().map_while(|wait| *wait).map(move |wait| {
            // A gather in iteration 3 of its loop (one gather each), 10 gathers into the step, with an offset of 0: at
            // least 10 + 3 + 0 = 13 must be done.
            let before =
                if here { self.base[wait.event as usize] } else { role.program.announced(&cursor.at, wait.event) };
            Requirement {
                event: wait.event,
                least: before + role.announced_in_launch(&cursor, wait.event) + wait.offset,
            }
        })
    }

    fn met(&self, need: &Requirement, inbox: &Inbox) -> bool {
        if need.event.remote() {
            inbox.by(need.event).nth(need.least).is_some_and(|arrival| arrival <= self.clock)
        } else {
            self.events[need.event as usize] >= need.least
        }
    }

    /// What other ranks hold up: of tasks that miss nothing else.
    pub fn wait(&self, role: RankRole<'_>, inbox: &Inbox) -> RemoteWait {
        let mut wait = RemoteWait::Own;
        for stream in (self.active & !self.running).iter() {
            let Some(unmet) = self.streams[stream].unmet.filter(|need| need.event.remote()) else { continue };
            // Where something of the rank's own is missing too, the end of an own task is the next moment to look
            // again.
            let own = |need: &Requirement| !need.event.remote() && self.events[need.event as usize] < need.least;
            if self.needs(stream, role).any(|need| own(&need)) {
                continue;
            }
            wait = match (wait, inbox.by(unmet.event).nth(unmet.least)) {
                (RemoteWait::Unknown, _) | (_, None) => RemoteWait::Unknown,
                (RemoteWait::Until(first), Some(arrival)) => RemoteWait::Until(first.min(arrival)),
                (RemoteWait::Own, Some(arrival)) => RemoteWait::Until(arrival),
            };
        }
        wait
    }

    /// Moves to the moment `at`, ending what ends then; nothing ends before.
    pub fn advance_to<O: Observer>(&mut self, at: Picos, context: &mut RankContext<'_, O>) {
        let passed = at - self.clock;
        if passed > 0 {
            self.account(passed, context);
            for stream in self.running.iter() {
                let stream = &mut self.streams[stream];
                // Work done is rounded down, and the end found from what is left is rounded up: no task ends before its
                // work is done.
                stream.remaining = stream.remaining.saturating_sub(scaled(passed, stream.pace));
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
    pub fn send<O>(&mut self, arrival: Picos, event: TaskEvent, context: &mut RankContext<'_, O>) {
        let sent = &mut self.sent[way(event)];
        *sent = Sent { count: sent.count + 1, last: arrival };
        context.sent.push((ArrivalTrain::one(arrival), event));
    }

    /// Books what it has sent in `times` periods like the one since `before`.
    pub fn skip_sent(&mut self, before: &Self, period: Picos, times: u64) {
        for (sent, before) in self.sent.iter_mut().zip(before.sent) {
            if sent.count > before.count {
                *sent =
                    Sent { count: sent.count + (sent.count - before.count) * times, last: sent.last + period * times };
            }
        }
    }

    fn start<O: Observer>(&mut self, stream: usize, context: &mut RankContext<'_, O>) {
        let cursor = self.streams[stream].cursor;
        let task = context.role.task(&cursor);
        self.streams[stream].remaining = task.duration;
        self.running.insert(stream);
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load += demand;
        }
        for (held, takes) in self.held.iter_mut().zip(task.takes) {
            *held += takes;
            self.changed |= takes != 0;
        }
        context.observer.started(context.role.rank, task, place(&cursor), self.clock);
    }

    fn end<O: Observer>(&mut self, stream: usize, context: &mut RankContext<'_, O>) {
        let cursor = self.streams[stream].cursor;
        let task = context.role.task(&cursor);
        self.running.remove(stream);
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load -= demand;
        }
        for (held, gives) in self.held.iter_mut().zip(task.gives) {
            *held -= gives;
            self.changed |= gives != 0;
        }
        for event in task.signals.iter().flatten() {
            self.events[*event as usize] += 1;
        }
        if let Some(event) = task.sends {
            self.send(self.clock, event, context);
        }
        context.observer.ended(context.role.rank, task, self.clock);
        // Tasks of a launch further on may be queued as well, where that was issued ahead; they follow in order.
        self.pending[stream] -= 1;
        if self.pending[stream] == 0 {
            self.active.remove(stream);
        } else {
            let next = cursor.next(&context.role, stream).or_else(|| later(&context.role, cursor.at, stream));
            self.streams[stream] = StreamHead { cursor: next.unwrap_or(cursor), ..StreamHead::default() };
        }
    }
}

/// How much longer than alone a task takes under a load, in units of [`WHOLE`].
pub(super) fn pace(load: &[u32; RESOURCES], task: &Task) -> u32 {
    let needed = load.iter().zip(task.demand).filter(|(_, demand)| *demand > 0);
    needed.map(|(load, _)| *load).max().unwrap_or(0).max(WHOLE)
}

pub(super) fn place(cursor: &Cursor) -> TaskPosition {
    TaskPosition { at: cursor.at, iteration: cursor.iteration }
}

/// The first task of a stream in the launches after `at`.
fn later(role: &RankRole<'_>, mut at: LaunchPosition, stream: usize) -> Option<Cursor> {
    loop {
        at = role.program.after(at)?;
        if role.graph(&at).streams.contains(stream) {
            return Cursor::first(role, at, stream);
        }
    }
}

/// `value x WHOLE / pace`, rounded down.
pub(super) fn scaled(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
    // Up to 75 minutes the product fits 64 bits; beyond, it is computed in 128.
    match value.checked_mul(u64::from(WHOLE)) {
        Some(product) => product / u64::from(pace),
        None => (u128::from(value) * u128::from(WHOLE) / u128::from(pace)) as Picos,
    }
}

/// `value x pace / WHOLE`, rounded up.
pub(super) fn scaled_up(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
    match value.checked_mul(u64::from(pace)) {
        Some(product) => product.div_ceil(u64::from(WHOLE)),
        None => (u128::from(value) * u128::from(pace)).div_ceil(u128::from(WHOLE)) as Picos,
    }
}
