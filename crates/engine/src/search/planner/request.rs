//! What is to be planned, and what it is best in.

use crate::scenario::Scenario;
use crate::search::plans::SearchLimits;
use crate::stack::Runs;

/// What a plan is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannerObjective {
    /// Tokens per second and device, at any micro-batch.
    Throughput,
    /// Time of a step with the scenario's sequences.
    StepTime,
    /// Memory of the fullest device, with the scenario's sequences.
    Memory,
    /// Fewest devices, then throughput.
    Devices,
}

impl PlannerObjective {
    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::StepTime => "step-time",
            Self::Memory => "memory",
            Self::Devices => "devices",
        }
    }
}

/// What the search takes a plan to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostModel {
    /// Each candidate is simulated.
    Simulator,
    /// Alpha, beta and gamma, added up: nothing overlaps [osdp C3].
    Paper,
}

impl CostModel {
    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Paper => "paper",
        }
    }
}

/// What to plan.
///
/// ```
/// use shardscope_engine::search::Cancel;
/// use shardscope_engine::search::planner::{self, CostModel, PlanRequest, PlannerObjective};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let mut file = file::parse(&library.scenario_text("default")?.text)?;
/// # file.set("model", "llama-2-7b")?;
/// # file.set("nodes", "1")?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let (objective, cost_model) = (PlannerObjective::Throughput, CostModel::Simulator);
/// let request = PlanRequest { scenario, objective, cost_model, top: 1, any_plan: false };
/// let answer = planner::plan(&request, &Cancel::default()).map_err(|problems| problems[0].clone())?;
/// assert!(answer.plans[0].summary.fits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    /// The job; the memory of its devices is the limit.
    pub scenario: Scenario,
    /// What the best plan is best in.
    pub objective: PlannerObjective,
    /// What the search goes by.
    pub cost_model: CostModel,
    /// Plans to give.
    pub top: usize,
    /// Whether plans may have what the stack lacks.
    pub any_plan: bool,
}

impl PlanRequest {
    /// The limits of its plans. The paper's costs are compared with its own memory, which a plan may fill.
    pub(super) fn limits(&self) -> SearchLimits {
        match self.cost_model {
            CostModel::Simulator => SearchLimits::SAFE,
            CostModel::Paper => SearchLimits::NONE,
        }
    }

    /// What the stack can run, where plans keep to it. The paper's costs are of its own program.
    pub(super) fn runs(&self) -> Option<&Runs> {
        let keeps = !self.any_plan && self.cost_model == CostModel::Simulator;
        self.scenario.stack.runs.as_ref().filter(|_| keeps)
    }
}
