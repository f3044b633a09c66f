//! How the explorer asks for advice, hears it, and does what its rows say.

use super::views::advice::{Advice, Row};
use crate::app::action::{Action, Command};
use crate::app::answers::Answer;
use crate::app::cursor::ListCursor;
use crate::app::effect::Effect;
use crate::app::options::toward;
use crate::app::state::App;
use crate::app::work::Work;
use crate::evaluate::{Elasticity, Summary};
use crate::figures::Figure;
use crate::scenario::{Field, Value};
use crate::search::{AdviceRound, Adviser, Suggestion, WORTH};

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
        let round = self.advised(AdviceRound::first);
        self.views.advice = Advice { of: Some(self.scenario.clone()), round, cursor: 0 };
        Some(self.advice_work())
    }

    fn advice_work(&self) -> Work {
        Work::Advice(self.views.advice.round.scenarios(&self.scenario))
    }

    /// Asks the adviser of the current scenario.
    fn advised<T>(&self, ask: impl FnOnce(&Adviser) -> T) -> T {
        let toward = |field: Field, forward: bool| self.toward(field, forward);
        ask(&Adviser { library: &self.library, file: &self.file, scenario: &self.scenario, toward: &toward })
    }

    /// The values of a field after the present one or before it, the nearest first.
    fn toward(&self, field: Field, forward: bool) -> Vec<Value> {
        toward(field, field.meant(&self.scenario).as_ref(), forward, &self.scenario, &self.library)
    }

    /// The figures of the changes are there. Where no single change lets the scenario fit, pairs of those that save
    /// memory are tried next.
    pub(crate) fn hear_advice(&mut self, figures: Vec<Option<Summary>>) -> Option<Command> {
        if self.views.advice.of.as_ref() != Some(&self.scenario) {
            // An edit has come between: the answer is to what is no longer asked.
            self.views.advice = Advice::default();
            return None;
        }
        let mut round = std::mem::take(&mut self.views.advice.round);
        let next = self.advised(|adviser| round.fill(figures, adviser));
        let asks = next.is_some();
        self.views.advice.round = next.unwrap_or(round);
        if !asks {
            return None;
        }
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
        rows.extend(self.views.advice.round.suggestions().into_iter().map(Row::Change));
        rows
    }

    /// What a row is called: `10 % more bandwidth of the node level`, `micro 4`.
    pub fn advice_name(&self, row: &Row) -> String {
        match row {
            Row::Resource(index, _) => {
                let subject = self.answer.as_ref().map(Answer::subject);
                subject.and_then(|subject| Figure::Elasticity(*index).name(&subject)).unwrap_or_default()
            }
            Row::Change(Suggestion { candidate, .. }) => candidate.to_string(),
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
            Some(Row::Change(Suggestion { candidate, .. })) => {
                let taken = Effect::Edit(candidate.edits.clone(), format!("took {candidate}: u undoes it"));
                return self.perform(vec![taken]);
            }
            Some(Row::Resource(..)) => return self.explain(),
            None => {}
        }
        Vec::new()
    }
}
