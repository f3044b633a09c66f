//! `import FILE`: what a file is, by what is in it. Every kind stands in one list.

use std::path::Path;

use crate::disk;
use crate::interop::kineto;
use crate::interop::plans;
use crate::interop::runs::{self, RunOptions};
use crate::interop::topology;

use super::super::args::{
    ImportClusterArgs, ImportKind, ImportModelArgs, ImportOutput, ImportPlanArgs, ImportRunArgs, ImportTraceArgs,
    ScenarioArgs, ScenarioFlags,
};
use super::super::exit::Failure;
use super::super::foreign::{refused, text_of};
use super::super::output;
use super::called;
use crate::interop::report::ImportError;

/// A kind of file: its word, what it is, how it is known by name and text, and how it is imported by itself.
type FileKind = (&'static str, &'static str, fn(&str, &str) -> bool, Option<fn(&Path, &ImportOutput) -> ImportKind>);

/// All kinds, in the order in which they are asked: a model's configuration may have words of a launcher's in it, and a
/// log of a run its arguments.
const KINDS: [FileKind; 5] = [
    ("model", "a model's configuration", is_model, Some(as_model)),
    // Whose links they are is not in the log.
    ("links", "a log of nccl-tests", |_, text| text.contains("busbw") || text.contains("\"bus_bw\""), None),
    ("run", "the log of a run", is_run, Some(as_run)),
    ("plan", "a launcher's configuration", plans::is_plan, Some(as_plan)),
    ("cluster", "what a cluster's tools print", topology::is_machine, Some(as_cluster)),
];

/// The import of a file, which is said.
pub(super) fn kind(file: &Path, to: &ImportOutput) -> Result<ImportKind, Failure> {
    if file == Path::new("-") {
        return Err(Failure::input("import: say what standard input is: `shardscope import model -`"));
    }
    let name = called(file);
    // A trace may be packed, and larger than what is read of any other file: its beginning tells.
    if disk::stream(file).is_ok_and(kineto::is_trace) {
        output::to_stderr(&format!("{name} is what a profiler recorded: import trace\n"));
        return Ok(as_trace(file, to));
    }
    let text = text_of(file)?;
    let words: Vec<&str> = KINDS.iter().map(|(word, ..)| *word).chain(["trace"]).collect();
    let refusal = |what: String, fix: String| refused(file, &[ImportError::new("", what, fix)]);
    match KINDS.iter().find(|(_, _, is_of, _)| is_of(&name, &text)) {
        Some((word, what, _, Some(import))) => {
            output::to_stderr(&format!("{name} is {what}: import {word}\n"));
            Ok(import(file, to))
        }
        Some((word, what, ..)) => {
            let fix = format!("write `shardscope import {word} {name} --cluster ID`");
            Err(refusal(format!("is {what}, which does not say of which cluster"), fix))
        }
        None => {
            let fix = format!("say what it is: `shardscope import KIND {name}` with KIND {}", words.join(", "));
            Err(refusal("is no file whose content is known".to_owned(), fix))
        }
    }
}

fn is_model(_: &str, text: &str) -> bool {
    let object: Option<serde_json::Value> = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
    object.is_some_and(|object| ["model_type", "text_config"].iter().any(|key| object.get(key).is_some()))
}

fn is_run(name: &str, text: &str) -> bool {
    runs::run(name, text, RunOptions { skip: Some(0), given: &[] }).is_ok()
}

fn as_model(file: &Path, to: &ImportOutput) -> ImportKind {
    ImportKind::Model(ImportModelArgs { file: file.to_owned(), name: None, like: None, output: to.clone() })
}

fn as_run(file: &Path, to: &ImportOutput) -> ImportKind {
    ImportKind::Run(ImportRunArgs {
        files: vec![file.to_owned()],
        skip: None,
        hardware: None,
        stack: None,
        set: Vec::new(),
        output: to.clone(),
    })
}

fn as_cluster(file: &Path, to: &ImportOutput) -> ImportKind {
    ImportKind::Cluster(ImportClusterArgs {
        files: vec![file.to_owned()],
        name: None,
        nodes: None,
        rate: None,
        device: None,
        output: to.clone(),
    })
}

fn as_trace(file: &Path, to: &ImportOutput) -> ImportKind {
    let input = ScenarioArgs { scenario: None, flags: ScenarioFlags::default() };
    ImportKind::Trace(ImportTraceArgs { file: file.to_owned(), output: to.clone(), input })
}

fn as_plan(file: &Path, to: &ImportOutput) -> ImportKind {
    let flags = ScenarioFlags::default();
    ImportKind::Plan(ImportPlanArgs { files: vec![file.to_owned()], output: to.clone(), flags })
}
