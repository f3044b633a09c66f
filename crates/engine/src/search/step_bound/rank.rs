//! Sums over the units or stages of one pipeline rank. Not for what ranks wait for.

use crate::cost::Transfer;
use crate::plan::pass::{PerDirection, STAGE_BUFFERS};
use crate::program::{EndTransferCounts, StageCost, StageTransferCounts, StepTerms};
use crate::units::Seconds;

use super::StepBound;
use super::line::BoundLine;

/// A rank's passes of a micro-batch, and its transfers of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RankSums {
    pub compute: PerDirection<Seconds>,
    /// Both passes, until the next ones may begin.
    pub until_next: Seconds,
    computing: Seconds,
    beside: Seconds,
    pub from_host: Seconds,
    pub to_host: Seconds,
    /// Copies of the weights from the host, and of the gradients to it.
    pub load: Seconds,
    pub store: Seconds,
    /// Gathers for which it waits while it computes nothing.
    pub stalls: Seconds,
    /// Gathers and reductions that cannot but lie between its first pass and its last.
    between: BoundLine,
    pub has_replicas: bool,
    stages: usize,
}

impl RankSums {
    /// The sums of a rank; without counts none of its transfers.
    pub fn new(bound: &StepBound<'_>, rank: usize, counts: Option<&EndTransferCounts>) -> Self {
        let mut sums = Self { stages: bound.stages_per_rank(), ..Self::default() };
        // Gathers that may be ahead of the first pass.
        let ahead = if bound.staged { STAGE_BUFFERS } else { 1 + bound.prefetch };
        for (place, part) in bound.of_rank(rank).enumerate() {
            let PerDirection { forward, backward } = part.compute;
            sums.compute.forward += forward;
            sums.compute.backward += backward;
            sums.until_next += part.until_next.forward + part.until_next.backward;
            let Some(counts) = counts else { continue };
            sums.computing += part.computing;
            sums.beside += part.beside;
            sums.from_host += part.from_host;
            sums.to_host += part.to_host;
            sums.load += part.load.forward;
            sums.store += part.store;
            sums.has_replicas |= part.replicas.time > Seconds::ZERO;
            let counts = bound.transfer_counts(rank, place, sums.stages, counts);
            let time = |transfer: &Transfer| transfer.time;
            sums.between = sums.between + gathers(part, counts, time);
            if place < ahead {
                sums.between.fixed -= part.gather.forward.time;
            }
            if let Some(StageTransferCounts { stalls, .. }) = counts {
                sums.stalls += part.gather.forward.time * stalls.forward + part.gather.backward.time * stalls.backward;
            }
            if bound.terms.buffered {
                // Two buffers may be left after the last pass. Sums over replicas all may.
                let last = if place < STAGE_BUFFERS { Seconds::ZERO } else { part.reduce.complete.time };
                sums.between = sums.between + reductions(part, counts, time).after(last);
            }
        }
        sums
    }

    /// Between its first pass and its last a rank computes for `A`, and of its transfers, `C` in all, each takes a share
    /// `c` of the device: `A + c C`, since the device does no more than it can. While tensor ranks exchange, or a gather
    /// holds the rank up, `X` in all, nothing computes, and `k` streams can hide `k X` of the transfers:
    /// `A + c (C - k X) + X`.
    pub fn device(&self, terms: &StepTerms, streams: u32, sends: bool) -> BoundLine {
        let share = terms.contention.get();
        let hidden = (1.0 - share * f64::from(streams)).max(0.0);
        let exchanged = (self.compute.forward + self.compute.backward - self.computing).max(Seconds::ZERO);
        // The first and the last stage of all send one way only; the last of all sends may follow the last pass.
        let each = if sends { terms.send * (2.0 * self.stages as f64 - 1.0) } else { Seconds::ZERO };
        let last = if sends { terms.send } else { Seconds::ZERO };
        BoundLine {
            fixed: (self.between.fixed - last) * share + self.stalls * hidden,
            each: self.computing + (self.beside + self.between.each + each) * share + exchanged * hidden,
        }
    }
}

impl StepBound<'_> {
    /// How often a stage of a rank is gathered and reduced, at least; `None` for units, which are at every micro-batch.
    pub(super) fn transfer_counts(
        &self,
        rank: usize,
        place: usize,
        stages: usize,
        counts: &EndTransferCounts,
    ) -> Option<StageTransferCounts> {
        let known = match rank {
            0 => counts.first_rank.get(place),
            rank if rank + 1 == self.ranks => counts.last_rank.get(place),
            _ => None,
        };
        // Once in either direction, but for the stages that are in their buffers at the turn.
        let backward = if place + STAGE_BUFFERS < stages { 1.0 } else { 0.0 };
        let gathers = PerDirection { forward: 1.0, backward };
        let once = StageTransferCounts { gathers, ..StageTransferCounts::default() };
        self.staged.then(|| known.copied().unwrap_or(once))
    }
}

/// Something of all gathers of a unit or stage.
pub(super) fn gathers(
    part: &StageCost,
    counts: Option<StageTransferCounts>,
    moved: impl Fn(&Transfer) -> Seconds,
) -> BoundLine {
    let PerDirection { forward, backward } = &part.gather;
    match counts {
        Some(StageTransferCounts { gathers, .. }) => {
            let fixed = moved(forward) * gathers.forward + moved(backward) * gathers.backward;
            BoundLine { fixed, each: Seconds::ZERO }
        }
        None => BoundLine { fixed: Seconds::ZERO, each: moved(forward) + moved(backward) },
    }
}

/// Something of all reductions of a unit or stage but the last.
pub(super) fn reductions(
    part: &StageCost,
    counts: Option<StageTransferCounts>,
    moved: impl Fn(&Transfer) -> Seconds,
) -> BoundLine {
    let one = moved(&part.reduce.partial);
    match counts {
        Some(StageTransferCounts { reductions, .. }) => BoundLine { fixed: one * reductions, each: Seconds::ZERO },
        None => BoundLine { fixed: -one, each: one },
    }
}
