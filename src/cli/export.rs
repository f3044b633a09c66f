//! `export`: a plan as another tool takes it.

use std::fs;

use crate::interop::fsdp2::{self, LOADER};
use crate::text::escaped;

use super::args::{ExportArgs, ExportTarget};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle, refused};
use super::{files, output};

pub(super) fn run(session: &Session, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let input = &arguments.input;
    let scenario = session.open_possible(input)?.scenario;
    note_idle(input, [scenario.plan.clone()]);
    let ExportTarget::Fsdp2 = arguments.to;
    let spec = fsdp2::specify(&scenario).map_err(|problems| refused(&problems, input))?;
    let json = spec.to_json().map_err(Failure::unwritten)?;
    let Some(folder) = &arguments.out else { return output::json(&json).map(|()| Exit::Done) };
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    let json = format!("{}\n", escaped(&json));
    let written = [(folder.join("fsdp2.json"), json.as_str()), (folder.join("fsdp2.py"), LOADER)];
    for (file, _) in &written {
        files::vacant(file, arguments.force, input.file())?;
    }
    files::write(&written, arguments.force)?;
    let lines: Vec<String> = written.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}
