//! What the view of the limits assumes beyond the scenario.

use crate::bounds::fsdp::{self, Stage};
use crate::figures::{Form, Limit};
use crate::scenario::Scenario;

use crate::app::action::Action;

/// An assumption that keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumption {
    /// The share of activations that is kept.
    Gamma,
    /// Transfers of the model in backward.
    Backward,
    /// What of the state is sharded.
    Stage,
}

impl Assumption {
    /// All of them, from above.
    pub const ALL: [Self; 3] = [Self::Gamma, Self::Backward, Self::Stage];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gamma => "gamma",
            Self::Backward => "n_bwd",
            Self::Stage => "stage",
        }
    }
}

/// The numbers under the assumptions, each with the figure that explains it; of a bound that is its network floor.
pub const NUMBERS: [(&str, Limit); 11] = [
    ("parameters", Limit::Parameters),
    ("free memory", Limit::Free),
    ("token capacity", Limit::Tokens),
    ("longest sequence", Limit::Sequence),
    ("transfer", Limit::Transfer),
    ("overlap forward", Limit::Forward),
    ("overlap backward", Limit::Backward),
    ("HFU", Limit::Hfu(Form::Floor)),
    ("uncapped HFU", Limit::Uncapped(Form::Floor)),
    ("MFU", Limit::Mfu(Form::Floor)),
    ("tokens/s, device", Limit::TokensPerSecond(Form::Floor)),
];

/// The last row that can have the keys: assumptions, and the numbers under them.
pub const LAST: usize = Assumption::ALL.len() + NUMBERS.len() - 1;

/// The assumptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The row that has the keys: of [`Assumption::ALL`], then of [`NUMBERS`].
    pub cursor: usize,
    /// Tenths of the activations that are kept.
    gamma: u8,
    /// Transfers of the model in backward.
    backward: u8,
    /// The `ZeRO` stage.
    stage: u8,
}

/// The defaults of the command line: all layers computed again, one transfer in backward, weights sharded too.
impl Default for Limits {
    fn default() -> Self {
        Self { cursor: 0, gamma: 0, backward: 1, stage: 3 }
    }
}

impl Limits {
    /// Does what the user asked for.
    pub fn update(&mut self, action: Action) {
        match action {
            Action::Up => self.cursor = self.cursor.saturating_sub(1),
            Action::Down => self.cursor = (self.cursor + 1).min(LAST),
            Action::First | Action::PageUp => self.cursor = 0,
            Action::Last | Action::PageDown => self.cursor = LAST,
            Action::Right | Action::More => self.change(1),
            Action::Left | Action::Less => self.change(-1),
            _ => {}
        }
    }

    fn change(&mut self, by: i8) {
        let (value, least, most) = match Assumption::ALL.get(self.cursor) {
            Some(Assumption::Gamma) => (&mut self.gamma, 0, 10),
            Some(Assumption::Backward) => (&mut self.backward, 1, 2),
            Some(Assumption::Stage) => (&mut self.stage, 1, 3),
            None => return,
        };
        *value = value.saturating_add_signed(by).clamp(least, most);
    }

    /// The figure under the cursor; of an assumption the one that it changes most plainly.
    pub fn figure(&self) -> Limit {
        match Assumption::ALL.get(self.cursor) {
            Some(Assumption::Gamma) => Limit::Activation,
            Some(Assumption::Backward) => Limit::Shortest(Form::Floor),
            Some(Assumption::Stage) => Limit::Free,
            None => NUMBERS[self.cursor.min(LAST) - Assumption::ALL.len()].1,
        }
    }

    /// The limits of a scenario under the assumptions.
    pub fn of(&self, scenario: &Scenario) -> fsdp::Limits {
        let stage = match self.stage {
            1 => Stage::One,
            2 => Stage::Two,
            _ => Stage::Three,
        };
        let (gamma, n_bwd) = (f64::from(self.gamma) / 10.0, f64::from(self.backward));
        fsdp::Limits { stage, gamma, n_bwd, ..fsdp::Limits::of(scenario) }
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

#[cfg(test)]
mod tests;
