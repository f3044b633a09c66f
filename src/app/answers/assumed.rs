//! Assumptions of the FSDP limits beyond the scenario: the view of the limits changes them, that of the grid searches
//! under it.

use shardscope_engine::bounds::fsdp::{self, ZeroStage};
use shardscope_engine::scenario::Scenario;

/// An assumption that keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumption {
    /// The share of activations that is kept.
    Gamma,
    /// Transfers of the model in backward.
    Backward,
    /// The sharded parts of the state.
    Stage,
}

impl Assumption {
    /// All of them, from above.
    pub const ALL: [Self; 3] = [Self::Gamma, Self::Backward, Self::Stage];

    /// Its symbol in the formulas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gamma => "gamma",
            Self::Backward => "n_bwd",
            Self::Stage => "stage",
        }
    }
}

/// Values to assume, in the steps that keys change them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitAssumptions {
    /// Tenths of the activations that are kept.
    gamma: u8,
    /// Transfers of the model in backward.
    backward: u8,
    /// The `ZeRO` stage.
    stage: u8,
}

/// The defaults of the command line: all layers computed again, one transfer in backward, weights sharded too.
impl Default for LimitAssumptions {
    fn default() -> Self {
        Self { gamma: 0, backward: 1, stage: 3 }
    }
}

impl LimitAssumptions {
    /// Changes one by so many steps, within its range.
    pub fn change(&mut self, assumption: Assumption, by: i8) {
        let (value, least, most) = match assumption {
            Assumption::Gamma => (&mut self.gamma, 0, 10),
            Assumption::Backward => (&mut self.backward, 1, 2),
            Assumption::Stage => (&mut self.stage, 1, 3),
        };
        *value = value.saturating_add_signed(by).clamp(least, most);
    }

    /// The limits of a scenario under them.
    pub fn limits(self, scenario: &Scenario) -> fsdp::FsdpLimits {
        self.on(fsdp::FsdpLimits::new(scenario))
    }

    /// Steps of the grid search of a scenario, as the paper counts them.
    pub fn grid_limits(self, scenario: &Scenario) -> fsdp::FsdpLimits {
        self.on(fsdp::FsdpLimits::of_family(scenario))
    }

    fn on(self, limits: fsdp::FsdpLimits) -> fsdp::FsdpLimits {
        let stage = match self.stage {
            1 => ZeroStage::One,
            2 => ZeroStage::Two,
            _ => ZeroStage::Three,
        };
        let (gamma, n_bwd) = (f64::from(self.gamma) / 10.0, f64::from(self.backward));
        fsdp::FsdpLimits { stage, gamma, n_bwd, ..limits }
    }
}
