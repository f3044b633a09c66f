//! The lower bound of a step's time and memory, for the search over plans ([`super::plans`]) and for that over trainings
//! ([`super::training`]): no simulation of the plan is below it.
//!
//! The bound is the greatest of lines `fixed + each x micro-batches`. It counts the passes of each rank, one after the
//! other, with those of other ranks that come before and after; the transfers that nothing hides: the first gather,
//! sends, the last reduction, the update; the traffic of each stream and each level; and the share of the device that
//! transfers take. Everything else is assumed to overlap. Units and stages are summed one by one, or the least of them
//! stands for all, so that the bound holds where layers differ. Not an estimate.

mod line;
mod memory;
mod rank;

use std::ops::Range;

use crate::cost::Transfer;
use crate::hardware::MAX_LEVELS;
use crate::plan::ScheduleRules;
use crate::plan::pass::{Pass, PerDirection, PipelineCounts, STAGE_BUFFERS};
use crate::program::{EndTransferCounts, PerGradients, StageCost, StepTerms};
use crate::scenario::{Layout, Scenario};
use crate::stack::Overlap;
use crate::units::Seconds;

use line::{BoundLine, BoundSpan, StepMaximum};
use rank::RankSums;

pub(super) use line::StepEnvelope;
pub(super) use memory::reserved;

/// Slack for the rounding of each task, microseconds long, to picoseconds.
pub(super) const ROUNDING: f64 = 1.0 - 1e-6;

/// The lower bound of steps that differ only in their number of micro-batches.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepBound<'a> {
    terms: &'a StepTerms,
    rules: &'static ScheduleRules,
    /// Stage `i` is of rank `i mod P`.
    ranks: usize,
    staged: bool,
    /// Units whose gathers may run ahead.
    prefetch: usize,
    /// Whether the first unit is the embedding and the last one the head.
    has_ends: bool,
    /// The plan's own.
    micro_batches: f64,
    /// Streams on which ranks may exchange beside compute while they exchange on another one.
    beside: u32,
    /// Levels that any transfer of the terms crosses.
    levels: usize,
    /// Whether the terms tell where all of the state lies. Units do not tell operators with shards of their own.
    knows_state: bool,
    /// What of communication runs beside compute.
    overlap: Overlap,
}

/// Transfers and update that nothing hides, before the first pass and after the last.
#[derive(Debug, Clone, Copy, Default)]
struct StepEnds {
    opening: Seconds,
    closing: Seconds,
}

impl<'a> StepBound<'a> {
    /// The bound of a scenario's plan, by the terms of its step.
    pub fn new(scenario: &Scenario, layout: &Layout, terms: &'a StepTerms) -> Self {
        let plan = &scenario.plan;
        let staged = plan.staged();
        Self {
            terms,
            rules: plan.schedule_rules(),
            ranks: if staged { layout.pipeline as usize } else { 1 },
            staged,
            prefetch: plan.prefetch as usize,
            has_ends: scenario.model.vocab > 0,
            micro_batches: f64::from(plan.accumulate),
            beside: u32::from(layout.context > 1) + u32::from(layout.has_expert_mesh()),
            levels: levels(terms),
            knows_state: staged || plan.operators.is_empty(),
            overlap: scenario.stack.overlap,
        }
    }

    /// Time of a step, with the transfers of the ranks at the pipeline's ends where their counts are known.
    pub fn time(&self, micro_batches: u32, counts: &EndTransferCounts) -> Seconds {
        let mut most = StepMaximum::new(micro_batches);
        self.lines(Some(counts), &mut |span, line| most.add(span, line));
        most.time()
    }

    /// Time of a step wherever the state lies: its transfers and update are left out.
    pub(crate) fn computing_time(&self, micro_batches: u32) -> Seconds {
        let mut most = StepMaximum::new(micro_batches);
        self.lines(None, &mut |span, line| most.add(span, line));
        most.time()
    }

    /// The bound for any number of micro-batches.
    pub(crate) fn envelope(&self) -> StepEnvelope {
        let mut envelope = StepEnvelope::default();
        self.lines(Some(&EndTransferCounts::default()), &mut |span, line| envelope.add(span, line));
        (0..self.ranks).flat_map(|rank| self.memory(rank)).for_each(|memory| envelope.add_memory(memory));
        envelope
    }

    /// Adds all lines; without counts those that hold wherever the state lies.
    fn lines(&self, counts: Option<&EndTransferCounts>, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        let counts = counts.filter(|_| self.knows_state);
        let ends = if counts.is_some() { self.ends() } else { StepEnds::default() };
        self.rank_lines(ends, counts, add);
        match counts {
            _ if self.staged && self.rules.alternates => {
                self.round_trip_lines(ends, add);
                self.turn_lines(ends, add);
            }
            _ if self.staged => self.phase_lines(ends, counts.is_some(), add),
            Some(_) => self.unit_lines(add),
            None => {}
        }
    }

    /// Whether gathers and reductions pass on one stream.
    fn in_turn(&self) -> bool {
        self.overlap == Overlap::OneStream
    }

    fn order(&self) -> impl Iterator<Item = &'a StageCost> + use<'a> {
        let terms = self.terms;
        terms.order.iter().map(move |part| &terms.parts[usize::from(*part)])
    }

    fn stage(&self, index: usize) -> &'a StageCost {
        &self.terms.parts[usize::from(self.terms.order[index])]
    }

    /// Pipeline ranks; one where units are not in stages.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The units or stages of a rank, in the order of forward.
    pub(crate) fn of_rank(&self, rank: usize) -> impl Iterator<Item = &'a StageCost> + use<'a> {
        let terms = self.terms;
        let places = (rank..terms.order.len()).step_by(self.ranks);
        places.map(move |place| &terms.parts[usize::from(terms.order[place])])
    }

    /// The units or stages of a rank in the order of forward: the place of each and its cost, and how many equal units
    /// follow one another there. Stages, whose transfers differ by their place, are listed one by one.
    fn in_rows(&self, rank: usize) -> impl Iterator<Item = (usize, &'a StageCost, f64)> + use<'a> {
        let (terms, ranks, staged) = (self.terms, self.ranks, self.staged);
        let mut next = 0;
        std::iter::from_fn(move || {
            let (place, rest) = (next, terms.order.get(rank + next * ranks..)?);
            let part = *rest.first()?;
            let alike = if staged { 1 } else { rest.iter().take_while(|other| **other == part).count() };
            next += alike;
            Some((place, &terms.parts[usize::from(part)], alike as f64))
        })
    }

    /// Equal units in a row, of those at some places: their cost, and how many they are.
    fn rows(&self, places: Range<usize>) -> impl Iterator<Item = (&'a StageCost, f64)> + use<'a> {
        let terms = self.terms;
        let rows = terms.order.get(places).unwrap_or_default().chunk_by(|one, other| one == other);
        rows.map(|row| (&terms.parts[usize::from(row[0])], row.len() as f64))
    }

    /// Whether a rank that is at neither end has the same stages as the one before it, which is at neither end either.
    fn is_as_before(&self, rank: usize) -> bool {
        let same = |stage: usize| self.terms.order[stage] == self.terms.order[stage - 1];
        rank > 1 && rank + 1 < self.ranks && (rank..self.terms.order.len()).step_by(self.ranks).all(same)
    }

    fn stages_per_rank(&self) -> usize {
        self.terms.order.len() / self.ranks
    }

    /// The first unit or stage is gathered before anything is computed; its gradients are reduced and summed over
    /// replicas, and what the first rank owns is updated, after everything is.
    fn ends(&self) -> StepEnds {
        let first = self.stage(0);
        let update: Seconds = self.in_rows(0).map(|(_, part, count)| part.update * count).sum();
        StepEnds {
            opening: first.load.forward + first.gather.forward.time,
            closing: first.reduce.complete.time + first.replicas.time + first.store + update,
        }
    }

    /// Each rank passes all its stages with all micro-batches, once the ranks before it have passed the first one.
    fn rank_lines(
        &self,
        ends: StepEnds,
        counts: Option<&EndTransferCounts>,
        add: &mut impl FnMut(BoundSpan, BoundLine),
    ) {
        let StepEnds { opening, closing } = ends;
        let stages = self.terms.order.len();
        let send = self.terms.send;
        let passed = |stage: &StageCost| PerDirection::from_fn(|pass| *stage.compute.get(pass) + send);
        let mut before = PerDirection::<Seconds>::default();
        let mut after = self.order().skip(stages - self.ranks).map(passed).fold(before, add_up);
        let mut sums = RankSums::new(self, 0, counts);
        for rank in 0..self.ranks {
            let (first, last) = (self.stage(rank), self.stage(stages - self.ranks + rank));
            if rank > 0 && !self.is_as_before(rank) {
                sums = RankSums::new(self, rank, counts);
            }
            // Rank 2 of 4: forward of ranks 0 and 1, then all its own work, then backward of ranks 1 and 0: none of that
            // can overlap.
            let around = opening + before.forward + before.backward + closing;
            add(BoundSpan::Step, BoundLine { fixed: around + sums.stalls, each: sums.until_next });
            after = PerDirection::from_fn(|pass| *after.get(pass) - *passed(last).get(pass));
            if self.staged && !self.rules.alternates {
                let fixed = opening + before.forward + after.forward;
                add(BoundSpan::Forward, BoundLine { fixed, each: sums.compute.forward });
                let fixed = before.backward + after.backward + closing;
                add(BoundSpan::Backward, BoundLine { fixed, each: sums.compute.backward });
            }
            if counts.is_some() {
                add(BoundSpan::Step, sums.device(self, self.staged && self.ranks > 1).after(around));
                if let Some(line) = sums.in_line(self, first) {
                    add(BoundSpan::Step, line);
                }
                add(BoundSpan::Step, BoundLine { fixed: sums.load, each: sums.from_host });
                add(BoundSpan::Step, BoundLine { fixed: sums.store, each: sums.to_host });
            }
            before = add_up(before, passed(first));
        }
        if let Some(counts) = counts {
            self.stream_lines(counts, add);
        }
    }

    /// The first rank's gathers pass one after the other, its reductions, and what crosses each level.
    fn stream_lines(&self, counts: &EndTransferCounts, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        let update: Seconds = self.in_rows(0).map(|(_, part, count)| part.update * count).sum();
        let stages = self.stages_per_rank();
        let streams = |moved: &dyn Fn(&Transfer) -> Seconds| {
            let each = |(place, part, count): (usize, &StageCost, f64)| {
                let counts = self.transfer_counts(0, place, stages, counts);
                let reductions = rank::reductions(part, counts, moved).after(moved(&part.reduce.complete));
                [rank::gathers(part, counts, moved) * count, reductions * count]
            };
            self.in_rows(0)
                .map(each)
                .fold([BoundLine::default(); 2], |[one, two], [more, other]| [one + more, two + other])
        };
        let [gathers, reductions] = streams(&|transfer| transfer.time);
        let lines = if self.in_turn() { [gathers + reductions; 2] } else { [gathers, reductions] };
        for line in lines {
            add(BoundSpan::Step, line.after(update));
        }
        for level in 0..self.levels {
            let [gathers, reductions] = streams(&|transfer| transfer.busy[level]);
            add(BoundSpan::Step, (gathers + reductions).after(update));
        }
    }

    /// Each micro-batch passes all units, there and back. The gathers of a pass run one after the other, each when
    /// compute begins the unit that is `prefetch` units earlier.
    fn unit_lines(&self, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        let (units, ends) = (self.terms.order.len(), usize::from(self.has_ends));
        let (first, last, count) = (self.stage(0), self.stage(units - 1), units - 2 * ends);
        let (all, layers) = (|| self.rows(0..units), ends..ends + count);
        // The gathers that a pass cannot have begun before it, in its order.
        let gathered = |pass: Pass| {
            let skipped = if pass.is_backward() { 0 } else { self.prefetch.min(count) };
            self.rows(ends + skipped..ends + skipped + count.saturating_sub(self.prefetch))
        };
        let compute = |unit: &StageCost, pass: Pass| *unit.compute.get(pass);
        let outside =
            |pass: Pass| if self.has_ends { compute(first, pass) + compute(last, pass) } else { Seconds::ZERO };
        // A pass takes at least all its arithmetic, and at least its gathers in a row and the shortest unit behind the
        // last.
        let whole = |pass: Pass| {
            let times = self.rows(layers.clone()).map(|(unit, _)| compute(unit, pass));
            let shortest = times.reduce(Seconds::min).unwrap_or(Seconds::ZERO);
            let gathers: Seconds = gathered(pass).map(|(unit, count)| unit.gather.get(pass).time * count).sum();
            let computing: Seconds = all().map(|(unit, count)| compute(unit, pass) * count).sum();
            computing.max(outside(pass) + gathers + shortest)
        };
        // All but two layers' gradients are reduced before the pass is over, where two buffers hold them.
        let shared = |reduce: fn(&StageCost) -> &Transfer| {
            if !self.terms.buffered {
                return Seconds::ZERO;
            }
            let moved = |of: &dyn Fn(&Transfer) -> Seconds| {
                let mut buffers = STAGE_BUFFERS as f64;
                let reduced = self.rows(layers.clone()).map(|(unit, count)| {
                    let left = rank::held_in_buffers(unit, count, &mut buffers);
                    (unit, count - left)
                });
                let gathers: Seconds =
                    gathered(Pass::Backward).map(|(unit, count)| of(&unit.gather.backward) * count).sum();
                gathers + reduced.map(|(unit, count)| of(reduce(unit)) * count).sum()
            };
            let in_turn = if self.in_turn() { moved(&|transfer| transfer.time) } else { Seconds::ZERO };
            let busy = |level: usize| moved(&|transfer| transfer.busy[level]);
            outside(Pass::Backward) + (0..self.levels).map(busy).fold(in_turn, Seconds::max)
        };
        // Every micro-batch but the last reduces as the stack does under accumulation, the last one as at a step's end.
        let backward = whole(Pass::Backward);
        let PerGradients { partial, complete } = PerGradients {
            partial: backward.max(shared(|unit| &unit.reduce.partial)),
            complete: backward.max(shared(|unit| &unit.reduce.complete)),
        };
        let reductions = last.compute.backward + all().map(|(unit, count)| unit.reduce.complete.time * count).sum();
        let ending = (complete + first.reduce.complete.time).max(reductions)
            + first.replicas.time
            + all().map(|(unit, count)| unit.update * count).sum();
        let fixed = first.gather.forward.time + ending - partial;
        add(BoundSpan::Step, BoundLine { fixed, each: whole(Pass::Forward) + partial });
    }

    /// All forwards pass before all backwards: the first micro-batch passes all stages, the others follow through the
    /// last one.
    fn phase_lines(&self, ends: StepEnds, placed: bool, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        let StepEnds { opening, closing } = ends;
        let stages = self.terms.order.len();
        let (first, last, leading) = (self.stage(0), self.stage(stages - 1), self.stage(stages - self.ranks));
        let sends = self.terms.send * (stages - 1) as f64;
        let through =
            PerDirection::from_fn(|pass| self.order().map(|stage| *stage.compute.get(pass)).sum::<Seconds>() + sends);
        let [each, back] = [last.compute.forward, first.compute.backward];
        add(BoundSpan::Forward, BoundLine { fixed: opening + through.forward - each, each });
        add(BoundSpan::Backward, BoundLine { fixed: through.backward - back + closing, each: back });
        if !placed {
            return;
        }
        // The last rank gathers all its stages; the first reduces all its stages and gathers them again, except the two
        // that are still in their buffers.
        let gathered: Seconds = self.of_rank(self.ranks - 1).map(|stage| stage.gather.forward.time).sum();
        add(BoundSpan::Forward, BoundLine { fixed: gathered, each });
        let again = self.stages_per_rank().saturating_sub(STAGE_BUFFERS);
        let busy = |level: usize| {
            let gathers: Seconds = self.of_rank(0).take(again).map(|stage| stage.gather.backward.busy[level]).sum();
            gathers + self.of_rank(0).map(|stage| stage.reduce.complete.busy[level]).sum()
        };
        let wire = (0..self.levels).map(busy).fold(Seconds::ZERO, Seconds::max);
        let update: Seconds = self.of_rank(0).map(|stage| stage.update).sum();
        let behind = self.order().skip(stages - self.ranks + 1);
        let around: Seconds = behind.map(|stage| stage.compute.backward + self.terms.send).sum();
        add(BoundSpan::Backward, BoundLine { fixed: around + wire + update, each: leading.compute.backward });
    }

    /// The round trips that limit 1F1B where sends are slow. The rank that is `held` ranks from the end holds as many
    /// micro-batches: it begins forward of `m + held` after its backward of `m`, which waited for the last rank; and
    /// the last rank begins backward of `m + held` after that forward has reached it. So `held` micro-batches take one
    /// round trip between the two ranks, with a send at each step, and there are at least `micro-batches / held - 1`
    /// round trips between the first and the last backward of the last rank. Before them the first micro-batch passes
    /// all ranks forward, and after them the last one passes all ranks backward.
    fn round_trip_lines(&self, StepEnds { opening, closing }: StepEnds, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        if self.stages_per_rank() > 1 || self.ranks == 1 {
            return;
        }
        let both = |stage: &StageCost| stage.compute.forward + stage.compute.backward;
        let hop = self.terms.send * 2.0;
        let own = both(self.stage(self.ranks - 1));
        let through = self.order().map(both).sum::<Seconds>() + hop * (self.ranks - 1) as f64;
        let mut round = own;
        for held in 2..=self.ranks {
            // 2 ranks, forward 1, backward 2, send 3: a round trip is 1 + 3 + 1 + 2 + 3 + 2 = 12 for two micro-batches,
            // where the last rank's own arithmetic is 6.
            round += both(self.stage(self.ranks - held)) + hop;
            let count = held as f64;
            // Else the last rank's own arithmetic takes longer, which is a line of its own.
            if round >= own * count {
                let fixed = opening + through + own * (count - 1.0) - round + closing;
                add(BoundSpan::Step, BoundLine { fixed, each: round * (1.0 / count) });
            }
        }
    }

    /// The sends of interleaved stages. The last rank begins its first backward when the first micro-batch has passed all
    /// stages, and has passed no more until then than the forwards of its warm-up; and when it begins the last
    /// micro-batch's backward, as many backwards are left to it as there were forwards, and all stages are to be passed
    /// back.
    fn turn_lines(&self, StepEnds { opening, closing }: StepEnds, add: &mut impl FnMut(BoundSpan, BoundLine)) {
        let last = self.ranks - 1;
        if !self.rules.grouped || last == 0 || self.stages_per_rank() == 1 {
            return;
        }
        // On 4 ranks of 2 stages the last one has passed 4 forwards of its first stage and one of its second when it
        // begins with backward: with forward 1 and send 1 they end at 15, of which it has computed for 5.
        let sends = self.terms.send * (2.0 * (self.terms.order.len() - 1) as f64);
        let through: Seconds = self.order().map(|stage| stage.compute.forward + stage.compute.backward).sum();
        let both = |stage: &StageCost| stage.until_next.forward + stage.until_next.backward;
        let first = (self.rules.checkpoints)(self.counts(), last as u32);
        let outside: Seconds = self.forwards(last, first).map(|(stage, times)| both(stage) * times).sum();
        let each: Seconds = self.of_rank(last).map(both).sum();
        add(BoundSpan::Step, BoundLine { fixed: opening + through + sends - outside + closing, each });
    }

    /// Counts of the pipeline with more micro-batches than any plan has.
    fn counts(&self) -> PipelineCounts {
        let stages = self.stages_per_rank() as u32;
        PipelineCounts { ranks: self.ranks as u32, stages, micro_batches: u32::MAX / stages }
    }

    /// How often a rank has passed each of its stages after so many forwards.
    fn forwards(&self, rank: usize, count: u32) -> impl Iterator<Item = (&'a StageCost, f64)> {
        let counts = self.counts();
        let times = move |stage: u32| f64::from(counts.forwards_of(stage, count));
        (0..).zip(self.of_rank(rank)).map(move |(stage, part)| (part, times(stage)))
    }
}

/// Levels up to the outermost that any transfer keeps busy.
fn levels(terms: &StepTerms) -> usize {
    let crosses = |level: &usize| {
        let busy = |transfer: &Transfer| transfer.busy[*level] > Seconds::ZERO;
        terms.parts.iter().any(|StageCost { gather, reduce, .. }| {
            [&gather.forward, &gather.backward, &reduce.partial, &reduce.complete].into_iter().any(busy)
        })
    };
    (0..MAX_LEVELS).rfind(crosses).map_or(0, |last| last + 1)
}

fn add_up(sum: PerDirection<Seconds>, more: PerDirection<Seconds>) -> PerDirection<Seconds> {
    PerDirection::from_fn(|pass| *sum.get(pass) + *more.get(pass))
}

#[cfg(test)]
mod tests;
