//! The view of the limits: assumptions that keys change, and the numbers that follow from them.

use crate::app::action::Action;
use crate::app::asked::Asked;
use crate::app::assumed::{Assumption, LimitAssumptions};
use crate::app::context::Context;
use crate::app::cursor::ListCursor;
use crate::app::effect::Effect;
use crate::app::panel::ViewId;
use crate::app::view::{View, ViewSpec};
use crate::figures::Limit;
use crate::scenario::Scenario;

/// What is known of it before it is shown.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "limits", name: "Limits", about: "what memory, network and peak allow at best" },
    opens: "L",
    hint: "",
    keys: |keys| {
        keys.up_down("field", "previous and next row")
            .sideways("change", "previous and next value")
            .more_less("", "next and previous value")
            .ends("first and last row")
            .pages("a page up and down")
    },
};

/// The numbers under the assumptions: first those without a form, then bounds.
pub const NUMBERS: [Limit; 11] = [
    Limit::Parameters,
    Limit::Free,
    Limit::Tokens,
    Limit::Sequence,
    Limit::Transfer,
    Limit::Forward,
    Limit::Backward,
    Limit::Hfu,
    Limit::Uncapped,
    Limit::Mfu,
    Limit::TokensPerSecond,
];

/// Rows that can have the keys: assumptions, and the numbers under them.
const ROWS: usize = Assumption::ALL.len() + NUMBERS.len();

/// The cursor, and what is assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitsView {
    /// Of [`Assumption::ALL`], then of [`NUMBERS`].
    cursor: ListCursor,
    /// What is assumed.
    pub assumed: LimitAssumptions,
}

impl LimitsView {
    /// The row that has the keys: of [`Assumption::ALL`], then of [`NUMBERS`].
    pub fn row(&self) -> usize {
        self.cursor.row(ROWS)
    }

    fn change(&mut self, by: i8) {
        if let Some(assumption) = Assumption::ALL.get(self.row()) {
            self.assumed.change(*assumption, by);
        }
    }

    /// The figure under the cursor; of an assumption the one that it changes most plainly.
    fn figure(&self) -> Limit {
        match Assumption::ALL.get(self.row()) {
            Some(Assumption::Gamma) => Limit::Activation,
            Some(Assumption::Backward) => Limit::Shortest,
            Some(Assumption::Stage) => Limit::Free,
            None => NUMBERS[self.row() - Assumption::ALL.len()],
        }
    }

    /// What a plan has beside the data parallelism that the limits are those of, like "tp 8, pp 4"; nothing in them
    /// depends on it.
    pub fn beside(scenario: &Scenario) -> Option<String> {
        let plan = &scenario.plan;
        let ranks = [("tp", plan.tensor), ("cp", plan.context), ("pp", plan.pipeline)];
        let other = ranks.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} {ranks}"));
        let other = other.collect::<Vec<_>>().join(", ");
        (!other.is_empty()).then_some(other)
    }
}

impl View for LimitsView {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match action {
            Action::Right | Action::More => self.change(1),
            Action::Left | Action::Less => self.change(-1),
            _ => {}
        }
        Vec::new()
    }

    fn figure(&self, context: &Context) -> Result<Asked, &'static str> {
        Ok(Asked::Limit(self.figure(), Box::new(self.assumed.limits(context.shown))))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        let names = Assumption::ALL.map(Assumption::name).into_iter().chain(NUMBERS.map(Limit::label));
        Some(names.map(str::to_owned).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }
}

#[cfg(test)]
mod tests;
