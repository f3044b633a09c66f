//! The view of a run of the user's own: how far its step is from what is predicted, what may explain that, and how sure a
//! like step is afterwards.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening};
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::answers::own_run::OwnRun;
use crate::app::answers::work::{Found, Work};
use crate::app::views::{View, ViewSpec};
use shardscope_evidence::calibrate::{Attribution, Cause};
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "measured", name: "Measured", about: "your own run beside its prediction" },
    opens: "V",
    hint: "",
    keys: |keys| keys.rows("cause").key("enter", Action::Take, "type", "type a measured step, like 3.4 s or 38 %"),
};

/// The causes that were found, and the cursor among them.
#[derive(Debug, Clone, Default)]
pub struct MeasuredView {
    cursor: ListCursor,
    /// The run that was asked about last.
    asked: Option<Arc<OwnRun>>,
    /// The causes, or why none is known.
    found: Option<Result<Attribution, String>>,
}

impl MeasuredView {
    /// The causes of the run's gap, once known.
    pub fn told(&self) -> Option<&Result<Attribution, String>> {
        self.found.as_ref()
    }

    /// Constants that may explain the gap.
    pub fn causes(&self) -> &[Cause] {
        self.found.iter().flatten().next().map_or(&[], |told| &told.causes)
    }

    /// The cause under the cursor, by its place.
    pub fn row(&self) -> usize {
        self.cursor.row(self.causes().len())
    }
}

impl View for MeasuredView {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        if action == Action::Take { vec![Effect::Open(Opening::OwnFigure)] } else { Vec::new() }
    }

    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        let run = context.measured.as_ref().ok_or("no measured run is typed in: Enter types one")?;
        self.found.as_ref().ok_or(NOTHING)?;
        Ok(Asked::Other("the run".to_owned(), Figure::StepTime, Box::new(run.scenario.clone())))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.causes().iter().map(|cause| format!("{} {}", cause.constant.name, cause.constant.meaning)).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    fn follow(&mut self, context: &Context) -> Option<Work> {
        // What was measured is kept apart from what is edited: changing the scenario does not ask again.
        if self.asked != context.measured {
            (self.asked, self.found, self.cursor) = (context.measured.clone(), None, ListCursor::default());
        }
        let run = self.asked.as_ref().filter(|_| self.found.is_none())?;
        Some(Work::Measured(Arc::clone(run)))
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.asked.is_some() && self.found.is_none()
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Found::Measured(found) = found else { return Vec::new() };
        let learned = found.as_ref().as_ref().ok().map(|told| Effect::Learn(Box::new(told.calibration.clone())));
        self.found = Some(*found);
        learned.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
