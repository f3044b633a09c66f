//! The beginning of a launch: a first piece of compute beside transfers in flight, some of which end before it does.
//!
//! Once they have ended, the rest of the launch is that of a launch without them, shifted by what is left of the piece.

use std::ops::Range;

use crate::program::{Code, FULL_DEMAND, NO_TASK, Picos, Stream, TaskClass, TaskPosition};

use super::super::gap::{Gap, InlineVec, MOST_IN_FLIGHT};
use super::super::in_flight::{InFlight, InFlightSets};
use super::super::outcome::MemoryPeak;
use super::super::rank::{RankContext, RankState};
use super::super::slowdown::{slowdown, time_for, work_done};
use super::record::TransferNeed;

/// The first piece of a graph's compute beside transfers in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstCompute {
    /// The piece, by index, and its time alone.
    piece: u32,
    duration: Picos,
    /// How much longer it and each transfer take, in units of [`FULL_DEMAND`].
    own_slowdown: u32,
    transfer_slowdowns: [u32; MOST_IN_FLIGHT],
}

impl FirstCompute {
    /// `None` if it is not with one piece of compute beside transfers that leave nothing behind.
    pub fn new(state: &InFlight, graph: usize, code: &Code) -> Option<Self> {
        let index = first_compute(code, graph).filter(|_| code.graphs[graph].alone && state.plain)?;
        let piece = Some(&code.tasks[index as usize]).filter(|piece| piece.class == TaskClass::Compute)?;
        let load = std::array::from_fn(|resource| state.load[resource] + piece.demand[resource]);
        let mut transfer_slowdowns = [FULL_DEMAND; MOST_IN_FLIGHT];
        for (transfer, factor) in transfer_slowdowns.iter_mut().enumerate().take(state.transfers.len) {
            *factor = slowdown(&load, state.task(transfer, code));
        }
        Some(Self { piece: index, duration: piece.duration, own_slowdown: slowdown(&load, piece), transfer_slowdowns })
    }
}

/// The task with which a graph's compute begins, by index.
pub(super) fn first_compute(code: &Code, graph: usize) -> Option<u32> {
    let Range { start, end } = code.graphs[graph].task_loops;
    let task_loops = &code.task_loops[start as usize..end as usize];
    task_loops.iter().map(|task_loop| task_loop.first[Stream::Compute]).find(|task| *task != NO_TASK)
}

/// A launch whose first piece of compute runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartedLaunch {
    /// The transfers still in flight, and the rest of each.
    pub state: u32,
    left: [Picos; MOST_IN_FLIGHT],
    /// Time since the launch began, and what is left of the piece, once a transfer has ended.
    passed: Picos,
    piece: Picos,
    /// Transfers that have ended.
    ended: InlineVec<EndedTransfer>,
}

/// A transfer that has ended beside a launch's first piece of compute.
#[derive(Debug, Clone, Copy, Default)]
struct EndedTransfer {
    /// The transfers in flight before, and the index of the one that ended.
    before: u32,
    index: usize,
    /// When, counted from the launch's beginning.
    at: Picos,
}

impl StartedLaunch {
    /// Just now.
    pub fn after(gap: &Gap) -> Self {
        Self { state: gap.state, left: gap.left, passed: 0, piece: 0, ended: InlineVec::default() }
    }

    /// Lets the first transfer end that does so beside the piece; whether there is one.
    pub(crate) fn advance(&mut self, start: &FirstCompute, states: &mut InFlightSets, code: &Code) -> bool {
        let FirstCompute { duration, own_slowdown, transfer_slowdowns, .. } = *start;
        let piece = if self.ended.len == 0 { duration } else { self.piece };
        let count = states.get(self.state).transfers.len;
        let ends = |transfer: usize| time_for(self.left[transfer], transfer_slowdowns[transfer]);
        let Some((passed, transfer)) = (0..count).map(|transfer| (ends(transfer), transfer)).min() else {
            return false;
        };
        // What ends together with something else is left to the streams; a transfer that has just begun will be met
        // again, so that a run with it is worth remembering.
        let together = (0..count).filter(|transfer| ends(*transfer) == passed).count() > 1;
        let fresh = self.left[transfer] == states.get(self.state).task(transfer, code).duration;
        if fresh || together || passed >= time_for(piece, own_slowdown) || self.ended.len == MOST_IN_FLIGHT {
            return false;
        }
        self.ended.items[self.ended.len] =
            EndedTransfer { before: self.state, index: transfer, at: self.passed + passed };
        self.ended.len += 1;
        self.passed += passed;
        self.piece = piece - work_done(passed, own_slowdown);
        for (left, slowdown) in self.left.iter_mut().zip(transfer_slowdowns).take(count) {
            *left -= work_done(passed, slowdown);
        }
        // The state without the transfer lists the others in their old order, so what is left of them moves up with
        // them.
        self.left[transfer..count].rotate_left(1);
        self.state = states.without(self.state, transfer, code);
        true
    }

    /// The delay of the rest of the launch against one that begins with what is still in flight (it may be negative:
    /// the sum wraps around), and what that needs of each transfer, if all outlast it.
    pub fn delay(
        &self,
        start: &FirstCompute,
        mut needs: InlineVec<TransferNeed>,
    ) -> Option<(Picos, InlineVec<TransferNeed>)> {
        let FirstCompute { duration, own_slowdown, transfer_slowdowns, .. } = *start;
        // The piece takes 10 beside what is still in flight. Another transfer ended after 4, and what was left of the
        // piece then takes 7: the rest of the launch is 4 + 7 - 10 = 1 later.
        let (whole, left) = (time_for(duration, own_slowdown), time_for(self.piece, own_slowdown));
        for (need, slowdown) in needs.items.iter_mut().zip(transfer_slowdowns).take(needs.len) {
            need.left = need.left + work_done(left, slowdown) - work_done(whole, slowdown);
        }
        let outlast = needs.as_slice().iter().zip(&self.left).all(|(need, left)| *left > need.left);
        outlast.then_some(((self.passed + left).wrapping_sub(whole), needs))
    }

    /// Books what has ended, and that the rest is later.
    pub fn apply<O>(
        &self,
        start: &FirstCompute,
        late: Picos,
        rank: &mut RankState,
        states: &InFlightSets,
        context: &mut RankContext<'_, O>,
    ) {
        let Some(at) = rank.at else { return };
        let (piece, began) = (&context.role.code.tasks[start.piece as usize], rank.clock);
        let allocated = rank.allocated + piece.allocates;
        if allocated.total() > rank.peak_bytes {
            rank.peak_bytes = allocated.total();
            rank.peak =
                MemoryPeak { allocated, at: began, task: start.piece, place: TaskPosition { at, iteration: 0 } };
        }
        let after = self.ended.as_slice().iter().skip(1).map(|ended| ended.before).chain([self.state]);
        for (EndedTransfer { before, index, at }, after) in self.ended.as_slice().iter().zip(after) {
            rank.clock = began + at;
            states.finish_transfer(*before, *index, after, rank, context);
        }
        // The rest is replayed as if the launch began beside what is still in flight, moved by what `along` found; that
        // may be negative, as a number that wraps.
        rank.clock = began.wrapping_add(late);
        if let Some(gap) = &mut rank.gap {
            gap.left = self.left;
        }
        let flies_on = states.get(self.state).transfers.len > 0;
        let totals = &mut rank.totals;
        let phase = &mut totals.phases[piece.label.phase as usize];
        (totals.compute, *phase) = (totals.compute.wrapping_add(late), phase.wrapping_add(late));
        totals.communication = totals.communication.wrapping_add(if flies_on { late } else { self.passed });
    }
}
