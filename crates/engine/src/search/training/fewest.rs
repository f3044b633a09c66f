//! The plan of the fewest days, and of plans as good as it the one that asks least of the host.

use std::cmp::Ordering;

use crate::evaluate::Summary;
use crate::plan::Offload;

use super::choice::TrainingChoice;

/// The best plan of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct BestTraining {
    /// Days of the whole training, with what failures take where the cluster states them.
    pub days: f64,
    /// What was chosen.
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
