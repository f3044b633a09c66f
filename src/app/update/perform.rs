//! The effects that views and layers ask for: the explorer performs them.

use std::path::PathBuf;

use shardscope_engine::scenario::file::{self, ScenarioFile};
use shardscope_library::command;
use shardscope_report::figures::Figure;

use crate::app::action::effect::{Effect, Opening};
use crate::app::action::keys::KeyPlace;
use crate::app::action::panel::{Panel, ViewId};
use crate::app::action::{Action, Command, Format};
use crate::app::layer::Layer;
use crate::app::layer::command_lines::CommandLines;
use crate::app::layer::form::Form;
use crate::app::layer::help::Help;
use crate::app::layer::list::{Item, List, TypedValue, preset_words};
use crate::app::layer::palette;
use crate::app::layer::typing::{Entry, Purpose};
use crate::app::state::App;
use crate::app::timeline::ShownStep;
use crate::app::transfer::FileTransfer;
use crate::app::transfer::exporting::ExportConsent;
use crate::app::views::SPECS;
use crate::app::views::View;
use shardscope_engine::scenario::{Edit, Field};
use shardscope_engine::search;
use shardscope_engine::search::options::options;
use shardscope_interop::export::ExportForm;
use shardscope_interop::runs_in::runs_in;

/// Said where no command line gives what is shown.
const NO_FLAGS: &str = "no flags can express this scenario: e exports it as a file, which every command accepts";

impl App {
    /// Does all of it, in order; gives what is to be computed or done elsewhere.
    pub(crate) fn perform(&mut self, effects: Vec<Effect>) -> Vec<Command> {
        let mut commands = Vec::new();
        for effect in effects {
            commands.extend(self.perform_one(effect));
        }
        commands
    }

    fn perform_one(&mut self, effect: Effect) -> Vec<Command> {
        match effect {
            Effect::Run(command) => return vec![command],
            Effect::Tell(what) => self.tell(what),
            // Before whatever the layer asked for besides, which may open another one.
            Effect::Close => self.layer = None,
            Effect::Open(opening) => return self.open(opening),
            Effect::Set(field, value) => return self.set(field, value),
            Effect::Give(field, text) => return self.give(field, &text),
            Effect::Step(field, forward) => return self.step_field(field, forward),
            Effect::Edit(edits, said) => {
                let commands = self.edit(&edits);
                self.tell_unless_refused(said);
                return commands;
            }
            Effect::EditShown(edits, said) => {
                return self.perform_one(Effect::Edit([self.edits_shown(), edits].concat(), said));
            }
            Effect::Revise(file, said) => {
                let commands = self.revise(*file, &self.scenario.clone());
                self.tell_unless_refused(said);
                return commands;
            }
            Effect::Adopt(scenario, said) => match scenario.into_checked() {
                Ok(scenario) => {
                    let commands = self.adopt(ScenarioFile::of(&scenario), scenario);
                    self.tell(said);
                    return commands;
                }
                Err(problems) => self.refuse_scenario(&problems),
            },
            // As if the cursor had gone there and Enter was pressed: the layer that asked for it is closed by now.
            Effect::Choose(field) => {
                self.focus = Panel::Inputs;
                self.inputs.choose(field);
                return self.update(Action::Take);
            }
            Effect::Do(place, action) => return self.do_at(place, action),
            Effect::Show(view) => return self.open_view(view),
            Effect::OpenPreset(id) => return self.open_preset(&id),
            Effect::Metric(metric) => self.show_metric(metric),
            Effect::Axis(at, field) => return self.take_axis(at, field),
            Effect::Fill => return vec![self.fill_map()],
            Effect::Look => self.look(),
            Effect::Pin(scenario) => {
                if self.pins.position(&scenario).is_none() {
                    self.repin(|pins| pins.pin(*scenario, None));
                }
            }
            Effect::Unpin(pin) => self.repin(|pins| pins.remove(pin)),
            Effect::ShiftPin(pin, by) => self.repin(|pins| {
                pins.shift(pin, by);
            }),
            Effect::RenamePin(pin, name) => self.repin(|pins| pins.rename(pin, &name)),
            Effect::Rank(rank) => {
                let from = self.context().rank.cast_signed();
                if let Some(answer) = &self.answer {
                    self.timeline.change_rank(rank.cast_signed() - from, ShownStep::new(&answer.evaluation));
                }
            }
            Effect::Moment(moment) => {
                self.focus = Panel::Timeline;
                if let Some(answer) = &self.answer {
                    self.timeline.to_moment(moment, ShownStep::new(&answer.evaluation));
                }
            }
            Effect::Export => return self.export(),
            Effect::Measure(text) => return self.measure(&text),
            Effect::Learn(calibration) => return self.calibrate(*calibration),
            Effect::OpenFile(path) => return self.transfer(FileTransfer::Open(path)),
            Effect::Import(line) => return self.import(&line),
            Effect::ImportWith(words) => return self.import_files(words),
            Effect::Each(effects) => return self.perform(effects),
            Effect::ExportPlan(form, folder, consent) => return self.export_plan(form, folder, consent),
            Effect::Explain => return self.explain(),
            Effect::Follow => return self.ask_view().into_iter().collect(),
            Effect::Arrived => self.computed(),
        }
        Vec::new()
    }

    /// The edits from the current scenario to the one shown: none, unless that is a cell of the map.
    pub(crate) fn edits_shown(&self) -> Vec<Edit> {
        let map = &self.views.map;
        if self.looking { map.edits(map.cursor) } else { Vec::new() }
    }

    /// Says what was done, unless a notice says why it was not.
    fn tell_unless_refused(&mut self, said: String) {
        if self.notice.is_none() {
            self.tell(said);
        }
    }

    /// An action where it belongs.
    fn do_at(&mut self, place: KeyPlace, action: Action) -> Vec<Command> {
        let mut commands = Vec::new();
        match place {
            KeyPlace::Panel(panel) => {
                self.view = if panel == Panel::Map { ViewId::MAP } else { self.view };
                self.focus = panel;
            }
            KeyPlace::View(view) => commands.extend(self.open_view(view)),
            _ => {}
        }
        commands.extend(self.update(action));
        commands
    }

    /// The scenario becomes a preset one, if its file can be read and laid out.
    fn open_preset(&mut self, id: &str) -> Vec<Command> {
        match self.library.scenario_text(id).map(|preset| file::parse(&preset.text)) {
            Ok(Ok(file)) => {
                let look = file.look.as_deref().map_or_else(String::new, |look| format!(" {look}"));
                let opened = format!("opened {id}; u undoes it.{look}");
                return self.perform_one(Effect::Revise(Box::new(file), opened));
            }
            Ok(Err(error)) => self.tell(error.to_string()),
            Err(unknown) => self.tell(unknown.to_string()),
        }
        Vec::new()
    }

    /// The map shows a figure, if the cluster has it.
    fn show_metric(&mut self, metric: Figure) {
        (self.view, self.focus) = (ViewId::MAP, Panel::Map);
        match metric.lacks(&self.views.map.sweep.base) {
            Some(problem) => self.tell(problem.to_string()),
            None => self.views.map.show(metric),
        }
    }

    /// Opens a layer over the panels, or says why it cannot be.
    pub(crate) fn open(&mut self, opening: Opening) -> Vec<Command> {
        let mut commands = Vec::new();
        self.layer = Some(match opening {
            Opening::Field(field, text) => self.values_of(field, text),
            Opening::Views => Layer::List(self.list_of_views()),
            Opening::Formats => Layer::List(list_of_formats()),
            Opening::Axis(at) => Layer::List(list_of_axes(at, self.views.map.kinds(&self.scenario)[at])),
            Opening::PinName(pin) => {
                let name = self.pins.all().get(pin).map_or_else(String::new, |pin| pin.name.clone());
                Layer::Entry(Entry::new(Purpose::PinName(pin), name))
            }
            Opening::SetName => Layer::Entry(Entry::new(Purpose::SetName, "set".to_owned())),
            Opening::Form(kind) => match Form::of(kind, &self.scenario, &self.library) {
                Ok(form) => Layer::Form(Box::new(form)),
                Err(why) => {
                    self.tell(why);
                    return Vec::new();
                }
            },
            Opening::OwnFigure => {
                let text = self.inputs.measured.as_ref().map_or_else(String::new, |run| run.figure.typed());
                Layer::Entry(Entry::new(Purpose::OwnFigure, text))
            }
            Opening::ImportPath => Layer::Entry(Entry::of_path(self.import_line.clone())),
            Opening::ExportForms => Layer::List(self.list_of_export_forms()),
            Opening::ExportFolder(form) => Layer::Entry(Entry::new(Purpose::ExportFolder(form), ".".to_owned())),
            Opening::ExportOver(form, folder, consent, taken) => {
                self.tell(format!("{taken} already exists; nothing was written"));
                Layer::List(list_of_ways_out(form, folder, consent))
            }
            Opening::ExportNearest(form, folder, consent, [lacks, nearest]) => {
                self.tell(format!("{lacks}; nothing was written"));
                Layer::List(list_of_nearest(form, folder, consent, &nearest))
            }
            Opening::CommandLines => match self.command_lines() {
                Ok(lines) => Layer::CommandLines(lines),
                Err(why) => {
                    self.tell(why.to_owned());
                    return Vec::new();
                }
            },
            Opening::Commands => {
                let mut items = palette::items(self.keymap.lines(), self.panel_place(), &self.inputs, &self.scenario);
                items.extend(palette::presets(&self.library));
                Layer::List(List::of_commands(items))
            }
            Opening::Runs => Layer::List(List::of_runs(&self.library)),
            Opening::Gallery => Layer::List(List::of_scenarios(&self.library)),
            Opening::Help => Layer::Help(Help::new(self.keymap.help_rows(self.panel_place(), false))),
            Opening::Files => {
                commands.push(Command::List);
                Layer::Browser(crate::app::layer::browser::Browser::default())
            }
        });
        commands
    }

    /// The values of a field, or a line to type one on.
    fn values_of(&self, field: Field, text: String) -> Layer {
        let takes = field.spec().takes;
        if !takes.is_listed() {
            return Layer::Entry(Entry::new(Purpose::Value(field), text));
        }
        let item = |value| {
            let name = takes.show(&value);
            let (note, about) = preset_words(&self.library, field, &name).unwrap_or_default();
            Item { about, ..Item::new(name, note, Effect::Set(field, value)) }
        };
        let options = options(field, &self.scenario, &self.library);
        let mut list = List::new(field.spec().label, options.into_iter().map(item).collect(), &text);
        list.typed = takes.takes_more().then_some(TypedValue::Field(field));
        Layer::List(list)
    }

    /// Each with its key, and what it shows.
    fn list_of_views(&self) -> List {
        let items = SPECS.into_iter().map(|spec| {
            let note = format!("{}  {}", self.keymap.key_of(Action::View(spec.id), false), spec.id.about);
            Item::new(spec.id.name, note, Effect::Show(spec.id))
        });
        List::new("Views", items.collect(), self.view.name)
    }

    /// What a plan can be written for, the launchers that run the one shown first.
    fn list_of_export_forms(&self) -> List {
        let names = self.shown.as_ref().map_or_else(|_| Vec::new(), |scenario| runs_in(scenario));
        let runs = |form: ExportForm| names.contains(&form.name());
        let mut forms: Vec<ExportForm> = ExportForm::all().collect();
        forms.sort_by_key(|form| !runs(*form));
        let items = forms.into_iter().map(|form| {
            let (name, about) = form.words();
            let about = if runs(form) { format!("runs as planned: {about}") } else { about.to_owned() };
            Item::new(name, about, Effect::Open(Opening::ExportFolder(form)))
        });
        List::new("Write the plan for", items.collect(), "")
    }

    /// The command lines that give the scenario shown, the view, and the map around the scenario in hand.
    pub(crate) fn command_lines(&self) -> Result<CommandLines, &'static str> {
        let scenario = self.shown.as_deref().map_err(|_| "not possible, so no command line gives it")?;
        let shown = command::eval(&self.library, scenario).ok_or(NO_FLAGS)?;
        let context = self.context();
        let view = (self.view != ViewId::MAP).then(|| self.views.get(self.view).command_line(&context));
        let map = self.views.map.command_line(&context);
        let lines = std::iter::once(("the scenario shown", shown)).chain(view.flatten()).chain(map).collect();
        Ok(CommandLines::new(lines))
    }
}

fn list_of_formats() -> List {
    let items =
        Format::ALL.map(|format| Item::new(format.name(), format.about(), Effect::Run(Command::SaveScreen(format))));
    List::new("Write the screen", items.into(), "")
}

/// Choices where a file is in the way of an export.
fn list_of_ways_out(form: ExportForm, folder: PathBuf, consent: ExportConsent) -> List {
    let other = Effect::Open(Opening::ExportFolder(form));
    let replace = Effect::ExportPlan(form, folder, ExportConsent { replacing: true, ..consent });
    let items = [
        ("write into another folder", "what is there stays", other),
        ("replace it", "and what else is in the way", replace),
    ];
    List::new("The file already exists", items.map(|(name, note, effect)| Item::new(name, note, effect)).into(), "")
}

/// Choices where a tool lacks the plan: the nearest that it has comes first, so that Enter writes it.
fn list_of_nearest(form: ExportForm, folder: PathBuf, consent: ExportConsent, nearest: &str) -> List {
    let write = Effect::ExportPlan(form, folder, ExportConsent { nearest: true, ..consent });
    let items = [
        ("write the nearest plan", nearest, write),
        ("another tool", "the plan stays", Effect::Open(Opening::ExportForms)),
    ];
    List::new(
        "The tool cannot run this plan",
        items.map(|(name, note, effect)| Item::new(name, note, effect)).into(),
        "",
    )
}

/// The fields that can run across the map (0) or down (1), with the cursor on the one that does.
fn list_of_axes(at: usize, now: Field) -> List {
    let items = Field::all().map(|field| Item::new(search::word(field), field.spec().help, Effect::Axis(at, field)));
    let title = if at == 0 { "Across the map" } else { "Down the map" };
    List::new(title, items.collect(), search::word(now))
}
