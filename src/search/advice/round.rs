//! A round of advice: candidates with their figures, and those of them that help.

use std::sync::Arc;

use crate::evaluate::{Evaluation, Summary};
use crate::scenario::Scenario;
use crate::search::candidate::Candidate;

use super::adviser::Adviser;

/// The smallest gain in throughput that is worth a line.
pub const WORTH: f64 = 0.005;

/// What 10 % more of each resource would give in throughput, by its place among the elasticities: at least a tenth of
/// [`WORTH`], the largest gain first.
pub fn gains(evaluation: &Evaluation) -> Vec<(usize, f64)> {
    let mut gains: Vec<(usize, f64)> = evaluation.elasticity.iter().map(|one| one.gain).enumerate().collect();
    gains.retain(|(_, gain)| *gain >= WORTH / 10.0);
    gains.sort_by(|a, b| b.1.total_cmp(&a.1));
    gains
}

/// The most changes of one field that are tried together with those of others.
const SAVINGS: usize = 3;

/// The most pairs of changes that are named.
const PAIRS: usize = 6;

/// Candidates that were tried together, first of single changes, then perhaps of two each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdviceRound {
    /// What they change.
    from: Option<Scenario>,
    candidates: Arc<Vec<Candidate>>,
    /// How many single changes were tried before, if these are pairs.
    singles: Option<usize>,
    /// The figures of the scenario itself and of each candidate, once they are there.
    figures: Vec<Option<Summary>>,
}

/// A change that helps, and what it brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion<'a> {
    /// What to change, and the scenario with it.
    pub candidate: &'a Candidate,
    /// The figures with it.
    pub summary: &'a Summary,
    /// The gain in tokens per second of all devices: what the whole job takes less.
    pub gain: f64,
    /// The sequences of a step, where they are others than before.
    pub batch: Option<f64>,
    /// What it makes the numbers coarser by; nothing where they stay.
    pub coarser: Vec<String>,
}

impl AdviceRound {
    /// Single changes to try.
    pub fn first(adviser: &Adviser) -> Self {
        Self { from: Some(adviser.scenario.clone()), candidates: Arc::new(adviser.singles()), ..Self::default() }
    }

    /// What to evaluate: the scenario itself, then each candidate.
    pub fn scenarios(&self, scenario: &Scenario) -> Vec<Scenario> {
        let candidates = self.candidates.iter().map(|candidate| candidate.scenario.clone());
        std::iter::once(scenario.clone()).chain(candidates).collect()
    }

    /// Takes the figures of [`AdviceRound::scenarios`]. Where no single change lets the scenario fit, gives the next round:
    /// pairs of those that save memory.
    pub fn fill(&mut self, figures: Vec<Option<Summary>>, adviser: &Adviser) -> Option<Self> {
        self.figures = figures;
        // No savings, no pairs: a scenario that fits, or that one change lets fit, ends the advice here.
        let candidates = adviser.pairs(&self.savings());
        (!candidates.is_empty()).then(|| Self {
            from: self.from.clone(),
            singles: Some(self.candidates.len()),
            candidates: Arc::new(candidates),
            figures: Vec::new(),
        })
    }

    /// Whether the figures are there.
    pub fn is_complete(&self) -> bool {
        !self.figures.is_empty()
    }

    /// How many changes were tried.
    pub fn tried(&self) -> usize {
        self.candidates.len() + self.singles.unwrap_or(0)
    }

    /// Whether the changes are of two fields each, because none of one lets the scenario fit.
    pub const fn pairs(&self) -> bool {
        self.singles.is_some()
    }

    /// Whether the scenario itself fits, once that is known.
    pub fn fits(&self) -> Option<bool> {
        Some(self.now()?.fits)
    }

    /// The figures of the scenario itself.
    fn now(&self) -> Option<&Summary> {
        self.figures.first()?.as_ref()
    }

    /// Candidates with their figures, where they have any.
    fn evaluated(&self) -> impl Iterator<Item = (&Candidate, &Summary)> {
        let figures = self.candidates.iter().zip(self.figures.iter().skip(1));
        figures.filter_map(|(candidate, summary)| Some((candidate, summary.as_ref()?)))
    }

    /// Where the scenario does not fit: of each field, or pair of fields, the nearest value with which it does; else of
    /// each field the value that gains most. The fastest first, after them those that make the numbers coarser: nobody
    /// asked for these.
    pub fn suggestions(&self) -> Vec<Suggestion<'_>> {
        let (Some(from), Some(now)) = (&self.from, self.now()) else { return Vec::new() };
        let mut found: Vec<Suggestion> = Vec::new();
        for (candidate, summary) in self.evaluated().filter(|(_, summary)| summary.fits) {
            let gain = summary.tokens_per_s() / now.tokens_per_s() - 1.0;
            // More devices are a way to fit; to be faster with them is no other plan. A larger micro-batch is no way to
            // fit, whatever is recomputed for it; pairs have only smaller ones.
            let idle = if now.fits {
                gain < WORTH || summary.devices != now.devices
            } else {
                !self.pairs() && candidate.refills()
            };
            if idle {
                continue;
            }
            let sequences = candidate.scenario.sequences();
            let batch = (sequences.to_bits() != from.sequences().to_bits()).then_some(sequences);
            let coarser = candidate.scenario.plan.coarser_than(&from.plan);
            let suggestion = Suggestion { candidate, summary, gain, batch, coarser };
            let same = |other: &Suggestion| {
                other.candidate.changes_what(candidate) && other.coarser.is_empty() == suggestion.coarser.is_empty()
            };
            // Candidates come nearest first: where fitting is the aim, the first of a field stays.
            match found.iter_mut().find(|other| same(other)) {
                Some(best) if now.fits && gain > best.gain => *best = suggestion,
                Some(_) => {}
                None => found.push(suggestion),
            }
        }
        found.sort_by(|a, b| {
            let coarser = |one: &Suggestion| !one.coarser.is_empty();
            coarser(a).cmp(&coarser(b)).then(b.gain.total_cmp(&a.gain))
        });
        if self.pairs() {
            found.truncate(PAIRS);
        }
        found
    }

    /// The single changes that save memory, where that is not enough, the [`SAVINGS`] nearest of each field: what is
    /// worth trying in pairs.
    fn savings(&self) -> Vec<&Candidate> {
        let Some(now) = self.now() else { return Vec::new() };
        if now.fits || self.pairs() || !self.suggestions().is_empty() {
            return Vec::new();
        }
        let mut savings: Vec<&Candidate> = Vec::new();
        let saves =
            |candidate: &Candidate, summary: &Summary| summary.memory.peak < now.memory.peak && !candidate.refills();
        for (candidate, _) in self.evaluated().filter(|(candidate, summary)| saves(candidate, summary)) {
            if savings.iter().filter(|other| other.changes_what(candidate)).count() < SAVINGS {
                savings.push(candidate);
            }
        }
        savings
    }
}
