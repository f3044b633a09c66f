//! No command: the explorer; without a terminal, or on one that cannot move its cursor, the report of `eval`.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use crate::app::Start;
use crate::measured;
use crate::snapshot::Opened;
use crate::term;

use super::args::{EvalFormat, ScenarioArgs};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle};
use super::{eval, rows};

pub(super) fn run(session: Session, input: &ScenarioArgs, rows: &[PathBuf]) -> Result<Exit, Failure> {
    let opened = session.open_possible(input)?;
    note_idle(input, [opened.scenario.plan.clone()]);
    let tables = tables(rows)?;
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return eval::report(&session.library, &opened, EvalFormat::Text, None);
    }
    let Opened { file, scenario, stored, pins, .. } = opened;
    let Session { library, mut options } = session;
    options.rows = tables;
    term::run(Start { library, file, scenario, stored, pins, options })
        .map_err(|error| Failure::Io(format!("terminal: {error}")))?;
    Ok(Exit::Done)
}

/// The tables of measured runs that are given, each with its name; one that holds no run is refused.
fn tables(files: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let table = |file: &PathBuf| {
        let (name, text) = (file.display().to_string(), rows::text(file)?);
        let (rows, skipped) = measured::read(&name, &text);
        if rows.is_empty() {
            return Err(rows::unread(std::slice::from_ref(file), &skipped));
        }
        Ok((name, text))
    };
    files.iter().map(table).collect()
}
