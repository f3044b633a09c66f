//! No command: the explorer; without a terminal, or on one that cannot move its cursor, the report of `eval`.

use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::app::Start;
use crate::term;
use shardscope_engine::text::printable;
use shardscope_evidence::measured;
use shardscope_report::snapshot::{self, LastSession, Opened};

use super::args::{Cli, EvalFormat};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle};
use super::{eval, rows};

pub(super) fn run(session: Session, cli: &Cli) -> Result<Exit, Failure> {
    let input = &cli.input;
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let explores = !dumb && io::stdin().is_terminal() && io::stdout().is_terminal();
    let last = explores.then(snapshot::last_file).flatten();
    let goes_on = input.first().is_none() && !cli.fresh;
    let (left, notice) = last.as_deref().filter(|_| goes_on).map_or((None, None), |file| left(&session, file));
    let goes_on = left.is_some();
    let opened = left.map_or_else(|| session.open_possible(input), Ok)?;
    note_idle(input, [opened.scenario.plan.clone()]);
    let tables = tables(&cli.rows)?;
    if !explores {
        return eval::report(&session.library, &opened, EvalFormat::Text, None);
    }
    let Opened { file, scenario, stored, pins, view, .. } = opened;
    let Session { library, mut options, .. } = session;
    (options.rows, options.last, options.goes_on, options.notice) = (tables, last, goes_on, notice);
    term::run(Start { library, file, scenario, stored, pins, view, options })
        .map_err(|error| Failure::Io(format!("terminal: {error}")))?;
    Ok(Exit::Done)
}

/// What the last session ended with, and what is to be said of it. A file that cannot be used stops no start.
fn left(session: &Session, file: &Path) -> (Option<Opened>, Option<String>) {
    match snapshot::open_last(file, &session.library) {
        None => (None, None),
        Some(Ok(LastSession { opened, is_renewed })) => {
            let with = if is_renewed { ", with presets as they are now" } else { "" };
            (Some(opened), Some(format!("as the last session left it{with}: --fresh starts anew")))
        }
        Some(Err(why)) => (None, Some(printable(&format!("the last session is lost: {why}")))),
    }
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
