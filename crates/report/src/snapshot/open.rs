//! Opening a scenario: a file of either kind, or the id of a preset.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use shardscope_engine::presets::{Library, Origin, PresetFile, Unknown};
use shardscope_engine::scenario::file::{self, FileError, ScenarioFile, Source, printable};
use shardscope_engine::scenario::{Field, Problem, Scenario, Value};
use shardscope_engine::search::Axis;
use shardscope_library::disk::{self, InputKind, OpenInput, Watch};

use super::content::{FORMAT, KIND, Snapshot, in_scenario};
use super::set::{self, Set};
use super::stored::{Stored, StoredPin};

/// A scenario that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The scenario itself.
    pub scenario: Scenario,
    /// Scenario file that flags and edits change; with [`Library::resolve_over`] it gives the next scenario.
    pub file: ScenarioFile,
    /// Figures that a snapshot says came out when it was written.
    pub stored: Option<Stored>,
    /// The scenarios of a set.
    pub pins: Vec<StoredPin>,
    /// The view that a session of the explorer ended with.
    pub view: Option<String>,
    /// Prefix of the paths of the scenario's fields in the file.
    nested: &'static str,
    name: String,
    text: String,
}

/// A report of `eval`: its figures are no input.
#[derive(Deserialize)]
struct Reported {
    scenario: ScenarioFile,
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
    /// Puts texts of fields over the scenario, presets first, since what follows refines them. Returns what is wrong with
    /// them, or with the scenario that comes of them; the scenario in hand then stays as it was.
    pub fn put_over<'a>(
        &mut self,
        fields: impl IntoIterator<Item = (Field, &'a str)>,
        library: &Library,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (field, text) in fields {
            match field.read(text) {
                Ok(value) => self.file.put(field, value),
                Err(problem) => problems.push(problem),
            }
            // A size that is said comes after its cluster.
            if field == Field::Cluster {
                library.begin(&mut self.file);
            }
        }
        // What a file stores is of its own scenario.
        self.stored = self.stored.take().filter(|stored| !stored.is_own());
        match library.resolve_over(&self.file, Some(&self.scenario)) {
            Ok(scenario) => self.scenario = scenario,
            Err(more) => problems.extend(more),
        }
        problems
    }

    /// An axis over the scenario with its presets looked up once, so that no cell has to: each as if it had been given with
    /// these other fields.
    pub fn looked_up(
        &self,
        axis: &Axis,
        given: &[(Field, Option<Value>)],
        library: &Library,
    ) -> Result<Axis, Vec<Problem>> {
        if axis.field.is_in_plan() {
            return Ok(axis.clone());
        }
        let look_up = |value: &Value| {
            let mut file = self.file.clone();
            if file.value(axis.field).as_ref() != Some(value) {
                file.put(axis.field, Some(value.clone()));
                // A preset takes fields along that others then say anew.
                let said = given.iter().filter(|(field, _)| field.is_in_plan());
                said.for_each(|(field, value)| file.put(*field, value.clone()));
            }
            library.look_up(axis.field, &file, &self.scenario)
        };
        let values = axis.values.iter().map(look_up).collect::<Result<Vec<Value>, _>>()?;
        Ok(Axis { values, ..axis.clone() })
    }

    /// Text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Problems of the scenario, at their places in the file that it came from.
    pub fn mistakes(&self, problems: &[Problem]) -> FileError {
        let nested =
            |problem: &Problem| Problem { field: format!("{}{}", self.nested, problem.field), ..problem.clone() };
        let problems: Vec<Problem> = problems.iter().map(nested).collect();
        // Where in the file a mistake stands is looked up only now: most files have none.
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
    open_text(&name, &text, library)
}

/// Opens the text of a file of this name.
pub fn open_text(name: &str, text: &str, library: &Library) -> Result<Opened, OpenError> {
    from_text(name, text, library).map_err(|error| OpenError::File(error.in_file(name)))
}

/// Opens a file that someone waits for.
pub fn open_watched(path: &Path, library: &Library, watch: &Watch) -> Result<Opened, OpenError> {
    let text = OpenInput::open_watched(path, InputKind::Scenario, watch).and_then(OpenInput::text);
    let text = text.map_err(|error| OpenError::Io { path: path.to_owned(), error })?;
    open_text(&path.display().to_string(), &text, library)
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
    disk::read_text(path, InputKind::Scenario)
}

fn from_text(name: &str, text: &str, library: &Library) -> Result<Opened, FileError> {
    let source = Source::new(text)?;
    opened(name, &source, text.to_owned(), library).map_err(|error| written_by(&source, error))
}

/// The same mistakes, the last with the version that wrote the file, where that is another one.
fn written_by(source: &Source, mut error: FileError) -> FileError {
    let own = env!("CARGO_PKG_VERSION");
    let version = source.text("version").filter(|version| *version != own).map(printable);
    // A field that this version does not know may be one of a later version's: the way out is said once, at the last
    // mistake.
    if let (Some(version), Some(last)) = (version, error.mistakes.last_mut())
        && !last.message.contains(&version)
    {
        let way_out = format!("; shardscope {version} wrote this file, and this is {own}: open it with {version}");
        last.message.push_str(&way_out);
    }
    error
}

fn opened(name: &str, source: &Source, text: String, library: &Library) -> Result<Opened, FileError> {
    let (mut pins, mut view) = (Vec::new(), None);
    let (scenario, file, stored, nested) = match source.text("kind") {
        Some(KIND) => {
            let snapshot = Snapshot::parse(&text)?;
            let scenario = snapshot.scenario().map_err(|problems| source.mistakes(&problems))?;
            let stored = Stored::new(&snapshot);
            (scenario, snapshot.scenario, stored, "scenario.")
        }
        Some(set::KIND) => {
            let set = Set::parse(&text)?;
            (pins, view) = (set.pins(source)?, set.view);
            let first = set.members.into_iter().zip(&pins).next();
            let Some((member, StoredPin { scenario, stored, .. })) = first else { return Err(source.mistakes(&[])) };
            let of_first =
                (scenario.clone(), member.snapshot.scenario, stored.clone(), "members[0].snapshot.scenario.");
            if view.is_some() {
                // The scenario that a session had in hand is pinned only if it is among the others too.
                pins.remove(0);
            }
            of_first
        }
        // A report in TOML has the scenario in a table of its own, beside the figures.
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
    Ok(Opened { scenario, file, stored, pins, view, nested, name: name.to_owned(), text })
}
