//! The lower bounds of this search: of all schedules over a mesh, in closed form, of a run wherever its state lies, and of
//! a plan. Those of a run and of a plan are the bound of a step ([`crate::search::step_bound`]).

use std::sync::{Arc, OnceLock};

use crate::cost::{Factors, Parameters, Rates};
use crate::evaluate::FailureForecast;
use crate::plan::Recompute;
use crate::plan::pass::PerDirection;
use crate::program::{EndTransferCounts, ModelState, StageCost, StepTerms, UnitWork, transfer_counts_at_ends};
use crate::scenario::{Layout, Scenario};
use crate::search::step_bound::{ROUNDING, StepBound, reserved};
use crate::units::{Bytes, Count, Seconds};

use super::extents::unsharded;
use super::objective::{Objective, TokenPace};

/// The lower bounds of a run: plans that differ only in where their state lies.
#[derive(Debug, Clone)]
pub(super) struct LowerBound {
    /// Time of a step.
    pub time: Seconds,
    /// The terms of its step, with the state nowhere sharded.
    terms: StepTerms,
    /// Parameters of each rank, and its memory beside their state at its first backward.
    ranks: Vec<([Parameters; 2], Bytes)>,
    /// How often the stages of the first and of the last rank are gathered and reduced, once that has been asked for.
    counts: OnceLock<EndTransferCounts>,
}

/// The lower bounds of one plan: time of a step, and memory of the fullest rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlacedLowerBound {
    pub time: Seconds,
    pub memory: Bytes,
}

/// The work of a micro-batch on all pipeline ranks of a mesh together, whatever its schedule.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeshWork {
    /// Until the next rank may begin, and until the same rank may go on.
    passed: RecomputeWork,
    done: RecomputeWork,
    layers: u32,
    /// The first of them, which backward does not reach: a share that is computed again is of these first.
    unreached: u32,
}

/// Work by recompute.
#[derive(Debug, Clone, Copy)]
struct RecomputeWork {
    none: Seconds,
    selective: Seconds,
    full: Seconds,
    /// A recomputed layer adds this much at least.
    layer: Seconds,
}

impl RecomputeWork {
    /// The work of units without recompute, with the selective one and with the full one.
    fn new(units: [&StepTerms; 3], of: fn(&StageCost) -> PerDirection<Seconds>) -> Self {
        let times = |terms: &'_ StepTerms| -> Vec<Seconds> {
            let units = terms.order.iter().map(|part| of(&terms.parts[usize::from(*part)]));
            units.map(|time| time.forward + time.backward).collect()
        };
        let [none, selective, full] = units.map(times);
        // Embedding and head are never computed again. Which of the layers a share means is not asked: the cheapest stands
        // for each.
        let again = none.iter().zip(&full).map(|(once, twice)| *twice - *once).filter(|more| *more > Seconds::ZERO);
        Self {
            none: none.iter().copied().sum(),
            selective: selective.iter().copied().sum(),
            full: full.iter().copied().sum(),
            layer: again.reduce(Seconds::min).unwrap_or(Seconds::ZERO),
        }
    }

    fn with(&self, recompute: Recompute, layers: u32, unreached: u32) -> Seconds {
        match recompute {
            Recompute::None => self.none,
            Recompute::Selective => self.selective,
            Recompute::Full => self.full,
            Recompute::Share(share) => {
                let again = libm::floor(share * f64::from(layers)) - f64::from(unreached);
                self.none + self.layer * again.max(0.0)
            }
        }
    }
}

impl MeshWork {
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        // Units tell layers apart, stages do not; and ranks compute the same units in all.
        let (mut scenario, layout) = (scenario.clone(), Layout { pipeline: 1, ..*layout });
        scenario.plan.pipeline = 1;
        let units = [Recompute::None, Recompute::Selective, Recompute::Full].map(|recompute| {
            scenario.plan.recompute = recompute;
            StepTerms::new(&scenario, &layout)
        });
        let work = |of| RecomputeWork::new(units.each_ref(), of);
        let (passed, done) = (work(|part| part.compute), work(|part| part.until_next));
        Self { passed, done, layers: scenario.model.all_layers(), unreached: scenario.unreached_layers() }
    }

    /// The least time of a step of so many micro-batches on so many ranks: the mean of the ranks' work, `m W / P`; or
    /// where ranks have one stage each, with [`Self::filled`], how long that takes.
    pub(crate) fn step_lower_bound(
        &self,
        recompute: Recompute,
        micro_batches: u32,
        ranks: u32,
        filled: Option<f64>,
    ) -> Seconds {
        let [passed, done] = [self.passed, self.done].map(|work| work.with(recompute, self.layers, self.unreached));
        let mean = done * (f64::from(micro_batches) / f64::from(ranks));
        // All the work for one micro-batch, the mean for many.
        filled.map_or(mean, |filled| mean.max(passed * filled)) * ROUNDING
    }

    /// The least time in which ranks that have one stage each pass so many micro-batches, in work of one on all of them.
    ///
    /// A rank begins once the first micro-batch has passed those before it, and its
    /// last backward then flows through the earlier ranks: with work `w` of a micro-batch on each rank,
    /// `T >= m w_r + sum w_s (s < r)`. Whoever shares the work `W` out best has all of these equal,
    /// `w_r = T / m (1 - 1/m)^r`, which add up to `W` for `T = W / (1 - (1 - 1/m)^P)`.
    pub fn filled(micro_batches: u32, ranks: u32) -> f64 {
        1.0 / (1.0 - libm::pow(1.0 - 1.0 / f64::from(micro_batches), f64::from(ranks)))
    }
}

impl LowerBound {
    /// The bound of a scenario whose state is nowhere sharded.
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        Self::with_work(scenario, layout, Arc::new(UnitWork::new(&Self::rates(scenario), layout)))
    }

    /// The same where the work of its units is known.
    pub fn with_work(scenario: &Scenario, layout: &Layout, work: Arc<UnitWork>) -> Self {
        let (terms, micro_batches) = (StepTerms::with_known(scenario, layout, work), scenario.plan.accumulate);
        let bound = StepBound::new(scenario, layout, &terms);
        // Operators may have shards of their own: their state is not counted.
        let alike = scenario.plan.operators.is_empty();
        let on_rank = |rank: usize| {
            let parts = bound.of_rank(rank).filter(|_| alike);
            let parameters = parts.fold([Parameters::NONE; 2], |[experts, others], part| {
                let [more_experts, more] = part.parameters;
                [experts + more_experts, others + more]
            });
            let held = bound.memory(rank).map(|memory| memory.without_state(micro_batches));
            (parameters, held.fold(Bytes::ZERO, Bytes::max))
        };
        let mut ranks: Vec<_> = (0..bound.ranks()).map(on_rank).collect();
        // Neighbours are often alike.
        ranks.dedup();
        Self { time: bound.computing_time(micro_batches), ranks, terms, counts: OnceLock::new() }
    }

    /// The terms of a plan whose state lies as in `layout`: the same however far ahead it gathers weights.
    pub fn terms(&self, scenario: &Scenario, layout: &Layout) -> StepTerms {
        self.terms.placed(scenario, layout)
    }

    /// The bound of a plan by its terms.
    pub fn placed(&self, scenario: &Scenario, layout: &Layout, terms: &StepTerms) -> PlacedLowerBound {
        let counts = self.counts.get_or_init(|| transfer_counts_at_ends(scenario, layout));
        let (bound, micro_batches) = (StepBound::new(scenario, layout, terms), scenario.plan.accumulate);
        let fullest = (0..bound.ranks()).flat_map(|rank| bound.memory(rank)).map(|memory| memory.at(micro_batches));
        PlacedLowerBound {
            time: bound.time(micro_batches, counts),
            memory: reserved(scenario, fullest.fold(Bytes::ZERO, Bytes::max)),
        }
    }

    /// Memory of the fullest rank where the state lies as in `layout`: less than [`Self::placed`] finds, and sooner found.
    pub fn memory(&self, rates: &Rates<'_>, layout: &Layout) -> Bytes {
        // State and checkpoints are there at the same moment, when the first backward begins: their sum is below any
        // peak.
        let of_experts = layout.of_experts();
        let of_rank = |([experts, others], held): &([Parameters; 2], Bytes)| {
            let experts = if experts.weights > Count::ZERO {
                ModelState::new(rates, &of_experts, *experts).least()
            } else {
                Bytes::ZERO
            };
            ModelState::new(rates, layout, *others).least() + experts + *held
        };
        reserved(rates.scenario, self.ranks.iter().map(of_rank).fold(Bytes::ZERO, Bytes::max))
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

/// Scores that no plan is below that differs only in where the state of each operator lies; those of no time where it
/// cannot be laid out with all of its state on each device.
pub(in crate::search) fn least_scores(scenario: &Scenario, objective: Objective) -> [f64; 2] {
    let mut whole = scenario.clone();
    whole.plan.operators.clear();
    unsharded(&mut whole.plan.sharding);
    let step = whole.layout().map_or(Seconds::ZERO, |layout| LowerBound::new(&whole, &layout).time);
    let useful = FailureForecast::max_useful_share(scenario);
    objective.scores(&TokenPace::at_most(scenario, scenario.devices(), step, useful), 0.0)
}

#[cfg(test)]
mod tests;
