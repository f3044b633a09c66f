//! `import`: other tools' files as files of shardscope's own.
//!
//! A result goes to stdout or to `--out`; where each part of it comes from goes to stderr, or with the result into JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;

use shardscope_engine::scenario::Field;
use shardscope_interop::content::ForeignKind;
use shardscope_interop::import::{Foreign, ForeignFiles, ImportContext, STANDARD_INPUT, called};
use shardscope_interop::report::Imported;

use super::args::{ImportArgs, ReportForm};
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{files, output, progress};

pub(super) fn run(session: &Session, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let ImportArgs { kind, words, scenario, .. } = arguments;
    if kind.is_none() && words.files.first().is_some_and(|file| file == Path::new(STANDARD_INPUT)) {
        return Err(Failure::input("import: say what standard input is: `shardscope import model -`"));
    }
    let files = ForeignFiles::open(*kind, &words.files, &files::open)?;
    let recognised = files.kind().filter(|_| kind.is_none());
    if let (Some(kind), Some(file)) = (recognised, words.files.first()) {
        let spec = kind.spec();
        output::to_stderr(&format!("{} is {}: import {}\n", called(file), spec.name, spec.word));
    }
    let inputs: Vec<PathBuf> = session.inputs.iter().chain(files.paths()).cloned().collect();
    let imported = if files.kind() == Some(ForeignKind::Trace) {
        let beside = scenario.scenario.is_some() || !scenario.flags.is_empty();
        let opened = if beside { Some(session.open_possible(scenario)?.scenario) } else { None };
        let context = ImportContext { library: &session.library, current: opened.as_ref(), open: &files::open };
        let waiting = progress::waiting("reading the trace", &session.options);
        let own = words.options.iter().filter(|(name, _)| !Field::all().any(|field| field.spec().flag == name));
        let imported = files.import(&own.cloned().collect::<Vec<_>>(), context);
        waiting.finish_and_clear();
        imported?
    } else {
        let context = ImportContext { library: &session.library, current: None, open: &files::open };
        files.import(&words.options, context)?
    };
    deliver(&imported, &inputs, arguments)
}

/// An import as JSON has it.
#[derive(Serialize)]
struct Printed<'a> {
    format: u32,
    #[serde(flatten)]
    imported: &'a Imported<Foreign>,
}

/// Hands over a result, with where each part of it comes from and the command to type next.
fn deliver(imported: &Imported<Foreign>, inputs: &[PathBuf], arguments: &ImportArgs) -> Result<Exit, Failure> {
    let ImportArgs { words, output: to, .. } = arguments;
    let text = imported.made.to_file().map_err(Failure::unwritten)?;
    if let Some(file) = &to.out {
        files::refuse_taken(file, to.force, inputs)?;
        files::write(&[(file.clone(), &text)], to.force)?;
    }
    match to.format {
        ReportForm::Json => {
            let printed = Printed { format: 1, imported };
            output::json(&serde_json::to_string_pretty(&printed).map_err(Failure::unwritten)?)?;
        }
        ReportForm::Text => {
            output::to_stderr(&imported.report.text());
            if to.out.is_none() {
                output::result(&text)?;
            }
            if let Some(next) = imported.made.next_command(words, to.out.as_deref()) {
                output::to_stderr(&format!("next: {next}\n"));
            }
        }
    }
    Ok(Exit::Done)
}
