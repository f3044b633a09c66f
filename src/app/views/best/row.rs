//! The table of plans: its rows, and the columns that it can be sorted by.

use shardscope_engine::plan::Recompute;
use shardscope_engine::search::plans::EvaluatedPlan;

/// A row.
#[derive(Debug, Clone)]
pub struct PlanRow {
    /// Its place by the objective.
    pub rank: usize,
    /// The plan, and what it comes to.
    pub found: EvaluatedPlan,
    /// How many others are the same plan with other context ranks and micro-batches, within 1 %.
    pub alike: usize,
    /// The launchers that run it.
    pub runs_in: Vec<&'static str>,
    /// What the nearest launcher lacks, where it is better than the first plan and runs in none.
    pub beyond: Option<String>,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanColumn {
    /// The place by the objective.
    #[default]
    Rank,
    /// Days of the training, or tokens per second where its tokens are not stated.
    Speed,
    /// The gain over the scenario shown.
    Against,
    /// The cost of the training.
    Cost,
    /// Devices.
    Devices,
    /// Tensor-parallel ranks.
    Tensor,
    /// Pipeline ranks.
    Pipeline,
    /// Context-parallel ranks.
    Context,
    /// Expert-parallel ranks.
    Experts,
    /// Over how many ranks the state is sharded.
    Over,
    /// Sequences of a micro-batch.
    Micro,
    /// The share of layers that is recomputed.
    Again,
    /// Memory that stays free.
    Spare,
    /// The chance of fitting.
    Fits,
    /// The time of a step.
    Step,
    /// The launchers that run it.
    RunsIn,
}

impl PlanColumn {
    /// In the order of the table.
    pub const ALL: [Self; 16] = [
        Self::Rank,
        Self::Speed,
        Self::Against,
        Self::Cost,
        Self::Devices,
        Self::Tensor,
        Self::Pipeline,
        Self::Context,
        Self::Experts,
        Self::Over,
        Self::Micro,
        Self::Again,
        Self::Spare,
        Self::Fits,
        Self::Step,
        Self::RunsIn,
    ];

    /// The one before or after.
    pub(super) fn step(self, forward: bool) -> Self {
        let at = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        let by = if forward { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(at + by) % Self::ALL.len()]
    }

    /// Its key to sort plans by, the least first.
    pub(super) fn key(self, row: &PlanRow) -> f64 {
        let EvaluatedPlan { scenario, summary, layout } = &row.found;
        let plan = &scenario.plan;
        match self {
            Self::Rank => 0.0,
            Self::Speed | Self::Against => -summary.tokens_per_s(),
            Self::Cost => f64::from(summary.devices) / summary.tokens_per_s(),
            Self::Devices => f64::from(summary.devices),
            Self::Tensor => f64::from(plan.tensor),
            Self::Pipeline => f64::from(plan.pipeline),
            Self::Context => f64::from(plan.context),
            Self::Experts => f64::from(plan.experts.ranks),
            Self::Over => f64::from(layout.weights),
            Self::Micro => f64::from(plan.micro_batch),
            // Selective recompute costs less than any share of whole layers.
            Self::Again if plan.recompute == Recompute::Selective => 1e-9,
            Self::Again => plan.recompute.layers(),
            Self::Spare => (summary.memory.peak - summary.memory.capacity).get(),
            Self::Fits => -row.found.chance_of_fitting(),
            Self::Step => summary.step_time.get(),
            Self::RunsIn => -(row.runs_in.len() as f64),
        }
    }
}
