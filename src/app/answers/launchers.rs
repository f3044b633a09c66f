//! Who runs a plan, as reports ask it.

use shardscope_interop::runs_in::{missing, runs_in};
use shardscope_report::figures::RunsIn;

/// The launchers that are known.
pub const RUNS_IN: RunsIn = RunsIn { names: runs_in, missing };
