//! Changing the scenario: fields get values, and the scenario follows if it can be.

use crate::app::answers::{base, resolve};
use shardscope_engine::presets::Kind;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{CheckedScenario, Edit, Field, Problem, Scenario, Value};
use shardscope_engine::search::options::toward;
use shardscope_engine::units::counted;

use crate::app::action::Command;
use crate::app::action::effect::Effect;
use crate::app::answers::pins::{Pins, are_same};
use crate::app::state::App;
use crate::app::state::history::Edited;
use crate::app::views::inputs::Wrong;

impl App {
    /// Sets a field to the value that a user typed; no text stands for its default.
    pub(crate) fn give(&mut self, field: Field, text: &str) -> Vec<Command> {
        self.record(None, |app| match field.read(text) {
            Ok(value) => app.put(field, value),
            Err(problem) => {
                app.mark([field]);
                app.refuse(field, text, &[problem], false);
                Vec::new()
            }
        })
    }

    /// A field gets a value.
    pub(crate) fn set(&mut self, field: Field, value: Value) -> Vec<Command> {
        self.record(None, |app| app.put(field, Some(value)))
    }

    /// Makes a change that can be undone, if it changes anything.
    pub(crate) fn record(
        &mut self,
        stepped: Option<Field>,
        change: impl FnOnce(&mut Self) -> Vec<Command>,
    ) -> Vec<Command> {
        // Whatever an edit does, what can be undone is what stood before all of it; one that changes nothing leaves no
        // entry.
        let before = self.edited();
        let commands = change(self);
        let pinned = !are_same(self.pins.all(), &before.pins);
        if pinned || self.file != before.file || self.scenario != before.scenario {
            self.history.note(before, stepped);
        }
        commands
    }

    /// Changes what is pinned, which can be undone.
    pub(crate) fn repin(&mut self, change: impl FnOnce(&mut Pins)) {
        self.record(None, |app| {
            change(&mut app.pins);
            app.with_view(|view, context| view.renew(context));
            Vec::new()
        });
    }

    /// Another scenario becomes the one in hand.
    pub(crate) fn adopt(&mut self, file: ScenarioFile, scenario: CheckedScenario) -> Vec<Command> {
        self.record(None, |app| app.take_up(file, scenario))
    }

    /// Sets a field as a part of a larger change.
    pub(crate) fn take_up(&mut self, file: ScenarioFile, scenario: CheckedScenario) -> Vec<Command> {
        self.inputs.wrong.clear();
        self.inputs.changed.clear();
        self.file = file;
        self.follow(scenario)
    }

    fn edited(&self) -> Edited {
        let (wrong, pins) = (self.inputs.wrong.clone(), self.pins.remembered());
        Edited { file: self.file.clone(), scenario: self.scenario.clone(), wrong, pins }
    }

    /// Takes the last change back, or makes it again.
    pub(crate) fn travel(&mut self, back: bool) -> Vec<Command> {
        let now = self.edited();
        let found = if back { self.history.undo(now) } else { self.history.redo(now) };
        let Some(Edited { file, scenario, wrong, pins }) = found else {
            self.tell(format!("nothing to {}", if back { "undo" } else { "redo" }));
            return Vec::new();
        };
        let before = self.read_fields();
        let repinned = !are_same(self.pins.all(), &pins);
        self.pins.restore(&pins);
        // What was possible when it was edited may be so no longer: a preset may have been read again since.
        let possible = resolve(&self.library, &file, &scenario);
        (self.file, self.inputs.wrong) = (file, wrong);
        let commands = match possible {
            Ok(scenario) => self.follow(scenario),
            Err(problems) => {
                self.scenario = scenario;
                self.ask(Err(problems))
            }
        };
        self.mark_since(&before);
        let inputs = &self.inputs;
        let changed = inputs
            .changed
            .iter()
            .map(|field| format!("{} {}", field.spec().label, inputs.text(*field, &self.scenario)));
        let pinned = repinned.then(|| format!("{} pinned", pins.len()));
        let changed = changed.chain(pinned).collect::<Vec<_>>().join(", ");
        let word = if back { "undone" } else { "redone" };
        self.tell(if changed.is_empty() { word.to_owned() } else { format!("{word}: {changed}") });
        commands
    }

    /// A field gets a value, or its default; a value with which the scenario cannot be stays, with its reason.
    fn put(&mut self, field: Field, value: Option<Value>) -> Vec<Command> {
        let text = value.as_ref().map_or_else(String::new, |value| field.spec().takes.show(value));
        self.mark([field]);
        self.file.put(field, value);
        if field == Field::Cluster {
            self.library.begin(&mut self.file);
        }
        match resolve(&self.library, &self.file, &self.scenario) {
            Ok(scenario) => {
                let commands = self.follow(scenario);
                if let (Some(way_out), Some(wanted)) = (self.way_out(), self.scenario.wanted_sequences()) {
                    let runs = counted(self.scenario.sequences());
                    self.tell(format!("the batch becomes {runs}, not {}; {way_out}", counted(wanted)));
                }
                commands
            }
            Err(problems) => {
                self.refuse(field, &text, &problems, true);
                let commands = self.ask(Err(problems));
                if let Some(way_out) = self.way_out() {
                    self.tell(format!("{} {text} is not possible; {way_out}", field.spec().label));
                }
                commands
            }
        }
    }

    /// The scenario shown becomes the nearest one that can be, or one that fits.
    pub(crate) fn apply_nearest(&mut self) -> Vec<Command> {
        let fix = self.fix.as_ref().and_then(|fix| fix.0.first());
        let (edits, what) = match (&self.nearest, fix) {
            (Some(nearest), _) => (nearest.edits.clone(), nearest.to_string()),
            (None, Some(fix)) => (vec![fix.clone()], fix.to_string()),
            (None, None) => {
                self.tell(if self.shown.is_err() {
                    "no single change makes it possible: u undoes the last one".to_owned()
                } else {
                    "the scenario shown is possible: W tries what else would help".to_owned()
                });
                return Vec::new();
            }
        };
        self.perform(vec![Effect::EditShown(edits, format!("applied {what}: u undoes it"))])
    }

    /// Makes several edits at once, if the scenario can be that way.
    pub(crate) fn edit(&mut self, edits: &[Edit]) -> Vec<Command> {
        let mut file = self.file.clone();
        file.edit(edits);
        // What an edit has looked up already need not be looked up by its id again.
        let mut known = self.scenario.clone();
        for edit in edits.iter().filter(|edit| matches!(edit.value, Value::Preset(_))) {
            let _ = edit.apply(&mut known);
        }
        self.revise(file, &known)
    }

    /// Another file takes the place of the scenario's, if the scenario can be that way; what a scenario that is `known`
    /// has of it need not be looked up.
    pub(crate) fn revise(&mut self, file: ScenarioFile, known: &Scenario) -> Vec<Command> {
        let before = self.read_fields();
        match resolve(&self.library, &file, known) {
            Ok(scenario) => {
                let commands = self.record(None, |app| {
                    app.inputs.wrong.clear();
                    app.file = file;
                    app.follow(scenario)
                });
                self.mark_since(&before);
                commands
            }
            Err(problems) => {
                self.notice = problems.first().map(|problem| problem.to_string().into());
                Vec::new()
            }
        }
    }

    /// Reads all fields: a value, or a text that is none. Rare ones repeat others in another way, so that of them only
    /// what the file says counts.
    fn read_fields(&self) -> Vec<Result<Option<Value>, String>> {
        let said = |field: Field| match self.inputs.wrong(field) {
            _ if field.spec().rare => Ok(self.file.value(field).filter(|value| Some(value) != field.usual())),
            Some(wrong) => Err(wrong.text.clone()),
            None => Ok(field.meant(&self.scenario)),
        };
        Field::all().map(said).collect()
    }

    /// Marks the fields that no longer say what they said.
    fn mark_since(&mut self, before: &[Result<Option<Value>, String>]) {
        let now = self.read_fields();
        let both = before.iter().zip(&now);
        self.inputs.mark(Field::all().zip(both).filter(|(_, (before, now))| before != now).map(|(field, _)| field));
    }

    /// Marks fields that get other values, whatever was wrong with their last ones.
    fn mark<const N: usize>(&mut self, fields: [Field; N]) {
        self.inputs.wrong.retain(|wrong| !fields.contains(&wrong.field));
        self.inputs.mark(fields);
    }

    /// The nearest value after or before a field's value with which the scenario can be.
    pub(crate) fn step_field(&mut self, field: Field, forward: bool) -> Vec<Command> {
        // From a text that is no value of the field there is no next one: steps go on from the last that was.
        let value = match self.inputs.wrong(field) {
            Some(wrong) if wrong.in_file => self.file.value(field),
            _ => field.meant(&self.scenario),
        };
        let valid = |value: &Value| {
            let mut file = self.file.clone();
            file.put(field, Some(value.clone()));
            resolve(&self.library, &file, &self.scenario).is_ok()
        };
        let next = toward(field, value.as_ref(), forward, &self.scenario, &self.library).into_iter().find(valid);
        if let Some(value) = next {
            return self.record(Some(field), |app| app.put(field, Some(value)));
        }
        let place = if forward { "after" } else { "before" };
        self.tell(format!("{}: no valid value {place}", field.spec().label));
        Vec::new()
    }

    /// Says why the scenario does not become another one.
    pub(crate) fn refuse_scenario(&mut self, problems: &[Problem]) {
        self.notice = problems.first().map(|problem| format!("the scenario stays as it was: {problem}").into());
    }

    /// The scenario is another one, which may be impossible: then the screen says why.
    pub(crate) fn turn_to(&mut self, scenario: Scenario) -> Vec<Command> {
        match scenario.clone().into_checked() {
            Ok(scenario) => self.follow(scenario),
            Err(problems) => {
                self.scenario = scenario;
                self.ask(Err(problems))
            }
        }
    }

    /// The scenario is another one: the map follows it, and the screen shows it.
    pub(crate) fn follow(&mut self, scenario: CheckedScenario) -> Vec<Command> {
        self.inputs.wrong.retain(|wrong| !wrong.in_file);
        let base = base(&self.library, &self.file, &scenario, self.views.map.kinds(&scenario));
        let redo = self.follow_map(&base, &scenario);
        let run = self.inputs.measured.as_ref();
        let lost = run.is_some_and(|run| run.counts_in(&self.scenario) && run.is_lost_in(&scenario));
        self.scenario = Scenario::clone(&scenario);
        self.looking = false;
        let mut commands = self.ask(Ok(scenario));
        commands.extend(redo.then(|| self.fill_map()));
        if lost {
            let said = self.notice.take().map_or_else(String::new, |said| format!("{}; ", &*said));
            let lost = "the stack changed: the calibration to your run does not apply here; u undoes it";
            self.tell(format!("{said}{lost}"));
        }
        commands
    }

    /// The map follows the scenario; says whether it has to be filled anew.
    pub(crate) fn follow_map(&mut self, base: &Scenario, scenario: &Scenario) -> bool {
        let (library, file) = (&self.library, &self.file);
        // Looked up here, once for an axis, so that no cell has to.
        let presets = |field: Field| {
            let entries = Kind::from_field(field).into_iter().flat_map(|kind| library.entries(kind));
            let known = entries.filter_map(|entry| {
                let mut file = file.clone();
                if file.value(field).is_none_or(|id| id.to_string() != entry.id) {
                    file.put(field, Some(Value::Id(entry.id.as_str().into())));
                }
                library.look_up(field, &file, scenario).ok()
            });
            known.collect()
        };
        self.views.map.follow(base, scenario, &presets)
    }

    /// Keeps a value that cannot be, with its reason: the field's own, or the first.
    fn refuse(&mut self, field: Field, text: &str, problems: &[Problem], in_file: bool) {
        let own = problems.iter().find(|problem| Field::behind(&problem.field).contains(&field)).or(problems.first());
        let why = own.map_or_else(String::new, |problem| format!("{}; {}", problem.what, problem.fix));
        self.tell(format!("{}: {why}", field.spec().label));
        self.inputs.wrong.push(Wrong { field, text: text.to_owned(), why, in_file });
    }
}

#[cfg(test)]
mod tests;
