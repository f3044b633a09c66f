//! Arguments of `plan`.
//!
//! Not for the search behind them.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use shardscope_engine::bounds::layered::CriticalBatch;
use shardscope_engine::search::planner::{CostModel, PlannerObjective};
use shardscope_engine::units::Bytes;

use super::{Bare, ReportForm, ScenarioArgs, words, written};

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(group = bare())]
pub struct PlanArgs {
    /// Objective of the plans: tokens per second, the time of one optimizer step, the memory of the fullest device,
    /// fewest devices, or the days of the whole training
    #[arg(long, default_value = "throughput", value_parser = words(GOALS))]
    pub objective: PlanGoal,
    /// How the search costs a plan: by simulation, or by OSDP's sum of alpha, beta and gamma terms without overlap,
    /// whose choice is then simulated
    #[arg(long, default_value = "simulator", value_parser = words(COST_MODELS))]
    pub cost_model: CostModel,
    /// Most memory that a device may use, like "16 GiB"; never more than it has
    #[arg(long, value_name = "SIZE", value_parser = some_memory)]
    pub memory_limit: Option<Bytes>,
    /// Plans to print, best first
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: u32,
    /// Plans that the stack cannot run too
    #[arg(long)]
    pub any_plan: bool,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
    /// Also write the best plan as a scenario, for eval, export or the explorer; an existing file needs --force
    #[arg(long, value_name = "FILE.toml", value_parser = written, conflicts_with_all = ["file", "wanted"])]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub grid: GridArgs,
    #[command(flatten)]
    pub training: TrainingArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// The goal of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanGoal {
    /// The plans that are best in something.
    Best(PlannerObjective),
    /// The shortest training of each method.
    TrainingTime,
}

const GOALS: [(&str, PlanGoal); 5] = [
    best(PlannerObjective::Throughput),
    best(PlannerObjective::StepTime),
    best(PlannerObjective::Memory),
    best(PlannerObjective::Devices),
    ("training-time", PlanGoal::TrainingTime),
];

const fn best(objective: PlannerObjective) -> (&'static str, PlanGoal) {
    (objective.word(), PlanGoal::Best(objective))
}

const COST_MODELS: [(&str, CostModel); 2] = [("simulator", CostModel::Simulator), ("paper", CostModel::Paper)];

/// The search of the FSDP limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Grid of the FSDP limits")]
pub struct GridArgs {
    /// Search ZeRO stage, kept share of the activations, sequence length and batch with the closed forms of `limits`
    #[arg(long = "grid", group = "search", conflicts_with_all = SIMULATED)]
    pub wanted: bool,
    /// Share of the peak that kernels reach when nothing waits for the network
    #[arg(long, value_name = "SHARE", default_value = "0.75", value_parser = efficiency, requires = "wanted")]
    pub alpha: f64,
    #[command(flatten)]
    pub bare: Bare,
}

/// Arguments of searches by simulation alone.
const SIMULATED: [&str; 6] = ["objective", "cost_model", "top", "devices_max", "steps", "critical_batch"];

fn some_memory(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if size > Bytes::ZERO { Ok(size) } else { Err("choose a size above 0".to_owned()) }
}

/// The bare numbers go with the grid only.
fn bare() -> ArgGroup {
    let numbers = ["memory", "link", "peak", "n_bwd", "latency", "ring"];
    ArgGroup::new("numbers").args(numbers).multiple(true).requires("wanted")
}

fn efficiency(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "a share of the peak is a number above 0 and at most 1".to_owned())
}

/// The shortest training time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training time")]
pub struct TrainingArgs {
    /// Most devices to use
    #[arg(long, value_name = "N")]
    pub devices_max: Option<u64>,
    /// Optimizer steps at the critical batch
    #[arg(long, value_name = "S", conflicts_with = "tokens")]
    pub steps: Option<f64>,
    /// Critical batch, beyond which more data parallelism stops paying off: kaplan, layered (the default), or a count
    /// of sequences
    #[arg(long, value_name = "LAW")]
    pub critical_batch: Option<CriticalBatch>,
}

impl TrainingArgs {
    /// The first of these flags that was given.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            ("devices-max", self.devices_max.is_some()),
            ("steps", self.steps.is_some()),
            ("critical-batch", self.critical_batch.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

/// A plan from measured operators.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measured profile")]
pub struct ProfileArgs {
    /// Plan from a measured profile of one layer
    #[arg(long = "profile", value_name = "FILE.csv", group = "search", conflicts_with_all = SIMULATED)]
    #[arg(requires_all = ["layers", "hidden", "memory_limit"])]
    pub file: Option<PathBuf>,
    /// Layers of the profiled model
    #[arg(long, value_name = "L", requires = "file")]
    pub layers: Option<u32>,
    /// Width of the profiled model
    #[arg(long, value_name = "H", requires = "file")]
    pub hidden: Option<u32>,
    /// Only this batch of the profile, counted from 1
    #[arg(long, value_name = "K", requires = "file")]
    pub batch_index: Option<u32>,
    /// Memory to keep free; default: 800 MiB, as in the search of the paper's authors, and none with --grid
    #[arg(long, value_name = "SIZE", requires = "search")]
    pub reserve: Option<Bytes>,
}
