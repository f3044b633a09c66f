//! Arguments of `sweep`.
//!
//! Not for what an axis means.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::args::{ScenarioArgs, TableForm, written};
use shardscope_engine::search::{Axis, WorkPart};
use shardscope_report::figures::{self, Figure, METRICS};

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Horizontal axis, like nodes=1..64; VALUES: 1,2,4, or 1..64 (doubling, with its end), or 1..64:3 (step)
    #[arg(long, value_name = "AXIS=VALUES")]
    pub x: Axis,
    /// Vertical axis, like shard=node,system or strategy=zero3,zeropp; AXIS: any scenario flag; memory is
    /// the what-if factor on device memory
    #[arg(long, value_name = "AXIS=VALUES")]
    pub y: Axis,
    /// Figure of each cell, in the same unit in every format: throughput and limit in TFLOP/s per device,
    /// step-time in s, memory and headroom in GiB; mfu, exposed (of the step) and share-of-limit in %
    #[arg(long, default_value = Figure::ModelFlops.word(), value_parser = metrics())]
    pub metric: Figure,
    /// Give each cell its best micro-batch, recompute and accumulation
    #[arg(long)]
    pub tune: bool,
    /// One of N parts of the sweep, from 0, as CSV: `merge` puts them together. A part ends with a line that says which
    /// it is, and exits with 0 whether or not anything in it fits
    #[arg(long, value_name = "K/N")]
    pub part: Option<WorkPart>,
    /// Format of the map; CSV is written as it is computed, however many cells there are
    #[arg(long, value_enum, default_value = "text")]
    pub format: TableForm,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

pub(super) fn metrics() -> impl TypedValueParser<Value = Figure> {
    PossibleValuesParser::new(METRICS.map(Figure::word)).try_map(|word| figures::metric(&word))
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// All parts of one sweep or search, in any order: what `sweep --part K/N --format csv` or `search --part K/N
    /// --format json` printed
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Write the whole here; an existing file needs --force
    #[arg(long, value_name = "FILE", value_parser = written)]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
}
