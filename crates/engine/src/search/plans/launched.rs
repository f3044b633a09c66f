//! A search that ranks the plans that a launcher takes first, and names better ones that none takes.

use crate::evaluate::Workspace;
use crate::search::{Cancel, Evaluator};

use super::answer::{EvaluatedPlan, PlanSearchAnswer, SearchPhase, SearchShare};
use super::branch_and_bound::PlanSearch;

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
        if self.launchers.names.is_empty() {
            return self.run_ranked(share, evaluator, PlanSearchAnswer::default(), progress);
        }
        let told = |launched: bool| PlanSearchAnswer { launched: Some(launched), ..PlanSearchAnswer::default() };
        if let Some(launched) = self.taken() {
            let taken = launched.run_ranked(share, evaluator, told(true), progress);
            if !taken.plans.is_empty() {
                return self.with_beyond(taken, share, evaluator, progress);
            }
            if self.launched_only {
                return taken;
            }
        }
        if self.launched_only {
            return PlanSearchAnswer { exact: true, ..told(true) };
        }
        self.run_ranked(share, evaluator, told(false), progress)
    }

    /// The plans that a launcher takes, or any where none is named, in the thread that asks; only plans with lower scores than
    /// those known.
    pub(in crate::search) fn first_alone(
        &self,
        known: Option<[f64; 2]>,
        workspace: &mut Workspace,
        cancel: &Cancel,
    ) -> PlanSearchAnswer {
        let launched = if self.launchers.names.is_empty() { Some(self.clone()) } else { self.taken() };
        let share = SearchShare { known, ..SearchShare::default() };
        launched.map_or_else(PlanSearchAnswer::default, |search| search.share_alone(&share, workspace, cancel))
    }

    /// The search of plans that a launcher may take; `None` where what is held rules all of them out. Where no launcher takes
    /// the default of a field that nobody has said, the fewest such fields take another value.
    fn taken(&self) -> Option<Self> {
        let Self { space, launchers, .. } = self;
        space.open_jobs(&self.base).into_iter().find_map(|base| {
            let may = |name| (launchers.lacks)(name, &base).into_iter().all(|field| space.is_free(field));
            let launchers = launchers.only(may);
            (!launchers.names.is_empty()).then(|| Self { base, space: space.launched(launchers), ..self.clone() })
        })
    }

    /// Plans that a launcher takes, with the better ones that none takes.
    fn with_beyond(
        &self,
        taken: PlanSearchAnswer,
        share: &SearchShare,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> PlanSearchAnswer {
        let (best, exact) = (taken.plans.first().map(|best| self.objective.of(best)), taken.exact);
        let mut all = PlanSearchAnswer { phase: SearchPhase::Beyond, proven: 1.0, ..taken };
        if !exact {
            return all;
        }
        // What is not better than the best that a launcher takes is left out: plans, their bounds and their kinds.
        let share = SearchShare { known: best, ..share.clone() };
        let search = Self { top: MOST_BEYOND.min(self.top), front: Vec::new(), ..self.clone() };
        let better = |found: &&EvaluatedPlan| best.is_none_or(|best| self.objective.of(found) < best);
        let more = search.run_ranked(&share, evaluator, PlanSearchAnswer::default(), &mut |so_far| {
            all.counts = so_far.counts;
            if all.beyond.len() != so_far.plans.len() || all.beyond.iter().ne(&so_far.plans) {
                all.beyond.clone_from(&so_far.plans);
            }
            progress(&all);
        });
        let beyond = more.plans.iter().filter(better).cloned().collect();
        PlanSearchAnswer { beyond, counts: more.counts, exact: more.exact, ..all }
    }
}
