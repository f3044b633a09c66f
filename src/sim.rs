//! Runs a program: tasks on queues over shared resources, in whole picoseconds.
//!
//! Knows ids, durations and demands only; why a task exists is [`crate::program`]'s. Rules:
//! - a slot's tasks are put on their queues when compute has come to it, all of them at once; a slot is
//!   over when compute and what goes hand in hand with it ([`CHAIN`]) are;
//! - a queue runs its tasks one at a time, in order; a task starts as soon as its waits hold;
//! - concurrent tasks whose demands on a resource exceed the whole slow down alike, so that the
//!   demands add up to the whole again;
//! - memory that is taken and given back at the same picosecond is not seen;
//! - ranks know of each other what arrives and when. So each runs ahead until it needs to know what
//!   another has not sent yet; where all do, the one in which something ends first goes on;
//! - what a slot does is run once and remembered: from then on a rank goes from gap to gap between slots;
//! - repeats are folded: when a rank's state at the end of an iteration is that of an earlier one,
//!   shifted, the iterations between here and the end of the block do the same, and time, counters
//!   and totals move on by multiples. The folded answer equals the unfolded one to the picosecond.

mod agenda;
mod arrivals;
mod fold;
mod gap;
mod joint;
mod local;
mod memo;
mod queue;
mod rank;

use crate::hardware::MAX_LEVELS;
use crate::program::{CHAIN, Code, Counter, HELD, PHASES, Picos, Place, QUEUES, Script, Task};

use agenda::Agenda;
use arrivals::{Inbox, Train};
use fold::History;
use joint::Joint;
use memo::{Memo, Stride};
use queue::Role;
use rank::{Around, Entry, Rank, Wait, way};

/// Why compute stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It needs a transfer that is running: exposed communication; on the queue given.
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
    fn started(&mut self, _rank: usize, _task: &Task, _place: Place, _at: Picos) {}
    /// A task ended.
    fn ended(&mut self, _rank: usize, _task: &Task, _at: Picos) {}
    /// Compute stood still.
    fn idle(&mut self, _rank: usize, _cause: Idle, _from: Picos, _to: Picos) {}
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
pub struct Totals {
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
pub struct Peak {
    /// Memory held then, by what it is held for.
    pub held: [i64; HELD],
    /// When.
    pub at: Picos,
    /// The task that computes then, or another that runs where none does, by index.
    pub task: u32,
    /// Where that task stood.
    pub place: Place,
}

impl Totals {
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
    pub totals: Totals,
    /// Its fullest moment.
    pub peak: Peak,
}

/// A program whose tasks wait for one another for ever: a mistake of the program's builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stuck {
    /// The rank whose compute is stuck.
    pub rank: usize,
    /// The task at its head, by index.
    pub task: Option<u32>,
}

/// Buffers that runs reuse.
#[derive(Debug, Default)]
pub struct Simulator {
    ranks: Vec<Rank>,
    inboxes: Vec<Inbox>,
    agenda: Agenda,
    sent: Vec<(Train, Counter)>,
    /// Whether repeats are skipped.
    fold: bool,
    /// Earlier states of the block that a rank is in, and of the section that each is in.
    block: History,
    sections: Vec<History>,
    /// Earlier states of all ranks together.
    joint: Joint,
    memo: Memo,
}

impl Simulator {
    /// Runs the scripts of all ranks to their ends; [`Simulator::outcome`] has what came of each.
    ///
    /// With `fold`, repeats are skipped once they are periodic.
    pub fn run(
        &mut self,
        code: &Code,
        scripts: &[Script],
        fold: bool,
        observer: &mut impl Observer,
    ) -> Result<(), Stuck> {
        self.reset(code, scripts, fold);
        while let Some((rank, now)) = self.agenda.next() {
            if self.ranks[rank].paused {
                let Self { ranks, inboxes, agenda, joint, memo, .. } = self;
                joint.fold(code, scripts, (ranks, inboxes, agenda), &memo.states, observer);
            }
            let role = Role { code, script: &scripts[rank], rank };
            let next = self.proceed(role, now, observer);
            self.agenda.set(rank, next);
            self.deliver(rank);
        }
        match self.ranks.iter().position(|rank| !rank.finished()) {
            Some(rank) => Err(Stuck { rank, task: self.ranks[rank].blocked() }),
            None => Ok(()),
        }
    }

    fn reset(&mut self, code: &Code, scripts: &[Script], fold: bool) {
        self.ranks.clear();
        self.ranks.extend(scripts.iter().map(|script| Rank::new(script.first())));
        self.inboxes.resize_with(scripts.len(), Inbox::default);
        self.inboxes.iter_mut().for_each(Inbox::clear);
        self.agenda.reset(scripts.len());
        self.fold = fold;
        self.block.clear();
        self.sections.resize_with(scripts.len(), History::default);
        self.sections.iter_mut().for_each(History::clear);
        self.joint.clear();
        self.memo.clear(code);
    }

    /// Runs a rank as far as what it knows of the others lets it; all of them have come to the moment `now`.
    /// Returns when it has something to do again.
    fn proceed<O: Observer>(&mut self, role: Role<'_>, now: Picos, observer: &mut O) -> Picos {
        let Self { ranks, inboxes, sent, sections, block, memo, fold, .. } = self;
        let (rank, section) = (&mut ranks[role.rank], &mut sections[role.rank]);
        rank.awaits = [false; 2];
        // Another rank may have left its own at the same place.
        block.clear();
        let mut around = Around { role, inbox: &mut inboxes[role.rank], sent, observer };
        let remember = *fold && !O::SEES;
        loop {
            if rank.gap.is_some() {
                match memo.stride(rank, section, now, &mut around) {
                    Stride::Until(next) => return next,
                    Stride::Look => return rank.clock,
                    Stride::Unknown => {}
                }
            }
            if !rank.issued {
                match rank.entry(role, around.inbox) {
                    Some(Entry::Now) => {}
                    Some(Entry::At(arrival)) => rank.stand(arrival, &mut around),
                    Some(Entry::Unknown) => {
                        rank.awaits = [true; 2];
                        return rank.rest(now, &mut around);
                    }
                    None => {
                        if remember && memo.instant(rank, &role) && memo.run_or_watch(rank, &mut around) {
                            continue;
                        }
                        rank.issue(&role);
                        rank.settle(!CHAIN, &mut around);
                    }
                }
            }
            if !rank.begun && (!rank.issued || rank.can_begin(role, around.inbox)) {
                if *fold && !rank.paused && joint::begins(&role, rank) {
                    rank.paused = true;
                    return rank.clock;
                }
                rank.begin();
                if *fold && local::worth_a_look(rank, &role) {
                    local::fold_section(rank, section, &memo.states, &mut around);
                }
                if remember && memo.run_or_watch(rank, &mut around) {
                    continue;
                }
                rank.issue(&role);
            }
            rank.settle(u8::MAX, &mut around);
            if rank.slot_is_over() {
                memo.finish(rank, &around);
                rank.leave(&mut around);
                rank.gap = if remember { memo.states.gap(rank, &[0; QUEUES], role.code) } else { None };
                continue;
            }
            if *fold && rank.begun && local::fold_block(rank, block, &memo.states, &mut around) {
                continue;
            }
            let next = rank.next();
            let until = match rank.wait(role, around.inbox) {
                Wait::Own => next,
                Wait::Until(arrival) => {
                    memo.finish(rank, &around);
                    rank.waited = true;
                    next.min(arrival)
                }
                Wait::Unknown if next <= now => next,
                Wait::Unknown => {
                    rank.awaits = [true; 2];
                    memo.finish(rank, &around);
                    return next;
                }
            };
            if until == Picos::MAX {
                memo.finish(rank, &around);
                rank.look(&mut around);
                return until;
            }
            rank.pass(until, &mut around);
        }
    }

    /// Hands what a rank has sent to its neighbours.
    fn deliver(&mut self, from: usize) {
        let ranks = self.ranks.len();
        for (train, counter) in self.sent.drain(..) {
            let to = match counter {
                Counter::ArrivedForward if from + 1 < ranks => from + 1,
                Counter::ArrivedForward => 0,
                _ => from.checked_sub(1).unwrap_or(ranks - 1),
            };
            self.inboxes[to].of_mut(counter).push(train);
            if std::mem::take(&mut self.ranks[to].awaits[way(counter)]) {
                self.ranks[to].awaits = [false; 2];
                self.agenda.wake(to);
            }
        }
    }

    /// One rank's result.
    pub fn outcome(&self, rank: usize) -> Outcome {
        self.ranks.get(rank).map(Rank::outcome).unwrap_or_default()
    }

    /// The rank that ends last.
    pub fn last(&self) -> usize {
        let end = |index: &usize| (self.ranks[*index].outcome().end, std::cmp::Reverse(*index));
        (0..self.ranks.len()).max_by_key(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
