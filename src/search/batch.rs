//! Many scenarios that have nothing in common but the wish for their figures.

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::{Problem, Scenario};

/// The figures of scenarios, in their order, on `pool`.
pub fn summaries(scenarios: &[Scenario], pool: &ThreadPool) -> Vec<Result<Summary, Vec<Problem>>> {
    pool.install(|| {
        scenarios.par_iter().map_init(Workspace::default, |workspace, scenario| summary(scenario, workspace)).collect()
    })
}
