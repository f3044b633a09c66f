//! Transfers in flight in gaps between launches, and how time passes there. Not for how a rank enters or leaves a gap
//! ([`super::memo`]).

use crate::program::{
    Code, EVENTS, FULL_DEMAND, LaunchPosition, PerStream, Phase, Picos, RESOURCES, SERIAL, Stream, StreamSet, Task,
    TaskClass,
};

use super::gap::{Gap, InlineVec, MOST_IN_FLIGHT};
use super::outcome::MemoryPeak;
use super::rank::{RankContext, RankState, task_position};
use super::slowdown::{slowdown, time_for, work_done};
use super::stream::{Cursor, RankRole, StreamHead};

/// The transfers in flight in a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    /// Streams that run something, as bits; and what, in their order.
    pub running: StreamSet,
    pub transfers: InlineVec<Cursor>,
    pub load: [u32; RESOURCES],
    /// Time of each over that alone, in units of [`FULL_DEMAND`].
    slowdowns: [u32; MOST_IN_FLIGHT],
    /// Events that they have not raised yet.
    pub outstanding: [i64; EVENTS],
    /// Whether all are transfers that leave nothing behind.
    pub plain: bool,
    /// The transfers in flight once one of them has ended.
    without: [Option<u32>; MOST_IN_FLIGHT],
}

impl InFlight {
    fn new(in_flight: InlineVec<Cursor>, code: &Code) -> Self {
        let (load, outstanding, slowdowns) = ([0; RESOURCES], [0; EVENTS], [FULL_DEMAND; MOST_IN_FLIGHT]);
        let mut state = Self {
            running: StreamSet::EMPTY,
            transfers: in_flight,
            load,
            slowdowns,
            outstanding,
            plain: true,
            without: [None; MOST_IN_FLIGHT],
        };
        for transfer in 0..in_flight.len {
            let task = state.task(transfer, code);
            state.running.insert(task.stream);
            for (load, demand) in state.load.iter_mut().zip(task.demand) {
                *load += demand;
            }
            for event in task.signals.iter().flatten() {
                state.outstanding[*event as usize] += 1;
            }
            // What leaves memory behind when it ends could set a new peak at a moment that no record has seen.
            state.plain &= task.class == TaskClass::Transfer && task.frees.total() >= 0;
        }
        for transfer in 0..in_flight.len {
            state.slowdowns[transfer] = slowdown(&state.load, state.task(transfer, code));
        }
        state
    }

    /// A transfer's task.
    pub fn task<'c>(&self, transfer: usize, code: &'c Code) -> &'c Task {
        &code.tasks[self.transfers.items[transfer].task as usize]
    }

    /// When each transfer ends, as they share what they need.
    fn ends(&self, gap: &Gap, clock: Picos) -> impl Iterator<Item = Picos> {
        let ends = gap.left.iter().zip(&self.slowdowns).take(self.transfers.len);
        ends.map(move |(left, slowdown)| clock + time_for(*left, *slowdown))
    }
}

/// The sets of transfers that were in flight in gaps between launches.
#[derive(Debug, Default)]
pub(super) struct InFlightSets(Vec<InFlight>);

impl InFlightSets {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn get(&self, state: u32) -> &InFlight {
        &self.0[state as usize]
    }

    /// Where a rank is that has nothing on its streams but what runs and `tasks`; `None` if it has more.
    pub fn gap(&mut self, rank: &RankState, tasks: &PerStream<u32>, code: &Code) -> Option<Gap> {
        let runs = |stream: Stream| u32::from(rank.running.contains(stream));
        let tidy = Stream::ALL.into_iter().all(|stream| rank.pending[stream] == tasks[stream] + runs(stream));
        if !tidy || !(rank.running & SERIAL).is_empty() {
            return None;
        }
        let mut gap = Gap {
            state: 0,
            left: [0; MOST_IN_FLIGHT],
            launches: [LaunchPosition::default(); MOST_IN_FLIGHT],
            computed: None,
        };
        let mut in_flight = InlineVec::default();
        for stream in rank.running.iter() {
            let StreamHead { cursor, remaining, .. } = rank.streams[stream];
            // Which micro-batch a transfer belongs to makes no difference to what follows, so that it is kept apart, in
            // `of`: gaps in all micro-batches then share one state.
            in_flight.push(Cursor { at: LaunchPosition::default(), ..cursor })?;
            (gap.left[in_flight.len - 1], gap.launches[in_flight.len - 1]) = (remaining, cursor.at);
        }
        gap.state = self.index(in_flight, code);
        Some(gap)
    }

    fn index(&mut self, in_flight: InlineVec<Cursor>, code: &Code) -> u32 {
        let known = self.0.iter().position(|state| state.transfers.as_slice() == in_flight.as_slice());
        known.unwrap_or_else(|| {
            self.0.push(InFlight::new(in_flight, code));
            self.0.len() - 1
        }) as u32
    }

    /// The transfers in flight once one of them has ended.
    pub fn without(&mut self, state: u32, transfer: usize, code: &Code) -> u32 {
        self.get(state).without[transfer].unwrap_or_else(|| {
            let mut in_flight = self.get(state).transfers;
            in_flight.remove(transfer);
            let without = self.index(in_flight, code);
            self.0[state as usize].without[transfer] = Some(without);
            without
        })
    }

    /// When the next transfer ends.
    pub fn next(&self, rank: &RankState) -> Option<Picos> {
        rank.gap.as_ref().and_then(|gap| self.get(gap.state).ends(gap, rank.clock).min())
    }

    /// Waits for another rank while transfers end, as far as that is by the moment given. Returns when more of them
    /// end.
    pub(crate) fn drain_until<O>(
        &mut self,
        rank: &mut RankState,
        by: Picos,
        phase: Phase,
        context: &mut RankContext<'_, O>,
    ) -> Picos {
        while let Some(next) = self.next(rank) {
            if next > by {
                return next;
            }
            self.wait_until(rank, next, phase, context);
        }
        Picos::MAX
    }

    /// Waits for another rank, in some phase, until the moment `at`; no transfer ends before.
    pub fn wait_until<O>(&mut self, rank: &mut RankState, at: Picos, phase: Phase, context: &mut RankContext<'_, O>) {
        rank.totals.bubble += at - rank.clock;
        self.advance_to(rank, at, phase, context);
    }

    /// Waits for a transfer, as long as none ends.
    pub(crate) fn wait_for_transfer<O>(
        &mut self,
        rank: &mut RankState,
        transfer: usize,
        context: &mut RankContext<'_, O>,
    ) {
        let (Some(next), Some(gap)) = (self.next(rank), &rank.gap) else { return };
        let label = self.get(gap.state).task(transfer, context.role.code).label;
        rank.totals.stall(Some(&label), next - rank.clock);
        self.advance_to(rank, next, label.phase, context);
    }

    /// Moves to the moment `at`, ending what ends then; nothing ends before.
    fn advance_to<O>(&mut self, rank: &mut RankState, at: Picos, phase: Phase, context: &mut RankContext<'_, O>) {
        if at > rank.clock {
            // What a transfer that takes no time allocates and frees at once does not count.
            self.sample_memory(rank);
        }
        let Some(gap) = &mut rank.gap else { return };
        let (passed, state) = (at - rank.clock, self.get(gap.state));
        let ended = state.ends(gap, rank.clock).enumerate();
        let mut ended = ended.fold(0_u32, |ended, (transfer, end)| ended | u32::from(end == at) << transfer);
        rank.clock = at;
        rank.totals.phases[phase as usize] += passed;
        rank.totals.communication += if state.transfers.len > 0 { passed } else { 0 };
        for (left, slowdown) in gap.left.iter_mut().zip(state.slowdowns).take(state.transfers.len) {
            *left = left.saturating_sub(work_done(passed, slowdown));
        }
        // From the last, so that the others stay where they are.
        let mut state = gap.state;
        while let Some(transfer) = ended.checked_ilog2() {
            ended &= !(1 << transfer);
            let transfer = transfer as usize;
            let after = self.without(state, transfer, context.role.code);
            self.finish_transfer(state, transfer, after, rank, context);
            state = after;
        }
    }

    /// Looks at the memory in use from now on.
    fn sample_memory(&self, rank: &mut RankState) {
        let allocated = rank.allocated.total();
        if allocated > rank.peak_bytes
            && let Some(gap) = &rank.gap
        {
            let in_flight = &self.get(gap.state).transfers;
            let transfer = in_flight.as_slice().first().map(|transfer| Cursor { at: gap.launches[0], ..*transfer });
            let cursor = transfer.or(gap.computed).unwrap_or(rank.streams[Stream::Compute].cursor);
            rank.peak_bytes = allocated;
            rank.peak = MemoryPeak {
                allocated: rank.allocated,
                at: rank.clock,
                task: cursor.task,
                place: task_position(&cursor),
            };
        }
    }

    /// Ends a transfer of what was in flight `before`; the others are in flight `after`.
    pub(crate) fn finish_transfer<O>(
        &self,
        before: u32,
        transfer: usize,
        after: u32,
        rank: &mut RankState,
        context: &mut RankContext<'_, O>,
    ) {
        let Some(gap) = &mut rank.gap else { return };
        let (task, count) = (self.get(before).task(transfer, context.role.code), self.get(before).transfers.len);
        rank.allocated -= task.frees;
        gap.state = after;
        for later in transfer + 1..count {
            (gap.left[later - 1], gap.launches[later - 1]) = (gap.left[later], gap.launches[later]);
        }
        if let Some(direction) = task.sends {
            rank.send(rank.clock, direction, context);
        }
    }

    /// Puts what is in flight on a rank's streams, and its events where they are then.
    pub(crate) fn restore_streams(&self, rank: &mut RankState, role: &RankRole<'_>) {
        let Some(gap) = &rank.gap else { return };
        let InFlight { running, transfers, load, outstanding, .. } = self.get(gap.state);
        (rank.active, rank.running, rank.load, rank.memory_changed) = (*running, *running, *load, true);
        rank.pending = PerStream::from_fn(|stream| u32::from(running.contains(stream)));
        for (transfer, stream) in running.iter().enumerate() {
            let cursor = Cursor { at: gap.launches[transfer], ..transfers.items[transfer] };
            rank.streams[stream] = StreamHead { cursor, remaining: gap.left[transfer], ..StreamHead::default() };
        }
        if let Some(cursor) = gap.computed {
            rank.streams[Stream::Compute] = StreamHead { cursor, ..StreamHead::default() };
        }
        rank.reset_events(role, outstanding);
    }
}
