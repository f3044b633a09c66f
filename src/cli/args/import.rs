//! Arguments of `import`.
//!
//! Not for what is imported.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use shardscope_engine::units::BytesPerSecond;
use shardscope_interop::nccl::TimedCollective;

use super::{ReportForm, ScenarioArgs, ScenarioFlags, words};

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ImportArgs {
    #[command(subcommand)]
    pub kind: Option<ImportKind>,
    /// File whose content says what it is: a model, a run's log or trace, an out-of-memory
    /// message, a launcher's configuration, a tool's output
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub output: ImportOutput,
}

/// What can be imported.
#[derive(Debug, Subcommand)]
pub enum ImportKind {
    /// A model from a Hugging Face config.json
    Model(ImportModelArgs),
    /// Rows for `validate` and `calibrate` from logs of Megatron-LM, torchtitan, DeepSpeed or HF Trainer
    Run(ImportRunArgs),
    /// A scenario from a launcher's configuration: Accelerate, HF Trainer, DeepSpeed, Megatron-LM or torchtitan
    Plan(ImportPlanArgs),
    /// A cluster from sinfo, scontrol, nvidia-smi, rocm-smi, ibstat, `ibv_devinfo`, or a topology file of NCCL, one or several
    Cluster(ImportClusterArgs),
    /// A cluster's bandwidths and latencies from logs of nccl-tests or rccl-tests
    Links(ImportLinksArgs),
    /// What PyTorch says where memory ran out: what was held and asked for, and what would fit of a scenario
    Oom(ImportOomArgs),
    /// What PyTorch's profiler recorded of a step: kernels, collectives, what was exposed, beside a simulated step
    Trace(ImportTraceArgs),
}

/// Arguments of `import model`.
#[derive(Debug, Default, Args)]
pub struct ImportModelArgs {
    /// Hugging Face configuration; `-` is standard input
    #[arg(value_name = "CONFIG.json")]
    pub file: PathBuf,
    /// Name of the model; by default the one in the file, or the file's own
    #[arg(long)]
    pub name: Option<String>,
    /// Known `model_type` as which to read an unknown one
    #[arg(long, value_name = "TYPE")]
    pub like: Option<String>,
    #[command(flatten)]
    pub output: ImportOutput,
}

/// Arguments of `import run`.
#[derive(Debug, Default, Args)]
pub struct ImportRunArgs {
    /// Logs, one row for each; `-` is standard input
    #[arg(value_name = "LOG", required = true)]
    pub files: Vec<PathBuf>,
    /// Lines of steps to leave out at the head; by default 3, and those with skipped iterations
    #[arg(long, value_name = "N")]
    pub skip: Option<usize>,
    /// Machine that ran it, as `presets clusters` lists it
    #[arg(long, value_name = "ID")]
    pub hardware: Option<String>,
    /// Software that ran it, as `presets stacks` lists it
    #[arg(long, value_name = "ID")]
    pub stack: Option<String>,
    /// A cell that the log does not say, or says wrongly; `validate --template` explains the columns
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub output: ImportOutput,
}

/// Arguments of `import plan`.
#[derive(Debug, Default, Args)]
pub struct ImportPlanArgs {
    /// Configuration, with the DeepSpeed file that it refers to; a Megatron-LM script or log; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: ImportOutput,
    /// What the files do not say, or say otherwise
    #[command(flatten)]
    pub flags: ScenarioFlags,
}

/// Arguments of `import cluster`.
#[derive(Debug, Default, Args)]
pub struct ImportClusterArgs {
    /// What the tools print, told apart by content; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the cluster
    #[arg(long)]
    pub name: Option<String>,
    /// Nodes of the machine, where no file says so
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// What a node sends to others, all its ports together, like "400 GB/s"
    #[arg(long)]
    pub rate: Option<BytesPerSecond>,
    /// What a device sends to others of its node, where the preset's links are not there
    #[arg(long, value_name = "RATE")]
    pub node_bandwidth: Option<BytesPerSecond>,
    /// Preset whose device and whose links inside a node it has
    #[arg(long, value_name = "ID")]
    pub device: Option<String>,
    #[command(flatten)]
    pub output: ImportOutput,
}

/// Arguments of `import links`.
#[derive(Debug, Args)]
pub struct ImportLinksArgs {
    /// Logs of nccl-tests or rccl-tests, or their JSON (-J); `-` is standard input
    #[arg(value_name = "LOG", required = true)]
    pub files: Vec<PathBuf>,
    /// Cluster whose links they measured, as `presets clusters` lists it, or its file
    #[arg(long, value_name = "ID")]
    pub cluster: String,
    /// Collective, where the log does not name it; of several kinds of runs this one counts
    #[arg(long, value_name = "COLLECTIVE", value_parser = words(COLLECTIVES))]
    pub collective: Option<TimedCollective>,
    /// Name of the cluster with its links as measured
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub output: ImportOutput,
}

/// Arguments of `import oom`.
#[derive(Debug, Args)]
pub struct ImportOomArgs {
    /// Text with the message, or the log that ends with it; `-` is standard input
    #[arg(value_name = "TEXT")]
    pub file: PathBuf,
    #[command(flatten)]
    pub output: ImportOutput,
    /// The scenario that ran out of memory; none where nothing of one is said
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// Arguments of `import trace`.
#[derive(Debug, Args)]
pub struct ImportTraceArgs {
    /// Chrome trace of one rank, .json or .json.gz, as `export_chrome_trace` or `export --to trace` writes it; `-` is
    /// standard input
    #[arg(value_name = "TRACE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub output: ImportOutput,
    /// The scenario whose step stands beside it; none where nothing of one is said
    #[command(flatten)]
    pub input: ScenarioArgs,
}

const COLLECTIVES: [(&str, TimedCollective); 3] = [
    ("all-gather", TimedCollective::AllGather),
    ("reduce-scatter", TimedCollective::ReduceScatter),
    ("all-reduce", TimedCollective::AllReduce),
];

/// Where an import goes, and in what form.
#[derive(Debug, Clone, Default, Args)]
pub struct ImportOutput {
    /// Write the result here; an existing file needs --force
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Format of the result: the file itself as text, its report on stderr; or all of it as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
}
