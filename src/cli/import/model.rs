//! `import model`, and models that `--model` names by their file.

use std::path::Path;

use crate::interop::huggingface::{self, CountedModel, ImportOptions};
use crate::interop::report::Imported;

use super::super::args::ImportModelArgs;
use super::super::exit::{Exit, Failure};
use super::{deliver, refused, text_of};

pub(super) fn run(arguments: &ImportModelArgs) -> Result<Exit, Failure> {
    let ImportModelArgs { file, name, like, output } = arguments;
    let imported = read(file, name.as_deref(), like.as_deref())?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &format!("# {}\n{text}", imported.made.model.counts()), [file.as_path()], output)
}

/// Whether `--model` names a file, not a preset.
pub fn is_model(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// A model from a file.
pub fn read(file: &Path, name: Option<&str>, like: Option<&str>) -> Result<Imported<CountedModel>, Failure> {
    let shown = file.display().to_string();
    let options = ImportOptions { file: &shown, name, like };
    huggingface::model(&text_of(file)?, options).map_err(|error| refused(file, &[error]))
}
