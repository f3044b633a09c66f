//! `import run`: logs of training runs as rows of measured runs.

use shardscope_engine::disk::InputKind;
use shardscope_evidence::measured;
use shardscope_interop::report::Imported;
use shardscope_interop::runs::{self, RunOptions, RunRows};

use super::super::args::ImportRunArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign::{ReadText, refused};
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
    deliver(&all, &all.made.to_csv(), &session.inputs, &arguments.output)
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
