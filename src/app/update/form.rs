//! What each action does on the form of a cluster or a model.

use crate::app::action::{Action, Command};
use crate::app::cursor::ListCursor;
use crate::app::form::Form;
use crate::app::layer::Layer;
use crate::app::resolve::resolve;
use crate::app::state::App;
use crate::presets::{Kind, Library, Warning};
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Field, Scenario};

impl App {
    /// Opens the form of the cluster, or of the model where its field has the keys.
    pub(crate) fn open_form(&mut self) {
        let kind = if self.inputs.field() == Some(Field::Model) { Kind::Model } else { Kind::Cluster };
        match Form::of(kind, &self.scenario, &self.library) {
            Ok(form) => self.layer = Some(Layer::Form(Box::new(form))),
            Err(why) => self.tell(why),
        }
    }

    pub(crate) fn on_form(&mut self, mut form: Box<Form>, action: Action) -> Vec<Command> {
        let mut commands = Vec::new();
        match (form.typing.is_some(), action) {
            (true, Action::Take) => form.take(&self.library),
            (true, Action::Close) => form.typing = None,
            (true, Action::Type(request)) => form.type_in(request),
            (false, Action::Take) => form.start_typing(),
            (false, Action::Save) => match form.wrong() {
                // It stays until the file is there: nothing that was typed is lost.
                None => commands.push(Command::SavePreset(form.draft.saving())),
                Some(row) => {
                    form.cursor = row;
                    self.tell("not saved: a field is wrong, the reason is shown with it".to_owned());
                }
            },
            (false, Action::Close) if form.warned || !form.is_changed() => return commands,
            (false, Action::Close) => {
                form.warned = true;
                self.tell("not saved yet: s saves, Esc again discards it".to_owned());
            }
            _ => {
                let mut cursor = ListCursor::at(form.cursor);
                cursor.go(action, form.rows.len(), self.page);
                form.cursor = cursor.row(form.rows.len());
            }
        }
        self.layer = Some(Layer::Form(form));
        commands
    }

    /// A form was saved: the scenario switches to it.
    pub(crate) fn saved(&mut self, library: Library, kind: Kind, id: &str, path: &str) -> Vec<Command> {
        self.library = std::sync::Arc::new(library);
        self.layer.take_if(|layer| matches!(layer, Layer::Form(_)));
        let (mut file, mut scenario) = (self.file.clone(), self.scenario.clone());
        if kind == Kind::Cluster {
            id.clone_into(&mut file.cluster);
            scenario.cluster = self.library.cluster(id).unwrap_or(scenario.cluster);
        } else {
            id.clone_into(&mut file.model);
            scenario.model = self.library.model(id).unwrap_or(scenario.model);
        }
        (file.name, file.about, file.published) = (None, None, None);
        let commands = self.switch(file, &scenario);
        self.inputs.mark(Field::all().filter(|field| Kind::from_field(*field) == Some(kind)));
        if self.notice.is_none() {
            self.tell(format!("saved to {path}; u goes back to what it was"));
        }
        commands
    }

    /// The presets were read again: what the scenario has of them follows.
    pub(crate) fn reloaded(&mut self, library: Library, warnings: &[Warning]) -> Vec<Command> {
        let old = std::mem::replace(&mut self.library, std::sync::Arc::new(library));
        let mut scenario = self.scenario.clone();
        macro_rules! follow {
            ($fact:ident) => {
                let id = &scenario.$fact.id;
                if old.$fact(id).is_ok_and(|known| known == scenario.$fact) {
                    scenario.$fact = self.library.$fact(id).unwrap_or(scenario.$fact);
                }
            };
        }
        follow!(cluster);
        follow!(stack);
        follow!(calibration);
        follow!(model);
        let changed = self.library.difference(&old);
        let commands = self.switch(self.file.clone(), &scenario);
        if self.notice.is_none() {
            self.tell(match warnings {
                [] if changed == 0 => "presets reloaded: nothing has changed".to_owned(),
                [] => format!("presets reloaded: {changed} changed"),
                [first] => format!("{first}; the old version stays in use"),
                [first, more @ ..] => {
                    format!("{first}; {} more wrong; the old versions stay in use", more.len())
                }
            });
        }
        commands
    }

    /// The file with other facts becomes the scenario, if it can be; else what was there stays.
    fn switch(&mut self, file: ScenarioFile, facts: &Scenario) -> Vec<Command> {
        match resolve(&self.library, &file, facts) {
            Ok(scenario) if file == self.file && scenario == self.scenario => Vec::new(),
            Ok(scenario) => self.adopt(file, scenario),
            Err(problems) => {
                self.notice = problems.first().map(|problem| format!("the scenario stays as it was: {problem}"));
                Vec::new()
            }
        }
    }
}
