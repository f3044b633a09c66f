//! The view of the evidence: predictions beside published measurements, filtered, with a cursor on one run.
//!
//! Not for building or scoring the runs ([`crate::measured`]).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::evaluate::Summary;
use crate::measured::{self, Metric, Residual, Scores, Validation};
use crate::presets::Library;
use crate::scenario::Scenario;
use crate::scenario::file::{ScenarioFile, printable};
use crate::search::{self, Pool};

use crate::app::App;
use crate::app::action::{Action, Command};
use crate::app::update::moved;
use crate::app::work::Work;

/// Devices of a run, at most: what they are filtered by. The last one has no end.
const DEVICES: [u32; 4] = [8, 64, 512, u32::MAX];

/// What runs can be filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    /// The cluster.
    Hardware,
    /// The class of the strategy.
    Strategy,
    /// How many devices.
    Devices,
}

impl Facet {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hardware, Self::Strategy, Self::Devices];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Strategy => "strategy",
            Self::Devices => "devices",
        }
    }
}

/// Tables of measured runs, each with its name, and what their words mean.
#[derive(Debug, Clone)]
pub struct Tables {
    library: Arc<Library>,
    /// The program's own where there is none.
    files: Arc<Vec<(String, String)>>,
}

impl PartialEq for Tables {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.library, &other.library) && Arc::ptr_eq(&self.files, &other.files)
    }
}

/// What ran, and what comes out of it here.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The run; of two between which it lies the one with fewer micro-batches.
    pub scenario: Scenario,
    /// Its figures.
    pub summary: Summary,
    /// Where it was published.
    pub source: String,
    /// What stands for cells that the table leaves blank: `sequence 2048`.
    pub assumed: Vec<String>,
}

/// Every run that could be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Predictions beside measurements.
    pub validation: Validation,
    /// The runs by their id.
    pub runs: BTreeMap<String, Run>,
}

impl Picture {
    /// The run of a comparison.
    pub fn run(&self, residual: &Residual) -> Option<&Run> {
        self.runs.get(&residual.id)
    }
}

/// What the view shows.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// What is compared.
    pub metric: Metric,
    /// Whether the chart shows predicted over measured, instead of predicted.
    pub ratio: bool,
    /// What is left of each facet; everything where it is absent.
    wanted: [Option<String>; 3],
    /// The run under the cursor.
    chosen: Option<String>,
    /// Tables that were given.
    files: Arc<Vec<(String, String)>>,
    /// What was found.
    pub picture: Option<Picture>,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            metric: Metric::StepTime,
            ratio: false,
            wanted: [const { None }; 3],
            chosen: None,
            files: Arc::default(),
            picture: None,
        }
    }
}

impl Evidence {
    /// Of tables of measured runs; the program's own where there is none.
    pub fn of(files: Vec<(String, String)>) -> Self {
        Self { files: Arc::new(files), ..Self::default() }
    }

    /// What has to be computed, once.
    pub fn ask(&self, library: &Arc<Library>) -> Option<Work> {
        let tables = Tables { library: Arc::clone(library), files: Arc::clone(&self.files) };
        self.picture.is_none().then_some(Work::Evidence(tables))
    }

    /// Takes over what was found.
    pub fn fill(&mut self, picture: Picture) {
        self.picture = Some(picture);
    }

    /// What a facet leaves; `None` for everything.
    pub fn wanted(&self, facet: Facet) -> Option<&str> {
        self.wanted[facet as usize].as_deref()
    }

    /// The runs of the metric, by what was measured; and how many there are without the filters.
    pub fn shown(&self) -> (Vec<&Residual>, usize) {
        let Some(picture) = &self.picture else { return (Vec::new(), 0) };
        let of_metric = || picture.validation.residuals.iter().filter(|one| one.metric == self.metric);
        let mut shown: Vec<&Residual> = of_metric().filter(|one| self.is_wanted(one, picture)).collect();
        shown.sort_by(|a, b| a.measured.total_cmp(&b.measured).then_with(|| a.id.cmp(&b.id)));
        (shown, of_metric().count())
    }

    fn is_wanted(&self, residual: &Residual, picture: &Picture) -> bool {
        let is = |facet: &Facet| self.wanted(*facet).is_none_or(|wanted| value(*facet, residual, picture) == wanted);
        Facet::ALL.iter().all(is)
    }

    /// The scores of what is shown.
    pub fn scores(&self) -> Option<Scores> {
        let picture = self.picture.as_ref()?;
        picture.validation.scores(|one| one.metric == self.metric && self.is_wanted(one, picture))
    }

    /// The place of the cursor among what is shown.
    pub fn cursor(&self, shown: &[&Residual]) -> usize {
        shown.iter().position(|one| self.chosen.as_ref() == Some(&one.id)).unwrap_or(0)
    }

    /// The run under the cursor.
    pub fn chosen(&self) -> Option<(&Residual, &Run)> {
        let (shown, _) = self.shown();
        let residual = *shown.get(self.cursor(&shown))?;
        Some((residual, self.picture.as_ref()?.run(residual)?))
    }

    fn update(&mut self, action: Action, page: usize) {
        match action {
            Action::Metric => {
                self.metric = if self.metric == Metric::StepTime { Metric::Memory } else { Metric::StepTime };
            }
            Action::Ratio => self.ratio = !self.ratio,
            Action::Filter(facet) => self.filter(facet),
            Action::Whole => self.wanted = [const { None }; 3],
            _ => self.go(action, page),
        }
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
        let now = shown.get(self.cursor(&shown)).map(|one| one.id.clone());
        if matches!(action, Action::Up | Action::Down) {
            shown.sort_by(|a, b| b.error().total_cmp(&a.error()).then(Ordering::Equal));
        }
        let at = shown.iter().position(|one| Some(&one.id) == now.as_ref()).unwrap_or(0);
        let motion = match action {
            Action::Left => Action::Up,
            Action::Right => Action::Down,
            other => other,
        };
        self.chosen = shown.get(moved(at, motion, shown.len(), page)).map(|one| one.id.clone());
    }

    /// To a run by its place among what is shown.
    pub(in crate::app) fn go_to(&mut self, place: usize) {
        self.chosen = self.shown().0.get(place).map(|one| one.id.clone());
    }
}

/// What a facet is in a run.
fn value(facet: Facet, residual: &Residual, picture: &Picture) -> String {
    rank(facet, residual, picture).1
}

/// The same, after what it comes in order.
fn rank(facet: Facet, residual: &Residual, picture: &Picture) -> (u32, String) {
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

/// Builds, evaluates and compares the runs of some tables.
pub(in crate::app) fn compare(tables: &Tables, pool: &Pool) -> Picture {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |name: &str, text: &str| {
        let (more, without) = measured::read(name, text);
        rows.extend(more);
        skipped.extend(without);
    };
    for (name, text) in Library::measured().iter().filter(|_| tables.files.is_empty()) {
        add(name, text);
    }
    for (name, text) in tables.files.iter() {
        add(name, text);
    }
    let (cases, unbuilt) = measured::cases(&rows, &tables.library);
    let mut figures = Vec::new();
    let mut validation = measured::validate(&cases, |scenarios| {
        let found = search::summaries(scenarios, pool);
        figures.extend(found.iter().map(|one| one.as_ref().ok().copied()));
        found
    });
    skipped.extend(unbuilt);
    validation.skipped.extend(skipped);
    let mut figures = figures.into_iter();
    let mut runs = BTreeMap::new();
    for case in &cases {
        let own: Vec<Option<Summary>> = figures.by_ref().take(case.scenarios.len()).collect();
        let Some(summary) = own.first().copied().flatten() else { continue };
        let assumed = case.assumed.iter().map(|one| format!("{} {}", one.column, printable(&one.value)));
        let run = Run {
            scenario: case.scenario().clone(),
            summary,
            source: printable(case.row.text("source")),
            assumed: assumed.collect(),
        };
        runs.insert(case.row.id(), run);
    }
    Picture { validation, runs }
}

impl App {
    /// Does what the user asked of the view.
    pub(in crate::app) fn on_evidence(&mut self, action: Action) -> Vec<Command> {
        if action == Action::Take {
            return self.take_run();
        }
        self.views.evidence.update(action, self.page);
        Vec::new()
    }

    /// The run under the cursor becomes the scenario in hand.
    fn take_run(&mut self) -> Vec<Command> {
        let Some((residual, run)) = self.views.evidence.chosen() else { return Vec::new() };
        let (said, scenario) = (format!("opened {}", residual.id), run.scenario.clone());
        let commands = self.adopt(ScenarioFile::of(&scenario), scenario);
        self.tell(said);
        commands
    }
}

#[cfg(test)]
mod tests;
