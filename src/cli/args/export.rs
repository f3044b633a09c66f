//! Arguments of `export`.
//!
//! Not for what is exported.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ScenarioArgs;
use super::array::ArrayArgs;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Tool to export for
    #[arg(long, value_enum)]
    pub to: ExportTarget,
    /// Folder for the files, created if missing; by default the specification alone is printed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub array: ArrayArgs,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// Tools that take plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTarget {
    /// PyTorch FSDP2: fsdp2.json, module by module, and fsdp2.py, which applies it
    Fsdp2,
    /// Slurm: the job array of a sweep (--sweep)
    Sbatch,
}
