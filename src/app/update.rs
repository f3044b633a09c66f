//! What each action does, by what has the keys.

use super::resolve::base;
use std::sync::Arc;

use tui_input::InputRequest;

use crate::scenario::{Edit, Field};
use crate::text::printable;

use super::action::{Action, Command, Format};
use super::answers::COMPUTING;
use super::axes;
use super::cursor::ListCursor;
use super::diagnostics::{Finding, LINES};
use super::effect::Effect;
use super::explaining::breakdown;
use super::inputs::InputRow;
use super::keys::KeyPlace;
use super::layer::Layer;
use super::list::{Entry, List, Subject};
use super::options::options;
use super::panel::{Panel, ViewId};
use super::pins::letter;
use super::state::App;
use super::timeline::ShownStep;
use super::views::SPECS;
use super::views::map::NOTHING_TO_TAKE;

mod browser;
mod form;
mod palette;

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
        match action {
            Action::Quit => vec![Command::Quit],
            Action::Suspend => vec![Command::Suspend],
            _ if self.find.is_some() || action == Action::Search && !self.searches_itself() => self.on_find(action),
            _ => {
                let mut commands = if self.moves_on(action) { Vec::new() } else { self.follow_cursor() };
                commands.extend(match self.layer.take() {
                    None => self.on_panel(action),
                    Some(layer) => self.on_layer(layer, action),
                });
                commands
            }
        }
    }

    /// Whether what has the keys is a list with a search of its own.
    fn searches_itself(&self) -> bool {
        matches!(self.layer, Some(Layer::List(_) | Layer::Browser(_)))
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
            Action::Views => self.open_list_of_views(),
            Action::Metric => return self.on_view(action),
            Action::Best => return self.go_to_best(),
            Action::Pin => self.pin(),
            Action::Explain => return self.explain(),
            Action::Undo => return self.travel(true),
            Action::Redo => return self.travel(false),
            Action::Snapshots => return self.open_browser(),
            Action::Export => return self.export(),
            Action::Adapt => self.open_form(),
            Action::Reload => return vec![Command::Reload],
            Action::Palette => self.open_palette(),
            Action::Help => self.layer = Some(Layer::Help(0)),
            Action::Diagnostics => return vec![Command::Diagnose],
            Action::Mouse => return vec![self.toggle_mouse()],
            Action::Screen => self.layer = Some(Layer::List(List::of_formats())),
            Action::Close if self.view != ViewId::MAP => return self.close_view(),
            Action::Close => return self.go_home(),
            _ => match self.focus {
                Panel::Inputs => return self.on_inputs(action),
                Panel::Map => return self.on_view(action),
                Panel::Memory => self.on_memory(action),
                Panel::Timeline => self.on_timeline(action),
                Panel::Time => {
                    self.time.go(action, breakdown(self.answer.as_ref()).len(), self.page);
                }
            },
        }
        Vec::new()
    }

    fn on_inputs(&mut self, action: Action) -> Vec<Command> {
        match (self.inputs.row(), action) {
            (InputRow::Field(field), Action::Right | Action::More) => return self.step_field(field, true),
            (InputRow::Field(field), Action::Left | Action::Less) => return self.step_field(field, false),
            (InputRow::Field(field), Action::Take) => self.open_field(field),
            (InputRow::Fold, Action::Take) => self.inputs.unfolded = !self.inputs.unfolded,
            (InputRow::Fold, Action::Right | Action::More) => self.inputs.unfolded = true,
            (InputRow::Fold, Action::Left | Action::Less) => self.inputs.unfolded = false,
            _ => {
                let (count, mut cursor) = (self.inputs.rows().count(), ListCursor::at(self.inputs.cursor));
                cursor.go(action, count, self.page);
                self.inputs.cursor = cursor.row(count);
            }
        }
        Vec::new()
    }

    /// Opens a list or a line to type on, for a field.
    fn open_field(&mut self, field: Field) {
        let (takes, text) = (field.spec().takes, self.inputs.text(field, &self.scenario));
        self.layer = Some(if takes.is_listed() {
            let options = options(field, &self.scenario, &self.library);
            let options = options.iter().map(|value| takes.show(value)).collect();
            Layer::List(List::new(Subject::Field(field), options, &text))
        } else {
            Layer::Entry(Entry::new(Subject::Field(field), text))
        });
    }

    pub(super) fn on_map(&mut self, action: Action) -> Vec<Command> {
        match action {
            Action::Take if self.inputs.are_possible() && self.map.is_home(&self.scenario) => {
                self.tell(NOTHING_TO_TAKE.to_owned());
                Vec::new()
            }
            Action::Take => self.take_cell(),
            Action::Metric => {
                self.map.next_metric();
                Vec::new()
            }
            Action::Tune => {
                self.map.toggle_tuned();
                vec![self.fill_map()]
            }
            Action::Across | Action::Along => {
                let at = usize::from(action == Action::Along);
                self.layer = Some(Layer::List(List::of_axes(at, self.map.kinds(&self.scenario)[at])));
                Vec::new()
            }
            Action::Contour => {
                self.map.contour = !self.map.contour;
                Vec::new()
            }
            Action::Copy | Action::SaveMap => self.copy_map(action == Action::SaveMap),
            _ => {
                if self.map.go(action) {
                    self.look();
                }
                Vec::new()
            }
        }
    }

    /// The cell under the cursor becomes the scenario.
    fn take_cell(&mut self) -> Vec<Command> {
        let edits = self.map.edits(self.map.cursor);
        let said = |edit: &Edit| format!("{} {}", edit.field.spec().label, axes::label(&edit.value, &self.scenario));
        let taken: Vec<String> = edits.iter().map(said).collect();
        self.perform(vec![Effect::Edit(edits, format!("took {}: u undoes it", taken.join(", ")))])
    }

    /// Something else runs across the map or down.
    fn take_axis(&mut self, at: usize, word: &str) -> Vec<Command> {
        let Some(kind) = Field::from_axis(word) else { return Vec::new() };
        self.map.want(at, kind, &self.scenario);
        let base = base(&self.library, &self.file, &self.scenario, self.map.kinds(&self.scenario));
        let redo = self.follow_map(&base, &self.scenario.clone());
        let home = self.go_home();
        redo.then(|| self.fill_map()).into_iter().chain(home).collect()
    }

    /// Hands the map over as CSV: to the terminal's clipboard, or to a file.
    fn copy_map(&mut self, save: bool) -> Vec<Command> {
        let Some(text) = self.map.csv() else { return Vec::new() };
        let (done, all) = self.map.progress();
        if done < all {
            self.tell(format!("{done} of {all} cells are computed; the others are left empty"));
        }
        vec![if save { Command::SaveMap(text) } else { Command::Copy(text) }]
    }

    fn go_to_best(&mut self) -> Vec<Command> {
        let Some(best) = self.map.best() else {
            self.tell("no cell that fits is known yet".to_owned());
            return Vec::new();
        };
        self.map.cursor = best;
        self.look();
        self.close_view()
    }

    /// Back to the scenario itself, if the map's cursor went elsewhere.
    pub(super) fn go_home(&mut self) -> Vec<Command> {
        if !self.looking {
            return Vec::new();
        }
        self.map.cursor = self.map.home.unwrap_or(self.map.cursor);
        self.looking = false;
        self.ask(self.in_hand())
    }

    fn on_timeline(&mut self, action: Action) {
        let Some(answer) = &self.answer else { return };
        let step = ShownStep::new(&answer.evaluation);
        let (found, missed) = match action {
            Action::Zoom => (self.timeline.to_layer(step), "no layer is visible here"),
            Action::Follow => {
                (self.timeline.follow(step), "nothing is gathered for it, and nothing on this rank uses it")
            }
            Action::NextExposed => (self.timeline.to_exposed(true, step), "no further exposed communication"),
            Action::PreviousExposed => (self.timeline.to_exposed(false, step), "no exposed communication before"),
            _ => {
                self.timeline.update(action, step);
                return;
            }
        };
        if !found {
            self.tell(missed.to_owned());
        }
    }

    /// The memory panel shows the pipeline rank that the timeline is at; Enter shows its peak there.
    fn on_memory(&mut self, action: Action) {
        let Some(answer) = &self.answer else { return };
        let step = ShownStep::new(&answer.evaluation);
        let peak = answer.evaluation.stages.get(self.timeline.rank(step) as usize);
        if let (Action::Take, Some(peak)) = (action, peak) {
            self.focus = Panel::Timeline;
            return self.timeline.to_moment(peak.moment, step);
        }
        let (from, count) = (self.timeline.rank(step) as usize, step.trace.ranks() as usize);
        let mut rank = ListCursor::at(from);
        rank.go(action, count, self.page);
        self.go_to_row(rank.row(count));
    }

    /// Pins what is on the screen, once its figures are there; the same again takes that back, or lets go of it.
    pub(super) fn pin(&mut self) {
        let Ok(scenario) = self.shown.clone() else {
            return self.tell("not possible, so there is nothing to pin".to_owned());
        };
        if let Some(index) = self.pins.position(&scenario) {
            self.pins.remove(index);
            return self.tell("unpinned the scenario".to_owned());
        }
        let known = self.answer.as_ref().filter(|_| !self.stale);
        self.pins.pin(scenario, known.map(|answer| Arc::clone(&answer.evaluation)));
        let said = match self.pins.all() {
            [_] => "pinned: the headline shows the difference to it; c compares".to_owned(),
            all => format!("pinned as {}: c compares all {}", letter(all.len() - 1), all.len()),
        };
        self.tell(said);
    }

    pub(super) fn export(&mut self) -> Vec<Command> {
        if self.shown.is_err() {
            self.tell("not possible, so there is nothing to export".to_owned());
            return Vec::new();
        }
        let Some(answer) = self.answer.clone().filter(|_| !self.stale) else {
            self.tell(format!("{COMPUTING}: export when the figures are there"));
            return Vec::new();
        };
        self.tell("exporting".to_owned());
        vec![Command::Export(Box::new(answer))]
    }

    fn on_layer(&mut self, layer: Layer, action: Action) -> Vec<Command> {
        match layer {
            Layer::Explain(_) if action == Action::Close => {}
            Layer::Explain(mut explaining) => {
                explaining.update(action, self.page);
                self.layer = Some(Layer::Explain(explaining));
            }
            Layer::Browser(browser) => return self.on_browser(browser, action),
            Layer::Form(form) => return self.on_form(form, action),
            Layer::Palette(palette) => return self.on_palette(palette, action),
            Layer::Help(line) => {
                let lines = self.keymap.help_rows(self.panel_place(), false).len();
                self.layer = self.scrolled(line, action, lines).map(Layer::Help);
            }
            Layer::Diagnostics(findings, line) => {
                let lines = findings.len() * LINES;
                self.layer = self.scrolled(line, action, lines).map(|line| Layer::Diagnostics(findings, line));
            }
            Layer::List(list) => return self.on_list(list, action),
            Layer::Entry(entry) => return self.on_entry(entry, action),
        }
        Vec::new()
    }

    /// The line to which a text of so many lines scrolls; `None` where it is closed.
    fn scrolled(&self, line: usize, action: Action, lines: usize) -> Option<usize> {
        let tops = (lines + 1).saturating_sub(self.page);
        let mut top = ListCursor::at(line);
        top.go(action, tops, self.page);
        (action != Action::Close).then(|| top.row(tops))
    }

    /// Shows what was found out about the terminal.
    pub fn diagnose(&mut self, findings: Vec<Finding>) {
        self.layer = Some(Layer::Diagnostics(findings, 0));
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

    /// Pasted text goes where text is typed, as one line; elsewhere it does nothing, whatever keys it looks like.
    pub fn paste(&mut self, text: &str) -> Vec<Command> {
        if !self.place().takes_text() {
            self.tell("pasted text is ignored here; paste it where text is typed".to_owned());
            return Vec::new();
        }
        let line = printable(text.trim());
        line.chars().flat_map(|letter| self.update(Action::Type(InputRequest::InsertChar(letter)))).collect()
    }

    fn on_list(&mut self, mut list: List, action: Action) -> Vec<Command> {
        match action {
            Action::Close if list.searching => {
                list.searching = false;
            }
            Action::Close => return Vec::new(),
            Action::Take => {
                if let Some(text) = list.chosen().map(str::to_owned) {
                    return self.take_item(list.subject, &text);
                }
            }
            Action::Search => list.searching = true,
            Action::Type(request) => list.search(request),
            _ => {
                list.cursor.go(action, list.found().len(), self.page);
            }
        }
        self.layer = Some(Layer::List(list));
        Vec::new()
    }

    /// The item of a list becomes a field's value, or the view of that name is shown.
    fn take_item(&mut self, subject: Subject, text: &str) -> Vec<Command> {
        match subject {
            Subject::Field(field) => self.give(field, text),
            Subject::Pin(_) | Subject::Set => Vec::new(),
            Subject::Screen => {
                Format::ALL.into_iter().filter(|format| format.name() == text).map(Command::SaveScreen).collect()
            }
            Subject::Axis(at) => self.take_axis(at, text),
            Subject::Views => {
                let named = SPECS.into_iter().find(|spec| spec.id.name == text);
                named.map_or_else(Vec::new, |spec| self.open_view(spec.id))
            }
        }
    }

    fn on_entry(&mut self, mut entry: Entry, action: Action) -> Vec<Command> {
        match action {
            Action::Close => return Vec::new(),
            Action::Take => return self.take_text(entry.subject, entry.input.value().trim()),
            Action::Type(request) => entry.change(request),
            _ => {}
        }
        self.layer = Some(Layer::Entry(entry));
        Vec::new()
    }

    /// What was typed becomes a field's value, or a name.
    fn take_text(&mut self, subject: Subject, text: &str) -> Vec<Command> {
        match subject {
            Subject::Field(field) if text != self.inputs.text(field, &self.scenario) => {
                return self.give(field, text);
            }
            Subject::Set if !text.is_empty() => return vec![Command::SaveSet(text.to_owned())],
            Subject::Pin(index) if !text.is_empty() => self.pins.rename(index, text),
            _ => {}
        }
        Vec::new()
    }
}
