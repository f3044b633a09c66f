//! The comparison: the pinned scenarios and the one shown, side by side.

use std::sync::Arc;

use crate::evaluate::Evaluation;
use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;

use crate::app::App;
use crate::app::action::{Action, Command};
use crate::app::answers::Answer;
use crate::app::layer::{Entry, Layer, Subject};
use crate::app::pins::letter;

/// The most scenarios that are seen at once.
pub const MOST: usize = 6;

/// The closest look at the timelines, in halvings of the longest step.
const CLOSEST: u32 = 12;

/// What the comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compare {
    /// The column that has the keys.
    cursor: usize,
    /// Rows scrolled away.
    pub top: usize,
    /// How often the time that the timelines show was halved.
    pub zoom: u32,
}

/// One column: a pinned scenario, or the one shown.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// Its place among the pins; `None` for the one shown.
    pub pin: Option<usize>,
    /// What the user calls it.
    pub name: &'a str,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its evaluation, once it is there.
    pub evaluation: Option<&'a Arc<Evaluation>>,
}

impl Column<'_> {
    /// Its letter: that of its place, or `now`.
    pub fn letter(&self) -> String {
        self.pin.map_or_else(|| "now".to_owned(), letter)
    }
}

impl Compare {
    /// The column that is to have the keys.
    pub(in crate::app) const fn go_to(&mut self, column: usize) {
        self.cursor = column;
    }

    /// The column that has the keys, of so many.
    pub fn cursor(&self, count: usize) -> usize {
        self.cursor.min(count.saturating_sub(1))
    }
}

impl App {
    /// All that can be compared: the pins in order, then the scenario shown if it is not one of them.
    pub fn columns(&self) -> Vec<Column<'_>> {
        let pins = self.pins.all().iter().enumerate().map(|(index, pin)| Column {
            pin: Some(index),
            name: &pin.name,
            scenario: &pin.scenario,
            evaluation: pin.evaluation.as_ref(),
        });
        let shown = self.answer.as_ref().filter(|answer| self.pins.position(&answer.scenario).is_none());
        let now = shown.map(|Answer { scenario, evaluation }| Column {
            pin: None,
            name: &scenario.strategy,
            scenario,
            evaluation: Some(evaluation),
        });
        pins.chain(now).collect()
    }

    /// Does what the user asked of the comparison.
    pub(in crate::app) fn on_compare(&mut self, action: Action) -> Vec<Command> {
        let count = self.columns().len();
        let at = self.views.compare.cursor(count);
        let pin = self.columns().get(at).and_then(|column| column.pin);
        let (rows, page) = (self.rows_compared(), self.page);
        let compare = &mut self.views.compare;
        match action {
            Action::Left => compare.cursor = at.saturating_sub(1),
            Action::Right => compare.cursor = (at + 1).min(count.saturating_sub(1)),
            Action::First => compare.cursor = 0,
            Action::Last => compare.cursor = count.saturating_sub(1),
            Action::Up => compare.top = compare.top.saturating_sub(1),
            Action::Down => compare.top = (compare.top + 1).min(rows),
            Action::PageUp => compare.top = compare.top.saturating_sub(page),
            Action::PageDown => compare.top = (compare.top + page).min(rows),
            Action::More => compare.zoom = (compare.zoom + 1).min(CLOSEST),
            Action::Less => compare.zoom = compare.zoom.saturating_sub(1),
            Action::Earlier | Action::Later => {
                if let Some(pin) = pin {
                    let by = if action == Action::Earlier { -1 } else { 1 };
                    self.views.compare.cursor = self.pins.shift(pin, by);
                }
            }
            Action::Remove => self.let_go(pin),
            Action::Rename => self.open_rename(pin),
            Action::Take => return self.take_pin(pin),
            _ => {}
        }
        Vec::new()
    }

    /// Rows of the comparison that can be scrolled away: figures, bars, timelines.
    fn rows_compared(&self) -> usize {
        14 + 2 * self.columns().len().min(MOST)
    }

    fn let_go(&mut self, pin: Option<usize>) {
        match pin {
            Some(pin) => self.pins.remove(pin),
            None => self.tell("this is the scenario shown: p pins it".to_owned()),
        }
    }

    fn open_rename(&mut self, pin: Option<usize>) {
        match pin.and_then(|pin| Some((pin, self.pins.all().get(pin)?))) {
            Some((index, pin)) => {
                self.layer = Some(Layer::Entry(Entry::new(Subject::Pin(index), pin.name.clone())));
            }
            None => self.tell("this is the scenario shown: p pins it, then it can be named".to_owned()),
        }
    }

    /// The pinned scenario becomes the one in hand.
    fn take_pin(&mut self, pin: Option<usize>) -> Vec<Command> {
        let Some(pin) = pin.and_then(|pin| self.pins.all().get(pin)).cloned() else { return Vec::new() };
        let commands = self.adopt(ScenarioFile::of(&pin.scenario), pin.scenario);
        self.tell(format!("took {}", pin.name));
        commands
    }
}

#[cfg(test)]
mod tests;
