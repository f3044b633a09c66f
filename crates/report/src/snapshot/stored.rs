//! Figures that a snapshot says came out when it was written.

use crate::figures::Figures;
use shardscope_engine::scenario::Scenario;

use super::content::Snapshot;

/// The evaluation in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The version of shardscope that wrote it.
    pub version: String,
    /// Figures that came out there: for show, beside what comes out now.
    pub figures: Figures,
}

impl Stored {
    pub(super) fn new(snapshot: &Snapshot) -> Option<Self> {
        Some(Self { version: snapshot.version.clone(), figures: snapshot.evaluation.clone()? })
    }

    /// Whether this very version wrote it.
    pub fn is_own(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }

    /// What is to be said of it beside what comes out now: one version finds the same figures, to the bit.
    pub fn doubt(&self, now: &Figures) -> Option<&'static str> {
        let doubt = "the evaluation in the file differs from what this same version computes: one of them was changed";
        (self.is_own() && self.figures != *now).then_some(doubt)
    }
}

/// A scenario of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPin {
    /// Name of the pin in the comparison.
    pub name: String,
    /// Scenario that was evaluated.
    pub scenario: Scenario,
    /// What the set says came out; nothing where it says nothing, or that of other constants than the scenario has.
    pub stored: Option<Stored>,
}
