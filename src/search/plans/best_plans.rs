//! The best plans found so far: in all, and of each count of devices.

use std::collections::BTreeMap;

use super::aim::{Aim, TokenPace};
use super::answer::FoundWhole;

/// The best plans, best first, no two with the same figures.
#[derive(Debug)]
pub(super) struct BestPlans {
    aim: Aim,
    most: usize,
    plans: Vec<([f64; 2], FoundWhole)>,
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
    pub fn add(&mut self, found: FoundWhole) {
        if let Some(fastest) = &mut self.fastest {
            let pace = TokenPace::of(&found);
            if fastest.get(&pace.devices).is_none_or(|known| pace.with_failures < TokenPace::of(known).with_failures) {
                fastest.insert(pace.devices, found.clone());
            }
        }
        let scores = self.aim.of(&found);
        let place = self.plans.partition_point(|(other, _)| *other <= scores);
        let mut as_good = self.plans[..place].iter().rev().take_while(|(other, _)| *other >= scores);
        if place >= self.most || as_good.any(|(_, other)| other.summary == found.summary) {
            return;
        }
        self.plans.insert(place, (scores, found));
        self.plans.truncate(self.most);
    }

    /// Whether plans of these floors can still be among the best, or the fastest of their size.
    pub fn may_take(&self, scores: [f64; 2], pace: &TokenPace) -> bool {
        let here = self.plans.len() < self.most || self.plans.last().is_some_and(|(worst, _)| scores < *worst);
        let better = here && self.known.is_none_or(|known| scores < known);
        let of_size = |fastest: &BTreeMap<u32, FoundWhole>| {
            fastest.get(&pace.devices).is_none_or(|known| pace.with_failures < TokenPace::of(known).with_failures)
        };
        better || self.fastest.as_ref().is_some_and(of_size)
    }

    /// The scores of the best.
    pub fn best(&self) -> Option<[f64; 2]> {
        self.plans.first().map(|(scores, _)| *scores)
    }

    pub fn plans(&self) -> Vec<FoundWhole> {
        self.plans.iter().map(|(_, plan)| plan.clone()).collect()
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
