//! What would help: single changes of the plan that let it fit or make it faster, tried behind the screen; where none
//! lets it fit, two together. A pipeline's schedule and its stages per rank are one change, since neither of them does
//! anything alone.
//!
//! The candidates are the nearest values of each field, set as an edit would set them, so that what is promised is what
//! Enter brings. Not for what hardware would give ([`crate::search`]'s elasticities).

use std::sync::Arc;

use crate::evaluate::Summary;
use crate::scenario::Scenario;

use crate::app::inputs::FIELDS;

/// The fields that are tried, and how many values after and before the present one; a change of the numbers (precision,
/// optimizer) or of the task (model, sequence) is no advice.
pub(crate) const TRIED: [(&str, usize, usize); 13] = [
    ("strategy", 64, 64),
    ("nodes", 6, 2),
    ("shard", 8, 8),
    ("micro-batch", 3, 6),
    ("accumulate", 3, 2),
    ("recompute", 8, 8),
    ("tp", 3, 3),
    ("cp", 2, 2),
    ("pp", 3, 3),
    ("schedule", 8, 8),
    ("stages-per-rank", 2, 2),
    ("accumulation", 2, 2),
    ("offload", 8, 8),
];

/// How many more stages per rank are tried together with each schedule that can have them.
pub(crate) const STAGES: usize = 3;

/// The smallest gain in throughput that is worth a line.
pub(crate) const WORTH: f64 = 0.005;

/// The most changes of one field that are tried with others'.
pub(crate) const SAVINGS: usize = 3;

/// The most pairs of changes that are named.
pub(crate) const PAIRS: usize = 6;

/// What the view knows.
#[derive(Debug, Clone, Default)]
pub struct Advice {
    /// The scenario that the trials start from.
    pub(crate) of: Option<Scenario>,
    pub(crate) trials: Arc<Vec<Trial>>,
    /// How many single changes were tried before, if the trials are pairs.
    pub(crate) singles: Option<usize>,
    /// The figures of the scenario itself and of each trial, once they are there.
    pub(crate) figures: Vec<Option<Summary>>,
    /// The row that has the keys.
    pub(crate) cursor: usize,
}

/// A change to try, of one field or of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The fields, by their places in [`FIELDS`], with their values.
    pub changes: Vec<(usize, String)>,
    pub(crate) scenario: Scenario,
}

impl Trial {
    /// Whether another one changes the same fields.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.changes.iter().map(|(field, _)| field).eq(other.changes.iter().map(|(field, _)| field))
    }

    /// Whether its plan follows both its schedule and its stages per rank.
    pub(crate) fn is_staged(&self) -> bool {
        let idle = self.scenario.plan.idle();
        !idle.iter().any(|idle| matches!(idle.field, "plan.schedule" | "plan.stages_per_rank"))
    }

    /// What it is called: `recompute full + nodes 16`.
    pub fn name(&self) -> String {
        let names = self.changes.iter().map(|(field, value)| format!("{} {value}", FIELDS[*field].label));
        names.collect::<Vec<_>>().join(" + ")
    }
}

/// A change that helps, and what it brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion<'a> {
    /// The change.
    pub trial: &'a Trial,
    /// The figures with it.
    pub summary: &'a Summary,
    /// The gain in throughput.
    pub gain: f64,
    /// Tokens of a step over those before.
    pub batch: f64,
}

/// A row of the view.
#[derive(Debug, Clone, PartialEq)]
pub enum Row<'a> {
    /// What more of a resource would give, by its place among the elasticities.
    Resource(usize, f64),
    /// A change of the plan.
    Change(Suggestion<'a>),
}

impl Advice {
    /// Whether the figures are there.
    pub fn is_complete(&self) -> bool {
        !self.figures.is_empty()
    }

    /// How many changes were tried.
    pub fn tried(&self) -> usize {
        self.trials.len() + self.singles.unwrap_or(0)
    }

    /// Whether the changes are of two fields each, because none of one lets the scenario fit.
    pub const fn pairs(&self) -> bool {
        self.singles.is_some()
    }

    /// Whether the scenario itself fits, once that is known.
    pub fn fits(&self) -> Option<bool> {
        Some(self.figures.first()?.as_ref()?.fits)
    }

    /// The row that is to have the keys.
    pub(crate) const fn go_to(&mut self, row: usize) {
        self.cursor = row;
    }

    /// Where the scenario does not fit: of each field, or pair of fields, the nearest value with which it does; else of
    /// each field the value that gains most. The fastest first.
    pub fn suggestions(&self) -> Vec<Suggestion<'_>> {
        let Some(now) = self.figures.first().and_then(Option::as_ref) else { return Vec::new() };
        let mut found: Vec<Suggestion> = Vec::new();
        for (trial, summary) in self.trials.iter().zip(self.figures.iter().skip(1)) {
            let Some(summary) = summary.as_ref().filter(|summary| summary.fits) else { continue };
            let gain = summary.tokens_per_s_per_device / now.tokens_per_s_per_device - 1.0;
            if now.fits && gain < WORTH {
                continue;
            }
            let batch = summary.tokens_per_step / now.tokens_per_step;
            let suggestion = Suggestion { trial, summary, gain, batch };
            match found.iter_mut().find(|other| other.trial.is_like(trial)) {
                Some(best) if now.fits && gain > best.gain => *best = suggestion,
                Some(_) => {}
                None => found.push(suggestion),
            }
        }
        found.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        if self.pairs() {
            found.truncate(PAIRS);
        }
        found
    }

    /// The single changes that save memory, where that is not enough, the [`SAVINGS`] nearest of each field: what is
    /// worth trying in pairs.
    pub(crate) fn savings(&self) -> Vec<&Trial> {
        let Some(now) = self.figures.first().and_then(Option::as_ref) else { return Vec::new() };
        if now.fits || self.pairs() || !self.suggestions().is_empty() {
            return Vec::new();
        }
        let saves = |summary: &Summary| summary.memory.peak < now.memory.peak;
        let tried = self.trials.iter().zip(self.figures.iter().skip(1));
        let mut savings: Vec<&Trial> = Vec::new();
        for (trial, _) in tried.filter(|(_, summary)| summary.as_ref().is_some_and(saves)) {
            if savings.iter().filter(|other| other.is_like(trial)).count() < SAVINGS {
                savings.push(trial);
            }
        }
        savings
    }
}

#[cfg(test)]
mod tests;
