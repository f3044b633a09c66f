//! The search: the node with the lowest bound is expanded next, until no bound is below the best plans.

use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::evaluate::{StepLimits, Workspace, summary_within};
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::search::{Cancel, Evaluator};
use crate::units::{Bytes, Seconds};

use super::answer::{EvaluatedPlan, PlanCounts, PlanSearchAnswer, SearchShare};
use super::best_plans::{BestPlans, PlanKind};
use super::extents::StateExtents;
use super::lower_bound::{LowerBound, PlacedLowerBound};
use super::objective::{Objective, SearchLimits, TokenPace};
use super::search_space::SearchSpace;
use super::shape::{MeshRun, MeshSizes, NodeLevel, SearchNode, Shape};
use super::workers::Workers;

/// A search over whole plans.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSearch {
    /// The job: what stays as it is, and the global batch that every plan keeps.
    pub base: Scenario,
    /// The fields that may change, and their values.
    pub space: SearchSpace,
    /// The figures by which plans are ranked.
    pub objective: Objective,
    /// Limits that every plan must keep to.
    pub limits: SearchLimits,
    /// Plans to find.
    pub top: usize,
    /// In what to find the plans that nothing beats too, of days, cost and devices; nothing where they are not asked for.
    pub front: Vec<Objective>,
}

/// Plans that are simulated before the next are compared with the best of them; no count of threads, on which the counts
/// of the answer would depend.
const TOGETHER: usize = 8;

/// Runs whose bounds are found at once, in turns for the same reason.
const RUNS_TOGETHER: usize = 32;

/// Meshes in which a first plan is looked for.
const FIRST_TRIES: usize = 400;

/// A search that runs: branch and bound over nodes of plans.
struct SearchRun<'a> {
    search: &'a PlanSearch,
    workers: Workers<'a>,
    share: &'a SearchShare,
    frontier: BinaryHeap<SearchNode>,
    ranking: BestPlans,
    counts: PlanCounts,
    /// How many nodes have been made.
    numbered: usize,
    recomputes: Vec<Recompute>,
}

impl PlanSearch {
    /// Whether another search has the same answer: it differs only in what is free where it begins.
    pub fn has_same_answer_as(&self, other: &Self) -> bool {
        let mut base = other.base.clone();
        self.space.copy_free_fields(&self.base, &mut base);
        let Self { space, objective, limits, top, front, .. } = other;
        (base, space, objective) == (self.base.clone(), &self.space, &self.objective)
            && (limits, top, front) == (&self.limits, &self.top, &self.front)
    }

    /// Searches, and says from time to time what is found so far. Cancelled, the answer is the best so far.
    pub fn run(&self, evaluator: &Evaluator, progress: &mut dyn FnMut(&PlanSearchAnswer)) -> PlanSearchAnswer {
        self.run_share(&SearchShare::default(), evaluator, progress)
    }

    /// Searches plans that put more on the host than the job does, for where none fits otherwise. `None` where nothing more
    /// can go there, or no such plan fits either.
    pub fn run_offloading(
        &self,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> Option<PlanSearchAnswer> {
        let offloading = Self { space: self.space.offloading(&self.base)?, ..self.clone() };
        let answer = offloading.run(evaluator, &mut |so_far| progress(&so_far.beside_offload_of(&self.base)));
        (!answer.plans.is_empty()).then(|| answer.beside_offload_of(&self.base))
    }

    /// Searches the plans that other processes leave to this one.
    pub fn run_share(
        &self,
        share: &SearchShare,
        evaluator: &Evaluator,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> PlanSearchAnswer {
        let mut run = SearchRun::new(self, Workers::many(evaluator), share);
        if share.part.is_none() && run.find_first_plan() {
            progress(&run.answer(false, 0.0));
        }
        run.run(progress)
    }

    /// Searches in the thread that asks, for small questions that are asked by the thousand.
    pub(crate) fn run_alone(&self, workspace: &mut Workspace, cancel: &Cancel) -> PlanSearchAnswer {
        SearchRun::new(self, Workers::One(workspace, cancel), &SearchShare::default()).run(&mut |_| {})
    }
}

impl<'a> SearchRun<'a> {
    fn new(search: &'a PlanSearch, workers: Workers<'a>, share: &'a SearchShare) -> Self {
        Self {
            search,
            workers,
            share,
            frontier: BinaryHeap::new(),
            ranking: BestPlans::new(search.objective, search.top, &search.front, share.known),
            counts: PlanCounts::default(),
            numbered: 0,
            recomputes: search.space.recomputes(&search.base),
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(&PlanSearchAnswer)) -> PlanSearchAnswer {
        self.add_meshes();
        while let Some(next) = self.frontier.pop() {
            if self.workers.is_cancelled() {
                return self.answer(false, next.scores[0]);
            }
            let scores = next.scores;
            // Each kind of plans that was simulated is news, better or not: it shows how far the proof is.
            if self.expand(next) {
                progress(&self.answer(false, scores[0]));
            }
        }
        let exact = !self.workers.is_cancelled();
        self.answer(exact, f64::INFINITY)
    }

    /// Finds some plan that fits, so that there is one to show at once: what has the lowest bound mostly fits nowhere. The
    /// least parallel mesh with all computed again and all sharded comes first. It is not counted: the search comes by it.
    fn find_first_plan(&mut self) -> bool {
        let PlanSearch { base, space, .. } = self.search;
        let most = self.recomputes.iter().copied().max_by(|one, other| one.layers().total_cmp(&other.layers()));
        let Some(recompute) = most else { return false };
        let mut workspace = Workspace::default();
        let variants = space.variants(base).0;
        let meshes =
            variants.iter().flat_map(|variant| meshes(variant, space).into_iter().map(move |mesh| (variant, mesh)));
        for (number, (variant, mesh)) in meshes.take(FIRST_TRIES).enumerate() {
            if self.workers.is_cancelled() {
                break;
            }
            let Some(shape) = Shape::new(number, variant, mesh, space, &mut None) else { continue };
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

    /// Adds every mesh with every micro-batch to the frontier.
    fn add_meshes(&mut self) {
        let PlanSearch { base, space, .. } = self.search;
        let (variants, impossible) = space.variants(base);
        if self.is_mine(0) {
            (self.counts.plans, self.counts.impossible) = (impossible, impossible);
        }
        // Parts take turns: the meshes that take most time are neighbours.
        let mut numbers = 0..;
        for variant in &variants {
            let numbered = meshes(variant, space).into_iter().zip(numbers.by_ref());
            let meshes: Vec<(MeshSizes, usize)> = numbered.filter(|(_, number)| self.is_mine(*number)).collect();
            // Those that differ in their micro-batch alone are neighbours.
            let alike: Vec<_> = meshes.chunk_by(|(one, _), (other, _)| one.ranks() == other.ranks()).collect();
            let found = self.workers.map(&alike, 8, |_, meshes| {
                let mut extents = None;
                let shape = |(mesh, number): &(MeshSizes, usize)| {
                    Shape::new(*number, variant, *mesh, space, &mut extents).map(|shape| (shape.pace(None), shape))
                };
                meshes.iter().map(shape).collect::<Vec<_>>()
            });
            let shapes =
                alike.iter().zip(found).flat_map(|(meshes, found)| meshes.iter().zip(found.unwrap_or_default()));
            for ((mesh, _), shape) in shapes {
                let runs = space.orders(variant, mesh.pipeline).len() * self.recomputes.len();
                if let Some((pace, shape)) = shape {
                    self.counts.plans += (runs * shape.extents.len()) as u64;
                    self.push(pace, Bytes::ZERO, &Arc::new(shape), NodeLevel::Mesh);
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

    /// Adds a node of plans, none of which is faster or takes less memory, to the frontier, unless that is known to be too
    /// slow already.
    fn push(&mut self, pace: TokenPace, memory: Bytes, shape: &Arc<Shape>, level: NodeLevel) {
        let scores = self.search.objective.scores(&pace, memory.get());
        let node = SearchNode { scores, pace, number: self.numbered, shape: Arc::clone(shape), level };
        self.numbered += 1;
        if !self.prune(&node) {
            self.frontier.push(node);
        }
    }

    /// Expands the node with the lowest bound; says whether any plan was simulated.
    fn expand(&mut self, next: SearchNode) -> bool {
        match next.level {
            NodeLevel::Run(_) => {
                self.bound_runs(next);
                false
            }
            NodeLevel::Mesh | NodeLevel::BoundedRun(_) if self.prune(&next) => false,
            NodeLevel::Mesh => {
                self.expand_mesh(&next.shape);
                false
            }
            NodeLevel::BoundedRun(run) => self.expand_run(run, &next.shape),
        }
    }

    /// Finds the bounds of a run and of those that would be expanded next.
    fn bound_runs(&mut self, first: SearchNode) {
        let mut runs = Vec::new();
        let mut next = Some(first);
        while let Some(node) = next {
            let NodeLevel::Run(run) = node.level else { break };
            if !self.prune(&node) {
                runs.push((run, node.shape));
            }
            let more = runs.len() < RUNS_TOGETHER
                && self.frontier.peek().is_some_and(|node| matches!(node.level, NodeLevel::Run(_)));
            next = more.then(|| self.frontier.pop()).flatten();
        }
        let objective = self.search.objective;
        let opened = self.workers.map(&runs, 4, |_, (run, shape)| {
            let scenario = shape.run(*run)?;
            let bound = LowerBound::new(&scenario, &shape.layout);
            let least =
                if objective == Objective::Memory { least_memory(&scenario, &bound, shape) } else { Bytes::ZERO };
            Some((shape.pace_of(&scenario, bound.time), least))
        });
        for ((run, shape), opened) in runs.into_iter().zip(opened) {
            match opened {
                Some(Some((pace, least))) => self.push(pace, least, &shape, NodeLevel::BoundedRun(run)),
                Some(None) => self.counts.impossible += shape.extents.len() as u64,
                // The search was stopped.
                None => {}
            }
        }
    }

    /// Leaves plans out, and counts them, where none of them keeps to the limits and can be among the best.
    fn prune(&mut self, node: &SearchNode) -> bool {
        let SearchNode { scores, pace, shape, level, .. } = node;
        let beyond = !self.search.limits.allow(pace) || !self.ranking.may_improve(*scores, node.kind(), pace);
        if beyond {
            let runs = if matches!(level, NodeLevel::Mesh) { shape.orders.len() * self.recomputes.len() } else { 1 };
            self.counts.bounded += (runs * shape.extents.len()) as u64;
        }
        beyond
    }

    /// Adds what a mesh can run to the frontier.
    fn expand_mesh(&mut self, shape: &Arc<Shape>) {
        for order in &shape.orders {
            for recompute in self.recomputes.clone() {
                let run = MeshRun { order: *order, recompute };
                self.push(shape.pace(Some(run)), Bytes::ZERO, shape, NodeLevel::Run(run));
            }
        }
    }

    /// Simulates the plans of a run that may fit, and says whether there were any.
    fn expand_run(&mut self, run: MeshRun, shape: &Shape) -> bool {
        let PlanSearch { limits, objective, .. } = self.search;
        let Some(scenario) = shape.run(run) else { return false };
        let (bound, kind) = (LowerBound::new(&scenario, &shape.layout), shape.kind(run.order));
        let rates = LowerBound::rates(&scenario);
        let capacity = scenario.capacity() * limits.margin.filled(&scenario);
        let may = |time: Seconds, memory: Bytes, ranking: &BestPlans| {
            let pace = shape.pace_of(&scenario, time);
            let scores = objective.scores(&pace, memory.get());
            memory <= capacity && limits.allow(&pace) && ranking.may_improve(scores, Some(kind), &pace)
        };
        let possible = |extents: &&StateExtents| may(bound.time, bound.memory(&rates, &extents.layout), &self.ranking);
        let fitting: Vec<_> = shape.extents.iter().filter(possible).collect();
        let apply = |extents: &StateExtents| {
            let mut scenario = scenario.clone();
            extents.apply(&mut scenario.plan.sharding);
            scenario
        };
        let placed = self.workers.map(&fitting, 32, |_, extents| bound.placed(&apply(extents), &extents.layout));
        let placed = placed.into_iter().zip(fitting).filter_map(|(bound, extents)| Some((bound?, extents)));
        let mut left: Vec<(PlacedLowerBound, &StateExtents)> =
            placed.filter(|(bound, _)| may(bound.time, bound.memory, &self.ranking)).collect();
        left.sort_by(|(one, _), (other, _)| one.time.get().total_cmp(&other.time.get()));
        let mut looked_at = 0;
        for together in left.chunks(TOGETHER) {
            let still = together.iter().filter(|(bound, _)| may(bound.time, bound.memory, &self.ranking));
            let together: Vec<Scenario> = still.map(|(_, extents)| apply(extents)).collect();
            let longest = self.ranking.longest_step(kind, &shape.pace_of(&scenario, Seconds::new(1.0)));
            self.simulate(&together, kind, longest);
            looked_at += together.len();
        }
        self.counts.bounded += (shape.extents.len() - looked_at) as u64;
        looked_at > 0
    }

    /// Simulates some plans at once, none of which counts if its step is longer than `longest`, and keeps the best.
    fn simulate(&mut self, plans: &[Scenario], kind: PlanKind, longest: Seconds) {
        let limits = self.search.limits;
        let found = self.workers.map(plans, 1, |workspace, scenario| {
            let memory = scenario.capacity() * limits.margin.filled(scenario);
            summary_within(scenario, &StepLimits { time: longest, memory }, workspace)
        });
        for (scenario, found) in plans.iter().zip(found) {
            match found {
                Some(Ok(summary)) => {
                    self.counts.simulated += 1;
                    let kept = summary.filter(|summary| limits.keeps(scenario, summary));
                    if let Some(found) = kept.and_then(|summary| EvaluatedPlan::new(scenario.clone(), summary)) {
                        self.ranking.add(found, kind);
                    }
                }
                Some(Err(_)) => self.counts.impossible += 1,
                // The search was stopped.
                None => {}
            }
        }
    }

    fn answer(&self, exact: bool, bound: f64) -> PlanSearchAnswer {
        let best = self.ranking.best().map_or(f64::INFINITY, |scores| scores[0]);
        PlanSearchAnswer {
            plans: self.ranking.plans(),
            front: self.ranking.front(),
            counts: self.counts,
            exact,
            proven: (bound / best).min(1.0),
            without_offload: None,
        }
    }
}

/// The least memory of the plans of a run: where that is what is sought, the smallest are opened first.
fn least_memory(scenario: &Scenario, bound: &LowerBound, shape: &Shape) -> Bytes {
    let rates = LowerBound::rates(scenario);
    let memory = shape.extents.iter().map(|extents| bound.memory(&rates, &extents.layout));
    memory.reduce(Bytes::min).unwrap_or(Bytes::ZERO)
}

/// The sizes of a job's meshes, the fewest ranks first.
pub(super) fn meshes(job: &Scenario, space: &SearchSpace) -> Vec<MeshSizes> {
    let mut meshes = Vec::new();
    let (experts, sizes) = (space.experts(job), space.micro_batches(job));
    for tensor in space.tensors(job) {
        for context in space.contexts(job) {
            for pipeline in space.pipelines(job) {
                for experts in &experts {
                    let mesh = |micro_batch: &u32| MeshSizes {
                        tensor,
                        context,
                        pipeline,
                        experts: *experts,
                        micro_batch: *micro_batch,
                    };
                    meshes.extend(sizes.iter().map(mesh));
                }
            }
        }
    }
    meshes
}
