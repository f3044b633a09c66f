//! The pinned scenarios: what the one in hand is compared with.

use std::sync::Arc;

use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::scenario::{Field, Scenario};

use crate::app::answers::{Answer, MOST_SPANS};

/// The most scenarios that are pinned, A to Z.
pub const MOST: usize = 26;

/// A scenario to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct Pin {
    /// Its number; no other pin ever has it.
    pub id: u64,
    /// The user's name for it.
    pub name: String,
    /// The scenario to compare.
    pub scenario: Scenario,
    /// Its evaluation, once it is there.
    pub evaluation: Option<Arc<Evaluation>>,
}

/// The pinned scenarios, in the order of the comparison; differences are to the first.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    all: Vec<Pin>,
    next: u64,
}

impl Pins {
    /// All of them, in order.
    pub fn all(&self) -> &[Pin] {
        &self.all
    }

    /// The one that others are held against, with its figures.
    pub fn reference(&self) -> Option<(&Pin, &Summary)> {
        let first = self.all.first()?;
        Some((first, &first.evaluation.as_ref()?.summary))
    }

    /// Whether there is no place for one more.
    pub fn are_full(&self) -> bool {
        self.all.len() >= MOST
    }

    /// Where a scenario is among them.
    pub fn position(&self, scenario: &Scenario) -> Option<usize> {
        self.all.iter().position(|pin| pin.scenario == *scenario)
    }

    /// Adds one, under the name that suits it.
    pub fn pin(&mut self, scenario: Scenario, evaluation: Option<Arc<Evaluation>>) {
        let name = self.name_for(&scenario);
        self.add(name, scenario, evaluation);
    }

    /// Adds one, where there is a place.
    pub fn add(&mut self, name: String, scenario: Scenario, evaluation: Option<Arc<Evaluation>>) {
        if !self.are_full() {
            self.next += 1;
            self.all.push(Pin { id: self.next, name, scenario, evaluation });
            self.thin();
        }
    }

    /// Lets go of one.
    pub fn remove(&mut self, index: usize) {
        if index < self.all.len() {
            self.all.remove(index);
        }
    }

    /// Moves one to another place; gives where it is then.
    pub fn shift(&mut self, index: usize, by: isize) -> usize {
        let to = index.saturating_add_signed(by).min(self.all.len().saturating_sub(1));
        if index < self.all.len() {
            self.all.swap(index, to);
        }
        to
    }

    /// Calls one something else.
    pub fn rename(&mut self, index: usize, name: &str) {
        if let Some(pin) = self.all.get_mut(index) {
            name.trim().clone_into(&mut pin.name);
        }
    }

    /// A scenario was evaluated, which one of them may wait for.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        // The answer on the screen may be what a pin waits for: it need not be computed twice.
        let waiting = |pin: &&mut Pin| pin.evaluation.is_none() && pin.scenario == answer.scenario;
        for pin in self.all.iter_mut().filter(waiting) {
            pin.evaluation = Some(Arc::clone(&answer.evaluation));
        }
        self.thin();
    }

    /// Keeps of timelines what a comparison draws of them, once the pins before have as many spans as are kept.
    fn thin(&mut self) {
        let mut spans = 0;
        for evaluation in self.all.iter_mut().filter_map(|pin| pin.evaluation.as_mut()) {
            spans += evaluation.trace.spans.len();
            if spans > MOST_SPANS && evaluation.trace.spans.len() > 1 {
                let outline = evaluation.trace.outline();
                Arc::make_mut(evaluation).trace = outline;
            }
        }
    }

    /// The one that waits for the evaluation of a scenario.
    pub(crate) fn waiting(&self, scenario: &Scenario) -> Option<u64> {
        let waits = |pin: &&Pin| pin.evaluation.is_none() && pin.scenario == *scenario;
        self.all.iter().find(waits).map(|pin| pin.id)
    }

    /// Whether one still waits for its evaluation.
    pub fn are_waiting(&self) -> bool {
        self.all.iter().any(|pin| pin.evaluation.is_none())
    }

    /// The evaluation of one is there; one that cannot be evaluated is let go of, and given back.
    pub fn evaluated(&mut self, id: u64, evaluation: Option<Arc<Evaluation>>) -> Option<Pin> {
        let index = self.all.iter().position(|pin| pin.id == id)?;
        if evaluation.is_none() {
            return Some(self.all.remove(index));
        }
        self.all[index].evaluation = evaluation;
        self.thin();
        None
    }

    /// As undo keeps them: without their evaluations, of which a thousand steps would hold too many.
    pub(crate) fn remembered(&self) -> Arc<[Pin]> {
        self.all.iter().map(|pin| Pin { evaluation: None, ..pin.clone() }).collect()
    }

    /// Those that were remembered are pinned again; what is evaluated now stays so.
    pub(crate) fn restore(&mut self, before: &[Pin]) {
        let known = |id| self.all.iter().find(|pin| pin.id == id).and_then(|pin| pin.evaluation.clone());
        self.all = before.iter().map(|pin| Pin { evaluation: known(pin.id), ..pin.clone() }).collect();
    }

    /// Those whose evaluation is not there.
    pub fn missing(&self) -> Vec<(u64, Scenario)> {
        let missing = self.all.iter().filter(|pin| pin.evaluation.is_none());
        missing.map(|pin| (pin.id, pin.scenario.clone())).collect()
    }

    /// The difference of a scenario from the first one: its strategy, or the first field that differs.
    pub fn name_for(&self, scenario: &Scenario) -> String {
        let Some(first) = self.all.first().map(|pin| &pin.scenario) else { return scenario.strategy.to_string() };
        match Field::all().find(|field| field.text(first) != field.text(scenario)) {
            None | Some(Field::Strategy) => scenario.strategy.to_string(),
            Some(field) => format!("{} {}", field.spec().label, field.text(scenario)),
        }
    }
}

/// Whether the same are pinned under the same names, in the same order: a number is of one scenario for ever.
pub(crate) fn are_same(some: &[Pin], others: &[Pin]) -> bool {
    some.iter().map(|pin| (pin.id, &pin.name)).eq(others.iter().map(|pin| (pin.id, &pin.name)))
}

/// The letter of a place, A to Z.
pub fn letter(index: usize) -> String {
    char::from(b'A' + (index % MOST) as u8).to_string()
}

#[cfg(test)]
mod tests;
