//! Models that a flag names by another tool's file.

use std::path::Path;

use shardscope_engine::disk::InputKind;
use shardscope_interop::huggingface::{self, CountedModel, ImportOptions};
use shardscope_interop::report::Imported;

use super::exit::Failure;
use super::foreign::{refused, text_of};

/// Whether `--model` names a file, not a preset.
pub(super) fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// A model from a file.
pub(super) fn read(file: &Path) -> Result<Imported<CountedModel>, Failure> {
    from_text(file, &text_of(file, InputKind::ModelConfiguration)?, None, None)
}

/// A model from the text of a file.
pub(super) fn from_text(
    file: &Path,
    text: &str,
    name: Option<&str>,
    like: Option<&str>,
) -> Result<Imported<CountedModel>, Failure> {
    let shown = file.display().to_string();
    let options = ImportOptions { file: &shown, name, like };
    huggingface::model(text, options).map_err(|error| refused(file, &[error]))
}
