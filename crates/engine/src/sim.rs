//! Runs a program: tasks on streams over shared resources, in whole picoseconds. Knows ids, durations and demands only;
//! why a task exists is [`crate::program`]'s.
//!
//! The engine is that of a textbook on discrete events, rank by rank (`rank_turn`):
//! - a launch's tasks are queued on their streams, all at once, when compute has finished the launch before; a launch
//!   is over when compute and what is serialised with it are;
//! - a stream runs its tasks one at a time, in order; a task starts as soon as the events that it waits for are raised;
//! - concurrent tasks whose demands on a resource exceed the whole slow down by the same factor, so that the demands
//!   add up to the whole again;
//! - memory that is allocated and freed at the same picosecond does not count;
//! - ranks interact only by what one sends and when it arrives at another. So each runs ahead until it depends on
//!   something that has not been sent; when all do, the one with the earliest end of a task runs next (`ready_queue`).
//!
//! Two accelerators surround it. Their contract is "the same result to the picosecond", and tests hold them to it:
//! - launches are memoised: the first of a kind is run task by task, later ones take the rank from the gap before to
//!   the gap after them at once (`memo`);
//! - repeats are folded: when a rank's state is an earlier one shifted by whole iterations of a loop, the remaining
//!   iterations do the same, so that time, events and totals advance by multiples (`fold`).
//!
//! One step of 1F1B on 2 ranks with 3 micro-batches, where backward takes twice the time of forward and nothing but
//! compute takes any. Each pass is a launch of one task on the stream of compute, whose end raises an arrival at the
//! neighbour: `F` at rank 1, `B` at rank 0.
//!
//! ```text
#![doc = include_str!("program/step.txt")]
//!
#![doc = include_str!("sim/step.txt")]
//! ```
//!
//! Each turn ends where the rank depends on what has not been sent: rank 0's first at 2, before `B0`, and its second at
//! 9, before `B2`; rank 1's first at 7, before `F2`. What a turn sends makes the neighbour ready: rank 1 has no more to do
//! than `F0` and `F1` when it is asked first, and runs until 7 with these two arrivals.
//!
//! Not for what a task is, how long it takes alone, or what its figures mean to people ([`crate::evaluate`]).

mod arrivals;
mod fold;
mod gap;
mod in_flight;
mod joint;
mod local;
mod memo;
mod outcome;
mod rank;
mod rank_turn;
mod ready_queue;
mod slowdown;
mod stream;

use crate::plan::pass::{Direction, PerDirection};
use crate::program::{Code, Picos, RankProgram};

use arrivals::{Inbox, SentTrain};
use fold::StateHistory;
use joint::{JointFold, RanksView};
use memo::Memo;
use rank::{RankContext, RankState};
use rank_turn::RankTurn;
use ready_queue::ReadyQueue;
use stream::RankRole;

pub use outcome::MemoryPeak;

pub use outcome::TimeTotals;

pub use outcome::Deadlock;

pub use outcome::Observer;

pub use outcome::StallCause;

pub use outcome::Outcome;

pub(crate) use outcome::{PipelineDrain, RankLimits};

/// Buffers that runs reuse.
#[derive(Debug, Default)]
pub struct Simulator {
    ranks: Vec<RankState>,
    inboxes: Vec<Inbox>,
    ready_queue: ReadyQueue,
    sent: Vec<SentTrain>,
    /// Whether repeats are skipped, and whether any launch comes again.
    fold: bool,
    relaunches: bool,
    /// Earlier states of the layers that a rank is in, and of the loop of micro-batches that each is in.
    layers: StateHistory,
    micro_batches: Vec<StateHistory>,
    /// Earlier states of all ranks together.
    joint: JointFold,
    memo: Memo,
}

impl Simulator {
    /// Runs the programs of all ranks to their ends; [`Simulator::outcome`] has what came of each.
    ///
    /// Runs a program; with `fold`, periodic repeats are skipped.
    pub fn run(
        &mut self,
        code: &Code,
        programs: &[RankProgram],
        fold: bool,
        observer: &mut impl Observer,
    ) -> Result<(), Deadlock> {
        self.run_within(code, programs, &[], fold, observer).map(|_| ())
    }

    /// Runs a program as long as each rank keeps to its limits, where it has any; whether all came to their ends.
    pub(crate) fn run_within(
        &mut self,
        code: &Code,
        programs: &[RankProgram],
        limits: &[RankLimits],
        fold: bool,
        observer: &mut impl Observer,
    ) -> Result<bool, Deadlock> {
        self.reset(code, programs, fold);
        while let Some((rank, now)) = self.ready_queue.next() {
            // The first rank pauses at each iteration of such a loop, so that all ranks can be compared at one moment.
            if self.ranks[rank].paused {
                let Self { ranks, inboxes, ready_queue, joint, memo, .. } = self;
                joint.fold(code, programs, RanksView { ranks, inboxes, ready_queue }, &memo.states, observer);
            }
            let role = RankRole { code, program: &programs[rank], rank };
            let next = self.proceed(role, now, observer);
            self.ready_queue.set(rank, next);
            self.deliver(rank);
            // Nothing that was sent is left over for the next run.
            if limits.get(rank).is_some_and(|limits| self.ranks[rank].is_beyond(limits, &role)) {
                return Ok(false);
            }
        }
        match self.ranks.iter().position(|rank| !rank.finished()) {
            Some(rank) => Err(Deadlock { rank, task: self.ranks[rank].blocked() }),
            None => Ok(true),
        }
    }

    fn reset(&mut self, code: &Code, programs: &[RankProgram], fold: bool) {
        self.ranks.clear();
        self.ranks.extend(programs.iter().map(|program| RankState::new(program.first())));
        self.inboxes.resize_with(programs.len(), Inbox::default);
        self.inboxes.iter_mut().for_each(Inbox::clear);
        self.ready_queue.reset(programs.len());
        self.fold = fold;
        // In a step of one micro-batch on one rank each launch is the first of its graph: there is nothing to remember.
        let launches: usize = programs.iter().map(|program| program.launches.len()).sum();
        self.relaunches = launches > code.graphs.len() || programs.iter().any(RankProgram::repeats);
        self.layers.clear();
        self.micro_batches.resize_with(programs.len(), StateHistory::default);
        self.micro_batches.iter_mut().for_each(StateHistory::clear);
        self.joint.clear();
        self.memo.clear(code);
    }

    /// Runs a rank as far as known arrivals allow; all ranks have reached the moment `now`. Returns when it has
    /// something to do again.
    fn proceed<O: Observer>(&mut self, role: RankRole<'_>, now: Picos, observer: &mut O) -> Picos {
        let Self { ranks, inboxes, sent, micro_batches, layers, memo, fold, relaunches, .. } = self;
        // Another rank may have left its own at the same place.
        layers.clear();
        let turn = RankTurn {
            rank: &mut ranks[role.rank],
            context: RankContext { role, inbox: &mut inboxes[role.rank], sent, observer },
            now,
            layers,
            micro_batches: &mut micro_batches[role.rank],
            memo,
            fold: *fold,
            remember: *fold && *relaunches && !O::ENABLED,
        };
        turn.run()
    }

    /// Hands what a rank has sent to its neighbours.
    fn deliver(&mut self, from: usize) {
        let ranks = self.ranks.len();
        for SentTrain { train, direction } in self.sent.drain(..) {
            // The ring is closed: with interleaved stages the last rank's output is the first rank's next input, and
            // the two ends sum the gradients of a tied embedding.
            let to = match direction {
                Direction::Forward if from + 1 < ranks => from + 1,
                Direction::Forward => 0,
                Direction::Backward => from.checked_sub(1).unwrap_or(ranks - 1),
            };
            self.inboxes[to].arrivals_mut(direction).push(train);
            // A rank that waits for the other direction, or for itself, would find nothing new to do.
            if *self.ranks[to].awaits.get(direction) {
                self.ranks[to].awaits = PerDirection::default();
                self.ready_queue.wake(to);
            }
        }
    }

    /// One rank's result.
    pub fn outcome(&self, rank: usize) -> Outcome {
        self.ranks.get(rank).map(RankState::outcome).unwrap_or_default()
    }

    /// The rank that ends last.
    pub fn last_rank(&self) -> usize {
        let end = |index: &usize| (self.ranks[*index].outcome().end, std::cmp::Reverse(*index));
        (0..self.ranks.len()).max_by_key(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
