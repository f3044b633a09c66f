//! State: everything that the explorer knows, and what it asks about next.
//!
//! Beside it stand the keys in use, undo and redo, the search among rows, and what the mouse points at. Not for what keys
//! and reports do to it ([`crate::app::update`]).

pub mod history;
pub mod keymap;
pub mod pointing;
pub mod start;
pub mod stored;

use std::sync::Arc;

use tui_input::Input;

use crate::app::action::keys::KeyPlace;
use crate::app::action::notice::Notice;
use crate::app::action::panel::{Panel, ViewId};
use crate::app::action::{Action, Command};
use crate::app::answers::pins::Pins;
use crate::app::answers::{Answer, Answers, axes, base, resolve};
use crate::app::layer::Layer;
use crate::app::layer::explanation::Awaited;
use crate::app::layer::first_start::FirstStart;
use crate::app::state::history::History;
use crate::app::state::keymap::Keymap;
use crate::app::state::pointing::Mouse;
use crate::app::state::start::Start;
use crate::app::state::stored::StoredEvaluations;
use crate::app::timeline::Timeline;
use crate::app::transfer::Underway;
use crate::app::views::evidence::EvidenceView;
use crate::app::views::inputs::Inputs;
use crate::app::views::map::Map;
use crate::app::views::panels::{MemoryPanel, TimePanel};
use crate::app::views::{SPECS, Views};
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::{self, ScenarioFile};
use shardscope_engine::scenario::{CheckedScenario, Edit, Field, Problem, Scenario};
use shardscope_engine::search::{Candidate, Cell, Fixes, nearest_possible};
use shardscope_interop::import::ImportWords;
use shardscope_report::snapshot::SessionState;

/// Rows of a page before the terminal's size is known.
const PAGE: usize = 10;

/// The state of the explorer.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own; no two make a state")]
pub struct App {
    /// Everything that can be chosen.
    pub library: Arc<Library>,
    /// The scenario as its file says it: what edits change, right or wrong.
    pub file: ScenarioFile,
    /// The last scenario of the file that can be laid out.
    pub scenario: Scenario,
    /// The rows of the scenario panel: where the cursor is, what is wrong with a field.
    pub inputs: Inputs,
    /// The view in the map's place.
    pub view: ViewId,
    /// The state of the views, the map among them.
    pub views: Views,
    /// The scenario evaluated for the screen: the one in hand, or the map's cell under the cursor; or why it cannot be.
    pub shown: Result<CheckedScenario, Vec<Problem>>,
    /// Whether that is the cell, and not the scenario itself.
    pub looking: bool,
    /// The last answer, perhaps of an earlier question.
    pub answer: Option<Answer>,
    /// Figures that opened files store, until they are compared with those computed here.
    pub(crate) stored: StoredEvaluations,
    /// Whether the answer is that of an earlier question.
    pub stale: bool,
    /// Whether the map's cursor has gone on, and the panels are still to follow it.
    pub following: bool,
    /// Changes that would make the scenario shown fit, if it does not.
    pub fix: Option<Fixes>,
    /// The change to the nearest possible scenario, where the one to be shown is not possible or cannot keep its batch.
    pub nearest: Option<Candidate>,
    /// The scenarios to compare with.
    pub pins: Pins,
    /// The state of the timeline.
    pub timeline: Timeline,
    /// The panel of the memory.
    pub(crate) memory: MemoryPanel,
    /// The panel of the time.
    pub time: TimePanel,
    /// Edits to undo and redo.
    pub history: History,
    /// The last answers.
    pub(crate) answers: Answers,
    /// The panel that has the keys.
    pub focus: Panel,
    /// Whether that panel takes the whole screen.
    pub enlarged: bool,
    /// The layer over the panels.
    pub layer: Option<Layer>,
    /// The search among the rows of what has the keys.
    pub find: Option<Find>,
    /// The notice of the status line, until the next key.
    pub notice: Option<Notice>,
    /// The explanation that is opened when its figures are there.
    pub(crate) awaited: Option<Awaited>,
    /// The table of keys, with the user's own in it.
    pub keymap: Keymap,
    /// The files that a person waits for.
    pub(crate) underway: Option<Underway>,
    /// The number of the last ones.
    pub(crate) transfers: u64,
    /// The line of the last import.
    pub(crate) import_line: String,
    /// Whether the mouse is taken, and what it drags.
    pub mouse: Mouse,
    /// Rows of a list or of the help that are seen at once.
    pub(crate) page: usize,
    /// The number of the last question; older answers are dropped.
    pub(crate) question: u64,
    /// The number of the last explanation that was asked for.
    pub(crate) explanation: u64,
    /// The number of the last work of a view.
    pub(crate) work: u64,
    /// The view that it was asked for, unless it was stopped.
    pub(crate) works_for: Option<ViewId>,
}

impl App {
    /// The explorer as it opens, and the first questions.
    pub fn new(start: Start) -> (Self, Vec<Command>) {
        let Start { library, file, scenario, stored, pins, view, is_first, options } = start;
        // The first question is asked here, the map's with it: the first frame is drawn while both are computed.
        let base = base(&library, &file, &scenario, axes::usual(&scenario));
        let sample = library.scenario_text("default").ok().and_then(|text| file::parse(&text.text).ok());
        let mut app = Self {
            library,
            file,
            inputs: Inputs::beside(sample),
            view: ViewId::MAP,
            views: Views { evidence: EvidenceView::new(options.rows), ..Views::new(Map::around(&base, &scenario)) },
            shown: scenario.clone().into_checked(),
            looking: false,
            stored: StoredEvaluations::of(scenario.clone(), stored),
            scenario,
            answer: None,
            stale: true,
            following: false,
            fix: None,
            nearest: None,
            pins: Pins::default(),
            timeline: Timeline::default(),
            memory: MemoryPanel,
            time: TimePanel::default(),
            history: History::default(),
            answers: Answers::default(),
            focus: Panel::Map,
            enlarged: false,
            layer: is_first.then_some(Layer::FirstStart(FirstStart)),
            find: None,
            notice: options.notice.map(Notice::from),
            awaited: None,
            keymap: options.keymap,
            underway: None,
            transfers: 0,
            import_line: String::new(),
            mouse: Mouse::new(options.terminal.mouse),
            page: PAGE,
            question: 0,
            explanation: 0,
            work: 0,
            works_for: None,
        };
        app.pin_all(pins);
        let mut commands = app.ask(app.shown.clone());
        commands.push(app.fill_map());
        app.mark_pinned();
        if let Some(spec) = SPECS.iter().find(|spec| view.as_deref() == Some(spec.id.word)) {
            commands.extend(app.open_view(spec.id));
        }
        if let Some(file) = options.import {
            commands.extend(app.import_files(ImportWords { files: vec![file], options: Vec::new() }));
        }
        (app, commands)
    }

    /// The scenario that the screen shows: the current one, or the map's cell under its cursor; where what it is to show
    /// cannot be, the last one that could.
    pub fn on_screen(&self) -> &Scenario {
        self.shown.as_deref().unwrap_or(&self.scenario)
    }

    /// The layer, panel or view that has the keys.
    pub fn place(&self) -> KeyPlace {
        match &self.layer {
            _ if self.find.is_some() => KeyPlace::Find,
            None => self.panel_place(),
            Some(layer) => layer.place(),
        }
    }

    /// The panel or view that would have the keys without a layer.
    pub fn panel_place(&self) -> KeyPlace {
        match self.focus {
            Panel::Map if self.view != ViewId::MAP => KeyPlace::View(self.view),
            panel => KeyPlace::Panel(panel),
        }
    }

    /// Whether something that was asked for is still being computed.
    pub fn is_waiting(&self) -> bool {
        self.following || self.is_asking() || self.pins.are_waiting() || !self.views.map.is_complete()
    }

    /// Whether the screen waits for an answer, rather than for a map or a pin that is filled meanwhile.
    pub fn is_asking(&self) -> bool {
        self.shown.is_ok() && self.stale || self.awaited.is_some() || self.view_is_waiting()
    }

    /// The scenario that the next session begins with, if it is given none: the one in hand, or the one shown where
    /// that is impossible, and after it the pins.
    pub fn left_off(&self) -> Option<SessionState> {
        let is_possible = self.scenario.layout().is_ok();
        let scenario = if is_possible { &self.scenario } else { &self.answer.as_ref()?.scenario };
        let in_hand = (scenario.strategy.to_string(), scenario.clone());
        let pins = self.pins.all().iter().map(|pin| (pin.name.clone(), pin.scenario.clone()));
        Some(SessionState {
            view: self.view.word,
            scenarios: std::iter::once(in_hand).chain(pins).collect(),
            has_changed: !self.history.is_empty(),
        })
    }

    /// The first text of the status line: the notice, or the transfer under way.
    pub fn status(&self) -> Option<String> {
        let notice = self.notice.as_deref().map(str::to_owned);
        notice.or_else(|| self.underway.as_ref().map(Underway::said))
    }

    /// Drops a notice that something is still computed: it is there.
    pub(crate) fn computed(&mut self) {
        self.notice.take_if(|notice| matches!(notice, Notice::Computing(_)));
    }

    /// Puts a notice on the status line.
    pub fn tell(&mut self, notice: impl Into<Notice>) {
        self.notice = Some(notice.into());
    }

    /// Says so where a file holds other figures of a scenario than come out here.
    pub(crate) fn check_stored(&mut self, scenario: &Scenario, evaluation: &Evaluation) {
        if let Some(doubt) = self.stored.check(scenario, evaluation) {
            self.tell(doubt);
        }
    }

    pub(crate) fn show(&mut self, answer: Answer) {
        self.check_stored(&answer.scenario, &answer.evaluation);
        self.answer = Some(answer);
        self.stale = false;
        self.views.map.settled = self.views.map.cursor;
        self.timeline.renew();
        self.with_view(|view, context| view.renew(context));
    }

    /// Asks about a scenario for the screen, if it can be one; what was answered before is there at once.
    pub(crate) fn ask(&mut self, shown: Result<CheckedScenario, Vec<Problem>>) -> Vec<Command> {
        // Whatever was asked before is of the past from here on, also where nothing is asked now: the number alone
        // drops a late answer.
        self.question += 1;
        self.following = false;
        self.stale = true;
        self.fix = None;
        self.inputs.follow(&self.file, &self.scenario);
        let stands = shown.as_ref().is_ok_and(|scenario| scenario.keeps_batch().is_ok());
        self.nearest = if stands { None } else { self.find_nearest() };
        self.shown = shown;
        // The view is asked in any case: it may have to stop what it computes of the scenario before.
        let Ok(scenario) = &self.shown else { return self.ask_view().into_iter().collect() };
        let evaluate = Command::Evaluate { generation: self.question, scenario: Box::new(scenario.clone()) };
        // Known from before: shown at once, and asked again only for what would let it fit, if that is not known.
        let mut done = false;
        if let Some((answer, fix)) = self.answers.find(scenario) {
            done = answer.evaluation.summary.fits || fix.is_some();
            self.fix = fix;
            self.show(answer);
        }
        (!done).then_some(evaluate).into_iter().chain(self.ask_view()).collect()
    }

    /// The map's cursor is on another cell. The panels follow when it rests: see [`App::follow_cursor`].
    pub(crate) fn look(&mut self) {
        self.question += 1;
        // Only noted: a held key passes many cells, and each would be evaluated in full.
        self.looking = self.views.map.home != Some(self.views.map.cursor);
        self.following = true;
        self.fix = None;
    }

    /// Asks about the map's cell under the cursor, if the panels do not show it yet.
    pub fn follow_cursor(&mut self) -> Vec<Command> {
        if !self.following {
            return Vec::new();
        }
        let cell = || self.views.map.scenario(self.views.map.cursor).map_err(|problem| vec![problem])?.into_checked();
        let scenario = if self.looking { cell() } else { self.in_hand() };
        self.ask(scenario)
    }

    fn find_nearest(&self) -> Option<Candidate> {
        let given = |field: Field| Some(Edit { field, value: self.file.value(field)? });
        let changed = &self.inputs.changed;
        let wrong = self.inputs.wrong.iter().filter(|wrong| wrong.in_file).map(|wrong| wrong.field);
        let fields = changed.iter().copied().chain(wrong.filter(|field| !changed.contains(field)));
        let wanted = if self.looking { self.edits_shown() } else { fields.filter_map(given).collect() };
        nearest_possible(&self.library, &self.file, &self.scenario, &wanted)
    }

    /// The change that makes the scenario to be shown possible, with its key: `nearest possible: micro 2 (. applies it)`.
    pub fn way_out(&self) -> Option<String> {
        let nearest = self.nearest.as_ref()?;
        Some(format!("nearest possible: {nearest} ({} applies it)", self.keymap.key_of(Action::Nearest, false)))
    }

    /// The scenario of the fields, or why they make none.
    pub(crate) fn in_hand(&self) -> Result<CheckedScenario, Vec<Problem>> {
        resolve(&self.library, &self.file, &self.scenario)
    }

    /// The map's axes or the pins may have changed: where the first pinned scenario is on it.
    pub(crate) fn mark_pinned(&mut self) {
        self.views.map.find_pinned(self.pins.all().first().map(|pin| &pin.scenario));
    }

    /// Starts to fill the map, from the cursor on.
    pub(crate) fn fill_map(&mut self) -> Command {
        self.views.map.generation += 1;
        Command::Sweep {
            generation: self.views.map.generation,
            sweep: Arc::clone(&self.views.map.sweep),
            from: self.views.map.cursor,
        }
    }

    /// Why the map's cell under the cursor holds no figure.
    pub fn why(&self) -> Option<String> {
        match self.views.map.cell(self.views.map.cursor)? {
            Cell::Impossible(problem) => Some(problem.to_string()),
            Cell::Possible { summary, .. } => self.excess(summary),
        }
    }

    /// By how much a scenario does not fit, and what would fix it: `needs 71.3 GiB, 7.30 too many: recompute full
    /// would fit`.
    pub fn excess(&self, summary: &Summary) -> Option<String> {
        let memory = summary.memory;
        let fix = self.fix.as_ref().map_or_else(String::new, |fix| format!(": {fix} would fit"));
        let (peak, excess) = (memory.peak.in_gib(), (memory.peak - memory.capacity).in_gib());
        (!summary.fits).then(|| format!("needs {peak} GiB, {excess} too many{fix}"))
    }

    /// How many rows of a list or of the help are seen at once, which depends on the terminal.
    pub fn set_page(&mut self, rows: u16) {
        self.page = usize::from(rows).max(1);
    }
}

/// A search on the screen.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// The text to find, in any case.
    pub input: Input,
    /// The row that had the cursor before.
    pub(crate) from: usize,
    /// The row that was found.
    pub row: Option<usize>,
    /// Its place among the matches, from 1, and how many there are.
    pub place: (usize, usize),
}
