//! The search: the node with the lowest bound is expanded next, until no bound is below the best plans.

use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::evaluate::{StepLimits, Workspace, summary_within};
use crate::plan::{Recompute, Reduction};
use crate::program::{StepTerms, UnitWork};
use crate::scenario::Scenario;
use crate::search::{Cancel, Evaluator};
use crate::units::{Bytes, Seconds};

use super::answer::{EvaluatedPlan, PlanCounts, PlanSearchAnswer, SearchPhase, SearchShare};
use super::best_plans::{BestPlans, PlanKind};
use super::extents::StateExtents;
use super::launchers::Launchers;
use super::lower_bound::LowerBound;
use super::objective::{Objective, SearchLimits, TokenPace};
use super::search_space::SearchSpace;
use super::shape::{BoundedPlan, MeshRun, MeshSizes, NodeLevel, SearchNode, Shape};
use super::transfers::StateTransfers;
use super::workers::Workers;

/// A search over whole plans.
///
/// ```
/// use shardscope_engine::search::plans::{Objective, PlanSearch, SearchLimits, SearchSpace};
/// use shardscope_engine::search::{Evaluator, pool};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let mut file = file::parse(&library.scenario_text("default")?.text)?;
/// # file.set("model", "llama-2-7b")?;
/// # file.set("nodes", "1")?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let space = SearchSpace::of_stack(false);
/// let search = PlanSearch::new(scenario, space, Objective::Throughput, SearchLimits::SAFE, 3);
/// let answer = search.run(&Evaluator::on(&pool(None)?), &mut |so_far| println!("{} plans simulated", so_far.counts.simulated));
/// assert!(answer.exact && answer.plans[0].summary.fits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Launchers of which one is to take the first plan; none where plans are ranked whoever takes them.
    pub launchers: Launchers,
    /// Whether plans that none of them takes are left out where none takes any.
    pub launched_only: bool,
}

/// Plans that are simulated before the next are compared with the best of them; no count of threads, on which the counts
/// of the answer would depend.
const TOGETHER: usize = 8;

/// Runs whose bounds are found at once, in turns for the same reason.
const RUNS_TOGETHER: usize = 32;

/// Groups of meshes that are laid out before it is told how far the search is.
const MESHES_TOGETHER: usize = 256;

/// Meshes in which a first plan is looked for.
const FIRST_TRIES: usize = 400;

/// What shows when a run is opened.
enum OpenedRun {
    /// It cannot be laid out, or not near the batch.
    Impossible,
    /// None of its plans fits.
    Full,
    /// No plan of it is faster or takes less memory.
    Bounded(TokenPace, Bytes),
}

/// A search that runs: branch and bound over nodes of plans.
struct SearchRun<'a> {
    search: &'a PlanSearch,
    workers: Workers<'a>,
    share: &'a SearchShare,
    frontier: BinaryHeap<SearchNode>,
    /// Runs with other transfers than the job's: they come when the best of the job's own are known.
    deferred: BinaryHeap<SearchNode>,
    ranking: BestPlans,
    counts: PlanCounts,
    /// The answer that was told last, and how often the ranking had changed by then.
    told: PlanSearchAnswer,
    told_changes: u64,
    /// How many nodes have been made.
    numbered: usize,
    recomputes: Vec<Recompute>,
}

impl PlanSearch {
    /// A search for so many best plans, whoever takes them.
    pub fn new(base: Scenario, space: SearchSpace, objective: Objective, limits: SearchLimits, top: usize) -> Self {
        let launchers = Launchers::default();
        Self { base, space, objective, limits, top, front: Vec::new(), launchers, launched_only: false }
    }

    /// Whether another search has the same answer: it differs only in what is free where it begins.
    pub fn has_same_answer_as(&self, other: &Self) -> bool {
        let mut base = other.base.clone();
        self.space.copy_free_fields(&self.base, &mut base);
        let Self { space, objective, limits, top, front, launchers, launched_only, .. } = other;
        (base, space, objective) == (self.base.clone(), &self.space, &self.objective)
            && (limits, top, front) == (&self.limits, &self.top, &self.front)
            && (launchers, launched_only) == (&self.launchers, &self.launched_only)
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

    /// Searches plans whoever takes them, and tells of them with the rest of what is `told`.
    pub(super) fn run_ranked(
        &self,
        share: &SearchShare,
        evaluator: &Evaluator,
        told: PlanSearchAnswer,
        progress: &mut dyn FnMut(&PlanSearchAnswer),
    ) -> PlanSearchAnswer {
        let mut run = SearchRun { told, ..SearchRun::new(self, Workers::many(evaluator), share) };
        progress(run.answer(false, 0.0));
        if share.part.is_none() && share.known.is_none() && run.find_first_plan(progress) {
            progress(run.answer(false, 0.0));
        }
        run.run(progress)
    }

    /// Searches in the thread that asks, for small questions that are asked by the thousand.
    pub(crate) fn run_alone(&self, workspace: &mut Workspace, cancel: &Cancel) -> PlanSearchAnswer {
        self.share_alone(&SearchShare::default(), workspace, cancel)
    }

    /// The same of what is left to one process.
    pub(super) fn share_alone(
        &self,
        share: &SearchShare,
        workspace: &mut Workspace,
        cancel: &Cancel,
    ) -> PlanSearchAnswer {
        SearchRun::new(self, Workers::One(workspace, cancel), share).run(&mut |_| {})
    }
}

impl<'a> SearchRun<'a> {
    fn new(search: &'a PlanSearch, workers: Workers<'a>, share: &'a SearchShare) -> Self {
        Self {
            search,
            workers,
            share,
            frontier: BinaryHeap::new(),
            deferred: BinaryHeap::new(),
            ranking: BestPlans::new(search.objective, search.top, &search.front, share.known),
            counts: PlanCounts::default(),
            told: PlanSearchAnswer::default(),
            told_changes: 0,
            numbered: 0,
            recomputes: search.space.recomputes(&search.base),
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(&PlanSearchAnswer)) -> PlanSearchAnswer {
        self.told.phase = SearchPhase::Meshes;
        self.add_meshes(progress);
        self.told.phase = SearchPhase::Plans;
        while let Some(next) = self.next() {
            let waiting = self.frontier.peek().into_iter().chain(self.deferred.peek());
            let least = waiting.map(|node| node.scores[0]).fold(next.scores[0], f64::min);
            if self.workers.is_cancelled() {
                return self.answer(false, least).clone();
            }
            // Whatever was expanded is news, better or not: it shows how far the proof is.
            self.expand(next);
            progress(self.answer(false, least));
        }
        let exact = !self.workers.is_cancelled();
        self.answer(exact, f64::INFINITY).clone()
    }

    /// The next node to expand: what may hold the best plan before what may hold another of the best, and in each the
    /// job's own transfers first.
    fn next(&mut self) -> Option<SearchNode> {
        let best = self.ranking.best();
        let may_be_best =
            |heap: &BinaryHeap<SearchNode>| heap.peek().is_some_and(|node| best.is_none_or(|best| node.scores < best));
        if !may_be_best(&self.frontier) && may_be_best(&self.deferred) {
            return self.deferred.pop();
        }
        self.frontier.pop().or_else(|| self.deferred.pop())
    }

    /// Finds some plan that fits, so that there is one to show at once: what has the lowest bound mostly fits nowhere. The
    /// least parallel mesh with all computed again and all sharded comes first; of experts, those that divide them over a
    /// node or more and have a pipeline. Plans are not counted: the search comes by them.
    fn find_first_plan(&mut self, progress: &mut dyn FnMut(&PlanSearchAnswer)) -> bool {
        let PlanSearch { base, space, .. } = self.search;
        let most = self.recomputes.iter().copied().max_by(|one, other| one.layers().total_cmp(&other.layers()));
        let Some(recompute) = most else { return false };
        let variants = space.variants(base).0;
        let all: Vec<_> = variants
            .iter()
            .flat_map(|variant| meshes(variant, space).into_iter().map(move |mesh| (variant, mesh)))
            .enumerate()
            .collect();
        let node = base.cluster.devices_per_node();
        let seeds = all.iter().filter(|(_, (_, mesh))| mesh.seeds_experts(node));
        for seed in seeds {
            if self.try_first(seed, recompute) | self.try_first(seed, Recompute::None) {
                progress(self.answer(false, 0.0));
            }
        }
        let mut first = all.iter().take(FIRST_TRIES);
        self.ranking.best().is_some() || first.any(|mesh| self.try_first(mesh, recompute))
    }

    /// Ranks the plan of a mesh that takes least memory, if it keeps to what is asked; says whether it does.
    fn try_first(&mut self, (number, (variant, mesh)): &(usize, (&Scenario, MeshSizes)), recompute: Recompute) -> bool {
        let PlanSearch { space, limits, .. } = self.search;
        if self.workers.is_cancelled() {
            return false;
        }
        let shape = Shape::new(*number, variant, *mesh, space, &mut None);
        let found = shape.and_then(|shape| shape.smallest(recompute, &mut Workspace::default()));
        let kept = found.filter(|(_, EvaluatedPlan { scenario, summary, .. })| {
            limits.keeps(scenario, summary) && space.takes(scenario)
        });
        let Some((kind, found)) = kept else { return false };
        self.ranking.add(found, kind);
        true
    }

    /// Adds every mesh with every micro-batch to the frontier.
    fn add_meshes(&mut self, progress: &mut dyn FnMut(&PlanSearchAnswer)) {
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
            for alike in alike.chunks(MESHES_TOGETHER) {
                self.add_alike(variant, alike);
                progress(self.answer(false, 0.0));
            }
        }
    }

    /// Adds meshes in groups that differ in their micro-batch alone.
    fn add_alike(&mut self, variant: &Scenario, alike: &[&[(MeshSizes, usize)]]) {
        let space = &self.search.space;
        let found = self.workers.map(alike, 8, |_, meshes| {
            let mut extents = None;
            let shape = |(mesh, number): &(MeshSizes, usize)| {
                Shape::new(*number, variant, *mesh, space, &mut extents).map(|shape| (shape.pace(None), shape))
            };
            meshes.iter().map(shape).collect::<Vec<_>>()
        });
        let shapes = alike.iter().zip(found).flat_map(|(meshes, found)| meshes.iter().zip(found.unwrap_or_default()));
        for ((mesh, _), shape) in shapes {
            if let Some((pace, shape)) = shape {
                self.counts.plans += shape.plans(self.recomputes.len());
                self.push(pace, Bytes::ZERO, &Arc::new(shape), NodeLevel::Mesh);
            } else {
                // Extents are not counted where there is nothing to shard over.
                let overlaps = space.tensor_overlaps(variant, mesh.tensor).len();
                let runs = space.orders(variant, mesh.pipeline).len() * self.recomputes.len() * overlaps;
                self.counts.plans += runs as u64;
                self.counts.impossible += runs as u64;
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

    /// Expands the node with the lowest bound.
    fn expand(&mut self, next: SearchNode) {
        if matches!(next.level, NodeLevel::Run(_)) {
            return self.bound_runs(next);
        }
        if self.prune(&next) {
            return;
        }
        match next.level {
            NodeLevel::Run(_) => {}
            NodeLevel::Mesh => self.expand_mesh(&next.shape),
            NodeLevel::BoundedRun(run) => {
                if next.shape.plans_of(run.order) > next.shape.extents.len() as u64 {
                    let level = NodeLevel::Transfers(run);
                    self.deferred.push(SearchNode { shape: Arc::clone(&next.shape), level, ..next });
                }
                self.bound_plans(run, &next.shape, true);
            }
            NodeLevel::Transfers(run) => self.bound_plans(run, &next.shape, false),
            NodeLevel::Plans(run, plans) => self.simulate_lowest(run, plans, &next.shape),
        }
    }

    /// Finds the bounds of a run and of those that would be expanded next.
    fn bound_runs(&mut self, first: SearchNode) {
        let mut runs = Vec::new();
        let mut next = Some(first);
        while let Some(node) = next {
            let NodeLevel::Run(run) = node.level else { break };
            if !self.prune(&node) {
                runs.push((run, Arc::clone(&node.shape)));
            }
            let more = runs.len() < RUNS_TOGETHER
                && self.frontier.peek().is_some_and(|node| matches!(node.level, NodeLevel::Run(_)));
            next = more.then(|| self.frontier.pop()).flatten();
        }
        let PlanSearch { objective, limits, .. } = self.search;
        let opened = self.workers.map(&runs, 4, |_, (run, shape)| {
            let Some(scenario) = shape.run(*run) else { return OpenedRun::Impossible };
            let (bound, rates) = (shape.bound(&scenario), LowerBound::rates(&scenario));
            let mut memory = shape.extents.iter().rev().map(|extents| bound.memory(&rates, &extents.layout));
            let capacity = scenario.capacity() * limits.margin.filled(&scenario);
            // Where memory is what is sought, the smallest are opened first.
            let least = if *objective == Objective::Memory {
                memory.reduce(Bytes::min).unwrap_or(Bytes::ZERO)
            } else if memory.any(|memory| memory <= capacity) {
                Bytes::ZERO
            } else {
                return OpenedRun::Full;
            };
            OpenedRun::Bounded(shape.pace_of(&scenario, bound.time), least)
        });
        for ((run, shape), opened) in runs.into_iter().zip(opened) {
            match opened {
                Some(OpenedRun::Bounded(pace, least)) => self.push(pace, least, &shape, NodeLevel::BoundedRun(run)),
                Some(OpenedRun::Full) => self.counts.bounded += shape.plans_of(run.order),
                Some(OpenedRun::Impossible) => self.counts.impossible += shape.plans_of(run.order),
                // The search was stopped.
                None => {}
            }
        }
    }

    /// Leaves plans out, and counts them, where none of them keeps to the limits and can be among the best.
    fn prune(&mut self, node: &SearchNode) -> bool {
        let beyond =
            !self.search.limits.allow(&node.pace) || !self.ranking.may_improve(node.scores, node.kind(), &node.pace);
        if beyond {
            self.counts.bounded += node.plans(self.recomputes.len());
        }
        beyond
    }

    /// Adds what a mesh can run to the frontier.
    fn expand_mesh(&mut self, shape: &Arc<Shape>) {
        for run in shape.runs(&self.recomputes.clone()) {
            self.push(shape.pace(Some(run)), Bytes::ZERO, shape, NodeLevel::Run(run));
        }
    }

    /// Finds the bounds of a run's plans, with the job's transfers or with all others, and adds those that may fit and be
    /// among the best to the frontier.
    fn bound_plans(&mut self, run: MeshRun, shape: &Arc<Shape>, own: bool) {
        let PlanSearch { limits, objective, .. } = self.search;
        let Some(scenario) = shape.run(run) else { return };
        let (bound, kind) = (shape.bound(&scenario), shape.kind(run.order));
        let rates = LowerBound::rates(&scenario);
        let capacity = scenario.capacity() * limits.margin.filled(&scenario);
        let ranking = &self.ranking;
        let may = |time: Seconds, memory: Bytes| {
            let pace = shape.pace_of(&scenario, time);
            let scores = objective.scores(&pace, memory.get());
            memory <= capacity && limits.allow(&pace) && ranking.may_improve(scores, Some(kind), &pace)
        };
        let possible = |(_, extents): &(usize, &StateExtents)| may(bound.time, bound.memory(&rates, &extents.layout));
        let fitting: Vec<_> = shape.extents.iter().enumerate().filter(possible).collect();
        // Reduced once a step, gradients are held whole.
        let mut once = scenario.clone();
        once.plan.reduction = Reduction::Step;
        let whole = LowerBound::rates(&once);
        let placed = self.workers.map(&fitting, 32, |_, (index, extents)| {
            let mut ways = shape.transfers(&scenario, &extents.layout);
            let others = ways.split_off(1);
            let (mut plan, mut found, mut beaten) = (scenario.clone(), Vec::new(), None::<StateTransfers>);
            let mut placed: Option<(StateTransfers, StepTerms)> = None;
            extents.apply(&mut plan.plan.sharding);
            for transfers in if own { ways } else { others } {
                let once = transfers.reduction == Reduction::Step;
                let full = once && !own && !may(bound.time, bound.memory(&whole, &extents.layout));
                // Of gathers that run less far ahead more are counted: where the furthest is too slow, so are they.
                if full || beaten.is_some_and(|beaten| beaten.differs_in_prefetch(transfers)) {
                    continue;
                }
                transfers.apply(&mut plan);
                let known = placed.take().filter(|(known, _)| known.differs_in_prefetch(transfers));
                let (_, terms) =
                    placed.insert(known.unwrap_or_else(|| (transfers, bound.terms(&plan, &extents.layout))));
                let bound = bound.placed(&plan, &extents.layout, terms);
                if may(bound.time, bound.memory) {
                    found.push(BoundedPlan { bound, extents: *index as u32, transfers });
                } else {
                    beaten = Some(transfers);
                }
            }
            found
        });
        let mut plans: Vec<BoundedPlan> = placed.into_iter().flatten().flatten().collect();
        let scores = |BoundedPlan { bound, .. }: &BoundedPlan| {
            objective.scores(&shape.pace_of(&scenario, bound.time), bound.memory.get())
        };
        let order =
            |[first, second]: [f64; 2], [one, two]: [f64; 2]| first.total_cmp(&one).then(second.total_cmp(&two));
        // The lowest last; of equal ones the first.
        plans.reverse();
        plans.sort_by(|one, other| order(scores(other), scores(one)));
        let all = if own { shape.extents.len() as u64 } else { shape.plans_of(run.order) - shape.extents.len() as u64 };
        self.counts.bounded += all - plans.len() as u64;
        self.push_plans(run, plans, &scenario, shape);
    }

    /// Adds plans to the frontier.
    fn push_plans(&mut self, run: MeshRun, plans: Vec<BoundedPlan>, scenario: &Scenario, shape: &Arc<Shape>) {
        let least = plans.iter().map(|plan| (plan.bound.time, plan.bound.memory));
        if let Some((time, memory)) = least.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1))) {
            self.push(shape.pace_of(scenario, time), memory, shape, NodeLevel::Plans(run, plans));
        }
    }

    /// Simulates those of some plans whose bounds are lowest, and puts the others back.
    fn simulate_lowest(&mut self, run: MeshRun, mut plans: Vec<BoundedPlan>, shape: &Arc<Shape>) {
        let PlanSearch { limits, objective, .. } = self.search;
        let Some(scenario) = shape.run(run) else { return };
        let kind = shape.kind(run.order);
        let all = plans.len();
        plans.retain(|BoundedPlan { bound, .. }| {
            let pace = shape.pace_of(&scenario, bound.time);
            let scores = objective.scores(&pace, bound.memory.get());
            limits.allow(&pace) && self.ranking.may_improve(scores, Some(kind), &pace)
        });
        self.counts.bounded += (all - plans.len()) as u64;
        let together = plans.split_off(plans.len().saturating_sub(TOGETHER));
        let apply = |BoundedPlan { extents, transfers, .. }: &BoundedPlan| {
            let mut plan = scenario.clone();
            shape.extents[*extents as usize].apply(&mut plan.plan.sharding);
            transfers.apply(&mut plan);
            plan
        };
        let mut together: Vec<Scenario> = together.iter().rev().map(apply).collect();
        let all = together.len();
        together.retain(|plan| self.search.space.takes(plan));
        self.counts.impossible += (all - together.len()) as u64;
        let longest = self.ranking.longest_step(kind, &shape.pace_of(&scenario, Seconds::new(1.0)));
        self.simulate(&together, shape.work(&scenario), kind, longest);
        self.push_plans(run, plans, &scenario, shape);
    }

    /// Simulates some plans of a run at once, by the work of its units, none of which counts if its step is longer than
    /// `longest`, and keeps the best.
    fn simulate(&mut self, plans: &[Scenario], work: &Arc<UnitWork>, kind: PlanKind, longest: Seconds) {
        let limits = self.search.limits;
        let found = self.workers.map(plans, 1, |workspace, scenario| {
            let memory = scenario.capacity() * limits.margin.filled(scenario);
            summary_within(scenario, Some(work), &StepLimits { time: longest, memory }, workspace)
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

    fn answer(&mut self, exact: bool, bound: f64) -> &PlanSearchAnswer {
        let best = self.ranking.best().map_or(f64::INFINITY, |scores| scores[0]);
        // Most plans that are simulated change nothing but the counts.
        if self.told_changes != self.ranking.changes() {
            self.told_changes = self.ranking.changes();
            (self.told.plans, self.told.front) = (self.ranking.plans(), self.ranking.front());
        }
        (self.told.counts, self.told.exact, self.told.proven) = (self.counts, exact, (bound / best).min(1.0));
        &self.told
    }
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
