//! The buffers of a rank's virtual stages: when each stage must be gathered, and when its gradients leave. Not for the
//! transfers ([`super::pipeline`]).

use crate::plan::pass::{Pass, PassOrder, PassRun, PerDirection, STAGE_BUFFERS, StagePass, stage_buffer};

/// A stage that must be gathered for a run of passes, because no buffer holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StageGather {
    pub stage: u32,
    /// The stage that had the buffer before.
    pub evicts: Option<u32>,
    /// The run that needs it, for which pass, and whether it is the stage's first of all.
    pub run: usize,
    pub pass: Pass,
    pub first: bool,
    /// Runs that have passed where its gather is issued: when that buffer is free, or later.
    pub place: usize,
}

/// The stages to gather, in the order of the runs that need them: those that their buffer does not hold, each as soon
/// as it is free.
///
/// With stages 0, 1 and 2 in two buffers, forward gathers 0, 1, and 2 in place of 0; backward finds 2 and 1 there and
/// gathers 0 again in place of 2.
pub(super) fn stage_gathers(runs: &[PassRun]) -> Vec<StageGather> {
    let mut buffers: [Option<(u32, usize)>; STAGE_BUFFERS] = [None; STAGE_BUFFERS];
    let mut gathers = Vec::with_capacity(runs.len());
    for (run, passes) in runs.iter().map(PassRun::passes).enumerate() {
        // The gradients of weights are products of activations: that pass needs no weights.
        for StagePass { stage, pass, micro_batch } in passes.filter(|pass| pass.pass.propagates()) {
            // The buffer is free for another stage after this run, the last so far to use it.
            let held = buffers[stage_buffer(stage)].replace((stage, run + 1));
            if held.is_none_or(|(held, _)| held != stage) {
                let (evicts, place) = held.map_or((None, 0), |(held, free)| (Some(held), free));
                let first = !pass.is_backward() && micro_batch == 0;
                gathers.push(StageGather { stage, evicts, run, pass, first, place });
            }
        }
    }
    gathers
}

/// The stages that are in the buffers at the end.
pub(super) fn resident_at_end(gathers: &[StageGather]) -> impl Iterator<Item = u32> {
    let last = |index: usize| gathers.iter().map(|gather| gather.stage).rfind(|stage| stage_buffer(*stage) == index);
    (0..STAGE_BUFFERS).filter_map(last)
}

/// Runs that complete gradients of one stage, and runs between them that complete none. At its end the stage's
/// gradients leave their buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BackwardStretch {
    pub stage: u32,
    /// The runs of passes with which it begins and ends, by index.
    pub begins: usize,
    pub ends: usize,
    /// Whether none of the stage came before, and whether none follows.
    pub first: bool,
    pub last: bool,
}

/// The stretches of backward, in order.
pub(super) fn backward_stretches(runs: &[PassRun]) -> Vec<BackwardStretch> {
    let mut stretches: Vec<BackwardStretch> = Vec::with_capacity(runs.len());
    for (index, run) in runs.iter().enumerate() {
        let Some(StagePass { stage, .. }) = run.completing() else { continue };
        match stretches.last_mut() {
            // Forwards between two backwards of one stage do not disturb its gradient buffer.
            Some(stretch) if stretch.stage == stage => stretch.ends = index,
            _ => {
                let before = stretches.iter_mut().rfind(|before| before.stage == stage);
                let first = before.map(|before| before.last = false).is_none();
                stretches.push(BackwardStretch { stage, begins: index, ends: index, first, last: true });
            }
        }
    }
    stretches
}

/// Transfers of a rank's stage in a step: gathers for forward and for backward, and reductions of gradients before the
/// last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StageTransferCounts {
    /// Gathers for each direction.
    pub gathers: PerDirection<f64>,
    /// Gathers, the step's first apart, that stall the rank for their whole time, since only the pass right before them
    /// frees the buffer.
    pub stalls: PerDirection<f64>,
    /// Reductions before the last.
    pub reductions: f64,
}

impl StageTransferCounts {
    /// The counts of each stage of a rank.
    pub fn all(order: &PassOrder, stages: u32) -> Vec<Self> {
        let mut turns = vec![Self::default(); stages as usize];
        for gather in stage_gathers(&order.runs) {
            let (turns, times) = (&mut turns[gather.stage as usize], times(order, gather.run));
            *turns.gathers.get_mut(gather.pass) += times;
            // Where forward and backward alternate, the second of them is gathered while the first computes.
            let first = order.runs[gather.run].first;
            if gather.run > 0 && gather.place == gather.run && (first.stage, first.pass) == (gather.stage, gather.pass)
            {
                *turns.stalls.get_mut(gather.pass) += times;
            }
        }
        for stretch in backward_stretches(&order.runs).iter().filter(|stretch| !stretch.last) {
            turns[stretch.stage as usize].reductions += times(order, stretch.ends);
        }
        turns
    }
}

/// Transfer counts of the two pipeline ranks at the ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct EndTransferCounts {
    /// The first rank's counts, stage by stage.
    pub first_rank: Vec<StageTransferCounts>,
    /// The last rank's counts, stage by stage.
    pub last_rank: Vec<StageTransferCounts>,
}

/// Passes of a run, repeats of its loop and its group counted.
fn times(order: &PassOrder, run: usize) -> f64 {
    let of_loop = order.loops.iter().find(|of| of.runs.contains(&run)).map_or(1, |of| of.repeat);
    let of_group = if order.group.contains(&run) { order.groups } else { 1 };
    f64::from(of_loop) * f64::from(of_group)
}

#[cfg(test)]
mod tests;
