//! Runs a program: tasks on streams over shared resources, in whole picoseconds.
//!
//! Knows ids, durations and demands only; why a task exists is [`crate::program`]'s. Rules:
//! - a launch's tasks are put on their streams when compute has come to it, all of them at once; a launch is
//!   over when compute and what goes hand in hand with it ([`SERIAL`]) are;
//! - a stream runs its tasks one at a time, in order; a task starts as soon as its waits hold;
//! - concurrent tasks whose demands on a resource exceed the whole slow down alike, so that the
//!   demands add up to the whole again;
//! - memory that is taken and given back at the same picosecond is not seen;
//! - ranks know of each other what arrives and when. So each runs ahead until it needs to know what
//!   another has not sent yet; where all do, the one in which something ends first goes on;
//! - what a launch does is run once and remembered: from then on a rank goes from gap to gap between launches;
//! - repeats are folded: when a rank's state at the end of an iteration is that of an earlier one,
//!   shifted, the iterations between here and the end of the task_loop do the same, and time, events
//!   and totals move on by multiples. The folded answer equals the unfolded one to the picosecond.

mod arrivals;
mod fold;
mod gap;
mod joint;
mod local;
mod memo;
mod rank;
mod ready_queue;
mod stream;

use crate::hardware::MAX_LEVELS;
use crate::program::{Code, HELD, PHASES, Picos, RankProgram, SERIAL, STREAMS, Task, TaskEvent, TaskPosition};

use arrivals::{ArrivalTrain, Inbox};
use fold::StateHistory;
use joint::JointFold;
use memo::{Memo, Stride};
use rank::{LaunchEntry, RankContext, RankState, RemoteWait, way};
use ready_queue::ReadyQueue;
use stream::RankRole;

/// Why compute stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallCause {
    /// It needs a transfer that is running: exposed communication; on the stream given.
    Transfer(u8),
    /// It waits for another rank.
    Bubble,
    /// Anything else.
    Other,
}

/// Sees what happens, rank by rank in the order of time. The summary needs none of it: `()` sees nothing
/// and costs nothing.
pub trait Observer {
    /// Whether it wants to see every task.
    const SEES: bool = true;
    /// A task began and will be reported again when it ends.
    fn started(&mut self, _rank: usize, _task: &Task, _place: TaskPosition, _at: Picos) {}
    /// A task ended.
    fn ended(&mut self, _rank: usize, _task: &Task, _at: Picos) {}
    /// Compute stood still.
    fn idle(&mut self, _rank: usize, _cause: StallCause, _from: Picos, _to: Picos) {}
    /// Memory in use changed.
    fn memory(&mut self, _rank: usize, _held: i64, _at: Picos) {}
    /// What a rank did between two moments it does so many times more.
    fn folded(&mut self, _rank: usize, _from: Picos, _to: Picos, _times: u64) {}
}

impl Observer for () {
    const SEES: bool = false;
}

/// Where one rank's time goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeTotals {
    /// Compute runs.
    pub compute: Picos,
    /// The optimizer runs.
    pub optimizer: Picos,
    /// A fixed cost of the host runs.
    pub host: Picos,
    /// Compute stands still for a transfer, by the level that the transfer keeps busiest; the last
    /// is for transfers that cross no level.
    pub exposed: [Picos; MAX_LEVELS + 1],
    /// Compute waits for another rank.
    pub bubble: Picos,
    /// Compute waits for anything else.
    pub waiting: Picos,
    /// Any transfer runs.
    pub communication: Picos,
    /// Forward, backward and update: they sum to the whole.
    pub phases: [Picos; PHASES],
}

/// The fullest moment of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryPeak {
    /// Memory held then, by what it is held for.
    pub held: [i64; HELD],
    /// When.
    pub at: Picos,
    /// The task that computes then, or another that runs where none does, by index.
    pub task: u32,
    /// Where that task stood.
    pub place: TaskPosition,
}

impl TimeTotals {
    /// What has been added since an earlier moment.
    fn since(&self, before: &Self) -> Self {
        self.each(before, |now, before| now - before)
    }

    fn add(&mut self, more: &Self) {
        self.compute += more.compute;
        self.optimizer += more.optimizer;
        self.host += more.host;
        self.bubble += more.bubble;
        self.waiting += more.waiting;
        self.communication += more.communication;
        self.exposed.iter_mut().zip(more.exposed).for_each(|(now, more)| *now += more);
        self.phases.iter_mut().zip(more.phases).for_each(|(now, more)| *now += more);
    }

    fn each(&self, other: &Self, both: impl Fn(Picos, Picos) -> Picos) -> Self {
        Self {
            compute: both(self.compute, other.compute),
            optimizer: both(self.optimizer, other.optimizer),
            host: both(self.host, other.host),
            exposed: std::array::from_fn(|level| both(self.exposed[level], other.exposed[level])),
            bubble: both(self.bubble, other.bubble),
            waiting: both(self.waiting, other.waiting),
            communication: both(self.communication, other.communication),
            phases: std::array::from_fn(|phase| both(self.phases[phase], other.phases[phase])),
        }
    }
}

/// One rank's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// When it ended.
    pub end: Picos,
    /// Where its time went.
    pub totals: TimeTotals,
    /// Its fullest moment.
    pub peak: MemoryPeak,
}

/// A program whose tasks wait for one another for ever: a mistake of the program's builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// The rank whose compute is stuck.
    pub rank: usize,
    /// The task at its head, by index.
    pub task: Option<u32>,
}

/// Buffers that runs reuse.
#[derive(Debug, Default)]
pub struct Simulator {
    ranks: Vec<RankState>,
    inboxes: Vec<Inbox>,
    ready_queue: ReadyQueue,
    sent: Vec<(ArrivalTrain, TaskEvent)>,
    /// Whether repeats are skipped.
    fold: bool,
    /// Earlier states of the task_loop that a rank is in, and of the batch_loop that each is in.
    task_loop: StateHistory,
    batch_loops: Vec<StateHistory>,
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
        self.task_loop.clear();
        self.batch_loops.resize_with(programs.len(), StateHistory::default);
        self.batch_loops.iter_mut().for_each(StateHistory::clear);
        self.joint.clear();
        self.memo.clear(code);
    }

    /// Runs a rank as far as what it knows of the others lets it; all of them have come to the moment `now`.
    /// Returns when it has something to do again.
    fn proceed<O: Observer>(&mut self, role: RankRole<'_>, now: Picos, observer: &mut O) -> Picos {
        let Self { ranks, inboxes, sent, batch_loops, task_loop, memo, fold, .. } = self;
        let (rank, batch_loop) = (&mut ranks[role.rank], &mut batch_loops[role.rank]);
        rank.awaits = [false; 2];
        // Another rank may have left its own at the same place.
        task_loop.clear();
        let mut context = RankContext { role, inbox: &mut inboxes[role.rank], sent, observer };
        let remember = *fold && !O::SEES;
        loop {
            if rank.gap.is_some() {
                match memo.stride(rank, batch_loop, now, &mut context) {
                    Stride::Until(next) => return next,
                    Stride::Look => return rank.clock,
                    Stride::Unknown => {}
                }
            }
            if !rank.issued {
                match rank.entry(role, context.inbox) {
                    Some(LaunchEntry::Now) => {}
                    Some(LaunchEntry::At(arrival)) => rank.stand(arrival, &mut context),
                    Some(LaunchEntry::Unknown) => {
                        rank.awaits = [true; 2];
                        return rank.rest(now, &mut context);
                    }
                    None => {
                        if remember && memo.instant(rank, &role) && memo.replay_or_record(rank, &mut context) {
                            continue;
                        }
                        rank.issue(&role);
                        rank.settle(!SERIAL, &mut context);
                    }
                }
            }
            if !rank.begun && (!rank.issued || rank.can_begin(role, context.inbox)) {
                if *fold && !rank.paused && joint::begins(&role, rank) {
                    rank.paused = true;
                    return rank.clock;
                }
                rank.begin();
                if *fold && local::worth_a_look(rank, &role) {
                    local::fold_micro_batches(rank, batch_loop, &memo.states, &mut context);
                }
                if remember && memo.replay_or_record(rank, &mut context) {
                    continue;
                }
                rank.issue(&role);
            }
            rank.settle(u8::MAX, &mut context);
            if rank.slot_is_over() {
                memo.finish(rank, &context);
                rank.leave(&mut context);
                rank.gap = if remember { memo.states.gap(rank, &[0; STREAMS], role.code) } else { None };
                continue;
            }
            if *fold && rank.begun && local::fold_layers(rank, task_loop, &memo.states, &mut context) {
                continue;
            }
            let next = rank.next();
            let until = match rank.wait(role, context.inbox) {
                RemoteWait::Own => next,
                RemoteWait::Until(arrival) => {
                    memo.finish(rank, &context);
                    rank.waited = true;
                    next.min(arrival)
                }
                RemoteWait::Unknown if next <= now => next,
                RemoteWait::Unknown => {
                    rank.awaits = [true; 2];
                    memo.finish(rank, &context);
                    return next;
                }
            };
            if until == Picos::MAX {
                memo.finish(rank, &context);
                rank.look(&mut context);
                return until;
            }
            rank.pass(until, &mut context);
        }
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
            self.inboxes[to].of_mut(event).push(train);
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
