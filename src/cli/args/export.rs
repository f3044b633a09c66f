//! Arguments of `export`.
//!
//! Not for what is exported.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::cli::args::sweep::metrics;
use crate::cli::args::{ScenarioArgs, written};
use shardscope_engine::search::Axis;
use shardscope_interop::export::ExportForm;
use shardscope_interop::fsdp2::Names;
use shardscope_interop::job_array::MOST_PARTS;
use shardscope_report::figures::Figure;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Tool to export for
    #[arg(long, value_parser = targets())]
    pub to: ExportForm,
    /// Folder for the files, created if missing; by default the specification alone is printed
    #[arg(long, value_name = "DIR", value_parser = written)]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Version of the tool; by default the newest that is known
    #[arg(long, value_name = "VERSION")]
    pub target_version: Option<String>,
    /// Refuse a plan that the tool cannot follow exactly
    #[arg(long)]
    pub strict: bool,
    /// Write the nearest plan that the tool has instead of one that it lacks, and say what is changed
    #[arg(long, conflicts_with = "sweep")]
    pub nearest: bool,
    /// Module naming for fsdp2
    #[arg(long, value_enum, default_value = "torchtitan")]
    pub module_names: ModuleNames,
    /// Partition of the job, for sbatch
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Account of the job, for sbatch
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// Processors of each node for the job, for sbatch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus_per_task: Option<u32>,
    /// Type of the devices as the scheduler calls it, for sbatch
    #[arg(long, value_name = "TYPE")]
    pub gpu_type: Option<String>,
    /// Launcher of the job's processes, for sbatch
    #[arg(long, value_enum, default_value = "torchrun")]
    pub launcher: JobStarter,
    #[command(flatten)]
    pub array: ArrayArgs,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// The launcher of a job's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JobStarter {
    /// torchrun: the training program reads the plan
    Torchrun,
    /// accelerate launch, with accelerate.yaml in the job's folder
    Accelerate,
}

/// Who names modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModuleNames {
    /// torchtitan: layers.0.attention
    Torchtitan,
    /// Hugging Face's transformers: `model.layers.0.self_attn`
    Huggingface,
}

/// Tools that take plans, each by its word. Modules under Hugging Face's names have a flag of their own.
fn targets() -> impl TypedValueParser<Value = ExportForm> {
    let forms = ExportForm::all().filter(|form| *form != ExportForm::Modules(Names::HuggingFace));
    let words = forms.map(|form| PossibleValue::new(form.name()).help(form.help()));
    let form = |word: String| ExportForm::all().find(|form| form.name() == word).ok_or("no tool");
    PossibleValuesParser::new(words).try_map(form)
}

/// A sweep as a job array.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep as a job array (--to sbatch --sweep)")]
pub struct ArrayArgs {
    /// Export a job array that computes a sweep, in place of a job that trains
    #[arg(long, requires_all = ["x", "y"])]
    pub sweep: bool,
    /// Horizontal axis, as `sweep` takes it
    #[arg(long, value_name = "AXIS=VALUES", requires = "sweep", value_parser = axis)]
    pub x: Option<String>,
    /// Vertical axis
    #[arg(long, value_name = "AXIS=VALUES", requires = "sweep", value_parser = axis)]
    pub y: Option<String>,
    /// Figure of each cell
    #[arg(long, default_value = Figure::ModelFlops.word(), hide_possible_values = true, value_parser = metrics())]
    pub metric: Figure,
    /// Give each cell its best micro-batch, recompute and accumulation
    #[arg(long, requires = "sweep")]
    pub tune: bool,
    /// Parts, a task each; by default tasks of about a minute
    #[arg(long, value_name = "N", requires = "sweep",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PARTS)))]
    pub parts: Option<u32>,
    /// Tasks that run at a time
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    pub at_once: u32,
}

/// An axis as it was written, which the script repeats.
fn axis(text: &str) -> Result<String, String> {
    text.parse::<Axis>().map(|_| text.to_owned())
}
