//! Files that commands write: whole or not at all, never over what is read, and over another file only where that is
//! insisted on.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use shardscope_engine::disk::{self, Staged};

use super::exit::Failure;

/// Refuses a name, before the work whose result is to go there: that of an input, or of any file unless it may be
/// replaced.
pub(super) fn vacant(file: &Path, force: bool, inputs: &[PathBuf]) -> Result<(), Failure> {
    refuse_input(file, inputs)?;
    match file.symlink_metadata() {
        Ok(_) if !force => Err(Failure::io(file, &ErrorKind::AlreadyExists.into())),
        _ => Ok(()),
    }
}

/// Refuses to write to what is read.
pub(super) fn refuse_input(file: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    if inputs.iter().any(|input| disk::is_same(file, input)) {
        let file = file.display();
        return Err(Failure::input(format!("{file}: is an input or the log; choose another name for what is written")));
    }
    Ok(())
}

/// Writes a file piece by piece, as `fill` does: whole or not at all, as [`write()`].
pub(super) fn write_as_it_comes<T>(
    file: &Path,
    force: bool,
    fill: impl FnOnce(&mut Staged) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error: io::Error| Failure::io(file, &error);
    let mut staged = Staged::beside(file, force).map_err(failed)?;
    let filled = fill(&mut staged)?;
    staged.finish(file, force).map(|()| filled).map_err(failed)
}

/// Writes files: new ones all or none, or each in the place of what is there. Folders that are missing are made: a new
/// user has none for presets yet.
pub(super) fn write(files: &[(PathBuf, &str)], force: bool) -> Result<(), Failure> {
    for (file, _) in files {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), disk::create_folder).map_err(|error| Failure::io(file, &error))?;
    }
    disk::write(files, force).map_err(|(file, error)| Failure::io(file, &error))
}
