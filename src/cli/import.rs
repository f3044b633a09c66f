//! `import`: other tools' files as files of shardscope's own.
//!
//! A result goes to stdout or to `--out`; where each part of it comes from goes to stderr, or with the result into JSON.

mod cluster;
mod content;
mod links;
mod model;
mod plan;
mod run;
mod trace;

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::interop::report::Imported;

use super::args::{ImportArgs, ImportKind, ImportOutput, ReportForm};
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{files, output};

pub(super) fn run(session: &Session, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let (kind, file) = (&arguments.kind, &arguments.file);
    match (kind, file) {
        (Some(kind), _) => named(session, kind),
        (None, Some(file)) => named(session, &content::kind(file, &arguments.output)?),
        (None, None) => {
            let what = "import: nothing is named; write a file, or what it is and a file";
            Err(Failure::input(format!("{what}: `shardscope import model config.json`")))
        }
    }
}

fn named(session: &Session, kind: &ImportKind) -> Result<Exit, Failure> {
    let library = &*session.library;
    match kind {
        ImportKind::Cluster(arguments) => cluster::run(library, arguments),
        ImportKind::Links(arguments) => links::run(library, arguments),
        ImportKind::Model(arguments) => model::run(arguments),
        ImportKind::Run(arguments) => run::run(arguments),
        ImportKind::Plan(arguments) => plan::run(library, arguments),
        ImportKind::Trace(arguments) => trace::run(session, arguments),
    }
}

/// A file as results name it.
fn called(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}

/// An import as JSON has it.
#[derive(Serialize)]
struct Printed<'a, T> {
    format: u32,
    #[serde(flatten)]
    imported: &'a Imported<T>,
}

/// Hands over a result as `text`, and says where each part of it comes from.
fn deliver<'a, T: Serialize>(
    imported: &Imported<T>,
    text: &str,
    inputs: impl IntoIterator<Item = &'a Path>,
    to: &ImportOutput,
) -> Result<Exit, Failure> {
    if let Some(file) = &to.out {
        files::vacant(file, to.force, inputs)?;
        // A new user has no folder of presets yet.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), fs::create_dir_all).map_err(|error| Failure::io(file, &error))?;
        files::write(&[(file.clone(), text)], to.force)?;
    }
    match to.format {
        ReportForm::Json => {
            let printed = Printed { format: 1, imported };
            output::json(&serde_json::to_string_pretty(&printed).map_err(Failure::unwritten)?)?;
        }
        ReportForm::Text => {
            output::to_stderr(&imported.report.text());
            if to.out.is_none() {
                output::result(text)?;
            }
        }
    }
    Ok(Exit::Done)
}
