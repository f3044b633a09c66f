//! A run of the user's own: what ran, and what was measured of it. Not for what that says ([`crate::calibrate`]).

use crate::calibrate::OwnFigure;
use crate::scenario::Scenario;

/// A run that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRun {
    /// What ran: the scenario that was shown when the figure was typed.
    pub scenario: Scenario,
    /// What was measured.
    pub figure: OwnFigure,
}

impl OwnRun {
    /// What ran, in a few words.
    pub fn name(&self) -> String {
        let Scenario { model, cluster, strategy, .. } = &self.scenario;
        format!("{}, {}, {strategy}, {} devices", model.id, cluster.id, self.scenario.devices())
    }
}
