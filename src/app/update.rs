//! Update: an action, a click or a report of a job changes the state and asks for what follows.
//!
//! This file says what each action does, by what has the keys. Beside it: edits of the scenario, effects that views ask
//! for, and reports that come in.

pub mod ask;
pub mod clicking;
pub mod edit;
pub mod explain;
pub mod perform;
pub mod receiving;
pub mod rows;

use std::sync::Arc;

use tui_input::InputRequest;

use shardscope_engine::scenario::Field;
use shardscope_engine::text::printable;
use shardscope_interop::out_of_memory;
use shardscope_report::figures;

use crate::app::action::effect::Opening;
use crate::app::action::keys::KeyPlace;
use crate::app::action::notice::{CAVEATS_LATER, FIGURES_LATER};
use crate::app::action::panel::{Panel, ViewId};
use crate::app::action::{Action, Command};
use crate::app::answers::base;
use crate::app::answers::pins::{MOST, letter};
use crate::app::layer::Layer;
use crate::app::layer::page::Sheet;
use crate::app::layer::page::{Finding, LINES, TextPage};
use crate::app::state::App;
use crate::app::transfer::importing::is_path;

impl App {
    /// Does what the user asked for.
    pub fn update(&mut self, action: Action) -> Vec<Command> {
        let commands = self.answer_to(action);
        self.mark_pinned();
        commands
    }

    fn answer_to(&mut self, action: Action) -> Vec<Command> {
        self.notice = None;
        self.awaited = None;
        if !self.is_step(action) {
            self.history.settle();
        }
        // Any key but those of the card of the first start closes it, and does what it does without it.
        let is_of_card = matches!(action, Action::Close | Action::Begin(_) | Action::Suspend);
        self.layer.take_if(|layer| matches!(layer, Layer::FirstStart(_)) && !is_of_card);
        match action {
            Action::Quit => vec![Command::Quit],
            Action::Suspend => vec![Command::Suspend],
            // A search among rows takes all keys until it ends.
            _ if self.find.is_some() || action == Action::Search => self.on_find(action),
            _ => {
                // Panels follow the map's cursor when it rests; any other key is about what it rests on.
                let mut commands = if self.moves_on(action) { Vec::new() } else { self.follow_cursor() };
                commands.extend(match self.layer {
                    None => self.on_panel(action),
                    Some(_) => self.on_keyed(action),
                });
                commands
            }
        }
    }

    /// Whether an action moves the map's cursor, which panels do not follow at every step.
    fn moves_on(&self, action: Action) -> bool {
        use Action::{Down, First, Last, Left, PageDown, PageUp, Right, Up};
        let motion = matches!(action, Left | Right | Up | Down | First | Last | PageUp | PageDown);
        motion && self.place() == KeyPlace::Panel(Panel::Map)
    }

    /// Whether an action steps through the values of a field.
    fn is_step(&self, action: Action) -> bool {
        let step = matches!(action, Action::Left | Action::Right | Action::Less | Action::More);
        step && self.focus == Panel::Inputs && self.layer.is_none()
    }

    fn on_panel(&mut self, action: Action) -> Vec<Command> {
        match action {
            Action::NextPanel => self.focus = self.focus.step(1),
            Action::PreviousPanel => self.focus = self.focus.step(Panel::ALL.len() - 1),
            Action::Panel(panel) => self.focus = panel,
            Action::View(view) => return self.open_view(view),
            Action::Views => return self.open(Opening::Views),
            Action::Enlarge => self.enlarge(),
            Action::CommandLines => return self.open(Opening::CommandLines),
            Action::Metric => return self.on_view(action),
            Action::Best => return self.go_to_best(),
            Action::Pin => return self.pin(),
            Action::Explain => return self.explain(),
            Action::Nearest => return self.apply_nearest(),
            Action::Undo => return self.travel(true),
            Action::Redo => return self.travel(false),
            Action::Snapshots => return self.open(Opening::Files),
            Action::Export => return self.export(),
            Action::Gallery => return self.open(Opening::Gallery),
            Action::Import => return self.open(Opening::ImportPath),
            Action::ExportPlan => return self.open(Opening::ExportForms),
            Action::Reload => return vec![Command::Reload],
            Action::Palette => return self.open(Opening::Commands),
            Action::Help => return self.open(Opening::Help),
            Action::Caveats => self.list_caveats(),
            Action::Diagnostics => return vec![Command::Diagnose],
            Action::Mouse => return vec![self.toggle_mouse()],
            Action::Screen => return self.open(Opening::Formats),
            Action::Close if self.underway.is_some() => return self.stop_transfer(),
            Action::Close if self.view != ViewId::MAP => return self.close_view(),
            Action::Close => return self.go_home(),
            _ => return self.on_keyed(action),
        }
        Vec::new()
    }

    /// Something else runs across the map or down.
    pub(crate) fn take_axis(&mut self, at: usize, kind: Field) -> Vec<Command> {
        self.views.map.want(at, kind, &self.scenario);
        let base = base(&self.library, &self.file, &self.scenario, self.views.map.kinds(&self.scenario));
        let redo = self.follow_map(&base, &self.scenario.clone());
        let home = self.go_home();
        redo.then(|| self.fill_map()).into_iter().chain(home).collect()
    }

    fn go_to_best(&mut self) -> Vec<Command> {
        let Some(best) = self.views.map.best() else {
            self.tell("no cell that fits is known yet".to_owned());
            return Vec::new();
        };
        self.views.map.cursor = best;
        self.look();
        self.close_view()
    }

    /// Back to the scenario itself, if the map's cursor went elsewhere.
    pub(crate) fn go_home(&mut self) -> Vec<Command> {
        if !self.looking {
            return Vec::new();
        }
        self.views.map.cursor = self.views.map.home.unwrap_or(self.views.map.cursor);
        self.looking = false;
        self.ask(self.in_hand())
    }

    /// Pins what is on the screen, once its figures are there; the same again takes that back, or lets go of it.
    pub(crate) fn pin(&mut self) -> Vec<Command> {
        let said = match self.shown.as_deref().cloned() {
            Err(_) => "not possible, so there is nothing to pin".to_owned(),
            Ok(scenario) => match self.pins.position(&scenario) {
                Some(index) => {
                    self.repin(|pins| pins.remove(index));
                    "unpinned the scenario: u pins it again".to_owned()
                }
                None if self.pins.are_full() => format!("{MOST} are pinned, A to Z: remove one first (c, then x)"),
                None => {
                    let known = self.answer.as_ref().filter(|_| !self.stale);
                    let known = known.map(|answer| Arc::clone(&answer.evaluation));
                    self.repin(|pins| pins.pin(scenario, known));
                    match self.pins.all() {
                        [_] => "pinned: the headline shows the difference to it; c compares".to_owned(),
                        all => format!("pinned as {}: c compares all {}", letter(all.len() - 1), all.len()),
                    }
                }
            },
        };
        self.tell(said);
        Vec::new()
    }

    /// The panel that has the keys takes the whole screen, or gives it back.
    fn enlarge(&mut self) {
        self.enlarged = !self.enlarged;
        if self.enlarged {
            self.tell("enlarged: Tab shows the next panel, Z all of them again".to_owned());
        }
    }

    pub(crate) fn export(&mut self) -> Vec<Command> {
        if self.shown.is_err() {
            self.tell("not possible, so there is nothing to export".to_owned());
            return Vec::new();
        }
        let Some(answer) = self.answer.clone().filter(|_| !self.stale) else {
            self.tell(FIGURES_LATER);
            return Vec::new();
        };
        self.tell("exporting".to_owned());
        vec![Command::Export(Box::new(answer))]
    }

    /// Shows the caveats of the figures on the screen, a sentence each.
    fn list_caveats(&mut self) {
        let Some(answer) = self.answer.as_ref().filter(|_| !self.stale) else { return self.tell(CAVEATS_LATER) };
        let caveats = figures::caveats(&answer.scenario, &answer.evaluation.summary);
        if caveats.is_empty() {
            return self.tell("no caveats: the model can say all of what is shown".to_owned());
        }
        let title = format!("What the model cannot say: {}", caveats.len());
        let lines: Vec<String> = caveats.iter().map(|caveat| format!("- {caveat}")).collect();
        self.layer = Some(Layer::Page(TextPage::new(title, &lines.join("\n\n"))));
    }

    /// Shows what was found out about the terminal.
    pub fn diagnose(&mut self, findings: Vec<Finding>) {
        let text = |Finding { what, value, why, fix }: &Finding| format!("{what} {value} {why} {fix}");
        let sheet = Sheet::new(findings.iter().map(text).collect(), LINES);
        self.layer = Some(Layer::Diagnostics(findings, sheet));
    }

    fn toggle_mouse(&mut self) -> Command {
        self.mouse.taken = !self.mouse.taken;
        self.tell(if self.mouse.taken {
            "mouse captured: click, wheel, drag; hold Shift to select in the terminal".to_owned()
        } else {
            "mouse released to the terminal".to_owned()
        });
        Command::Mouse(self.mouse.taken)
    }

    /// Pasted text goes where text is typed, as one line; elsewhere it does nothing, whatever keys it looks like, but for
    /// the path of a file, which is taken in: so terminals say that a file was dropped, and for a message that memory ran out.
    pub fn paste(&mut self, text: &str) -> Vec<Command> {
        // A list to choose a model from is no place for a path; the palette takes one behind the word of its command.
        let lists = [KeyPlace::List, KeyPlace::Snapshots, KeyPlace::Help, KeyPlace::FirstStart].contains(&self.place());
        if (lists || !self.place().takes_text()) && is_path(text) {
            self.layer.take_if(|_| lists);
            return self.import(&printable(text.trim()));
        }
        if let Ok(message) = out_of_memory::read(text) {
            self.layer = None;
            return self.measure_run(message.made.figure());
        }
        if !self.place().takes_text() {
            self.tell("pasted text is ignored here; paste it where text is typed".to_owned());
            return Vec::new();
        }
        let line = printable(text.trim());
        line.chars().flat_map(|letter| self.update(Action::Type(InputRequest::InsertChar(letter)))).collect()
    }
}
