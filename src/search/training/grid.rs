//! The plans that are compared, and what each must take at least.

use crate::plan::{Accumulation, Offload, Recompute, Schedule, Size};
use crate::program::StepTerms;
use crate::scenario::Scenario;
use crate::units::Bytes;

use super::Training;
use super::bound::Bound;
use super::method::{Dealing, Method};

/// What a plan is chosen from: everything that the scenario does not say. The order is that in which equal
/// days are settled: fewer devices first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// Devices.
    pub devices: u32,
    /// Tensor-parallel ranks.
    pub tensor: u32,
    /// Pipeline ranks.
    pub pipeline: u32,
    /// Data-parallel ranks.
    pub data: u32,
    /// Sequences per micro-batch.
    pub micro_batch: u32,
    /// Micro-batches per step.
    pub accumulate: u32,
    /// What lives in the host's memory.
    pub offload: Offload,
    /// How layers are dealt, by index into the method's.
    pub dealing: usize,
    /// How the state is placed, by index into the method's strategies.
    pub strategy: usize,
}

/// A choice and the days and the memory that it takes at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub days: f64,
    pub memory: Bytes,
    pub choice: Choice,
}

/// Micro-batches of at most so many sequences are tried: powers of two.
const MOST_SEQUENCES: u32 = 64;

/// Batches beyond so many critical ones are tried only where a pipeline needs them: from here on a batch
/// without end saves no more than an eighth of the steps.
const MOST_CRITICAL: f64 = 8.0;

/// All counts up to 8, then four per octave: no count between lies further than an eighth from one of them.
fn counts() -> impl Iterator<Item = u32> {
    let octaves = (1_u32..28).flat_map(|power| [4, 5, 6, 7].map(|quarter| quarter << power));
    (1..8).chain(octaves)
}

impl Training {
    /// The devices that a pipeline of `group` ranks may use of `budget`: whole groups that fill whole nodes.
    pub(super) fn devices(&self, budget: u32, group: u32) -> u32 {
        let node = self.base.cluster.devices_per_node();
        let whole = |devices: u32, unit: u32| devices / unit * unit;
        let inside = whole(budget.min(node), group);
        // The smallest count of groups that fills nodes.
        let filling = (1..=node).map(|count| group.saturating_mul(count)).find(|devices| devices.is_multiple_of(node));
        filling.map_or(inside, |unit| whole(budget, unit)).max(inside)
    }

    /// The scenario of a choice.
    pub fn scenario(&self, method: &Method, choice: &Choice) -> Scenario {
        let mut scenario = self.base.clone();
        self.lay(&mut scenario, method, choice);
        scenario
    }

    /// Puts a choice into a scenario.
    fn lay(&self, scenario: &mut Scenario, method: &Method, choice: &Choice) {
        let node = self.base.cluster.devices_per_node();
        let plan = &mut scenario.plan;
        plan.size = match choice.devices {
            devices if devices.is_multiple_of(node) => Size::Nodes(devices / node),
            devices => Size::Devices(devices),
        };
        (plan.tensor, plan.pipeline) = (choice.tensor, choice.pipeline);
        (plan.micro_batch, plan.accumulate, plan.offload) = (choice.micro_batch, choice.accumulate, choice.offload);
        plan.accumulation = method.accumulation;
        (plan.schedule, plan.stages_per_rank) = match method.dealings[choice.dealing] {
            Dealing::None => (Schedule::OneForwardOneBackward, 1),
            Dealing::Contiguous(schedule) => (schedule, 1),
            Dealing::Modular => (Schedule::BreadthFirst, scenario.model.layers / choice.pipeline),
        };
        let id = method.strategies[choice.strategy];
        if let Some(strategy) = self.strategies.get(id) {
            plan.sharding = strategy.sharding.clone();
            plan.operators.clear();
            scenario.strategy = id.into();
        }
    }

    fn tensors(&self) -> impl Iterator<Item = u32> {
        let (node, heads) = (self.base.cluster.devices_per_node(), self.base.model.heads);
        let sizes = std::iter::successors(Some(1_u32), |size| size.checked_mul(2));
        sizes
            .take_while(move |size| *size <= node)
            .filter(move |size| node.is_multiple_of(*size) && heads.is_multiple_of(*size))
    }

    fn pipelines(&self, dealing: Dealing) -> impl Iterator<Item = u32> {
        let layers = self.base.model.layers;
        let sizes = if dealing == Dealing::None { 1..=1 } else { 2..=layers };
        sizes.filter(move |size| layers.is_multiple_of(*size))
    }

    /// What the host may hold: checkpoints only where there are any.
    fn offloads(&self) -> impl Iterator<Item = Offload> {
        let checkpoints = matches!(self.base.plan.recompute, Recompute::Full | Recompute::Share(_));
        Offload::ALL.iter().copied().filter(move |offload| checkpoints || !offload.checkpoints())
    }

    /// Every plan of a method that fills `budget` devices and may fit, with the days that it takes at least.
    pub(super) fn candidates(&self, method: &Method, budget: u32) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut trial = self.base.clone();
        for (dealing, dealt) in method.dealings.iter().enumerate() {
            for (tensor, pipeline) in
                self.tensors().flat_map(|tensor| self.pipelines(*dealt).map(move |pipeline| (tensor, pipeline)))
            {
                let group = tensor * pipeline * self.base.plan.context;
                let devices = self.devices(budget, group);
                if devices == 0 {
                    continue;
                }
                for strategy in 0..method.strategies.len() {
                    let data = devices / group;
                    let choice = Choice { devices, tensor, pipeline, data, dealing, strategy, ..Choice::PLAINEST };
                    self.batches(method, choice, &mut trial, &mut found);
                }
            }
        }
        found
    }

    /// The same for one mesh: micro-batches of growing size, until nothing fits any more.
    fn batches(&self, method: &Method, choice: Choice, trial: &mut Scenario, found: &mut Vec<Candidate>) {
        let sizes = std::iter::successors(Some(1_u32), |size| Some(size * 2));
        for micro_batch in sizes.take_while(|size| *size <= MOST_SEQUENCES) {
            let before = found.len();
            for offload in self.offloads() {
                self.steps(method, Choice { micro_batch, offload, ..choice }, trial, found);
            }
            if found.len() == before {
                break;
            }
        }
    }

    /// The same for one micro-batch: growing counts of it.
    fn steps(&self, method: &Method, choice: Choice, trial: &mut Scenario, found: &mut Vec<Candidate>) {
        self.lay(trial, method, &choice);
        let Ok(layout) = trial.layout() else { return };
        let terms = StepTerms::of(trial, &layout);
        let capacity = trial.cluster.device.memory * trial.plan.memory_factor;
        let (reserve, lost) = (trial.calibration.allocator.reserve, 1.0 + trial.calibration.allocator.fragmentation);
        let dealing = method.dealings[choice.dealing];
        let layered = method.accumulation == Accumulation::Layered;
        let bound = Bound::of(&terms, dealing, layered, choice.pipeline, trial.model.vocab > 0, trial.plan.prefetch);
        let most = MOST_CRITICAL * self.goal.critical / choice.sequences();
        for accumulate in counts().take_while(|count| f64::from(*count) <= most || *count <= choice.pipeline) {
            let memory = bound.memory(accumulate) * lost + reserve;
            if memory > capacity {
                break;
            }
            let choice = Choice { accumulate, ..choice };
            let days = self.goal.days(choice.sequences(), bound.time(accumulate).get());
            found.push(Candidate { days, memory, choice });
        }
    }
}

impl Choice {
    /// One device of each kind.
    pub(super) const PLAINEST: Self = Self {
        devices: 1,
        tensor: 1,
        pipeline: 1,
        data: 1,
        micro_batch: 1,
        accumulate: 1,
        offload: Offload::None,
        dealing: 0,
        strategy: 0,
    };

    /// Sequences of a step.
    pub fn sequences(&self) -> f64 {
        f64::from(self.data) * f64::from(self.micro_batch) * f64::from(self.accumulate)
    }
}
