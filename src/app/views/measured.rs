//! The view of a run of the user's own: how far its figure is from what is predicted, which settings, links or clocks may
//! explain that, which constants, and how sure a like step is afterwards.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening};
use crate::app::action::notice::{Asked, NOTHING, Notice};
use crate::app::action::panel::ViewId;
use crate::app::answers::own_run::OwnRun;
use crate::app::answers::work::{Found, Work};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{ChoicePrice, Hypothesis};
use shardscope_evidence::calibrate::{Cause, RunDiagnosis};
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "measured", name: "Measured", about: "your own run, and what may explain it" },
    opens: "V",
    hint: "",
    keys: |keys| {
        let help = "apply a hypothesis; first row: type 3.4 s, 38 % or 71 GiB";
        keys.rows("row").key("enter", Action::Take, "apply", help)
    },
};

/// What was found, and the cursor among its rows.
#[derive(Debug, Clone, Default)]
pub struct MeasuredView {
    cursor: ListCursor,
    /// The run that was asked about last.
    asked: Option<Arc<OwnRun>>,
    /// What it says, or why nothing.
    found: Option<Result<RunDiagnosis, String>>,
}

/// A row of the view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasuredEntry<'a> {
    /// What was measured.
    Figure,
    /// What may have run.
    Hypothesis(&'a Hypothesis),
    /// What a choice would save of memory.
    Price(&'a ChoicePrice),
    /// A constant that may be another.
    Cause(&'a Cause),
}

impl MeasuredEntry<'_> {
    /// What it says for those who search.
    fn name(self) -> String {
        match self {
            Self::Figure => "measured".to_owned(),
            Self::Hypothesis(one) => one.to_string(),
            Self::Price(price) => price.candidate.to_string(),
            Self::Cause(cause) => format!("{} {}", cause.constant.name, cause.constant.meaning),
        }
    }

    /// The scenario that it is of.
    fn scenario(self) -> Option<Scenario> {
        match self {
            Self::Hypothesis(one) => Some(one.candidate.scenario.clone()),
            Self::Price(price) => Some(price.candidate.scenario.clone()),
            Self::Figure | Self::Cause(_) => None,
        }
    }
}

impl MeasuredView {
    /// What the run says, once that is known.
    pub fn told(&self) -> Option<&Result<RunDiagnosis, String>> {
        self.found.as_ref()
    }

    /// The figure, what may explain it, what memory costs, and the constants.
    pub fn entries(&self) -> Vec<MeasuredEntry<'_>> {
        let told = self.found.iter().flatten().next();
        let hypotheses = told.iter().flat_map(|told| &told.diagnosis.hypotheses).map(MeasuredEntry::Hypothesis);
        let prices = told.iter().flat_map(|told| &told.diagnosis.prices).map(MeasuredEntry::Price);
        let causes = told.iter().flat_map(|told| &told.attribution).flat_map(|told| &told.causes);
        let all = std::iter::once(MeasuredEntry::Figure).chain(hypotheses).chain(prices);
        all.chain(causes.map(MeasuredEntry::Cause)).collect()
    }

    /// The row under the cursor, by its place.
    pub fn row(&self) -> usize {
        self.cursor.row(self.entries().len())
    }

    /// The row under the cursor.
    pub fn chosen(&self) -> Option<MeasuredEntry<'_>> {
        self.entries().get(self.row()).copied()
    }
}

impl View for MeasuredView {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        let Some(row) = self.chosen().filter(|_| action == Action::Take) else { return Vec::new() };
        vec![match (row, row.scenario()) {
            (MeasuredEntry::Cause(_), _) => {
                Effect::Tell("a constant is no setting: what is shown counts with it".into())
            }
            (_, None) => Effect::Open(Opening::OwnFigure),
            (_, Some(scenario)) => Effect::Adopt(Box::new(scenario), format!("applied {}: u undoes it", row.name())),
        }]
    }

    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        let run = context.measured.as_ref().ok_or("no measured run is typed in: Enter types one")?;
        self.found.as_ref().ok_or(NOTHING)?;
        let row = self.chosen().ok_or(NOTHING)?;
        let (name, scenario) = match row.scenario() {
            Some(scenario) => (row.name(), scenario),
            None => ("the run".to_owned(), run.scenario.clone()),
        };
        let figure = if run.figure.is_of_time() { Figure::StepTime } else { Figure::Peak };
        Ok(Asked::Other(name, figure, Box::new(scenario)))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.entries().into_iter().map(MeasuredEntry::name).collect())
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
        Some(Work::Measured(Arc::clone(run), Arc::clone(context.library)))
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.asked.is_some() && self.found.is_none()
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Found::Measured(found) = found else { return Vec::new() };
        let told = found.as_ref().as_ref().ok().and_then(|told| told.attribution.as_ref());
        let learned = told.map(|told| Effect::Learn(Box::new(told.calibration.clone())));
        self.found = Some(*found);
        learned.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
