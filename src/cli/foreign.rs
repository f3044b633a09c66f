//! The inputs that a command line names, `-` among them: their text, and what is wrong with them.

use std::path::Path;

use shardscope_engine::disk::{InputKind, OpenInput};
use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

use super::exit::Failure;

/// What stands for the standard input in place of a file.
const STANDARD_INPUT: &str = "-";

/// What gives the text of a file of a kind: [`text_of`], or what has read it already.
pub(super) type ReadText<'a> = &'a dyn Fn(&Path, InputKind) -> Result<String, Failure>;

/// How a file is called in messages.
pub(super) fn called(file: &Path) -> String {
    if file == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { file.display().to_string() }
}

/// Opens a file; `-` is standard input, which is read from its descriptor: a socket has no path.
pub(super) fn open(file: &Path, kind: InputKind) -> Result<OpenInput, Failure> {
    if file == Path::new(STANDARD_INPUT) {
        return Ok(OpenInput::standard(kind));
    }
    OpenInput::open(file, kind).map_err(|error| Failure::io(file, &error))
}

/// The text of a file of a kind.
pub(super) fn text_of(file: &Path, kind: InputKind) -> Result<String, Failure> {
    open(file, kind)?.text().map_err(|error| Failure::io(Path::new(&called(file)), &error))
}

/// The same of what may have a byte that is no text: it is replaced, since one bad name should not hide a table.
pub(super) fn text_in_part(file: &Path, kind: InputKind) -> Result<String, Failure> {
    let bytes = open(file, kind)?.bytes().map_err(|error| Failure::io(Path::new(&called(file)), &error))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// What is wrong with a file, one line for each mistake.
pub(super) fn refused(file: &Path, errors: &[Problem]) -> Failure {
    let file = printable(&file.display().to_string());
    Failure::Input(errors.iter().map(|error| format!("{file}: {error}")).collect())
}
