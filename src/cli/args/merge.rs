//! Arguments of `merge`.
//!
//! Not for what makes parts one whole.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// All parts of one sweep or search, in any order: what `sweep --part K/N --format csv` or `search --part K/N --format
    /// json` printed
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Write the whole here; an existing file needs --force
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
}
