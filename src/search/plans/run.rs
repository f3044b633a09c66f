//! The search: what has the lowest floor is opened next, until no floor is below the best plans.

use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::evaluate::{Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::search::{Cancel, Evaluator};
use crate::units::{Bytes, Seconds};

use super::aim::{Aim, SearchLimits, TokenPace};
use super::answer::{FoundWhole, PlanCounts, SearchShare, WholeAnswer};
use super::best_plans::{BestPlans, PlanKind};
use super::extents::StateExtents;
use super::floor::{PlacedFloor, PlanFloor};
use super::freedom::Freedom;
use super::shape::{MeshRun, OpenPlans, OpenedPlans, Shape};
use super::workers::Workers;

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
    /// In what to find the plans that nothing beats too, of days, cost and devices; nothing where they are not asked for.
    pub front: Vec<Aim>,
}

/// Plans that are simulated before the next are compared with the best of them; no count of threads, on which the counts
/// of the answer would depend.
const TOGETHER: usize = 8;

/// Runs whose floors are found at once, in turns for the same reason.
const RUNS_TOGETHER: usize = 32;

/// Meshes in which a first plan is looked for.
const FIRST_TRIES: usize = 400;

/// A run of a search.
struct Running<'a> {
    search: &'a PlanSearch,
    workers: Workers<'a>,
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
        let mut running = Running::new(self, Workers::many(evaluator), share);
        if share.part.is_none() && running.begin() {
            progress(&running.answer(false, 0.0));
        }
        running.run(progress)
    }

    /// The same in the thread that asks, for small questions that are asked by the thousand.
    pub fn run_alone(&self, workspace: &mut Workspace, cancel: &Cancel) -> WholeAnswer {
        Running::new(self, Workers::One(workspace, cancel), &SearchShare::default()).run(&mut |_| {})
    }
}

impl<'a> Running<'a> {
    fn new(search: &'a PlanSearch, workers: Workers<'a>, share: &'a SearchShare) -> Self {
        Self {
            search,
            workers,
            share,
            open: BinaryHeap::new(),
            ranking: BestPlans::new(search.aim, search.top, &search.front, share.known),
            counts: PlanCounts::default(),
            numbered: 0,
            recomputes: search.freedom.recomputes(&search.base),
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(&WholeAnswer)) -> WholeAnswer {
        self.meshes();
        while let Some(next) = self.open.pop() {
            if self.workers.is_cancelled() {
                return self.answer(false, next.scores[0]);
            }
            let scores = next.scores;
            // Told of each kind of plans that was simulated, better or not: it shows how far the proof is.
            if self.open_one(next) {
                progress(&self.answer(false, scores[0]));
            }
        }
        let exact = !self.workers.is_cancelled();
        self.answer(exact, f64::INFINITY)
    }

    /// Finds some plan that fits, so that there is one to show at once: what has the lowest floor mostly fits nowhere. The
    /// least parallel mesh with all computed again and all sharded comes first. It is not counted: the search comes by it.
    fn begin(&mut self) -> bool {
        let PlanSearch { base, freedom, .. } = self.search;
        let most = self.recomputes.iter().copied().max_by(|one, other| one.layers().total_cmp(&other.layers()));
        let Some(recompute) = most else { return false };
        let mut workspace = Workspace::default();
        let variants = freedom.variants(base).0;
        let meshes =
            variants.iter().flat_map(|variant| meshes(variant, freedom).into_iter().map(move |mesh| (variant, mesh)));
        for (number, (variant, mesh)) in meshes.take(FIRST_TRIES).enumerate() {
            if self.workers.is_cancelled() {
                break;
            }
            let Some(shape) = Shape::new(number, variant, mesh, freedom, &mut None) else { continue };
            let found = shape.smallest(recompute, &mut workspace);
            if let Some((kind, found)) =
                found.filter(|(_, found)| self.search.limits.keeps(&found.scenario, &found.summary))
            {
                self.ranking.add(found, kind);
                return true;
            }
        }
        false
    }

    /// Puts up every mesh with every micro-batch.
    fn meshes(&mut self) {
        let PlanSearch { base, freedom, .. } = self.search;
        let (variants, impossible) = freedom.variants(base);
        if self.is_mine(0) {
            (self.counts.plans, self.counts.impossible) = (impossible, impossible);
        }
        // Parts take turns: the meshes that take most time are neighbours.
        let mut numbers = 0..;
        for variant in &variants {
            let numbered = meshes(variant, freedom).into_iter().zip(numbers.by_ref());
            let meshes: Vec<([u32; 4], usize)> = numbered.filter(|(_, number)| self.is_mine(*number)).collect();
            // Those that differ in their micro-batch alone are neighbours.
            let alike: Vec<_> = meshes.chunk_by(|(one, _), (other, _)| one[..3] == other[..3]).collect();
            let found = self.workers.map(&alike, 8, |_, meshes| {
                let mut extents = None;
                let shape = |(mesh, number): &([u32; 4], usize)| {
                    Shape::new(*number, variant, *mesh, freedom, &mut extents).map(|shape| (shape.pace(None), shape))
                };
                meshes.iter().map(shape).collect::<Vec<_>>()
            });
            let shapes =
                alike.iter().zip(found).flat_map(|(meshes, found)| meshes.iter().zip(found.unwrap_or_default()));
            for ((mesh, _), shape) in shapes {
                let runs = freedom.orders(variant, mesh[2]).len() * self.recomputes.len();
                if let Some((pace, shape)) = shape {
                    self.counts.plans += (runs * shape.extents.len()) as u64;
                    self.put(pace, Bytes::ZERO, &Arc::new(shape), OpenedPlans::All);
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

    /// Puts up plans, none of which is faster or takes less memory, unless that is known to be too slow already.
    fn put(&mut self, pace: TokenPace, memory: Bytes, shape: &Arc<Shape>, which: OpenedPlans) {
        let scores = self.search.aim.scores(&pace, memory.get());
        let open = OpenPlans { scores, pace, number: self.numbered, shape: Arc::clone(shape), which };
        self.numbered += 1;
        if !self.leaves_out(&open) {
            self.open.push(open);
        }
    }

    /// Opens what has the lowest floor; says whether any plan was simulated.
    fn open_one(&mut self, next: OpenPlans) -> bool {
        match next.which {
            OpenedPlans::OfRun(_) => {
                self.open_runs(next);
                false
            }
            OpenedPlans::All | OpenedPlans::Floored(_) if self.leaves_out(&next) => false,
            OpenedPlans::All => {
                self.runs(&next.shape);
                false
            }
            OpenedPlans::Floored(run) => self.plans(run, &next.shape),
        }
    }

    /// Finds the floors of a run and of those that would be opened next.
    fn open_runs(&mut self, first: OpenPlans) {
        let mut runs = Vec::new();
        let mut next = Some(first);
        while let Some(open) = next {
            let OpenedPlans::OfRun(run) = open.which else { break };
            if !self.leaves_out(&open) {
                runs.push((run, open.shape));
            }
            let more = runs.len() < RUNS_TOGETHER
                && self.open.peek().is_some_and(|open| matches!(open.which, OpenedPlans::OfRun(_)));
            next = more.then(|| self.open.pop()).flatten();
        }
        let aim = self.search.aim;
        let opened = self.workers.map(&runs, 4, |_, (run, shape)| {
            let scenario = shape.run(*run)?;
            let floor = PlanFloor::new(&scenario, &shape.layout);
            let least = if aim == Aim::Memory { least_memory(&scenario, &floor, shape) } else { Bytes::ZERO };
            Some((shape.pace_of(&scenario, floor.time), least))
        });
        for ((run, shape), opened) in runs.into_iter().zip(opened) {
            match opened {
                Some(Some((pace, least))) => self.put(pace, least, &shape, OpenedPlans::Floored(run)),
                Some(None) => self.counts.impossible += shape.extents.len() as u64,
                // The search was stopped.
                None => {}
            }
        }
    }

    /// Leaves plans out, and counts them, where none of them keeps to the limits and can be among the best.
    fn leaves_out(&mut self, open: &OpenPlans) -> bool {
        let OpenPlans { scores, pace, shape, which, .. } = open;
        let beyond = !self.search.limits.allow(pace) || !self.ranking.may_take(*scores, open.kind(), pace);
        if beyond {
            let runs = if matches!(which, OpenedPlans::All) { shape.orders.len() * self.recomputes.len() } else { 1 };
            self.counts.bounded += (runs * shape.extents.len()) as u64;
        }
        beyond
    }

    /// Puts up what a mesh can run.
    fn runs(&mut self, shape: &Arc<Shape>) {
        for order in &shape.orders {
            for recompute in self.recomputes.clone() {
                let run = MeshRun { order: *order, recompute };
                self.put(shape.pace(Some(run)), Bytes::ZERO, shape, OpenedPlans::OfRun(run));
            }
        }
    }

    /// Simulates the plans of a run that may fit.
    fn plans(&mut self, run: MeshRun, shape: &Shape) -> bool {
        let PlanSearch { limits, aim, .. } = self.search;
        let Some(scenario) = shape.run(run) else { return false };
        let (floor, kind) = (PlanFloor::new(&scenario, &shape.layout), shape.kind(run.order));
        let rates = PlanFloor::rates(&scenario);
        let capacity = scenario.cluster.device.memory * scenario.plan.memory_factor * (1.0 - limits.margin);
        let may = |time: Seconds, memory: Bytes, ranking: &BestPlans| {
            let pace = shape.pace_of(&scenario, time);
            let scores = aim.scores(&pace, memory.get());
            memory <= capacity && limits.allow(&pace) && ranking.may_take(scores, Some(kind), &pace)
        };
        let possible = |extents: &&StateExtents| may(floor.time, floor.memory(&rates, &extents.layout), &self.ranking);
        let fitting: Vec<_> = shape.extents.iter().filter(possible).collect();
        let apply = |extents: &StateExtents| {
            let mut scenario = scenario.clone();
            extents.apply(&mut scenario.plan.sharding);
            scenario
        };
        let placed = self.workers.map(&fitting, 32, |_, extents| floor.placed(&apply(extents), &extents.layout));
        let placed = placed.into_iter().zip(fitting).filter_map(|(floor, extents)| Some((floor?, extents)));
        let mut left: Vec<(PlacedFloor, &StateExtents)> =
            placed.filter(|(floor, _)| may(floor.time, floor.memory, &self.ranking)).collect();
        left.sort_by(|(one, _), (other, _)| one.time.get().total_cmp(&other.time.get()));
        let mut looked_at = 0;
        for together in left.chunks(TOGETHER) {
            let still = together.iter().filter(|(floor, _)| may(floor.time, floor.memory, &self.ranking));
            let together: Vec<Scenario> = still.map(|(_, extents)| apply(extents)).collect();
            self.simulate(&together, kind);
            looked_at += together.len();
        }
        self.counts.bounded += (shape.extents.len() - looked_at) as u64;
        looked_at > 0
    }

    /// Simulates some plans at once, and keeps the best.
    fn simulate(&mut self, plans: &[Scenario], kind: PlanKind) {
        let found = self.workers.map(plans, 1, |workspace, scenario| {
            let summary = summary(scenario, workspace).ok()?;
            FoundWhole::new(scenario.clone(), summary)
        });
        for one in found.into_iter().flatten() {
            match one {
                Some(found) => {
                    self.counts.simulated += 1;
                    if self.search.limits.keeps(&found.scenario, &found.summary) {
                        self.ranking.add(found, kind);
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

/// The least memory of the plans of a run: where that is what is sought, the smallest are opened first.
fn least_memory(scenario: &Scenario, floor: &PlanFloor, shape: &Shape) -> Bytes {
    let rates = PlanFloor::rates(scenario);
    let memory = shape.extents.iter().map(|extents| floor.memory(&rates, &extents.layout));
    memory.reduce(Bytes::min).unwrap_or(Bytes::ZERO)
}

/// Tensor, context and pipeline ranks and micro-batches of a job, the fewest ranks first.
fn meshes(job: &Scenario, freedom: &Freedom) -> Vec<[u32; 4]> {
    let mut meshes = Vec::new();
    for tensor in freedom.tensors(job) {
        for context in freedom.contexts(job) {
            for pipeline in freedom.pipelines(job) {
                let sizes = freedom.micro_batches(job).into_iter();
                meshes.extend(sizes.map(|micro_batch| [tensor, context, pipeline, micro_batch]));
            }
        }
    }
    meshes
}
