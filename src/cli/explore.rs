//! No command: the explorer; without a terminal, or on one that cannot move its cursor, the report of `eval`.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use crate::app::Start;
use crate::term;
use shardscope_engine::text::printable;
use shardscope_evidence::measured;
use shardscope_report::snapshot::{LastSession, Opened, SessionFile};

use super::args::{Cli, EvalFormat, ScenarioArgs};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle};
use super::{eval, evidence, log};

pub(super) fn run(session: Session, cli: &Cli) -> Result<Exit, Failure> {
    let input = &cli.input;
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let explores = !dumb && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut file = explores.then(SessionFile::of_user).flatten();
    let goes_on = input.first().is_none() && !cli.fresh;
    let (left, notice) = file.as_mut().filter(|_| goes_on).map_or((None, None), |file| resume(&session, file));
    let is_first = left.is_none() && notice.is_none() && env::args_os().nth(1).is_none();
    // Another tool's file is taken in as `O` does, over the scenario that the flags say.
    let foreign = input.scenario.clone().filter(|name| explores && session.is_foreign(name));
    let over = ScenarioArgs { scenario: input.scenario.clone().filter(|_| foreign.is_none()), ..input.clone() };
    let opened = left.map_or_else(|| session.open_possible(&over), Ok)?;
    note_idle(input, [opened.scenario.plan.clone()]);
    let tables = tables(&cli.rows)?;
    if !explores {
        return eval::report(&session.library, (&opened, input), EvalFormat::Text, None);
    }
    let Opened { file: scenario_file, scenario, stored, pins, view, .. } = opened;
    let Session { library, mut options, .. } = session;
    (options.rows, options.session, options.notice, options.import) =
        (tables, file, notice, foreign.map(PathBuf::from));
    term::run(Start { library, file: scenario_file, scenario, stored, pins, view, is_first, options }, log::line)
        .map_err(|error| Failure::Io(format!("terminal: {error}")))?;
    Ok(Exit::Done)
}

/// The last session's scenario, and the notice about it. A file that cannot be used stops no start.
fn resume(session: &Session, file: &mut SessionFile) -> (Option<Opened>, Option<String>) {
    let resumed = file.resume(&session.library);
    let earlier = match file.previous().len() {
        0 => String::new(),
        1 => ", s lists the one before it".to_owned(),
        many => format!(", s lists the {many} before it"),
    };
    match resumed {
        None => (None, None),
        Some(Ok(LastSession { opened, is_renewed })) => {
            let with = if is_renewed { ", with presets as they are now" } else { "" };
            (Some(opened), Some(format!("as the last session left it{with}: --fresh starts anew{earlier}")))
        }
        Some(Err(why)) => (None, Some(printable(&format!("the last session is lost: {why}{earlier}")))),
    }
}

/// The tables of measured runs that are given, each with its name; one that holds no run is refused.
fn tables(files: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let table = |file: &PathBuf| {
        let (name, text) = (file.display().to_string(), evidence::read_table(file)?);
        let (rows, skipped) = measured::read(&name, &text);
        if rows.is_empty() {
            return Err(evidence::refuse_rows(std::slice::from_ref(file), &skipped));
        }
        Ok((name, text))
    };
    files.iter().map(table).collect()
}
