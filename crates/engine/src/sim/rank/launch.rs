//! How a rank goes from launch to launch: whether the tasks of the one that compute is at are on their streams, when
//! compute can begin with it, and what is left behind when it is over.

use crate::plan::pass::Direction;
use crate::program::{EVENTS, EventWait, PerStream, Picos, SERIAL, TaskEvent};

use super::{RankContext, RankState};
use crate::sim::arrivals::Inbox;
use crate::sim::outcome::Observer;
use crate::sim::stream::{Cursor, RankRole, StreamHead};

/// A rank's progress in a launch: whether its tasks are queued (issued), and whether compute has begun with it.
///
/// Either may be first. Gathers may start before compute can, so that a launch may be issued before it is begun; and
/// where all that compute waits for is there, it is begun first, and may then be replayed without being issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum LaunchStage {
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

    pub(super) const fn issue(self) -> Self {
        if self.begun() { Self::Running } else { Self::Issued }
    }

    pub(super) const fn begin(self) -> Self {
        if self.issued() { Self::Running } else { Self::Begun }
    }
}

/// No task on any stream.
pub(in crate::sim) const NOTHING_QUEUED: PerStream<u32> = PerStream::all(0);

/// When compute can begin with a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum LaunchEntry {
    Now,
    /// When what another rank has sent arrives.
    At(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

impl RankState {
    /// Whether the launch that compute is at is over: compute and what is serialised with it.
    pub(crate) fn launch_is_over(&self) -> bool {
        self.stage.issued() && (self.active & SERIAL).is_empty()
    }

    /// Tasks of the launch that compute is at on each stream, if they are there.
    pub(crate) fn queued_of_launch<'p>(&self, role: &RankRole<'p>) -> &'p PerStream<u32> {
        match &self.at {
            Some(at) if self.stage.issued() => &role.graph(at).tasks,
            _ => &NOTHING_QUEUED,
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
        (self.stage, self.paused, self.memory_changed) = (self.stage.begin(), false, true);
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
        for EventWait { event, offset } in waits.iter().map_while(|wait| *wait) {
            let least = self.base[event as usize] + offset;
            let Some(direction) = event.direction() else {
                // A running task will raise it, at a moment that is not known here: the launch goes the exact way.
                if self.events[event as usize] < least {
                    return None;
                }
                continue;
            };
            match inbox.arrivals(direction).nth(least) {
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
    pub(crate) fn stall_until<O: Observer>(&mut self, arrival: Picos, context: &mut RankContext<'_, O>) {
        self.waited = true;
        self.drain_until(arrival, context);
        if self.clock < arrival {
            self.advance_to(arrival, context);
        }
    }

    /// Stalls before a launch while running tasks end, up to the moment `by`. Returns when the next one after it ends.
    pub(crate) fn drain_until<O: Observer>(&mut self, by: Picos, context: &mut RankContext<'_, O>) -> Picos {
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
    pub(crate) fn leave_launch<O>(&mut self, context: &mut RankContext<'_, O>) {
        let Some(at) = self.at else { return };
        let graph = context.role.graph(&at);
        for direction in Direction::ALL {
            // Arrivals are forgotten when the launch that used them is over, never earlier: until then its tasks may
            // still ask for them.
            let event = TaskEvent::arrival(direction) as usize;
            let taken = graph.advance[event];
            if taken > 0 {
                self.events[event] += taken;
                context.inbox.arrivals_mut(direction).take(taken as u64);
            }
        }
        for (base, expected) in self.base.iter_mut().zip(graph.advance) {
            *base += expected;
        }
        self.at = context.role.program.after(at);
        (self.stage, self.waited) = (LaunchStage::Ahead, false);
    }

    /// Sets the events to their expected counts before the launch, less what is outstanding.
    pub(crate) fn reset_events(&mut self, role: &RankRole<'_>, outstanding: &[i64; EVENTS]) {
        let Some(at) = &self.at else { return };
        // In a gap nothing is queued, so that each event stands at its expected count, less what transfers in flight
        // have still to raise.
        self.base = role.program.all_expected(at);
        self.events = std::array::from_fn(|event| self.base[event] - outstanding[event]);
    }

    /// Advances the events by what whole iterations raise; and the expected counts before the launch too, where the
    /// iterations are of launches.
    pub(crate) fn advance_events(&mut self, expected: &[i64; EVENTS], launches: bool) {
        for ((count, base), expected) in self.events.iter_mut().zip(&mut self.base).zip(expected) {
            *count += expected;
            *base += if launches { *expected } else { 0 };
        }
    }

    /// Whether compute, or what is serialised with it, can begin with the launch.
    pub(crate) fn can_begin(&mut self, role: RankRole<'_>, inbox: &Inbox) -> bool {
        (self.active & SERIAL).iter().any(|stream| self.ready(stream, role, inbox))
    }
}
