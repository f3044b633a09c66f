//! The best micro-batch, accumulation and recompute of a scenario.

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::{Edit, Field, Problem, Scenario};

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

impl From<&Scenario> for Tuned {
    /// What a scenario's plan says.
    fn from(scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        Self { micro_batch: plan.micro_batch, recompute: plan.recompute, accumulate: plan.accumulate }
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
        let plan = &mut scenario.plan;
        (plan.micro_batch, plan.recompute, plan.accumulate) = (self.micro_batch, self.recompute, self.accumulate);
    }
}

/// Micro-batches that are tried: powers of two up to this.
pub(super) const MOST_SEQUENCES: u32 = 128;

/// Recompute modes that are tried.
pub(super) const RECOMPUTE: [Recompute; 3] = [Recompute::None, Recompute::Selective, Recompute::Full];

/// Where the search of a recompute mode begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModeStart {
    /// At one sequence.
    One,
    /// At the micro-batch that the mode before could not take.
    WhereStopped,
}

/// Calls `visit` with candidates and their figures: in each mode micro-batches of growing size. The sequences of a step
/// stay as close to the global batch, or else to the plan's, as whole micro-batches allow.
///
/// Memory grows with the micro-batch, so a mode is left once `visit` says that a candidate does not fit, or once too few
/// micro-batches remain for the schedule.
fn grow(
    scenario: &Scenario,
    workspace: &mut Workspace,
    start: ModeStart,
    mut visit: impl FnMut(Tuned, Summary) -> bool,
) {
    let mut trial = scenario.clone();
    let mut micro_batch = 1;
    for recompute in RECOMPUTE {
        if start == ModeStart::One {
            micro_batch = 1;
        }
        while micro_batch <= MOST_SEQUENCES {
            // What one size does not divide, none of twice its size does.
            let Some(accumulate) = scenario.accumulate_for(micro_batch) else { break };
            let tuned = Tuned { micro_batch, recompute, accumulate };
            tuned.apply(&mut trial);
            if !summary(&trial, workspace).is_ok_and(|summary| visit(tuned, summary)) {
                break;
            }
            micro_batch *= 2;
        }
    }
}

/// The fastest candidate that fits; the one that comes closest to fitting where none does.
pub fn tuned(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Tuned, Summary), Vec<Problem>> {
    let mut best: Option<(Tuned, Summary)> = None;
    let mut keep_better = |tuned: Tuned, summary: Summary| {
        if best.as_ref().is_none_or(|(_, best)| better(&summary, best)) {
            best = Some((tuned, summary));
        }
        summary.fits
    };
    // The plan's own choice competes, where the grid does not have it.
    let plan = Tuned::from(scenario);
    let on_grid = plan.micro_batch.is_power_of_two() && plan.micro_batch <= MOST_SEQUENCES;
    let own = if on_grid && RECOMPUTE.contains(&plan.recompute) || scenario.keeps_batch().is_err() {
        None
    } else {
        summary(scenario, workspace).ok()
    };
    if let Some(summary) = own {
        keep_better(plan, summary);
    }
    // More recompute takes time and saves nothing but memory: what fits with less of it is not tried with more.
    grow(scenario, workspace, ModeStart::WhereStopped, keep_better);
    if let Some(best) = best {
        return Ok(best);
    }
    scenario.keeps_batch().map_err(|problem| vec![problem])?;
    Ok((plan, summary(scenario, workspace)?))
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
    // Each capacity stops a mode at another micro-batch, so none can tell the next mode where to begin.
    grow(scenario, workspace, ModeStart::One, |_, summary| {
        let mut fits = false;
        for (best, factor) in best.iter_mut().zip(capacities) {
            if summary.memory.peak > summary.memory.capacity * factor {
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
