//! The question of a training search: its goal, the choices of a plan, and the scenario that they make. Not for which
//! choices there are ([`super::candidates`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bounds::layered::steps;
use crate::plan::{Offload, Schedule, StageSizes, Strategy};
use crate::presets::{Library, Unknown};
use crate::scenario::field::Resolved;
use crate::scenario::{Edit, Field, Problem, Scenario, Value};
use crate::units::Seconds;

use super::method::{METHODS, Method, StageAssignment};

/// Steps at the critical batch where a scenario has no length: "about 1e5, independent of x" [layered B3].
pub const USUAL_STEPS: f64 = 1e5;

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The critical batch, in sequences.
    pub critical: f64,
    /// Steps that it takes at the critical batch.
    pub steps: f64,
}

impl Goal {
    /// Steps with batches of another size [layered B3].
    pub fn steps(&self, sequences: f64) -> f64 {
        steps(self.steps, self.critical, sequences)
    }

    /// Days of that without failures, where a step takes so many seconds.
    pub fn days(&self, sequences: f64, step: f64) -> f64 {
        self.steps(sequences) * step / Seconds::DAY.get()
    }
}

/// A plan's choices: everything that the scenario does not say. Of equal days the first choice in this order wins:
/// fewer devices first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrainingChoice {
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
    /// Offload to host memory.
    pub offload: Offload,
    /// How layers are assigned, by index into the method's.
    pub assignment: usize,
    /// How the state is placed, by index into the method's strategies.
    pub strategy: usize,
}

impl TrainingChoice {
    /// One rank along each dimension.
    pub(super) const PLAINEST: Self = Self {
        devices: 1,
        tensor: 1,
        pipeline: 1,
        data: 1,
        micro_batch: 1,
        accumulate: 1,
        offload: Offload::None,
        assignment: 0,
        strategy: 0,
    };

    /// Sequences of a step.
    pub fn sequences(&self) -> f64 {
        f64::from(self.data) * f64::from(self.micro_batch) * f64::from(self.accumulate)
    }
}

/// A search for the shortest training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingSearch {
    /// The scenario whose machine, software, model, sequence, precision and recompute every plan has.
    pub base: Scenario,
    /// How long to train.
    pub goal: Goal,
    /// Counts of devices that may be used at most, ascending.
    pub budgets: Vec<u32>,
    /// Whether plans may have what the stack lacks.
    pub any_plan: bool,
    pub(super) strategies: BTreeMap<&'static str, Arc<Strategy>>,
}

impl TrainingSearch {
    /// Within `most` devices, or all that the cluster has, and within each power of two below that: what a
    /// curve shows. The methods' strategies are taken from the library.
    pub fn new(base: Scenario, goal: Goal, most: u32, library: &Library) -> Result<Self, Unknown> {
        let ids = METHODS.iter().flat_map(|method| method.strategies);
        let strategies = ids.map(|id| Ok((*id, library.strategy(id)?))).collect::<Result<_, Unknown>>()?;
        let there = base.cluster.nodes.map(|nodes| nodes.saturating_mul(base.cluster.devices_per_node()));
        let most = there.map_or(most, |there| most.min(there));
        let powers = (0..32).map(|power| 1_u32 << power).take_while(|count| *count < most);
        let budgets = powers.chain([most]).collect();
        Ok(Self { base, goal, budgets, any_plan: false, strategies })
    }

    /// The base with the plainest plan of the grid.
    pub fn simplest(&self) -> Scenario {
        let context = self.base.plan.context;
        let devices = self.devices(self.budgets.last().copied().unwrap_or(0), context);
        self.scenario(&METHODS[0], &TrainingChoice { devices: devices.max(context), ..TrainingChoice::PLAINEST })
    }

    /// Problems of the base, whatever the plan.
    pub fn problems(&self) -> Vec<Problem> {
        self.simplest().layout().err().unwrap_or_default()
    }

    /// Questions: each method within each budget.
    pub fn len(&self) -> usize {
        METHODS.len() * self.budgets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// The devices that a pipeline of `group` ranks may use of `budget`: whole groups that fill whole nodes.
    pub(super) fn devices(&self, budget: u32, group: u32) -> u32 {
        let node = self.base.cluster.devices_per_node();
        let whole = |devices: u32, unit: u32| devices / unit * unit;
        let inside = whole(budget.min(node), group);
        // The smallest count of groups that fills nodes.
        let filling = (1..=node).map(|count| group.saturating_mul(count)).find(|devices| devices.is_multiple_of(node));
        filling.map_or(inside, |unit| whole(budget, unit)).max(inside)
    }

    /// The fields that the search chooses, or that its strategies say.
    pub fn chosen(&self) -> Vec<Field> {
        let edits = self.edits(&METHODS[0], &TrainingChoice::PLAINEST);
        let size = [Field::Nodes, Field::Devices];
        let placed = Field::all().filter(|field| field.is_in_sharding());
        edits.into_iter().map(|edit| edit.field).chain(size).chain(placed).collect()
    }

    /// The edits of the base that make a choice.
    pub fn edits(&self, method: &Method, choice: &TrainingChoice) -> Vec<Edit> {
        let node = self.base.cluster.devices_per_node();
        let size = match choice.devices {
            devices if devices.is_multiple_of(node) => Edit::new(Field::Nodes, devices / node),
            devices => Edit::new(Field::Devices, devices),
        };
        let (schedule, stages_per_rank) = match method.assignments[choice.assignment] {
            StageAssignment::None => (Schedule::USUAL, 1),
            StageAssignment::Contiguous(schedule) => (schedule, 1),
            StageAssignment::Modular => (Schedule::LAYERED, self.base.model.layers / choice.pipeline),
        };
        let id = method.strategies[choice.strategy];
        let resolved = |strategy: &Arc<Strategy>| Resolved::Strategy(id.into(), strategy.sharding.clone());
        let strategy = self.strategies.get(id).map(|it| Edit::new(Field::Strategy, Value::Preset(resolved(it))));
        let others = [
            size,
            Edit::new(Field::Tensor, choice.tensor),
            Edit::new(Field::Pipeline, choice.pipeline),
            Edit::new(Field::Schedule, schedule),
            Edit::new(Field::StagesPerRank, stages_per_rank),
            Edit::new(Field::StageLayers, StageSizes::Balanced),
            Edit::new(Field::Accumulation, method.accumulation),
            Edit::new(Field::MicroBatch, choice.micro_batch),
            Edit::new(Field::Accumulate, choice.accumulate),
            Edit::new(Field::Offload, choice.offload),
        ];
        strategy.into_iter().chain(others).collect()
    }

    /// The scenario of a choice.
    pub fn scenario(&self, method: &Method, choice: &TrainingChoice) -> Scenario {
        let mut scenario = self.base.clone();
        self.apply(&mut scenario, method, choice);
        scenario
    }

    /// Puts a choice into a scenario that had another one of the same base.
    pub(super) fn apply(&self, scenario: &mut Scenario, method: &Method, choice: &TrainingChoice) {
        for edit in self.edits(method, choice) {
            // The values have their fields' types above, and none moves a shard: no field refuses one.
            let _ = edit.apply(scenario);
        }
    }
}
