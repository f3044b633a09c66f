//! The figures of a list of scenarios, in parallel.

use rayon::prelude::*;

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::Scenario;

use super::sweep::Cancel;

/// The figures of each scenario on `pool`, in the order given; `None` for one that cannot be, and for what was not
/// reached before `cancel`.
pub fn many(scenarios: &[Scenario], pool: &rayon::ThreadPool, cancel: &Cancel) -> Vec<Option<Summary>> {
    let one = |workspace: &mut Workspace, scenario: &Scenario| {
        (!cancel.is_cancelled()).then(|| summary(scenario, workspace).ok()).flatten()
    };
    pool.install(|| scenarios.par_iter().with_max_len(1).map_init(Workspace::default, one).collect())
}
