//! Skipping what all ranks repeat together, where each waits for its neighbours in turn.
//!
//! Whenever the first rank begins an iteration of such a loop, all ranks are compared with themselves one
//! to three of its iterations ago. They repeat themselves if each has moved by whole iterations of its
//! own outermost loop in the same time, with as much on its way to it as before, or has not moved at all.

use crate::program::{Code, Picos, RankProgram};

use super::arrivals::Inbox;
use super::fold::{LoopLevel, Shift, find_shift};
use super::in_flight::InFlightSets;
use super::local::FEWEST_LAUNCHES;
use super::outcome::Observer;
use super::rank::RankState;
use super::ready_queue::ReadyQueue;
use super::stream::RankRole;

/// The states of all ranks at one moment.
#[derive(Debug, Clone, Default)]
struct JointState {
    ranks: Vec<RankState>,
    inboxes: Vec<Inbox>,
    /// When each has something to do; `MAX` if it waits for others.
    moments: Vec<Picos>,
}

/// The last few states at the beginning of an iteration.
#[derive(Debug, Default)]
pub(super) struct JointFold {
    /// The loop, by its group loop and micro-batch loop.
    place: (u32, u32),
    /// The latest last; beyond `used` there is only memory to reuse.
    states: Vec<JointState>,
    used: usize,
    /// The clocks of all ranks then, and some iterations before.
    clocks: Vec<Vec<Picos>>,
    known: usize,
    /// The shift of each rank.
    shifts: Vec<Option<Shift>>,
}

/// The present states of all ranks.
pub(super) struct RanksView<'a> {
    pub ranks: &'a mut [RankState],
    pub inboxes: &'a mut [Inbox],
    pub ready_queue: &'a mut ReadyQueue,
}

/// How many earlier iterations a state is compared with.
const PERIODS: usize = 3;

/// Whether a rank that can begin a launch begins an iteration at which all ranks should be compared: an iteration of
/// the first rank, in a loop through which ranks wait for each other.
pub(super) fn begins_iteration(role: &RankRole<'_>, rank: &RankState) -> bool {
    let Some(at) = rank.at.filter(|_| role.rank == 0) else { return false };
    let (group_loop, batch_loop) =
        (&role.program.group_loops[at.group_loop as usize], &role.program.batch_loops[at.batch_loop as usize]);
    // Where groups repeat, an iteration is a whole group: it begins with the first launch of the group's first loop.
    if group_loop.repeat > 1 {
        let first = role.program.batch_loops[group_loop.batch_loops.start as usize].launches.start;
        return (at.batch_loop, at.batch, at.launch) == (group_loop.batch_loops.start, 0, first);
    }
    batch_loop.repeat >= FEWEST_LAUNCHES && batch_loop.launches.len() > 1 && at.launch == batch_loop.launches.start
}

impl JointFold {
    pub fn clear(&mut self) {
        (self.used, self.known) = (0, 0);
    }

    /// Called when the first rank begins an iteration: skips what repeats.
    pub fn fold(
        &mut self,
        code: &Code,
        programs: &[RankProgram],
        view: RanksView<'_>,
        states: &InFlightSets,
        observer: &mut impl Observer,
    ) {
        let Some(at) = view.ranks[0].at else { return };
        let level = LoopLevel::outermost(&programs[0], &at);
        let place = (at.group_loop, if level == LoopLevel::Group { 0 } else { at.batch_loop });
        if self.place != place {
            self.place = place;
            self.clear();
        }
        let roles = |rank: usize| RankRole { code, program: &programs[rank], rank };
        // Where there are many ranks, their states are kept once their clocks are in step.
        // A copy of all ranks costs as much as several launches. Clocks alone are compared first: as long as these do
        // not move in step, no state can repeat.
        let keeps = self.in_step(view.ranks) || level == LoopLevel::Group;
        // The latest first: the shortest period is found before its multiples.
        for state in (0..self.used).rev() {
            let Some(times) = self.times_repeated(state, &view, roles, states) else { continue };
            let Self { states, shifts, .. } = self;
            let RanksView { ranks, inboxes, ready_queue } = view;
            let (before, period) = (&states[state], ranks[0].clock - states[state].ranks[0].clock);
            for (rank, shift) in shifts.iter().enumerate() {
                let Some(shift) = shift else { continue };
                shift.skip(&before.ranks[rank], &mut ranks[rank], &roles(rank), times, observer);
                ranks[rank].skip_sent(&before.ranks[rank], period, times);
                inboxes[rank].skip(&before.inboxes[rank], period, times);
                ready_queue.delay(rank, period * times);
            }
            return self.clear();
        }
        if keeps {
            self.keep(&view);
        }
    }

    /// How often what happened since a state happens again, if it does.
    fn times_repeated<'p>(
        &mut self,
        state: usize,
        view: &RanksView<'_>,
        roles: impl Fn(usize) -> RankRole<'p>,
        states: &InFlightSets,
    ) -> Option<u64> {
        let RanksView { ranks, inboxes, ready_queue } = view;
        let before = &self.states[state];
        let period = ranks[0].clock - before.ranks[0].clock;
        let mut times = u64::MAX;
        self.shifts.clear();
        for (rank, (earlier, now)) in before.ranks.iter().zip(ranks.iter()).enumerate() {
            let (moment, inbox) = (ready_queue.moment(rank), &inboxes[rank]);
            // A rank that has finished, say: it has not moved, and nothing new is on its way.
            if earlier == now && moment == Picos::MAX && inbox.is_shifted(&before.inboxes[rank], 0) {
                self.shifts.push(None);
                continue;
            }
            let role = roles(rank);
            let shift = find_shift(earlier, now, &role, LoopLevel::outermost(role.program, &now.at?), states)?;
            // What never comes is no later a period on.
            let later = |moment: Picos| if moment == Picos::MAX { moment } else { moment + period };
            // It has moved like the first rank, what comes to it is as far ahead as before, and its next look is as far
            // off: then the next period is the last one, shifted.
            let in_step = now.clock - earlier.clock == period
                && moment == later(before.moments[rank])
                && inbox.is_shifted(&before.inboxes[rank], period);
            if !in_step {
                return None;
            }
            times = times.min(shift.times);
            self.shifts.push(Some(shift));
        }
        (times > 0).then_some(times)
    }

    /// Whether each clock has moved by the same period, or not at all, since one of the last iterations.
    fn in_step(&mut self, ranks: &[RankState]) -> bool {
        let moved = |clocks: &Vec<Picos>| {
            let period = ranks[0].clock - clocks[0];
            let alike = |(rank, clock): (&RankState, &Picos)| rank.clock == *clock || rank.clock == clock + period;
            ranks.iter().zip(clocks).all(alike)
        };
        let found = self.clocks[..self.known].iter().any(moved);
        if self.known == PERIODS {
            self.clocks.rotate_left(1);
            self.known -= 1;
        }
        if self.clocks.len() == self.known {
            self.clocks.push(Vec::new());
        }
        let clocks = &mut self.clocks[self.known];
        clocks.clear();
        clocks.extend(ranks.iter().map(|rank| rank.clock));
        self.known += 1;
        found
    }

    /// Keeps a state, dropping the oldest where there are enough.
    fn keep(&mut self, RanksView { ranks, inboxes, ready_queue }: &RanksView<'_>) {
        if self.used == PERIODS {
            self.states.rotate_left(1);
            self.used -= 1;
        }
        if self.states.len() == self.used {
            self.states.push(JointState::default());
        }
        let state = &mut self.states[self.used];
        // The lists are refilled, not replaced: a fold that keeps a state per iteration would otherwise allocate each
        // time.
        state.ranks.clear();
        state.ranks.extend_from_slice(ranks);
        state.inboxes.resize_with(inboxes.len(), Inbox::default);
        state.inboxes.iter_mut().zip(inboxes.iter()).for_each(|(kept, inbox)| kept.clone_from(inbox));
        state.moments.clear();
        state.moments.extend((0..ranks.len()).map(|rank| ready_queue.moment(rank)));
        self.used += 1;
    }
}
