//! Skipping what one rank repeats by itself: a task loop's layers, and a micro-batch loop's micro-batches as far as
//! what arrives for them is known.

use crate::plan::pass::Direction;
use crate::program::{Stream, TaskEvent};

use super::arrivals::{ArrivalTrain, SentTrain};
use super::fold::{LoopLevel, StateHistory, find_shift};
use super::in_flight::InFlightSets;
use super::outcome::Observer;
use super::rank::{RankContext, RankState};
use super::stream::RankRole;

/// The fewest iterations for which a search for repeats pays: of a task loop, and of a micro-batch loop whose launches
/// are seldom remembered.
const FEWEST: u32 = 4;

/// The least repeats of any other micro-batch loop: replaying a remembered launch costs less than comparing states.
pub(super) const FEWEST_LAUNCHES: u32 = 24;

/// Skips what repeats of the task loop that compute has just begun again; whether anything did.
pub(super) fn fold_layers<O: Observer>(
    rank: &mut RankState,
    history: &mut StateHistory,
    states: &InFlightSets,
    context: &mut RankContext<'_, O>,
) -> bool {
    let (role, cursor) = (context.role, rank.streams[Stream::Compute].cursor);
    if !rank.running.contains(Stream::Compute) {
        return false;
    }
    let task_loop = &role.code.task_loops[cursor.task_loop as usize];
    if task_loop.repeat < FEWEST || cursor.task != task_loop.first[Stream::Compute] {
        return false;
    }
    let before = history.latest().next().map(|before| before.streams[Stream::Compute].cursor);
    if before == Some(cursor) {
        return false;
    }
    if before.is_none_or(|before| (before.at, before.task_loop) != (cursor.at, cursor.task_loop)) {
        history.clear();
    }
    let found =
        history.latest().find_map(|before| Some((before, find_shift(before, rank, &role, LoopLevel::Task, states)?)));
    if let Some((before, shift)) = found.filter(|(_, shift)| shift.times > 0) {
        shift.skip(before, rank, &role, shift.times, context.observer);
        history.clear();
        return true;
    }
    history.keep(rank);
    false
}

/// Whether the launch that a rank is at repeats alone, and often enough for a search for repeats to pay.
pub(super) fn worth_comparing(rank: &RankState, role: &RankRole<'_>) -> bool {
    let Some(at) = &rank.at else { return false };
    let batch_loop = &role.program.batch_loops[at.batch_loop as usize];
    // A launch in which something starts before compute is seldom remembered.
    let seldom = || role.graph(at).entry.is_none();
    batch_loop.launches.len() == 1 && batch_loop.repeat >= FEWEST && (batch_loop.repeat >= FEWEST_LAUNCHES || seldom())
}

/// Skips what repeats of a micro-batch loop of one launch, with which compute can begin again.
pub(super) fn fold_micro_batches<O: Observer>(
    rank: &mut RankState,
    history: &mut StateHistory,
    states: &InFlightSets,
    context: &mut RankContext<'_, O>,
) {
    let (role, Some(at)) = (context.role, rank.at) else { return };
    let before = history.latest().next().and_then(|before| before.at);
    if before.is_none_or(|before| (before.batch_loop, before.group) != (at.batch_loop, at.group)) {
        history.clear();
    }
    let found = history.latest().find_map(|before| {
        let shift = find_shift(before, rank, &role, LoopLevel::MicroBatch, states)?;
        let times = shift.times.min(times_in_step(before, rank, context));
        (times > 0).then_some((before, shift, times))
    });
    let Some((before, shift, times)) = found else { return history.keep(rank) };
    let period = rank.clock - before.clock;
    for direction in Direction::ALL {
        let sent = rank.sent.get(direction);
        if sent.count > before.sent.get(direction).count {
            // The neighbour gets the arrivals of all skipped iterations at once, as one train.
            let train = ArrivalTrain { first: sent.last + period, period, count: times };
            context.sent.push(SentTrain { train, direction });
        }
        let event = TaskEvent::arrival(direction) as usize;
        let taken = rank.events[event] - before.events[event];
        context.inbox.arrivals_mut(direction).take(taken as u64 * times);
    }
    rank.skip_sent(before, period, times);
    shift.skip(before, rank, &role, times, context.observer);
    history.clear();
}

/// How many times a rank can repeat what it did since `before`, as far as arrivals allow: one per period, in step with
/// what it sends.
fn times_in_step<O>(before: &RankState, now: &RankState, context: &RankContext<'_, O>) -> u64 {
    let period = now.clock - before.clock;
    let mut times = u64::MAX;
    for direction in Direction::ALL {
        let event = TaskEvent::arrival(direction) as usize;
        let sent = now.sent.get(direction).count - before.sent.get(direction).count;
        let (taken, passed) = (now.events[event], now.events[event] - before.events[event]);
        // A period of several iterations sends several at distances of their own, which are no train.
        if sent > 1 || passed > 1 {
            return 0;
        }
        if passed == 1 {
            // The launch that begins now has arrival `taken + 1`; the one a period later needs the next.
            let arrivals = context.inbox.arrivals(direction);
            times = times.min(arrivals.count_in_step(taken + 2, now.clock, period, now.waited));
        }
    }
    times
}
