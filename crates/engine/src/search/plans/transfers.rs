//! How the transfers of the state may run, beside where it lies: when gradients are reduced, how far ahead weights are
//! gathered, and whether they stay gathered from forward to backward.

use crate::plan::Reduction;
use crate::scenario::{Layout, Scenario};
use crate::stack::Overlap;

use super::search_space::SearchSpace;

/// One way in which the transfers of the state run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateTransfers {
    pub reduction: Reduction,
    /// Whether gathered weights are freed after forward.
    pub reshards: bool,
    /// Units that are gathered ahead.
    pub prefetch: u32,
}

/// The values that a search may give to each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TransferChoices {
    reductions: Vec<Reduction>,
    reshards: Vec<bool>,
    /// The most first.
    prefetches: Vec<u32>,
}

impl TransferChoices {
    pub fn new(space: &SearchSpace, job: &Scenario) -> Self {
        Self { reductions: space.reductions(job), reshards: space.reshards(job), prefetches: space.prefetches(job) }
    }

    /// The reduction with which least memory is held all the time.
    pub fn smallest(&self, own: Reduction) -> Reduction {
        // Reduced once a step, gradients are held whole.
        let part_by_part = |reduction: &&Reduction| **reduction != Reduction::Step;
        if own == Reduction::Step { self.reductions.iter().find(part_by_part).copied().unwrap_or(own) } else { own }
    }

    /// The ways that differ for a run of a job whose state lies in a layout: the job's own first, or the first of the
    /// others; of those that come to the same one alone. Those that differ in their prefetch alone are neighbours, the
    /// most first.
    pub fn all(&self, own: StateTransfers, run: &Scenario, layout: &Layout) -> Vec<StateTransfers> {
        let plan = &run.plan;
        // Operators, or experts with a mesh of their own, may lie elsewhere than the layout says.
        let apart = layout.has_expert_mesh() || !plan.operators.is_empty();
        let by_unit = !plan.staged();
        let gathers = by_unit && (layout.weights > 1 || apart);
        // What stops compute gains nothing from being early.
        let stops = matches!(run.stack.overlap, Overlap::None | Overlap::Reductions);
        let ahead = (gathers || by_unit && plan.offload.state()) && !stops;
        let replicas = by_unit && plan.accumulate > 1 && (layout.gradients < layout.group() || apart);
        let effect = |reduction: Reduction| {
            let once = reduction == Reduction::Step && (layout.gradients > 1 || apart);
            (once, replicas && plan.sums_each_micro_batch(reduction))
        };
        let mut reductions: Vec<Reduction> = Vec::new();
        for reduction in with_own(own.reduction, &self.reductions, true) {
            if !reductions.iter().any(|known| effect(*known) == effect(reduction)) {
                reductions.push(reduction);
            }
        }
        let reshards = with_own(own.reshards, &self.reshards, gathers);
        let prefetches = if ahead { self.prefetches.clone() } else { with_own(own.prefetch, &self.prefetches, false) };
        let mut found = Vec::with_capacity(reductions.len() * reshards.len() * prefetches.len());
        for reduction in reductions {
            for reshards in reshards.iter().copied() {
                found.extend(prefetches.iter().map(|prefetch| StateTransfers {
                    reduction,
                    reshards,
                    prefetch: *prefetch,
                }));
            }
        }
        let alike = found.iter().take(prefetches.len()).position(|way| way.prefetch == own.prefetch);
        if let Some(place) = alike {
            found[..=place].rotate_right(1);
        }
        found
    }
}

/// The values of which one stands for all where they come to the same: the own first, if it is among them.
fn with_own<T: Copy + PartialEq>(own: T, values: &[T], differ: bool) -> Vec<T> {
    let mut found: Vec<T> = values.iter().copied().filter(|value| *value == own).collect();
    found.extend(values.iter().copied().filter(|value| *value != own));
    if !differ {
        found.truncate(1);
    }
    found
}

impl StateTransfers {
    /// Those of a job.
    pub fn of_job(job: &Scenario) -> Self {
        let plan = &job.plan;
        Self { reduction: plan.reduction, reshards: plan.sharding.reshard_after_forward, prefetch: plan.prefetch }
    }

    /// Puts them into a job.
    pub fn apply(self, job: &mut Scenario) {
        let plan = &mut job.plan;
        (plan.reduction, plan.prefetch) = (self.reduction, self.prefetch);
        plan.sharding.reshard_after_forward = self.reshards;
    }

    /// Whether another way differs in nothing but its prefetch.
    pub fn differs_in_prefetch(self, other: Self) -> bool {
        Self { prefetch: other.prefetch, ..self } == other
    }
}
