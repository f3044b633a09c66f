//! Changing the scenario: a field gets a text, the file gets the value, and the scenario follows if it can be.

use super::resolve::{base, resolve};
use crate::presets::Kind;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Field, Problem, Scenario, Value};

use super::action::Command;
use super::history::Edited;
use super::inputs::{FIELDS, Wrong};
use super::state::App;

impl App {
    /// Gives fields new texts and follows.
    pub(super) fn change(&mut self, changes: &[(usize, String)]) -> Vec<Command> {
        self.noted(None, |app| app.apply(changes))
    }

    /// Makes a change that can be undone, if it changes anything.
    pub(super) fn noted(
        &mut self,
        stepped: Option<usize>,
        change: impl FnOnce(&mut Self) -> Vec<Command>,
    ) -> Vec<Command> {
        let before = self.edited();
        let commands = change(self);
        if self.file != before.file || self.scenario != before.scenario {
            self.history.note(before, stepped);
        }
        commands
    }

    /// Another scenario becomes the one in hand.
    pub(super) fn adopt(&mut self, file: ScenarioFile, scenario: Scenario) -> Vec<Command> {
        self.noted(None, |app| {
            app.inputs.wrong.clear();
            app.inputs.changed.clear();
            app.file = file;
            app.follow(scenario)
        })
    }

    fn edited(&self) -> Edited {
        Edited { file: self.file.clone(), scenario: self.scenario.clone(), wrong: self.inputs.wrong.clone() }
    }

    /// Takes the last change back, or makes it again.
    pub(super) fn travel(&mut self, back: bool) -> Vec<Command> {
        let now = self.edited();
        let found = if back { self.history.undo(now) } else { self.history.redo(now) };
        let Some(Edited { file, scenario, wrong }) = found else {
            self.tell(format!("nothing to {}", if back { "undo" } else { "redo" }));
            return Vec::new();
        };
        let text = |app: &Self, field: usize| app.inputs.text(field, &app.scenario);
        let before: Vec<String> = (0..FIELDS.len()).map(|field| text(self, field)).collect();
        let possible = resolve(&self.library, &file, &scenario).map(|_| ());
        (self.file, self.inputs.wrong) = (file, wrong);
        let commands = match possible {
            Ok(()) => self.follow(scenario),
            Err(problems) => {
                self.scenario = scenario;
                self.ask(Err(problems))
            }
        };
        self.inputs.changed = (0..FIELDS.len()).filter(|field| text(self, *field) != before[*field]).collect();
        let changed =
            self.inputs.changed.iter().map(|field| format!("{} {}", FIELDS[*field].label, text(self, *field)));
        let changed = changed.collect::<Vec<_>>().join(", ");
        let word = if back { "undone" } else { "done again" };
        self.tell(if changed.is_empty() { word.to_owned() } else { format!("{word}: {changed}") });
        commands
    }

    fn apply(&mut self, changes: &[(usize, String)]) -> Vec<Command> {
        self.inputs.changed = changes.iter().map(|(field, _)| *field).collect();
        for (field, text) in changes {
            self.inputs.wrong.retain(|wrong| wrong.field != *field);
            if let Err(problem) = self.file.set(FIELDS[*field].flag, text) {
                self.refuse(*field, text, &[problem], false);
                return Vec::new();
            }
        }
        match resolve(&self.library, &self.file, &self.scenario) {
            Ok(scenario) => self.follow(scenario),
            Err(problems) => {
                for (field, text) in changes {
                    self.refuse(*field, text, &problems, true);
                }
                self.ask(Err(problems))
            }
        }
    }

    /// Changes several things of the file at once, if the scenario can be that way.
    pub(super) fn revise(&mut self, file: ScenarioFile) -> Vec<Command> {
        let text = |app: &Self, field: usize| app.inputs.text(field, &app.scenario);
        let before: Vec<String> = (0..FIELDS.len()).map(|field| text(self, field)).collect();
        match resolve(&self.library, &file, &self.scenario) {
            Ok(scenario) => {
                let commands = self.noted(None, |app| {
                    app.file = file;
                    app.follow(scenario)
                });
                self.inputs.changed = (0..FIELDS.len()).filter(|field| text(self, *field) != before[*field]).collect();
                commands
            }
            Err(problems) => {
                self.notice = problems.first().map(ToString::to_string);
                Vec::new()
            }
        }
    }

    /// The nearest value after or before a field's value with which the scenario can be.
    pub(super) fn step_field(&mut self, forward: bool) -> Vec<Command> {
        let (index, field) = (self.inputs.cursor, self.inputs.field());
        // From a text that is no value of the field there is no next one.
        let value = match self.inputs.wrong(index) {
            Some(wrong) if !wrong.in_file => field.read(&self.scenario),
            _ => self.inputs.text(index, &self.scenario),
        };
        let valid = |text: &String| {
            let mut file = self.file.clone();
            file.set(field.flag, text).is_ok() && resolve(&self.library, &file, &self.scenario).is_ok()
        };
        let next = field.toward(&value, forward, &self.scenario, &self.library).into_iter().find(valid);
        if let Some(text) = next {
            return self.noted(Some(index), |app| app.apply(&[(index, text)]));
        }
        self.notice = Some(format!("{}: no valid value {}", field.label, if forward { "after" } else { "before" }));
        Vec::new()
    }

    /// The scenario is another one: the map follows it, and the screen shows it.
    fn follow(&mut self, scenario: Scenario) -> Vec<Command> {
        self.inputs.wrong.retain(|wrong| !wrong.in_file);
        let base = base(&self.library, &self.file, &scenario, self.map.kinds(&scenario));
        let redo = self.follow_map(&base, &scenario);
        self.scenario = scenario;
        self.looking = false;
        let mut commands = self.ask(Ok(self.scenario.clone()));
        commands.extend(redo.then(|| self.fill_map()));
        commands
    }

    /// The map follows the scenario; says whether it has to be filled anew.
    pub(super) fn follow_map(&mut self, base: &Scenario, scenario: &Scenario) -> bool {
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
        self.map.follow(base, scenario, &presets)
    }

    /// Keeps a value that cannot be, with its reason: the field's own, or the first.
    fn refuse(&mut self, field: usize, text: &str, problems: &[Problem], in_file: bool) {
        let own = problems.iter().find(|problem| problem.field.starts_with(FIELDS[field].path)).or(problems.first());
        let why = own.map_or_else(String::new, |problem| format!("{}; {}", problem.what, problem.fix));
        self.notice = Some(format!("{}: {why}", FIELDS[field].label));
        self.inputs.wrong.push(Wrong { field, text: text.to_owned(), why, in_file });
    }
}

#[cfg(test)]
mod tests;
