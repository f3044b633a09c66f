//! How the explorer asks for advice, hears it, and does what its rows say.

use super::views::advice::{Advice, Row, STAGES, Suggestion, TRIED, Trial, WORTH};
use crate::app::action::{Action, Command};
use crate::app::answers::Answer;
use crate::app::cursor::ListCursor;
use crate::app::inputs::FIELDS;
use crate::app::resolve::resolve;
use crate::app::state::App;
use crate::app::work::Work;
use crate::evaluate::{Elasticity, Summary};
use crate::figures::Figure;
use std::sync::Arc;

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
