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
/// once `visit` says that it no longer fits, or once too few micro-batches are left for the schedule.
fn candidates(scenario: &Scenario, workspace: &mut Workspace, mut visit: impl FnMut(&Summary) -> bool) {
    let sequences = scenario.plan.micro_batch.saturating_mul(scenario.plan.accumulate);
    let mut trial = scenario.clone();
    for recompute in RECOMPUTE {
        let sizes = std::iter::successors(Some(1_u32), |size| Some(size * 2));
        for micro_batch in sizes.take_while(|size| *size <= MOST_SEQUENCES) {
            let tuned = Tuned { micro_batch, recompute, accumulate: sequences.div_ceil(micro_batch).max(1) };
            tuned.apply(&mut trial);
            if !summary(&trial, workspace).is_ok_and(|summary| visit(&summary)) {
                break;
            }
        }
    }
}

/// The fastest candidate that fits; the one that comes closest to fitting where none does.
///
/// To compute again takes time and no less of anything but memory: a micro-batch that fits with less of it is not tried
/// with more.
pub fn tuned(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Tuned, Summary), Vec<Problem>> {
    let mut trial = scenario.clone();
    let mut best: Option<(Tuned, Summary)> = None;
    let mut attempt = |tuned: Tuned| -> bool {
        tuned.apply(&mut trial);
        // Larger micro-batches may leave too few of them for the schedule.
        let Ok(summary) = summary(&trial, workspace) else { return false };
        if best.as_ref().is_none_or(|(_, best)| better(&summary, best)) {
            best = Some((tuned, summary));
        }
        summary.fits
    };
    let plan = Tuned::of(scenario);
    let power = plan.micro_batch.is_power_of_two() && plan.micro_batch <= MOST_SEQUENCES;
    if !power || !RECOMPUTE.contains(&plan.recompute) {
        attempt(plan);
    }
    let sequences = plan.micro_batch.saturating_mul(plan.accumulate);
    let mut micro_batch = 1;
    for recompute in RECOMPUTE {
        while micro_batch <= MOST_SEQUENCES
            && attempt(Tuned { micro_batch, recompute, accumulate: sequences.div_ceil(micro_batch).max(1) })
        {
            micro_batch *= 2;
        }
    }
    match best {
        Some(best) => Ok(best),
        None => Ok((plan, summary(scenario, workspace)?)),
    }
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
    candidates(scenario, workspace, |summary| {
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
