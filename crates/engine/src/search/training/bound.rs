//! Lower bounds on a plan's step time and memory in closed form: no simulation of the plan is below them.
//!
//! The formulas of [layered B8] for stages of any length, with what no schedule hides: the first gather, sends between
//! stages, the last reduction, the update; and each level's traffic, one transfer after the other. Every term is linear
//! in the number of micro-batches, so that a plan's bounds for all their counts are found at once. Not an estimate:
//! whatever may overlap is assumed to.

use std::iter::Sum;
use std::ops::{Add, Mul};

use crate::cost::Transfer;
use crate::hardware::MAX_LEVELS;
use crate::plan::pass::{Pass, PerDirection, PipelineCounts};
use crate::plan::{Schedule, ScheduleRules};
use crate::program::{PerGradients, StageCost, StepTerms};
use crate::units::{Bytes, Seconds};

use super::method::StageAssignment;

/// Slack for the rounding of each task, microseconds long, to picoseconds.
const ROUNDING: f64 = 1.0 - 1e-6;

/// The greatest of some lines `fixed + each x micro-batches`.
#[derive(Debug, Default)]
struct Envelope<Q>(Vec<(Q, Q)>);

impl<Q: Copy + Default + PartialOrd + Add<Output = Q> + Mul<f64, Output = Q>> Envelope<Q> {
    fn add(&mut self, fixed: Q, each: Q) {
        // 3 + 2 m is nowhere above 4 + 2 m, so that it adds nothing.
        if !self.0.iter().any(|(other, slope)| *other >= fixed && *slope >= each) {
            self.0.push((fixed, each));
        }
    }

    fn at(&self, micro_batches: f64) -> Q {
        let values = self.0.iter().map(|(fixed, each)| *fixed + *each * micro_batches);
        values.fold(Q::default(), |most, value| if value > most { value } else { most })
    }
}

/// Bounds on a step as functions of its number of micro-batches.
#[derive(Debug, Default)]
pub(super) struct StepBounds {
    /// Until the last rank has passed all forward, and from then on.
    forward: Envelope<Seconds>,
    backward: Envelope<Seconds>,
    /// The whole step.
    whole: Envelope<Seconds>,
    /// Memory where at most so many micro-batches are in flight.
    memory: Vec<(u32, Envelope<Bytes>)>,
}

impl StepBounds {
    /// The bounds of a plan whose layers are assigned to `ranks`; gathers may run `ahead` units ahead.
    pub fn new(
        terms: &StepTerms,
        assignment: StageAssignment,
        layered: bool,
        ranks: u32,
        ends: bool,
        ahead: u32,
    ) -> Self {
        let mut bound = Self::default();
        let order: Vec<&StageCost> = terms.order.iter().map(|place| &terms.parts[usize::from(*place)]).collect();
        match assignment {
            StageAssignment::None if !layered => bound.bound_units(&order, terms.buffered, ends, ahead),
            _ => {
                let stages = StageOrder::new(&order, ranks as usize, terms.send);
                let schedule =
                    if let StageAssignment::Contiguous(schedule) = assignment { schedule } else { Schedule::LAYERED };
                bound.bound_stages(&stages, schedule.rules());
            }
        }
        bound
    }

    /// Time of a step.
    pub fn time(&self, micro_batches: u32) -> Seconds {
        let count = f64::from(micro_batches);
        // The last rank passes all forward before it passes all backward, so those two add up; the whole step is
        // bounded beside them, by what one wire or one rank carries in all.
        (self.forward.at(count) + self.backward.at(count)).max(self.whole.at(count)) * ROUNDING
    }

    /// Memory of the fullest rank, not before its first backward.
    pub fn memory(&self, micro_batches: u32) -> Bytes {
        let most = |(most, lines): &(u32, Envelope<Bytes>)| lines.at(f64::from(micro_batches.min(*most)));
        self.memory.iter().map(most).fold(Bytes::ZERO, Bytes::max) * ROUNDING
    }

    /// Each micro-batch passes all units, there and back. The gathers of a pass run one after the other,
    /// each when compute begins the unit that is `ahead` units earlier.
    fn bound_units(&mut self, order: &[&StageCost], buffered: bool, ends: bool, ahead: u32) {
        let layers = if ends { &order[1..order.len() - 1] } else { order };
        let (first, last) = (order[0], order[order.len() - 1]);
        let outside =
            |pass: Pass| if ends { *first.compute.get(pass) + *last.compute.get(pass) } else { Seconds::ZERO };
        let gathers = layers.len().saturating_sub(ahead as usize) as f64;
        // A pass takes at least all its arithmetic, and at least its gathers in a row and the shortest unit behind the
        // last.
        let whole = |pass: Pass| {
            let compute = |unit: &StageCost| *unit.compute.get(pass);
            let shortest = layers.iter().copied().map(compute).fold(Seconds::new(f64::INFINITY), Seconds::min);
            let gathered = outside(pass) + gathers * layers[0].gather.get(pass).time + shortest;
            sum(order.iter().copied(), compute).max(gathered)
        };
        // All but two layers' gradients are reduced before the pass is over, where two buffers hold them.
        let reduced = layers.len().saturating_sub(2) as f64;
        let shared = |reduce: &Transfer| {
            let wire = outside(Pass::Backward) + busiest(&[(gathers, &layers[0].gather.backward), (reduced, reduce)]);
            if buffered { wire } else { Seconds::ZERO }
        };
        // Every micro-batch but the last reduces as the stack does under accumulation, the last one as at a step's end.
        let PerGradients { partial, complete } =
            layers[0].reduce.map(|reduce| whole(Pass::Backward).max(shared(&reduce)));
        let reductions = last.compute.backward + sum(order.iter().copied(), |unit| unit.reduce.complete.time);
        let ending = (complete + first.reduce.complete.time).max(reductions)
            + first.replicas.time
            + sum(order.iter().copied(), |unit| unit.update);
        self.forward.add(first.gather.forward.time + ending - partial, whole(Pass::Forward) + partial);
        // What crosses a level takes its turn there, whatever else overlaps.
        for level in 0..MAX_LEVELS {
            let reduced =
                |reduce: fn(&StageCost) -> &Transfer| sum(order.iter().copied(), |unit| reduce(unit).busy[level]);
            let (partial, complete) = (reduced(|unit| &unit.reduce.partial), reduced(|unit| &unit.reduce.complete));
            let gathers =
                sum(order.iter().copied(), |unit| unit.gather.forward.busy[level] + unit.gather.backward.busy[level]);
            self.whole.add(complete - partial, gathers + partial);
        }
        self.whole.add(Seconds::ZERO, sum(order.iter().copied(), |unit| unit.from_host));
        self.whole.add(Seconds::ZERO, sum(order.iter().copied(), |unit| unit.to_host));
        let held = sum(order.iter().copied(), |unit| unit.state + unit.kept);
        let logits = if ends { last.kept } else { Bytes::ZERO };
        let layer = layers[layers.len() - 1];
        self.memory.push((1, Envelope(vec![(held.max(held - logits + layer.working + layer.buffers), Bytes::ZERO)])));
    }

    /// Ranks pass their stages with all micro-batches, in the order of a schedule.
    fn bound_stages(&mut self, stages: &StageOrder<'_>, rules: &ScheduleRules) {
        let StageOrder { order, ranks, send, .. } = *stages;
        let (first, last, hops) = (order[0], order[order.len() - 1], order.len() - 1);
        let opening = first.load.forward + first.gather.forward.time;
        let closing = first.reduce.complete.time
            + first.replicas.time
            + first.store
            + sum(stages.of_rank(0), |stage| stage.update);
        for rank in 0..ranks {
            let compute = PerDirection::from_fn(|pass| sum(stages.of_rank(rank), |stage| *stage.compute.get(pass)));
            if rules.alternates {
                // The forwards and backwards of a rank that alternates, as under 1F1B, are one line; what comes before its
                // first forward comes back after its last backward.
                let before = stages.before[rank].forward + stages.before[rank].backward;
                self.forward.add(opening + before + closing, compute.forward + compute.backward);
            } else {
                self.forward.add(opening + stages.around(rank, Pass::Forward), compute.forward);
                self.backward.add(stages.around(rank, Pass::Backward) + closing, compute.backward);
            }
            let of_rank = |of: fn(&StageCost) -> Seconds| sum(stages.of_rank(rank), of);
            self.whole.add(of_rank(|stage| stage.load.forward), of_rank(|stage| stage.from_host));
            self.whole.add(of_rank(|stage| stage.store), of_rank(|stage| stage.to_host));
            self.bound_memory(stages, rank, rules);
        }
        if rules.alternates {
            self.bound_alternating(stages, opening, closing);
            return;
        }
        // The first micro-batch passes all stages, the others follow through the last one.
        let hops = hops as f64 * send;
        let through = PerDirection::from_fn(|pass| sum(order.iter().copied(), |stage| *stage.compute.get(pass)) + hops);
        self.forward.add(opening + through.forward - last.compute.forward, last.compute.forward);
        self.backward.add(through.backward - first.compute.backward + closing, first.compute.backward);
        // The last rank gathers all its stages; the first reduces all its stages and gathers them again,
        // except the two that are still in their buffers.
        self.forward.add(sum(stages.of_rank(ranks - 1), |stage| stage.gather.forward.time), last.compute.forward);
        let stages_per_rank = order.len() / ranks;
        let again =
            stages.of_rank(0).take(stages_per_rank.saturating_sub(2)).map(|stage| (1.0, &stage.gather.backward));
        let reduced = stages.of_rank(0).map(|stage| (1.0, &stage.reduce.complete));
        let wire = busiest(&again.chain(reduced).collect::<Vec<_>>());
        let update = sum(stages.of_rank(0), |stage| stage.update);
        let leading = order[order.len() - ranks];
        self.backward.add(stages.around(0, Pass::Backward) + wire + update, leading.compute.backward);
    }

    /// The round trip that limits 1F1B where sends are slow. The rank that is `held` ranks from the end holds as many
    /// micro-batches: it begins forward of `m + held` after its backward of `m`, which waited for the last rank; and
    /// the last rank begins backward of `m + held` after that forward has reached it. So `held` micro-batches take one
    /// round trip between the two ranks, with a send at each step, and there are at least `micro-batches / held - 1`
    /// round trips between the first and the last backward of the last rank. Before them the first micro-batch passes
    /// all ranks forward, and after them the last one passes all ranks backward.
    fn bound_alternating(&mut self, stages: &StageOrder<'_>, opening: Seconds, closing: Seconds) {
        let StageOrder { order, ranks, send, .. } = *stages;
        // Both ways, from a rank to the last one.
        let between = |from: usize| {
            let [all, before] = [ranks, from].map(|rank| stages.before[rank]);
            (all.forward - before.forward - send) + (all.backward - before.backward - send)
        };
        let own = order[ranks - 1].compute.forward + order[ranks - 1].compute.backward;
        let through = between(0);
        self.whole.add(opening + through - own + closing, own);
        for held in 2..=ranks {
            // 2 ranks, forward 1, backward 2, send 3: a round trip is 1 + 3 + 1 + 2 + 3 + 2 = 12 for two micro-batches,
            // where the last rank's own arithmetic is 6.
            let round = between(ranks - held);
            let count = held as f64;
            // Else the last rank's own arithmetic takes longer, which is counted above.
            if round >= count * own {
                self.whole.add(opening + through + (count - 1.0) * own - round + closing, round / count);
            }
        }
    }

    /// The memory of one rank when it begins its first backward.
    fn bound_memory(&mut self, stages: &StageOrder<'_>, rank: usize, rules: &ScheduleRules) {
        // Of any number of micro-batches: 1F1B starts backward once the ranks behind are full; others pass everything
        // forward first.
        let counts = PipelineCounts { ranks: stages.ranks as u32, stages: 1, micro_batches: u32::MAX };
        let in_flight = (rules.checkpoints)(counts, rank as u32);
        let begins = stages.order[stages.order.len() - stages.ranks + rank];
        let fixed = sum(stages.of_rank(rank), |stage| stage.state) + begins.working + begins.buffers;
        let each = sum(stages.of_rank(rank), |stage| stage.kept);
        match self.memory.iter_mut().find(|(most, _)| *most == in_flight) {
            Some((_, lines)) => lines.add(fixed, each),
            None => self.memory.push((in_flight, Envelope(vec![(fixed, each)]))),
        }
    }
}

/// Stages and the ranks to which they are assigned in turn.
#[derive(Debug)]
struct StageOrder<'a> {
    order: &'a [&'a StageCost],
    ranks: usize,
    send: Seconds,
    /// What passes until a stage begins, each way: its predecessors and their sends.
    before: Vec<PerDirection<Seconds>>,
}

impl<'a> StageOrder<'a> {
    fn new(order: &'a [&'a StageCost], ranks: usize, send: Seconds) -> Self {
        let mut passed = PerDirection::<Seconds>::default();
        let mut before = vec![passed];
        for stage in order {
            passed = PerDirection::from_fn(|pass| *passed.get(pass) + *stage.compute.get(pass) + send);
            before.push(passed);
        }
        Self { order, ranks, send, before }
    }

    fn of_rank(&self, rank: usize) -> impl Iterator<Item = &'a StageCost> + use<'a> {
        self.order.iter().skip(rank).step_by(self.ranks).copied()
    }

    /// What passes before a rank's first stage and after its last, one way through all stages.
    fn around(&self, rank: usize, pass: Pass) -> Seconds {
        let stages = self.order.len();
        let before = |stage: usize| *self.before[stage].get(pass);
        before(rank) + before(stages) - before(stages - self.ranks + rank + 1)
    }
}

fn sum<'a, Q: Sum>(costs: impl IntoIterator<Item = &'a StageCost>, of: impl Fn(&StageCost) -> Q) -> Q {
    costs.into_iter().map(of).sum()
}

/// Time in which so many of each transfer pass the level that they keep busiest.
fn busiest(transfers: &[(f64, &Transfer)]) -> Seconds {
    let busy = |level: usize| transfers.iter().map(|(count, transfer)| *count * transfer.busy[level]).sum::<Seconds>();
    (0..MAX_LEVELS).map(busy).fold(Seconds::ZERO, Seconds::max)
}
