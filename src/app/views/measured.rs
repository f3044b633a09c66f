//! The view of the user's own run: how far its figure is from the prediction, and the settings, links, clocks and
//! constants that may explain the gap; then how sure the prediction of a similar step is.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening};
use crate::app::action::notice::{Asked, NOTHING, Notice};
use crate::app::action::panel::ViewId;
use crate::app::answers::own_run::OwnRun;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::presets::Library;
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

/// The diagnosis of a run, and the cursor among its rows.
#[derive(Debug, Clone, Default)]
pub struct MeasuredView {
    cursor: ListCursor,
    /// The run that was asked about last.
    asked: Option<Arc<OwnRun>>,
    /// Its diagnosis, or the reason why there is none.
    found: Option<Result<RunDiagnosis, String>>,
}

/// A row of the view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasuredEntry<'a> {
    /// The measured figure.
    Figure,
    /// A setting, a link or clocks that may explain it.
    Hypothesis(&'a Hypothesis),
    /// A choice, and its price in memory and time.
    Price(&'a ChoicePrice),
    /// A constant that may have another value.
    Cause(&'a Cause),
}

impl MeasuredEntry<'_> {
    /// Its text for `/`.
    fn name(self) -> String {
        match self {
            Self::Figure => "measured".to_owned(),
            Self::Hypothesis(one) => one.to_string(),
            Self::Price(price) => price.candidate.to_string(),
            Self::Cause(cause) => format!("{} {}", cause.constant.name, cause.constant.meaning),
        }
    }

    /// The scenario that it stands for.
    fn scenario(self) -> Option<Scenario> {
        match self {
            Self::Hypothesis(one) => Some(one.candidate.scenario.clone()),
            Self::Price(price) => Some(price.candidate.scenario.clone()),
            Self::Figure | Self::Cause(_) => None,
        }
    }
}

impl MeasuredView {
    /// The diagnosis, once it is known.
    pub fn diagnosis(&self) -> Option<&Result<RunDiagnosis, String>> {
        self.found.as_ref()
    }

    /// The figure, then hypotheses, prices of memory and constants.
    pub fn entries(&self) -> Vec<MeasuredEntry<'_>> {
        let found = self.found.iter().flatten().next();
        let hypotheses = found.iter().flat_map(|found| &found.diagnosis.hypotheses).map(MeasuredEntry::Hypothesis);
        let prices = found.iter().flat_map(|found| &found.diagnosis.prices).map(MeasuredEntry::Price);
        let causes = found.iter().flat_map(|found| &found.attribution).flat_map(|attribution| &attribution.causes);
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

/// What causes a measured run's gap, with the presets that may have run.
#[derive(Debug)]
struct RunQuestion {
    run: Arc<OwnRun>,
    library: Arc<Library>,
}

/// The causes, or why none is known.
impl ViewJob for RunQuestion {
    fn work(&self, job: &JobContext) {
        let Self { run, library } = self;
        let found = RunDiagnosis::new(library, &run.scenario, run.figure, &job.evaluator());
        job.tell(found.map_err(|why| why.to_string()));
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

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        // The run is kept apart from the current scenario: an edit does not ask again.
        if self.asked != context.measured {
            (self.asked, self.found, self.cursor) = (context.measured.clone(), None, ListCursor::default());
        }
        let run = self.asked.as_ref().filter(|_| self.found.is_none())?;
        Some(Arc::new(RunQuestion { run: Arc::clone(run), library: Arc::clone(context.library) }))
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.asked.is_some() && self.found.is_none()
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Ok(found) = found.take::<Result<RunDiagnosis, String>>() else { return Vec::new() };
        let attribution = found.as_ref().ok().and_then(|run| run.attribution.as_ref());
        let learned = attribution.map(|attribution| Effect::Learn(Box::new(attribution.calibration.clone())));
        self.found = Some(found);
        learned.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
