//! The best plans found so far: in all, and of each count of devices.

use std::collections::BTreeMap;

use super::answer::EvaluatedPlan;
use super::objective::{Objective, TokenPace};
use crate::plan::Schedule;
use crate::units::Seconds;

/// Plans of one mesh, by its number in the search, with one schedule: they differ only in stages on each rank, recompute,
/// order of accumulation and where their state lies. A list of the best names the best of each kind; a thousand ways to
/// shard the same mesh, all within 1 %, would leave room for nothing else.
pub(super) type PlanKind = (usize, Schedule);

/// The best plans, best first, one of each kind and no two with the same figures.
#[derive(Debug)]
pub(super) struct BestPlans {
    objective: Objective,
    most: usize,
    plans: Vec<([f64; 2], PlanKind, EvaluatedPlan)>,
    /// The score that a plan must beat, whatever is found here.
    known: Option<[f64; 2]>,
    /// In what plans of the front are not beaten; nothing where none was asked for.
    front: Vec<Objective>,
    /// The fastest plan of each count of devices at each price, where a front was asked for: none of its size is better in
    /// anything that a front weighs.
    fastest: BTreeMap<(u32, u64), EvaluatedPlan>,
    /// How many plans have come among either.
    changes: u64,
}

impl BestPlans {
    pub fn new(objective: Objective, most: usize, front: &[Objective], known: Option<[f64; 2]>) -> Self {
        Self {
            objective,
            most: most.max(1),
            plans: Vec::new(),
            known,
            front: front.to_vec(),
            fastest: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Takes a plan; of two that are as good the first stays first.
    pub fn add(&mut self, found: EvaluatedPlan, kind: PlanKind) {
        let pace = TokenPace::of(&found.scenario, &found.summary);
        if self.leads_its_size(&pace) {
            self.fastest.insert(pace.size(), found.clone());
            self.changes += 1;
        }
        let scores = self.objective.of(&found);
        let place = self.plans.partition_point(|(other, ..)| *other <= scores);
        let (better, worse) = self.plans.split_at(place);
        let mut as_good = better.iter().rev().take_while(|(other, ..)| *other >= scores);
        let known = better.iter().any(|(_, other, _)| *other == kind);
        if place >= self.most || known || as_good.any(|(.., other)| other.summary == found.summary) {
            return;
        }
        if let Some(beaten) = worse.iter().position(|(_, other, _)| *other == kind) {
            self.plans.remove(place + beaten);
        }
        self.plans.insert(place, (scores, kind, found));
        self.plans.truncate(self.most);
        self.changes += 1;
    }

    /// How many plans have come among the best or the fastest: as long as that stays, so do these.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether plans of these lower bounds, and of a kind if they are all of one, can still be among the best, or the fastest
    /// of their size.
    pub(crate) fn may_improve(&self, scores: [f64; 2], kind: Option<PlanKind>, pace: &TokenPace) -> bool {
        let beats = |beaten: Option<[f64; 2]>| beaten.is_none_or(|beaten| scores < beaten);
        beats(self.beaten(kind)) && beats(self.known) || self.leads_its_size(pace)
    }

    /// The scores that a plan must beat to be among the best found here: those of the best of its kind, or else the last.
    fn beaten(&self, kind: Option<PlanKind>) -> Option<[f64; 2]> {
        let of_kind = kind.and_then(|kind| self.plans.iter().find(|(_, other, _)| *other == kind));
        of_kind.or(self.plans.get(self.most - 1)).map(|(beaten, ..)| *beaten)
    }

    /// The longest step of plans of a kind that may improve, where a step of a second has the pace `second`.
    pub fn longest_step(&self, kind: PlanKind, second: &TokenPace) -> Seconds {
        let beaten = [self.beaten(Some(kind)), self.known].into_iter().flatten();
        let longest = beaten.map(|beaten| self.objective.longest_step(second, beaten)).reduce(Seconds::min);
        // A plan of a front may lead its size however long its step is.
        longest.filter(|_| self.front.is_empty()).unwrap_or(Seconds::new(f64::INFINITY))
    }

    /// Whether a front was asked for, and no plan of the same size was found that is as fast.
    fn leads_its_size(&self, pace: &TokenPace) -> bool {
        let slower = |EvaluatedPlan { scenario, summary, .. }: &EvaluatedPlan| {
            pace.with_failures < TokenPace::of(scenario, summary).with_failures
        };
        !self.front.is_empty() && self.fastest.get(&pace.size()).is_none_or(slower)
    }

    /// The scores of the best.
    pub fn best(&self) -> Option<[f64; 2]> {
        self.plans.first().map(|(scores, ..)| *scores)
    }

    pub fn plans(&self) -> Vec<EvaluatedPlan> {
        self.plans.iter().map(|(.., plan)| plan.clone()).collect()
    }

    /// The fastest plans of each size, without those that another one beats in all that the front weighs.
    pub fn front(&self) -> Vec<EvaluatedPlan> {
        pareto_front(self.fastest.values().map(|found| (pareto_figures(&self.front, found), found.clone())).collect())
    }
}

/// The figures of a plan that a front weighs, each the less the better.
pub fn pareto_figures(front: &[Objective], found: &EvaluatedPlan) -> Vec<f64> {
    front.iter().map(|objective| objective.of(found)[0]).collect()
}

/// The plans that no other beats: none is as good in all figures, and better in one or before it.
pub fn pareto_front<T>(plans: Vec<(Vec<f64>, T)>) -> Vec<T> {
    let figures: Vec<Vec<f64>> = plans.iter().map(|(figures, _)| figures.clone()).collect();
    let beats = |(place, one): (usize, &Vec<f64>), (other_place, other): (usize, &Vec<f64>)| {
        let as_good = one.iter().zip(other).all(|(one, other)| one <= other);
        as_good && (one != other || place < other_place)
    };
    let beaten = |own: (usize, &Vec<f64>)| figures.iter().enumerate().any(|other| beats(other, own));
    let left = plans.into_iter().zip(figures.iter().enumerate()).filter(|(_, own)| !beaten(*own));
    left.map(|((_, plan), _)| plan).collect()
}
