//! Launchers: programs that start a plan. Which there are, and what they lack, is data that a search is given; it neither
//! knows their names nor their keys.

use std::fmt;

use crate::scenario::{Edit, Field, Scenario, Value};
use crate::search::Evaluator;

use super::answer::{EvaluatedPlan, PlanSearchAnswer, SearchPhase, SearchShare};
use super::branch_and_bound::PlanSearch;

/// The most plans that are better than the best that a launcher takes.
const MOST_BEYOND: usize = 3;

/// A program that starts plans.
#[derive(Clone, Copy)]
pub struct Launcher {
    /// Its name.
    pub name: &'static str,
    /// Whether the launcher of a name takes a plan.
    pub takes: fn(&str, &Scenario) -> bool,
    /// The fields whose values it lacks in a plan; none where it takes the plan.
    pub lacks: fn(&str, &Scenario) -> Vec<Field>,
    /// Whether it lacks the value that a plan has of a field, whatever its other fields say.
    pub lacks_alone: fn(&str, &Scenario, Field) -> bool,
}

impl Launcher {
    /// Whether it takes a plan.
    pub fn takes(&self, scenario: &Scenario) -> bool {
        (self.takes)(self.name, scenario)
    }

    /// The fields whose values it lacks in a plan.
    pub fn lacks(&self, scenario: &Scenario) -> Vec<Field> {
        (self.lacks)(self.name, scenario)
    }
}

impl fmt::Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Launcher {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Launchers of which one has to take each plan of a search; any plan will do where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct AnyLauncher(pub Vec<Launcher>);

impl AnyLauncher {
    /// Whether one of them takes a plan.
    pub fn take(&self, scenario: &Scenario) -> bool {
        self.0.is_empty() || self.0.iter().any(|launcher| launcher.takes(scenario))
    }

    /// Whether one of them may take a job's plans with a value of a field: a value that all lack, whatever stands beside it,
    /// is dropped before it is combined with others.
    pub fn may_take(&self, job: &Scenario, field: Field, value: Value) -> bool {
        let mut with = job.clone();
        let edit = Edit { field, value };
        if self.0.is_empty() || edit.apply(&mut with).is_err() {
            return true;
        }
        self.0.iter().any(|launcher| !(launcher.lacks_alone)(launcher.name, &with, field))
    }
}

impl PlanSearch {
    /// Searches the plans that other processes leave to this one: those that a launcher takes, then, as far as they are
    /// better, the others. Where no launcher takes any, all are ranked.
    pub fn run_share(
        &self,
        share: &SearchShare,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> PlanSearchAnswer {
        if self.launchers.is_empty() {
            return self.run_ranked(share, evaluator, progress);
        }
        let launched = self.taken();
        if let Some(launched) = launched {
            let mut told =
                |so_far: &PlanSearchAnswer| progress(&PlanSearchAnswer { launched: Some(true), ..so_far.clone() });
            let taken = launched.run_ranked(share, evaluator, &mut told);
            if !taken.plans.is_empty() {
                return self.with_beyond(&taken, share, evaluator, progress);
            }
        }
        let mut told =
            |so_far: &PlanSearchAnswer| progress(&PlanSearchAnswer { launched: Some(false), ..so_far.clone() });
        let ranked = self.run_ranked(share, evaluator, &mut told);
        PlanSearchAnswer { launched: Some(false), ..ranked }
    }

    /// The search of plans that a launcher may take; `None` where what is held rules all of them out.
    fn taken(&self) -> Option<Self> {
        let Self { base, space, .. } = self;
        let may = |launcher: &&Launcher| launcher.lacks(base).into_iter().all(|field| space.is_free(field));
        let launchers: Vec<Launcher> = self.launchers.iter().filter(may).copied().collect();
        (!launchers.is_empty()).then(|| Self { space: space.launched(&launchers), ..self.clone() })
    }

    /// Plans that a launcher takes, with the better ones that none takes.
    fn with_beyond(
        &self,
        taken: &PlanSearchAnswer,
        share: &SearchShare,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> PlanSearchAnswer {
        let best = taken.plans.first().map(|best| self.objective.of(best));
        // What is not better than the best that a launcher takes is left out: plans, their bounds and their kinds.
        let share = SearchShare { known: best, ..share.clone() };
        let search = Self { top: MOST_BEYOND.min(self.top), front: Vec::new(), ..self.clone() };
        let better = |found: &&EvaluatedPlan| best.is_none_or(|best| self.objective.of(found) < best);
        let joined = |more: &PlanSearchAnswer| PlanSearchAnswer {
            beyond: more.plans.iter().filter(better).cloned().collect(),
            counts: more.counts,
            exact: taken.exact && more.exact,
            phase: SearchPhase::Beyond,
            proven: 1.0,
            launched: Some(true),
            ..taken.clone()
        };
        if !taken.exact {
            return joined(&PlanSearchAnswer::default());
        }
        let more = search.run_ranked(&share, evaluator, &mut |so_far| progress(&joined(so_far)));
        joined(&more)
    }
}
