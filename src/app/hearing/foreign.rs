//! What the explorer makes of other tools' files: those that it asked to read, and those that it asked to write.

use std::path::PathBuf;

use crate::app::action::Command;
use crate::app::answers::COMPUTING;
use crate::app::effect::Opening;
use crate::app::exporting::{ExportForm, ExportOutcome, ExportQuestion};
use crate::app::importing::{ImportChange, ImportQuestion, ImportWords, ImportedFile};
use crate::app::layer::Layer;
use crate::app::page::Page;
use crate::app::state::App;

impl App {
    /// Has files read that are named on a line, and taken in.
    pub(crate) fn import(&mut self, line: &str) -> Vec<Command> {
        let words = match ImportWords::read(line) {
            Ok(words) => words,
            Err(why) => {
                self.tell(why);
                return Vec::new();
            }
        };
        self.tell(format!("reading {line}"));
        let question = ImportQuestion { words, file: self.file.clone(), scenario: self.scenario.clone() };
        vec![Command::Import(Box::new(question))]
    }

    /// Files were read: the scenario in hand is what they make of it, and a page says what was taken.
    pub(crate) fn imported(&mut self, result: Result<Box<ImportedFile>, Vec<String>>, path: &str) -> Vec<Command> {
        let ImportedFile { kind, change, report } = match result {
            Ok(imported) => *imported,
            Err(why) => {
                self.open_page(format!("{path} was not taken in"), &why.join("\n"));
                return Vec::new();
            }
        };
        let commands = match change {
            ImportChange::Opened(opened) => return self.opened(*opened, path),
            ImportChange::Scenario(file, scenario, step) => {
                let commands = self.adopt(*file, *scenario);
                self.tell(match step {
                    Some(step) => format!("{path} is {kind}: a step took {step}; u takes it back"),
                    None => format!("{path} is {kind}, taken in; u takes it back"),
                });
                commands
            }
            ImportChange::Measured(step) => {
                self.tell(format!("{path} is {kind}: a step took {step}"));
                Vec::new()
            }
            ImportChange::Nothing => Vec::new(),
        };
        if !report.is_empty() {
            self.open_page(format!("{path} is {kind}"), &report);
        }
        commands
    }

    /// Has the plan of the scenario shown written for another tool.
    pub(crate) fn export_plan(&mut self, form: ExportForm, folder: PathBuf, replacing: bool) -> Vec<Command> {
        let Ok(scenario) = self.shown.clone() else {
            self.tell("not possible, so there is nothing to export".to_owned());
            return Vec::new();
        };
        // A job asks for as much time as the training takes.
        let summary = self.answer.as_ref().filter(|_| !self.stale).map(|answer| answer.evaluation.summary);
        let Some(summary) = summary else {
            self.tell(format!("{COMPUTING}: export when the figures are there"));
            return Vec::new();
        };
        let time = scenario.plan.tokens.map(|tokens| summary.training_time(tokens));
        self.tell("exporting".to_owned());
        vec![Command::ExportPlan(Box::new(ExportQuestion { form, folder, replacing, scenario, time }))]
    }

    /// A plan was written, or not.
    pub(crate) fn plan_exported(&mut self, question: &ExportQuestion, outcome: ExportOutcome) -> Vec<Command> {
        let name = question.form.name();
        match outcome {
            ExportOutcome::Taken(path) => {
                return self.open(Opening::ExportOver(question.form, question.folder.clone(), path));
            }
            ExportOutcome::Refused(why) => {
                self.open_page(format!("{name} cannot take this plan"), &why.join("\n"));
            }
            ExportOutcome::Written(files, notes) => {
                let left_out = match &notes[..] {
                    [] => "It says the whole plan.".to_owned(),
                    notes => format!("Not as planned:\n  {}", notes.join("\n  ")),
                };
                self.tell(format!("exported to {}", files.join(", ")));
                self.open_page("Exported".to_owned(), &format!("{}\n\n{left_out}", files.join("\n")));
            }
        }
        Vec::new()
    }

    fn open_page(&mut self, title: String, text: &str) {
        self.layer = Some(Layer::Page(Page::new(title, text)));
    }
}
