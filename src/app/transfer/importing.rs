//! The import of files into the explorer: the line that names them, and the scenario in hand with their content. Other
//! tools' files are read by [`shardscope_interop::import`], as for `shardscope import`; shardscope's own may lie
//! anywhere.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::{self, ScenarioFile, Source};
use shardscope_engine::scenario::{CheckedScenario, Field, Problem, Scenario, Value};
use shardscope_engine::search::OwnFigure;
use shardscope_engine::units::Seconds;
use shardscope_evidence::measured::{self, MeasuredRow};
use shardscope_interop::import::{Foreign, ForeignFiles, ImportContext, ImportError, ImportWords, name_of};
use shardscope_interop::report::Imported;
use shardscope_interop::runs::RunRows;
use shardscope_library::disk::{self, InputKind, OpenInput, Watch};
use shardscope_report::snapshot::{self, Opened};

use crate::app::answers::resolve;

/// Files to import over the scenario in hand.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportQuestion {
    /// The files, and the options beside them.
    pub words: ImportWords,
    /// The scenario in hand as its file has it.
    pub file: ScenarioFile,
    /// The scenario in hand.
    pub scenario: Scenario,
}

/// Why an import was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportRefusal {
    /// A line for each mistake.
    pub why: Vec<String>,
    /// The option that would say what the files leave open.
    pub lacks: Option<&'static str>,
    /// The words of the import.
    pub words: ImportWords,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFile {
    /// Its kind in a sentence: `a model's configuration`.
    pub kind: &'static str,
    /// The change to the scenario in hand.
    pub change: ImportChange,
    /// Values taken, assumed and ignored.
    pub report: String,
}

/// The change that an import makes to the scenario in hand.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportChange {
    /// Another scenario; a run that was measured brings the seconds of its step.
    Scenario(Box<ScenarioFile>, Box<CheckedScenario>, Option<Seconds>),
    /// The content of a file of shardscope's own.
    Opened(Box<Opened>),
    /// No other scenario, but a measured figure of this one.
    Measured(OwnFigure),
    /// No change.
    Nothing,
}

impl ImportQuestion {
    /// Reads and imports the files.
    pub fn answer(&self, library: &Library, watch: &Watch) -> Result<ImportedFile, ImportRefusal> {
        let open = |file: &Path, kind: InputKind| OpenInput::open_watched(file, kind, watch);
        let words = || self.words.clone();
        let refused = |error: ImportError| ImportRefusal { why: error.lines(), lacks: error.lacks(), words: words() };
        let files = ForeignFiles::open(None, &self.words.files, &open).map_err(refused)?;
        let kind = files.kind();
        let context = ImportContext { library, current: Some(&self.scenario), open: &open };
        let imported = match files.first_text().and_then(|(name, text)| self.open_own(name, text, library)) {
            Some(own) => return own.map_err(|why| ImportRefusal { why, lacks: None, words: words() }),
            None => files.import(&self.words.options, context).map_err(refused)?,
        };
        let taken = self.take(kind.map_or("", |kind| kind.spec().name), imported, library);
        taken.map_err(|why| ImportRefusal { why, lacks: None, words: words() })
    }

    /// The change that imported files make.
    fn take(
        &self,
        kind: &'static str,
        imported: Imported<Foreign>,
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        let report = imported.report.text();
        let (head, change) = match imported.made {
            Foreign::Model(counted) => {
                let head = format!("{}\n", counted.model.counts());
                let mut model = counted.model;
                model.id = library.new_id(Kind::Model, &model.name);
                let mut file = ScenarioFile { model: model.id.clone(), shape: None, ..self.unpublished() };
                let sample = library.scenario_text("default").ok().and_then(|text| file::parse(&text.text).ok());
                if sample.is_some_and(|sample| sample.value(Field::Tokens) == file.value(Field::Tokens)) {
                    // How long the sample's model trains says nothing of another one.
                    file.put(Field::Tokens, None);
                }
                let facts = Scenario { model: Arc::new(model), ..self.scenario.clone() };
                (head, switch(file, &facts, library)?)
            }
            Foreign::Links(links) => (String::new(), self.switch_cluster(links.cluster, None, library)?),
            Foreign::Cluster(machine) => {
                // All nodes that a job may have, where the plan can have them.
                let limit = machine.cluster.queue.as_ref().and_then(|queue| queue.nodes);
                let nodes = machine.cluster.nodes.map(|nodes| limit.map_or(nodes, |limit| nodes.min(limit)));
                let whole = self.switch_cluster(machine.cluster.clone(), nodes, library);
                (String::new(), whole.or_else(|_| self.switch_cluster(machine.cluster, None, library))?)
            }
            Foreign::Plan(plan) => {
                let resolved = library.resolve(&plan.scenario).and_then(Scenario::into_checked);
                let scenario = resolved.map_err(|problems| lines(&problems))?;
                let file = Box::new(plan.scenario);
                (String::new(), ImportChange::Scenario(file, Box::new(scenario), None))
            }
            Foreign::Run(rows) => self.adopt_run(&rows, library)?,
            Foreign::OutOfMemory(message) => (message.text(), ImportChange::Measured(message.figure())),
            Foreign::Trace(comparison) => (format!("{}\n", comparison.text()), ImportChange::Nothing),
        };
        Ok(ImportedFile { kind, change, report: head + &report })
    }

    /// Opens a file of shardscope's own; none where the text is another tool's.
    fn open_own(&self, name: &str, text: &str, library: &Library) -> Option<Result<ImportedFile, Vec<String>>> {
        let source = Source::new(text).ok()?;
        let opened = |kind, change| Ok(ImportedFile { kind, change, report: String::new() });
        // A preset of a cluster has no `kind`, as snapshots and sets have: its required keys tell.
        if source.has("levels") && source.has("device") {
            let cluster = library.cluster_from(text).map_err(|error| vec![error.in_file(name).to_string()]);
            let change = cluster.and_then(|cluster| self.switch_cluster(cluster, None, library));
            return Some(change.and_then(|change| opened("a cluster", change)));
        }
        if source.has("kind") || source.has("scenario") || source.has("cluster") && source.has("model") {
            let path = Path::new(".").join(self.words.files.first()?).display().to_string();
            let file = snapshot::open_text(&path, text, library).map_err(|error| vec![error.to_string()]);
            return Some(file.and_then(|file| opened("a scenario", ImportChange::Opened(Box::new(file)))));
        }
        None
    }

    /// The file in hand, as one that is no longer the published run that it may have been.
    fn unpublished(&self) -> ScenarioFile {
        let mut file = self.file.clone();
        file.forget_words();
        file
    }

    /// The scenario in hand on a cluster that is no preset, and on so many nodes of it.
    fn switch_cluster(
        &self,
        mut cluster: Cluster,
        nodes: Option<u32>,
        library: &Library,
    ) -> Result<ImportChange, Vec<String>> {
        cluster.id = library.new_id(Kind::Cluster, &cluster.name);
        // The machine that the file had in full is another one.
        let mut file = ScenarioFile { cluster: cluster.id.clone(), machine: None, ..self.unpublished() };
        if let Some(nodes) = nodes {
            file.put(Field::Devices, None);
            file.put(Field::Nodes, Some(Value::Count(nodes)));
        }
        let facts = Scenario { cluster: Arc::new(cluster), ..self.scenario.clone() };
        switch(file, &facts, library)
    }

    /// The scenario of a measured run, where its log says one; else its step time is compared with the one in hand.
    fn adopt_run(&self, rows: &RunRows, library: &Library) -> Result<(String, ImportChange), Vec<String>> {
        let name = self.words.files.first().map_or_else(String::new, |file| name_of(file));
        // A row of a table is judged in the same way by `validate`.
        let measured: Vec<MeasuredRow> = rows.rows.iter().map(|cells| MeasuredRow::from_cells(&name, cells)).collect();
        let (cases, unbuilt) = measured::cases(&measured, library);
        if let Some(case) = cases.first() {
            let scenario = case.scenario().clone().into_checked().map_err(|problems| lines(&problems))?;
            let (file, step) = (ScenarioFile::of(&scenario), case.step_time.map(Seconds::new));
            return Ok((String::new(), ImportChange::Scenario(Box::new(file), Box::new(scenario), step)));
        }
        let missing = rows.missing_options();
        let missing: Vec<String> = missing.iter().map(|(option, value)| format!("--{option} {value}")).collect();
        let why = match &missing[..] {
            [] => unbuilt.first().map_or_else(String::new, |skipped| with_option(&skipped.why)),
            missing => format!("the log leaves values open; add {}, with the run's own", missing.join(" ")),
        };
        let step = measured.first().and_then(|row| row.number("step_time_s").ok().flatten());
        let Some(step) = step.map(Seconds::new) else { return Err(vec![format!("{name}: {why}")]) };
        let head = format!("The log gives no scenario ({why}): its step time is compared with the scenario in hand.\n");
        Ok((head, ImportChange::Measured(OwnFigure::StepTime(step))))
    }
}

/// Why a row is no measurement, with the option that gives its column another value: `'precision' is 'half'; ...`.
fn with_option(why: &str) -> String {
    match why.split('\'').nth(1).filter(|column| measured::is_column(column)) {
        Some(column) => format!("{why}; add --set {column}=VALUE"),
        None => why.to_owned(),
    }
}

/// The scenario in hand with other facts, if it is possible with them.
fn switch(file: ScenarioFile, facts: &Scenario, library: &Library) -> Result<ImportChange, Vec<String>> {
    let scenario = resolve(library, &file, facts).map_err(|problems| lines(&problems))?;
    Ok(ImportChange::Scenario(Box::new(file), Box::new(scenario), None))
}

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Reads a line as a shell would: files, and options beside them, like `nodes.txt topo.txt --rate "400 GB/s"`.
pub fn read_words(line: &str) -> Result<ImportWords, String> {
    let mut words = shlex::split(line).ok_or("a quotation mark has no end; close it")?.into_iter();
    let mut read = ImportWords::default();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            None => read.files.push(path(&word)),
            Some(option) => {
                let (option, value) = match option.split_once('=') {
                    Some((option, value)) => (option, Some(value.to_owned())),
                    None => (option, words.next()),
                };
                let value = value.ok_or_else(|| format!("--{option} has no value; write one behind it"))?;
                read.options.push((option.to_owned(), value));
            }
        }
    }
    if read.files.is_empty() {
        return Err("no file is named; type its path".to_owned());
    }
    Ok(read)
}

/// A path as a terminal hands it over: an address of a file, or one that begins at home.
pub fn path(word: &str) -> PathBuf {
    let word = word.strip_prefix("file://").unwrap_or(word);
    let home = || Some(PathBuf::from(env::var_os("HOME")?));
    match word.strip_prefix("~/").zip(home()) {
        Some((rest, home)) => home.join(rest),
        None => word.into(),
    }
}

/// A line whose last word is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The line, as far as it is sure how it goes on.
    pub line: String,
    /// The names of files that it may go on with; one of a folder ends with a slash.
    pub names: Vec<String>,
}

/// Completes the path at the end of a line by the names of the files that there are, as a shell does.
pub fn complete(line: &str) -> Completion {
    let start = last_word(line);
    // The word as typed may be quoted; one without an end of its quotation goes on as it is.
    let word = shlex::split(&line[start..]).and_then(|words| words.into_iter().next()).unwrap_or_default();
    let (folder, typed) = word.rfind('/').map_or(("", word.as_str()), |slash| word.split_at(slash + 1));
    let there = disk::names(&path(if folder.is_empty() { "." } else { folder })).unwrap_or_default();
    // Hidden files are for those who begin with a dot.
    let begins = |name: &str| name.starts_with(typed) && (typed.starts_with('.') || !name.starts_with('.'));
    let found = there.into_iter().filter(|(name, _)| begins(name));
    let names: Vec<String> = found.map(|(name, is_folder)| if is_folder { name + "/" } else { name }).collect();
    let Some(common) = names.iter().cloned().reduce(|one, other| common(&one, &other)) else {
        return Completion { line: line.to_owned(), names };
    };
    if common == typed {
        return Completion { line: line.to_owned(), names };
    }
    let quoted = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned);
    let whole = format!("{folder}{common}");
    // Between quotes a shell leaves a tilde as it is.
    let word = whole.strip_prefix("~/").map_or_else(|| quoted(&whole), |rest| format!("~/{}", quoted(rest)));
    Completion { line: format!("{}{word}", &line[..start]), names }
}

/// Where the last word of a line begins: behind the last blank outside quotes.
fn last_word(line: &str) -> usize {
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            _ if std::mem::take(&mut escaped) => {}
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, blank) if blank.is_whitespace() => start = at + blank.len_utf8(),
            _ => {}
        }
    }
    start
}

/// The beginning that two texts have in common.
fn common(one: &str, other: &str) -> String {
    one.chars().zip(other.chars()).take_while(|(left, right)| left == right).map(|(letter, _)| letter).collect()
}

/// Whether a pasted text is paths, as a terminal pastes files that are dropped on it.
pub fn is_path(text: &str) -> bool {
    let starts = |word: &String| ["/", "./", "../", "~/", "file://"].iter().any(|start| word.starts_with(start));
    !text.trim().contains('\n')
        && shlex::split(text.trim()).is_some_and(|words| !words.is_empty() && words.iter().all(starts))
}

#[cfg(test)]
mod tests;
