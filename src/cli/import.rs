//! `import`: other tools' files as files of shardscope's own.
//!
//! A result goes to stdout or to `--out`; where each part of it comes from goes to stderr, or with the result into JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;

use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::OwnFigure;
use shardscope_engine::units::Seconds;
use shardscope_evidence::calibrate::RunDiagnosis;
use shardscope_evidence::measured::{self, Case, MeasuredRow};
use shardscope_interop::content::ForeignKind;
use shardscope_interop::import::{Foreign, ForeignFiles, ImportContext, STANDARD_INPUT, name_of};
use shardscope_interop::report::Imported;
use shardscope_report::figures::{self, MeasuredReport};

use super::args::{ImportArgs, ReportForm};
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{eval, files, output, progress};

pub(super) fn run(session: &Session, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let ImportArgs { kind, words, scenario, .. } = arguments;
    if kind.is_none() && words.files.first().is_some_and(|file| file == Path::new(STANDARD_INPUT)) {
        return Err(Failure::input("import: say what standard input is: `shardscope import model -`"));
    }
    let files = ForeignFiles::open(*kind, &words.files, &files::open)?;
    let recognised = files.kind().filter(|_| kind.is_none());
    if let (Some(kind), Some(file)) = (recognised, words.files.first()) {
        let spec = kind.spec();
        output::to_stderr(&format!("{} is {}: import {}\n", name_of(file), spec.name, spec.word));
    }
    let inputs: Vec<PathBuf> = session.inputs.iter().chain(files.paths()).cloned().collect();
    let (imported, opened) = if matches!(files.kind(), Some(ForeignKind::Trace | ForeignKind::OutOfMemory)) {
        let beside = scenario.scenario.is_some() || !scenario.flags.is_empty();
        let opened = if beside { Some(session.open_possible(scenario)?.scenario) } else { None };
        let context = ImportContext { library: &session.library, current: opened.as_ref(), open: &files::open };
        let waiting = progress::waiting("reading the trace", &session.options);
        let own = words.options.iter().filter(|(name, _)| !Field::all().any(|field| field.spec().flag == name));
        let imported = files.import(&own.cloned().collect::<Vec<_>>(), context);
        waiting.finish_and_clear();
        (imported?, opened)
    } else {
        let context = ImportContext { library: &session.library, current: None, open: &files::open };
        (files.import(&words.options, context)?, None)
    };
    let diagnoses = diagnoses(session, &imported.made, opened.as_ref())?;
    deliver(&imported, &diagnoses, &inputs, arguments)
}

/// What the measured figures of an import tell of their scenarios: of the one beside a message that memory ran out, or of those
/// that a run's rows say. Each has the name of its row.
fn diagnoses(
    session: &Session,
    made: &Foreign,
    beside: Option<&Scenario>,
) -> Result<Vec<(String, RunDiagnosis)>, Failure> {
    match (made, beside) {
        (Foreign::OutOfMemory(message), Some(scenario)) => {
            Ok(vec![(String::new(), eval::diagnose(session, message.figure(), scenario)?)])
        }
        (Foreign::Run(rows), _) => {
            let rows: Vec<MeasuredRow> = rows.rows.iter().map(|cells| MeasuredRow::from_cells("", cells)).collect();
            let (cases, _) = measured::cases(&rows, &session.library);
            let of_case = |case: &Case| {
                let figure = OwnFigure::StepTime(Seconds::new(case.step_time?));
                Some((case.row.text("id").to_owned(), eval::diagnose(session, figure, case.scenario()).ok()?))
            };
            Ok(cases.iter().filter_map(of_case).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// An import as JSON has it.
#[derive(Serialize)]
struct Printed<'a> {
    format: u32,
    #[serde(flatten)]
    imported: &'a Imported<Foreign>,
    /// What the measured figures tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measured: Vec<MeasuredRun<'a>>,
}

#[derive(Serialize)]
struct MeasuredRun<'a> {
    id: &'a str,
    #[serde(flatten)]
    told: MeasuredReport,
}

/// Hands over a result, with where each part of it comes from and the command to type next.
fn deliver(
    imported: &Imported<Foreign>,
    diagnoses: &[(String, RunDiagnosis)],
    inputs: &[PathBuf],
    arguments: &ImportArgs,
) -> Result<Exit, Failure> {
    let ImportArgs { words, output: to, .. } = arguments;
    if to.strict {
        imported.report.strictly()?;
    }
    let text = imported.made.to_file().map_err(Failure::unwritten)?;
    if let Some(file) = &to.out {
        files::refuse_taken(file, to.force, inputs)?;
        files::write(&[(file.clone(), &text)], to.force)?;
    }
    match to.format {
        ReportForm::Json => {
            let measured = diagnoses.iter().map(|(id, told)| MeasuredRun { id, told: MeasuredReport::new(told) });
            let printed = Printed { format: 1, imported, measured: measured.collect() };
            output::json(&serde_json::to_string_pretty(&printed).map_err(Failure::unwritten)?)?;
        }
        ReportForm::Text => {
            output::to_stderr(&imported.report.text());
            if to.out.is_none() {
                output::result(&text)?;
            }
            for (id, told) in diagnoses {
                let head = if id.is_empty() { String::new() } else { format!("\n{id}:") };
                output::to_stderr(&format!("{head}{}", figures::measured(told)));
            }
            if let Some(next) = imported.made.next_command(words, to.out.as_deref()) {
                output::to_stderr(&format!("next: {next}\n"));
            }
        }
    }
    Ok(Exit::Done)
}
