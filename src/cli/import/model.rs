//! `import model`: a preset from another tool's model.

use super::super::args::ImportModelArgs;
use super::super::exit::{Exit, Failure};
use super::super::model::read;
use super::deliver;

pub(super) fn run(arguments: &ImportModelArgs) -> Result<Exit, Failure> {
    let ImportModelArgs { file, name, like, output } = arguments;
    let imported = read(file, name.as_deref(), like.as_deref())?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &format!("# {}\n{text}", imported.made.model.counts()), [file.as_path()], output)
}
