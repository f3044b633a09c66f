//! What `i` is asked to explain: a figure of the step shown, or of something else that a view shows beside it.

use crate::bounds::fsdp::FsdpLimits;
use crate::figures::run::TrainingRun;
use crate::figures::{Figure, Limit};
use crate::scenario::Scenario;

use super::answers::Answer;

/// What is said where there is no figure.
pub const NOTHING: &str = "there is no figure here yet";

/// What is said where it is still computed.
pub const LATER: &str = "still computing: there is no figure yet";

/// What is to be explained.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A figure of what the screen shows.
    Shown(Figure),
    /// A figure of something else that is evaluated, with its name.
    Evaluated(String, Figure, Box<Answer>),
    /// A figure of a scenario that is still to be run for that, with its name.
    Other(String, Figure, Box<Scenario>),
    /// A figure of the limits of the machine.
    Limit(Limit, Box<FsdpLimits>),
    /// The days of a training.
    Training(Box<TrainingRun>),
}
