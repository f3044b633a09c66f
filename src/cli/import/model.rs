//! `import model`: a preset from another tool's model.

use shardscope_engine::disk::InputKind;

use super::super::args::ImportModelArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign::ReadText;
use super::super::model::from_text;
use super::super::session::Session;
use super::deliver;

pub(super) fn run(session: &Session, arguments: &ImportModelArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let ImportModelArgs { file, name, like, output } = arguments;
    let imported = from_text(file, &read(file, InputKind::ModelConfiguration)?, name.as_deref(), like.as_deref())?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &format!("# {}\n{text}", imported.made.model.counts()), &session.inputs, output)
}
