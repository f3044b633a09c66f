//! Changing the scenario: a field gets a text, the file gets the value, and the scenario follows if it can be.

use crate::plan::Size;
use crate::presets::Library;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Problem, Scenario};

use super::App;
use super::action::Command;
use super::inputs::{FIELDS, Wrong};

/// The scenario that a file means, if it can be laid out; what it shares with the last one stays as it was there,
/// which may come from a snapshot.
fn resolve(library: &Library, file: &ScenarioFile, last: &Scenario) -> Result<Scenario, Vec<Problem>> {
    let scenario = library.resolve_over(file, Some(last))?;
    scenario.layout()?;
    Ok(scenario)
}

/// What the map's cells start from: the scenario without what the axes set, so that moving along them changes no cell.
pub(super) fn base(library: &Library, file: &ScenarioFile, scenario: &Scenario) -> Scenario {
    let mut file = file.clone();
    file.plan.shard = None;
    let mut base = library.resolve_over(&file, Some(scenario)).unwrap_or_else(|_| scenario.clone());
    base.plan.size = Size::Nodes(1);
    if base.plan.sharding.first_sharded().is_none() {
        base.plan.micro_batch = 1;
    }
    base
}

impl App {
    /// Gives fields new texts and follows.
    pub(super) fn change(&mut self, changes: &[(usize, String)]) -> Vec<Command> {
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

    /// The nearest value after or before a field's value with which the scenario can be.
    pub(super) fn step_field(&mut self, forward: bool) -> Vec<Command> {
        let (index, field) = (self.inputs.cursor, self.inputs.field());
        let value = self.inputs.text(index, &self.scenario);
        let valid = |text: &String| {
            let mut file = self.file.clone();
            file.set(field.flag, text).is_ok() && resolve(&self.library, &file, &self.scenario).is_ok()
        };
        let next = field.toward(&value, forward, &self.scenario, &self.library).into_iter().find(valid);
        if let Some(text) = next {
            return self.change(&[(index, text)]);
        }
        self.notice = Some(format!("{}: no valid value {}", field.label, if forward { "after" } else { "before" }));
        Vec::new()
    }

    /// The scenario is another one: the map follows it, and the screen shows it.
    fn follow(&mut self, scenario: Scenario) -> Vec<Command> {
        self.inputs.wrong.retain(|wrong| !wrong.in_file);
        let base = base(&self.library, &self.file, &scenario);
        let redo = self.map.follow(&base, &scenario);
        self.scenario = scenario;
        self.looking = false;
        let mut commands = self.ask(Ok(self.scenario.clone()));
        commands.extend(redo.then(|| self.fill_map()));
        commands
    }

    /// Keeps a value that cannot be, with its reason: the field's own, or the first.
    fn refuse(&mut self, field: usize, text: &str, problems: &[Problem], in_file: bool) {
        let own = problems.iter().find(|problem| problem.field.starts_with(FIELDS[field].path)).or(problems.first());
        let why = own.map_or_else(String::new, |problem| format!("{}; {}", problem.what, problem.mend));
        self.notice = Some(format!("{}: {why}", FIELDS[field].label));
        self.inputs.wrong.push(Wrong { field, text: text.to_owned(), why, in_file });
    }
}
