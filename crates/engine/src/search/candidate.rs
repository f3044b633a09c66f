//! A candidate of a search: a list of edits over a base scenario, and the scenario that they make.

use std::fmt;

use crate::scenario::{Edit, Field, Problem, Scenario};

/// A scenario that differs from a base by some edits.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The changes, each field once.
    pub edits: Vec<Edit>,
    /// The base with the edits.
    pub scenario: Scenario,
}

impl Candidate {
    /// Whether it is a micro-batch with the recompute that goes with it.
    pub(super) fn refills(&self) -> bool {
        [Field::MicroBatch, Field::Recompute].into_iter().all(|field| self.edits.iter().any(|edit| edit.field == field))
    }

    /// Whether it trains something else: other parameters, or shorter sequences. That is a way to fit, and no way to be faster.
    pub(super) fn trains_otherwise(&self) -> bool {
        self.edits.iter().any(|edit| matches!(edit.field, Field::Train | Field::Sequence))
    }

    /// A base with some edits; a problem where a field cannot take its value, or where the base's global batch cannot be
    /// kept. Whether the scenario can be laid out shows in its evaluation.
    pub fn new(base: &Scenario, edits: impl IntoIterator<Item = Edit>) -> Result<Self, Problem> {
        let candidate = Self::nearest(base, edits)?;
        candidate.scenario.keeps_batch()?;
        Ok(candidate)
    }

    /// A base with some edits, and with the nearest global batch, however far that is.
    pub fn nearest(base: &Scenario, edits: impl IntoIterator<Item = Edit>) -> Result<Self, Problem> {
        let (mut scenario, edits) = (base.clone(), edits.into_iter().collect::<Vec<_>>());
        for edit in &edits {
            edit.apply(&mut scenario)?;
        }
        scenario.settle_batch();
        Ok(Self { edits, scenario })
    }

    /// Whether another one changes the same fields.
    pub(crate) fn changes_what(&self, other: &Self) -> bool {
        self.edits.iter().map(|edit| edit.field).eq(other.edits.iter().map(|edit| edit.field))
    }
}

impl fmt::Display for Candidate {
    /// With the fields' names as on the screen: `recompute full + nodes 16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Edit { field, value }) in self.edits.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " + " })?;
            write!(f, "{} {value}", field.spec().label)?;
        }
        Ok(())
    }
}
