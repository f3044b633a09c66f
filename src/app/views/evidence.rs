//! The view of the evidence: predictions against published measurements, filtered, with a cursor on one run.
//!
//! Not for building or scoring the runs ([`shardscope_evidence::measured`]).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::action::context::Context;
use crate::app::action::cursor::{ListCursor, across};
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::action::{Action, Facet};
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{View, ViewSpec};
use shardscope_evidence::measured::runs::{self, ComparedRuns, PublishedRun, Tables};
use shardscope_evidence::measured::{Metric, Residual, Scores};
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "evidence", name: "Evidence", about: "predictions against published measurements" },
    opens: "E",
    hint: "",
    keys: |keys| {
        keys.sideways("run", "previous and next run by what was measured")
            .up_down("error", "previous and next run by the error")
            .key("enter", Action::Take, "open", "make the run the current scenario")
            .key("d", Action::Filter(Facet::Hardware), "hardware", "show only the next hardware, finally all")
            .key("t", Action::Filter(Facet::Strategy), "strategy", "show only the next class of strategy, finally all")
            .key("n", Action::Filter(Facet::Devices), "devices", "show only the next range of devices, finally all")
            .key("0", Action::Whole, "", "all runs again")
            .key("m", Action::Metric, "memory", "peak of memory, or step time")
            .key("r", Action::Ratio, "ratio", "predicted over measured, or predicted")
            .ends("smallest and largest measured")
            .pages("a page up and down")
    },
};

/// Devices of a run, at most: what they are filtered by. The last one has no end.
const DEVICES: [u32; 4] = [8, 64, 512, u32::MAX];

/// The state of the view.
#[derive(Debug, Clone)]
pub struct EvidenceView {
    /// The scenario to compare.
    pub metric: Metric,
    /// Whether the chart shows predicted over measured, instead of predicted.
    pub ratio: bool,
    /// The filter of each facet; everything where it is absent.
    wanted: [Option<String>; 3],
    /// The run under the cursor.
    chosen: Option<String>,
    /// Tables that were given.
    files: Arc<Vec<(String, String)>>,
    pub picture: Option<ComparedRuns>,
    /// The runs that the filters leave, by what was measured: their places among what was compared.
    rows: Vec<usize>,
    /// How many there are without the filters.
    all: usize,
    /// How good the predictions of those rows are.
    scores: Option<Scores>,
}

impl Default for EvidenceView {
    fn default() -> Self {
        Self {
            metric: Metric::StepTime,
            ratio: false,
            wanted: [const { None }; 3],
            chosen: None,
            files: Arc::default(),
            picture: None,
            rows: Vec::new(),
            all: 0,
            scores: None,
        }
    }
}

impl EvidenceView {
    /// The view of tables of measured runs; of the program's own where there is none.
    pub fn new(files: Vec<(String, String)>) -> Self {
        Self { files: Arc::new(files), ..Self::default() }
    }

    /// The filter of a facet; `None` for everything.
    pub fn wanted(&self, facet: Facet) -> Option<&str> {
        self.wanted[facet as usize].as_deref()
    }

    /// The runs of the metric, by what was measured; and how many there are without the filters.
    pub fn shown(&self) -> (Vec<&Residual>, usize) {
        let residuals =
            self.picture.iter().flat_map(|picture| self.rows.iter().map(|row| &picture.validation.residuals[*row]));
        (residuals.collect(), self.all)
    }

    /// Works out what the filters leave: the picture, the figure or a filter is another one.
    fn refilter(&mut self) {
        let Some(picture) = &self.picture else { return };
        let residuals = &picture.validation.residuals;
        let of_metric = |row: &usize| residuals[*row].metric == self.metric;
        let wanted = |one: &Residual| one.metric == self.metric && self.is_wanted(one, picture);
        let mut rows: Vec<usize> = (0..residuals.len()).filter(|row| wanted(&residuals[*row])).collect();
        rows.sort_by(|a, b| {
            let (a, b) = (&residuals[*a], &residuals[*b]);
            a.measured.total_cmp(&b.measured).then_with(|| a.id.cmp(&b.id))
        });
        let (all, scores) = ((0..residuals.len()).filter(of_metric).count(), picture.validation.scores(wanted));
        (self.rows, self.all, self.scores) = (rows, all, scores);
    }

    fn is_wanted(&self, residual: &Residual, picture: &ComparedRuns) -> bool {
        let is = |facet: &Facet| self.wanted(*facet).is_none_or(|wanted| value(*facet, residual, picture) == wanted);
        Facet::ALL.iter().all(is)
    }

    /// How good the predictions of what is shown are.
    pub const fn quality(&self) -> Option<&Scores> {
        self.scores.as_ref()
    }

    /// The place of the cursor among what is shown.
    pub fn at(&self, shown: &[&Residual]) -> usize {
        shown.iter().position(|one| self.chosen.as_ref() == Some(&one.id)).unwrap_or(0)
    }

    /// The run under the cursor.
    pub fn chosen(&self) -> Option<(&Residual, &PublishedRun)> {
        let (shown, _) = self.shown();
        let residual = *shown.get(self.at(&shown))?;
        Some((residual, self.picture.as_ref()?.run(residual)?))
    }

    /// The next value of a facet that leaves something, and after the last one everything again.
    fn filter(&mut self, facet: Facet) {
        let Some(picture) = &self.picture else { return };
        let all = picture.validation.residuals.iter().filter(|one| one.metric == self.metric);
        let others = |one: &&Residual| {
            let is = |other: Facet| {
                other == facet || self.wanted(other).is_none_or(|wanted| value(other, one, picture) == wanted)
            };
            Facet::ALL.into_iter().all(is)
        };
        let values: BTreeSet<(u32, String)> = all.filter(others).map(|one| rank(facet, one, picture)).collect();
        let mut values = values.into_iter().map(|(_, value)| value);
        self.wanted[facet as usize] = match self.wanted(facet) {
            None => values.next(),
            Some(now) => values.skip_while(|value| value != now).nth(1),
        };
    }

    /// To another run by what was measured: the one before or after, a page on, or an end; or by the error.
    fn go(&mut self, action: Action, page: usize) {
        let (mut shown, _) = self.shown();
        let now = shown.get(self.at(&shown)).map(|one| one.id.clone());
        if matches!(action, Action::Up | Action::Down) {
            shown.sort_by(|a, b| b.error().total_cmp(&a.error()).then(Ordering::Equal));
        }
        let at = shown.iter().position(|one| Some(&one.id) == now.as_ref()).unwrap_or(0);
        let mut cursor = ListCursor::at(at);
        cursor.go(across(action), shown.len(), page);
        self.chosen = shown.get(cursor.row(shown.len())).map(|one| one.id.clone());
    }
}

/// The value of a facet in a run.
fn value(facet: Facet, residual: &Residual, picture: &ComparedRuns) -> String {
    rank(facet, residual, picture).1
}

/// The sort key of a facet's value.
fn rank(facet: Facet, residual: &Residual, picture: &ComparedRuns) -> (u32, String) {
    match facet {
        Facet::Hardware => (0, residual.hardware.clone()),
        Facet::Strategy => (0, residual.class.clone()),
        Facet::Devices => {
            let devices = picture.run(residual).map_or(0, |run| run.scenario.devices());
            let most = DEVICES.into_iter().find(|most| devices <= *most).unwrap_or(u32::MAX);
            let before = DEVICES.into_iter().rev().find(|other| *other < most).unwrap_or(0);
            (most, if most == u32::MAX { format!("above {before}") } else { format!("{} to {most}", before + 1) })
        }
    }
}

impl ViewJob for Tables {
    fn work(&self, job: &JobContext) {
        job.tell(runs::compare(self, &job.evaluator()));
    }
}

impl View for EvidenceView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            // The run under the cursor becomes the scenario.
            Action::Take => {
                let opened = |(residual, run): (&Residual, &PublishedRun)| {
                    Effect::Adopt(Box::new(run.scenario.clone()), format!("opened {}", residual.id))
                };
                return self.chosen().map(opened).into_iter().collect();
            }
            Action::Metric => {
                self.metric = if self.metric == Metric::StepTime { Metric::Memory } else { Metric::StepTime };
            }
            Action::Ratio => self.ratio = !self.ratio,
            Action::Filter(facet) => self.filter(facet),
            Action::Whole => self.wanted = [const { None }; 3],
            _ => {
                self.go(action, context.page);
                return Vec::new();
            }
        }
        self.refilter();
        Vec::new()
    }

    /// The compared figure of the run; between two runs, of the one with fewer micro-batches.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        let (residual, run) = self.chosen().ok_or(NOTHING)?;
        let figure = Figure::from(residual.metric);
        Ok(Asked::Other(residual.id.clone(), figure, Box::new(run.scenario.clone())))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        let text = |one: &&Residual| format!("{} {} {} {}", one.id, one.hardware, one.class, one.stack);
        Some(self.shown().0.iter().map(text).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.at(&self.shown().0)
    }

    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        self.chosen = self.shown().0.get(row).map(|one| one.id.clone());
        None
    }

    // Each run is a row and a dot of the chart.
    fn place(&self, context: &Context) -> Option<usize> {
        Some(self.cursor(context))
    }

    fn go_to_place(&mut self, place: usize, context: &Context) -> Option<Effect> {
        self.go_to(place, context)
    }

    /// The runs are compared once.
    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let tables = Tables { library: Arc::clone(context.library), files: Arc::clone(&self.files) };
        self.picture.is_none().then(|| Arc::new(tables) as _)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.picture.is_none()
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        if let Ok(picture) = found.take() {
            self.picture = Some(picture);
            self.refilter();
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
