//! Other tools' files: their text, and what is wrong with them.

use std::path::Path;

use crate::disk;
use crate::interop::content::MOST_BYTES;
use crate::interop::report::ImportError;
use crate::text::printable;

use super::exit::Failure;

/// The text of a file; `-` is standard input.
pub(super) fn text_of(file: &Path) -> Result<String, Failure> {
    disk::read_text(path_of(file), MOST_BYTES).map_err(|error| Failure::io(file, &error))
}

/// Where a file is; `-` is standard input.
pub(super) fn path_of(file: &Path) -> &Path {
    if file == Path::new("-") { Path::new("/dev/stdin") } else { file }
}

/// What is wrong with a file, one line for each mistake.
pub(super) fn refused(file: &Path, errors: &[ImportError]) -> Failure {
    let file = printable(&file.display().to_string());
    Failure::Input(errors.iter().map(|error| format!("{file}: {error}")).collect())
}
