//! Gaps: between two slots a rank mostly has nothing on its queues but tasks that run, flights. What it does next
//! depends on them alone, so that its queues and counters need not be kept up there: they follow from the gap
//! ([`States::spread`]).

use crate::program::{CHAIN, COMPUTE, COUNTERS, Class, Code, Phase, Picos, Position, QUEUES, RESOURCES, Task, WHOLE};

use super::Peak;
use super::queue::{Cursor, Queue, Role};
use super::rank::{Around, Rank, pace, place, queues, scaled, scaled_up};

/// The most flights of a gap.
pub(super) const FLIGHTS: usize = 4;

/// A few of something, one for each flight at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Few<T> {
    pub items: [T; FLIGHTS],
    pub count: usize,
}

impl<T: Copy + Default> Default for Few<T> {
    fn default() -> Self {
        Self { items: [T::default(); FLIGHTS], count: 0 }
    }
}

impl<T: Copy> Few<T> {
    pub fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(self.count)? = item;
        self.count += 1;
        Some(())
    }

    pub fn as_slice(&self) -> &[T] {
        &self.items[..self.count]
    }

    pub fn remove(&mut self, index: usize) {
        self.items[index..self.count].rotate_left(1);
        self.count -= 1;
    }
}

/// Where a rank is between two slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    /// What flies, by index.
    pub state: u32,
    /// What is left of each flight, and the slot that it belongs to.
    pub left: [Picos; FLIGHTS],
    pub of: [Position; FLIGHTS],
    /// Where compute stands, if that is not on its queue.
    pub computed: Option<Cursor>,
}

/// What flies in a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// Queues that run something, as bits; and what, in their order.
    pub running: u8,
    pub flights: Few<Cursor>,
    pub load: [u32; RESOURCES],
    /// How much longer each takes, in units of [`WHOLE`].
    paces: [u32; FLIGHTS],
    /// What they have not counted yet.
    pub owed: [i64; COUNTERS],
    /// Whether all are transfers that leave nothing behind.
    pub plain: bool,
    /// What flies once one of them has ended.
    without: [Option<u32>; FLIGHTS],
}

impl State {
    fn of(flights: Few<Cursor>, code: &Code) -> Self {
        let (load, owed, paces) = ([0; RESOURCES], [0; COUNTERS], [WHOLE; FLIGHTS]);
        let mut state = Self { running: 0, flights, load, paces, owed, plain: true, without: [None; FLIGHTS] };
        for flight in 0..flights.count {
            let task = state.task(flight, code);
            state.running |= 1 << task.queue;
            for (load, demand) in state.load.iter_mut().zip(task.demand) {
                *load += demand;
            }
            for counter in task.signals.iter().flatten() {
                state.owed[*counter as usize] += 1;
            }
            state.plain &= task.class == Class::Transfer && task.gives.iter().sum::<i64>() >= 0;
        }
        for flight in 0..flights.count {
            state.paces[flight] = pace(&state.load, state.task(flight, code));
        }
        state
    }

    /// A flight's task.
    pub fn task<'c>(&self, flight: usize, code: &'c Code) -> &'c Task {
        &code.tasks[self.flights.items[flight].task as usize]
    }

    /// When each flight ends, as they share what they need.
    fn ends(&self, gap: &Gap, clock: Picos) -> impl Iterator<Item = Picos> {
        let ends = gap.left.iter().zip(&self.paces).take(self.flights.count);
        ends.map(move |(left, pace)| clock + scaled_up(*left, *pace))
    }
}

/// All that was seen to fly in gaps.
#[derive(Debug, Default)]
pub(super) struct States(Vec<State>);

impl States {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn get(&self, state: u32) -> &State {
        &self.0[state as usize]
    }

    /// Where a rank is that has nothing on its queues but what runs and `tasks`; `None` if it has more.
    pub fn gap(&mut self, rank: &Rank, tasks: &[u32; QUEUES], code: &Code) -> Option<Gap> {
        let runs = |queue: usize| u32::from(rank.running >> queue & 1);
        let tidy = (0..QUEUES).all(|queue| rank.pending[queue] == tasks[queue] + runs(queue));
        if !tidy || rank.running & CHAIN != 0 {
            return None;
        }
        let mut gap = Gap { state: 0, left: [0; FLIGHTS], of: [Position::default(); FLIGHTS], computed: None };
        let mut flights = Few::default();
        for queue in queues(rank.running) {
            let Queue { cursor, remaining, .. } = rank.queues[queue];
            flights.push(Cursor { at: Position::default(), ..cursor })?;
            (gap.left[flights.count - 1], gap.of[flights.count - 1]) = (remaining, cursor.at);
        }
        gap.state = self.index(flights, code);
        Some(gap)
    }

    fn index(&mut self, flights: Few<Cursor>, code: &Code) -> u32 {
        let known = self.0.iter().position(|state| state.flights.as_slice() == flights.as_slice());
        known.unwrap_or_else(|| {
            self.0.push(State::of(flights, code));
            self.0.len() - 1
        }) as u32
    }

    /// What flies once one of the flights has ended.
    pub fn without(&mut self, state: u32, flight: usize, code: &Code) -> u32 {
        self.get(state).without[flight].unwrap_or_else(|| {
            let mut flights = self.get(state).flights;
            flights.remove(flight);
            let without = self.index(flights, code);
            self.0[state as usize].without[flight] = Some(without);
            without
        })
    }

    /// When the next flight ends.
    pub fn next(&self, rank: &Rank) -> Option<Picos> {
        rank.gap.as_ref().and_then(|gap| self.get(gap.state).ends(gap, rank.clock).min())
    }

    /// Waits for another rank while flights end, as far as that is by the moment given. Returns when more of them end.
    pub fn rest<O>(&mut self, rank: &mut Rank, by: Picos, phase: Phase, around: &mut Around<'_, O>) -> Picos {
        while let Some(next) = self.next(rank) {
            if next > by {
                return next;
            }
            self.pass(rank, next, phase, around);
        }
        Picos::MAX
    }

    /// Waits for another rank, in some phase, until the moment `at`; no flight ends before.
    pub fn pass<O>(&mut self, rank: &mut Rank, at: Picos, phase: Phase, around: &mut Around<'_, O>) {
        rank.totals.bubble += at - rank.clock;
        self.fly(rank, at, phase, around);
    }

    /// Waits for a flight, as long as none ends.
    pub fn expose<O>(&mut self, rank: &mut Rank, flight: usize, around: &mut Around<'_, O>) {
        let (Some(next), Some(gap)) = (self.next(rank), &rank.gap) else { return };
        let label = self.get(gap.state).task(flight, around.role.code).label;
        rank.totals.exposed[label.level.map_or(RESOURCES - 1, usize::from)] += next - rank.clock;
        self.fly(rank, next, label.phase, around);
    }

    /// Moves to the moment `at`, ending what ends then; nothing ends before.
    fn fly<O>(&mut self, rank: &mut Rank, at: Picos, phase: Phase, around: &mut Around<'_, O>) {
        self.look(rank);
        let Some(gap) = &mut rank.gap else { return };
        let (passed, state) = (at - rank.clock, self.get(gap.state));
        let ended = state.ends(gap, rank.clock).enumerate();
        let mut ended = ended.fold(0_u32, |ended, (flight, end)| ended | u32::from(end == at) << flight);
        rank.clock = at;
        rank.totals.phases[phase as usize] += passed;
        rank.totals.communication += if state.flights.count > 0 { passed } else { 0 };
        for (left, pace) in gap.left.iter_mut().zip(state.paces).take(state.flights.count) {
            *left = left.saturating_sub(scaled(passed, pace));
        }
        // From the last, so that the others stay where they are.
        let mut state = gap.state;
        while let Some(flight) = ended.checked_ilog2() {
            ended &= !(1 << flight);
            let flight = flight as usize;
            let after = self.without(state, flight, around.role.code);
            self.land(state, flight, after, rank, around);
            state = after;
        }
    }

    /// Looks at the memory in use from now on.
    fn look(&self, rank: &mut Rank) {
        let held = rank.held.iter().sum();
        if held > rank.fullest
            && let Some(gap) = &rank.gap
        {
            let flights = &self.get(gap.state).flights;
            let flight = flights.as_slice().first().map(|flight| Cursor { at: gap.of[0], ..*flight });
            let cursor = flight.or(gap.computed).unwrap_or(rank.queues[COMPUTE as usize].cursor);
            rank.fullest = held;
            rank.peak = Peak { held: rank.held, at: rank.clock, task: cursor.task, place: place(&cursor) };
        }
    }

    /// Ends a flight of those that flew `before`; the others fly `after`.
    pub fn land<O>(&self, before: u32, flight: usize, after: u32, rank: &mut Rank, around: &mut Around<'_, O>) {
        let Some(gap) = &mut rank.gap else { return };
        let (task, count) = (self.get(before).task(flight, around.role.code), self.get(before).flights.count);
        for (held, gives) in rank.held.iter_mut().zip(task.gives) {
            *held -= gives;
        }
        gap.state = after;
        for later in flight + 1..count {
            (gap.left[later - 1], gap.of[later - 1]) = (gap.left[later], gap.of[later]);
        }
        if let Some(counter) = task.sends {
            rank.send(rank.clock, counter, around);
        }
    }

    /// Puts what flies on a rank's queues, and its counters where they are then.
    pub fn spread(&self, rank: &mut Rank, role: &Role<'_>) {
        let Some(gap) = &rank.gap else { return };
        let State { running, flights, load, owed, .. } = self.get(gap.state);
        (rank.active, rank.running, rank.load, rank.changed) = (*running, *running, *load, true);
        rank.pending = std::array::from_fn(|queue| u32::from(running >> queue & 1));
        for (flight, queue) in queues(*running).enumerate() {
            let cursor = Cursor { at: gap.of[flight], ..flights.items[flight] };
            rank.queues[queue] = Queue { cursor, remaining: gap.left[flight], ..Queue::default() };
        }
        if let Some(cursor) = gap.computed {
            rank.queues[COMPUTE as usize] = Queue { cursor, ..Queue::default() };
        }
        rank.count(role, owed);
    }
}
