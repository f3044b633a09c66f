//! Floors: what no plan of a kind goes below, in time and in memory, in closed form.
//!
//! A rank does all its work, one pass after the other, once the first micro-batch has come to it; and what it gives back
//! last passes the ranks before it. Whatever else there is, transfers and the update, is assumed to be hidden; once it is
//! known where the state lies, what nothing hides is added: the first gather, the last reduction, the update. Not an
//! estimate; that of [`crate::search::training`] knows more of fewer plans.

use crate::cost::{Factors, Rates};
use crate::plan::Recompute;
use crate::plan::pass::{PerDirection, PipelineCounts};
use crate::program::{ModelState, StageCost, StepTerms};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Seconds};

/// Slack for the rounding of each task, microseconds long, to picoseconds.
const ROUNDING: f64 = 1.0 - 1e-6;

/// Floors of the plans that differ in where their state lies only.
#[derive(Debug, Clone)]
pub(super) struct PlanFloor {
    /// Time of a step.
    pub time: Seconds,
    /// Parameters of each rank, and what it holds beside their state when it begins its first backward.
    ranks: Vec<(Count, Bytes)>,
}

/// The work of a micro-batch on all pipeline ranks together, by what is computed again: what all schedules over a mesh
/// have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeshWork {
    none: Seconds,
    selective: Seconds,
    /// What each layer that is computed again adds.
    layer: Seconds,
    layers: u32,
}

impl MeshWork {
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        let mut scenario = scenario.clone();
        let mut work = |recompute: Recompute| {
            scenario.plan.recompute = recompute;
            let terms = StepTerms::new(&scenario, layout);
            let parts = terms.order.iter().map(|place| terms.parts[usize::from(*place)].compute);
            parts.map(|compute| compute.forward + compute.backward).sum::<Seconds>()
        };
        // Three kinds of recompute tell all of them: what is computed again for a share of the layers grows in
        // proportion to it.
        let [none, selective, full] = [Recompute::None, Recompute::Selective, Recompute::Full].map(&mut work);
        let layers = scenario.model.layers;
        Self { none, selective, layer: (full - none) / f64::from(layers), layers }
    }

    /// The least time of a step of so many micro-batches on so many ranks.
    ///
    /// In `turn`, each rank with one stage, a rank begins once the first micro-batch has passed those before it, and what
    /// it gives back last passes them again: with work `w` of a micro-batch on each rank, `T >= m w_r + sum w_s (s < r)`.
    /// Whoever shares the work `W` out best has all of these equal, `w_r = T / m (1 - 1/m)^r`, which add up to `W` for
    /// `T = W / (1 - (1 - 1/m)^P)`. Otherwise the mean of the ranks' work, `m W / P`.
    pub fn least(&self, recompute: Recompute, micro_batches: u32, ranks: u32, turn: bool) -> Seconds {
        let again = libm::floor(recompute.layers() * f64::from(self.layers));
        let work = match recompute {
            Recompute::Selective => self.selective,
            _ => self.none + self.layer * again,
        };
        let (count, ranks) = (f64::from(micro_batches), f64::from(ranks));
        let mean = work * (count / ranks);
        // With contiguous stages a rank waits for the first micro-batch to reach it, and those before it wait for what
        // it gives back last. Rank r ends no earlier than M w_r + w_0 + ... + w_(r-1); the best cut makes that the same
        // for all, with stages that shrink by 1 - 1 / M from rank to rank, and this is what it comes to: all the work
        // for one micro-batch, the mean for many.
        let filled = work / (1.0 - libm::pow(1.0 - 1.0 / count, ranks));
        (if turn { mean.max(filled) } else { mean }) * ROUNDING
    }
}

impl PlanFloor {
    /// Of a scenario whose state is nowhere sharded.
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        let terms = StepTerms::new(scenario, layout);
        let order: Vec<&StageCost> = terms.order.iter().map(|place| &terms.parts[usize::from(*place)]).collect();
        let micro_batches = f64::from(scenario.plan.accumulate);
        if !scenario.plan.staged() {
            let work: Seconds = order.iter().map(|unit| unit.compute.forward + unit.compute.backward).sum();
            let parameters = order.iter().map(|unit| unit.parameters).fold(Count::ZERO, |all, one| all + one);
            let kept = order.iter().map(|unit| unit.kept).sum();
            return Self { time: work * micro_batches * ROUNDING, ranks: vec![(parameters, kept)] };
        }
        let ranks = layout.pipeline as usize;
        let mut before = PerDirection::<Seconds>::default();
        let mut floor = Self { time: Seconds::ZERO, ranks: Vec::with_capacity(ranks) };
        for rank in 0..ranks {
            let own = || order.iter().skip(rank).step_by(ranks);
            let work: Seconds = own().map(|stage| stage.compute.forward + stage.compute.backward).sum();
            // Rank 2 of 4: forward of ranks 0 and 1, then all its own work, then backward of ranks 1 and 0: none of that
            // can overlap.
            floor.time = floor.time.max(before.forward + before.backward + work * micro_batches);
            let stage = order[rank].compute;
            before = PerDirection::from_fn(|pass| *before.get(pass) + *stage.get(pass) + terms.send);
            let parameters = own().map(|stage| stage.parameters).fold(Count::ZERO, |all, one| all + one);
            floor.ranks.push((parameters, held(scenario, rank, &own().copied().collect::<Vec<_>>(), ranks)));
        }
        floor.ranks.dedup();
        floor.time = floor.time * ROUNDING;
        floor
    }

    /// Time of a step of a plan with its state in place: the first unit or stage is gathered before anything is computed,
    /// and its gradients are reduced, and what the first rank owns is updated, after everything is.
    pub fn time_with(&self, scenario: &Scenario, layout: &Layout) -> Seconds {
        let terms = StepTerms::new(scenario, layout);
        let ranks = if scenario.plan.staged() { layout.pipeline as usize } else { 1 };
        let of_first = terms.order.iter().step_by(ranks).map(|place| &terms.parts[usize::from(*place)]);
        let update: Seconds = of_first.map(|part| part.update).sum();
        let first = terms.order.first().map(|place| &terms.parts[usize::from(*place)]);
        let ends = first.map_or(Seconds::ZERO, |part| part.gather.forward.time + part.reduce[1].time);
        self.time + (ends + update) * ROUNDING
    }

    /// Memory of the fullest rank where the state lies as in `layout`.
    pub fn memory(&self, rates: &Rates<'_>, layout: &Layout) -> Bytes {
        let allocator = &rates.scenario.calibration.allocator;
        let of_rank = |(parameters, held): &(Count, Bytes)| {
            // State and checkpoints are there at the same moment, when the first backward begins: their sum is below
            // any peak.
            let state = ModelState::new(rates, layout, *parameters);
            state.weights + state.gradients + state.optimizer + *held
        };
        let most = self.ranks.iter().map(of_rank).fold(Bytes::ZERO, Bytes::max);
        most * ((1.0 + allocator.fragmentation) * ROUNDING) + allocator.reserve
    }

    /// The rates with which memory is counted.
    pub fn rates(scenario: &Scenario) -> Rates<'_> {
        Rates::new(scenario, &Factors::default())
    }
}

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
