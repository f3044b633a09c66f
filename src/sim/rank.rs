//! One rank: its queues, counters, shared resources and memory.

mod books;

use crate::program::{CHAIN, COUNTERS, Counter, HELD, Picos, Place, Position, QUEUES, RESOURCES, Task, WHOLE};

use super::arrivals::{Inbox, Train};
use super::gap::Gap;
use super::queue::{Cursor, Need, Queue, Role};
use super::{Observer, Outcome, Peak, Totals};

/// A rank at one moment.
#[expect(clippy::struct_excessive_bools, reason = "a slot's stages overlap: each is asked for by itself")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rank {
    /// The slot that compute is at; none is left otherwise.
    pub at: Option<Position>,
    /// What was announced to the counters before it.
    base: [i64; COUNTERS],
    /// Whether that slot's tasks are on their queues, and whether compute has begun with it.
    pub issued: bool,
    pub begun: bool,
    /// Whether it had to wait for another rank to begin, and whether it has stopped to be looked at.
    pub waited: bool,
    pub paused: bool,
    /// Whether it waits for what the rank before sends, and the one after.
    pub awaits: [bool; 2],
    pub queues: [Queue; QUEUES],
    /// Queues with tasks, and those among them that run one, as bits.
    pub active: u8,
    pub running: u8,
    /// Tasks on each queue, the running one included.
    pub pending: [u32; QUEUES],
    /// What tasks have counted; of what other ranks raise, how much has been taken.
    pub counters: [i64; COUNTERS],
    /// How much was sent to the next rank and to the one before, and when the last of it was.
    pub sent: [Sent; 2],
    pub clock: Picos,
    pub held: [i64; HELD],
    /// Whether that has changed since it was last looked at, and its sum then.
    pub changed: bool,
    seen: i64,
    pub totals: Totals,
    pub peak: Peak,
    pub fullest: i64,
    pub load: [u32; RESOURCES],
    /// Where it is instead, while it goes from gap to gap: the slot is not begun then, and what is on queues, loads
    /// resources and is counted, but for what other ranks raise, is left as it was.
    pub gap: Option<Gap>,
}

/// What a rank has sent one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sent {
    pub count: u64,
    pub last: Picos,
}

/// What surrounds a rank that moves.
pub(super) struct Around<'a, O> {
    pub role: Role<'a>,
    pub inbox: &'a mut Inbox,
    /// What it sends, and when that arrives.
    pub sent: &'a mut Vec<(Train, Counter)>,
    pub observer: &'a mut O,
}

/// When a rank that waits can go on, as far as other ranks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It waits for itself only.
    Own,
    /// Another rank has sent what it waits for; it arrives then.
    Until(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

/// When compute can begin with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Now,
    /// When what another rank has sent arrives.
    At(Picos),
    /// Another rank has not sent it yet.
    Unknown,
}

/// Which way something goes that raises a counter: 0 for forward, 1 for backward.
pub(super) fn way(counter: Counter) -> usize {
    usize::from(counter == Counter::ArrivedBackward)
}

/// The queues of a set, from the first.
pub(super) fn queues(mut set: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

impl Rank {
    pub fn new(at: Option<Position>) -> Self {
        Self {
            at,
            base: [0; COUNTERS],
            issued: false,
            begun: false,
            waited: false,
            paused: false,
            awaits: [false; 2],
            queues: [Queue::default(); QUEUES],
            active: 0,
            running: 0,
            pending: [0; QUEUES],
            counters: [0; COUNTERS],
            sent: [Sent::default(); 2],
            clock: 0,
            held: [0; HELD],
            changed: false,
            seen: 0,
            totals: Totals::default(),
            peak: Peak::default(),
            fullest: 0,
            load: [0; RESOURCES],
            gap: None,
        }
    }

    /// When the next task ends; `MAX` if none runs.
    pub fn next(&self) -> Picos {
        queues(self.running).map(|queue| self.queues[queue].end).min().unwrap_or(Picos::MAX)
    }

    /// Whether it has nothing left to do.
    pub fn finished(&self) -> bool {
        self.at.is_none() && self.active == 0
    }

    /// The first task on its queues that has not ended.
    pub fn blocked(&self) -> Option<u32> {
        queues(if self.gap.is_some() { 0 } else { self.active }).next().map(|queue| self.queues[queue].cursor.task)
    }

    pub fn outcome(&self) -> Outcome {
        Outcome { end: self.clock, totals: self.totals, peak: self.peak }
    }

    /// Whether the slot that compute is at is over: compute and what goes hand in hand with it.
    pub fn slot_is_over(&self) -> bool {
        self.issued && self.active & CHAIN == 0
    }

    /// Tasks of the slot that compute is at on each queue, if they are there.
    pub fn due<'p>(&self, role: &Role<'p>) -> &'p [u32; QUEUES] {
        match &self.at {
            Some(at) if self.issued => &role.routine(at).tasks,
            _ => &[0; QUEUES],
        }
    }

    /// Puts the tasks of the slot that compute is at on their queues, if they are not there.
    pub fn issue(&mut self, role: &Role<'_>) {
        let Some(at) = self.at.filter(|_| !self.issued) else { return };
        let routine = role.routine(&at);
        for queue in queues(routine.queues) {
            self.pending[queue] += routine.tasks[queue];
            if self.active & 1 << queue == 0
                && let Some(cursor) = Cursor::first(role, at, queue)
            {
                self.queues[queue] = Queue { cursor, ..Queue::default() };
                self.active |= 1 << queue;
            }
        }
        self.issued = true;
    }

    /// Begins with the slot. Memory is looked at then in any case, so that a slot's own account of it is whole.
    pub fn begin(&mut self) {
        (self.begun, self.paused, self.changed) = (true, false, true);
    }

    /// Whether compute can begin with a slot in which nothing starts before, while the rank has nothing on
    /// its queues but what runs; `None` if that is not how things are.
    pub fn entry(&self, role: Role<'_>, inbox: &Inbox) -> Option<Entry> {
        let at = self.at.filter(|_| self.active == self.running && self.running & CHAIN == 0)?;
        let waits = role.routine(&at).entry.as_ref()?;
        if queues(self.running).any(|queue| self.pending[queue] > 1) {
            return None;
        }
        let mut entry = Entry::Now;
        for crate::program::Wait { counter, offset } in waits.iter().map_while(|wait| *wait) {
            let least = self.base[counter as usize] + offset;
            if !counter.remote() {
                if self.counters[counter as usize] < least {
                    return None;
                }
                continue;
            }
            match inbox.of(counter).nth(least) {
                Some(arrival) if arrival <= self.clock || entry == Entry::Unknown => {}
                Some(arrival) => {
                    let latest = if let Entry::At(other) = entry { other.max(arrival) } else { arrival };
                    entry = Entry::At(latest);
                }
                None => entry = Entry::Unknown,
            }
        }
        Some(entry)
    }

    /// Stands still before a slot until what it needs arrives.
    pub fn stand<O: Observer>(&mut self, arrival: Picos, around: &mut Around<'_, O>) {
        self.waited = true;
        self.rest(arrival, around);
        if self.clock < arrival {
            self.pass(arrival, around);
        }
    }

    /// Stands still before a slot while what runs ends, as far as that is by the moment given. Returns when more
    /// of it ends.
    pub fn rest<O: Observer>(&mut self, by: Picos, around: &mut Around<'_, O>) -> Picos {
        loop {
            self.foresee(&around.role);
            let next = self.next();
            if next > by || next == Picos::MAX {
                return next;
            }
            self.pass(next, around);
        }
    }

    /// Goes to the slot after the one that is over.
    pub fn leave<O>(&mut self, around: &mut Around<'_, O>) {
        let Some(at) = self.at else { return };
        let routine = around.role.routine(&at);
        for counter in [Counter::ArrivedForward, Counter::ArrivedBackward] {
            let taken = routine.advance[counter as usize];
            if taken > 0 {
                self.counters[counter as usize] += taken;
                around.inbox.of_mut(counter).take(taken as u64);
            }
        }
        for (base, announced) in self.base.iter_mut().zip(routine.advance) {
            *base += announced;
        }
        self.at = around.role.script.after(at);
        (self.issued, self.begun, self.waited) = (false, false, false);
    }

    /// Sets the counters to what was announced before the slot, less what is owed.
    pub fn count(&mut self, role: &Role<'_>, owed: &[i64; COUNTERS]) {
        let Some(at) = &self.at else { return };
        self.base = role.script.all_announced(at);
        self.counters = std::array::from_fn(|counter| self.base[counter] - owed[counter]);
    }

    /// Moves the counters on by what whole iterations announce; and what was announced before the slot, if
    /// they are iterations of slots.
    pub fn announce(&mut self, announced: &[i64; COUNTERS], slots: bool) {
        for ((count, base), announced) in self.counters.iter_mut().zip(&mut self.base).zip(announced) {
            *count += announced;
            *base += if slots { *announced } else { 0 };
        }
    }

    /// Whether compute, or what goes hand in hand with it, can begin with the slot.
    pub fn can_begin(&mut self, role: Role<'_>, inbox: &Inbox) -> bool {
        queues(self.active & CHAIN).any(|queue| self.ready(queue, role, inbox))
    }

    /// Starts every task of some queues whose conditions hold, then finds when each running one ends.
    pub fn settle<O: Observer>(&mut self, among: u8, around: &mut Around<'_, O>) {
        for queue in queues(self.active & !self.running & among) {
            if self.ready(queue, around.role, around.inbox) {
                self.start(queue, around);
            }
        }
        self.foresee(&around.role);
    }

    /// Finds when each running task ends.
    pub fn foresee(&mut self, role: &Role<'_>) {
        let shared = self.load.iter().any(|load| *load > WHOLE);
        for queue in queues(self.running) {
            let queue = &mut self.queues[queue];
            let pace = if shared { pace(&self.load, role.task(&queue.cursor)) } else { WHOLE };
            (queue.pace, queue.end) = (pace, self.clock + scaled_up(queue.remaining, pace));
        }
    }

    /// Whether the conditions of the task at a queue's head hold.
    pub fn ready(&mut self, queue: usize, role: Role<'_>, inbox: &Inbox) -> bool {
        let head = &self.queues[queue];
        if head.unmet.is_some_and(|need| !self.met(&need, inbox)) {
            return false;
        }
        let unmet = self.needs(queue, role).find(|need| !self.met(need, inbox));
        self.queues[queue].unmet = unmet;
        unmet.is_none()
    }

    /// The conditions of the task at a queue's head.
    pub fn needs<'p>(&self, queue: usize, role: Role<'p>) -> impl Iterator<Item = Need> + use<'_, 'p> {
        let cursor = self.queues[queue].cursor;
        let here = self.at == Some(cursor.at);
        role.task(&cursor).waits.iter().map_while(|wait| *wait).map(move |wait| {
            let before =
                if here { self.base[wait.counter as usize] } else { role.script.announced(&cursor.at, wait.counter) };
            Need { counter: wait.counter, least: before + role.in_block(&cursor, wait.counter) + wait.offset }
        })
    }

    fn met(&self, need: &Need, inbox: &Inbox) -> bool {
        if need.counter.remote() {
            inbox.of(need.counter).nth(need.least).is_some_and(|arrival| arrival <= self.clock)
        } else {
            self.counters[need.counter as usize] >= need.least
        }
    }

    /// What tasks that could start otherwise wait for.
    pub fn wait(&self, role: Role<'_>, inbox: &Inbox) -> Wait {
        let mut wait = Wait::Own;
        for queue in queues(self.active & !self.running) {
            let Some(unmet) = self.queues[queue].unmet.filter(|need| need.counter.remote()) else { continue };
            let own = |need: &Need| !need.counter.remote() && self.counters[need.counter as usize] < need.least;
            if self.needs(queue, role).any(|need| own(&need)) {
                continue;
            }
            wait = match (wait, inbox.of(unmet.counter).nth(unmet.least)) {
                (Wait::Unknown, _) | (_, None) => Wait::Unknown,
                (Wait::Until(first), Some(arrival)) => Wait::Until(first.min(arrival)),
                (Wait::Own, Some(arrival)) => Wait::Until(arrival),
            };
        }
        wait
    }

    /// Moves to the moment `at`, ending what ends then; nothing ends before.
    pub fn pass<O: Observer>(&mut self, at: Picos, around: &mut Around<'_, O>) {
        let passed = at - self.clock;
        if passed > 0 {
            self.account(passed, around);
            for queue in queues(self.running) {
                let queue = &mut self.queues[queue];
                queue.remaining = queue.remaining.saturating_sub(scaled(passed, queue.pace));
            }
            self.clock = at;
        }
        for queue in queues(self.running) {
            if self.queues[queue].end == at {
                self.end(queue, around);
            }
        }
    }

    /// Sends something that arrives then.
    pub fn send<O>(&mut self, arrival: Picos, counter: Counter, around: &mut Around<'_, O>) {
        let sent = &mut self.sent[way(counter)];
        *sent = Sent { count: sent.count + 1, last: arrival };
        around.sent.push((Train::one(arrival), counter));
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

    fn start<O: Observer>(&mut self, queue: usize, around: &mut Around<'_, O>) {
        let cursor = self.queues[queue].cursor;
        let task = around.role.task(&cursor);
        self.queues[queue].remaining = task.duration;
        self.running |= 1 << queue;
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load += demand;
        }
        for (held, takes) in self.held.iter_mut().zip(task.takes) {
            *held += takes;
            self.changed |= takes != 0;
        }
        around.observer.started(around.role.rank, task, place(&cursor), self.clock);
    }

    fn end<O: Observer>(&mut self, queue: usize, around: &mut Around<'_, O>) {
        let cursor = self.queues[queue].cursor;
        let task = around.role.task(&cursor);
        self.running &= !(1 << queue);
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load -= demand;
        }
        for (held, gives) in self.held.iter_mut().zip(task.gives) {
            *held -= gives;
            self.changed |= gives != 0;
        }
        for counter in task.signals.iter().flatten() {
            self.counters[*counter as usize] += 1;
        }
        if let Some(counter) = task.sends {
            self.send(self.clock, counter, around);
        }
        around.observer.ended(around.role.rank, task, self.clock);
        self.pending[queue] -= 1;
        if self.pending[queue] == 0 {
            self.active &= !(1 << queue);
        } else {
            let next = cursor.next(&around.role, queue).or_else(|| later(&around.role, cursor.at, queue));
            self.queues[queue] = Queue { cursor: next.unwrap_or(cursor), ..Queue::default() };
        }
    }
}

/// How much longer than alone a task takes under a load, in units of [`WHOLE`].
pub(super) fn pace(load: &[u32; RESOURCES], task: &Task) -> u32 {
    let needed = load.iter().zip(task.demand).filter(|(_, demand)| *demand > 0);
    needed.map(|(load, _)| *load).max().unwrap_or(0).max(WHOLE)
}

pub(super) fn place(cursor: &Cursor) -> Place {
    Place { at: cursor.at, block_iteration: cursor.block_iteration }
}

/// The first task of a queue in the slots after `at`.
fn later(role: &Role<'_>, mut at: Position, queue: usize) -> Option<Cursor> {
    loop {
        at = role.script.after(at)?;
        if role.routine(&at).queues & 1 << queue != 0 {
            return Cursor::first(role, at, queue);
        }
    }
}

/// `value x WHOLE / pace`, rounded down.
pub(super) fn scaled(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
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
