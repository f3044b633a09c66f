//! The search: what has the lowest floor is opened next, until no floor is below the best plans.

use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::evaluate::{Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::search::Evaluator;
use crate::units::{Bytes, Seconds};

use super::aim::{Aim, SearchLimits};
use super::answer::{FoundWhole, PlanCounts, SearchShare, WholeAnswer};
use super::best_plans::BestPlans;
use super::extents::StateExtents;
use super::floor::PlanFloor;
use super::freedom::Freedom;
use super::shape::{OpenKind, OpenPlans, Shape, tokens};

/// A search over whole plans.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSearch {
    /// The job: what stays as it is, and the global batch that every plan keeps.
    pub base: Scenario,
    /// What may change.
    pub freedom: Freedom,
    /// What is best.
    pub aim: Aim,
    /// What every plan must keep to.
    pub limits: SearchLimits,
    /// Plans to find.
    pub top: usize,
    /// Whether to find the fastest plan of each count of devices too.
    pub front: bool,
}

/// Plans that are simulated before the next are compared with the best of them; no count of threads, on which the counts
/// of the answer would depend.
const TOGETHER: usize = 8;

/// A run of a search.
struct Running<'a> {
    search: &'a PlanSearch,
    evaluator: &'a Evaluator<'a>,
    share: &'a SearchShare,
    open: BinaryHeap<OpenPlans>,
    ranking: BestPlans,
    counts: PlanCounts,
    /// How many kinds of plans have been put up.
    numbered: usize,
    recomputes: Vec<Recompute>,
}

impl PlanSearch {
    /// Whether another search has the same answer: it differs only in what is free where it begins.
    pub fn asks_as(&self, other: &Self) -> bool {
        let mut base = other.base.clone();
        self.freedom.begin_as(&self.base, &mut base);
        let Self { freedom, aim, limits, top, front, .. } = other;
        (base, freedom, aim) == (self.base.clone(), &self.freedom, &self.aim)
            && (limits, top, front) == (&self.limits, &self.top, &self.front)
    }

    /// Searches, and says from time to time what is found so far. Cancelled, the answer is the best so far.
    pub fn run(&self, evaluator: &Evaluator, progress: &mut dyn FnMut(&WholeAnswer)) -> WholeAnswer {
        self.run_share(&SearchShare::default(), evaluator, progress)
    }

    /// The same of what other processes leave to this one.
    pub fn run_share(
        &self,
        share: &SearchShare,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&WholeAnswer),
    ) -> WholeAnswer {
        let mut running = Running {
            search: self,
            evaluator,
            share,
            open: BinaryHeap::new(),
            ranking: BestPlans::new(self.aim, self.top, self.front, share.known),
            counts: PlanCounts::default(),
            numbered: 0,
            recomputes: self.freedom.recomputes(&self.base),
        };
        running.meshes();
        while let Some(next) = running.open.pop() {
            if evaluator.cancel().is_cancelled() {
                return running.answer(false, next.scores[0]);
            }
            let scores = next.scores;
            // Told of each kind of plans that was simulated, better or not: it shows how far the proof is.
            if running.open_one(next) {
                progress(&running.answer(false, scores[0]));
            }
        }
        let exact = !evaluator.cancel().is_cancelled();
        running.answer(exact, f64::INFINITY)
    }
}

impl Running<'_> {
    /// Puts up every mesh with every micro-batch.
    fn meshes(&mut self) {
        let PlanSearch { base, freedom, .. } = self.search;
        let (variants, impossible) = freedom.variants(base);
        if self.is_mine(0) {
            (self.counts.plans, self.counts.impossible) = (impossible, impossible);
        }
        // Parts take turns: the meshes that take most time are neighbours.
        let mut turn = 0;
        for variant in &variants {
            let mut meshes = Vec::new();
            for tensor in freedom.tensors(variant) {
                for context in freedom.contexts(variant) {
                    for pipeline in freedom.pipelines(variant) {
                        let sizes = freedom.micro_batches(variant).into_iter();
                        let all = sizes.map(|micro_batch| [tensor, context, pipeline, micro_batch]);
                        meshes.extend(all.filter(|_| {
                            turn += 1;
                            self.is_mine(turn - 1)
                        }));
                    }
                }
            }
            let aim = self.search.aim;
            let shape = |mesh: &[u32; 4]| {
                let shape = Shape::new(variant, *mesh, freedom).filter(|_| !self.evaluator.cancel().is_cancelled());
                shape.map(|shape| (shape.scores(aim), shape))
            };
            let shapes: Vec<_> = self.evaluator.pool().install(|| meshes.par_iter().map(shape).collect());
            for (mesh, shape) in meshes.iter().zip(shapes) {
                let runs = freedom.runs(variant, mesh[2]).len() * self.recomputes.len();
                if let Some((scores, shape)) = shape {
                    self.counts.plans += (runs * shape.extents.len()) as u64;
                    self.put(scores, OpenKind::Mesh(Arc::new(shape)));
                } else {
                    // Extents are not counted where there is nothing to shard over.
                    self.counts.plans += runs as u64;
                    self.counts.impossible += runs as u64;
                }
            }
        }
    }

    /// Whether this process looks at the mesh of a number.
    fn is_mine(&self, number: usize) -> bool {
        self.share.part.is_none_or(|part| number % part.count() as usize == part.index() as usize)
    }

    fn put(&mut self, scores: [f64; 2], kind: OpenKind) {
        self.open.push(OpenPlans { scores, number: self.numbered, kind });
        self.numbered += 1;
    }

    /// Opens what has the lowest floor; says whether any plan was simulated.
    fn open_one(&mut self, next: OpenPlans) -> bool {
        match next.kind {
            OpenKind::Mesh(shape) => {
                if self.is_beyond(next.scores, &shape, shape.per_token(None)) {
                    self.counts.bounded += (shape.runs.len() * self.recomputes.len() * shape.extents.len()) as u64;
                } else {
                    self.runs(&shape);
                }
                false
            }
            OpenKind::Run(run, recompute, shape) => {
                let each = shape.extents.len() as u64;
                if self.is_beyond(next.scores, &shape, shape.per_token(Some((run, recompute)))) {
                    self.counts.bounded += each;
                } else if let Some(scenario) = shape.run(run, recompute) {
                    let floor = PlanFloor::new(&scenario, &shape.layout);
                    let scores = self.scores(&scenario, &floor, &shape);
                    self.put(scores, OpenKind::Plans(Box::new(scenario), floor, shape));
                } else {
                    self.counts.impossible += each;
                }
                false
            }
            OpenKind::Plans(scenario, floor, shape) => {
                if self.is_beyond(next.scores, &shape, floor.time.get() / tokens(&scenario)) {
                    self.counts.bounded += shape.extents.len() as u64;
                    return false;
                }
                self.plans(&scenario, &floor, &shape)
            }
        }
    }

    /// Whether no plan of these floors keeps to the limits and is among the best.
    fn is_beyond(&self, scores: [f64; 2], shape: &Shape, per_token: f64) -> bool {
        let devices = shape.layout.devices;
        !self.search.limits.allow(devices, per_token) || !self.ranking.may_take(scores, devices, per_token)
    }

    /// Puts up what a mesh can run.
    fn runs(&mut self, shape: &Arc<Shape>) {
        for run in &shape.runs {
            for recompute in self.recomputes.clone() {
                let per_token = shape.per_token(Some((*run, recompute)));
                let scores = self.search.aim.scores(shape.layout.devices, per_token, 0.0);
                self.put(scores, OpenKind::Run(*run, recompute, Arc::clone(shape)));
            }
        }
    }

    fn scores(&self, scenario: &Scenario, floor: &PlanFloor, shape: &Shape) -> [f64; 2] {
        self.search.aim.scores(shape.layout.devices, floor.time.get() / tokens(scenario), 0.0)
    }

    /// Simulates the plans of a run that may fit.
    fn plans(&mut self, scenario: &Scenario, floor: &PlanFloor, shape: &Shape) -> bool {
        let PlanSearch { limits, aim, .. } = self.search;
        let rates = PlanFloor::rates(scenario);
        let capacity = scenario.cluster.device.memory * scenario.plan.memory_factor * (1.0 - limits.margin);
        let per_token = floor.time.get() / tokens(scenario);
        let devices = shape.layout.devices;
        let may = |memory: Bytes| {
            memory <= capacity
                && self.ranking.may_take(aim.scores(devices, per_token, memory.get()), devices, per_token)
        };
        let fitting: Vec<_> =
            shape.extents.iter().filter(|extents| may(floor.memory(&rates, &extents.layout))).collect();
        let bounded = |extents: &&StateExtents| {
            let mut scenario = scenario.clone();
            extents.apply(&mut scenario.plan.sharding);
            (floor.time_with(&scenario, &extents.layout), scenario)
        };
        // Collected by index, not as they end: the same list on any count of threads.
        let pool = self.evaluator.pool();
        let mut left: Vec<_> = pool.install(|| fitting.par_iter().with_max_len(8).map(bounded).collect());
        left.sort_by(|(one, _), (other, _)| one.get().total_cmp(&other.get()));
        let mut simulated = false;
        let mut looked_at = 0;
        for together in left.chunks(TOGETHER) {
            let least = together[0].0.get() / tokens(scenario);
            if !self.ranking.may_take(aim.scores(devices, least, 0.0), devices, least) {
                break;
            }
            self.simulate(together);
            (simulated, looked_at) = (true, looked_at + together.len());
        }
        self.counts.bounded += (shape.extents.len() - looked_at) as u64;
        simulated
    }

    /// Simulates some plans at once, and keeps the best.
    fn simulate(&mut self, plans: &[(Seconds, Scenario)]) {
        let cancel = self.evaluator.cancel();
        let simulate = |workspace: &mut Workspace, (_, scenario): &(Seconds, Scenario)| {
            let summary = (!cancel.is_cancelled()).then(|| summary(scenario, workspace).ok())?;
            Some(summary.map(|summary| FoundWhole { scenario: scenario.clone(), summary }))
        };
        let pool = self.evaluator.pool();
        let found: Vec<_> =
            pool.install(|| plans.par_iter().with_max_len(1).map_init(Workspace::default, simulate).collect());
        for one in found.into_iter().flatten() {
            match one {
                Some(found) => {
                    self.counts.simulated += 1;
                    if self.search.limits.keeps(&found.summary) {
                        self.ranking.add(found);
                    }
                }
                None => self.counts.impossible += 1,
            }
        }
    }

    fn answer(&self, exact: bool, floor: f64) -> WholeAnswer {
        let best = self.ranking.best().map_or(f64::INFINITY, |scores| scores[0]);
        WholeAnswer {
            plans: self.ranking.plans(),
            front: self.ranking.front(),
            counts: self.counts,
            exact,
            proven: (floor / best).min(1.0),
        }
    }
}
