//! The figures of a list of scenarios, in parallel.

use rayon::prelude::*;

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::{Problem, Scenario};

use super::sweep::{Cancel, Pool};

/// The figures of each scenario on `pool`, in the order given; no figures and no problem for what was not reached before
/// `cancel`.
pub fn many(scenarios: &[Scenario], pool: &Pool, cancel: &Cancel) -> Vec<Result<Summary, Vec<Problem>>> {
    let one = |workspace: &mut Workspace, scenario: &Scenario| {
        if cancel.is_cancelled() { Err(Vec::new()) } else { summary(scenario, workspace) }
    };
    pool.install(|| scenarios.par_iter().with_max_len(1).map_init(Workspace::default, one).collect())
}

/// The same with nobody to cancel it.
pub fn summaries(scenarios: &[Scenario], pool: &Pool) -> Vec<Result<Summary, Vec<Problem>>> {
    many(scenarios, pool, &Cancel::default())
}
