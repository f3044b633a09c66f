//! What would help: single changes of the plan that let it fit or make it faster, tried behind the screen; where none
//! lets it fit, two together. A pipeline's schedule and its stages per rank are one change, since neither of them does
//! anything alone.
//!
//! The candidates are the nearest values of each field, set as an edit would set them, so that what is promised is what
//! Enter brings. Not for what hardware would give ([`crate::search`]'s elasticities).

use crate::app::resolve::resolve;
use std::sync::Arc;

use crate::evaluate::{Elasticity, Summary};
use crate::figures::Figure;
use crate::scenario::Scenario;

use crate::app::action::{Action, Command};
use crate::app::answers::Answer;
use crate::app::cursor::ListCursor;
use crate::app::inputs::FIELDS;
use crate::app::state::App;
use crate::app::work::Work;

/// The fields that are tried, and how many values after and before the present one; a change of the numbers (precision,
/// optimizer) or of the task (model, sequence) is no advice.
const TRIED: [(&str, usize, usize); 13] = [
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
const STAGES: usize = 3;

/// The smallest gain in throughput that is worth a line.
const WORTH: f64 = 0.005;

/// The most changes of one field that are tried with others'.
const SAVINGS: usize = 3;

/// The most pairs of changes that are named.
const PAIRS: usize = 6;

/// What the view knows.
#[derive(Debug, Clone, Default)]
pub struct Advice {
    /// The scenario that the trials start from.
    of: Option<Scenario>,
    trials: Arc<Vec<Trial>>,
    /// How many single changes were tried before, if the trials are pairs.
    singles: Option<usize>,
    /// The figures of the scenario itself and of each trial, once they are there.
    figures: Vec<Option<Summary>>,
    /// The row that has the keys.
    cursor: usize,
}

/// A change to try, of one field or of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The fields, by their places in [`FIELDS`], with their values.
    pub changes: Vec<(usize, String)>,
    scenario: Scenario,
}

impl Trial {
    /// Whether another one changes the same fields.
    fn is_like(&self, other: &Self) -> bool {
        self.changes.iter().map(|(field, _)| field).eq(other.changes.iter().map(|(field, _)| field))
    }

    /// Whether its plan follows both its schedule and its stages per rank.
    fn is_staged(&self) -> bool {
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
    fn savings(&self) -> Vec<&Trial> {
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

impl App {
    /// What has to be tried for the scenario in hand, if that was not done yet. Nothing is tried from fields that make no
    /// scenario.
    pub(crate) fn ask_advice(&mut self) -> Option<Work> {
        let (known, possible) = (self.views.advice.of.as_ref() == Some(&self.scenario), self.shown.is_ok());
        if known {
            return (possible && !self.views.advice.is_complete()).then(|| self.advice_work());
        }
        if !possible {
            self.views.advice = Advice::default();
            return None;
        }
        let trials = self.trials();
        self.views.advice = Advice { of: Some(self.scenario.clone()), trials: Arc::new(trials), ..Advice::default() };
        Some(self.advice_work())
    }

    fn advice_work(&self) -> Work {
        let trials = self.views.advice.trials.iter().map(|trial| trial.scenario.clone());
        Work::Advice(std::iter::once(self.scenario.clone()).chain(trials).collect())
    }

    /// The nearest possible values of each field that is tried, the nearest first, then schedules with their stages.
    fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        for (flag, after, before) in TRIED {
            for (forward, most) in [(true, after), (false, before)] {
                let possible = self.toward(flag, forward).into_iter().filter_map(|change| self.trial(vec![change]));
                trials.extend(possible.take(most));
            }
        }
        trials.extend(self.staged());
        trials
    }

    /// Other schedules, each with more stages on each rank, where the plan follows both: one stage has nothing to
    /// interleave, and neither 1F1B nor `GPipe` knows more of them.
    fn staged(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        for schedule in [true, false].into_iter().flat_map(|forward| self.toward("schedule", forward)) {
            let stages = self.toward("stages-per-rank", true).into_iter();
            let possible = stages.filter_map(|stages| self.trial(vec![schedule.clone(), stages]));
            trials.extend(possible.filter(Trial::is_staged).take(STAGES));
        }
        trials
    }

    /// The values of a field after the present one or before it, the nearest first, each with the field's place.
    fn toward(&self, flag: &str, forward: bool) -> Vec<(usize, String)> {
        let Some(index) = FIELDS.iter().position(|field| field.flag == flag) else { return Vec::new() };
        let value = FIELDS[index].read(&self.scenario);
        let options = FIELDS[index].toward(&value, forward, &self.scenario, &self.library);
        options.into_iter().map(|value| (index, value)).collect()
    }

    /// A change as an edit would make it, if the scenario can be that way.
    fn trial(&self, changes: Vec<(usize, String)>) -> Option<Trial> {
        let mut file = self.file.clone();
        for (field, value) in &changes {
            file.set(FIELDS[*field].flag, value).ok()?;
        }
        let scenario = resolve(&self.library, &file, &self.scenario).ok()?;
        (scenario.plan != self.scenario.plan).then_some(Trial { changes, scenario })
    }

    /// The figures of the trials are there. Where no single change lets the scenario fit, pairs of those that save
    /// memory are tried next.
    pub(crate) fn hear_advice(&mut self, figures: Vec<Option<Summary>>) -> Option<Command> {
        if self.views.advice.of.as_ref() != Some(&self.scenario) {
            // An edit has come between: the answer is to what is no longer asked.
            self.views.advice = Advice::default();
            return None;
        }
        self.views.advice.figures = figures;
        let savings = self.views.advice.savings();
        let later = |index: usize| savings[index + 1..].iter().map(move |other| (index, other));
        let pairs = (0..savings.len()).flat_map(later).map(|(index, other)| (savings[index], other));
        let apart = pairs.filter(|(one, other)| !one.is_like(other));
        let trials: Vec<Trial> =
            apart.filter_map(|(one, other)| self.trial([&one.changes[..], &other.changes].concat())).collect();
        if trials.is_empty() {
            return None;
        }
        let advice = &mut self.views.advice;
        let singles = Some(advice.trials.len());
        *advice = Advice { of: advice.of.take(), trials: Arc::new(trials), singles, ..Advice::default() };
        self.ask_view()
    }

    /// The rows of the view: what more of each resource would give, the most first, then what the plan could change.
    pub fn advice_rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row> = Vec::new();
        if let Some(answer) = &self.answer {
            let gains = answer.evaluation.elasticity.iter().map(Elasticity::gain);
            let mut gains: Vec<(usize, f64)> = gains.enumerate().collect();
            gains.retain(|(_, gain)| *gain >= WORTH / 10.0);
            gains.sort_by(|a, b| b.1.total_cmp(&a.1));
            rows.extend(gains.into_iter().map(|(index, gain)| Row::Resource(index, gain)));
        }
        rows.extend(self.views.advice.suggestions().into_iter().map(Row::Change));
        rows
    }

    /// What a row is called: `10 % more bandwidth of the node level`, `micro 4`.
    pub fn advice_name(&self, row: &Row) -> String {
        match row {
            Row::Resource(index, _) => {
                let subject = self.answer.as_ref().map(Answer::subject);
                subject.and_then(|subject| Figure::Elasticity(*index).name(&subject)).unwrap_or_default()
            }
            Row::Change(Suggestion { trial, .. }) => trial.name(),
        }
    }

    /// The row that has the keys, of so many.
    pub fn advice_cursor(&self, count: usize) -> usize {
        self.views.advice.cursor.min(count.saturating_sub(1))
    }

    /// Does what the user asked for: Enter makes a change, or explains a gain.
    pub(crate) fn on_advice(&mut self, action: Action) -> Vec<Command> {
        let rows = self.advice_rows();
        let at = self.advice_cursor(rows.len());
        if action != Action::Take {
            let (count, page) = (rows.len(), self.page);
            let mut cursor = ListCursor::at(at);
            cursor.go(action, count, page);
            self.views.advice.cursor = cursor.row(count);
            return Vec::new();
        }
        match rows.get(at) {
            Some(Row::Change(_)) if self.shown.is_err() => {
                self.tell("these changes are of the last possible scenario: fix the fields first".to_owned());
            }
            Some(Row::Change(Suggestion { trial, .. })) => {
                let (changes, said) = (trial.changes.clone(), format!("took {}: u undoes it", trial.name()));
                let commands = self.change(&changes);
                if self.notice.is_none() {
                    self.tell(said);
                }
                return commands;
            }
            Some(Row::Resource(..)) => return self.explain(),
            None => {}
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
