//! `import FILE`: what a file is, by what is in it.

use std::path::Path;

use shardscope_engine::disk::Begun;
use shardscope_interop::content::{ForeignKind, MOST_BYTES};
use shardscope_interop::kineto;

use super::super::args::{
    ImportClusterArgs, ImportKind, ImportModelArgs, ImportOutput, ImportPlanArgs, ImportRunArgs, ImportTraceArgs,
    ScenarioArgs, ScenarioFlags,
};
use super::super::exit::{Exit, Failure};
use super::super::foreign::{refused, text_of};
use super::super::output;
use super::super::session::Session;
use super::{called, named, trace};
use shardscope_engine::problem::Problem;

/// Imports a file as what it is, which is said.
pub(super) fn run(session: &Session, file: &Path, to: &ImportOutput) -> Result<Exit, Failure> {
    if file == Path::new("-") {
        return Err(Failure::input("import: say what standard input is: `shardscope import model -`"));
    }
    let name = called(file);
    let failed = |error| Failure::io(file, &error);
    let begun = Begun::open(file, kineto::HEAD).map_err(failed)?;
    // A trace may be packed, and larger than what is read of any other file: its beginning tells.
    if kineto::is_trace(begun.head()) {
        output::to_stderr(&format!("{name} is what a profiler recorded: import trace\n"));
        let input = ScenarioArgs { scenario: None, flags: ScenarioFlags::default() };
        let arguments = ImportTraceArgs { file: file.to_owned(), output: to.clone(), input };
        return trace::compare(session, &arguments, begun.whole());
    }
    let text = begun.text(MOST_BYTES).map_err(failed)?;
    let import = kind(file, &text, to)?;
    // A pipe cannot be read again.
    named(session, &import, &|path, most| if path == file { Ok(text.clone()) } else { text_of(path, most) })
}

/// The import of a file with this text, which is said.
fn kind(file: &Path, text: &str, to: &ImportOutput) -> Result<ImportKind, Failure> {
    let name = called(file);
    let refusal = |what: String, fix: String| refused(file, &[Problem::new("", what, fix)]);
    let Some(kind) = ForeignKind::recognise(&name, text) else {
        let words: Vec<&str> = ForeignKind::ALL.map(ForeignKind::word).into_iter().chain(["trace"]).collect();
        let fix = format!("say what it is: `shardscope import KIND {name}` with KIND {}", words.join(", "));
        return Err(refusal("is no file whose content is known".to_owned(), fix));
    };
    let (word, what) = (kind.word(), kind.name());
    let (file, output) = (file.to_owned(), to.clone());
    let import = match kind {
        ForeignKind::Model => ImportKind::Model(ImportModelArgs { file, output, ..ImportModelArgs::default() }),
        ForeignKind::Run => ImportKind::Run(ImportRunArgs { files: vec![file], output, ..ImportRunArgs::default() }),
        ForeignKind::Plan => {
            ImportKind::Plan(ImportPlanArgs { files: vec![file], output, ..ImportPlanArgs::default() })
        }
        ForeignKind::Cluster => {
            ImportKind::Cluster(ImportClusterArgs { files: vec![file], output, ..ImportClusterArgs::default() })
        }
        // Whose links they are is not in the log.
        ForeignKind::Links => {
            let fix = format!("write `shardscope import {word} {name} --cluster ID`");
            return Err(refusal(format!("is {what}, which does not say of which cluster"), fix));
        }
    };
    output::to_stderr(&format!("{name} is {what}: import {word}\n"));
    Ok(import)
}
