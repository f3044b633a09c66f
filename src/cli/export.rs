//! `export`: a plan as another tool takes it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::interop::fsdp2::{LOADER, Spec};

use super::args::{Export, Target};
use super::session::{Session, refused};
use super::{Exit, Failure, output};

pub(super) fn run(session: &Session, arguments: &Export) -> Result<Exit, Failure> {
    let flags = &arguments.input.flags;
    let scenario = session.open_possible(arguments.input.scenario.as_deref(), flags)?.scenario;
    let Target::Fsdp2 = arguments.to;
    let spec = Spec::of(&scenario).map_err(|problems| refused(&problems, flags))?;
    let text = spec.to_json().map_err(Failure::unwritten)? + "\n";
    let Some(folder) = &arguments.out else { return output::result(&text).map(|()| Exit::Done) };
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    let files = [(folder.join("fsdp2.json"), text.as_str()), (folder.join("fsdp2.py"), LOADER)];
    for (file, text) in &files {
        write_new(file, text)?;
    }
    let lines: Vec<String> = files.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&output::printable(&lines.concat())).map(|()| Exit::Done)
}

/// Writes a file that is not there yet.
pub(super) fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| Failure::io(file, &error))
}
