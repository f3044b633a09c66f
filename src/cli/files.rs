//! Files that commands write: new ones, whole or not at all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::snapshot;

use super::exit::Failure;

/// Refuses a name that is taken, before the work whose result is to go there.
pub(super) fn vacant(file: &Path) -> Result<(), Failure> {
    match file.symlink_metadata() {
        Ok(_) => Err(Failure::io(file, &ErrorKind::AlreadyExists.into())),
        Err(_) => Ok(()),
    }
}

/// Writes files that are not there yet: all of them, or none.
pub(super) fn write_new(files: &[(PathBuf, &str)]) -> Result<(), Failure> {
    snapshot::create(files).map_err(|attempt| Failure::io(&attempt.path, &attempt.error))
}
