//! The same search within several memory limits: what a curve of throughput against memory shows.

use crate::evaluate::Workspace;
use crate::search::evaluator::Evaluator;

use super::found::PlanAnswer;
use super::judge::PlanMemo;
use super::request::PlanRequest;
use super::run::planned;

/// Shares of the device's memory that are tried below the twelfths from 3 on.
const SMALL: [f64; 2] = [1.0 / 8.0, 1.0 / 6.0];

/// Shares that differ by less are the same.
const SAME: f64 = 1e-3;

/// What to plan, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryCurve {
    /// What to plan; its own limit is one of them.
    pub request: PlanRequest,
    /// Limits as shares of the device's memory, ascending.
    pub limits: Vec<f64>,
}

impl MemoryCurve {
    /// From an eighth of the device's memory to all of it, and the limit of the request.
    pub fn new(request: PlanRequest) -> Self {
        let own = request.scenario.plan.memory_factor;
        let shares = SMALL.into_iter().chain((3..=12).map(|twelfths| f64::from(twelfths) / 12.0));
        let mut limits: Vec<f64> = shares.filter(|share| (share / own - 1.0).abs() > SAME).collect();
        limits.push(own);
        limits.sort_by(f64::total_cmp);
        Self { request, limits }
    }

    /// The place of the request's own limit.
    pub fn own(&self) -> usize {
        let own = self.request.scenario.plan.memory_factor;
        self.limits.iter().position(|limit| limit.total_cmp(&own).is_eq()).unwrap_or(0)
    }

    /// Searches within each limit, the nearest to the place `from` first, and hands over what was found with the
    /// limit's place. Returns whether all were searched.
    pub fn run(&self, evaluator: &Evaluator, from: usize, done: &(dyn Fn(usize, PlanAnswer) + Sync)) -> bool {
        let mut order: Vec<usize> = (0..self.limits.len()).collect();
        order.sort_by_key(|place| place.abs_diff(from));
        // What a plan takes does not depend on the limit: the searches share what they know.
        let known = PlanMemo::default();
        let work = |place: usize, _: &mut Workspace| {
            let mut request = self.request.clone();
            request.scenario.plan.memory_factor = self.limits[place];
            planned(&request, &known, evaluator.cancel()).unwrap_or_default()
        };
        evaluator.each(&order, 1, work, done)
    }
}
