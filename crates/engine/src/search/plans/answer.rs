//! The answer to a search over whole plans.

use crate::evaluate::{Summary, Workspace, chance_of_fitting, summary};
use crate::scenario::{Layout, Scenario};
use crate::search::WorkPart;

/// A plan that fits, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatedPlan {
    /// The job with the plan.
    pub scenario: Scenario,
    /// Its figures: time, memory, throughput.
    pub summary: Summary,
    /// How many ranks each part of the plan has.
    pub layout: Layout,
}

impl EvaluatedPlan {
    /// A job with a plan that was simulated; `None` where it cannot be laid out.
    pub fn new(scenario: Scenario, summary: Summary) -> Option<Self> {
        let layout = scenario.layout().ok()?;
        Some(Self { scenario, summary, layout })
    }

    /// The chance that it fits the devices.
    pub fn chance_of_fitting(&self) -> f64 {
        chance_of_fitting(&self.scenario, &self.summary.memory)
    }

    /// The plan with no more on the host than a base puts there, whether or not the devices have the memory.
    fn with_offload_of(&self, base: &Scenario) -> Option<Self> {
        let mut scenario = self.scenario.clone();
        scenario.plan.offload = base.plan.offload;
        let figures = summary(&scenario, &mut Workspace::default()).ok()?;
        Self::new(scenario, figures)
    }
}

/// The share of one process in a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchShare {
    /// Which part of the plans it looks at; all of them where there is none.
    pub part: Option<WorkPart>,
    /// The score of the last of the best plans that other parts have found, where they have found as many as are asked
    /// for: what is not better is left out.
    pub known: Option<[f64; 2]>,
}

/// Plans of the grid, each counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanCounts {
    /// How many there are.
    pub plans: u64,
    /// Those that cannot be laid out.
    pub impossible: u64,
    /// Those that were left out because they cannot be better, or cannot fit.
    pub bounded: u64,
    /// Those that were simulated.
    pub simulated: u64,
}

/// What a search is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchPhase {
    /// It looks for a plan that fits.
    #[default]
    First,
    /// It lays meshes out.
    Meshes,
    /// It finds bounds of plans and simulates those that may be among the best.
    Plans,
    /// The same, for plans that are better than the best that a launcher takes.
    Beyond,
    /// It places operators one by one.
    Operators,
}

impl SearchPhase {
    /// In words: `laying out meshes`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::First => "looking for a first plan",
            Self::Meshes => "laying out meshes",
            Self::Plans => "proving plans",
            Self::Beyond => "proving plans that no launcher takes",
            Self::Operators => "placing operators",
        }
    }
}

/// The answer to a search, or what it has so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanSearchAnswer {
    /// The best plans, best first.
    pub plans: Vec<EvaluatedPlan>,
    /// The plans that no other one beats in all that the front weighs, the fewest devices first.
    pub front: Vec<EvaluatedPlan>,
    /// How many plans there are.
    pub counts: PlanCounts,
    /// Whether all of them were looked at: no plan of the grid is better.
    pub exact: bool,
    /// What it is busy with.
    pub phase: SearchPhase,
    /// Plans that are better than the best of those that some launcher takes, and that none takes: best first. Only where the
    /// search asks for launchers, and some plan runs in one.
    pub beyond: Vec<EvaluatedPlan>,
    /// Whether some launcher takes the plans; `None` where none was asked for.
    pub launched: Option<bool>,
    /// The proof so far: no plan takes less than this share of the best one's time.
    pub proven: f64,
    /// The best plan with no more on the host than the job puts there, for which the devices have no memory; only where plans
    /// offload because none fits otherwise.
    pub without_offload: Option<EvaluatedPlan>,
}

impl PlanSearchAnswer {
    /// The answer beside what its best plan would be with the offload of a base.
    pub(super) fn beside_offload_of(&self, base: &Scenario) -> Self {
        let without_offload = self.plans.first().and_then(|best| best.with_offload_of(base));
        Self { without_offload, ..self.clone() }
    }
}
