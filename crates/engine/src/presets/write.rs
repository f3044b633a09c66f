//! Presets out to the user's folder and in again: a draft is written whole or not at all, and what the disk no longer
//! gives rightly stays as it was.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::scenario::file::printable;

use super::{Kind, Library, Origin, Warning, read};

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

impl Library {
    /// The presets as the folders hold them now; of files that cannot be used any more, what they held before.
    pub fn reload(&self) -> (Self, Vec<Warning>) {
        let (mut library, warnings) = Self::of(self.texts).with_folders(self.folders.0.clone(), &self.folders.1);
        for entry in &self.entries {
            let Origin::File(path) = &entry.origin else { continue };
            let broken = warnings.iter().any(|warning| path.starts_with(&warning.path));
            let found = |other: &super::PresetFile| other.kind == entry.kind && other.id == entry.id;
            if broken && !library.entries.iter().any(|other| found(other) && other.origin != Origin::Embedded) {
                // It was read before.
                let _ = library.add(entry.kind, &entry.id, &entry.text, entry.origin.clone());
            }
        }
        (library, warnings)
    }

    /// Writes a preset; gives the presets with it, and its file.
    pub fn save(&self, saving: &Saving) -> Result<(Self, PathBuf), String> {
        let home = || self.folders.0.as_ref().map(|home| home.join(saving.kind.folder()));
        let path = match &saving.replaces {
            Some(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
            None => home()
                .ok_or("there is no home directory to save it in; name a folder with --config")?
                .join(saving.id.clone() + ".toml"),
        };
        let failed = |error: io::Error| format!("cannot write {}: {error}", shown(&path));
        read::id(&path)?;
        let mut library = self.clone();
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
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

#[cfg(test)]
mod tests;
