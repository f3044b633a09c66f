//! `import FILE`: what a file is, by what is in it.

use std::path::Path;

use shardscope_engine::disk::{InputKind, OpenInput};
use shardscope_interop::content::ForeignKind;
use shardscope_interop::kineto;

use super::super::args::{
    ImportClusterArgs, ImportKind, ImportModelArgs, ImportOomArgs, ImportOutput, ImportPlanArgs, ImportRunArgs,
    ImportTraceArgs, ScenarioArgs, ScenarioFlags,
};
use super::super::exit::{Exit, Failure};
use super::super::foreign::{refused, text_of};
use super::super::output;
use super::super::session::Session;
use super::{called, named, trace};
use shardscope_engine::problem::Problem;
use shardscope_engine::text::shell::ShellCode;

/// Imports a file as what it is, which is said.
pub(super) fn run(session: &Session, file: &Path, to: &ImportOutput) -> Result<Exit, Failure> {
    if file == Path::new("-") {
        return Err(Failure::input("import: say what standard input is: `shardscope import model -`"));
    }
    let name = called(file);
    let failed = |error| Failure::io(file, &error);
    let mut input = OpenInput::open(file, InputKind::Foreign).map_err(failed)?;
    // A trace may be packed, and larger than what is read of any other file: its beginning tells.
    if kineto::is_trace(input.head(kineto::HEAD).map_err(failed)?) {
        output::to_stderr(&format!("{name} is what a profiler recorded: import trace\n"));
        let arguments = ImportTraceArgs { file: file.to_owned(), output: to.clone(), input: alone() };
        return trace::compare(session, &arguments, input.known_as(InputKind::Trace).stream());
    }
    let text = input.text().map_err(failed)?;
    let import = kind(file, &text, to)?;
    // A pipe cannot be read again.
    named(session, &import, &|path, kind| {
        if path != file {
            return text_of(path, kind);
        }
        kind.check(&text).map_err(failed)?;
        Ok(text.clone())
    })
}

/// No scenario beside a file.
fn alone() -> ScenarioArgs {
    ScenarioArgs { scenario: None, flags: ScenarioFlags::default() }
}

/// The import of a file with this text, which is said.
fn kind(file: &Path, text: &str, to: &ImportOutput) -> Result<ImportKind, Failure> {
    let name = called(file);
    let refusal = |what: String, fix: String| refused(file, &[Problem::new("", what, fix)]);
    let Some(kind) = ForeignKind::recognise(&name, text) else {
        let words: Vec<&str> = ForeignKind::ALL.map(ForeignKind::word).into_iter().chain(["trace"]).collect();
        let fix = format!("say what it is: `{}` with KIND {}", command("KIND", file, ""), words.join(", "));
        return Err(refusal("is no file whose content is known".to_owned(), fix));
    };
    let (word, what) = (kind.word(), kind.name());
    let (file, output) = (file.to_owned(), to.clone());
    let import = match kind {
        ForeignKind::Model => ImportKind::Model(ImportModelArgs { file, output, ..ImportModelArgs::default() }),
        ForeignKind::Run => ImportKind::Run(ImportRunArgs { files: vec![file], output, ..ImportRunArgs::default() }),
        ForeignKind::OutOfMemory => ImportKind::Oom(ImportOomArgs { file, output, input: alone() }),
        ForeignKind::Plan => {
            ImportKind::Plan(ImportPlanArgs { files: vec![file], output, ..ImportPlanArgs::default() })
        }
        ForeignKind::Cluster => {
            ImportKind::Cluster(ImportClusterArgs { files: vec![file], output, ..ImportClusterArgs::default() })
        }
        // Whose links they are is not in the log.
        ForeignKind::Links => {
            let fix = format!("write `{}`", command(word, &file, " --cluster ID"));
            return Err(refusal(format!("is {what}, which does not say of which cluster"), fix));
        }
    };
    output::to_stderr(&format!("{name} is {what}: import {word}\n"));
    Ok(import)
}

/// The command line that imports a file as some kind, to be typed.
fn command(kind: &'static str, file: &Path, rest: &'static str) -> String {
    let line = ShellCode::default().code("shardscope import ").code(kind).code(" ").word(called(file)).code(rest);
    line.line().unwrap_or_else(|_| format!("shardscope import {kind} FILE{rest}"))
}
