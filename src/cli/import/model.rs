//! `import model`, and models that `--model` names by their file.

use std::path::Path;

use crate::interop::huggingface::{self, CountedModel, ImportOptions};
use crate::interop::report::Imported;
use crate::units::thousands;

use super::super::args::ImportModelArgs;
use super::super::exit::{Exit, Failure};
use super::{deliver, refused, text_of};

pub(super) fn run(arguments: &ImportModelArgs) -> Result<Exit, Failure> {
    let ImportModelArgs { file, name, like, output } = arguments;
    let imported = read(file, name.as_deref(), like.as_deref())?;
    let counts = counts(&imported.made);
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &format!("# {counts}\n{text}"), file, output)
}

/// A model from a file.
fn read(file: &Path, name: Option<&str>, like: Option<&str>) -> Result<Imported<CountedModel>, Failure> {
    let shown = file.display().to_string();
    let options = ImportOptions { file: &shown, name, like };
    huggingface::model(&text_of(file)?, options).map_err(|error| refused(file, &[error]))
}

/// `15,748,993,024 parameters, 2,703,659,008 of them active for a token`.
fn counts(model: &CountedModel) -> String {
    let count = |parameters: u64| thousands(parameters as f64);
    let active = if model.active_parameters == model.parameters {
        String::new()
    } else {
        format!(", {} of them active for a token", count(model.active_parameters))
    };
    format!("{} parameters{active}", count(model.parameters))
}
