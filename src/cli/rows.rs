//! Measured runs from the files that the command line names.

use std::path::{Path, PathBuf};

use shardscope_engine::disk;
use shardscope_evidence::measured::{self, MeasuredRow, Skipped};

use super::exit::Failure;

/// The largest table of runs that is read: a hundred times all that are published, and a row takes some 25 times its text.
const MOST_BYTES: u64 = 8 << 20;

/// What stands for the standard input in place of a file.
const STANDARD_INPUT: &str = "-";

/// How a file is called in messages.
fn called(file: &Path) -> String {
    if file == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { file.display().to_string() }
}

/// The text of a file, or of the standard input; what is not UTF-8 in it is replaced, since one bad name should not hide a table.
pub(super) fn text(file: &Path) -> Result<String, Failure> {
    text_within(file, MOST_BYTES)
}

/// [`text`], of a file of at most so many bytes.
pub(super) fn text_within(file: &Path, most: u64) -> Result<String, Failure> {
    let bytes =
        if file == Path::new(STANDARD_INPUT) { disk::read_standard_input(most) } else { disk::read(file, most) };
    let bytes = bytes.map_err(|error| Failure::io(Path::new(&called(file)), &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why files hold no run: what is wrong with each line, or that there is none.
pub(super) fn unread(files: &[PathBuf], skipped: &[Skipped]) -> Failure {
    if skipped.is_empty() {
        let line = |file: &PathBuf| format!("{}: holds no run; write each as a line under the header", called(file));
        return Failure::Input(files.iter().map(line).collect());
    }
    Failure::Input(skipped.iter().map(|Skipped { id, why }| format!("{id}: {why}")).collect())
}

/// The rows of the files, or the embedded ones where none is named.
pub(super) fn read(files: &[PathBuf]) -> Result<(Vec<MeasuredRow>, Vec<Skipped>), Failure> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |(more, without): (Vec<MeasuredRow>, Vec<Skipped>)| {
        rows.extend(more);
        skipped.extend(without);
    };
    for file in files {
        add(measured::read(&called(file), &text(file)?));
    }
    if files.is_empty() {
        for (name, text) in shardscope_presets::MEASURED {
            add(measured::read(name, text));
        }
    }
    Ok((rows, skipped))
}
