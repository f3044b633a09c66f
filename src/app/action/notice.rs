//! Answers to a key: the notice that the status line shows until the next key, and what `i` is asked to explain.

use std::borrow::Cow;
use std::ops::Deref;

use crate::app::answers::Answer;
use shardscope_engine::bounds::fsdp::FsdpLimits;
use shardscope_engine::scenario::Scenario;
use shardscope_report::figures::run::TrainingRun;
use shardscope_report::figures::{Figure, Limit};

/// A sentence for the status line, and how long it is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A sentence on what happened, or why it cannot.
    Said(Cow<'static, str>),
    /// That something is still computed: once it is there, this is no longer to be said.
    Computing(&'static str),
}

impl Deref for Notice {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Said(said) => said,
            Self::Computing(what) => what,
        }
    }
}

impl From<&'static str> for Notice {
    fn from(said: &'static str) -> Self {
        Self::Said(said.into())
    }
}

impl From<String> for Notice {
    fn from(said: String) -> Self {
        Self::Said(said.into())
    }
}

/// The notice where there is no figure.
pub const NOTHING: Notice = Notice::Said(Cow::Borrowed("there is no figure here yet"));

/// The notice where the figure is still computed.
pub const LATER: Notice = Notice::Computing("still computing: there is no figure yet");

/// The notice where the figures to export are still computed.
pub const FIGURES_LATER: Notice = Notice::Computing("still computing: export when the figures are there");

/// The figures of the caveats are still computed.
pub const CAVEATS_LATER: Notice = Notice::Computing("still computing: caveats are listed when the figures are there");

/// The notice where the plan to apply is still computed.
pub const PLAN_LATER: Notice = Notice::Computing("still computing: apply the plan when it is there");

/// The subject of an explanation.
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
