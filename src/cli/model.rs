//! Models that a flag names by a file: Hugging Face's config.json, or a preset's format.

use std::path::Path;

use shardscope_engine::disk::InputKind;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::FileError;
use shardscope_interop::huggingface::{self, CountedModel, ImportOptions};
use shardscope_interop::report::{ImportReport, Imported};

use super::exit::Failure;
use super::foreign::{refused, text_of};

/// Whether `--model` names a file, not a preset.
pub(super) fn is_file(name: &str) -> bool {
    name.contains('/')
        || Path::new(name).extension().is_some_and(|extension| extension == "json" || extension == "toml")
}

/// A model from a file.
pub(super) fn read(library: &Library, file: &Path) -> Result<Imported<CountedModel>, Failure> {
    let text = text_of(file, InputKind::ModelConfiguration)?;
    if file.extension().is_none_or(|extension| extension != "toml") {
        return from_text(file, &text, None, None);
    }
    let wrong = |error: FileError| Failure::input(error.in_file(&file.display().to_string()).to_string());
    let model = library.model_from(&text).map_err(wrong)?;
    let made = CountedModel { parameters: model.parameters(), active_parameters: model.active_parameters(), model };
    Ok(Imported { made, report: ImportReport::default() })
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
