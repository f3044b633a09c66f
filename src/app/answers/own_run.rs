//! A run of the user's own: what ran, and what was measured of it. Not for what that says
//! ([`shardscope_evidence::calibrate`]).

use std::sync::Arc;

use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::OwnFigure;
use shardscope_engine::stack::Calibration;

/// A run that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRun {
    /// The scenario that ran: the one shown when the figure was typed.
    pub scenario: Scenario,
    /// The figure that was measured.
    pub figure: OwnFigure,
}

impl OwnRun {
    /// A few words on the scenario that ran.
    pub fn name(&self) -> String {
        let Scenario { model, cluster, strategy, .. } = &self.scenario;
        format!("{}, {}, {strategy}, {} devices", model.id, cluster.id, self.scenario.devices())
    }

    /// Whether this is what ran, whatever has been learned from it since.
    pub fn is_of(&self, scenario: &Scenario) -> bool {
        self.before(scenario) == self.scenario
    }

    /// Whether a scenario counts with what was learned from the run.
    pub fn counts_in(&self, scenario: &Scenario) -> bool {
        self.has_software_of(scenario) && scenario.calibration != self.scenario.calibration
    }

    /// A scenario without what was learned from the run: another stack never had it.
    pub fn before(&self, scenario: &Scenario) -> Scenario {
        let calibration = if self.has_software_of(scenario) { &self.scenario } else { scenario }.calibration.clone();
        Scenario { calibration, ..scenario.clone() }
    }

    /// A scenario with what was learned from the run, if it runs the same software.
    pub fn after(&self, scenario: &Scenario, learned: Calibration) -> Option<Scenario> {
        let calibration = Arc::new(learned);
        self.has_software_of(scenario).then(|| Scenario { calibration, ..scenario.clone() })
    }

    /// Whether a scenario no longer counts with what was learned from the run, since it runs other software.
    pub fn is_lost_in(&self, scenario: &Scenario) -> bool {
        !self.has_software_of(scenario)
    }

    fn has_software_of(&self, scenario: &Scenario) -> bool {
        self.scenario.stack == scenario.stack
    }
}
