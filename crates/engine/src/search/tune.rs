//! The best micro-batch, accumulation and recompute of a scenario.

use std::fmt;

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::{Edit, Field, Problem, Scenario};

use super::evaluator::Cancel;
use super::plans::{Objective, PlanSearch, SearchLimits, SearchSpace, micro_batches};

/// The choice of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuned {
    /// Sequences per micro-batch.
    pub micro_batch: u32,
    /// Recompute.
    pub recompute: Recompute,
    /// Micro-batches per step.
    pub accumulate: u32,
}

impl From<&Scenario> for Tuned {
    /// The choice of a scenario's plan.
    fn from(scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        Self { micro_batch: plan.micro_batch, recompute: plan.recompute, accumulate: plan.accumulate }
    }
}

impl fmt::Display for Tuned {
    /// `micro 4, accum 2, recompute none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "micro {}, accum {}, recompute {}", self.micro_batch, self.accumulate, self.recompute)
    }
}

impl Tuned {
    /// As edits of a scenario: no accumulation where it follows from the global batch.
    pub fn edits(self, scenario: &Scenario) -> Vec<Edit> {
        let accumulate = (!scenario.plan.global_batch.is_held()).then(|| Edit::new(Field::Accumulate, self.accumulate));
        let chosen = [Edit::new(Field::MicroBatch, self.micro_batch), Edit::new(Field::Recompute, self.recompute)];
        chosen.into_iter().chain(accumulate).collect()
    }

    /// Puts it into a scenario, whose global batch stays held.
    pub fn apply(self, scenario: &mut Scenario) {
        for edit in self.edits(scenario) {
            // Each value is of its field's type, so that nothing can refuse it.
            let _ = edit.apply(scenario);
        }
        scenario.settle_batch();
    }
}

/// Recompute modes that are tried.
const RECOMPUTE: [Recompute; 3] = [Recompute::None, Recompute::Selective, Recompute::Full];

/// Those of them that a scenario's stack has.
pub(super) fn recomputes(scenario: &Scenario) -> impl Iterator<Item = Recompute> + use<'_> {
    let has = |mode: &Recompute| scenario.stack.runs.as_ref().is_none_or(|runs| runs.recomputes(*mode));
    RECOMPUTE.into_iter().filter(has)
}

/// Calls `visit` with candidates and their figures: in each mode micro-batches of growing size. The sequences of a step
/// stay as close to the global batch, or else to the plan's, as whole micro-batches allow.
///
/// Memory grows with the micro-batch, so a mode is left once `visit` says that a candidate does not fit.
fn grow(scenario: &Scenario, workspace: &mut Workspace, mut visit: impl FnMut(Tuned, Summary) -> bool) {
    let mut trial = scenario.clone();
    for recompute in recomputes(scenario) {
        for micro_batch in micro_batches() {
            let Some(accumulate) = scenario.accumulate_for(micro_batch) else { continue };
            let tuned = Tuned { micro_batch, recompute, accumulate };
            tuned.apply(&mut trial);
            if summary(&trial, workspace).is_ok_and(|summary| !visit(tuned, summary)) {
                break;
            }
        }
    }
}

/// The fastest candidate that fits safely, by the search over whole plans with nothing else free; the one that comes closest to
/// that where none does.
pub fn tuned(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Tuned, Summary), Vec<Problem>> {
    let search = PlanSearch::new(
        scenario.clone(),
        SearchSpace::only(&[Field::MicroBatch, Field::Recompute]),
        Objective::Throughput,
        SearchLimits::SAFE,
        1,
    );
    match search.run_alone(workspace, &Cancel::default()).plans.pop() {
        Some(best) => Ok((Tuned::from(&best.scenario), best.summary)),
        None => closest(scenario, workspace),
    }
}

/// The candidate of least memory: the smallest micro-batch with each recompute, or the plan's own choice.
fn closest(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Tuned, Summary), Vec<Problem>> {
    let plan = Tuned::from(scenario);
    let kept = scenario.keeps_batch();
    let smallest = scenario.accumulate_for(1).into_iter().flat_map(|accumulate| {
        recomputes(scenario).map(move |recompute| Tuned { micro_batch: 1, recompute, accumulate })
    });
    let mut trial = scenario.clone();
    let mut figures = |tuned: Tuned| {
        tuned.apply(&mut trial);
        Some((tuned, summary(&trial, workspace).ok()?))
    };
    let found = smallest.chain(kept.is_ok().then_some(plan)).filter_map(&mut figures);
    let least = found.reduce(|best, one| if one.1.memory.peak < best.1.memory.peak { one } else { best });
    if let Some(least) = least {
        return Ok(least);
    }
    kept.map_err(|problem| vec![problem])?;
    Ok((plan, summary(scenario, workspace)?))
}

/// The fastest candidate within each of several capacities, given as factors on the device's memory: of recompute only the
/// modes, since the step from one to the next is what 10 % more memory is asked to save.
pub(super) fn best_within<const N: usize>(
    scenario: &Scenario,
    capacities: [f64; N],
    workspace: &mut Workspace,
) -> [Option<Summary>; N] {
    let mut best: [Option<Summary>; N] = [None; N];
    grow(scenario, workspace, |_, summary| {
        let mut fits = false;
        for (best, factor) in best.iter_mut().zip(capacities) {
            if summary.memory.needed() > summary.memory.capacity * factor {
                continue;
            }
            fits = true;
            let faster = |best: &Summary| summary.tokens_per_s_per_device > best.tokens_per_s_per_device;
            if best.as_ref().is_none_or(faster) {
                *best = Some(summary);
            }
        }
        fits
    });
    best
}
