//! Arguments of `plan`.
//!
//! Not for the search behind them.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use crate::bounds::layered::CriticalBatch;
use crate::units::Bytes;

use super::{Bare, Form, Input};

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(group = bare())]
pub struct Plan {
    /// What is best
    #[arg(long, value_enum, default_value = "throughput")]
    pub objective: Objective,
    /// What the search takes a plan to cost; the simulator evaluates the plan that it chooses
    #[arg(long, value_enum, default_value = "simulator")]
    pub cost_model: CostModel,
    /// Memory that a device may use at most, like "16 GiB"; never more than what it has
    #[arg(long, value_name = "SIZE", value_parser = some_memory)]
    pub memory_limit: Option<Bytes>,
    /// Plans to print, best first
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: u32,
    /// Form of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    /// Write the best plan as a scenario too, for eval, export or the explorer; the file must be new
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["file", "wanted"])]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub grid: Grid,
    #[command(flatten)]
    pub training: Training,
    #[command(flatten)]
    pub profile: Profile,
    #[command(flatten)]
    pub input: Input,
}

/// What a plan is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Objective {
    /// Tokens per second
    Throughput,
    /// Time of one optimizer step
    StepTime,
    /// Memory of the fullest device
    Memory,
    /// Fewest devices
    Devices,
    /// Days of the whole training
    TrainingTime,
}

/// What a plan costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostModel {
    /// What the simulator says
    Simulator,
    /// OSDP's alpha, beta and gamma, added up: nothing overlaps
    Paper,
}

/// The search of the FSDP limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Grid of the FSDP limits")]
pub struct Grid {
    /// Search stage, kept share of the activations, sequence length and batch by the closed forms of `limits`
    #[arg(long = "grid", group = "search", conflicts_with_all = SIMULATED)]
    pub wanted: bool,
    /// Share of the peak that kernels reach where nothing waits for the network
    #[arg(long, value_name = "SHARE", default_value = "0.75", value_parser = efficiency, requires = "wanted")]
    pub alpha: f64,
    #[command(flatten)]
    pub bare: Bare,
}

/// What only searches by simulation ask for.
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
pub struct Training {
    /// Devices to use at most
    #[arg(long, value_name = "N")]
    pub devices_max: Option<u64>,
    /// Optimizer steps at the critical batch
    #[arg(long, value_name = "S", conflicts_with = "tokens")]
    pub steps: Option<f64>,
    /// Batch beyond which more data parallelism stops paying: kaplan, layered (the default), or a count of
    /// sequences
    #[arg(long, value_name = "LAW")]
    pub critical_batch: Option<CriticalBatch>,
}

impl Training {
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
pub struct Profile {
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
    /// Memory kept free; else 800 MiB, as the search of the paper's authors keeps, and none by --grid
    #[arg(long, value_name = "SIZE", requires = "search")]
    pub reserve: Option<Bytes>,
}
