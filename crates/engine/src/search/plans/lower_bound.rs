//! Lower bounds: what no plan of a kind goes below, in time and in memory, in closed form.
//!
//! A rank does all its work, one pass after the other, once the first micro-batch has come to it; and what it gives back
//! last passes the ranks before it. Whatever else there is, transfers and the update, is assumed to be hidden. Once it is
//! known where the state lies, what nothing hides is added, the first gather, the last reduction and the update; and what
//! the other transfers take of the device while it computes. Not an estimate; that of [`crate::search::training`] knows
//! more of fewer plans.

use std::sync::OnceLock;

use crate::cost::{Factors, Rates, Transfer};
use crate::hardware::MAX_LEVELS;
use crate::plan::pass::{PerDirection, PipelineCounts};
use crate::plan::{Offload, Recompute};
use crate::program::{
    EndTransferCounts, ModelState, StageCost, StageTransferCounts, StepTerms, transfer_counts_at_ends,
};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Seconds};

/// Slack for the rounding of each task, microseconds long, to picoseconds.
const ROUNDING: f64 = 1.0 - 1e-6;

/// Lower bounds of the plans that differ in where their state lies only.
#[derive(Debug, Clone)]
pub(super) struct LowerBound {
    /// Time of a step.
    pub time: Seconds,
    /// What their steps are made of, with the state nowhere sharded.
    terms: StepTerms,
    /// Parameters of each rank, and what it holds beside their state when it begins its first backward.
    ranks: Vec<(Count, Bytes)>,
    /// How often the stages of the first and of the last rank are gathered and reduced, once that has been asked for.
    turns: OnceLock<EndTransferCounts>,
}

/// Lower bounds of one plan: time of a step, and memory of the fullest rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedLowerBound {
    pub time: Seconds,
    pub memory: Bytes,
}

/// The work of a micro-batch on all pipeline ranks together, by what is computed again: what all schedules over a mesh
/// have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeshWork {
    /// Until what follows may begin on the next rank, and on the same rank.
    passed: RecomputeWork,
    done: RecomputeWork,
    layers: u32,
}

/// Work by what is computed again.
#[derive(Debug, Clone, Copy)]
struct RecomputeWork {
    none: Seconds,
    selective: Seconds,
    /// What each layer that is computed again adds.
    layer: Seconds,
}

impl RecomputeWork {
    fn of(&self, recompute: Recompute, layers: u32) -> Seconds {
        let again = libm::floor(recompute.layers() * f64::from(layers));
        if recompute == Recompute::Selective { self.selective } else { self.none + self.layer * again }
    }
}

impl MeshWork {
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        let mut scenario = scenario.clone();
        let mut work = |recompute: Recompute| {
            scenario.plan.recompute = recompute;
            let terms = StepTerms::new(&scenario, layout);
            let sum = |of: fn(&StageCost) -> PerDirection<Seconds>| -> Seconds {
                let parts = terms.order.iter().map(|place| of(&terms.parts[usize::from(*place)]));
                parts.map(|time| time.forward + time.backward).sum()
            };
            [sum(|part| part.compute), sum(|part| part.until_next)]
        };
        // Three kinds of recompute tell all of them: what is computed again for a share of the layers grows in
        // proportion to it.
        let [none, selective, full] = [Recompute::None, Recompute::Selective, Recompute::Full].map(&mut work);
        let layers = scenario.model.layers;
        let [passed, done] = [0, 1].map(|of| RecomputeWork {
            none: none[of],
            selective: selective[of],
            layer: (full[of] - none[of]) / f64::from(layers),
        });
        Self { passed, done, layers }
    }

    /// The least time of a step of so many micro-batches on so many ranks.
    ///
    /// In `turn`, each rank with one stage, a rank begins once the first micro-batch has passed those before it, and what
    /// it gives back last passes them again: with work `w` of a micro-batch on each rank, `T >= m w_r + sum w_s (s < r)`.
    /// Whoever shares the work `W` out best has all of these equal, `w_r = T / m (1 - 1/m)^r`, which add up to `W` for
    /// `T = W / (1 - (1 - 1/m)^P)`. Otherwise the mean of the ranks' work, `m W / P`.
    pub fn step_lower_bound(&self, recompute: Recompute, micro_batches: u32, ranks: u32, turn: bool) -> Seconds {
        let [passed, done] = [self.passed, self.done].map(|work| work.of(recompute, self.layers));
        let (count, ranks) = (f64::from(micro_batches), f64::from(ranks));
        let mean = done * (count / ranks);
        // All the work for one micro-batch, the mean for many.
        let filled = passed / (1.0 - libm::pow(1.0 - 1.0 / count, ranks));
        (if turn { mean.max(filled) } else { mean }) * ROUNDING
    }
}

impl LowerBound {
    /// Of a scenario whose state is nowhere sharded.
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        let terms = StepTerms::new(scenario, layout);
        let no_turns = EndTransferCounts::default();
        let ranks = RankWork::all(scenario, layout, &terms, &no_turns);
        let time = ranks.iter().map(|rank| rank.around + rank.until_next()).fold(Seconds::ZERO, Seconds::max);
        let count = ranks.len();
        // What operators say of their own state is not counted.
        let alike = scenario.plan.operators.is_empty();
        let on_rank = |(index, rank): (usize, &RankWork<'_>)| {
            let own = rank.parts().filter(|_| alike).map(|part| part.parameters);
            let parameters = own.fold(Count::ZERO, |all, one| all + one);
            let held = if scenario.plan.staged() {
                held(scenario, index, &rank.parts().collect::<Vec<_>>(), count)
            } else {
                rank.parts().map(|unit| unit.kept).sum()
            };
            (parameters, held)
        };
        let ranks = ranks.iter().enumerate().map(on_rank).collect();
        Self { time: time * ROUNDING, ranks, terms, turns: OnceLock::new() }
    }

    /// Of a plan with its state in place. The first unit or stage is gathered before anything is computed; its gradients are
    /// reduced and summed over replicas, and what the first rank owns is updated, after everything is. Between its first and its last pass a rank
    /// computes, and shares the device with its transfers. It holds its state, and what is gathered for its first backward.
    pub fn placed(&self, scenario: &Scenario, layout: &Layout) -> PlacedLowerBound {
        let terms = self.terms.placed(scenario, layout);
        let turns = self.turns.get_or_init(|| transfer_counts_at_ends(scenario, layout));
        let ranks = RankWork::all(scenario, layout, &terms, turns);
        let computed = |rank: &RankWork<'_>| rank.around + (rank.until_next() + rank.stalled()).max(rank.device());
        let time = ranks.iter().map(computed).fold(Seconds::ZERO, Seconds::max);
        let (mut ends, mut update, mut streams) = Default::default();
        if let Some(rank) = ranks.first() {
            update = rank.parts().map(|part| part.update).sum::<Seconds>();
            streams = rank.streams();
            let first = rank.parts().next();
            ends = first.map_or(Seconds::ZERO, |part| {
                part.gather.forward.time + part.reduce.complete.time + part.replicas.time
            });
        }
        let fullest = ranks.iter().zip(&self.ranks).map(|(rank, (_, held))| rank.memory(*held));
        PlacedLowerBound {
            time: ((time + ends).max(streams) + update) * ROUNDING,
            memory: Self::reserved(scenario, fullest.fold(Bytes::ZERO, Bytes::max)),
        }
    }

    /// What the allocator reserves for so much.
    fn reserved(scenario: &Scenario, asked: Bytes) -> Bytes {
        let allocator = &scenario.calibration.allocator;
        asked * ((1.0 + allocator.fragmentation) * ROUNDING) + allocator.reserve
    }

    /// Memory of the fullest rank where the state lies as in `layout`: less than what `placed` finds, and sooner found.
    pub fn memory(&self, rates: &Rates<'_>, layout: &Layout) -> Bytes {
        let of_rank = |(parameters, held): &(Count, Bytes)| {
            // State and checkpoints are there at the same moment, when the first backward begins: their sum is below
            // any peak.
            ModelState::new(rates, layout, *parameters).total() + *held
        };
        let mut most = Bytes::ZERO;
        let mut last = None;
        // Neighbours are often alike.
        for rank in self.ranks.iter().filter(|rank| last.replace(**rank) != Some(**rank)) {
            most = most.max(of_rank(rank));
        }
        Self::reserved(rates.scenario, most)
    }

    /// The rates with which memory is counted.
    pub fn rates(scenario: &Scenario) -> Rates<'_> {
        Rates::new(scenario, &Factors::default())
    }
}

/// The least memory of the plans that differ in where the state of each operator lies only, if it lies in one of these
/// layouts: nobody holds less than all of it where it takes least.
pub(in crate::search) fn least_memory<'a>(scenario: &Scenario, layouts: impl Iterator<Item = &'a Layout>) -> Bytes {
    let mut layouts = layouts.peekable();
    let Some(first) = layouts.peek() else { return Bytes::ZERO };
    let (bound, rates) = (LowerBound::new(scenario, first), LowerBound::rates(scenario));
    layouts.map(|layout| bound.memory(&rates, layout)).reduce(Bytes::min).unwrap_or(Bytes::ZERO)
}

/// What a pipeline rank, or every rank where there is no pipeline, does in a step.
struct RankWork<'a> {
    terms: &'a StepTerms,
    /// Its place, and how many ranks there are.
    place: (usize, usize),
    /// What passes before its first pass and after its last.
    around: Seconds,
    scenario: &'a Scenario,
    /// How often the stages of the first and of the last rank are gathered and reduced, where it is asked for.
    turns: &'a EndTransferCounts,
}

impl<'a> RankWork<'a> {
    fn all(scenario: &'a Scenario, layout: &Layout, terms: &'a StepTerms, turns: &'a EndTransferCounts) -> Vec<Self> {
        let count = if scenario.plan.staged() { layout.pipeline as usize } else { 1 };
        let mut before = PerDirection::<Seconds>::default();
        // Rank 2 of 4: forward of ranks 0 and 1, then all its own work, then backward of ranks 1 and 0: none of that can
        // overlap.
        let rank = |place: usize| {
            let around = before.forward + before.backward;
            let stage = &terms.parts[usize::from(terms.order[place])].compute;
            before = PerDirection::from_fn(|pass| *before.get(pass) + *stage.get(pass) + terms.send);
            Self { terms, place: (place, count), around, scenario, turns }
        };
        (0..count).map(rank).collect()
    }

    /// Its units or stages, in the order of forward.
    fn parts(&self) -> impl Iterator<Item = &'a StageCost> + use<'a> {
        let (terms, (place, count)) = (self.terms, self.place);
        terms.order.iter().skip(place).step_by(count).map(move |part| &terms.parts[usize::from(*part)])
    }

    fn micro_batches(&self) -> f64 {
        f64::from(self.scenario.plan.accumulate)
    }

    /// Its passes, one after the other.
    fn until_next(&self) -> Seconds {
        let each = self.parts().map(|part| part.until_next.forward + part.until_next.backward).sum::<Seconds>();
        each * self.micro_batches()
    }

    /// Between its first pass and its last it computes for `A`, and of its transfers, `C` in all, each takes a share `c`
    /// of the device: `A + c C`, since the device does no more than it can. While tensor ranks exchange, or a gather holds
    /// the rank up, `X` in all, nothing computes, and `k` streams can hide `k X` of the transfers: `A + c (C - k X) + X`.
    fn device(&self) -> Seconds {
        let share = self.terms.contention.get();
        let count = self.micro_batches();
        let [computing, beside, serial] = [
            |part: &StageCost| part.computing,
            |part: &StageCost| part.beside,
            |part: &StageCost| part.compute.forward + part.compute.backward,
        ]
        .map(|of| self.parts().map(of).sum::<Seconds>() * count);
        let hidden = 1.0 - share * f64::from(self.streams_beside());
        computing
            + (beside + self.between()) * share
            + ((serial - computing).max(Seconds::ZERO) + self.stalled()) * hidden.max(0.0)
    }

    /// How many streams may carry transfers while tensor ranks exchange.
    fn streams_beside(&self) -> u32 {
        let plan = &self.scenario.plan;
        let [replicas, pipeline, context] =
            [self.parts().any(|part| part.replicas.time > Seconds::ZERO), plan.pipeline > 1, plan.context > 1]
                .map(u32::from);
        2 + replicas + pipeline + context + if plan.offload == Offload::None { 0 } else { 2 }
    }

    /// Transfers that cannot but lie between its first pass and its last. Not the gathers that may be ahead of the first,
    /// nor reductions that may be left after the last: two buffers hold gradients, or else all do. Not sums over replicas.
    fn between(&self) -> Seconds {
        let (plan, count, parts) = (&self.scenario.plan, self.micro_batches(), self.parts().count());
        let ahead = if plan.staged() { BUFFERS } else { 1 + plan.prefetch as usize };
        let ahead = self.parts().take(ahead).map(|part| part.gather.forward.time).sum();
        let last = self.parts().skip(BUFFERS).map(|part| part.reduce.complete.time).sum();
        let reduced = if self.terms.buffered {
            self.sum(&|part, turns| part.reduce.partial.time * turns.reductions) + last
        } else {
            Seconds::ZERO
        };
        // The first and the last stage of all send one way only; the last of all sends may follow the last pass.
        let sends = if plan.staged() && self.place.1 > 1 { (2.0 * parts as f64 - 1.0) * count - 1.0 } else { 0.0 };
        self.sum(&|part, turns| gathers(part, turns.gathers, |transfer| transfer.time)) - ahead
            + reduced
            + self.terms.send * sends
    }

    /// What it waits for gathers while it computes nothing.
    fn stalled(&self) -> Seconds {
        self.sum(&|part, turns| gathers(part, turns.stalls, |transfer| transfer.time))
    }

    /// How often each of its units or stages is gathered and reduced, at least.
    fn turns(&self) -> impl Iterator<Item = StageTransferCounts> {
        let (parts, count) = (self.parts().count(), self.micro_batches());
        let staged = self.scenario.plan.staged();
        let EndTransferCounts { first_rank, last_rank } = self.turns;
        let known = match self.place {
            (0, _) => Some(first_rank),
            (place, count) if place + 1 == count => Some(last_rank),
            _ => None,
        };
        (0..parts).map(move |place| {
            if !staged {
                StageTransferCounts {
                    gathers: PerDirection { forward: count, backward: count },
                    reductions: count - 1.0,
                    ..StageTransferCounts::default()
                }
            } else if let Some(turns) = known.and_then(|turns| turns.get(place)) {
                *turns
            } else {
                // Once in either direction, but for the stages that are in their buffers at the turn.
                let backward = if place + BUFFERS < parts { 1.0 } else { 0.0 };
                StageTransferCounts {
                    gathers: PerDirection { forward: 1.0, backward },
                    ..StageTransferCounts::default()
                }
            }
        })
    }

    fn sum(&self, of: &dyn Fn(&StageCost, &StageTransferCounts) -> Seconds) -> Seconds {
        self.parts().zip(self.turns()).map(|(part, turns)| of(part, &turns)).sum()
    }

    /// What it holds when it begins its first backward, with so much that is no state: the weights that are gathered for
    /// that, and the gradients that it fills. Without stages the logits are gone when the last layer begins.
    fn memory(&self, held: Bytes) -> Bytes {
        let held = held + self.parts().map(|part| part.state).sum::<Bytes>();
        if self.scenario.plan.staged() {
            return held + self.parts().last().map_or(Bytes::ZERO, |stage| stage.buffers);
        }
        let ends = usize::from(self.scenario.model.vocab > 0);
        let units: Vec<&StageCost> = self.parts().collect();
        let Some(layer) = units.len().checked_sub(1 + ends).map(|last| units[last]) else { return held };
        let logits = if ends > 0 { units[units.len() - 1].kept } else { Bytes::ZERO };
        held.max(held - logits + layer.working + layer.buffers)
    }

    /// Time in which its gathers pass one after the other, its reductions, and what crosses each level.
    fn streams(&self) -> Seconds {
        let step = |moved: &dyn Fn(&Transfer) -> Seconds| {
            let last: Seconds = self.parts().map(|part| moved(&part.reduce.complete)).sum();
            let reductions = self.sum(&|part, turns| moved(&part.reduce.partial) * turns.reductions) + last;
            (self.sum(&|part, turns| gathers(part, turns.gathers, moved)), reductions)
        };
        let (gathers, reductions) = step(&|transfer| transfer.time);
        let levels = (0..MAX_LEVELS).map(|level| {
            let (gathers, reductions) = step(&|transfer| transfer.busy[level]);
            gathers + reductions
        });
        levels.fold(gathers.max(reductions), Seconds::max)
    }
}

/// Something of all gathers of a unit or stage.
fn gathers(part: &StageCost, turns: PerDirection<f64>, moved: impl Fn(&Transfer) -> Seconds) -> Seconds {
    moved(&part.gather.forward) * turns.forward + moved(&part.gather.backward) * turns.backward
}

/// Stages or units whose gathered weights, or gradients, wait in buffers.
const BUFFERS: usize = 2;

/// What a pipeline rank holds beside its state when it begins its first backward: the checkpoints of the micro-batches
/// that it has passed forward by then, and what backward works in.
fn held(scenario: &Scenario, rank: usize, own: &[&StageCost], ranks: usize) -> Bytes {
    let plan = &scenario.plan;
    let kept: Bytes = own.iter().map(|stage| stage.kept).sum();
    let counts = PipelineCounts { ranks: ranks as u32, stages: own.len() as u32, micro_batches: plan.accumulate };
    let checkpoints = (plan.effective_schedule().rules().checkpoints)(counts, rank as u32);
    let passed = if checkpoints == counts.all_checkpoints() {
        kept * f64::from(plan.accumulate)
    } else {
        // Which stages they are of is not asked: they are counted as those of the smallest. Each stage has one at least.
        let least = own.iter().map(|stage| stage.kept).reduce(Bytes::min).unwrap_or(Bytes::ZERO);
        (least * f64::from(checkpoints)).max(kept)
    };
    passed + own.last().map_or(Bytes::ZERO, |stage| stage.working)
}
