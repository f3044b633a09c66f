//! What the last session of the explorer ended with: a set in a file of the user's state, of which the first is the
//! scenario in hand and the others are pinned.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::presets::Library;
use crate::scenario::Scenario;

use super::open::{OpenError, Opened, open};

/// Where it is kept: `$XDG_STATE_HOME/shardscope/last.toml`; `None` without a home.
pub fn last_file() -> Option<PathBuf> {
    let folders = disk::own_folders()?;
    Some(folders.state_dir().unwrap_or(folders.data_local_dir()).join("last.toml"))
}

/// Where the folders are remembered in which snapshots were written, beside a session's file.
pub fn folders_file(last: &Path) -> PathBuf {
    last.with_file_name("folders.txt")
}

/// Writes it whole or not at all.
pub fn keep_last(file: &Path, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    disk::replace(file, text)
}

/// Opens it; `None` where no session has ended yet.
pub fn open_last(file: &Path, library: &Library) -> Option<Result<Opened, String>> {
    let opened = match open(&file.display().to_string(), library) {
        Err(OpenError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => return None,
        opened => opened.map_err(|error| error.to_string()),
    };
    Some(opened.and_then(|mut opened| {
        renew(&mut opened, library);
        opened.scenario.layout().map_err(|problems| opened.mistakes(&problems).to_string())?;
        // The scenario in hand is pinned only if it is among the others too.
        opened.pins = opened.pins.split_off(opened.pins.len().min(1));
        Ok(opened)
    }))
}

/// Takes stacks and constants from today's library, where it has them: a session goes on from version to version, and what
/// software reaches is known better each time. What the file says came out then says nothing of it any more.
fn renew(opened: &mut Opened, library: &Library) {
    let known = |scenario: &mut Scenario| {
        let Ok(stack) = library.stack(&scenario.stack.id) else { return false };
        let Ok(calibration) = library.calibration(&stack.calibration) else { return false };
        let is_same = scenario.stack == stack && scenario.calibration == calibration;
        (scenario.stack, scenario.calibration) = (stack, calibration);
        !is_same
    };
    if known(&mut opened.scenario) {
        opened.stored = None;
    }
    for pin in &mut opened.pins {
        if known(&mut pin.scenario) {
            pin.stored = None;
        }
    }
}

#[cfg(test)]
mod tests;
