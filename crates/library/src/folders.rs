//! Presets in the folders of the user, in and out: a preset is written whole or not at all, and what the disk no longer
//! gives rightly stays as it was.
//!
//! A folder or file that cannot be used is a [`Warning`], never an error. Not for what a text means: that is
//! [`shardscope_engine::presets`]'s.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use shardscope_engine::presets::{Folders, Kind, Library, Origin, PresetFile, read};
use shardscope_engine::scenario::file::printable;

use crate::disk::{self, InputKind};

/// A preset to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saving {
    /// The kind of preset.
    pub kind: Kind,
    /// The id that it gets, which is the name of its file.
    pub id: String,
    /// The user's own file that it takes the place of; a new one in the user's folder without it.
    pub replaces: Option<PathBuf>,
    /// The file's text.
    pub text: String,
}

/// A folder or file that is left out, why, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The folder or file.
    pub path: PathBuf,
    /// What is wrong and how to fix it; free of control characters.
    pub what: String,
}

impl Warning {
    fn new(path: &Path, what: &str) -> Self {
        Self { path: path.to_owned(), what: printable(what) }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.path.to_string_lossy()), self.what)
    }
}

/// Adds the presets of the user's own folder, which need not exist yet, and of other folders
/// (`FOLDER/clusters/*.toml`, ...); later ones win.
pub fn with_folders(mut library: Library, home: Option<PathBuf>, others: &[PathBuf]) -> (Library, Vec<Warning>) {
    let there = home.iter().filter(|folder| !matches!(folder.try_exists(), Ok(false)));
    let all: Vec<PathBuf> = there.chain(others).cloned().collect();
    library.folders = Folders { home, others: others.to_vec() };
    let warnings = all.iter().flat_map(|folder| add_folder(&mut library, folder)).collect();
    (library, warnings)
}

/// Everything usable in a user's folder.
fn add_folder(library: &mut Library, folder: &Path) -> Vec<Warning> {
    if let Err(error) = fs::read_dir(folder) {
        let what = format!("cannot be read ({error}); name a folder that can, with clusters/, models/ or others in it");
        return vec![Warning::new(folder, &what)];
    }
    Kind::ALL.into_iter().flat_map(|kind| add_files(library, kind, &folder.join(kind.folder()))).collect()
}

/// The files of one kind; a folder need not have every kind.
fn add_files(library: &mut Library, kind: Kind, folder: &Path) -> Vec<Warning> {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![Warning::new(folder, &format!("cannot be read ({error}); check its rights"))],
    };
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    // A file may be like one that comes after it.
    loop {
        let before = paths.len();
        let mut warnings = Vec::new();
        paths.retain(|path| match add_file(library, kind, path) {
            Ok(()) => false,
            Err(what) => {
                warnings.push(Warning::new(path, &what));
                true
            }
        });
        if paths.len() == before || paths.is_empty() {
            return warnings;
        }
    }
}

fn add_file(library: &mut Library, kind: Kind, path: &Path) -> Result<(), String> {
    let id = id(path)?;
    // A pipe would be waited for by every command.
    if path.metadata().is_ok_and(|facts| !facts.is_file()) {
        return Err("is no regular file, so it is not read; put a file there".to_owned());
    }
    let text = text(path)?;
    library.add(kind, &id, &text, Origin::File(path.to_owned()))
}

/// The id of a preset file.
fn id(path: &Path) -> Result<String, String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    read::no_id(stem).map_or_else(|| Ok(stem.to_owned()), Err)
}

/// The text of a preset file.
fn text(path: &Path) -> Result<String, String> {
    disk::read_text(path, InputKind::Preset)
        .map_err(|error| format!("cannot be read: {error}; it must be a file of at most 1 MiB of text"))
}

/// The table of the runs behind a calibration: a CSV file beside the user's own, or the program's; empty where there is
/// none, and what is wrong with one that cannot be read.
pub fn evidence(library: &Library, id: &str) -> Result<String, String> {
    let entry = library.entries(Kind::Calibration).find(|entry| entry.id == id);
    let Some(Origin::File(file)) = entry.map(|entry| &entry.origin) else {
        return Ok(library.carried_evidence(id).to_owned());
    };
    let table = file.with_extension("csv");
    match disk::read_text(&table, InputKind::Evidence) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| format!("{}: {error}", printable(&table.display().to_string()))),
    }
}

/// The presets as the folders hold them now; of files that cannot be used any more, what they held before.
pub fn reload(before: &Library) -> (Library, Vec<Warning>) {
    let Folders { home, others } = before.folders.clone();
    let (mut library, warnings) = with_folders(before.carried(), home, &others);
    for entry in Kind::ALL.into_iter().flat_map(|kind| before.entries(kind)) {
        let Origin::File(path) = &entry.origin else { continue };
        let broken = warnings.iter().any(|warning| path.starts_with(&warning.path));
        let found = |other: &PresetFile| other.id == entry.id && other.origin != Origin::Embedded;
        if broken && !library.entries(entry.kind).any(found) {
            // It was read before.
            let _ = library.add(entry.kind, &entry.id, &entry.text, entry.origin.clone());
        }
    }
    (library, warnings)
}

/// Writes a preset; gives the presets with it, and its file.
pub fn save(before: &Library, saving: &Saving) -> Result<(Library, PathBuf), String> {
    let home = || before.folders.home.as_ref().map(|home| home.join(saving.kind.folder()));
    let path = match &saving.replaces {
        Some(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        None => home()
            .ok_or("there is no home directory to save it in; name a folder with --config")?
            .join(saving.id.clone() + ".toml"),
    };
    let failed = |error: io::Error| format!("cannot write {}: {error}", shown(&path));
    id(&path)?;
    let mut library = before.clone();
    let origin = saving.replaces.clone().unwrap_or_else(|| path.clone());
    library.add(saving.kind, &saving.id, &saving.text, Origin::File(origin))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let written = match saving.replaces {
        Some(_) => disk::replace(&path, &saving.text),
        None => disk::create(&[(path.clone(), &saving.text)]).map_err(|(_, error)| error),
    };
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{} already exists; choose another id", shown(&path)),
        _ => failed(error),
    })?;
    Ok((library, path))
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

#[cfg(test)]
mod tests;
