//! The nodes of the search: shapes of the mesh with a micro-batch, and in them schedules with a recompute.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use crate::evaluate::{FailureForecast, Workspace, summary};
use crate::plan::{Accumulation, Recompute, Schedule};
use crate::program::UnitWork;
use crate::scenario::{Layout, Scenario};
use crate::units::Seconds;

use super::answer::EvaluatedPlan;
use super::best_plans::PlanKind;
use super::extents::{StateExtents, unsharded};
use super::lower_bound::{LowerBound, MeshWork, PlacedLowerBound};
use super::objective::TokenPace;
use super::search_space::{MeshOrder, SearchSpace};
use super::transfers::{StateTransfers, TransferChoices};

/// The sizes of a mesh, and a micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeshSizes {
    pub tensor: u32,
    pub context: u32,
    pub pipeline: u32,
    pub experts: u32,
    pub micro_batch: u32,
}

impl MeshSizes {
    /// Whether it is one in which models with experts are first tried: one sequence at a time, experts divided over a node
    /// of so many devices or eight times as many, and stages that are a power of two.
    pub fn seeds_experts(self, node: u32) -> bool {
        let divides = self.experts > 1 && (self.experts == node || self.experts == 8 * node);
        let plain = self.tensor == 1 && self.context == 1 && self.micro_batch == 1;
        divides && plain && self.pipeline.is_power_of_two() && self.pipeline <= 16
    }

    /// All of them but the micro-batch.
    pub const fn ranks(self) -> [u32; 4] {
        [self.tensor, self.context, self.pipeline, self.experts]
    }
}

/// A mesh with a micro-batch: a scenario whose state is nowhere sharded.
#[derive(Debug)]
pub(super) struct Shape {
    /// Its place among all of a search.
    pub number: usize,
    pub scenario: Scenario,
    pub layout: Layout,
    /// Every way in which its state may lie.
    pub extents: Arc<Vec<StateExtents>>,
    pub orders: Vec<MeshOrder>,
    /// Whether tensor parallelism's collectives run beside products, each with the work that is left.
    overlaps: Vec<(bool, MeshWork)>,
    /// The work of its units, once it has been asked for: with those collectives beside products or not, and with selective
    /// recompute or another. It is the same in each order, with each share of recompute and wherever the state lies.
    works: [[OnceLock<Arc<UnitWork>>; 2]; 2],
    /// How the transfers of its state may run, and how they do in the job.
    transfers: TransferChoices,
    own: StateTransfers,
    /// Plans of a run unit by unit, and of one by stages.
    plans: [u64; 2],
    /// How long its ranks take at least with one stage each, in work of a micro-batch.
    filled: f64,
    /// The share of the time that failures leave at most.
    useful: f64,
}

/// How a mesh may run: in which order, and what is recomputed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeshRun {
    pub order: MeshOrder,
    pub recompute: Recompute,
    /// Whether tensor parallelism's collectives run beside products.
    pub tensor_overlap: bool,
}

/// A plan of a run that waits for its simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundedPlan {
    pub bound: PlacedLowerBound,
    /// Where its state lies, by index.
    pub extents: u32,
    pub transfers: StateTransfers,
}

/// A node of the search: plans of a mesh that are expanded together. Some hundred thousand wait at once, and few of them
/// are ever expanded: they hold no scenario, which is made anew then.
#[derive(Debug)]
pub(super) struct SearchNode {
    /// A lower bound of their scores.
    pub scores: [f64; 2],
    /// No plan of them is faster than this.
    pub pace: TokenPace,
    /// Settles ties, so that the order is the same in every run.
    pub number: usize,
    pub shape: Arc<Shape>,
    pub level: NodeLevel,
}

/// Which plans of the mesh a node stands for, and how far they have been expanded.
#[derive(Debug, Clone)]
pub(super) enum NodeLevel {
    /// All plans of the mesh.
    Mesh,
    /// Those of one run, with the bound of the mesh.
    Run(MeshRun),
    /// The same, with the run's own bound.
    BoundedRun(MeshRun),
    /// Those of a run whose transfers run in another way than the job's.
    Transfers(MeshRun),
    /// Some plans of a run, each with its bound: the lowest last.
    Plans(MeshRun, Vec<BoundedPlan>),
}

impl SearchNode {
    /// The kind of the plans, where they are of one.
    pub fn kind(&self) -> Option<PlanKind> {
        match &self.level {
            NodeLevel::Mesh => None,
            NodeLevel::Run(run) | NodeLevel::BoundedRun(run) | NodeLevel::Transfers(run) | NodeLevel::Plans(run, _) => {
                Some(self.shape.kind(run.order))
            }
        }
    }

    /// How many plans it stands for, with so many ways to recompute.
    pub fn plans(&self, recomputes: usize) -> u64 {
        match &self.level {
            NodeLevel::Mesh => self.shape.plans(recomputes),
            NodeLevel::Run(run) | NodeLevel::BoundedRun(run) => self.shape.plans_of(run.order),
            NodeLevel::Transfers(run) => self.shape.plans_of(run.order) - self.shape.extents.len() as u64,
            NodeLevel::Plans(_, plans) => plans.len() as u64,
        }
    }
}

impl PartialEq for SearchNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SearchNode {}

impl PartialOrd for SearchNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SearchNode {
    /// A heap's greatest is what is expanded next: the lowest bound.
    fn cmp(&self, other: &Self) -> Ordering {
        let [first, second] = self.scores;
        let [one, two] = other.scores;
        // A heap gives its greatest first, and here the lowest bound is wanted: hence the turned order. The number
        // breaks ties, so that the order of opening is the same on every machine.
        one.total_cmp(&first).then(two.total_cmp(&second)).then(other.number.cmp(&self.number))
    }
}

impl Shape {
    /// The mesh of a job, if it can be laid out with its state nowhere sharded and near the job's global batch. Meshes that
    /// differ in their micro-batch alone have the same extents: those of the first serve all.
    pub fn new(
        number: usize,
        base: &Scenario,
        mesh: MeshSizes,
        space: &SearchSpace,
        extents: &mut Option<Arc<Vec<StateExtents>>>,
    ) -> Option<Self> {
        let MeshSizes { tensor, context, pipeline, experts, micro_batch } = mesh;
        let mut scenario = base.clone();
        let plan = &mut scenario.plan;
        if base.wanted_sequences().is_none() {
            // A free batch has as many sequences on each rank as before.
            plan.accumulate = base.accumulate_for(micro_batch)?;
        }
        (plan.tensor, plan.context, plan.pipeline, plan.micro_batch) = (tensor, context, pipeline, micro_batch);
        plan.experts.ranks = experts;
        let overlaps = space.tensor_overlaps(base, tensor);
        plan.tensor_overlap = *overlaps.first()?;
        let (transfers, own) = (TransferChoices::new(space, base), StateTransfers::of_job(base));
        plan.reduction = transfers.smallest(own.reduction);
        if !space.fixes_state() {
            plan.operators.clear();
        }
        // A mesh is judged before it is known how its state is sharded: unsharded has no transfers, so that its time is
        // below that of all.
        unsharded(&mut plan.sharding);
        (plan.schedule, plan.stages_per_rank) = (Schedule::USUAL, 1);
        // Which of its orders have as many stages as layers are given for, or hide experts' exchanges, is seen when they run.
        let stage_layers = std::mem::take(&mut plan.stage_layers);
        let overlap = std::mem::take(&mut plan.experts.overlap);
        (plan.accumulation, plan.recompute) = (Accumulation::Standard, Recompute::None);
        scenario.settle_batch();
        let layout = scenario.layout().ok()?;
        scenario.keeps_batch().ok()?;
        scenario.plan.stage_layers = stage_layers;
        scenario.plan.experts.overlap = overlap;
        let all = || Arc::new(StateExtents::all(&scenario, &base.plan.sharding, &layout, space));
        let extents = Arc::clone(extents.get_or_insert_with(all));
        let orders = space.orders(base, pipeline);
        let useful = FailureForecast::max_useful_share(&scenario);
        let work = |on: bool| {
            scenario.plan.tensor_overlap = on;
            (on, MeshWork::new(&scenario, &layout))
        };
        let (overlaps, works) = (overlaps.into_iter().map(work).collect(), Default::default());
        let (filled, plans) = (MeshWork::filled(scenario.plan.accumulate, layout.pipeline), [0; 2]);
        let mut shape =
            Self { number, scenario, layout, extents, orders, overlaps, works, transfers, own, plans, filled, useful };
        shape.plans = [Accumulation::Standard, Accumulation::Layered].map(|accumulation| shape.count(accumulation));
        (!shape.extents.is_empty()).then_some(shape)
    }

    /// Plans of a run.
    fn count(&mut self, accumulation: Accumulation) -> u64 {
        self.scenario.plan.accumulation = accumulation;
        let ways = |extents: &StateExtents| self.transfers(&self.scenario, &extents.layout).len() as u64;
        let count = self.extents.iter().map(ways).sum();
        self.scenario.plan.accumulation = Accumulation::Standard;
        count
    }

    /// Plans of a run in one order.
    pub fn plans_of(&self, order: MeshOrder) -> u64 {
        // Beside a pipeline both counts are of stages.
        self.plans[usize::from(order.accumulation == Accumulation::Layered)]
    }

    /// All plans of the mesh, with so many ways to recompute.
    pub fn plans(&self, recomputes: usize) -> u64 {
        let of_orders: u64 = self.orders.iter().map(|order| self.plans_of(*order)).sum();
        of_orders * (recomputes * self.overlaps.len()) as u64
    }

    /// Each way in which it may run.
    pub fn runs<'a>(&'a self, recomputes: &'a [Recompute]) -> impl Iterator<Item = MeshRun> + use<'a> {
        self.orders.iter().flat_map(move |order| {
            recomputes.iter().flat_map(move |recompute| {
                self.overlaps.iter().map(move |(tensor_overlap, _)| MeshRun {
                    order: *order,
                    recompute: *recompute,
                    tensor_overlap: *tensor_overlap,
                })
            })
        })
    }

    /// The ways in which the transfers of a run's state may run: the job's own first.
    pub fn transfers(&self, run: &Scenario, layout: &Layout) -> Vec<StateTransfers> {
        self.transfers.all(self.own, run, layout)
    }

    /// The kind of the plans with one schedule.
    pub fn kind(&self, order: MeshOrder) -> PlanKind {
        (self.number, order.schedule)
    }

    /// The fastest pace of any plan of the mesh, or of those with one schedule and recompute.
    pub fn pace(&self, run: Option<MeshRun>) -> TokenPace {
        // Schedules that take micro-batches in groups may take other counts of them than the mesh has.
        let turns = |MeshOrder { schedule, stages_per_rank, accumulation }: MeshOrder| {
            stages_per_rank == 1 && accumulation == Accumulation::Standard && !schedule.rules().grouped
        };
        let filled = run.is_some_and(|run| turns(run.order)).then_some(self.filled);
        let recompute = run.map_or(Recompute::None, |run| run.recompute);
        let micro_batches = self.scenario.plan.accumulate;
        let of_run = |overlap: &&(bool, MeshWork)| run.is_none_or(|run| run.tensor_overlap == overlap.0);
        let step = |(_, work): &(bool, MeshWork)| {
            work.step_lower_bound(recompute, micro_batches, self.layout.pipeline, filled)
        };
        let step = self.overlaps.iter().filter(of_run).map(step).reduce(Seconds::min).unwrap_or(Seconds::ZERO);
        self.pace_of(&self.scenario, step)
    }

    /// The fastest pace of plans whose step, of as many tokens as a scenario's, takes at least so long.
    pub(crate) fn pace_of(&self, scenario: &Scenario, step: Seconds) -> TokenPace {
        TokenPace::at_most(scenario, self.layout.devices, step, self.useful)
    }

    /// The work of the units of one of its runs, wherever the state lies.
    pub fn work(&self, run: &Scenario) -> &Arc<UnitWork> {
        let plan = &run.plan;
        let [by_overlap, selective] = [plan.tensor_overlap, plan.recompute == Recompute::Selective].map(usize::from);
        self.works[by_overlap][selective].get_or_init(|| Arc::new(UnitWork::new(&LowerBound::rates(run), &self.layout)))
    }

    /// The lower bound of one of its runs.
    pub fn bound(&self, run: &Scenario) -> LowerBound {
        LowerBound::with_work(run, &self.layout, Arc::clone(self.work(run)))
    }

    /// The plan of the first of its orders with a recompute whose state takes least memory, if that may fit.
    pub fn smallest(&self, recompute: Recompute, workspace: &mut Workspace) -> Option<(PlanKind, EvaluatedPlan)> {
        let (order, (tensor_overlap, _)) = (*self.orders.first()?, *self.overlaps.first()?);
        let mut scenario = self.run(MeshRun { order, recompute, tensor_overlap })?;
        let bound = self.bound(&scenario);
        let rates = LowerBound::rates(&scenario);
        let memory = |extents: &StateExtents| bound.memory(&rates, &extents.layout);
        let all = self.extents.iter().map(|extents| (memory(extents), extents));
        let (memory, extents) = all.min_by(|(one, _), (other, _)| one.get().total_cmp(&other.get()))?;
        let capacity = scenario.capacity();
        if memory > capacity {
            return None;
        }
        let transfers = *self.transfers(&scenario, &extents.layout).first()?;
        extents.apply(&mut scenario.plan.sharding);
        transfers.apply(&mut scenario);
        let summary = summary(&scenario, workspace).ok()?;
        Some((self.kind(order), EvaluatedPlan::new(scenario, summary)?))
    }

    /// The scenario as it may run; `None` where it cannot be laid out, or not near the batch.
    pub fn run(&self, MeshRun { order, recompute, tensor_overlap }: MeshRun) -> Option<Scenario> {
        let MeshOrder { schedule, stages_per_rank, accumulation } = order;
        let mut scenario = self.scenario.clone();
        let plan = &mut scenario.plan;
        (plan.schedule, plan.stages_per_rank) = (schedule, stages_per_rank);
        (plan.accumulation, plan.recompute, plan.tensor_overlap) = (accumulation, recompute, tensor_overlap);
        scenario.settle_batch();
        scenario.layout().ok()?;
        scenario.keeps_batch().ok()?;
        Some(scenario)
    }
}
