//! What a phase of a step is, and what is known of it. Not for finding that ([`super::phases`], [`super::rollouts`]).

use crate::program::TaskKind;
use crate::scenario::BesideRole;
use crate::units::{Bytes, Seconds};

/// What a phase of a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseKind {
    /// The engine writes answers.
    Rollout,
    /// A model is passed forward alone; several are where each micro-batch passes them.
    Alone(BesideRole),
    /// The critic's forward and its update.
    Critic,
    /// Forward, backward and update of the model.
    Update,
    /// Its weights go to the engine.
    Transfer,
}

/// Who has the devices of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseLane {
    /// The program that trains.
    Trainer,
    /// The engine that writes answers.
    Engine,
}

impl PhaseKind {
    /// Whether the engine is awake in it.
    pub(super) const fn is_of_engine(self) -> bool {
        matches!(self, Self::Rollout | Self::Transfer)
    }

    /// The activity of a device at its fullest moment.
    pub(super) const fn task(self) -> TaskKind {
        match self {
            Self::Rollout => TaskKind::Rollout,
            Self::Alone(_) => TaskKind::ForwardAlone,
            Self::Critic | Self::Update => TaskKind::Backward,
            Self::Transfer => TaskKind::Copy,
        }
    }
}

/// A phase of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPhase {
    /// What it is for.
    pub kind: PhaseKind,
    /// The models that each micro-batch passes forward alone in it.
    pub passes: Vec<BesideRole>,
    /// Who has the devices.
    pub lane: PhaseLane,
    /// Its time, on the rank that ends last; `None` where it is not known.
    pub time: Option<Seconds>,
    /// The most memory that a device has in use meanwhile.
    pub peak: Bytes,
    /// What waits on the host of a node meanwhile, beside what is there throughout the step.
    pub host: Bytes,
}
