//! The search: plans in the order of their bounds, until no bound is below the best that fits.

use std::collections::BinaryHeap;

use crate::bounds::intensity::LinkNeeds;
use crate::evaluate::{FailureForecast, Workspace, summary};
use crate::scenario::Scenario;
use crate::search::evaluator::{Cancel, Evaluator};
use crate::units::Seconds;

use super::choice::TrainingChoice;
use super::fewest::{BestTraining, FewestDays};
use super::grid::BoundedChoice;
use super::method::{METHODS, Method};
use super::question::TrainingSearch;

/// The answer to one question: a method within a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingAnswer {
    /// The best plan that fills the budget; `None` where nothing fits.
    pub best: Option<BestTraining>,
    /// What its links have to carry for it to hide its transfers.
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
