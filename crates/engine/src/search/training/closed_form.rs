//! The shortest training by the closed forms alone, as the laws of [layered B8] choose it from the grid. Not for what a
//! simulation finds ([`super`]).

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::bounds::layered::{LayeredMemory, LayeredStep};
use crate::cost::{Factors, Rates, layers_flop};
use crate::search::evaluator::Pool;

use super::candidates::BoundedChoice;
use super::method::{METHODS, Method};
use super::question::{TrainingChoice, TrainingSearch};

/// A plan by its closed forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedForm {
    /// Days of the whole training.
    pub days: f64,
    /// The choices that make it.
    pub choice: TrainingChoice,
    /// The parts of its step in closed form.
    pub step: LayeredStep,
}

impl TrainingSearch {
    /// For each method the plan that takes the fewest days by the closed forms within the largest budget,
    /// and fits by them; `None` where none does.
    pub fn closed(&self, pool: &Pool) -> Vec<Option<ClosedForm>> {
        let budget = self.budgets.last().copied().unwrap_or(0);
        pool.install(|| METHODS.par_iter().map(|method| self.closed_best(method, budget)).collect())
    }

    /// No plan beats its arithmetic at the peak, so plans are taken in that order until it is beyond the best.
    fn closed_best(&self, method: &Method, budget: u32) -> Option<ClosedForm> {
        let mut open: Vec<(f64, TrainingChoice)> = self
            .candidates(method, budget)
            .into_iter()
            .map(|BoundedChoice { choice, .. }| (self.ideal(&choice), choice))
            .collect();
        open.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut best: Option<ClosedForm> = None;
        for (ideal, choice) in open {
            // Ascending bounds again: arithmetic at the peak is less than any closed form.
            if best.is_some_and(|best| ideal > best.days) {
                break;
            }
            let found = self.closed_form(method, &choice);
            best = [best, found].into_iter().flatten().min_by(ClosedForm::order);
        }
        best
    }

    /// Days of a plan's arithmetic at the peak.
    fn ideal(&self, choice: &TrainingChoice) -> f64 {
        let tokens = choice.sequences() * self.base.plan.tokens_each() / f64::from(choice.devices);
        let peak = Rates::new(&self.base, &Factors::default()).peak;
        self.goal.days(choice.sequences(), (layers_flop(&self.base) * tokens / peak).get())
    }

    fn closed_form(&self, method: &Method, choice: &TrainingChoice) -> Option<ClosedForm> {
        let scenario = self.scenario(method, choice);
        let capacity = scenario.capacity();
        let checked = scenario.checked().ok()?;
        if LayeredMemory::new(&checked).total() > capacity {
            return None;
        }
        let step = LayeredStep::new(&checked);
        Some(ClosedForm { days: self.days(&scenario, choice, step.time()), choice: *choice, step })
    }
}

impl ClosedForm {
    fn order(&self, other: &Self) -> Ordering {
        self.days.total_cmp(&other.days).then(self.choice.cmp(&other.choice))
    }
}
