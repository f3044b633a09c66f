//! Measured runs from the files that the command line names.

use std::path::{Path, PathBuf};

use shardscope_engine::disk::InputKind;
use shardscope_evidence::measured::{self, MeasuredRow, Skipped};

use super::exit::Failure;
use super::foreign::{called, text_in_part};

/// The text of a table.
pub(super) fn text(file: &Path) -> Result<String, Failure> {
    text_in_part(file, InputKind::Rows)
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
