//! The command line as types: what `--help`, the completions and the man page say.
//!
//! Not for what the values mean: scenario flags stay text here, and [`shardscope_engine::scenario::file`] reads them.

mod export;
mod flags;
mod import;
mod plan;
mod search;
mod sweep;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::config::{ColorDepth, PALETTES};
use shardscope_engine::bounds::fsdp::ZeroStage;
use shardscope_engine::presets::Kind;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::{MOST_THREADS, OwnFigure};
use shardscope_engine::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds};
use shardscope_evidence::calibrate::Prior;
use shardscope_interop::import::STANDARD_INPUT;
use shardscope_report::snapshot;

pub use export::{ExportArgs, JobStarter, ModuleNames};
pub use flags::ScenarioFlags;
pub use import::ImportArgs;
pub use plan::{PlanArgs, PlanGoal};
pub use search::{Allow, SearchArgs, Sought};
pub use sweep::{MergeArgs, SweepArgs};

/// Explore sharded training of large language models: how long a step takes, whether it fits, what limits it
#[derive(Debug, Parser)]
#[command(name = "shardscope", version, max_term_width = 100, override_usage = USAGE, after_help = PAGE, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub input: ScenarioArgs,
    /// Measured runs for the explorer's evidence view, instead of the built-in ones; may be repeated
    #[arg(long, hide_short_help = true, value_name = "ROWS.csv")]
    pub rows: Vec<PathBuf>,
    /// Start on the default scenario
    ///
    /// Without arguments the explorer comes back as it was left, with its pins and view, from `$XDG_STATE_HOME/shardscope/last.toml` (~/.local/state). A session that began otherwise and changed anything
    /// leaves the one before in `previous.toml` beside it
    #[arg(long)]
    pub fresh: bool,
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    #[command(flatten)]
    pub everywhere: Everywhere,
}

const USAGE: &str = "\
shardscope [OPTIONS] [SCENARIO] [scenario flags]
       shardscope <COMMAND>";

const PAGE: &str = "\
`shardscope --help` has all flags, `shardscope guide` what they mean; `shardscope FILE` opens a model, a log, a launcher's file";

const EXAMPLES: &str = "\
Examples:
  shardscope
  shardscope --hardware mi250x-frontier --model gpt-neox-20b --nodes 48
  shardscope eval --hardware a100-80gb-nvlink16 --model mpt-7b --nodes 2
  shardscope sweep --x nodes=1..64 --y shard=node,system --metric mfu
  shardscope presets clusters";

/// Commands beside the explorer.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Evaluate one scenario
    Eval(EvalArgs),
    /// Evaluate a scenario over two axes
    Sweep(SweepArgs),
    /// Put the parts of a sweep or a search together
    Merge(MergeArgs),
    /// Find the best plan for an objective
    Plan(Box<PlanArgs>),
    /// Find the best whole plans: mesh, schedule, micro-batch, recompute and extents together
    Search(Box<SearchArgs>),
    /// Bound the throughput of FSDP by memory, bandwidth and peak
    Limits(LimitsArgs),
    /// Export a plan for another tool
    Export(ExportArgs),
    /// Import other tools' files
    Import(ImportArgs),
    /// Compare predictions with published measurements
    Validate(ValidateArgs),
    /// Say which measured runs stand behind a scenario, and how near they are
    Support(SupportArgs),
    /// Fit the constants of a calibration to measured runs
    Calibrate(CalibrateArgs),
    /// List or show presets, including your own
    Presets(PresetsArgs),
    /// Show a chapter of the guide, look words up in it, or list its chapters
    Guide(GuideArgs),
    /// Print a commented config.toml
    Config(ConfigArgs),
    /// Print shell completions
    Completions {
        /// Shell that completes
        shell: Shell,
    },
    /// Print the man page
    Man,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: EvalFormat,
    /// Say what was measured, and which settings, links or clocks would explain it: the time of a step, a utilisation like
    /// 38%, or a peak of memory like "71 GiB"
    #[arg(long, value_name = "VALUE", group = "own")]
    pub measured: Option<OwnFigure>,
    /// Measured model flop utilisation, like 38%
    #[arg(long, value_name = "SHARE", group = "own", value_parser = utilisation)]
    pub measured_mfu: Option<f64>,
    /// Write the calibration that follows from what was measured here; named calibration/measured.toml in a folder, every
    /// command counts with it that is given the folder by --presets
    #[arg(long, value_name = "FILE.toml", value_parser = written, requires = "own")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// Forms of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalFormat {
    Text,
    Json,
    Toml,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    #[default]
    Text,
    Json,
}

/// Forms of a report that is a table too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableForm {
    Text,
    Csv,
    Json,
}

/// Arguments of `limits`. Without the bare numbers the scenario says them.
#[derive(Debug, Args)]
pub struct LimitsArgs {
    #[command(flatten)]
    pub bare: Bare,
    /// Share of the activations that is kept: 0 recomputes all layers, 1 recomputes none
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub gamma: f64,
    /// ZeRO stage: 1 shards optimizer state, 2 gradients too, 3 weights too
    #[arg(long, default_value = "3", value_parser = words([("1", ZeroStage::One), ("2", ZeroStage::Two), ("3", ZeroStage::Three)]))]
    pub stage: ZeroStage,
    /// Memory reserved before any state: runtime, allocator, gathered layers
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    pub reserve: Bytes,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// The bare numbers of the FSDP limits, in place of the scenario's, and what else they and the grid take.
#[derive(Debug, Args)]
pub struct Bare {
    /// Memory of a device, like "40 GB"
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Rate at which a device receives the gathered model, like "25 GB/s" of its port; by default that of a ring over
    /// all devices, which uses every port of a node
    #[arg(long, value_name = "RATE")]
    pub link: Option<BytesPerSecond>,
    /// Peak of a device's arithmetic, like "312 TFLOP/s"
    #[arg(long, value_name = "RATE")]
    pub peak: Option<FlopPerSecond>,
    /// Transfers of the whole model in backward: 2 counts a gather and a reduction
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = n_bwd)]
    pub n_bwd: f64,
    /// Latency of the link per layer and device
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub latency: Seconds,
    /// Leave a device's own shard out of what it receives: (N - 1) / N
    #[arg(long)]
    pub ring: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}

fn utilisation(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    let share = share.filter(|share| OwnFigure::Mfu(*share).sound().is_ok());
    share.ok_or_else(|| "a utilisation is a share of the peak like 38% or 0.38, from 0.0001% to 100%".to_owned())
}

fn n_bwd(text: &str) -> Result<f64, String> {
    let count = text.parse().ok().filter(|count: &f64| *count > 0.0 && count.is_finite());
    count.ok_or_else(|| "a count of transfers is a number above 0".to_owned())
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// CSV files of measured runs, - for the standard input; by default the built-in table
    #[arg(value_name = "ROWS.csv")]
    pub rows: Vec<PathBuf>,
    /// Print a table to fill in: each column explained, and one run as an example
    #[arg(long, conflicts_with_all = ["rows", "format"])]
    pub template: bool,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: TableForm,
}

/// Arguments of `support`.
#[derive(Debug, Args)]
pub struct SupportArgs {
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// CSV files of measured runs, - for the standard input; `validate --template` prints one to fill in
    #[arg(value_name = "ROWS.csv", required = true)]
    pub rows: Vec<PathBuf>,
    /// Where the fit begins: shipped, the constants' values and how sure they are, where the calibration says so, and one
    /// row already counts; or none, a fit from scratch to many rows, which works out how sure the constants are
    #[arg(long, default_value = "shipped", value_parser = words([("shipped", Prior::Shipped), ("none", Prior::None)]))]
    pub prior: Prior,
    /// Also choose constants and the prior's weight anew without each fifth of the groups and without each source, and say
    /// which constants stay: a fit from scratch, which takes minutes
    #[arg(long)]
    pub nested: bool,
    /// Write the calibration with the fitted constants here, and the runs behind it to FILE.csv; existing files need
    /// --force
    #[arg(long, value_name = "FILE.toml", value_parser = written)]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
}

/// Arguments of `presets`.
#[derive(Debug, Args)]
pub struct PresetsArgs {
    /// Kind to list; all kinds by default
    #[arg(value_parser = kinds())]
    pub kind: Option<Kind>,
    /// Print this preset's file
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
}

/// Arguments of `guide`.
#[derive(Debug, Args)]
pub struct GuideArgs {
    /// Chapter to show, on a terminal in $PAGER or less; or words to look up, like MFU or two clusters. The list of
    /// chapters by default
    #[arg(value_name = "CHAPTER|WORD")]
    pub words: Vec<String>,
}

/// Arguments of `config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print the default config.toml, each setting with its meaning
    #[arg(long = "default", required = true)]
    pub print_default: bool,
}

/// A scenario and what is changed in it.
#[derive(Debug, Clone, Args)]
pub struct ScenarioArgs {
    /// Scenario or snapshot: a file (it has a `/` or ends in `.toml`) or a preset's id
    pub scenario: Option<String>,
    #[command(flatten)]
    pub flags: ScenarioFlags,
}

impl ScenarioArgs {
    /// The file that it names, if it names one.
    pub fn file(&self) -> Option<&Path> {
        self.scenario.as_deref().filter(|name| snapshot::is_path(name)).map(Path::new)
    }

    /// The first argument that was given, as it may be named in a message.
    pub fn first(&self) -> Option<String> {
        let flag = || self.flags.given().next().map(|(field, _)| format!("--{field}"));
        self.scenario.clone().or_else(flag)
    }

    /// The flag of what a problem names (`plan.tensor`): one that was given, or any where no file can have set the
    /// field.
    pub fn flag(&self, path: &str) -> Option<Field> {
        let behind = Field::behind(path);
        let given = behind.iter().find(|field| self.flags.has(**field));
        let file = self.file().is_some();
        // A strategy that nobody named is the scenario's own: what moves its shards changes it.
        let other = || behind.iter().rfind(|field| **field != Field::Strategy || behind.len() == 1).filter(|_| !file);
        given.or_else(other).copied()
    }
}

/// Flags that every command takes.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Everywhere {
    /// Threads for sweeps and searches; default: `$RAYON_NUM_THREADS`, or one less than the cores, at most 4
    #[arg(long, hide_short_help = true, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u16>,
    /// Configuration file, or the folder with config.toml and presets; default: `$SHARDSCOPE_CONFIG`, or shardscope in
    /// `$XDG_CONFIG_HOME`
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Additional folder with clusters/, stacks/, models/, strategies/ and scenarios/; may be repeated
    #[arg(long, hide_short_help = true, global = true, value_name = "DIR")]
    pub presets: Vec<PathBuf>,
    /// Colours of the explorer
    #[arg(long, global = true, value_parser = palettes())]
    pub palette: Option<ColorDepth>,
    /// Draw with ASCII only
    #[arg(long, global = true)]
    pub ascii: bool,
    /// For slow connections: at most 256 colours, maps redrawn twice a second, panels when the cursor rests
    #[arg(long, hide_short_help = true, global = true)]
    pub low_bandwidth: bool,
    /// Append a log of events to this file
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE", value_parser = written)]
    pub log: Option<PathBuf>,
}

/// The kinds that `presets` knows; calibrations come with their stacks.
pub const KINDS: [Kind; 6] = [Kind::Cluster, Kind::Stack, Kind::Model, Kind::Strategy, Kind::Scenario, Kind::Tool];

fn kinds() -> impl TypedValueParser<Value = Kind> {
    words(KINDS.map(|kind| (kind.folder(), kind)))
}

fn palettes() -> impl TypedValueParser<Value = ColorDepth> {
    words(PALETTES)
}

/// A name of what is written. `-` is standard input elsewhere, so that it names no file here.
fn written(name: &str) -> Result<PathBuf, String> {
    if name == STANDARD_INPUT {
        return Err("it is the name of a stream; name a file, or one that is called so as ./-".to_owned());
    }
    Ok(name.into())
}

/// Reads one of a few words.
fn words<T: Copy + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.map(|(word, _)| word)).try_map(move |word| {
        let known = words.iter().find(|(known, _)| *known == word);
        known.map(|(_, value)| *value).ok_or_else(|| format!("'{word}' is unknown"))
    })
}

#[cfg(test)]
mod tests;
