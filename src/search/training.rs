//! The shortest training: the plan of each method that takes the fewest days on at most so many devices.
//!
//! Every plan of a grid has a bound on its days (module `bound`); plans are simulated in the order of their
//! bounds until the next bound is beyond the best that fits, so that the answer is the grid's best and
//! few of them are simulated. The host's memory has no end here. After "Layered gradient accumulation and modular pipeline parallelism"
//! (arXiv 2106.02679). Not for one plan's closed forms, which are [`crate::bounds`]'s.

mod account;
mod bound;
mod closed;
mod fewest;
mod grid;
mod method;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use rayon::prelude::*;

use crate::bounds::layered::steps;
use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::Strategy;
use crate::presets::{Library, Unknown};
use crate::scenario::{Problem, Scenario};
use crate::units::Seconds;

use super::{Cancel, Pool};

use fewest::Fewest;
use grid::Candidate;

pub use account::Account;
pub use closed::Closed;
pub use grid::Choice;
pub use method::{Dealing, METHODS, Method};

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The critical batch, in sequences.
    pub critical: f64,
    /// Steps that it takes at the critical batch.
    pub steps: f64,
}

impl Goal {
    /// Steps with batches of another size [layered B3].
    pub fn steps(&self, sequences: f64) -> f64 {
        steps(self.steps, self.critical, sequences)
    }

    /// Days of that, where a step takes so many seconds.
    fn days(&self, sequences: f64, step: f64) -> f64 {
        self.steps(sequences) * step / Seconds::DAY.get()
    }
}

/// A search for the shortest training.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// What stays the same: machine, software, model, sequence, precision, recompute.
    pub base: Scenario,
    /// How long to train.
    pub goal: Goal,
    /// Counts of devices that may be used at most, ascending.
    pub budgets: Vec<u32>,
    strategies: BTreeMap<&'static str, Arc<Strategy>>,
}

/// The best plan of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// Days of the whole training.
    pub days: f64,
    /// What was chosen.
    pub choice: Choice,
    /// The figures of a step.
    pub summary: Summary,
}

/// The answer to one question: a method within a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best plan that fills the budget; `None` where nothing fits.
    pub best: Option<Best>,
    /// Plans that may fit.
    pub plans: usize,
    /// How many of them had to be simulated.
    pub simulated: usize,
}

impl Training {
    /// Within `most` devices, or all that the cluster has, and within each power of two below that: what a
    /// curve shows. The methods' strategies are taken from the library.
    pub fn new(base: Scenario, goal: Goal, most: u32, library: &Library) -> Result<Self, Unknown> {
        let ids = METHODS.iter().flat_map(|method| method.strategies);
        let strategies = ids.map(|id| Ok((*id, library.strategy(id)?))).collect::<Result<_, Unknown>>()?;
        let there = base.cluster.nodes.map(|nodes| nodes.saturating_mul(base.cluster.devices_per_node()));
        let most = there.map_or(most, |there| most.min(there));
        let powers = (0..32).map(|power| 1_u32 << power).take_while(|count| *count < most);
        let budgets = powers.chain([most]).collect();
        Ok(Self { base, goal, budgets, strategies })
    }

    /// What the search leaves as it is, with the plainest plan of the grid.
    pub fn plainest(&self) -> Scenario {
        let context = self.base.plan.context;
        let devices = self.devices(self.budgets.last().copied().unwrap_or(0), context);
        self.scenario(&METHODS[0], &Choice { devices: devices.max(context), ..Choice::PLAINEST })
    }

    /// What is wrong with what the search leaves as it is.
    pub fn problems(&self) -> Vec<Problem> {
        self.plainest().layout().err().unwrap_or_default()
    }

    /// Questions: each method within each budget.
    pub fn len(&self) -> usize {
        METHODS.len() * self.budgets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// Answers every question on `pool`, the largest budgets first, and hands over each answer with its
    /// index (`method x budgets + budget`) as it is found.
    ///
    /// Returns whether all were answered: `cancel` stops it between two simulations.
    pub fn run(&self, pool: &Pool, cancel: &Cancel, done: &(dyn Fn(usize, Answer) + Sync)) -> bool {
        let width = self.budgets.len();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(index % width));
        pool.install(|| {
            order.par_iter().with_max_len(1).for_each_init(Workspace::default, |workspace, index| {
                if cancel.is_cancelled() {
                    return;
                }
                let answer = self.answer(&METHODS[index / width], self.budgets[index % width], cancel, workspace);
                if !cancel.is_cancelled() {
                    done(*index, answer);
                }
            });
        });
        !cancel.is_cancelled()
    }

    /// The plan of a method that fits, fills a budget and takes the fewest days; of plans that are as good, the one
    /// that asks least of the host.
    fn answer(&self, method: &Method, budget: u32, cancel: &Cancel, workspace: &mut Workspace) -> Answer {
        let mut open = BinaryHeap::from(self.candidates(method, budget));
        let (mut found, mut simulated) = (Fewest::default(), 0);
        let plans = open.len();
        while let Some(Candidate { days, choice, .. }) = open.pop() {
            if found.beyond(days) || cancel.is_cancelled() {
                break;
            }
            if found.loses(days, &choice) {
                continue;
            }
            if let Some(best) = self.simulate(method, &choice, workspace) {
                found.add(best);
            }
            simulated += 1;
        }
        Answer { best: found.chosen().cloned(), plans, simulated }
    }

    /// A plan's days by simulation; `None` where it does not fit or cannot be laid out.
    fn simulate(&self, method: &Method, choice: &Choice, workspace: &mut Workspace) -> Option<Best> {
        let summary = summary(&self.scenario(method, choice), workspace).ok().filter(|summary| summary.fits)?;
        let days = self.goal.days(choice.sequences(), summary.step_time.get());
        Some(Best { days, choice: *choice, summary })
    }

    /// The best of each method within each budget: a larger budget is never worse, since it need not be
    /// filled.
    pub fn settled(&self, answers: impl IntoIterator<Item = Option<Best>>) -> Vec<Option<Best>> {
        let mut settled: Vec<_> = answers.into_iter().collect();
        for method in settled.chunks_mut(self.budgets.len().max(1)) {
            for budget in 1..method.len() {
                let (smaller, larger) = (method[budget - 1].clone(), method[budget].take());
                method[budget] = [smaller, larger].into_iter().flatten().min_by(Best::order);
            }
        }
        settled
    }
}

impl Best {
    /// Fewer days first; where they are the same, the choice that comes first.
    fn order(&self, other: &Self) -> Ordering {
        self.days.total_cmp(&other.days).then(self.choice.cmp(&other.choice))
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// A heap's greatest is the candidate to be simulated next.
    fn cmp(&self, other: &Self) -> Ordering {
        other.days.total_cmp(&self.days).then(other.choice.cmp(&self.choice))
    }
}

#[cfg(test)]
mod tests;
