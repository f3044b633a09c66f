//! Prices of memory: how much memory each change of a plan would save or cost, and how much time. Not for the fastest
//! plan that fits ([`crate::search::advice`] and the planners).

use crate::evaluate::{Summary, chance_of_room, safe_share};
use crate::scenario::Scenario;
use crate::search::advice::Adviser;
use crate::search::candidate::Candidate;
use crate::search::evaluator::Evaluator;
use crate::units::Bytes;

use super::OwnFigure;

/// At most this many choices are named.
const MOST: usize = 12;

/// A smaller change, as a share of the peak or of the time, does not count.
const LEAST: f64 = 0.01;

/// A choice, and its price in memory and time.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoicePrice {
    /// The change, and the scenario with it.
    pub candidate: Candidate,
    /// The figures with it.
    pub summary: Summary,
    /// The change of the peak: below zero where the choice saves memory.
    pub memory: Bytes,
    /// The change of the time for as many tokens: 0.1 where they take 10 % longer.
    pub time: f64,
    /// The chance that the job would fit, if it needs as much beyond the predicted peak as was measured.
    pub chance: f64,
    /// Whether the job would fit safely, if it needs as much beyond the predicted peak as was measured.
    pub fits: bool,
}

/// The best value of each choice: those that would fit first, the cheapest in time first; then those that save most.
pub(super) fn all(adviser: &Adviser, figure: OwnFigure, now: &Summary, evaluator: &Evaluator) -> Vec<ChoicePrice> {
    let candidates = adviser.singles();
    let scenarios: Vec<Scenario> = candidates.iter().map(|one| one.scenario.clone()).collect();
    let evaluated = candidates.into_iter().zip(evaluator.summaries(&scenarios));
    let room = match figure {
        OwnFigure::OutOfMemory { room, .. } => room.min(now.memory.capacity),
        _ => now.memory.capacity,
    };
    // Memory needed beyond the prediction stays: no choice is known to save it.
    let beyond = match figure {
        OwnFigure::OutOfMemory { needed, .. } | OwnFigure::Peak(needed) => needed - now.memory.peak,
        OwnFigure::StepTime(_) | OwnFigure::Mfu(_) => Bytes::ZERO,
    };
    let price = |(candidate, summary): (Candidate, Result<Summary, _>)| {
        let summary = summary.ok()?;
        let memory = summary.memory.peak - now.memory.peak;
        let time = now.tokens_per_s() / summary.tokens_per_s() - 1.0;
        let needed = summary.memory.peak + beyond.max(Bytes::ZERO);
        let chance = chance_of_room(&candidate.scenario, needed, room);
        let fits = needed <= room * safe_share(&candidate.scenario);
        Some(ChoicePrice { candidate, summary, memory, time, chance, fits })
    };
    let mut prices: Vec<ChoicePrice> = evaluated.filter_map(price).collect();
    // A choice that costs memory counts only where it fits and saves time.
    prices.retain(|one| {
        let share = one.memory / now.memory.peak;
        one.time.is_finite() && (share < -LEAST || one.fits && share > LEAST && one.time < -LEAST)
    });
    let saves = |one: &ChoicePrice| one.memory < Bytes::ZERO;
    prices.sort_by(|one, other| {
        let by_time = one.time.total_cmp(&other.time);
        let by_memory = one.memory.get().total_cmp(&other.memory.get());
        other.fits.cmp(&one.fits).then(if one.fits { by_time } else { by_memory })
    });
    let mut named: Vec<ChoicePrice> = Vec::new();
    for one in prices {
        let known = |other: &ChoicePrice| other.candidate.changes_what(&one.candidate) && saves(other) == saves(&one);
        if named.len() < MOST && !named.iter().any(known) {
            named.push(one);
        }
    }
    named
}
