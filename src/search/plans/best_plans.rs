//! The best plans found so far: in all, and of each count of devices.

use std::collections::BTreeMap;

use super::aim::{Aim, TokenPace};
use super::answer::FoundWhole;
use crate::plan::Schedule;

/// Plans of one mesh, by its number in the search, with one schedule: they differ only in stages on each rank, recompute,
/// order of accumulation and where their state lies. A list of the best names the best of each kind; a thousand ways to
/// shard the same mesh, all within 1 %, would leave room for nothing else.
pub(super) type PlanKind = (usize, Schedule);

/// The best plans, best first, one of each kind and no two with the same figures.
#[derive(Debug)]
pub(super) struct BestPlans {
    aim: Aim,
    most: usize,
    plans: Vec<([f64; 2], PlanKind, FoundWhole)>,
    /// The score that a plan must beat, whatever is found here.
    known: Option<[f64; 2]>,
    /// The fastest plan of each count of devices, where a front was asked for.
    fastest: Option<BTreeMap<u32, FoundWhole>>,
}

impl BestPlans {
    pub fn new(aim: Aim, most: usize, front: bool, known: Option<[f64; 2]>) -> Self {
        Self { aim, most: most.max(1), plans: Vec::new(), known, fastest: front.then(BTreeMap::new) }
    }

    /// Takes a plan; of two that are as good the first stays first.
    pub fn add(&mut self, found: FoundWhole, kind: PlanKind) {
        if let Some(fastest) = &mut self.fastest {
            let pace = TokenPace::of(&found);
            if fastest.get(&pace.devices).is_none_or(|known| pace.with_failures < TokenPace::of(known).with_failures) {
                fastest.insert(pace.devices, found.clone());
            }
        }
        let scores = self.aim.of(&found);
        let place = self.plans.partition_point(|(other, ..)| *other <= scores);
        let (better, worse) = self.plans.split_at(place);
        let mut as_good = better.iter().rev().take_while(|(other, ..)| *other >= scores);
        let told = better.iter().any(|(_, other, _)| *other == kind);
        if place >= self.most || told || as_good.any(|(.., other)| other.summary == found.summary) {
            return;
        }
        if let Some(beaten) = worse.iter().position(|(_, other, _)| *other == kind) {
            self.plans.remove(place + beaten);
        }
        self.plans.insert(place, (scores, kind, found));
        self.plans.truncate(self.most);
    }

    /// Whether plans of these floors, and of a kind if they are all of one, can still be among the best, or the fastest
    /// of their size.
    pub fn may_take(&self, scores: [f64; 2], kind: Option<PlanKind>, pace: &TokenPace) -> bool {
        let of_kind = kind.and_then(|kind| self.plans.iter().find(|(_, other, _)| *other == kind));
        let last = self.plans.get(self.most - 1);
        let here = of_kind.or(last).is_none_or(|(beaten, ..)| scores < *beaten);
        let better = here && self.known.is_none_or(|known| scores < known);
        let of_size = |fastest: &BTreeMap<u32, FoundWhole>| {
            fastest.get(&pace.devices).is_none_or(|known| pace.with_failures < TokenPace::of(known).with_failures)
        };
        better || self.fastest.as_ref().is_some_and(of_size)
    }

    /// The scores of the best.
    pub fn best(&self) -> Option<[f64; 2]> {
        self.plans.first().map(|(scores, ..)| *scores)
    }

    pub fn plans(&self) -> Vec<FoundWhole> {
        self.plans.iter().map(|(.., plan)| plan.clone()).collect()
    }

    /// The fastest plans of each size, without those that a smaller job beats in speed.
    pub fn front(&self) -> Vec<FoundWhole> {
        let mut front: Vec<FoundWhole> = Vec::new();
        for found in self.fastest.iter().flat_map(BTreeMap::values) {
            let faster = |last: &FoundWhole| TokenPace::of(found).with_failures < TokenPace::of(last).with_failures;
            if front.last().is_none_or(faster) {
                front.push(found.clone());
            }
        }
        front
    }
}
