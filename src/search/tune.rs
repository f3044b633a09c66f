//! The best micro-batch, accumulation and recompute of a scenario.

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::{Problem, Scenario};

/// What a cell settled on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuned {
    /// Sequences per micro-batch.
    pub micro_batch: u32,
    /// What is recomputed.
    pub recompute: Recompute,
    /// Micro-batches per step.
    pub accumulate: u32,
}

impl Tuned {
    /// What a scenario's plan says.
    pub fn of(scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        Self { micro_batch: plan.micro_batch, recompute: plan.recompute, accumulate: plan.accumulate }
    }

    /// Puts it into a scenario's plan.
    pub fn apply(self, scenario: &mut Scenario) {
        scenario.plan.micro_batch = self.micro_batch;
        scenario.plan.recompute = self.recompute;
        scenario.plan.accumulate = self.accumulate;
    }
}

/// Micro-batches that are tried: powers of two up to this.
pub(super) const MOST_SEQUENCES: u32 = 128;

/// Recompute modes that are tried.
pub(super) const RECOMPUTE: [Recompute; 3] = [Recompute::None, Recompute::Selective, Recompute::Full];

/// Calls `visit` with every candidate and its figures. The sequences of a step stay as close to the
/// plan's as whole micro-batches allow; memory grows with the micro-batch, so a mode is given up
/// once `visit` says that it no longer fits.
fn candidates(
    scenario: &Scenario,
    workspace: &mut Workspace,
    mut visit: impl FnMut(Tuned, &Summary) -> bool,
) -> Result<(), Vec<Problem>> {
    let sequences = scenario.plan.micro_batch.saturating_mul(scenario.plan.accumulate);
    let mut trial = scenario.clone();
    for recompute in RECOMPUTE {
        let sizes = std::iter::successors(Some(1_u32), |size| Some(size * 2));
        for micro_batch in sizes.take_while(|size| *size <= MOST_SEQUENCES) {
            let tuned = Tuned { micro_batch, recompute, accumulate: sequences.div_ceil(micro_batch).max(1) };
            tuned.apply(&mut trial);
            if !visit(tuned, &summary(&trial, workspace)?) {
                break;
            }
        }
    }
    Ok(())
}

/// The fastest candidate that fits; the one that comes closest to fitting where none does.
pub fn tuned(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Tuned, Summary), Vec<Problem>> {
    let mut best = (Tuned::of(scenario), summary(scenario, workspace)?);
    candidates(scenario, workspace, |tuned, summary| {
        if better(summary, &best.1) {
            best = (tuned, *summary);
        }
        summary.fits
    })?;
    Ok(best)
}

/// What fits goes before what does not, then throughput, then less memory.
fn better(a: &Summary, b: &Summary) -> bool {
    if a.fits != b.fits {
        return a.fits;
    }
    if !a.fits {
        return a.memory.peak < b.memory.peak;
    }
    (a.tokens_per_s_per_device, b.memory.peak) > (b.tokens_per_s_per_device, a.memory.peak)
}

/// The fastest candidate within each of several capacities, given as factors on the device's memory.
pub(super) fn best_within<const N: usize>(
    scenario: &Scenario,
    capacities: [f64; N],
    workspace: &mut Workspace,
) -> [Option<Summary>; N] {
    let mut best: [Option<Summary>; N] = [None; N];
    let _ = candidates(scenario, workspace, |_, summary| {
        let mut fits = false;
        for (best, factor) in best.iter_mut().zip(capacities) {
            if summary.memory.peak > summary.memory.capacity * factor {
                continue;
            }
            fits = true;
            let faster = |best: &Summary| summary.tokens_per_s_per_device > best.tokens_per_s_per_device;
            if best.as_ref().is_none_or(faster) {
                *best = Some(*summary);
            }
        }
        fits
    });
    best
}
