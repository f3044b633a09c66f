//! `import`: other tools' files as files of shardscope's own.
//!
//! A result goes to stdout or to `--out`; where each part of it comes from goes to stderr, or with the result into JSON.

mod cluster;
mod content;
mod links;
mod model;
mod oom;
mod plan;
mod run;
mod trace;

use std::path::PathBuf;

use serde::Serialize;

use shardscope_engine::scenario::Scenario;
use shardscope_interop::report::Imported;

use super::args::{ImportArgs, ImportKind, ImportOutput, ReportForm, ScenarioArgs};
use super::exit::{Exit, Failure};
use super::foreign::{ReadText, called, text_in_part, text_of};
use super::session::Session;
use super::{files, output};

pub(super) fn run(session: &Session, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let (kind, file) = (&arguments.kind, &arguments.file);
    match (kind, file) {
        // A log is waited for as long as a run goes on, and one byte that is no text hides nothing else.
        (Some(ImportKind::Run(arguments)), _) => run::run(session, arguments, &text_in_part),
        (Some(ImportKind::Oom(arguments)), _) => oom::run(session, arguments, &text_in_part),
        (Some(kind), _) => named(session, kind, &text_of),
        (None, Some(file)) => content::run(session, file, &arguments.output),
        (None, None) => {
            let what = "import: nothing is named; write a file, or what it is and a file";
            Err(Failure::input(format!("{what}: `shardscope import model config.json`")))
        }
    }
}

fn named(session: &Session, kind: &ImportKind, read: ReadText<'_>) -> Result<Exit, Failure> {
    match kind {
        ImportKind::Cluster(arguments) => cluster::run(session, arguments, read),
        ImportKind::Links(arguments) => links::run(session, arguments, read),
        ImportKind::Model(arguments) => model::run(session, arguments, read),
        ImportKind::Run(arguments) => run::run(session, arguments, read),
        ImportKind::Plan(arguments) => plan::run(session, arguments, read),
        ImportKind::Oom(arguments) => oom::run(session, arguments, read),
        ImportKind::Trace(arguments) => trace::run(session, arguments),
    }
}

/// The scenario that stands beside a file; none where nothing of one is said.
fn scenario_beside(session: &Session, input: &ScenarioArgs) -> Result<Option<Scenario>, Failure> {
    let is_said = input.scenario.is_some() || !input.flags.is_empty();
    is_said.then(|| Ok(session.open_possible(input)?.scenario)).transpose()
}

/// An import as JSON has it.
#[derive(Serialize)]
struct Printed<'a, T> {
    format: u32,
    #[serde(flatten)]
    imported: &'a Imported<T>,
}

/// Hands over a result as `text`, and says where each part of it comes from.
fn deliver<T: Serialize>(
    imported: &Imported<T>,
    text: &str,
    inputs: &[PathBuf],
    to: &ImportOutput,
) -> Result<Exit, Failure> {
    if let Some(file) = &to.out {
        files::vacant(file, to.force, inputs)?;
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
