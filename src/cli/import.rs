//! `import`: other tools' files as files of shardscope's own.
//!
//! A result goes to stdout or to `--out`; where each part of it comes from goes to stderr, or with the result into JSON.

mod cluster;
mod content;
mod links;
mod model;
mod plan;
mod run;

use std::path::Path;

use serde::Serialize;

use crate::disk;
use crate::interop::report::{ImportError, Imported};
use crate::presets::Library;
use crate::text::printable;

pub(super) use model::{is_model, read as model};

use super::args::{ImportArgs, ImportKind, ImportOutput, ReportForm};
use super::exit::{Exit, Failure};
use super::{files, output};

/// The most bytes that are read of a file.
const MOST_BYTES: u64 = 64 << 20;

pub(super) fn run(library: &Library, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let (kind, file) = (&arguments.kind, &arguments.file);
    match (kind, file) {
        (Some(kind), _) => named(library, kind),
        (None, Some(file)) => named(library, &content::kind(file, &arguments.output)?),
        (None, None) => {
            let what = "import: nothing is named; write a file, or what it is and a file";
            Err(Failure::input(format!("{what}: `shardscope import model config.json`")))
        }
    }
}

fn named(library: &Library, kind: &ImportKind) -> Result<Exit, Failure> {
    match kind {
        ImportKind::Cluster(arguments) => cluster::run(library, arguments),
        ImportKind::Links(arguments) => links::run(library, arguments),
        ImportKind::Model(arguments) => model::run(arguments),
        ImportKind::Run(arguments) => run::run(arguments),
        ImportKind::Plan(arguments) => plan::run(library, arguments),
    }
}

/// The text of a file; `-` is standard input.
fn text_of(file: &Path) -> Result<String, Failure> {
    let path = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
    disk::read_text(path, MOST_BYTES).map_err(|error| Failure::io(file, &error))
}

/// A file as results name it.
fn called(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}

/// What is wrong with a file, one line for each mistake.
fn refused(file: &Path, errors: &[ImportError]) -> Failure {
    let file = printable(&file.display().to_string());
    Failure::Input(errors.iter().map(|error| format!("{file}: {error}")).collect())
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
        files::write(&[(file.clone(), text)], to.force)?;
    }
    match to.format {
        ReportForm::Json => output::json(&serde_json::to_string_pretty(imported).map_err(Failure::unwritten)?)?,
        ReportForm::Text => {
            output::to_stderr(&imported.report.text());
            if to.out.is_none() {
                output::result(text)?;
            }
        }
    }
    Ok(Exit::Done)
}
