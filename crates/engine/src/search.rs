//! Many evaluations: sweeps over two axes, tuned cells, elasticities, lists, plans. The only user of rayon.

mod advice;
mod axis;
mod candidate;
mod diagnosis;
mod elasticity;
mod evaluator;
mod grid;
mod levels;
pub mod limiting_factor;
mod nearest;
pub mod options;
mod part;
pub mod planner;
pub mod plans;
mod published;
pub mod sequences;
mod setbacks;
mod step_bound;
mod strategies;
mod sweep;
pub mod training;
mod tune;

use crate::evaluate::{self, ErrorBand, Evaluation, Nudge, details, nudges, stages, summary, traced};
use crate::plan::BesideModel;
use crate::scenario::{Checked, Problem, Scenario};
use crate::stack::ConstantValues;
use crate::units::Seconds;

pub use crate::evaluate::Workspace;
pub use advice::{Advice, AdviceSearch, Fixes, Suggestion, WORTHWHILE_GAIN, fix};
pub use axis::{Axis, word};
pub use candidate::Candidate;
pub use diagnosis::{CauseKind, Change, ChoicePrice, Diagnosis, Hypothesis, OwnFigure, diagnose};
pub use evaluator::{Cancel, Evaluator, MOST_THREADS, Pool, pool, pool_beginning_with};
pub use grid::{Best, GridRow, GridSearch};
pub use nearest::{Lacking, NearestPlan, nearest_plan, nearest_possible};
pub use part::WorkPart;
pub use published::{Comparison, PublishedComparison, compare};
pub use strategies::{StrategyOutcome, outcomes, strategies, with_strategy};
pub use sweep::{Cell, Sweep};
pub use tune::{Tuned, tuned};

/// Everything about one scenario: figures, trace, elasticities, and how sure the step time is.
pub fn full(scenario: &Scenario, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    full_of_checked(&scenario.checked()?, workspace)
}

/// Everything about a scenario that was checked.
pub fn full_of_checked(scenario: &Checked, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    let once = evaluation(scenario, workspace)?;
    let step_time = once.summary.step_time;
    let slopes = slopes(scenario, step_time, workspace);
    let error_band = ErrorBand::of_summary(scenario, &once.summary, Some(&slopes));
    let (elasticity, mut setbacks) = elasticity::all(scenario, &once.summary, workspace);
    setbacks.extend(setbacks::of_choices(scenario, &once.summary, workspace));
    Ok(Evaluation { elasticity, setbacks, error_band, ..once })
}

/// How the logarithm of a scenario's step time changes with each constant, per share of its range.
pub fn slopes(scenario: &Scenario, step_time: Seconds, workspace: &mut Workspace) -> ConstantValues {
    let moved = |nudge: Nudge| {
        let moved = summary(&nudge.scenario, workspace).ok()?.step_time.get();
        Some((nudge, moved))
    };
    let moved: Vec<(Nudge, f64)> = nudges(scenario).into_iter().filter_map(moved).collect();
    evaluate::slopes(step_time.get(), moved)
}

/// Figures and trace of one run: no elasticities, and a band as if the constants were exact.
pub fn once(scenario: &Scenario, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    evaluation(&scenario.checked()?, workspace)
}

fn evaluation(scenario: &Checked, workspace: &mut Workspace) -> Result<Evaluation, Vec<Problem>> {
    let (summary, trace) = traced(scenario, workspace)?;
    let stages = stages(scenario, workspace);
    let error_band = ErrorBand::of_summary(scenario, &summary, None);
    let details = details(scenario, &trace, workspace);
    let ahead = ahead(scenario);
    Ok(Evaluation { summary, stages, trace, elasticity: Vec::new(), setbacks: Vec::new(), error_band, details, ahead })
}

/// Time of the pass that computes ahead what a reference gives for the examples of a step: that of the model itself, as it begins.
fn ahead(scenario: &Scenario) -> Option<Seconds> {
    if scenario.plan.reference() != BesideModel::Precomputed {
        return None;
    }
    let mut within = scenario.clone();
    within.plan.post_training.reference = Some(BesideModel::Resident);
    Some(summary(&within, &mut Workspace::default()).ok()?.phases.beside)
}

#[cfg(test)]
mod tests;
