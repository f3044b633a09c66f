//! What `i` is asked to explain: a figure of the step shown, or of something else that a view shows beside it.

use std::borrow::Cow;

use shardscope_engine::bounds::fsdp::FsdpLimits;
use shardscope_engine::scenario::Scenario;
use shardscope_report::figures::run::TrainingRun;
use shardscope_report::figures::{Figure, Limit};

use crate::app::action::notice::Notice;
use crate::app::answers::Answer;

/// What is said where there is no figure.
pub const NOTHING: Notice = Notice::Said(Cow::Borrowed("there is no figure here yet"));

/// What is said where it is still computed.
pub const LATER: Notice = Notice::Computing("still computing: there is no figure yet");

/// What is said where figures are to be written that are still computed.
pub const FIGURES_LATER: Notice = Notice::Computing("still computing: export when the figures are there");

/// What is said where a plan is to be taken that is still computed.
pub const PLAN_LATER: Notice = Notice::Computing("still computing: apply the plan when it is there");

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
