//! What the last session of the explorer ended with: a set in a file of the user's state, of which the first is the
//! scenario in hand and the others are pinned.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use shardscope_engine::disk;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;

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

/// What the last session ended with lies here once one has ended that did not go on from it.
pub fn previous_file(last: &Path) -> PathBuf {
    last.with_file_name("previous.toml")
}

/// Writes it whole or not at all. What a session left that this one did not go on from is set aside first.
pub fn keep_last(file: &Path, went_on: bool, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    if !went_on && file.exists() {
        fs::rename(file, previous_file(file))?;
    }
    disk::replace(file, text)
}

/// What the last session ended with.
#[derive(Debug)]
pub struct LastSession {
    /// The scenario in hand, and the pins.
    pub opened: Opened,
    /// Whether the library has other facts today than that session had.
    pub is_renewed: bool,
}

/// Opens it; `None` where no session has ended yet.
pub fn open_last(file: &Path, library: &Library) -> Option<Result<LastSession, String>> {
    let opened = match open(&file.display().to_string(), library) {
        Err(OpenError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => return None,
        opened => opened.map_err(|error| error.to_string()),
    };
    Some(opened.and_then(|mut opened| {
        let is_renewed = renew(&mut opened, library);
        opened.scenario.layout().map_err(|problems| opened.mistakes(&problems).to_string())?;
        // The scenario in hand is pinned only if it is among the others too.
        opened.pins = opened.pins.split_off(opened.pins.len().min(1));
        Ok(LastSession { opened, is_renewed })
    }))
}

/// Takes facts from today's library, where it has them: a session goes on from version to version, what software reaches
/// is known better each time, and whoever changes a preset means it. What the file says came out then says nothing of it
/// any more. Says whether anything differs.
fn renew(opened: &mut Opened, library: &Library) -> bool {
    let mut is_renewed = false;
    if renew_facts(&mut opened.scenario, library) {
        (opened.stored, is_renewed) = (None, true);
    }
    for pin in &mut opened.pins {
        if renew_facts(&mut pin.scenario, library) {
            (pin.stored, is_renewed) = (None, true);
        }
    }
    // What has become a preset since is no longer said in full.
    let file = &mut opened.file;
    file.machine.take_if(|_| library.cluster(&file.cluster).is_ok());
    file.shape.take_if(|_| library.model(&file.model).is_ok());
    is_renewed
}

/// Says whether anything differs.
fn renew_facts(scenario: &mut Scenario, library: &Library) -> bool {
    let before = scenario.clone();
    if let Ok(cluster) = library.cluster(&scenario.cluster.id) {
        scenario.cluster = cluster;
    }
    if let Ok(model) = library.model(&scenario.model.id) {
        scenario.model = model;
    }
    // Constants belong to software: of another version they are never taken alone.
    if let Ok(stack) = library.stack(&scenario.stack.id)
        && let Ok(calibration) = library.calibration(&stack.calibration)
    {
        (scenario.stack, scenario.calibration) = (stack, calibration);
    }
    *scenario != before
}

#[cfg(test)]
mod tests;
