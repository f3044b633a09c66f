//! Runs a program: tasks on queues over shared resources, in whole picoseconds.
//!
//! Knows ids, durations and demands only; why a task exists is [`crate::program`]'s. Rules:
//! - a queue runs its tasks one at a time, in order; a task starts as soon as its waits hold;
//! - concurrent tasks whose demands on a resource exceed the whole slow down alike, so that the
//!   demands add up to the whole again;
//! - things that happen at the same picosecond happen in the order of ranks and queues, ends before
//!   starts;
//! - repeats are folded: when a rank's state at the end of an iteration is that of an earlier one,
//!   shifted, the iterations between here and the end of the block do the same, and time, counters
//!   and totals move on by multiples. The folded answer equals the unfolded one to the picosecond.

mod fold;
mod queue;
mod rank;

use crate::hardware::MAX_LEVELS;
use crate::program::{HELD, PHASES, Picos, RankProgram, Task};

use fold::Folds;
use rank::Rank;

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

/// Where a task stands in its loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Iteration {
    /// Of its block.
    pub block: u32,
    /// Of its section.
    pub section: u32,
}

/// Sees what happens. The summary needs none of it: `()` sees nothing and costs nothing.
pub trait Observer {
    /// A task began and will be reported again when it ends.
    fn started(&mut self, _rank: usize, _task: &Task, _iteration: Iteration, _at: Picos) {}
    /// A task ended.
    fn ended(&mut self, _rank: usize, _task: &Task, _at: Picos) {}
    /// Compute stood still.
    fn idle(&mut self, _rank: usize, _cause: Idle, _from: Picos, _to: Picos) {}
    /// Memory in use changed.
    fn memory(&mut self, _rank: usize, _held: i64, _at: Picos) {}
    /// What happened between two moments happens so many times more.
    fn folded(&mut self, _from: Picos, _to: Picos, _times: u64) {}
}

impl Observer for () {}

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
    /// The task that computes then, or the one that took the last of it where none does, by index.
    pub task: u32,
    /// Where that task stood.
    pub iteration: Iteration,
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
    folds: Folds,
}

impl Simulator {
    /// Runs a program to its end and returns the outcome of each rank through [`Simulator::outcome`].
    ///
    /// With `fold`, repeats are skipped once they are periodic.
    pub fn run(&mut self, program: &[RankProgram], fold: bool, observer: &mut impl Observer) -> Result<(), Stuck> {
        self.ranks.clear();
        self.ranks.extend(program.iter().map(Rank::new));
        self.folds.clear();
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            rank.settle(&program[index], index, observer);
        }
        while let Some((index, at)) = self.next() {
            let moved = self.ranks[index].step(&program[index], index, at, observer);
            for (target, counter) in self.ranks[index].take_outbox().into_iter().flatten() {
                let target = target as usize;
                self.ranks[target].receive(&program[target], target, counter, at, observer);
            }
            if fold && let Some(boundary) = moved {
                self.folds.reached(&mut self.ranks, program, index, boundary, observer);
            }
        }
        match self.ranks.iter().position(|rank| !rank.finished()) {
            Some(rank) => Err(Stuck { rank, task: self.ranks[rank].blocked() }),
            None => Ok(()),
        }
    }

    /// The rank with the earliest next event, and its time.
    fn next(&self) -> Option<(usize, Picos)> {
        let events = self.ranks.iter().enumerate().map(|(index, rank)| (rank.next(), index));
        events.min().filter(|(at, _)| *at < Picos::MAX).map(|(at, index)| (index, at))
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
