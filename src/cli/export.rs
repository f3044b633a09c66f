//! `export`: a plan as another tool takes it.

mod array;

use std::fs;
use std::path::PathBuf;

use crate::interop::fsdp2::{self, LOADER};
use crate::text::escaped;

use super::args::{Everywhere, ExportArgs, ExportTarget};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle, refused};
use super::{files, output};

pub(super) fn run(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let sweep = arguments.array.sweep;
    match arguments.to {
        ExportTarget::Sbatch if sweep => {
            deliver(arguments, &[(array::FILE, &array::script(session, everywhere, arguments)?)])
        }
        _ if sweep => Err(Failure::input("--sweep: a job array is a script for Slurm; choose --to sbatch")),
        ExportTarget::Fsdp2 => fsdp2(session, arguments),
        ExportTarget::Sbatch => {
            Err(Failure::input("--to sbatch: exports sweeps; add --sweep --x AXIS=VALUES --y AXIS=VALUES"))
        }
    }
}

fn fsdp2(session: &Session, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let input = &arguments.input;
    let scenario = session.open_possible(input)?.scenario;
    note_idle(input, [scenario.plan.clone()]);
    let spec = fsdp2::specify(&scenario).map_err(|problems| refused(&problems, input))?;
    let json = spec.to_json().map_err(Failure::unwritten)?;
    let json = format!("{}\n", escaped(&json));
    deliver(arguments, &[("fsdp2.json", &json), ("fsdp2.py", LOADER)])
}

/// Writes the files into the folder and says where they are; without a folder the first one is printed.
fn deliver(arguments: &ExportArgs, texts: &[(&str, &str)]) -> Result<Exit, Failure> {
    let Some(folder) = &arguments.out else {
        return output::result(texts.first().map_or("", |(_, text)| text)).map(|()| Exit::Done);
    };
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    let written: Vec<(PathBuf, &str)> = texts.iter().map(|(name, text)| (folder.join(name), *text)).collect();
    for (file, _) in &written {
        files::vacant(file, arguments.force, arguments.input.file())?;
    }
    files::write(&written, arguments.force)?;
    let lines: Vec<String> = written.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}
