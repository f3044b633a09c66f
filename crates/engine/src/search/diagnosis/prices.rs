//! Prices of memory: what each choice of a plan would save of it or cost, and in time. Not for the fastest plan that fits
//! ([`crate::search::advice`] and the planners).

use crate::evaluate::Summary;
use crate::scenario::Scenario;
use crate::search::advice::Adviser;
use crate::search::candidate::Candidate;
use crate::search::evaluator::Evaluator;
use crate::units::Bytes;

use super::OwnFigure;

/// The most choices that are named.
const MOST: usize = 12;

/// Changes of less than this share of the peak are no choice.
const LEAST: f64 = 0.01;

/// A choice, and what it would cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoicePrice {
    /// The change, and the scenario with it.
    pub candidate: Candidate,
    /// The figures with it.
    pub summary: Summary,
    /// By how much the peak changes: below zero where it saves.
    pub memory: Bytes,
    /// By how much the time for the same tokens changes: 0.1 where they take 10 % longer.
    pub time: f64,
    /// Whether the job would fit: the predicted peak, and what was measured beyond it.
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
    // What was needed beyond the prediction stays: nothing says that a choice would save it.
    let beyond = match figure {
        OwnFigure::OutOfMemory { needed, .. } | OwnFigure::Peak(needed) => needed - now.memory.peak,
        OwnFigure::StepTime(_) | OwnFigure::Mfu(_) => Bytes::ZERO,
    };
    let price = |(candidate, summary): (Candidate, Result<Summary, _>)| {
        let summary = summary.ok()?;
        let memory = summary.memory.peak - now.memory.peak;
        let time = now.tokens_per_s() / summary.tokens_per_s() - 1.0;
        let fits = summary.memory.peak + beyond.max(Bytes::ZERO) <= room;
        Some(ChoicePrice { candidate, summary, memory, time, fits })
    };
    let mut prices: Vec<ChoicePrice> = evaluated.filter_map(price).collect();
    // A choice that costs memory is one only where there is room, and it gains time.
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
