//! The timeline: which rows and which part of the step it shows, what is chosen on it, and where its keys lead.

mod follow;
mod shown;

pub use follow::counterpart;
pub use shown::{ShownStep, Timeline, TrackRow, Window};

use shardscope_engine::evaluate::{HostDirection, Stream, TaskKind};
use shardscope_report::figures::Figure;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::Asked;
use crate::app::action::notice::Notice;
use crate::app::views::View;

impl View for Timeline {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let Some(answer) = context.answer else { return Vec::new() };
        let step = ShownStep::new(&answer.evaluation);
        let (found, missed) = match action {
            Action::Zoom => (self.to_layer(step), "no layer is visible here"),
            Action::Follow => (self.follow(step), "nothing is gathered for it, and nothing on this rank uses it"),
            Action::NextExposed => (self.to_exposed(true, step), "no further exposed communication"),
            Action::PreviousExposed => (self.to_exposed(false, step), "no exposed communication before"),
            _ => {
                self.go(action, step);
                return Vec::new();
            }
        };
        if found { Vec::new() } else { say(missed) }
    }

    /// The figure that the chosen span adds to.
    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        let chosen = context.answer.and_then(|answer| self.chosen(ShownStep::new(&answer.evaluation))?.first());
        let figure = chosen.map_or(Figure::Exposed, |span| match span.activity.kind {
            kind if kind.computes_layers() => Figure::Compute,
            TaskKind::Optimizer => Figure::Optimizer,
            TaskKind::Host => Figure::Other,
            TaskKind::Copy if span.lane == Stream::HostIn => Figure::Copied(HostDirection::In),
            TaskKind::Copy => Figure::Copied(HostDirection::Out),
            _ => span.level.map_or(Figure::Communication, |level| Figure::Traffic(level.into())),
        });
        Ok(Asked::Shown(figure))
    }
}
