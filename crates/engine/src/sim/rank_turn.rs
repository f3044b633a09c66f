//! One rank's turn: it runs until it needs to know what another rank has not sent yet.
//!
//! Each step of it is exact by itself: launch what is due, start what is ready, let time pass until something ends.
//! Between them the accelerators may take the rank further at once: [`RankTurn::replay`] over launches that are
//! remembered, [`RankTurn::skip_layers`] and [`RankTurn::begin_launch`] over what repeats.

use std::ops::ControlFlow;

use crate::plan::pass::PerDirection;
use crate::program::{Picos, SERIAL, StreamSet};

use super::fold::StateHistory;
use super::memo::{Memo, ReplayStop};
use super::outcome::Observer;
use super::rank::{LaunchEntry, NOTHING_QUEUED, RankContext, RankState, RemoteWait};
use super::{joint, local};

/// A rank that runs, and what its turn reads and writes.
pub(super) struct RankTurn<'a, O> {
    pub rank: &'a mut RankState,
    pub context: RankContext<'a, O>,
    /// The moment to which all ranks have come.
    pub now: Picos,
    /// Earlier states of the layers, and of the loop of micro-batches that it is in.
    pub layers: &'a mut StateHistory,
    pub micro_batches: &'a mut StateHistory,
    pub memo: &'a mut Memo,
    /// Whether repeats are skipped, and whether launches are remembered.
    pub fold: bool,
    pub remember: bool,
}

/// Why a step is broken off.
enum Pause {
    /// Something else can be done at the rank's moment.
    Again,
    /// The rank has nothing to do before this time.
    Until(Picos),
}

type Step = ControlFlow<Pause>;

const AGAIN: Step = ControlFlow::Break(Pause::Again);

const fn until(moment: Picos) -> Step {
    ControlFlow::Break(Pause::Until(moment))
}

impl<O: Observer> RankTurn<'_, O> {
    /// Runs the rank. Returns when it has something to do again.
    pub fn run(mut self) -> Picos {
        self.rank.awaits = PerDirection::both(false);
        loop {
            if let ControlFlow::Break(Pause::Until(moment)) = self.step() {
                return moment;
            }
        }
    }

    fn step(&mut self) -> Step {
        // A step that breaks off either starts this sequence over at the rank's moment, or hands the turn back.
        self.replay()?;
        self.issue_launch()?;
        self.begin_launch()?;
        self.rank.start_ready(StreamSet::ALL, &mut self.context);
        self.end_launch()?;
        self.skip_layers()?;
        self.advance_time()
    }

    /// Replays the launches after a gap, as far as they are remembered.
    fn replay(&mut self) -> Step {
        if self.rank.gap.is_none() {
            return Step::Continue(());
        }
        match self.memo.replay_launches(self.rank, self.micro_batches, self.now, &mut self.context) {
            ReplayStop::Until(next) => until(next),
            ReplayStop::Compare => until(self.rank.clock),
            ReplayStop::Unknown => Step::Continue(()),
        }
    }

    /// Waits for what a launch needs to begin; where something else of it may start before compute does, its tasks are
    /// put on their streams.
    fn issue_launch(&mut self) -> Step {
        let Self { rank, context, .. } = self;
        let role = context.role;
        if rank.stage.issued() {
            return Step::Continue(());
        }
        match rank.entry(role, context.inbox) {
            Some(LaunchEntry::Now) => {}
            Some(LaunchEntry::At(arrival)) => rank.stall_until(arrival, context),
            Some(LaunchEntry::Unknown) => {
                rank.awaits = PerDirection::both(true);
                return until(rank.drain_until(self.now, context));
            }
            None => {
                // Something may start ahead of compute: the gathers of the next pass run while compute ends the one
                // before. So the tasks are queued now, and compute's own turn comes when it can begin.
                if self.remember && self.memo.without_compute(rank, &role) && self.memo.replay_or_record(rank, context)
                {
                    return AGAIN;
                }
                rank.issue(&role);
                rank.start_ready(!SERIAL, context);
            }
        }
        Step::Continue(())
    }

    /// Begins with a launch once compute can, unless what it does is remembered or repeats.
    fn begin_launch(&mut self) -> Step {
        let Self { rank, context, .. } = self;
        let role = context.role;
        if rank.stage.begun() || (rank.stage.issued() && !rank.can_begin(role, context.inbox)) {
            return Step::Continue(());
        }
        if self.fold && !rank.paused && joint::begins_iteration(&role, rank) {
            rank.paused = true;
            return until(rank.clock);
        }
        rank.begin();
        if self.fold && local::worth_comparing(rank, &role) {
            local::fold_micro_batches(rank, self.micro_batches, &self.memo.states, context);
        }
        if self.remember && self.memo.replay_or_record(rank, context) {
            return AGAIN;
        }
        rank.issue(&role);
        Step::Continue(())
    }

    /// Leaves a launch that is over.
    fn end_launch(&mut self) -> Step {
        let Self { rank, context, memo, .. } = self;
        if !rank.launch_is_over() {
            return Step::Continue(());
        }
        memo.finish(rank, context);
        rank.leave_launch(context);
        rank.gap = if self.remember { memo.states.gap(rank, &NOTHING_QUEUED, context.role.code) } else { None };
        AGAIN
    }

    /// Skips layers that repeat.
    fn skip_layers(&mut self) -> Step {
        let Self { rank, layers, memo, context, .. } = self;
        let skipped = self.fold && rank.stage.begun() && local::fold_layers(rank, layers, &memo.states, context);
        if skipped { AGAIN } else { Step::Continue(()) }
    }

    /// Lets time pass until a task ends or something arrives, if it is known when.
    fn advance_time(&mut self) -> Step {
        let Self { rank, context, memo, .. } = self;
        let next = rank.next();
        let moment = match rank.wait(context.role, context.inbox) {
            RemoteWait::Own => next,
            RemoteWait::Until(arrival) => {
                memo.finish(rank, context);
                rank.waited = true;
                next.min(arrival)
            }
            // Nothing that is sent from now on arrives before `now`. With `now` at 5, a gather that ends at 5 may end;
            // one that ends at 8 may not yet, since an arrival at 6 could start compute that slows it down.
            RemoteWait::Unknown if next <= self.now => next,
            RemoteWait::Unknown => {
                rank.awaits = PerDirection::both(true);
                memo.finish(rank, context);
                return until(next);
            }
        };
        // No task runs and no arrival is known: the rank has finished, or all wait for each other, which the caller
        // tells apart.
        if moment == Picos::MAX {
            memo.finish(rank, context);
            rank.sample_memory(context);
            return until(moment);
        }
        rank.advance_to(moment, context);
        Step::Continue(())
    }
}
