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
mod tests {
    use super::*;

    fn saving(library: &Library, replaces: Option<PathBuf>) -> Saving {
        let text = library
            .entries(Kind::Model)
            .find(|entry| entry.id == "mpt-7b")
            .unwrap()
            .text
            .replace("layers = 32", "layers = 33");
        Saving { kind: Kind::Model, id: "mine".to_owned(), replaces, text }
    }

    #[test]
    fn a_copy_is_written_whole_into_the_users_folder_which_need_not_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("new");
        let (library, warnings) = Library::embedded().with_folders(Some(home.clone()), &[]);
        assert_eq!(warnings, []);
        let (with, path) = library.save(&saving(&library, None)).unwrap();
        assert_eq!(path, home.join("models/mine.toml"));
        assert_eq!(with.model("mine").unwrap().layers, 33);
        assert_eq!(library.reload().0.model("mine").unwrap().layers, 33, "and from the disk");
        let left: Vec<_> = fs::read_dir(home.join("models")).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing half-written is left: {left:?}");
        let again = library.save(&saving(&library, None)).unwrap_err();
        assert!(again.contains("already exists; choose another id"), "{again}");
        let mut over = saving(&library, Some(path.clone()));
        over.text = over.text.replace("layers = 33", "layers = 34");
        with.save(&over).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("layers = 34"), "a user's own file is replaced");
    }

    #[test]
    fn what_cannot_be_written_is_said_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("models"), "a file where the folder should be").unwrap();
        let (library, _) = Library::embedded().with_folders(Some(folder.path().to_owned()), &[]);
        let said = library.save(&saving(&library, None)).unwrap_err();
        assert!(said.starts_with("cannot write ") && said.contains("models/mine.toml"), "{said}");
        let homeless = Library::embedded().save(&saving(&library, None)).unwrap_err();
        assert!(homeless.contains("--config"), "{homeless}");
        let mut wrong = saving(&library, None);
        wrong.id = "../mine".to_owned();
        assert!(library.save(&wrong).is_err(), "an id leads out of no folder");
    }

    #[test]
    fn what_is_broken_on_disk_stays_as_it_was_and_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let (library, _) = Library::embedded().with_folders(Some(folder.path().to_owned()), &[]);
        let (library, path) = library.save(&saving(&library, None)).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let line = good.lines().position(|line| line.starts_with("layers")).unwrap() + 1;
        fs::write(&path, good.replace("layers = 33", "layers = -1")).unwrap();
        let (library, warnings) = library.reload();
        assert_eq!(library.model("mine").unwrap().layers, 33);
        let said = warnings[0].to_string();
        assert!(
            said.contains("mine.toml: ") && said.contains(&format!("line {line}, ")) && said.contains("layers"),
            "{said}"
        );
        fs::write(&path, good.replace("layers = 33", "layers = 40")).unwrap();
        let (library, warnings) = library.reload();
        assert_eq!((library.model("mine").unwrap().layers, warnings.len()), (40, 0));
        fs::remove_file(&path).unwrap();
        assert!(library.reload().0.model("mine").is_err(), "a file that is gone is gone");
    }
}
