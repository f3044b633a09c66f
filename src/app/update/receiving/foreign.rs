//! Transfers of other tools' files: started, followed, stopped, and their outcome.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::action::effect::Opening;
use crate::app::action::notice::FIGURES_LATER;
use crate::app::action::{Command, JobReport};
use crate::app::answers::own_run::OwnRun;
use crate::app::layer::Layer;
use crate::app::layer::list::List;
use crate::app::layer::page::TextPage;
use crate::app::layer::typing::{Entry, Purpose};
use crate::app::state::App;
use crate::app::transfer::exporting::{ExportConsent, ExportOutcome, ExportQuestion};
use crate::app::transfer::importing::{
    Completion, ImportChange, ImportQuestion, ImportRefusal, ImportedFile, read_words,
};
use crate::app::transfer::{FileTransfer, Transferred, Underway};
use crate::app::views::measured;
use shardscope_engine::search::OwnFigure;
use shardscope_engine::stack::Calibration;
use shardscope_engine::text::printable;
use shardscope_interop::export::ExportForm;
use shardscope_interop::import::ImportWords;
use shardscope_interop::out_of_memory;

impl App {
    /// Has files read that are named on a line, and taken in. The line is kept for `O`, which may add what was missing.
    pub(crate) fn import(&mut self, line: &str) -> Vec<Command> {
        line.clone_into(&mut self.import_line);
        let words = match read_words(line) {
            Ok(words) => words,
            Err(why) => {
                self.tell(why);
                return Vec::new();
            }
        };
        self.import_files(words)
    }

    /// Has files read and taken in.
    pub(crate) fn import_files(&mut self, words: ImportWords) -> Vec<Command> {
        let question = ImportQuestion { words, file: self.file.clone(), scenario: self.scenario.clone() };
        self.transfer(FileTransfer::Import(Box::new(question)))
    }

    /// Files were read: the scenario in hand is what they make of it, and a page says what was taken.
    pub(crate) fn take_imported(
        &mut self,
        result: Result<Box<ImportedFile>, Box<ImportRefusal>>,
        path: &str,
    ) -> Vec<Command> {
        let ImportedFile { kind, change, report } = match result {
            Ok(imported) => *imported,
            Err(refusal) => {
                let ImportRefusal { why, lacks, words } = *refusal;
                if let Some(option) = lacks {
                    let why = why.join("; ");
                    self.layer = Some(Layer::List(List::of_answers(&words, option, &why, &self.library)));
                    self.tell(why);
                    return Vec::new();
                }
                let more = "Esc, then O and the up arrow: the same line, to add what is missing behind the path.";
                self.open_page(format!("{path} could not be imported"), &format!("{}\n\n{more}", why.join("\n")));
                return Vec::new();
            }
        };
        let commands = match change {
            ImportChange::Opened(opened) => return self.take_opened(*opened, path),
            ImportChange::Scenario(file, scenario, step) => {
                let mut commands = self.adopt(*file, *scenario);
                commands.extend(step.map(|step| self.measure_run(OwnFigure::StepTime(step))).into_iter().flatten());
                self.tell(format!("imported {path} as {kind}; u undoes it"));
                commands
            }
            ImportChange::Measured(figure) => self.measure_run(figure),
            ImportChange::Nothing => Vec::new(),
        };
        if !report.is_empty() {
            self.open_page(format!("{path} is {kind}"), &report);
        }
        commands
    }

    /// Takes the measured step time of the scenario shown, as it was typed.
    pub(crate) fn measure(&mut self, text: &str) -> Vec<Command> {
        if text.is_empty() {
            let Some(run) = self.inputs.measured.take() else { return Vec::new() };
            let before = run.before(&self.scenario);
            let mut commands = self.record(None, |app| app.turn_to(before));
            commands.extend(self.ask_view());
            return commands;
        }
        // A terminal without bracketed paste types what is pasted.
        let message = out_of_memory::read(text).map(|message| message.made.figure());
        match message.or_else(|_| text.parse()) {
            Ok(figure) => self.measure_run(figure),
            // A file's name says more than any figure.
            Err(_) if !text.starts_with(|first: char| first.is_ascii_digit()) && text.contains(['.', '/']) => {
                self.import(text)
            }
            Err(why) => {
                // The line stays, to be corrected: what is typed next would be taken for keys.
                self.layer = Some(Layer::Entry(Entry::continued(Purpose::OwnFigure, text.to_owned())));
                self.tell(why);
                Vec::new()
            }
        }
    }

    /// The scenario shown was run, and this was measured of it: a view shows what that says.
    pub(crate) fn measure_run(&mut self, figure: OwnFigure) -> Vec<Command> {
        let Ok(scenario) = self.shown.as_deref().cloned() else {
            self.tell("not possible, so it cannot have run".to_owned());
            return Vec::new();
        };
        // One run counts: another one, or another figure of the same, begins where that one did.
        let scenario = self.inputs.measured.as_ref().map_or_else(|| scenario.clone(), |run| run.before(&scenario));
        self.inputs.measured = Some(Arc::new(OwnRun { scenario, figure }));
        self.open_view(measured::SPEC.id)
    }

    /// Calibrates the scenario shown to a measured run.
    pub(crate) fn calibrate(&mut self, learned: Calibration) -> Vec<Command> {
        let run = self.inputs.measured.clone().filter(|_| self.inputs.are_possible());
        let Some(scenario) = run.and_then(|run| run.after(&self.scenario, learned)) else { return Vec::new() };
        self.tell("what is shown is calibrated to your run; u, or an empty line in its field, undoes it".to_owned());
        self.record(None, |app| app.turn_to(scenario))
    }

    /// Has the plan of the scenario shown written for another tool.
    pub(crate) fn export_plan(&mut self, form: ExportForm, folder: PathBuf, consent: ExportConsent) -> Vec<Command> {
        let Ok(scenario) = self.shown.as_deref().cloned() else {
            self.tell("not possible, so there is nothing to export".to_owned());
            return Vec::new();
        };
        // A job asks for as much time as the training takes.
        let summary = self.answer.as_ref().filter(|_| !self.stale).map(|answer| answer.evaluation.summary);
        let Some(summary) = summary else {
            self.tell(FIGURES_LATER);
            return Vec::new();
        };
        let time = scenario.plan.length().map(|tokens| summary.training_time(tokens));
        let question = ExportQuestion { form, folder, consent, scenario, time };
        self.transfer(FileTransfer::Export(Box::new(question)))
    }

    /// A plan was written, or not.
    pub(crate) fn take_exported(&mut self, question: &ExportQuestion, outcome: ExportOutcome) -> Vec<Command> {
        let name = question.form.name();
        match outcome {
            ExportOutcome::Taken(path) => {
                let (form, folder) = (question.form, question.folder.clone());
                return self.open(Opening::ExportOver(form, folder, question.consent, path));
            }
            ExportOutcome::Lacking(lacks, nearest) => {
                let (form, folder) = (question.form, question.folder.clone());
                return self.open(Opening::ExportNearest(form, folder, question.consent, [lacks.join("; "), nearest]));
            }
            ExportOutcome::Refused(why) => {
                self.open_page(format!("{name} cannot take this plan"), &why.join("\n"));
            }
            ExportOutcome::Written(files, notes) => {
                let left_out = match &notes[..] {
                    [] => "The tool does all of it as planned.".to_owned(),
                    notes => format!("Not as planned:\n  {}", notes.join("\n  ")),
                };
                self.tell(format!("exported to {}", files.join(", ")));
                self.open_page("Exported".to_owned(), &format!("{}\n\n{left_out}", files.join("\n")));
            }
        }
        Vec::new()
    }

    /// The line that is being typed goes on as far as its files do; where there are several, they are named.
    pub(crate) fn take_completion(&mut self, typed: &str, completion: Completion) {
        let Some(Layer::Entry(entry)) = &mut self.layer else { return };
        if entry.purpose != Purpose::ImportPath || entry.line.input.value() != typed {
            return;
        }
        let Completion { line, names } = completion;
        let goes_on = line != typed;
        entry.line.go_on(line);
        match &names[..] {
            [] => self.tell("no file begins like that"),
            [_, _, ..] if !goes_on => self.tell(printable(&names.join("  "))),
            _ => {}
        }
    }

    fn open_page(&mut self, title: String, text: &str) {
        self.layer = Some(Layer::Page(TextPage::new(title, text)));
    }
}

impl App {
    /// Has files read or written that take their time; one after the other, so that Esc says which it stops.
    pub(crate) fn transfer(&mut self, transfer: FileTransfer) -> Vec<Command> {
        if let Some(underway) = &self.underway {
            self.tell(format!("not yet: still {}", underway.said()));
            return Vec::new();
        }
        self.transfers += 1;
        let number = self.transfers;
        self.underway = Some(Underway { number, name: transfer.name(), so_far: None });
        vec![Command::Transfer { number, transfer }]
    }

    /// Nobody waits for them any more: what is still told of them carries an old number.
    pub(crate) fn stop_transfer(&mut self) -> Vec<Command> {
        let Some(underway) = self.underway.take() else { return Vec::new() };
        self.tell(format!("stopped {}", underway.name));
        vec![Command::StopTransfer]
    }

    /// They are so far.
    pub(crate) fn take_progress(&mut self, number: u64, so_far: Transferred) {
        if let Some(underway) = self.underway.as_mut().filter(|underway| underway.number == number) {
            underway.so_far = Some(so_far);
        }
    }

    /// They are done, or it is said why not.
    pub(crate) fn take_transferred(&mut self, number: u64, report: JobReport) -> Vec<Command> {
        match self.underway.take_if(|underway| underway.number == number) {
            Some(_) => self.take_in(report),
            None => Vec::new(),
        }
    }
}
