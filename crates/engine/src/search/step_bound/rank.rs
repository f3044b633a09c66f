//! Sums over the units or stages of one pipeline rank. Not for what ranks wait for.

use crate::cost::Transfer;
use crate::plan::pass::{PerDirection, STAGE_BUFFERS};
use crate::program::{EndTransferCounts, StageCost, StageTransferCounts};
use crate::stack::Overlap;
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
    /// All gathers and all reductions.
    gathers: BoundLine,
    reductions: BoundLine,
    /// Those of them that cannot but lie between its first pass and its last.
    between: [BoundLine; 2],
    update: Seconds,
    stages: usize,
}

impl RankSums {
    /// The sums of a rank; without counts none of its transfers.
    pub fn new(bound: &StepBound<'_>, rank: usize, counts: Option<&EndTransferCounts>) -> Self {
        let mut sums = Self { stages: bound.stages_per_rank(), ..Self::default() };
        // Gathers that may be ahead of the first pass.
        let ahead = if bound.staged { STAGE_BUFFERS } else { 1 + bound.prefetch };
        let mut buffers = STAGE_BUFFERS as f64;
        for (place, part, count) in bound.in_rows(rank) {
            let PerDirection { forward, backward } = part.compute;
            sums.compute.forward += forward * count;
            sums.compute.backward += backward * count;
            sums.until_next += (part.until_next.forward + part.until_next.backward) * count;
            let Some(counts) = counts else { continue };
            sums.computing += part.computing * count;
            sums.beside += part.beside * count;
            sums.from_host += part.from_host * count;
            sums.to_host += part.to_host * count;
            sums.load += part.load.forward * count;
            sums.store += part.store * count;
            sums.update += part.update * count;
            let counts = bound.transfer_counts(rank, place, sums.stages, counts);
            let time = |transfer: &Transfer| transfer.time;
            // How many of them are at the first places.
            let among_first = |places: usize| count.min(places.saturating_sub(place) as f64);
            let (gathers, complete) = (gathers(part, counts, time) * count, part.reduce.complete.time);
            let reductions = reductions(part, counts, time) * count;
            sums.gathers = sums.gathers + gathers;
            sums.reductions = sums.reductions + reductions.after(complete * count);
            let [gathered, reduced] = &mut sums.between;
            *gathered = *gathered + gathers.after(part.gather.forward.time * -among_first(ahead));
            if let Some(StageTransferCounts { stalls, .. }) = counts {
                sums.stalls += part.gather.forward.time * stalls.forward + part.gather.backward.time * stalls.backward;
            }
            if bound.terms.buffered {
                // Two buffers may be left after the last pass, of the first that are reduced. Sums over replicas all may.
                let left = held_in_buffers(part, count, &mut buffers);
                *reduced = *reduced + reductions.after(complete * (count - left));
            }
        }
        sums
    }

    /// Between its first pass and its last a rank computes for `A`, and for `X` in all nothing computes, while tensor ranks
    /// exchange or a gather holds the rank up. Of the transfers of a stream, `C` in all, each takes a share `c` of the
    /// device, since the device does no more than it can, except for the `X` at most that run then: `A + X + c (C - X)`,
    /// summed over the streams.
    pub fn device(&self, bound: &StepBound<'_>, sends: bool) -> BoundLine {
        let share = bound.terms.contention.get();
        let exchanged = (self.compute.forward + self.compute.backward - self.computing).max(Seconds::ZERO);
        let idle = BoundLine { fixed: self.stalls, each: exchanged };
        let line = |fixed: Seconds, each: Seconds| BoundLine { fixed, each };
        // The first and the last stage of all send one way only; the last of all sends may follow the last pass.
        let send = if sends { bound.terms.send } else { Seconds::ZERO };
        let sent = line(-send, send * (2.0 * self.stages as f64 - 1.0));
        let [gathers, reductions] = self.between;
        let [first, second] =
            if bound.in_turn() { [gathers + reductions, BoundLine::default()] } else { [gathers, reductions] };
        let streams = [(first, 1), (second, 1), (sent, 1), (line(Seconds::ZERO, self.beside), bound.beside)];
        let computing = line(Seconds::ZERO, self.computing);
        let all = streams.into_iter().fold(computing, |sum, (line, _)| sum + line * share);
        let hidden = streams.into_iter().fold(computing + idle, |sum, (line, count)| {
            let rest = line + idle * -f64::from(count);
            // What may all run then takes nothing. Either sum holds for any number of micro-batches.
            if rest.at(bound.micro_batches) > Seconds::ZERO { sum + rest * share } else { sum }
        });
        if hidden.at(bound.micro_batches) >= all.at(bound.micro_batches) { hidden } else { all }
    }
}

impl RankSums {
    /// Transfers that stop compute are on its stream, and pass in line with it and with the update: `A + G + R`; `None`
    /// where none are.
    pub fn in_line(&self, bound: &StepBound<'_>, first: &StageCost) -> Option<BoundLine> {
        let (last, reductions) = match bound.overlap {
            Overlap::None => (Seconds::ZERO, self.reductions),
            Overlap::Reductions => (first.reduce.complete.time, BoundLine::default()),
            Overlap::OneStream | Overlap::Independent => return None,
        };
        // Nothing hides what follows the first unit or stage, which is the last in backward.
        let fixed = last + first.replicas.time + self.update;
        Some(BoundLine { fixed, each: self.computing } + self.gathers + reductions)
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

/// Of so many units or stages alike, taken in the order of forward, those whose gradients the free buffers may hold to the end: frozen
/// ones have none.
pub(super) fn held_in_buffers(part: &StageCost, count: f64, free: &mut f64) -> f64 {
    let held = if part.reduce.complete.time > Seconds::ZERO { count.min(*free) } else { 0.0 };
    *free -= held;
    held
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
