//! The search: plans in the order of their bounds, until no bound is below the best that fits.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::bounds::intensity::LinkNeeds;
use crate::evaluate::{FailureForecast, Summary, Workspace, summary};
use crate::plan::Offload;
use crate::scenario::Scenario;
use crate::search::evaluator::{Cancel, Evaluator};
use crate::units::Seconds;

use super::candidates::BoundedChoice;
use super::method::{METHODS, Method};
use super::question::{TrainingChoice, TrainingSearch};

/// The best plan of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct BestTraining {
    /// Days of the whole training, with what failures take where the cluster states them.
    pub days: f64,
    /// The choices that make it.
    pub choice: TrainingChoice,
    /// The figures of a step.
    pub summary: Summary,
}

impl BestTraining {
    /// Fewer days first; where they are the same, the choice that comes first.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.days.total_cmp(&other.days).then(self.choice.cmp(&other.choice))
    }
}

/// Days up to this share above the fewest count as equal: a host's memory is not modelled, and a plan should not use
/// it for so small a gain.
const AS_GOOD: f64 = 1e-3;

/// The plans found so far: the fastest of each offload, which is all that can be chosen.
#[derive(Debug, Default)]
pub(super) struct FewestDays([Option<BestTraining>; Offload::ALL.len()]);

impl FewestDays {
    /// Takes a plan into account.
    pub fn add(&mut self, found: BestTraining) {
        // Equal days are settled by the choice itself, so that the order of simulations does not matter.
        let fastest = &mut self.0[found.choice.offload as usize];
        *fastest = [fastest.take(), Some(found)].into_iter().flatten().min_by(BestTraining::order);
    }

    /// The fewest days.
    fn days(&self) -> f64 {
        self.0.iter().flatten().map(|best| best.days).fold(f64::INFINITY, f64::min)
    }

    /// The plan to choose: of those as good as the fastest the first in the order of offloads.
    pub fn chosen(&self) -> Option<&BestTraining> {
        let most = self.days() * (1.0 + AS_GOOD);
        self.0.iter().flatten().find(|best| best.days <= most)
    }

    /// Whether no plan of at least so many days can be chosen.
    pub fn beyond(&self, days: f64) -> bool {
        days > self.days() * (1.0 + AS_GOOD)
    }

    /// Whether this plan, of at least so many days, is not the fastest, and is not chosen for its offload either. Plans
    /// come in the order of their least days, so that none after it is the fastest.
    pub fn loses(&self, days: f64, choice: &TrainingChoice) -> bool {
        let better = |best: &BestTraining| (choice.offload, days) > (best.choice.offload, best.days);
        days > self.days() && self.chosen().is_some_and(better)
    }
}

/// The answer to one question: a method within a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingAnswer {
    /// The best plan that fills the budget; `None` where nothing fits.
    pub best: Option<BestTraining>,
    /// The bandwidth with which its transfers hide.
    pub needs: Option<LinkNeeds>,
    /// Plans that may fit.
    pub plans: usize,
    /// How many of them had to be simulated.
    pub simulated: usize,
}

impl TrainingSearch {
    /// Whether its days count what failures take: where the cluster says how often they come.
    pub fn counts_failures(&self) -> bool {
        FailureForecast::new(&self.base, Seconds::ZERO).is_some()
    }

    /// Answers every question, the largest budgets first, and hands over each answer with its index
    /// (`method x budgets + budget`) as it is found. Returns whether all were answered.
    pub fn run(&self, evaluator: &Evaluator, done: &(dyn Fn(usize, TrainingAnswer) + Sync)) -> bool {
        let width = self.budgets.len();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(index % width));
        let work = |index: usize, workspace: &mut Workspace| {
            self.answer(&METHODS[index / width], self.budgets[index % width], evaluator.cancel(), workspace)
        };
        evaluator.each(&order, 1, work, done)
    }

    /// The plan of a method that fits, fills a budget and takes the fewest days; of plans that are as good, the one
    /// that asks least of the host.
    fn answer(&self, method: &Method, budget: u32, cancel: &Cancel, workspace: &mut Workspace) -> TrainingAnswer {
        let mut open = BinaryHeap::from(self.candidates(method, budget));
        let (mut found, mut simulated) = (FewestDays::default(), 0);
        let plans = open.len();
        // Bounds come out ascending. Once one is beyond the best found, all that follow are too: no plan takes less than its
        // bound, so the best found is the grid's best.
        while let Some(BoundedChoice { days, choice, .. }) = open.pop() {
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
        let best = found.chosen().cloned();
        let scenario = best.as_ref().map(|best| self.scenario(method, &best.choice));
        let needs = scenario.and_then(|scenario| Some(LinkNeeds::new(&scenario.checked().ok()?)));
        TrainingAnswer { best, needs, plans, simulated }
    }

    /// A plan's days by simulation; `None` where it does not fit or cannot be laid out.
    pub(super) fn simulate(
        &self,
        method: &Method,
        choice: &TrainingChoice,
        workspace: &mut Workspace,
    ) -> Option<BestTraining> {
        let scenario = self.scenario(method, choice);
        let summary = summary(&scenario, workspace).ok().filter(|summary| summary.fits)?;
        let days = self.days(&scenario, choice, summary.step_time);
        Some(BestTraining { days, choice: *choice, summary })
    }

    /// Days of a choice whose step takes so long, with what failures take where the cluster states them.
    pub(super) fn days(&self, scenario: &Scenario, choice: &TrainingChoice, step: Seconds) -> f64 {
        self.goal.days(choice.sequences(), step.get()) / FailureForecast::useful_share(scenario, step)
    }

    /// The best of each method within each budget: a larger budget is never worse, since it need not be
    /// filled.
    pub fn settled(&self, answers: impl IntoIterator<Item = Option<BestTraining>>) -> Vec<Option<BestTraining>> {
        let mut settled: Vec<_> = answers.into_iter().collect();
        for method in settled.chunks_mut(self.budgets.len().max(1)) {
            for budget in 1..method.len() {
                let (smaller, larger) = (method[budget - 1].clone(), method[budget].take());
                method[budget] = [smaller, larger].into_iter().flatten().min_by(BestTraining::order);
            }
        }
        settled
    }
}
