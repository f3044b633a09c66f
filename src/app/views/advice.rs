//! The view of the advice: what more of each resource would give, then what the plan could change, the most first.
//!
//! Not for finding the changes ([`crate::search::Adviser`]), nor for asking for them (`app::advising`).

use crate::scenario::Scenario;
use crate::search::{AdviceRound, Suggestion};

/// What the view knows.
#[derive(Debug, Clone, Default)]
pub struct Advice {
    /// The scenario that the changes start from.
    pub(crate) of: Option<Scenario>,
    /// The changes that are tried for it, and what they come to.
    pub(crate) round: AdviceRound,
    /// The row that has the keys.
    pub(crate) cursor: usize,
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
        self.round.is_complete()
    }

    /// The changes that are tried, and what they come to.
    pub const fn round(&self) -> &AdviceRound {
        &self.round
    }

    /// The row that is to have the keys.
    pub(crate) const fn go_to(&mut self, row: usize) {
        self.cursor = row;
    }
}

#[cfg(test)]
mod tests;
