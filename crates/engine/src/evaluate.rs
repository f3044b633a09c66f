//! Evaluates one scenario: builds its program, runs it, and works out the figures. Not for what takes many runs, as
//! sweeps and elasticities do ([`crate::search`]), and not for explaining or printing figures (`figures`).

mod band;
mod basis;
mod details;
mod evaluation;
mod expense;
mod failures;
mod figures;
mod lacks;
mod phases;
mod rollouts;
mod sensitivity;
mod simulation;
mod span_micro_batches;
mod step_phase;
mod summary;
mod trace;
mod window;

use std::sync::Arc;

use crate::cost::Factors;
use crate::program::UnitWork;
use crate::scenario::{Checked, Problem, Scenario};

pub use crate::program::{Activity, Copies, HostDirection, HostMemory, ModelPart, StateBytes, Stream, TaskKind};
pub use band::{
    COVERAGE_SIGMA, ErrorBand, SAFE_CHANCE, Unmeasured, beyond, chance_of_fitting, evidence, likeness, peak_half_width,
    peak_spread,
};
pub(crate) use band::{chance_of_room, fits_safely, safe_share};
pub use details::Details;
pub use evaluation::{Elasticity, Evaluation, More, Property, Setback};
pub use expense::Expense;
pub use failures::{FailureForecast, checkpoint_bandwidth, checkpoint_size};
pub use figures::{HostTraffic, Memory, MemoryParts, Phases, Resource, Summary, TimeParts, Traffic};
pub use lacks::{NearestLack, lacks};
pub use sensitivity::Nudge;
pub use sensitivity::{nudges, slopes};
pub use span_micro_batches::SpanMicroBatches;
pub use step_phase::{PhaseKind, PhaseLane, StepPhase};
pub(crate) use summary::StepLimits;
pub use summary::Workspace;
pub use trace::{Folded, IdleCause, MemoryPoint, Span, Stall, Trace};
pub use window::Timed;
pub use window::{InOrder, WindowTotals};

/// The figures of one scenario. Nothing is allocated once the workspace has grown to its size.
pub fn summary(scenario: &Scenario, workspace: &mut Workspace) -> Result<Summary, Vec<Problem>> {
    summary_with(&workspace.checked(scenario)?, &Factors::default(), workspace)
}

/// The figures of one scenario; `None` where its step is seen to go beyond limits before it ends. The work of its units may
/// be known from a scenario that differs in where the state lies alone.
pub(crate) fn summary_within(
    scenario: &Scenario,
    known: Option<&Arc<UnitWork>>,
    limits: &StepLimits,
    workspace: &mut Workspace,
) -> Result<Option<Summary>, Vec<Problem>> {
    summary::run_within(&scenario.checked()?, known, limits, workspace)
}

/// The figures of one scenario on hardware with what-if factors.
pub(crate) fn summary_with(
    scenario: &Checked,
    factors: &Factors,
    workspace: &mut Workspace,
) -> Result<Summary, Vec<Problem>> {
    summary::run(scenario, factors, workspace, true)
}

/// The figures of one scenario, and what runs when.
pub fn traced(scenario: &Checked, workspace: &mut Workspace) -> Result<(Summary, Trace), Vec<Problem>> {
    trace::run(scenario, workspace)
}

/// A timeline of a step of at most so many tasks with nothing folded away; nothing where it has more.
pub fn traced_whole(scenario: &Checked, most: u64, workspace: &mut Workspace) -> Result<Option<Trace>, Vec<Problem>> {
    trace::whole(scenario, most, workspace)
}

/// Memory of each pipeline rank in the run that was made last in this workspace.
pub fn stages(scenario: &Scenario, workspace: &Workspace) -> Vec<Memory> {
    summary::stages(scenario, workspace)
}

/// Inputs to explanations of the run that was made last in this workspace.
pub fn details(scenario: &Checked, trace: &Trace, workspace: &Workspace) -> Details {
    Details::new(scenario, trace, workspace)
}

/// A pipeline's step in the order of ZB-H1, which no plan can name.
///
/// # Panics
///
/// If the scenario is not valid: this is for tests.
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::panic, reason = "a helper of tests ends the test")]
pub fn zero_bubble(scenario: &Scenario) -> Trace {
    let program = crate::program::Program::scheduled(scenario, &crate::plan::zero_bubble::RULES);
    let mut workspace = Workspace { program, ..Workspace::default() };
    trace::record(scenario, &mut workspace, false).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[cfg(test)]
mod tests;
