//! Changes that were tried together, with their figures, and those of them that help.

use crate::evaluate::{Summary, fits_safely};
use crate::scenario::Scenario;
use crate::search::candidate::Candidate;

use super::{Advice, Suggestion, WORTHWHILE_GAIN};

/// The most changes of one field that are tried together with those of others.
const SAVINGS: usize = 3;

/// The most pairs of changes that are named.
const PAIRS: usize = 6;

/// Candidates that were tried together: single changes, or two each.
pub struct Round<'a> {
    /// The scenario that they change.
    from: &'a Scenario,
    /// Its figures, where it has any.
    now: Option<Summary>,
    /// How many were tried.
    pub tried: usize,
    /// Those that have figures, the nearest of each field first.
    evaluated: Vec<(Candidate, Summary)>,
    pairs: bool,
}

impl<'a> Round<'a> {
    pub fn new(
        from: &'a Scenario,
        candidates: Vec<Candidate>,
        pairs: bool,
        figures: &dyn Fn(&[Scenario]) -> Vec<Option<Summary>>,
    ) -> Self {
        let changed = candidates.iter().map(|candidate| candidate.scenario.clone());
        let scenarios: Vec<Scenario> = std::iter::once(from.clone()).chain(changed).collect();
        let mut figures = figures(&scenarios).into_iter();
        let (now, tried) = (figures.next().flatten(), candidates.len());
        let evaluated = candidates.into_iter().zip(figures).filter_map(|(one, figures)| Some((one, figures?)));
        Self { from, now, tried, evaluated: evaluated.collect(), pairs }
    }

    /// The changes that help.
    pub fn advice(&self) -> Advice {
        let fits = self.now.map(|now| now.fits);
        Advice { tried: self.tried, pairs: self.pairs, fits, suggestions: self.suggestions() }
    }

    fn suggestions(&self) -> Vec<Suggestion> {
        let (from, Some(now)) = (self.from, &self.now) else { return Vec::new() };
        let mut found: Vec<Suggestion> = Vec::new();
        for (candidate, summary) in self.evaluated.iter().filter(|(one, summary)| fits_safely(&one.scenario, summary)) {
            let gain = summary.tokens_per_s() / now.tokens_per_s() - 1.0;
            // More devices, adapters or a shorter sequence are ways to fit; to be faster with them is no other plan. A larger micro-batch is no way to
            // fit, whatever is recomputed for it; pairs have only smaller ones.
            let idle = if now.fits {
                gain < WORTHWHILE_GAIN || summary.devices != now.devices || candidate.trains_otherwise()
            } else {
                !self.pairs && candidate.refills()
            };
            if idle {
                continue;
            }
            let sequences = candidate.scenario.sequences();
            let batch = (sequences.to_bits() != from.sequences().to_bits()).then_some(sequences);
            let coarser = candidate.scenario.plan.coarser_than(&from.plan);
            let suggestion = Suggestion { candidate: candidate.clone(), summary: *summary, gain, batch, coarser };
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
        if self.pairs {
            found.truncate(PAIRS);
        }
        found
    }

    /// The single changes that save memory, where that is not enough, the [`SAVINGS`] nearest of each field: what is
    /// worth trying in pairs.
    pub(crate) fn savings(&self) -> Vec<&Candidate> {
        let Some(now) = &self.now else { return Vec::new() };
        if now.fits || self.pairs || !self.suggestions().is_empty() {
            return Vec::new();
        }
        let mut savings: Vec<&Candidate> = Vec::new();
        let saves =
            |candidate: &Candidate, summary: &Summary| summary.memory.peak < now.memory.peak && !candidate.refills();
        for (candidate, _) in self.evaluated.iter().filter(|(candidate, summary)| saves(candidate, summary)) {
            if savings.iter().filter(|other| other.changes_what(candidate)).count() < SAVINGS {
                savings.push(candidate);
            }
        }
        savings
    }
}
