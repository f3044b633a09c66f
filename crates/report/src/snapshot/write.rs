//! Writing a snapshot: whole or not at all, and never over another file.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_library::disk::{self, Staged};

/// A directory in which a snapshot could not be written.
#[derive(Debug)]
pub struct Attempt {
    /// Operation that failed.
    pub operation: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// Why it failed.
    pub error: io::Error,
}

/// Why a snapshot was not written: one attempt per directory that was tried.
#[derive(Debug)]
pub struct WriteError(pub Vec<Attempt>);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it was not written")?;
        for Attempt { operation, path, error } in &self.0 {
            write!(f, "; cannot {operation} {}: {error}", printable(&path.display().to_string()))?;
        }
        Ok(())
    }
}

impl std::error::Error for WriteError {}

/// Writes the text of a snapshot into `directory`, or into the data directory where that cannot be
/// written; gives the path of the new file.
pub fn write(directory: &Path, scenario: &Scenario, text: &str) -> Result<PathBuf, WriteError> {
    write_to_first(folders(directory), scenario, text)
}

/// The directory, and the data directory.
fn folders(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let data = disk::own_folders().map(|dirs| dirs.data_dir().to_owned());
    std::iter::once(directory.to_owned()).chain(data)
}

/// Writes the text of a set into `directory`, or into the data directory, under a name that the user chose.
pub fn write_set(directory: &Path, name: &str, text: &str) -> Result<PathBuf, WriteError> {
    let name = match plain(name.trim_end_matches(".toml")) {
        name if name.is_empty() => "set".to_owned(),
        name => name,
    };
    to_first(folders(directory), (&name, "toml"), text)
}

/// Writes a text into `directory`, or into the data directory, under a name with an extension.
pub fn write_text(directory: &Path, name: (&str, &str), text: &str) -> Result<PathBuf, WriteError> {
    to_first(folders(directory), name, text)
}

/// Writes into the first of the directories that takes the file.
pub(super) fn write_to_first(
    directories: impl IntoIterator<Item = PathBuf>,
    scenario: &Scenario,
    text: &str,
) -> Result<PathBuf, WriteError> {
    to_first(directories, (&stem(scenario), "toml"), text)
}

fn to_first(
    directories: impl IntoIterator<Item = PathBuf>,
    name: (&str, &str),
    text: &str,
) -> Result<PathBuf, WriteError> {
    let mut attempts = Vec::new();
    for directory in directories {
        match write_in(&directory, name, text) {
            Ok(path) => return Ok(path),
            Err(attempt) => attempts.push(attempt),
        }
    }
    Err(WriteError(attempts))
}

/// The most files of one name in one directory.
const MOST_NAMES: u32 = 10_000;

fn write_in(directory: &Path, (stem, extension): (&str, &str), text: &str) -> Result<PathBuf, Attempt> {
    let failed = |operation, path: &Path, error| Attempt { operation, path: path.to_owned(), error };
    fs::create_dir_all(directory).map_err(|error| failed("create the directory", directory, error))?;
    let mut staged = Staged::new(directory, text).map_err(|error| failed("create a file in", directory, error))?;
    for count in 1..=MOST_NAMES {
        let name = if count == 1 { format!("{stem}.{extension}") } else { format!("{stem}-{count}.{extension}") };
        let path = directory.join(name);
        match staged.create(&path) {
            Ok(()) => return Ok(path),
            // Whoever wrote that file, it stays: the staged text is offered under the next name.
            Err((file, error)) if error.kind() == io::ErrorKind::AlreadyExists => staged = file,
            Err((_, error)) => return Err(failed("create", &path, error)),
        }
    }
    let taken = io::Error::new(io::ErrorKind::AlreadyExists, "all names are taken");
    Err(failed("create", &directory.join(format!("{stem}.{extension}")), taken))
}

/// A file name that says what is in it: the ids, in letters, digits, dots and dashes.
fn stem(scenario: &Scenario) -> String {
    let Scenario { model, cluster, strategy, .. } = scenario;
    let text = format!("{}-{}-{strategy}-{}", model.id, cluster.id, scenario.devices());
    plain(&text)
}

/// A text in letters, digits, dots and dashes, so that it leads out of no directory.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    let name: String = text.chars().map(letter).take(120).collect();
    // No file that a shell hides, and none that a command takes for an option.
    name.trim_start_matches(['.', '-']).to_owned()
}
