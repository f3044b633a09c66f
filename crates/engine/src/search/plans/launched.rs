//! A search that ranks the plans that a launcher takes first, and names better ones that none takes.

use crate::search::Evaluator;

use super::answer::{EvaluatedPlan, PlanSearchAnswer, SearchPhase, SearchShare};
use super::branch_and_bound::PlanSearch;
use super::launchers::LauncherRules;

/// The most plans that are better than the best that a launcher takes.
const MOST_BEYOND: usize = 3;

impl PlanSearch {
    /// Searches the plans that other processes leave to this one: those that a launcher takes, then, as far as they are
    /// better, the others. Where no launcher takes any, all are ranked, or none.
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
            if self.launched_only {
                return PlanSearchAnswer { launched: Some(true), ..taken };
            }
        }
        if self.launched_only {
            return PlanSearchAnswer { exact: true, launched: Some(true), ..PlanSearchAnswer::default() };
        }
        let mut told =
            |so_far: &PlanSearchAnswer| progress(&PlanSearchAnswer { launched: Some(false), ..so_far.clone() });
        let ranked = self.run_ranked(share, evaluator, &mut told);
        PlanSearchAnswer { launched: Some(false), ..ranked }
    }

    /// The search of plans that a launcher may take; `None` where what is held rules all of them out.
    fn taken(&self) -> Option<Self> {
        let Self { base, space, .. } = self;
        let may = |launcher: &&LauncherRules| launcher.lacks(base).into_iter().all(|field| space.is_free(field));
        let launchers: Vec<LauncherRules> = self.launchers.iter().filter(may).copied().collect();
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
