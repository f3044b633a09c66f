//! `import run`: logs of training runs as rows of measured runs.

use serde::Serialize;

use shardscope_engine::disk::InputKind;
use shardscope_engine::search::{Cancel, Evaluator, OwnFigure};
use shardscope_engine::units::Seconds;
use shardscope_evidence::calibrate::RunDiagnosis;
use shardscope_evidence::measured::{self, Case, MeasuredRow};
use shardscope_interop::report::Imported;
use shardscope_interop::runs::{self, RunOptions, RunRows};
use shardscope_report::figures::{self, MeasuredReport};

use super::super::args::{ImportRunArgs, ReportForm};
use super::super::exit::{Exit, Failure};
use super::super::foreign::{ReadText, refused};
use super::super::output;
use super::super::session::Session;
use super::{called, deliver};

pub(super) fn run(session: &Session, arguments: &ImportRunArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let given = given(arguments)?;
    let options = RunOptions { skip: arguments.skip, given: &given };
    let mut all: Option<Imported<RunRows>> = None;
    for file in &arguments.files {
        let text = read(file, InputKind::RunLog)?;
        let one = runs::run(&called(file), &text, options).map_err(|errors| refused(file, &errors))?;
        match &mut all {
            None => all = Some(one),
            Some(all) => {
                all.made.rows.extend(one.made.rows);
                all.report.append(one.report);
            }
        }
    }
    let Some(mut all) = all else { return Ok(Exit::Done) };
    all.made.tell_apart();
    let told = told(session, &all.made)?;
    let Imported { made, report } = all;
    let measured = told.iter().map(|(id, told)| MeasuredRun { id, told: MeasuredReport::new(told) }).collect();
    let csv = made.to_csv();
    let exit = deliver(
        &Imported { made: RowsReport { rows: made, measured }, report },
        &csv,
        &session.inputs,
        &arguments.output,
    )?;
    if arguments.output.format == ReportForm::Text {
        for (id, told) in &told {
            output::to_stderr(&format!("\n{id}:{}", figures::measured(told)));
        }
    }
    Ok(exit)
}

/// The rows, and what each tells of its scenario where it says one.
#[derive(Serialize)]
struct RowsReport<'a> {
    #[serde(flatten)]
    rows: RunRows,
    measured: Vec<MeasuredRun<'a>>,
}

#[derive(Serialize)]
struct MeasuredRun<'a> {
    id: &'a str,
    #[serde(flatten)]
    told: MeasuredReport,
}

/// What the step times of rows tell of the scenarios that ran, where a row says one and its prediction is off.
fn told(session: &Session, rows: &RunRows) -> Result<Vec<(String, RunDiagnosis)>, Failure> {
    let rows: Vec<MeasuredRow> = rows.rows.iter().map(|cells| MeasuredRow::from_cells("", cells)).collect();
    let (cases, _) = measured::cases(&rows, &session.library);
    let (pool, cancel) = (session.pool()?, Cancel::default());
    let evaluator = Evaluator::new(&pool, &cancel);
    let of_case = |case: &Case| {
        let figure = OwnFigure::StepTime(Seconds::new(case.step_time?));
        let told = RunDiagnosis::new(&session.library, case.scenario(), figure, &evaluator).ok()?;
        Some((case.row.text("id").to_owned(), told))
    };
    Ok(cases.iter().filter_map(of_case).collect())
}

/// The cells that the command line gives.
fn given(arguments: &ImportRunArgs) -> Result<Vec<(String, String, String)>, Failure> {
    let cell = |column: &str, value: &str, option: &str| (column.to_owned(), value.to_owned(), option.to_owned());
    let ids = [("cluster", &arguments.hardware, "--hardware"), ("stack", &arguments.stack, "--stack")];
    let mut cells: Vec<_> =
        ids.into_iter().filter_map(|(column, id, option)| Some(cell(column, id.as_ref()?, option))).collect();
    for set in &arguments.set {
        match set.split_once('=') {
            Some((column, value)) if measured::is_column(column) => cells.push(cell(column, value, "--set")),
            _ => {
                let fix = "write COLUMN=VALUE with a column that `shardscope validate --template` explains";
                return Err(Failure::Input(vec![format!("--set '{set}' names no column; {fix}")]));
            }
        }
    }
    Ok(cells)
}
