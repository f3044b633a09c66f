//! Finding that a rank repeats itself, and skipping the repeats.
//!
//! A rank's state at the beginning of an iteration of one of its loops is compared with the states one
//! to three iterations ago. They match when every stream is either exactly some iterations further with
//! the same work left, or waits at the same task as before, or still runs it; and when those iterations
//! have raised every event as often as expected. Then the future is the past, shifted, for as long as no
//! stream reaches the end of its loop, no waiting stream is let go and no task ends that ran all along:
//! that many iterations are skipped.

use crate::program::{EVENTS, LaunchPosition, Picos, RankProgram, Stream};

use super::gap::MOST_IN_FLIGHT;
use super::in_flight::InFlightSets;
use super::outcome::Observer;
use super::rank::RankState;
use super::stream::{Cursor, RankRole};

/// A level of the loops around a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopLevel {
    /// The task loop, over layers.
    Task,
    /// The micro-batch loop.
    MicroBatch,
    /// The group loop, over groups of micro-batches.
    Group,
}

/// The shift of a rank between two states, and the number of times that it can be repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    level: LoopLevel,
    iterations: u32,
    advance: [i64; EVENTS],
    pub times: u64,
}

impl LoopLevel {
    /// The outermost loop around a launch that repeats.
    pub fn outermost(program: &RankProgram, at: &LaunchPosition) -> Self {
        if program.group_loops[at.group_loop as usize].repeat > 1 { Self::Group } else { Self::MicroBatch }
    }

    fn iteration(self, cursor: &Cursor) -> u32 {
        match self {
            Self::Task => cursor.iteration,
            Self::MicroBatch => cursor.at.batch,
            Self::Group => cursor.at.group,
        }
    }

    fn iteration_mut(self, cursor: &mut Cursor) -> &mut u32 {
        match self {
            Self::Task => &mut cursor.iteration,
            Self::MicroBatch => &mut cursor.at.batch,
            Self::Group => &mut cursor.at.group,
        }
    }

    /// Iterations of the loop between two positions of the same task; `None` if they differ in anything else, or not at all.
    fn distance(self, before: &Cursor, now: &Cursor) -> Option<u32> {
        // Layer 4 and layer 5 of one micro-batch are 1 apart. Layer 4 of one and layer 5 of the next micro-batch differ
        // in two loops: that is no shift of this one.
        let iterations = self.iteration(now).checked_sub(self.iteration(before))?;
        let mut moved = *before;
        *self.iteration_mut(&mut moved) += iterations;
        (moved == *now && iterations > 0).then_some(iterations)
    }

    /// Whether two places are in the same run of the loop.
    fn in_same_run(self, a: &Cursor, b: &Cursor) -> bool {
        match self {
            Self::Task => (a.at, a.task_loop) == (b.at, b.task_loop),
            Self::MicroBatch => {
                let run = |at: &LaunchPosition| (at.group_loop, at.group, at.batch_loop);
                run(&a.at) == run(&b.at)
            }
            Self::Group => a.at.group_loop == b.at.group_loop,
        }
    }

    /// Iterations of the loop around a place, and by how much each raises the events.
    fn repeat(self, cursor: &Cursor, role: &RankRole<'_>) -> (u32, [i64; EVENTS]) {
        match self {
            Self::Task => {
                let task_loop = &role.code.task_loops[cursor.task_loop as usize];
                (task_loop.repeat, task_loop.advance)
            }
            Self::MicroBatch => {
                let batch_loop = &role.program.batch_loops[cursor.at.batch_loop as usize];
                (batch_loop.repeat, batch_loop.advance)
            }
            Self::Group => {
                let group_loop = &role.program.group_loops[cursor.at.group_loop as usize];
                (group_loop.repeat, group_loop.advance)
            }
        }
    }
}

/// The shift of a rank, if its state is the earlier one some whole iterations later.
pub(super) fn find_shift(
    before: &RankState,
    now: &RankState,
    role: &RankRole<'_>,
    level: LoopLevel,
    states: &InFlightSets,
) -> Option<Shift> {
    let place = |rank: &RankState| match level {
        LoopLevel::Task => Some(rank.streams[Stream::Compute].cursor),
        LoopLevel::MicroBatch | LoopLevel::Group => rank.at.map(Cursor::begin),
    };
    let here = place(now)?;
    let iterations = level.distance(&place(before)?, &here)?;
    let (repeat, advance) = level.repeat(&here, role);
    let flags = |rank: &RankState| (rank.stage, rank.waited, rank.paused);
    if level != LoopLevel::Task && flags(before) != flags(now) {
        return None;
    }
    // In a loop of 20, at iteration 4 with a period of 2: (19 - 4) / 2 = 7 shifts, the last to iteration 18.
    let left = |cursor: &Cursor| u64::from((repeat - 1 - level.iteration(cursor)) / iterations);
    // How often a task can move as it did: with the loop, or on in it until it would end.
    let moves = |earlier: &Cursor, head: &Cursor, [before, now]: [Picos; 2]| {
        // It ran all along. With 10 left before and 7 now it loses 3 each time: (7 - 1) / 3 = 2 shifts leave it
        // running, and it ends in the third, which is run.
        if earlier == head {
            let done = before - now;
            return Some(now.saturating_sub(1).checked_div(done).unwrap_or(u64::MAX));
        }
        let moved =
            before == now && level.distance(earlier, head) == Some(iterations) && level.in_same_run(&here, head);
        moved.then(|| left(head))
    };
    let mut times = left(&here);
    match (&before.gap, &now.gap) {
        (Some(earlier), Some(gap)) if earlier.state == gap.state => {
            for transfer in 0..states.get(gap.state).transfers.len {
                let [earlier_of, of] = [earlier, gap].map(|gap| Cursor::begin(gap.launches[transfer]));
                times = times.min(moves(&earlier_of, &of, [earlier, gap].map(|gap| gap.left[transfer]))?);
            }
        }
        (None, None) => {
            let same = (before.active, before.running) == (now.active, now.running)
                && (level == LoopLevel::Task || before.pending == now.pending);
            // An event that moved by anything else than expected shows a stream that falls behind or catches up.
            let counted = |event: usize| now.events[event] - before.events[event];
            if !same || (0..EVENTS).any(|event| counted(event) != i64::from(iterations) * advance[event]) {
                return None;
            }
            for stream in now.active.iter() {
                let running = now.running.contains(stream);
                let [earlier, head] = [before, now].map(|rank| &rank.streams[stream]);
                times = times.min(if running || earlier.cursor != head.cursor {
                    let remaining = if running { [earlier.remaining, head.remaining] } else { [0; 2] };
                    moves(&earlier.cursor, &head.cursor, remaining)?
                } else {
                    shifts_while_waiting(stream, now, role, &advance, iterations)?
                });
            }
        }
        _ => return None,
    }
    // Memory that grows is fullest in the last of the equal iterations: that one is run.
    let grows = u64::from(now.allocated.total() > before.allocated.total());
    Some(Shift { level, iterations, advance, times: times.saturating_sub(grows) })
}

/// How many shifts a stream that waits keeps waiting through; `None` if it waits for another rank, or for nothing.
fn shifts_while_waiting(
    stream: Stream,
    rank: &RankState,
    role: &RankRole<'_>,
    advance: &[i64; EVENTS],
    iterations: u32,
) -> Option<u64> {
    let shifts = rank.requirements(stream, *role).filter(|need| !need.event.remote()).filter_map(|need| {
        let event = need.event as usize;
        let missing = need.least - rank.events[event];
        let pace = advance[event] * i64::from(iterations);
        // Missing 5, with 2 more each shift: after 2 shifts 1 is missing still, the third lets it go.
        let shifts = if pace <= 0 { u64::MAX } else { ((missing - 1) / pace) as u64 };
        (missing > 0).then_some(shifts)
    });
    // One condition that does not hold is enough to keep a task waiting, so that the longest decides.
    shifts.max()
}

impl Shift {
    /// Moves a rank on by `times` shifts.
    pub fn skip(
        &self,
        before: &RankState,
        rank: &mut RankState,
        role: &RankRole<'_>,
        times: u64,
        observer: &mut impl Observer,
    ) {
        observer.folded(role.rank, before.clock, rank.clock, times);
        let later = (rank.clock - before.clock) * times;
        let iterations = self.iterations * times as u32;
        let level = self.level;
        let moved = |at: &mut LaunchPosition| {
            let mut cursor = Cursor::begin(*at);
            *level.iteration_mut(&mut cursor) += iterations;
            *at = cursor.at;
        };
        if let (Some(earlier), Some(gap)) = (&before.gap, &mut rank.gap) {
            for transfer in 0..MOST_IN_FLIGHT {
                if earlier.launches[transfer] == gap.launches[transfer] {
                    let done = earlier.left[transfer].saturating_sub(gap.left[transfer]);
                    gap.left[transfer] = gap.left[transfer].saturating_sub(done * times);
                } else {
                    moved(&mut gap.launches[transfer]);
                }
            }
            if let Some(cursor) = gap.computed.as_mut().filter(|cursor| earlier.computed != Some(**cursor)) {
                moved(&mut cursor.at);
            }
        }
        for stream in rank.active.iter().filter(|_| rank.gap.is_none()) {
            let (earlier, head) = (&before.streams[stream], &mut rank.streams[stream]);
            head.unmet = None;
            if earlier.cursor == head.cursor {
                head.remaining -= (earlier.remaining - head.remaining) * times;
            } else {
                *self.level.iteration_mut(&mut head.cursor) += iterations;
            }
            if self.level == LoopLevel::Task {
                let done = before.pending[stream] - rank.pending[stream];
                rank.pending[stream] -= done * times as u32;
            }
        }
        if self.level != LoopLevel::Task
            && let Some(at) = &mut rank.at
        {
            moved(at);
        }
        // In a gap this counts for what arrives only.
        let expected = self.advance.map(|advance| i64::from(iterations) * advance);
        rank.advance_events(&expected, self.level != LoopLevel::Task);
        rank.allocated += (rank.allocated - before.allocated) * times.cast_signed();
        rank.totals = rank.totals.combine(&before.totals, |now, before| now + (now - before) * times);
        // Nothing is estimated in a skip: all that moved in one period moves as often again, in whole numbers, so that
        // the end is what running each iteration would give.
        rank.clock += later;
    }
}

/// The last few states of a loop of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct StateHistory {
    states: Vec<RankState>,
    next: usize,
}

/// How many earlier iterations a state is compared with: periods of up to three are found.
const PERIODS: usize = 3;

impl StateHistory {
    pub fn clear(&mut self) {
        self.states.clear();
        self.next = 0;
    }

    /// The states kept, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &RankState> {
        let (newer, older) = self.states.split_at(self.next.min(self.states.len()));
        newer.iter().rev().chain(older.iter().rev())
    }

    /// Keeps a state, in place of the oldest where there are enough.
    pub fn keep(&mut self, rank: &RankState) {
        if self.next == PERIODS {
            self.next = 0;
        }
        if self.next < self.states.len() {
            self.states[self.next] = *rank;
        } else {
            self.states.push(*rank);
        }
        self.next += 1;
    }
}
