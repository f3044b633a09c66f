//! The figures that a snapshot stored when it was written.

use crate::figures::Figures;
use shardscope_engine::scenario::Scenario;

use super::content::Snapshot;

/// The evaluation in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The version of shardscope that wrote it.
    pub version: String,
    /// The figures that the version found: shown beside the present ones.
    pub figures: Figures,
}

impl Stored {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self { version: snapshot.version.clone(), figures: snapshot.evaluation.clone() }
    }

    /// Whether this very version wrote it.
    pub fn is_own(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }

    /// A remark beside the present figures: one version finds the same figures, to the bit.
    pub fn doubt(&self, now: &Figures) -> Option<&'static str> {
        let doubt = "the evaluation in the file differs from what this same version computes: one of them was changed";
        (self.is_own() && self.figures != *now).then_some(doubt)
    }
}

/// A scenario of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPin {
    pub name: String,
    pub scenario: Scenario,
    /// The set's figures; `None` where they are of other constants than the scenario has.
    pub stored: Option<Stored>,
}
