//! Arguments of `export --to sbatch --sweep`: a sweep, and how it is divided.
//!
//! Not for what a sweep is: [`super::sweep`].

use clap::Args;

use shardscope_engine::search::Axis;
use shardscope_interop::job_array::MOST_PARTS;
use shardscope_report::figures::Figure;

use super::sweep::metrics;

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
