//! Imports other tools' files, for the command line and the explorer: opens them, detects their kind and returns their
//! content. [`super::content`] has the table of kinds; each format has its own module.

mod kinds;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;

use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::Library;
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::text::printable;
use shardscope_library::disk::{InputKind, OpenInput};
use shardscope_library::text::shell::ShellCode;

use super::content::ForeignKind;
use super::huggingface::{self, CountedModel, Families, ImportOptions};
use super::kineto::{self, TraceComparison};
use super::nccl::MeasuredLinks;
use super::out_of_memory::OutOfMemory;
use super::plans::{self, ImportedPlan};
use super::report::{ImportReport, Imported};
use super::runs::RunRows;
use super::topology::{FoundMachine, SINFO};

/// Options that supply what a machine's files leave out.
const LACKED: [&str; 2] = ["device", "rate"];

/// The file name of standard input.
pub const STANDARD_INPUT: &str = "-";

/// Opens a file to be read as a kind of input.
pub type OpenFile<'a> = &'a dyn Fn(&Path, InputKind) -> io::Result<OpenInput>;

/// Arguments of an import: its files and options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportWords {
    /// The files, in the order given.
    pub files: Vec<PathBuf>,
    /// Options without their dashes, each with its value.
    pub options: Vec<(String, String)>,
}

/// The content of other tools' files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Foreign {
    /// A model.
    Model(CountedModel),
    /// A cluster with its links as measured.
    Links(MeasuredLinks),
    /// Rows of measured runs.
    Run(RunRows),
    /// A scenario.
    Plan(Box<ImportedPlan>),
    /// A cluster.
    Cluster(FoundMachine),
    /// A message that memory ran out.
    OutOfMemory(OutOfMemory),
    /// A recorded step.
    Trace(TraceComparison),
}

/// Why files could not be imported.
#[derive(Debug)]
pub enum ImportError {
    /// A file, by its name in messages, cannot be read.
    Unreadable(String, io::Error),
    /// The files or the options are refused.
    Refused(Vec<Problem>),
}

/// Opened files, before their import.
pub struct ForeignFiles {
    kind: Option<ForeignKind>,
    paths: Vec<PathBuf>,
    content: OpenedContent,
}

enum OpenedContent {
    /// A trace is read as a stream, since it may be far larger than any text.
    Trace(OpenInput),
    /// Names of the files in messages, and their texts.
    Texts(Vec<(String, String)>),
}

/// What an import may read beside the files.
#[derive(Clone, Copy)]
pub struct ImportContext<'a> {
    /// Presets that files and options may name.
    pub library: &'a Library,
    /// The current scenario, for facts that neither files nor options state; `None` on the command line.
    pub current: Option<&'a Scenario>,
    /// Opens files that options name.
    pub open: OpenFile<'a>,
}

impl ImportError {
    /// One line per mistake.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Unreadable(name, error) => vec![format!("cannot read {name}: {error}")],
            Self::Refused(problems) => problems.iter().map(ToString::to_string).collect(),
        }
    }

    /// The option that would supply what the files lack, if they are refused for that.
    pub fn lacks(&self) -> Option<&'static str> {
        let Self::Refused(problems) = self else { return None };
        let named = |option: &&str| problems.iter().any(|problem| problem.field.starts_with(&format!("--{option}")));
        LACKED.into_iter().find(named)
    }

    /// Refuses an option's value.
    fn option(name: &str, what: impl std::fmt::Display, fix: impl std::fmt::Display) -> Self {
        Self::Refused(vec![Problem::new(format!("--{name}"), what, fix)])
    }
}

impl From<Vec<Problem>> for ImportError {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Refused(problems)
    }
}

impl From<Problem> for ImportError {
    fn from(problem: Problem) -> Self {
        Self::Refused(vec![problem])
    }
}

/// A file's name in messages.
pub fn name_of(file: &Path) -> String {
    if file == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { printable(&file.display().to_string()) }
}

/// True if the value of `--model` names a file, not a preset.
pub fn is_model_file(name: &str) -> bool {
    name.contains('/')
        || Path::new(name).extension().is_some_and(|extension| extension == "json" || extension == "toml")
}

/// True if the value of `--hardware` names a file, not a preset.
pub fn is_cluster_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// Reads a model from another tool's file, or from shardscope's own TOML, with an id that no preset has.
pub fn read_model(file: &Path, library: &Library, open: OpenFile<'_>) -> Result<Imported<CountedModel>, ImportError> {
    if file.extension().is_some_and(|extension| extension == "toml") {
        let (name, text) = read_text(file, InputKind::Preset, open)?;
        let model = library.model_from(&text).map_err(|error| Problem::new("", error.in_file(&name), ""))?;
        let made = CountedModel { parameters: model.parameters(), active_parameters: model.active_parameters(), model };
        return Ok(Imported { made, report: ImportReport::default() });
    }
    let (name, text) = read_text(file, InputKind::ModelConfiguration, open)?;
    let families = Families::of_library(library)?;
    huggingface::model(&text, &families, ImportOptions { file: &name, name: None, like: None })
        .map_err(|error| within(&name, vec![error]))
}

/// Reads a cluster from shardscope's own TOML, with an id that no preset has.
pub fn read_cluster(file: &Path, library: &Library, open: OpenFile<'_>) -> Result<Cluster, ImportError> {
    let (name, text) = read_text(file, InputKind::Preset, open)?;
    library.cluster_from(&text).map_err(|error| Problem::new("", error.in_file(&name), "").into())
}

fn read_text(file: &Path, kind: InputKind, open: OpenFile<'_>) -> Result<(String, String), ImportError> {
    let text = open(file, kind).and_then(OpenInput::text).map_err(|error| unreadable(file, error))?;
    Ok((name_of(file), text))
}

fn unreadable(file: &Path, error: io::Error) -> ImportError {
    ImportError::Unreadable(name_of(file), error)
}

fn nothing_named() -> ImportError {
    let fix = "write a file, or its kind and a file: `shardscope import model config.json`";
    Problem::new("import", "no file is named", fix).into()
}

/// Prefixes problems with the file's name.
fn within(file: &str, problems: Vec<Problem>) -> ImportError {
    let place = |problem: &Problem| match problem.field.as_str() {
        "" => file.to_owned(),
        field => format!("{file}: {field}"),
    };
    let named = |problem: Problem| Problem { field: place(&problem), ..problem };
    ImportError::Refused(problems.into_iter().map(named).collect())
}

impl ForeignFiles {
    /// Opens files as the given kind, or detects the kind from the first one's content.
    pub fn open(kind: Option<ForeignKind>, files: &[PathBuf], open: OpenFile<'_>) -> Result<Self, ImportError> {
        let Some((first, more)) = files.split_first() else {
            return Err(nothing_named());
        };
        let as_input = kind.map_or(InputKind::Foreign, |kind| kind.spec().input);
        let unread = |error| unreadable(first, error);
        let mut input = open(first, as_input).map_err(unread)?;
        let is_trace = match kind {
            Some(kind) => kind == ForeignKind::Trace,
            None => kineto::is_trace(input.head(kineto::HEAD).map_err(unread)?),
        };
        let paths = files.to_vec();
        if is_trace {
            let content = OpenedContent::Trace(input.known_as(InputKind::Trace));
            return Ok(Self { kind: Some(ForeignKind::Trace), paths, content });
        }
        let text = |input: OpenInput| match kind {
            // A byte that is not UTF-8 must not hide the rest of a log.
            Some(ForeignKind::Run) => input.bytes().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            _ => input.text(),
        };
        let mut texts = vec![(name_of(first), text(input).map_err(unread)?)];
        for file in more {
            let opened = open(file, as_input).and_then(text).map_err(|error| unreadable(file, error))?;
            texts.push((name_of(file), opened));
        }
        let kind = kind.or_else(|| ForeignKind::recognise(&texts[0].0, &texts[0].1));
        let mut files = Self { kind, paths, content: OpenedContent::Texts(texts) };
        if kind == Some(ForeignKind::Plan) {
            files.open_referred(open)?;
        }
        Ok(files)
    }

    /// Opens the file that a single launcher's configuration refers to, if it lies beside it.
    fn open_referred(&mut self, open: OpenFile<'_>) -> Result<(), ImportError> {
        let ([file], OpenedContent::Texts(texts)) = (&self.paths[..], &mut self.content) else { return Ok(()) };
        let Some(beside) = plans::referred(&texts[0].1).map(|name| file.with_file_name(name)) else { return Ok(()) };
        match open(&beside, InputKind::Launcher).and_then(OpenInput::text) {
            Ok(text) => {
                texts.push((name_of(&beside), text));
                self.paths.push(beside);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&beside, error)),
        }
        Ok(())
    }

    /// The kind given or detected.
    pub fn kind(&self) -> Option<ForeignKind> {
        self.kind
    }

    /// All files that were read, including one that another refers to.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The first file's name and text, unless it is a trace.
    pub fn first_text(&self) -> Option<(&str, &str)> {
        match &self.content {
            OpenedContent::Trace(_) => None,
            OpenedContent::Texts(texts) => texts.first().map(|(name, text)| (name.as_str(), text.as_str())),
        }
    }

    /// Imports the files with the given options.
    pub fn import(
        self,
        options: &[(String, String)],
        context: ImportContext<'_>,
    ) -> Result<Imported<Foreign>, ImportError> {
        let name = self.paths.first().map_or_else(String::new, |file| name_of(file));
        let Some(kind) = self.kind else {
            let names = ForeignKind::ALL.map(|kind| kind.spec().name).join(", ");
            let words = ForeignKind::ALL.map(|kind| kind.spec().word).join(", ");
            let fix = format!(
                "name one that is {names}; or say what it is: `shardscope import KIND FILE` with KIND {words}; a cluster's \
                 nodes are printed by {SINFO}"
            );
            return Err(Problem::new(name, "is no file whose content is known", fix).into());
        };
        let import = kinds::Import { kind, options, context };
        import.check_options()?;
        match self.content {
            OpenedContent::Trace(input) => {
                let recording = kineto::read(input.stream()).map_err(|error| ImportError::Unreadable(name, error))?;
                Ok(TraceComparison::new(recording, context.current)?.map(Foreign::Trace))
            }
            OpenedContent::Texts(texts) => {
                for (name, text) in &texts {
                    let check = kind.spec().input.check(text);
                    check.map_err(|error| ImportError::Unreadable(name.clone(), error))?;
                }
                import.read(&texts)
            }
        }
    }
}

impl Foreign {
    /// The result as shardscope's own file.
    pub fn to_file(&self) -> Result<String, toml::ser::Error> {
        Ok(match self {
            Self::Model(counted) => format!("# {}\n{}", counted.model.counts(), counted.to_toml()?),
            Self::Links(links) => links.to_toml()?,
            Self::Run(rows) => rows.to_csv(),
            Self::Plan(plan) => plan.scenario.to_toml()?,
            Self::Cluster(machine) => machine.to_toml()?,
            Self::OutOfMemory(message) => message.text(),
            Self::Trace(comparison) => comparison.text(),
        })
    }

    /// The command line to run next; `words` are the import's arguments, `out` the file that holds the result.
    pub fn next_command(&self, words: &ImportWords, out: Option<&Path>) -> Option<String> {
        let here = |file: &Path| Path::new(".").join(file).display().to_string();
        let first = words.files.first().filter(|file| *file != Path::new(STANDARD_INPUT));
        let (line, unsaved) =
            (ShellCode::default(), if matches!(self, Self::Run(_)) { "rows.csv" } else { "FILE.toml" });
        let saved = here(out.unwrap_or(Path::new(unsaved)));
        let line = match self {
            // A model imported with `--like` is complete only in `out`.
            Self::Model(_) => {
                let alike = words.options.iter().any(|(option, _)| option == "like");
                let file = out.or(first.map(PathBuf::as_path).filter(|_| !alike))?;
                return line.code("shardscope eval --model ").word(here(file)).line().ok();
            }
            Self::OutOfMemory(_) if !words.options.is_empty() => return None,
            Self::OutOfMemory(_) => {
                let line = line.code("shardscope import oom ").word(here(first?));
                return line.code(" --model ID --hardware ID --nodes N").line().ok();
            }
            Self::Trace(comparison) if comparison.simulated.is_some() => return None,
            Self::Trace(_) => {
                let line = line.code("shardscope import trace ").word(here(first?));
                return line.code(" --model ID --hardware ID --nodes N").line().ok();
            }
            Self::Run(rows) if !rows.missing_options().is_empty() => {
                return import_again(words, &rows.missing_options());
            }
            Self::Run(_) => line.code("shardscope validate "),
            Self::Plan(_) => line.code("shardscope eval "),
            Self::Links(_) | Self::Cluster(_) => line.code("shardscope eval --hardware "),
        };
        let line = line.word(saved).line().ok()?;
        Some(if out.is_some() { line } else { format!("{line}   (save it first: --out {unsaved})") })
    }
}

/// The command line that repeats an import of runs, with examples of the missing options.
fn import_again(words: &ImportWords, more: &[(&str, String)]) -> Option<String> {
    let line = ShellCode::default().code("shardscope import run");
    let line = words.files.iter().fold(line, |line, file| line.code(" ").word(file.display()));
    let given = words.options.iter().map(|(option, value)| (option.as_str(), value));
    let options = given.chain(more.iter().map(|(option, value)| (*option, value)));
    let line = options.fold(line, |line, (option, value)| line.option(option, value)).line().ok()?;
    Some(format!("{line}   (with the run's own values)"))
}
