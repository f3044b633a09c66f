//! Finding that a program has become periodic, and skipping the repeats.
//!
//! At each end of an iteration of compute, all ranks are compared with themselves one to three
//! iterations ago. They match when every queue is either exactly some iterations further in the same
//! block (or section) with the same work left, or waits at the same task as before; and when every
//! counter has moved as those iterations announce. Then the future is the past, shifted, for as long
//! as no queue reaches the end of its loop and no waiting queue is let go: that many iterations are
//! skipped, less the last ones, which are run so that the peak of memory is met where it is.

use crate::hardware::MAX_LEVELS;
use crate::program::{COUNTERS, HELD, Picos, QUEUES, RankProgram};

use super::queue::{Cursor, Queue};
use super::rank::{Boundary, Rank};
use super::{Observer, Totals};

/// How many earlier iterations a state is compared with: periods of up to three are found.
const PERIODS: usize = 3;

/// Periods that are run after a skip: in the first of them no queue runs out yet, so that memory which
/// grows from period to period has its peak where it would have had it.
const PERIODS_LEFT: u64 = 2;

/// Earlier states at the ends of iterations of the block and of the section that compute is in.
#[derive(Debug, Default)]
pub(super) struct Folds {
    block: History,
    section: History,
}

/// The last few states of one loop.
#[derive(Debug, Default)]
struct History {
    place: Cursor,
    states: Vec<Vec<Rank>>,
    used: usize,
}

/// How one rank moved between two states.
#[derive(Debug, Clone, Copy)]
struct Shift {
    iterations: u32,
    advance: [i64; COUNTERS],
    /// How often it can be repeated.
    times: u64,
}

impl Folds {
    pub fn clear(&mut self) {
        self.block.used = 0;
        self.section.used = 0;
    }

    /// Called when compute of rank `reference` has passed the end of an iteration.
    pub fn reached(
        &mut self,
        ranks: &mut [Rank],
        program: &[RankProgram],
        reference: usize,
        boundary: Boundary,
        observer: &mut impl Observer,
    ) {
        if reference != 0 {
            return;
        }
        let history = match boundary {
            Boundary::Block => &mut self.block,
            Boundary::Section => &mut self.section,
        };
        let place = place(&ranks[0].queues[0].cursor, boundary);
        if history.place != place {
            history.place = place;
            history.used = 0;
        }
        for state in history.states[..history.used.min(PERIODS)].iter().rev() {
            if let Some(times) = repeats(state, ranks, program, boundary) {
                let (from, to) = (state[0].clock, ranks[0].clock);
                skip(state, ranks, program, boundary, times);
                observer.folded(from, to, times);
                history.used = 0;
                return;
            }
        }
        history.remember(ranks);
    }
}

impl History {
    /// Keeps the state, dropping the oldest of [`PERIODS`].
    fn remember(&mut self, ranks: &[Rank]) {
        if self.states.len() < PERIODS {
            self.states.push(Vec::new());
        }
        if self.used == PERIODS {
            self.states.rotate_left(1);
            self.used -= 1;
        }
        let slot = &mut self.states[self.used];
        slot.clear();
        slot.extend_from_slice(ranks);
        self.used += 1;
    }
}

/// Which loop a position is in: the cursor without what counts its iterations.
fn place(cursor: &Cursor, boundary: Boundary) -> Cursor {
    match boundary {
        Boundary::Block => Cursor { block_iteration: 0, task: 0, ..*cursor },
        Boundary::Section => Cursor { section: cursor.section, ..Cursor::default() },
    }
}

/// How often what happened since `before` happens again, if it does.
fn repeats(before: &[Rank], now: &[Rank], program: &[RankProgram], boundary: Boundary) -> Option<u64> {
    let passed = |(before, now): (&Rank, &Rank)| now.clock - before.clock;
    let period = passed((&before[0], &now[0]));
    let mut times = u64::MAX;
    for ((before, now), program) in before.iter().zip(now).zip(program) {
        // Ranks that moved by different times are not one periodic whole.
        if passed((before, now)) != period {
            return None;
        }
        times = times.min(shift(before, now, program, boundary)?.times);
    }
    (times > 0).then_some(times)
}

/// How a rank moved, if its state is the earlier one shifted by whole iterations.
fn shift(before: &Rank, now: &Rank, program: &RankProgram, boundary: Boundary) -> Option<Shift> {
    let moved = now.queues.iter().zip(&before.queues).find(|(now, before)| now.cursor != before.cursor);
    let (now_head, before_head) = moved?;
    let iterations = between(&before_head.cursor, &now_head.cursor, boundary)?;
    let (repeat, advance) = loop_of(&now_head.cursor, program, boundary);
    let expected = |counter: usize| i64::from(iterations) * advance[counter];
    if (0..COUNTERS).any(|counter| now.counters[counter] - before.counters[counter] != expected(counter)) {
        return None;
    }
    let mut times = u64::MAX;
    for (before, head) in before.queues.iter().zip(&now.queues) {
        if before.running != head.running || before.remaining_if_running() != head.remaining_if_running() {
            return None;
        }
        if before.cursor == head.cursor {
            times = times.min(patience(head, now, &advance, iterations)?);
            continue;
        }
        let same_loop = loop_of(&head.cursor, program, boundary) == (repeat, advance)
            && place(&head.cursor, boundary) == place(&now_head.cursor, boundary);
        if !same_loop || between(&before.cursor, &head.cursor, boundary)? != iterations {
            return None;
        }
        let left = repeat - 1 - iteration(&head.cursor, boundary);
        times = times.min(u64::from(left / iterations).saturating_sub(PERIODS_LEFT));
    }
    Some(Shift { iterations, advance, times })
}

/// The iterations between two positions that differ in nothing else.
fn between(before: &Cursor, now: &Cursor, boundary: Boundary) -> Option<u32> {
    let iterations = iteration(now, boundary).checked_sub(iteration(before, boundary))?;
    let mut moved = *before;
    match boundary {
        Boundary::Block => moved.block_iteration += iterations,
        Boundary::Section => moved.section_iteration += iterations,
    }
    (moved == *now && iterations > 0).then_some(iterations)
}

fn iteration(cursor: &Cursor, boundary: Boundary) -> u32 {
    match boundary {
        Boundary::Block => cursor.block_iteration,
        Boundary::Section => cursor.section_iteration,
    }
}

/// Repeats of the loop around a position, and how one iteration moves the counters.
fn loop_of(cursor: &Cursor, program: &RankProgram, boundary: Boundary) -> (u32, [i64; COUNTERS]) {
    match boundary {
        Boundary::Block => {
            program.blocks.get(cursor.block as usize).map_or((1, [0; COUNTERS]), |block| (block.repeat, block.advance))
        }
        Boundary::Section => {
            let section = program.sections.get(cursor.section as usize);
            section.map_or((1, [0; COUNTERS]), |section| (section.repeat, section.advance))
        }
    }
}

/// How many shifts a queue that waits keeps waiting through; `None` if its state is not that of waiting.
fn patience(head: &Queue, rank: &Rank, advance: &[i64; COUNTERS], iterations: u32) -> Option<u64> {
    if !head.has_task {
        return Some(u64::MAX);
    }
    if head.running {
        return None;
    }
    let unmet = head.needs.iter().flatten().filter_map(|need| {
        let counter = need.counter as usize;
        let missing = need.least - rank.counters[counter];
        let pace = advance[counter] * i64::from(iterations);
        let shifts = if pace <= 0 { u64::MAX } else { ((missing - 1) / pace) as u64 };
        (missing > 0).then_some(shifts)
    });
    unmet.max()
}

/// Moves all ranks on by `times` shifts.
fn skip(before: &[Rank], ranks: &mut [Rank], program: &[RankProgram], boundary: Boundary, times: u64) {
    for ((before, rank), program) in before.iter().zip(ranks).zip(program) {
        let Some(shift) = shift(before, rank, program, boundary) else { continue };
        let later = (rank.clock - before.clock) * times;
        let iterations = shift.iterations * times as u32;
        for queue in 0..QUEUES {
            let head = &mut rank.queues[queue];
            if head.running {
                head.end += later;
            }
            if head.cursor != before.queues[queue].cursor {
                match boundary {
                    Boundary::Block => head.cursor.block_iteration += iterations,
                    Boundary::Section => head.cursor.section_iteration += iterations,
                }
                head.refresh(program);
            }
        }
        for counter in 0..COUNTERS {
            rank.counters[counter] += i64::from(iterations) * shift.advance[counter];
        }
        for part in 0..HELD {
            rank.held[part] += (rank.held[part] - before.held[part]) * times.cast_signed();
        }
        rank.totals = extrapolated(&before.totals, &rank.totals, times);
        rank.clock += later;
    }
}

/// `now + times x (now - before)`.
fn extrapolated(before: &Totals, now: &Totals, times: u64) -> Totals {
    let more = |before: Picos, now: Picos| now + (now - before) * times;
    let mut exposed = [0; MAX_LEVELS + 1];
    for (level, exposed) in exposed.iter_mut().enumerate() {
        *exposed = more(before.exposed[level], now.exposed[level]);
    }
    Totals {
        compute: more(before.compute, now.compute),
        optimizer: more(before.optimizer, now.optimizer),
        host: more(before.host, now.host),
        exposed,
        bubble: more(before.bubble, now.bubble),
        waiting: more(before.waiting, now.waiting),
        communication: more(before.communication, now.communication),
        phases: std::array::from_fn(|phase| more(before.phases[phase], now.phases[phase])),
    }
}
