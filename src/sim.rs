//! Runs a program: tasks on streams over shared resources, in whole picoseconds. Knows ids, durations and demands only;
//! why a task exists is [`crate::program`]'s.
//!
//! The engine is that of a textbook on discrete events, rank by rank (`rank_turn`):
//! - a launch's tasks are put on their streams when compute has come to it, all of them at once; a launch is over when
//!   compute and what is serialised with it ([`crate::program::SERIAL`]) are;
//! - a stream runs its tasks one at a time, in order; a task starts as soon as the events that it waits for are there;
//! - concurrent tasks whose demands on a resource exceed the whole slow down alike, so that the demands add up to the
//!   whole again;
//! - memory that is taken and given back at the same picosecond is not seen;
//! - ranks know of each other what arrives and when. So each runs ahead until it needs to know what another has not
//!   sent yet; where all do, the one in which something ends first goes on (`ready_queue`).
//!
//! Two accelerators surround it. Their contract is "the same result to the picosecond", and tests hold them to it:
//! - what a launch does is run once and remembered: from then on a rank goes from gap to gap between launches
//!   (`memo`);
//! - repeats are folded: when a rank's state is an earlier one shifted by whole iterations of a loop, the iterations
//!   between here and the loop's end do the same, and time, events and totals move on by multiples (`fold`).

mod arrivals;
mod fold;
mod gap;
mod in_flight;
mod joint;
mod local;
mod memo;
mod observer;
mod outcome;
mod rank;
mod rank_turn;
mod ready_queue;
mod stream;

use crate::program::{Code, Picos, RankProgram, TaskEvent};

use arrivals::{ArrivalTrain, Inbox};
use fold::StateHistory;
use joint::JointFold;
use memo::Memo;
use rank::{RankContext, RankState, way};
use rank_turn::RankTurn;
use ready_queue::ReadyQueue;
use stream::RankRole;

pub use observer::{Observer, StallCause};
pub use outcome::{Deadlock, MemoryPeak, Outcome, TimeTotals};

/// Buffers that runs reuse.
#[derive(Debug, Default)]
pub struct Simulator {
    ranks: Vec<RankState>,
    inboxes: Vec<Inbox>,
    ready_queue: ReadyQueue,
    sent: Vec<(ArrivalTrain, TaskEvent)>,
    /// Whether repeats are skipped.
    fold: bool,
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
    /// With `fold`, repeats are skipped once they are periodic.
    pub fn run(
        &mut self,
        code: &Code,
        programs: &[RankProgram],
        fold: bool,
        observer: &mut impl Observer,
    ) -> Result<(), Deadlock> {
        self.reset(code, programs, fold);
        while let Some((rank, now)) = self.ready_queue.next() {
            if self.ranks[rank].paused {
                let Self { ranks, inboxes, ready_queue, joint, memo, .. } = self;
                joint.fold(code, programs, (ranks, inboxes, ready_queue), &memo.states, observer);
            }
            let role = RankRole { code, program: &programs[rank], rank };
            let next = self.proceed(role, now, observer);
            self.ready_queue.set(rank, next);
            self.deliver(rank);
        }
        match self.ranks.iter().position(|rank| !rank.finished()) {
            Some(rank) => Err(Deadlock { rank, task: self.ranks[rank].blocked() }),
            None => Ok(()),
        }
    }

    fn reset(&mut self, code: &Code, programs: &[RankProgram], fold: bool) {
        self.ranks.clear();
        self.ranks.extend(programs.iter().map(|program| RankState::new(program.first())));
        self.inboxes.resize_with(programs.len(), Inbox::default);
        self.inboxes.iter_mut().for_each(Inbox::clear);
        self.ready_queue.reset(programs.len());
        self.fold = fold;
        self.layers.clear();
        self.micro_batches.resize_with(programs.len(), StateHistory::default);
        self.micro_batches.iter_mut().for_each(StateHistory::clear);
        self.joint.clear();
        self.memo.clear(code);
    }

    /// Runs a rank as far as what it knows of the others lets it; all of them have come to the moment `now`.
    /// Returns when it has something to do again.
    fn proceed<O: Observer>(&mut self, role: RankRole<'_>, now: Picos, observer: &mut O) -> Picos {
        let Self { ranks, inboxes, sent, micro_batches, layers, memo, fold, .. } = self;
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
            remember: *fold && !O::SEES,
        };
        turn.run()
    }

    /// Hands what a rank has sent to its neighbours.
    fn deliver(&mut self, from: usize) {
        let ranks = self.ranks.len();
        for (train, event) in self.sent.drain(..) {
            let to = match event {
                TaskEvent::ArrivedForward if from + 1 < ranks => from + 1,
                TaskEvent::ArrivedForward => 0,
                _ => from.checked_sub(1).unwrap_or(ranks - 1),
            };
            self.inboxes[to].by_mut(event).push(train);
            if std::mem::take(&mut self.ranks[to].awaits[way(event)]) {
                self.ranks[to].awaits = [false; 2];
                self.ready_queue.wake(to);
            }
        }
    }

    /// One rank's result.
    pub fn outcome(&self, rank: usize) -> Outcome {
        self.ranks.get(rank).map(RankState::outcome).unwrap_or_default()
    }

    /// The rank that ends last.
    pub fn last(&self) -> usize {
        let end = |index: &usize| (self.ranks[*index].outcome().end, std::cmp::Reverse(*index));
        (0..self.ranks.len()).max_by_key(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
