//! Many evaluations: sweeps over two axes, tuned cells, elasticities, lists, plans. The only user of rayon.

mod advice;
mod axis;
mod candidate;
mod elasticity;
mod evaluator;
mod grid;
mod levels;
mod part;
pub mod planner;
pub mod plans;
mod published;
mod strategies;
mod sweep;
pub mod training;
mod tune;

use crate::evaluate::{ErrorBand, Evaluation, Nudge, details, nudges, slopes, stages, summary, traced};
use crate::scenario::{Checked, Problem, Scenario};

pub use crate::evaluate::Workspace;
pub use advice::{AdviceRound, Adviser, Fixes, Suggestion, WORTH, fix, gains};
pub use axis::{Axis, axes, word};
pub use candidate::Candidate;
pub use evaluator::{Cancel, Evaluator, Pool, polite_pool, pool};
pub use grid::{Best, GridRow, GridSearch};
pub use part::WorkPart;
pub use published::{Comparison, PublishedComparison, compare};
pub use strategies::{StrategyOutcome, outcomes, strategies, with_strategy};
pub use sweep::{Cell, Sweep};
pub use tune::{Tuned, tuned};

/// Everything about one scenario: figures, trace, elasticities, and how sure the step time is.
pub fn full(scenario: &Scenario, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    let checked = scenario.checked()?;
    let once = evaluation(&checked, workspace)?;
    let step_time = once.summary.step_time;
    let moved = |nudge: Nudge| Some((summary(&nudge.scenario, workspace).ok()?.step_time.get(), nudge));
    let slopes = slopes(step_time.get(), nudges(scenario).into_iter().filter_map(moved).map(|(moved, nudge)| (nudge, moved)));
    let error_band = ErrorBand::around(scenario, step_time, Some(&slopes));
    Ok(Evaluation { elasticity: elasticity::all(&checked, step_time, workspace), error_band, ..once })
}

/// What one run tells: no elasticities, and a band as if the constants were exact.
pub fn once(scenario: &Scenario, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    evaluation(&scenario.checked()?, workspace)
}

fn evaluation(scenario: &Checked, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    let (summary, trace) = traced(scenario, workspace)?;
    let stages = stages(scenario, workspace);
    let error_band = ErrorBand::around(scenario, summary.step_time, None);
    let details = details(scenario, &trace, workspace);
    Ok(Evaluation { summary, stages, trace, elasticity: Vec::new(), error_band, details })
}

#[cfg(test)]
mod tests;
