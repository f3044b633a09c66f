//! Opening a scenario: a file of either kind, or the id of a preset.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::disk;
use crate::figures::Figures;
use crate::presets::{Library, Origin, PresetFile, Unknown};
use crate::scenario::file::{self, FileError, ScenarioFile, Source, printable};
use crate::scenario::{Problem, Scenario};

use super::content::{FORMAT, KIND, Snapshot, in_scenario};
use super::set::{self, Set};

/// The largest file that is read: far above any scenario, far below what would hurt.
const MOST_BYTES: u64 = 4 << 20;

/// A scenario that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The scenario itself.
    pub scenario: Scenario,
    /// What flags and edits change; with [`Library::resolve_over`] it gives the next scenario.
    pub file: ScenarioFile,
    /// What a snapshot says came out when it was written.
    pub stored: Option<Stored>,
    /// The scenarios of a set, with their names.
    pub pins: Vec<(String, Scenario)>,
    /// What stands before the paths of the scenario's fields in the file.
    nested: &'static str,
    name: String,
    text: String,
}

/// A report of `eval`: its figures are no input.
#[derive(Deserialize)]
struct Reported {
    scenario: ScenarioFile,
}

/// The evaluation in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The version of shardscope that wrote it.
    pub version: String,
    /// What came out there: for show, beside what comes out now.
    pub figures: Figures,
}

impl Stored {
    /// Whether this very version wrote it.
    pub fn is_own(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }

    /// What is to be said of it beside what comes out now: one version finds the same figures, to the bit.
    pub fn doubt(&self, now: &Figures) -> Option<&'static str> {
        let doubt = "the evaluation in the file differs from what this same version computes: one of them was changed";
        (self.is_own() && self.figures != *now).then_some(doubt)
    }
}

/// Why a scenario could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file could not be read.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file has mistakes.
    File(FileError),
    /// No preset scenario has this id.
    Unknown(Unknown),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => {
                write!(f, "cannot read {}: {error}", printable(&path.display().to_string()))
            }
            Self::File(error) => error.fmt(f),
            Self::Unknown(unknown) => unknown.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl Opened {
    /// Problems of the scenario, at their places in the file that it came from.
    pub fn mistakes(&self, problems: &[Problem]) -> FileError {
        let nested =
            |problem: &Problem| Problem { field: format!("{}{}", self.nested, problem.field), ..problem.clone() };
        let problems: Vec<Problem> = problems.iter().map(nested).collect();
        let located = Source::new(&self.text).map(|source| source.mistakes(&problems));
        located.unwrap_or_else(|error| error).in_file(&self.name)
    }
}

/// Whether a name is that of a file: it has a `/` or ends in `.toml`.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// Opens `name`: a file by its path, else the preset scenario with this id.
pub fn open(name: &str, library: &Library) -> Result<Opened, OpenError> {
    let (name, text) = if is_path(name) {
        let text = read(Path::new(name)).map_err(|error| OpenError::Io { path: name.into(), error })?;
        (name.to_owned(), text)
    } else {
        let entry = library.scenario_text(name).map_err(OpenError::Unknown)?;
        (place(entry), entry.text.to_string())
    };
    from_text(&name, &text, library).map_err(|error| OpenError::File(error.in_file(&name)))
}

/// Where a preset's text is from.
fn place(entry: &PresetFile) -> String {
    match &entry.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Embedded => format!("preset {}", entry.id),
    }
}

/// The text of a scenario, a snapshot or a set.
pub(super) fn read(path: &Path) -> io::Result<String> {
    disk::read_text(path, MOST_BYTES)
}

fn from_text(name: &str, text: &str, library: &Library) -> Result<Opened, FileError> {
    let source = Source::new(text)?;
    opened(name, &source, text.to_owned(), library).map_err(|error| written_by(&source, error))
}

/// The same mistakes, the last with the version that wrote the file, where that is another one.
fn written_by(source: &Source, mut error: FileError) -> FileError {
    let own = env!("CARGO_PKG_VERSION");
    let version = source.text("version").filter(|version| *version != own).map(printable);
    if let (Some(version), Some(last)) = (version, error.mistakes.last_mut())
        && !last.message.contains(&version)
    {
        let way_out = format!("; shardscope {version} wrote this file, and this is {own}: open it with {version}");
        last.message.push_str(&way_out);
    }
    error
}

fn opened(name: &str, source: &Source, text: String, library: &Library) -> Result<Opened, FileError> {
    let stored =
        |snapshot: &Snapshot| Some(Stored { version: snapshot.version.clone(), figures: snapshot.evaluation.clone() });
    let mut pins = Vec::new();
    let (scenario, file, stored, nested) = match source.text("kind") {
        Some(KIND) => {
            let snapshot = Snapshot::parse(&text)?;
            let scenario = snapshot.scenario().map_err(|problems| source.mistakes(&problems))?;
            let stored = stored(&snapshot);
            (scenario, snapshot.scenario, stored, "scenario.")
        }
        Some(set::KIND) => {
            let set = Set::parse(&text)?;
            pins = set.scenarios(source)?;
            let first = set.members.into_iter().zip(&pins).next();
            let Some((member, (_, scenario))) = first else { return Err(source.mistakes(&[])) };
            let stored = stored(&member.snapshot);
            (scenario.clone(), member.snapshot.scenario, stored, "members[0].snapshot.scenario.")
        }
        None if source.has("scenario") => {
            let (Reported { scenario: file }, _) = file::read(&text, FORMAT)?;
            let scenario = library.resolve(&file);
            let nested = |problems: Vec<Problem>| problems.into_iter().map(in_scenario).collect::<Vec<_>>();
            (scenario.map_err(|problems| source.mistakes(&nested(problems)))?, file, None, "scenario.")
        }
        None => {
            let file = file::parse(&text)?;
            (library.resolve(&file).map_err(|problems| source.mistakes(&problems))?, file, None, "")
        }
        Some(other) => {
            return Err(source.mistakes(&[Problem {
                field: "kind".to_owned(),
                what: format!("'{other}' is not a kind of file that can be opened"),
                fix: "write 'snapshot' or 'set', or leave it out for a scenario".to_owned(),
            }]));
        }
    };
    Ok(Opened { scenario, file, stored, pins, nested, name: name.to_owned(), text })
}
