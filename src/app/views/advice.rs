//! The view of the advice: what more of each resource would give, then what the plan could change, the most first.
//!
//! Not for finding the changes ([`crate::search::Adviser`]).

use crate::app::action::Action;
use crate::app::answers::Answer;
use crate::app::asked::{Asked, NOTHING};
use crate::app::context::Context;
use crate::app::cursor::ListCursor;
use crate::app::effect::Effect;
use crate::app::panel::ViewId;
use crate::app::view::{View, ViewSpec};
use crate::app::work::{AdviceQuestion, Found, Work};
use crate::figures::Figure;
use crate::scenario::Scenario;
use crate::search::{self, AdviceRound, Suggestion};

/// What is known of it before it is shown.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "advice", name: "Advice", about: "which single change would help" },
    opens: "W",
    hint: "",
    keys: |keys| keys.rows("row").key("enter", Action::Take, "take", "make the change, or explain the gain"),
};

/// What the view knows.
#[derive(Debug, Clone, Default)]
pub struct AdviceView {
    /// The scenario that the changes start from.
    asked: Option<Scenario>,
    /// The changes that are tried for it, and what they come to.
    round: AdviceRound,
    cursor: ListCursor,
}

/// A row of the view.
#[derive(Debug, Clone, PartialEq)]
pub enum AdviceRow<'a> {
    /// What more of a resource would give, by its place among the elasticities.
    Resource(usize, f64),
    /// A change of the plan.
    Change(Suggestion<'a>),
}

impl AdviceRow<'_> {
    /// What a row is called: `10 % more bandwidth of the node level`, `micro 4`.
    pub fn name(&self, answer: Option<&Answer>) -> String {
        match self {
            Self::Resource(index, _) => {
                let subject = answer.map(Answer::subject);
                subject.and_then(|subject| Figure::Elasticity(*index).name(&subject)).unwrap_or_default()
            }
            Self::Change(Suggestion { candidate, .. }) => candidate.to_string(),
        }
    }
}

impl AdviceView {
    /// Whether the figures are there.
    pub fn is_complete(&self) -> bool {
        self.round.is_complete()
    }

    /// The changes that are tried, and what they come to.
    pub const fn round(&self) -> &AdviceRound {
        &self.round
    }

    /// The rows: what more of each resource would give, the most first, then what the plan could change.
    pub fn rows(&self, answer: Option<&Answer>) -> Vec<AdviceRow<'_>> {
        let gains = answer.map_or_else(Vec::new, |answer| search::gains(&answer.evaluation));
        let resources = gains.into_iter().map(|(index, gain)| AdviceRow::Resource(index, gain));
        resources.chain(self.round.suggestions().into_iter().map(AdviceRow::Change)).collect()
    }

    /// The row that has the keys, of so many.
    pub fn row(&self, count: usize) -> usize {
        self.cursor.row(count)
    }

    /// Enter makes a change, or explains a gain.
    fn take(&self, context: &Context) -> Option<Effect> {
        let rows = self.rows(context.answer);
        Some(match rows.get(self.row(rows.len()))? {
            AdviceRow::Resource(..) => Effect::Explain,
            AdviceRow::Change(_) if !context.is_possible => {
                let why = "these changes are of the last possible scenario: fix the fields first";
                Effect::Tell(why.to_owned())
            }
            AdviceRow::Change(Suggestion { candidate, .. }) => {
                Effect::Edit(candidate.edits.clone(), format!("took {candidate}: u undoes it"))
            }
        })
    }
}

impl View for AdviceView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        if action == Action::Take { self.take(context).into_iter().collect() } else { Vec::new() }
    }

    fn figure(&self, context: &Context) -> Result<Asked, &'static str> {
        let rows = self.rows(context.answer);
        match rows.get(self.row(rows.len())).ok_or(NOTHING)? {
            AdviceRow::Resource(index, _) => Ok(Asked::Shown(Figure::Elasticity(*index))),
            AdviceRow::Change(_) => Err("a change of the plan is no figure to explain: Enter takes it"),
        }
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        Some(self.rows(context.answer).iter().map(|row| row.name(context.answer)).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.row(self.rows(context.answer).len())
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    /// What has to be tried for the current scenario, if that was not done yet. Nothing is tried from fields that make
    /// no scenario: what was tried before stays in sight.
    fn follow(&mut self, context: &Context) -> Option<Work> {
        if self.asked.as_ref() != Some(context.scenario) {
            *self = Self::default();
            if context.is_possible {
                self.asked = Some(context.scenario.clone());
            }
        }
        self.is_waiting(context).then(|| {
            let (library, file, scenario) = (context.library.clone(), context.file.clone(), context.scenario.clone());
            Work::Advice(Box::new(AdviceQuestion { library, file, scenario }))
        })
    }

    fn is_waiting(&self, context: &Context) -> bool {
        context.is_possible && !self.is_complete()
    }

    /// The figures of the changes are there.
    fn hear(&mut self, found: Found, context: &Context) -> Vec<Effect> {
        let Found::Advice(round) = found else { return Vec::new() };
        if self.asked.as_ref() == Some(context.scenario) {
            self.round = *round;
        } else {
            // An edit has come between: the answer is to what is no longer asked.
            *self = Self::default();
        }
        Vec::new()
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
