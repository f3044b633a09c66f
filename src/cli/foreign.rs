//! Other tools' files: their text, and what is wrong with them.

use std::path::Path;

use shardscope_engine::disk;
use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

use super::exit::Failure;

/// What gives the text of a file of at most so many bytes: [`text_of`], or what has read it already.
pub(super) type ReadText<'a> = &'a dyn Fn(&Path, u64) -> Result<String, Failure>;

/// The text of a file of at most so many bytes; `-` is standard input.
pub(super) fn text_of(file: &Path, most: u64) -> Result<String, Failure> {
    disk::read_text(path_of(file), most).map_err(|error| Failure::io(file, &error))
}

/// Where a file is; `-` is standard input.
pub(super) fn path_of(file: &Path) -> &Path {
    if file == Path::new("-") { Path::new("/dev/stdin") } else { file }
}

/// What is wrong with a file, one line for each mistake.
pub(super) fn refused(file: &Path, errors: &[Problem]) -> Failure {
    let file = printable(&file.display().to_string());
    Failure::Input(errors.iter().map(|error| format!("{file}: {error}")).collect())
}
