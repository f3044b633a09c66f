//! Finding that a rank repeats itself, and skipping the repeats.
//!
//! A rank's state at the beginning of an iteration of one of its loops is compared with the states one
//! to three iterations ago. They match when every queue is either exactly some iterations further with
//! the same work left, or waits at the same task as before, or still runs it; and when every counter
//! has moved as those iterations announce. Then the future is the past, shifted, for as long as no
//! queue reaches the end of its loop, no waiting queue is let go and no task ends that ran all along:
//! that many iterations are skipped.

use crate::program::{COMPUTE, COUNTERS, HELD, Picos, Position, Script};

use super::Observer;
use super::gap::{FLIGHTS, States};
use super::queue::{Cursor, Role};
use super::rank::{Rank, queues};

/// A loop around a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Its block: layers.
    Block,
    /// Its section: micro-batches.
    Section,
    /// Its round: groups of micro-batches.
    Round,
}

/// How a rank moved between two states, and how often it can do so again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    level: Level,
    iterations: u32,
    advance: [i64; COUNTERS],
    pub times: u64,
}

impl Level {
    /// The outermost loop that repeats around a slot.
    pub fn outermost(script: &Script, at: &Position) -> Self {
        if script.rounds[at.round as usize].repeat > 1 { Self::Round } else { Self::Section }
    }

    fn iteration(self, cursor: &Cursor) -> u32 {
        match self {
            Self::Block => cursor.block_iteration,
            Self::Section => cursor.at.section_iteration,
            Self::Round => cursor.at.round_iteration,
        }
    }

    fn iteration_mut(self, cursor: &mut Cursor) -> &mut u32 {
        match self {
            Self::Block => &mut cursor.block_iteration,
            Self::Section => &mut cursor.at.section_iteration,
            Self::Round => &mut cursor.at.round_iteration,
        }
    }

    /// The iterations between two places that differ in nothing else; `None` if they do, or if there are none.
    fn between(self, before: &Cursor, now: &Cursor) -> Option<u32> {
        let iterations = self.iteration(now).checked_sub(self.iteration(before))?;
        let mut moved = *before;
        *self.iteration_mut(&mut moved) += iterations;
        (moved == *now && iterations > 0).then_some(iterations)
    }

    /// Whether two places are in the same run of the loop.
    fn together(self, a: &Cursor, b: &Cursor) -> bool {
        match self {
            Self::Block => (a.at, a.block) == (b.at, b.block),
            Self::Section => {
                let run = |at: &Position| (at.round, at.round_iteration, at.section);
                run(&a.at) == run(&b.at)
            }
            Self::Round => a.at.round == b.at.round,
        }
    }

    /// Repeats of the loop around a place, and how one iteration moves the counters.
    fn repeat(self, cursor: &Cursor, role: &Role<'_>) -> (u32, [i64; COUNTERS]) {
        match self {
            Self::Block => {
                let block = &role.code.blocks[cursor.block as usize];
                (block.repeat, block.advance)
            }
            Self::Section => {
                let section = &role.script.sections[cursor.at.section as usize];
                (section.repeat, section.advance)
            }
            Self::Round => {
                let round = &role.script.rounds[cursor.at.round as usize];
                (round.repeat, round.advance)
            }
        }
    }
}

/// How a rank moved, if its state is the earlier one shifted by whole iterations.
pub(super) fn shift(before: &Rank, now: &Rank, role: &Role<'_>, level: Level, states: &States) -> Option<Shift> {
    let place = |rank: &Rank| match level {
        Level::Block => Some(rank.queues[COMPUTE as usize].cursor),
        Level::Section | Level::Round => rank.at.map(Cursor::begin),
    };
    let here = place(now)?;
    let iterations = level.between(&place(before)?, &here)?;
    let (repeat, advance) = level.repeat(&here, role);
    let flags = |rank: &Rank| (rank.issued, rank.begun, rank.waited, rank.paused);
    if level != Level::Block && flags(before) != flags(now) {
        return None;
    }
    let left = |cursor: &Cursor| u64::from((repeat - 1 - level.iteration(cursor)) / iterations);
    // How often a task can move as it did: with the loop, or on in it until it would end.
    let moves = |earlier: &Cursor, head: &Cursor, [before, now]: [Picos; 2]| {
        if earlier == head {
            let done = before - now;
            return Some(now.saturating_sub(1).checked_div(done).unwrap_or(u64::MAX));
        }
        let moved = before == now && level.between(earlier, head) == Some(iterations) && level.together(&here, head);
        moved.then(|| left(head))
    };
    let mut times = left(&here);
    match (&before.gap, &now.gap) {
        (Some(earlier), Some(gap)) if earlier.state == gap.state => {
            for flight in 0..states.get(gap.state).flights.count {
                let [earlier_of, of] = [earlier, gap].map(|gap| Cursor::begin(gap.of[flight]));
                times = times.min(moves(&earlier_of, &of, [earlier, gap].map(|gap| gap.left[flight]))?);
            }
        }
        (None, None) => {
            let same = (before.active, before.running) == (now.active, now.running)
                && (level == Level::Block || before.pending == now.pending);
            let counted = |counter: usize| now.counters[counter] - before.counters[counter];
            if !same || (0..COUNTERS).any(|counter| counted(counter) != i64::from(iterations) * advance[counter]) {
                return None;
            }
            for queue in queues(now.active) {
                let running = now.running & 1 << queue != 0;
                let [earlier, head] = [before, now].map(|rank| &rank.queues[queue]);
                times = times.min(if running || earlier.cursor != head.cursor {
                    let remaining = if running { [earlier.remaining, head.remaining] } else { [0; 2] };
                    moves(&earlier.cursor, &head.cursor, remaining)?
                } else {
                    patience(queue, now, role, &advance, iterations)?
                });
            }
        }
        _ => return None,
    }
    // Memory that grows is fullest in the last of the equal iterations: that one is run.
    let held = |rank: &Rank| rank.held.iter().sum::<i64>();
    let grows = u64::from(held(now) > held(before));
    Some(Shift { level, iterations, advance, times: times.saturating_sub(grows) })
}

/// How many shifts a queue that waits keeps waiting through; `None` if it waits for another rank, or for nothing.
fn patience(queue: usize, rank: &Rank, role: &Role<'_>, advance: &[i64; COUNTERS], iterations: u32) -> Option<u64> {
    let shifts = rank.needs(queue, *role).filter(|need| !need.counter.remote()).filter_map(|need| {
        let counter = need.counter as usize;
        let missing = need.least - rank.counters[counter];
        let pace = advance[counter] * i64::from(iterations);
        let shifts = if pace <= 0 { u64::MAX } else { ((missing - 1) / pace) as u64 };
        (missing > 0).then_some(shifts)
    });
    shifts.max()
}

impl Shift {
    /// Moves a rank on by `times` shifts.
    pub fn skip(&self, before: &Rank, rank: &mut Rank, role: &Role<'_>, times: u64, observer: &mut impl Observer) {
        observer.folded(role.rank, before.clock, rank.clock, times);
        let later = (rank.clock - before.clock) * times;
        let iterations = self.iterations * times as u32;
        let level = self.level;
        let moved = |at: &mut Position| {
            let mut cursor = Cursor::begin(*at);
            *level.iteration_mut(&mut cursor) += iterations;
            *at = cursor.at;
        };
        if let (Some(earlier), Some(gap)) = (&before.gap, &mut rank.gap) {
            for flight in 0..FLIGHTS {
                if earlier.of[flight] == gap.of[flight] {
                    let done = earlier.left[flight].saturating_sub(gap.left[flight]);
                    gap.left[flight] = gap.left[flight].saturating_sub(done * times);
                } else {
                    moved(&mut gap.of[flight]);
                }
            }
            if let Some(cursor) = gap.computed.as_mut().filter(|cursor| earlier.computed != Some(**cursor)) {
                moved(&mut cursor.at);
            }
        }
        for queue in queues(rank.active).filter(|_| rank.gap.is_none()) {
            let (earlier, head) = (&before.queues[queue], &mut rank.queues[queue]);
            head.unmet = None;
            if earlier.cursor == head.cursor {
                head.remaining -= (earlier.remaining - head.remaining) * times;
            } else {
                *self.level.iteration_mut(&mut head.cursor) += iterations;
            }
            if self.level == Level::Block {
                let done = before.pending[queue] - rank.pending[queue];
                rank.pending[queue] -= done * times as u32;
            }
        }
        if self.level != Level::Block
            && let Some(at) = &mut rank.at
        {
            moved(at);
        }
        // In a gap this counts for what arrives only.
        let announced = self.advance.map(|advance| i64::from(iterations) * advance);
        rank.announce(&announced, self.level != Level::Block);
        for part in 0..HELD {
            rank.held[part] += (rank.held[part] - before.held[part]) * times.cast_signed();
        }
        rank.totals = rank.totals.each(&before.totals, |now, before| now + (now - before) * times);
        rank.clock += later;
    }
}

/// The last few states of a loop of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    states: Vec<Rank>,
    next: usize,
}

/// How many earlier iterations a state is compared with: periods of up to three are found.
const PERIODS: usize = 3;

impl History {
    pub fn clear(&mut self) {
        self.states.clear();
        self.next = 0;
    }

    /// The states kept, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Rank> {
        let (newer, older) = self.states.split_at(self.next.min(self.states.len()));
        newer.iter().rev().chain(older.iter().rev())
    }

    /// Keeps a state, in place of the oldest where there are enough.
    pub fn keep(&mut self, rank: &Rank) {
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
