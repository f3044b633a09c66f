//! The explorer's state and how it answers: actions in, commands out, reports of the jobs back in.
//!
//! Not for drawing ([`crate::ui`]), not for the terminal ([`crate::term`]), not for costs.

pub mod action;
mod answers;
pub mod assumed;
pub mod axes;
pub mod browser;
pub mod context;
pub mod cursor;
pub mod diagnostics;
mod edit;
pub mod effect;
mod explain;
pub mod explaining;
pub mod files;
pub mod form;
pub mod history;
pub mod inputs;
pub mod jobs;
pub mod keymap;
pub mod layer;
pub mod list;
pub mod palette;
pub mod panel;
mod perform;
pub mod pins;
pub mod pointing;
pub mod rows;
pub mod runs;
mod start;
mod taking;
pub mod timeline;
mod update;
pub mod view;
mod viewing;
pub mod views;
pub mod work;

use std::sync::Arc;

use crate::evaluate::{Evaluation, Summary};
use crate::presets::Library;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Problem, Scenario};
use crate::search::{Cell, Fixes};
use crate::units::{Bytes, significant};

use action::{Command, Report};
use answers::{Answers, COMPUTING};
use cursor::ListCursor;
use explain::Awaited;
use history::History;
use inputs::Inputs;
use keymap::{Keymap, Place};
use layer::Layer;
use panel::ViewId;
use pins::Pins;
use pointing::Mouse;
use rows::Find;
use timeline::Timeline;
use views::Views;
use views::evidence::Evidence;
use views::map::Map;
use work::Found;

pub use answers::Answer;
pub use panel::Panel;
pub use start::{Options, Start};

/// Rows of a page before the terminal's size is known.
const PAGE: usize = 10;

/// What the explorer knows.
#[derive(Debug)]
pub struct App {
    /// Everything that can be chosen.
    pub library: Arc<Library>,
    /// The scenario as its file says it: what edits change, right or wrong.
    pub file: ScenarioFile,
    /// The last scenario of the file that can be laid out.
    pub scenario: Scenario,
    /// The fields.
    pub inputs: Inputs,
    /// What stands in the map's place.
    pub view: ViewId,
    /// The map around the scenario.
    pub map: Map,
    /// What the other views know.
    pub views: Views,
    /// What is evaluated for the screen: the scenario, or the map's cell under the cursor; or why it cannot be.
    pub shown: Result<Scenario, Vec<Problem>>,
    /// Whether that is the cell, and not the scenario itself.
    pub looking: bool,
    /// The last answer, perhaps of an earlier question.
    pub answer: Option<Answer>,
    /// Whether the answer is that of an earlier question.
    pub stale: bool,
    /// Whether the map's cursor has gone on, and the panels are still to follow it.
    pub following: bool,
    /// What would let the scenario shown fit, if it does not.
    pub fix: Option<Fixes>,
    /// The scenarios to compare with.
    pub pins: Pins,
    /// What the timeline shows.
    pub timeline: Timeline,
    /// The row of the panel of the time that has the keys.
    pub time: ListCursor,
    /// What can be undone and redone.
    pub history: History,
    /// The last answers.
    answers: Answers,
    /// The panel that has the keys.
    pub focus: Panel,
    /// What lies over the panels.
    pub layer: Option<Layer>,
    /// The search among the rows of what has the keys.
    pub find: Option<Find>,
    /// What just happened, until the next key.
    pub notice: Option<String>,
    /// The explanation that is opened when its figures are there.
    awaited: Option<Awaited>,
    /// The keys.
    pub keymap: Keymap,
    /// The mouse.
    pub mouse: Mouse,
    /// Rows of a list or of the help that are seen at once.
    page: usize,
    /// The number of the last question; older answers are dropped.
    question: u64,
    /// The number of the last explanation that was asked for.
    explanation: u64,
    /// The number of the last work of a view.
    work: u64,
    /// The view that it was asked for, unless it was stopped.
    works_for: Option<ViewId>,
}

impl App {
    /// The explorer as it opens, and the first questions.
    pub fn new(start: Start) -> (Self, Vec<Command>) {
        let Start { library, file, scenario, pins, options } = start;
        let base = edit::base(&library, &file, &scenario, axes::usual(&scenario));
        let mut app = Self {
            library,
            file,
            inputs: Inputs::default(),
            view: ViewId::default(),
            map: Map::around(&base, &scenario),
            views: Views { evidence: Evidence::of(options.rows), ..Views::default() },
            shown: Ok(scenario.clone()),
            looking: false,
            scenario,
            answer: None,
            stale: true,
            following: false,
            fix: None,
            pins: Pins::default(),
            timeline: Timeline::default(),
            time: ListCursor::default(),
            history: History::default(),
            answers: Answers::default(),
            focus: Panel::Map,
            layer: None,
            find: None,
            notice: None,
            awaited: None,
            keymap: options.keymap,
            mouse: Mouse::new(options.mouse),
            page: PAGE,
            question: 0,
            explanation: 0,
            work: 0,
            works_for: None,
        };
        app.pin_all(pins);
        let mut commands = app.ask(Ok(app.scenario.clone()));
        commands.push(app.fill_map());
        (app, commands)
    }

    /// What has the keys.
    pub fn place(&self) -> Place {
        match &self.layer {
            _ if self.find.is_some() => Place::Find,
            None => self.panel_place(),
            Some(Layer::Palette(_)) => Place::Palette,
            Some(Layer::Browser(browser)) if browser.asking => Place::Question,
            Some(Layer::Browser(browser)) if browser.searching => Place::Search,
            Some(Layer::Browser(_)) => Place::Snapshots,
            Some(Layer::Form(form)) if form.typing.is_some() => Place::Entry,
            Some(Layer::Form(_)) => Place::Form,
            Some(Layer::Explain(_)) => Place::Explain,
            Some(Layer::Help(_) | Layer::Diagnostics(..)) => Place::Help,
            Some(Layer::List(list)) if list.searching => Place::Search,
            Some(Layer::List(_)) => Place::List,
            Some(Layer::Entry(_)) => Place::Entry,
        }
    }

    /// What would have the keys without a layer.
    pub fn panel_place(&self) -> Place {
        match self.focus {
            Panel::Map if self.view != ViewId::Map => Place::View(self.view),
            panel => Place::Panel(panel),
        }
    }

    /// Whether something that was asked for is still being computed.
    pub fn is_waiting(&self) -> bool {
        self.following || self.is_asking() || self.pins.are_waiting() || !self.map.is_complete()
    }

    /// Whether the screen waits for an answer, rather than for a map or a pin that is filled meanwhile.
    pub fn is_asking(&self) -> bool {
        self.shown.is_ok() && self.stale || self.awaited.is_some() || self.view_is_waiting()
    }

    /// Takes in what a job says; an answer to an older question is dropped. Gives what is to be computed then.
    pub fn hear(&mut self, report: Report) -> Vec<Command> {
        let commands = self.take_in(report);
        if !self.is_asking() && !self.pins.are_waiting() {
            self.computed();
        }
        commands
    }

    /// What was waited for is there: that it is still computed is no longer to be said.
    fn computed(&mut self) {
        self.notice.take_if(|notice| notice.starts_with(COMPUTING));
    }

    fn take_in(&mut self, report: Report) -> Vec<Command> {
        match report {
            Report::Evaluated { generation, result } if generation == self.question => return self.take_answer(result),
            Report::Explained { generation, result } if generation == self.explanation => self.take_explained(result),
            Report::Fixed { generation, fix } if generation == self.question => self.take_fix(fix),
            Report::Cells { generation, cells } if generation == self.map.generation => self.take_cells(cells),
            // A pin's figures are its own, whatever has been asked for since.
            Report::Found { found: Found::Pin(id, result), .. } => self.hear_pin(id, result),
            Report::Found { generation, found } if generation == self.work => return self.hear_view(found),
            Report::Listed(files) => self.take_list(files),
            Report::Opened(opened, path) => return self.opened(*opened, &path),
            Report::Saved { library, kind, id, path } => return self.saved(*library, kind, &id, &path),
            Report::Reloaded(library, warnings) => return self.reloaded(*library, &warnings),
            Report::Said(said) => self.tell(said),
            Report::Failed { generation, job, message }
                if [self.question, self.map.generation, self.explanation, self.work].contains(&generation) =>
            {
                self.notice = Some(format!("{job} broke down: {message}; this is a bug, please report it"));
            }
            _ => {}
        }
        Vec::new()
    }

    /// What just happened, for the status line.
    pub fn tell(&mut self, notice: String) {
        self.notice = Some(notice);
    }

    fn take_answer(&mut self, result: Result<Arc<Evaluation>, Vec<Problem>>) -> Vec<Command> {
        match (result, &self.shown) {
            (Ok(evaluation), Ok(scenario)) => {
                let answer = Answer { scenario: scenario.clone(), evaluation };
                self.pins.answered(&answer);
                self.answers.keep(answer.clone());
                self.show(answer);
            }
            (Err(problems), shown) => {
                let refused = shown.as_ref().ok().and_then(|scenario| self.pins.waiting(scenario));
                self.shown = Err(problems.clone());
                if let Some(id) = refused {
                    self.hear_pin(id, Err(problems));
                }
                return self.ask_view().into_iter().collect();
            }
            (Ok(_), Err(_)) => {}
        }
        Vec::new()
    }

    /// Cells of the map are there; what the cursor is on may have settled on another batch.
    fn take_cells(&mut self, cells: Vec<(usize, Cell)>) {
        self.map.fill(cells);
        let settled = self.looking && self.map.tuned(self.map.cursor).is_some();
        if settled && self.map.scenario(self.map.cursor).ok().as_ref() != self.shown.as_ref().ok() {
            self.look();
        }
    }

    fn take_fix(&mut self, fix: Fixes) {
        if let Ok(scenario) = &self.shown {
            self.answers.fix(scenario, &fix);
        }
        self.fix = Some(fix);
    }

    fn show(&mut self, answer: Answer) {
        self.answer = Some(answer);
        self.stale = false;
        self.map.settled = self.map.cursor;
        self.timeline.renew();
    }

    /// Asks about a scenario for the screen, if it can be one; what was answered before is there at once.
    fn ask(&mut self, shown: Result<Scenario, Vec<Problem>>) -> Vec<Command> {
        self.question += 1;
        self.following = false;
        self.stale = true;
        self.fix = None;
        self.shown = shown.and_then(|scenario| scenario.layout().map(|_| scenario));
        let Ok(scenario) = &self.shown else { return self.ask_view().into_iter().collect() };
        let evaluate = Command::Evaluate { generation: self.question, scenario: Box::new(scenario.clone()) };
        let mut done = false;
        if let Some((answer, fix)) = self.answers.of(scenario) {
            done = answer.evaluation.summary.fits || fix.is_some();
            self.fix = fix;
            self.show(answer);
        }
        (!done).then_some(evaluate).into_iter().chain(self.ask_view()).collect()
    }

    /// The map's cursor is on another cell. The panels follow when it rests: see [`App::follow_cursor`].
    fn look(&mut self) {
        self.question += 1;
        self.looking = self.map.home != Some(self.map.cursor);
        self.following = true;
        self.fix = None;
    }

    /// Asks about the map's cell under the cursor, if the panels do not show it yet.
    pub fn follow_cursor(&mut self) -> Vec<Command> {
        if !self.following {
            return Vec::new();
        }
        let cell = || self.map.scenario(self.map.cursor).map_err(|problem| vec![problem]);
        let scenario = if self.looking { cell() } else { self.in_hand() };
        self.ask(scenario)
    }

    /// The scenario of the fields, or why they make none.
    fn in_hand(&self) -> Result<Scenario, Vec<Problem>> {
        edit::resolve(&self.library, &self.file, &self.scenario).map(|_| self.scenario.clone())
    }

    /// Starts to fill the map, from the cursor on.
    fn fill_map(&mut self) -> Command {
        self.map.generation += 1;
        Command::Sweep { generation: self.map.generation, sweep: Arc::clone(&self.map.sweep), from: self.map.cursor }
    }

    /// Why the map's cell under the cursor holds no figure.
    pub fn why(&self) -> Option<String> {
        match self.map.cell(self.map.cursor)? {
            Cell::Impossible(problem) => Some(problem.to_string()),
            Cell::Possible { summary, .. } => self.excess(summary),
        }
    }

    /// By how much a scenario does not fit, and what would fix it: `needs 71.3 GiB, 7.30 too many: recompute full
    /// would fit`.
    pub fn excess(&self, summary: &Summary) -> Option<String> {
        let memory = summary.memory;
        let gib = |bytes: Bytes| significant(bytes / Bytes::GIB, 3);
        let fix = self.fix.as_ref().map_or_else(String::new, |fix| format!(": {fix} would fit"));
        let text = || format!("needs {} GiB, {} too many{fix}", gib(memory.peak), gib(memory.peak - memory.capacity));
        (!summary.fits).then(text)
    }

    /// How many rows of a list or of the help are seen at once, which depends on the terminal.
    pub fn set_page(&mut self, rows: u16) {
        self.page = usize::from(rows).max(1);
    }
}

#[cfg(test)]
pub(crate) mod tests;
