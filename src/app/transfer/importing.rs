//! Other tools' files, and shardscope's own that lie anywhere, as the explorer takes them: what was asked for in words,
//! and what came of it. The content of a file says what it is, as for `import FILE` on the command line.
//!
//! Not for reading any format ([`shardscope_interop`]).

mod cluster;
mod plan;
mod run;
mod words;

use std::io;
use std::path::Path;
use std::sync::Arc;

use shardscope_engine::disk::{InputKind, OpenInput, Watch};
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::{ScenarioFile, Source};
use shardscope_engine::scenario::{CheckedScenario, Problem, Scenario};
use shardscope_engine::search::OwnFigure;
use shardscope_engine::text::printable;
use shardscope_engine::units::Seconds;
use shardscope_interop::content::ForeignKind;
use shardscope_interop::huggingface::{self, ImportOptions};
use shardscope_interop::kineto::{self, TraceComparison};
use shardscope_interop::report::ImportReport;
use shardscope_report::snapshot::{self, Opened};

use crate::app::answers::resolve::resolve;

pub use words::{ImportWords, is_path, path};

/// Files to take in, over the scenario in hand.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportQuestion {
    /// The files, and what is said beside them.
    pub words: ImportWords,
    /// The scenario in hand as its file says it.
    pub file: ScenarioFile,
    /// The scenario in hand.
    pub scenario: Scenario,
}

/// What came of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFile {
    /// What it was: `a model's configuration`.
    pub kind: &'static str,
    /// What becomes of the scenario in hand.
    pub change: ImportChange,
    /// What was taken, assumed and ignored.
    pub report: String,
}

/// What an import makes of the scenario in hand.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportChange {
    /// Another one; a run that was measured brings the seconds of its step.
    Scenario(Box<ScenarioFile>, Box<CheckedScenario>, Option<Seconds>),
    /// What a file of shardscope's own holds.
    Opened(Box<Opened>),
    /// The same one, of which this was measured.
    Measured(OwnFigure),
    /// Nothing.
    Nothing,
}

/// A file as messages name it, and its text.
type NamedText = (String, String);

impl ImportQuestion {
    /// Reads the files, and finds out what they are; else what is wrong, a line for each mistake.
    pub fn answer(&self, library: &Library, watch: &Watch) -> Result<ImportedFile, Vec<String>> {
        let Some(first) = self.words.files.first() else { return Err(vec!["no file is named".to_owned()]) };
        let unread = |file: &Path, error: io::Error| vec![format!("cannot read {}: {error}", named(file))];
        let opened =
            |file: &Path| OpenInput::open_watched(file, InputKind::Foreign, watch).map_err(|error| unread(file, error));
        let mut input = opened(first)?;
        // Before any text is read: a trace may be packed, and much longer than what is read of texts.
        if kineto::is_trace(input.head(kineto::HEAD).map_err(|error| unread(first, error))?) {
            return self.trace(first, input);
        }
        let text = input.text().map_err(|error| unread(first, error))?;
        let mut texts = vec![(named(first), text)];
        for file in &self.words.files[1..] {
            let text = opened(file)?.text().map_err(|error| unread(file, error))?;
            texts.push((named(file), text));
        }
        let (name, text) = &texts[0];
        if let Ok(source) = Source::new(text) {
            // Files of shardscope's own. A preset of a cluster has no `kind`, as snapshots and sets have: what it must say
            // gives it away.
            if source.has("levels") && source.has("device") {
                return self.own_cluster(name, text, library);
            }
            if source.has("kind") || source.has("scenario") || source.has("cluster") && source.has("model") {
                let path = Path::new(".").join(first).display().to_string();
                let opened = snapshot::open_text(&path, text, library).map_err(|error| vec![error.to_string()])?;
                return Ok(ImportedFile::new("a scenario", ImportChange::Opened(Box::new(opened)), String::new()));
            }
        }
        match ForeignKind::recognise(name, text) {
            Some(kind @ ForeignKind::Model) => self.model(kind.name(), name, text, library),
            Some(kind @ ForeignKind::Links) => self.links(kind.name(), &texts, library),
            Some(kind @ ForeignKind::Run) => self.run(kind.name(), name, text, library),
            Some(kind @ ForeignKind::OutOfMemory) => self.out_of_memory(kind.name(), name, text),
            Some(kind @ ForeignKind::Plan) => self.plan(kind.name(), first, texts, library, watch),
            Some(kind @ ForeignKind::Cluster) => self.machine(kind.name(), &texts, library),
            None => {
                let names = ForeignKind::ALL.map(ForeignKind::name).join(", ");
                Err(vec![format!("{name}: is no file whose content is known; name one that is {names}, or a scenario")])
            }
        }
    }

    fn model(
        &self,
        kind: &'static str,
        name: &str,
        text: &str,
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        if let Some(other) = self.words.others(&["like"]) {
            return Err(vec![other]);
        }
        let options = ImportOptions { file: name, name: None, like: self.words.option("like") };
        let imported = huggingface::model(text, options).map_err(|error| refused(name, &[error]))?;
        let counts = imported.made.model.counts();
        let mut model = imported.made.model;
        model.id = library.new_id(Kind::Model, &model.name);
        let mut file = self.unpublished();
        file.model.clone_from(&model.id);
        file.shape = None;
        let facts = Scenario { model: Arc::new(model), ..self.scenario.clone() };
        Self::changed(kind, file, &facts, &imported.report, &format!("{counts}\n"), library)
    }

    /// What a profiler recorded, beside the scenario in hand.
    fn trace(&self, file: &Path, input: OpenInput) -> Result<ImportedFile, Vec<String>> {
        if let Some(other) = self.words.others(&[]) {
            return Err(vec![other]);
        }
        let unread = |error| vec![format!("{}: {error}", named(file))];
        let recording = kineto::read(input.known_as(InputKind::Trace).stream()).map_err(unread)?;
        let compared = TraceComparison::new(recording, Some(&self.scenario)).map_err(|problems| lines(&problems))?;
        let text = format!("{}\n{}", compared.made.text(), compared.report.text());
        Ok(ImportedFile::new("what a profiler recorded", ImportChange::Nothing, text))
    }

    /// The file in hand, as one that is no longer the published run that it may have been.
    fn unpublished(&self) -> ScenarioFile {
        ScenarioFile { name: None, about: None, published: None, ..self.file.clone() }
    }

    /// The scenario in hand with other facts, if it can be with them.
    fn changed(
        kind: &'static str,
        file: ScenarioFile,
        facts: &Scenario,
        report: &ImportReport,
        head: &str,
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        let scenario = resolve(library, &file, facts).map_err(|problems| lines(&problems))?;
        let change = ImportChange::Scenario(Box::new(file), Box::new(scenario), None);
        Ok(ImportedFile::new(kind, change, format!("{head}{}", report.text())))
    }
}

impl ImportedFile {
    fn new(kind: &'static str, change: ImportChange, report: String) -> Self {
        Self { kind, change, report }
    }
}

/// A file as messages name it.
fn named(file: &Path) -> String {
    printable(&file.display().to_string())
}

fn refused(file: &str, errors: &[Problem]) -> Vec<String> {
    errors.iter().map(|error| format!("{file}: {error}")).collect()
}

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
