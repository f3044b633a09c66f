//! Skipping what one rank repeats by itself: a block's layers, and a section's micro-batches as far as
//! what arrives for them is known.

use crate::program::{COMPUTE, Counter};

use super::Observer;
use super::arrivals::Train;
use super::fold::{History, Level, shift};
use super::gap::States;
use super::queue::Role;
use super::rank::{Around, Rank};

/// The fewest iterations of a block that are worth a look, and of a section whose slots are seldom remembered.
const FEWEST: u32 = 4;

/// The fewest iterations of any other section that are: a slot that is remembered costs less than a look.
pub(super) const FEWEST_SLOTS: u32 = 24;

/// Skips what repeats of the block that compute has just begun again; whether anything did.
pub(super) fn fold_block<O: Observer>(
    rank: &mut Rank,
    history: &mut History,
    states: &States,
    around: &mut Around<'_, O>,
) -> bool {
    let (role, cursor) = (around.role, rank.queues[COMPUTE as usize].cursor);
    if rank.running & 1 << COMPUTE == 0 {
        return false;
    }
    let block = &role.code.blocks[cursor.block as usize];
    if block.repeat < FEWEST || cursor.task != block.first[COMPUTE as usize] {
        return false;
    }
    let before = history.latest().next().map(|before| before.queues[COMPUTE as usize].cursor);
    if before == Some(cursor) {
        return false;
    }
    if before.is_none_or(|before| (before.at, before.block) != (cursor.at, cursor.block)) {
        history.clear();
    }
    let found = history.latest().find_map(|before| Some((before, shift(before, rank, &role, Level::Block, states)?)));
    if let Some((before, shift)) = found.filter(|(_, shift)| shift.times > 0) {
        shift.skip(before, rank, &role, shift.times, around.observer);
        history.clear();
        return true;
    }
    history.keep(rank);
    false
}

/// Whether the slot that a rank is at repeats by itself so often that its repeats may be skipped.
pub(super) fn worth_a_look(rank: &Rank, role: &Role<'_>) -> bool {
    let Some(at) = &rank.at else { return false };
    let section = &role.script.sections[at.section as usize];
    // A slot in which something starts before compute is seldom remembered.
    let seldom = || role.routine(at).entry.is_none();
    section.slots.len() == 1 && section.repeat >= FEWEST && (section.repeat >= FEWEST_SLOTS || seldom())
}

/// Skips what repeats of a section of one slot, with which compute can begin again.
pub(super) fn fold_section<O: Observer>(
    rank: &mut Rank,
    history: &mut History,
    states: &States,
    around: &mut Around<'_, O>,
) {
    let (role, Some(at)) = (around.role, rank.at) else { return };
    let before = history.latest().next().and_then(|before| before.at);
    if before.is_none_or(|before| (before.section, before.round_iteration) != (at.section, at.round_iteration)) {
        history.clear();
    }
    let found = history.latest().find_map(|before| {
        let shift = shift(before, rank, &role, Level::Section, states)?;
        let times = shift.times.min(letters(before, rank, around));
        (times > 0).then_some((before, shift, times))
    });
    let Some((before, shift, times)) = found else { return history.keep(rank) };
    let period = rank.clock - before.clock;
    for (way, counter) in [Counter::ArrivedForward, Counter::ArrivedBackward].into_iter().enumerate() {
        let sent = rank.sent[way];
        if sent.count > before.sent[way].count {
            around.sent.push((Train { first: sent.last + period, period, count: times }, counter));
        }
        let taken = rank.counters[counter as usize] - before.counters[counter as usize];
        around.inbox.of_mut(counter).take(taken as u64 * times);
    }
    rank.skip_sent(before, period, times);
    shift.skip(before, rank, &role, times, around.observer);
    history.clear();
}

/// How often a rank can move as it did since `before`, as far as what arrives is concerned: what it takes
/// must come in step, and what it sends go out in step.
fn letters<O>(before: &Rank, now: &Rank, around: &Around<'_, O>) -> u64 {
    let period = now.clock - before.clock;
    let mut times = u64::MAX;
    for (way, counter) in [Counter::ArrivedForward, Counter::ArrivedBackward].into_iter().enumerate() {
        let (sent, taken) = (now.sent[way].count - before.sent[way].count, now.counters[counter as usize]);
        let passed = taken - before.counters[counter as usize];
        if sent > 1 || passed > 1 {
            return 0;
        }
        if passed == 1 {
            let arrivals = around.inbox.of(counter);
            times = times.min(arrivals.in_step(taken + 2, now.clock, period, now.waited));
        }
    }
    times
}
