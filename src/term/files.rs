//! Files, as the explorer asks for them: snapshots and sets written, opened and deleted. What they hold is
//! [`crate::snapshot`]'s.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::app::action::Command;
use crate::scenario::file::printable;
use crate::snapshot::{self, Set, Snapshot, WriteError};

use super::Explorer;

impl Explorer {
    /// Writes a snapshot of the scenario shown.
    pub(super) fn export(&mut self) {
        let Some(answer) = &self.app.answer else { return };
        let text = Snapshot::of(&answer.scenario, &answer.evaluation).to_toml();
        let said = said(text.map(|text| snapshot::write(Path::new("."), &answer.scenario, &text)));
        self.app.tell(said);
    }

    /// Writes all pinned scenarios, in their order, as one set.
    pub(super) fn save_set(&mut self, name: &str) {
        let pins = self.app.pins.all().iter();
        let members = pins.filter_map(|pin| Some((pin.name.as_str(), &pin.scenario, pin.evaluation.as_deref()?)));
        let text = Set::of(members).to_toml();
        let said = said(text.map(|text| snapshot::write_set(Path::new("."), name, &text)));
        self.app.tell(said);
    }

    /// Opens a snapshot or a set; gives what is to be computed.
    pub(super) fn open(&mut self, path: &Path) -> Vec<Command> {
        // A path with a slash is a file, whatever its name.
        let name = Path::new(".").join(path).display().to_string();
        match snapshot::open(&name, &self.app.library) {
            Ok(opened) => self.app.opened(opened, &shown(path)),
            Err(error) => {
                self.app.tell(printable(&error.to_string()));
                Vec::new()
            }
        }
    }

    /// Deletes a snapshot or a set.
    pub(super) fn delete(&mut self, path: &Path) -> Vec<Command> {
        self.app.deleted(path, snapshot::delete(path))
    }
}

fn said(written: Result<Result<PathBuf, WriteError>, impl Display>) -> String {
    match written {
        Ok(Ok(path)) => format!("exported to {}", shown(&path)),
        Ok(Err(error)) => error.to_string(),
        Err(error) => format!("the snapshot was not written: {error}"),
    }
}

fn shown(path: &Path) -> String {
    printable(&path.strip_prefix(".").unwrap_or(path).display().to_string())
}
