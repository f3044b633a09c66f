//! A search for lengths that runs: which means fit at a length, and the best plan of those. Not for which means there are.

use rayon::prelude::*;

use crate::evaluate::Workspace;
use crate::plan::Recompute;
use crate::scenario::field::Type;
use crate::scenario::{Edit, Field, Value};
use crate::search::plans::{EvaluatedPlan, Grain, Launchers, Objective, PlanSearch, PlanSearchAnswer, SearchLimits};
use crate::search::{Axis, Evaluator};

use super::means::RoomMeans;
use super::{ContextLength, PARTS, SHORTEST, SequenceAnswer, SequenceSearch};

/// By how much a further means has to be faster to be taken: no more than plans differ that are shown as one.
const WORTH: f64 = 1.01;

/// What is held when a plan's mesh is searched on the whole grid.
const MESH: [Field; 4] = [Field::Tensor, Field::Context, Field::Pipeline, Field::Experts];

/// A search, and the scores that its plans have to beat, where some are known.
type KnownSearch = (PlanSearch, Option<[f64; 2]>);

/// Means with the launchers that have to take their plans, in the order in which they are tried.
struct Stage {
    launchers: Launchers,
    means: Vec<RoomMeans>,
    /// The shortest length at which each of them was found not to fit.
    too_long: Vec<u32>,
}

/// The best plan at a length, and how it was found.
struct FoundAt {
    plan: EvaluatedPlan,
    stage: usize,
    means: usize,
    /// All means of the stage that fit.
    fitting: Vec<usize>,
}

/// A search for lengths that runs.
pub(super) struct LengthsRun<'a> {
    search: &'a SequenceSearch,
    evaluator: &'a Evaluator<'a>,
    progress: &'a mut dyn FnMut(&SequenceAnswer),
    stages: Vec<Stage>,
    /// The stage and the means of the longest so far.
    last: Option<(usize, usize)>,
    answer: SequenceAnswer,
}

impl<'a> LengthsRun<'a> {
    pub fn new(
        search: &'a SequenceSearch,
        evaluator: &'a Evaluator<'a>,
        progress: &'a mut dyn FnMut(&SequenceAnswer),
    ) -> Self {
        let plans = &search.plans;
        let launched = (!plans.launchers.names.is_empty()).then(|| plans.launchers.clone());
        let whoever = (!plans.launched_only).then(Launchers::default);
        let by = || launched.clone().into_iter().chain(whoever.clone());
        let stage = |means: &Vec<RoomMeans>, launchers| Stage {
            launchers,
            means: means.clone(),
            too_long: vec![u32::MAX; means.len()],
        };
        let all = RoomMeans::all(plans);
        let stages = all.iter().flat_map(|means| by().map(move |launchers| stage(means, launchers)));
        Self { search, evaluator, stages: stages.collect(), last: None, answer: SequenceAnswer::default(), progress }
    }

    pub fn into_answer(mut self) -> SequenceAnswer {
        self.answer.exact = !self.is_cancelled();
        self.answer
    }

    fn is_cancelled(&self) -> bool {
        self.evaluator.cancel().is_cancelled()
    }

    /// Finds a length to begin with, half as long each time.
    pub fn find_shortest(&mut self) -> bool {
        let halves = std::iter::successors(Some(self.search.first()), |length| Some(length / 2));
        halves.take_while(|length| *length >= SHORTEST).any(|length| !self.is_cancelled() && self.add(length))
    }

    /// Adds lengths, each twice the one before, as long as they fit.
    pub fn double(&mut self) {
        let most = if let Type::Count(_, most) = Field::Sequence.spec().takes { most } else { u32::MAX };
        while let Some(next) = self.longest().checked_mul(2).filter(|next| *next <= most && !self.is_too_long(*next)) {
            if !self.add(next) {
                break;
            }
        }
    }

    /// Adds the longest length that fits between the longest so far and twice that.
    pub fn refine(&mut self) {
        let from = self.longest();
        let part = (from / PARTS).max(1);
        let (mut fits, mut fails) = (0, PARTS);
        while fails - fits > 1 && self.answer.too_long.is_some() && !self.is_cancelled() {
            let middle = fits.midpoint(fails);
            if self.fits(from + middle * part) {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        if fits > 0 {
            self.add(from + fits * part);
        }
    }

    fn longest(&self) -> u32 {
        self.answer.lengths.last().map_or(0, |last| last.sequence)
    }

    fn is_too_long(&self, length: u32) -> bool {
        self.answer.too_long.is_some_and(|too_long| length >= too_long)
    }

    /// Says what is tried, and what is known.
    fn tell(&mut self, tried: u32) {
        self.answer.tried = tried;
        (self.progress)(&self.answer);
    }

    /// Adds the best plan at a length, if there is one.
    fn add(&mut self, sequence: u32) -> bool {
        self.tell(sequence);
        let found = self.best(sequence).map(|found| self.refined(sequence, found));
        let Some(found) = found.filter(|_| !self.is_cancelled()) else {
            self.fail(sequence);
            return false;
        };
        let needs = self.needs(sequence, &found);
        if self.is_cancelled() {
            return false;
        }
        self.last = Some((found.stage, found.means));
        self.answer.lengths.push(ContextLength { sequence, found: found.plan, needs });
        self.tell(sequence);
        true
    }

    /// Whether any plan fits and keeps to the limits.
    fn fits(&mut self, sequence: u32) -> bool {
        self.tell(sequence);
        let fits = self.still_fits(sequence) || self.best(sequence).is_some();
        if !fits {
            self.fail(sequence);
        }
        fits
    }

    /// Whether a plan with the means of the longest so far fits and keeps to the limits, by the one that takes least memory.
    fn still_fits(&mut self, sequence: u32) -> bool {
        let Some((stage, means)) = self.last else { return false };
        let stage = &self.stages[stage];
        let plans = self.plans(stage, sequence, &stage.means[means], Grain::Smallest);
        let found = self.search_each(&[plans.map(|plans| (plans, None))]).pop().flatten();
        found.is_some_and(|plan| self.search.plans.limits.keeps(&plan.scenario, &plan.summary))
    }

    fn fail(&mut self, sequence: u32) {
        if !self.is_cancelled() {
            self.answer.too_long = Some(self.answer.too_long.map_or(sequence, |known| known.min(sequence)));
            self.tell(sequence);
        }
    }

    /// The best plan of a length on a coarse grid. Plans of the first stage in which some fit, unless these are all too slow.
    fn best(&mut self, sequence: u32) -> Option<FoundAt> {
        for at in 0..self.stages.len() {
            let fitting = self.fitting(at, sequence);
            if fitting.is_empty() {
                continue;
            }
            if let Some((means, plan)) = self.fastest(at, sequence, &fitting) {
                let fitting = fitting.into_iter().map(|(means, _)| means).collect();
                return Some(FoundAt { plan, stage: at, means, fitting });
            }
            // What is too slow on the devices is slower on the host.
            if self.stages[at].launchers.names.is_empty() {
                return None;
            }
        }
        None
    }

    /// The means of a stage that fit at a length, each with the fastest plan of those that take little memory.
    fn fitting(&mut self, at: usize, sequence: u32) -> Vec<(usize, EvaluatedPlan)> {
        let PlanSearch { limits, .. } = self.search.plans;
        let limits = SearchLimits { per_token: f64::INFINITY, cost_per_token: f64::INFINITY, ..limits };
        let stage = &self.stages[at];
        let tried: Vec<usize> = (0..stage.means.len()).filter(|means| stage.too_long[*means] > sequence).collect();
        let searches = tried.iter().map(|means| {
            let plans = self.plans(stage, sequence, &stage.means[*means], Grain::Smallest)?;
            Some((PlanSearch { limits, ..plans }, None))
        });
        let found = self.search_each(&searches.collect::<Vec<_>>());
        let mut fitting = Vec::new();
        for (means, found) in tried.into_iter().zip(found) {
            match found {
                Some(plan) => fitting.push((means, plan)),
                None if self.is_cancelled() => {}
                None => self.stages[at].too_long[means] = sequence,
            }
        }
        fitting
    }

    /// The fastest plan of means that fit, if one keeps to the limits: each further change has to be worth it.
    fn fastest(
        &mut self,
        at: usize,
        sequence: u32,
        fitting: &[(usize, EvaluatedPlan)],
    ) -> Option<(usize, EvaluatedPlan)> {
        let (limits, stage) = (self.search.plans.limits, &self.stages[at]);
        let handicaps: Vec<f64> =
            stage.means.iter().map(|means| means.edits.iter().fold(1.0, |all, _| all * WORTH)).collect();
        let weight = |(means, plan): &(usize, EvaluatedPlan)| Objective::Throughput.of(plan)[0] * handicaps[*means];
        let kept = fitting.iter().filter(|(_, plan)| limits.keeps(&plan.scenario, &plan.summary));
        let mut known: Vec<(usize, EvaluatedPlan)> = kept.cloned().collect();
        let beaten = known.iter().map(weight).reduce(f64::min);
        let searches = fitting.iter().map(|(means, _)| {
            let plans = self.plans(stage, sequence, &stage.means[*means], Grain::Coarse)?;
            Some((plans, beaten.map(|beaten| [beaten / handicaps[*means], 0.0])))
        });
        let found = self.search_each(&searches.collect::<Vec<_>>());
        known.extend(fitting.iter().zip(found).filter_map(|((means, _), found)| Some((*means, found?))));
        known.into_iter().min_by(|one, other| weight(one).total_cmp(&weight(other)))
    }

    /// The best plan of the whole grid in the mesh of a plan, if it is better.
    fn refined(&mut self, sequence: u32, found: FoundAt) -> FoundAt {
        let stage = &self.stages[found.stage];
        let plans = self.plans(stage, sequence, &stage.means[found.means], Grain::Fine);
        let Some(mut plans) = plans else { return found };
        for field in MESH {
            if let Some(value) = field.value(&found.plan.scenario) {
                plans.space.vary(Axis { field, values: vec![value] });
            }
        }
        let known = Some(Objective::Throughput.of(&found.plan));
        let better = self.search_each(&[Some((plans, known))]).pop().flatten();
        FoundAt { plan: better.unwrap_or(found.plan), ..found }
    }

    /// The fields for whose usual value nothing fits, of those that the search has changed.
    fn needs(&mut self, sequence: u32, found: &FoundAt) -> Vec<Field> {
        let plan = &found.plan.scenario.plan;
        let usual = [
            (Field::Context, plan.context > 1, Value::Count(1)),
            (Field::Recompute, plan.recompute != Recompute::None, Recompute::None.into()),
        ];
        let mut needs = Vec::new();
        for (field, is_changed, usual) in usual {
            if is_changed && self.search.plans.space.is_free(field) && !self.fits_with(sequence, found, field, &usual) {
                needs.push(field);
            }
        }
        let changed: Vec<Field> =
            self.stages[found.stage].means[found.means].edits.iter().map(|edit| edit.field).collect();
        for field in changed {
            // What offloads was tried when nothing else fitted; chunks come and go with their loss.
            let is_of_loss = field == Field::LossChunk && needs.last() == Some(&Field::Loss);
            if !is_of_loss && (field == Field::Offload || !self.fits_without(sequence, found, field)) {
                needs.push(field);
            }
        }
        needs
    }

    /// Whether some means that fit at a length still fit with a value of a field.
    fn fits_with(&mut self, sequence: u32, found: &FoundAt, field: Field, value: &Value) -> bool {
        let stage = &self.stages[found.stage];
        let held = |means: &usize| {
            let mut plans = self.plans(stage, sequence, &stage.means[*means], Grain::Smallest)?;
            plans.space.vary(Axis { field, values: vec![value.clone()] });
            Some((plans, None))
        };
        let searches: Vec<_> = found.fitting.iter().map(held).collect();
        self.search_each(&searches).iter().any(Option::is_some)
    }

    /// Whether some means that fit at a length fit without what they change of a field.
    fn fits_without(&mut self, sequence: u32, found: &FoundAt, field: Field) -> bool {
        let stage = &self.stages[found.stage];
        let mut others: Vec<RoomMeans> = Vec::new();
        for means in &found.fitting {
            let means = &stage.means[*means];
            if !means.change(field) {
                return true;
            }
            let other = means.without(field);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        let plans = |means: &RoomMeans| Some((self.plans(stage, sequence, means, Grain::Smallest)?, None));
        let searches: Vec<_> = others.iter().map(plans).collect();
        self.search_each(&searches).iter().any(Option::is_some)
    }

    /// The plans of a length with some means of a stage.
    fn plans(&self, stage: &Stage, sequence: u32, means: &RoomMeans, grain: Grain) -> Option<PlanSearch> {
        let base = self.search.job(sequence, means)?;
        let plans = &self.search.plans;
        let (mut space, launchers) = (plans.space.with_grain(grain), stage.launchers.clone());
        // Values that are given: whether a launcher takes one may depend on what else a plan has.
        for Edit { field, value } in &means.edits {
            space.vary(Axis { field: *field, values: vec![value.clone()] });
        }
        Some(PlanSearch {
            base,
            space,
            launchers,
            top: 1,
            front: Vec::new(),
            objective: Objective::Throughput,
            ..*plans
        })
    }

    /// The best plan of each search, where one is better than what it is given; each in a thread of its own.
    fn search_each(&mut self, searches: &[Option<KnownSearch>]) -> Vec<Option<EvaluatedPlan>> {
        let cancel = self.evaluator.cancel();
        let one = |workspace: &mut Workspace, search: &Option<KnownSearch>| {
            let (plans, known) = search.as_ref()?;
            Some(plans.first_alone(*known, workspace, cancel))
        };
        // Collected by index: the same on any count of threads.
        let found: Vec<Option<PlanSearchAnswer>> = self
            .evaluator
            .pool()
            .install(|| searches.par_iter().with_max_len(1).map_init(Workspace::default, one).collect());
        let all = &mut self.answer.counts;
        let mut plans = Vec::with_capacity(found.len());
        for found in found {
            let found = found.unwrap_or_default();
            all.plans += found.counts.plans;
            all.impossible += found.counts.impossible;
            all.bounded += found.counts.bounded;
            all.simulated += found.counts.simulated;
            plans.push(found.plans.into_iter().next());
        }
        plans
    }
}
