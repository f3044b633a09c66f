//! `sweep`: a map over two axes, with a clean end on SIGINT.

use serde_json::json;

use crate::app::answers::launchers::RUNS_IN;
use crate::cli::args::{ReportForm, ScenarioArgs, ScenarioFlags, SweepArgs, TableForm};
use crate::cli::exit::{Exit, Failure, Refusals};
use crate::cli::merge::seal::{COMMENT, ContentHash, Seal};
use crate::cli::session::{Session, note_idle, refused};
use crate::cli::{interrupt, log, output, progress};
use shardscope_engine::plan::{Plan, Recompute};
use shardscope_engine::scenario::{Field, Problem, Scenario};
use shardscope_engine::search::{self, Axis, Cancel, Cell, Evaluator, WorkPart};
use shardscope_engine::text::visible;
use shardscope_report::figures::{SweepCells, SweepReport};
use shardscope_report::snapshot::Opened;

/// The most cells of a map that is printed whole: about half a gigabyte of results.
const MOST_CELLS: usize = 1 << 20;

pub(super) fn run(session: &Session, arguments: &SweepArgs) -> Result<Exit, Failure> {
    let sweep = question(session, arguments)?;
    note_idle(&arguments.input, edges(&sweep));
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    let pool = session.pool()?;
    let evaluator = Evaluator::new(&pool, &cancel);
    let waiting = progress::waiting("looking for a cell that is possible", &session.options);
    let fault = fault(&sweep, &evaluator, &arguments.input.flags);
    waiting.finish_and_clear();
    if let Some(problem) = fault {
        return Err(refused(&[problem], &arguments.input));
    }
    log::line(&format!("sweep of {} cells on {} threads", sweep.len(), pool.current_num_threads()));
    let form = match arguments.format {
        TableForm::Csv => None,
        TableForm::Json => Some(ReportForm::Json),
        TableForm::Text => Some(ReportForm::Text),
    };
    let fits = match form {
        None => stream(session, arguments, &sweep, &evaluator)?,
        Some(form) => {
            let cells = evaluate(session, &sweep, &evaluator);
            let report = SweepReport { sweep: &sweep, metric: arguments.metric, cells: &cells, runs_in: RUNS_IN };
            output::report(form, || report.text(), || report.json())?;
            cells.iter().flatten().any(Cell::fits)
        }
    };
    interrupt::ends(&cancel);
    // Another part of the sweep may fit.
    Ok(if fits || arguments.part.is_some() { Exit::Done } else { Exit::DoesNotFit })
}

/// The sweep that the arguments ask for.
pub(super) fn question(session: &Session, arguments: &SweepArgs) -> Result<search::Sweep, Failure> {
    check(arguments)?;
    let opened = session.open(&arguments.input)?;
    let [x, y] = [&arguments.x, &arguments.y].map(|axis| looked_up(session, axis, &opened, &arguments.input));
    let base = opened.scenario;
    // An axis of prices says what the scenario lacks.
    let priced = [&arguments.x, &arguments.y].iter().any(|axis| axis.field == Field::Price);
    if let Some(problem) = arguments.metric.lacks(&base).filter(|_| !priced) {
        return Err(vec![problem].into());
    }
    Ok(search::Sweep { base, x: x?, y: y?, tune: arguments.tune })
}

/// The axis with its presets looked up, each as if it had been given with the other flags.
pub(super) fn looked_up(
    session: &Session,
    axis: &Axis,
    opened: &Opened,
    input: &ScenarioArgs,
) -> Result<Axis, Failure> {
    let given = input.flags.given().map(|(field, text)| (field, field.read(text).ok().flatten()));
    opened.looked_up(axis, &given.collect::<Vec<_>>(), &session.library).map_err(|problems| refused(&problems, input))
}

/// The plans of the first row and the first column: a choice that none of them follows counts in no cell.
fn edges(sweep: &search::Sweep) -> impl Iterator<Item = Plan> {
    let width = sweep.x.values.len();
    let edges = (0..width).chain((0..sweep.len()).step_by(width.max(1)));
    let plans = edges.filter_map(|index| Some(sweep.scenario(index).ok()?.plan));
    // A cell that takes its best recompute may compute everything again.
    plans.map(|plan| if sweep.tune { Plan { recompute: Recompute::Full, ..plan } } else { plan })
}

/// The problem of a flag that makes every cell impossible, in any part of the sweep: the first one's.
fn fault(sweep: &search::Sweep, evaluator: &Evaluator, flags: &ScenarioFlags) -> Option<Problem> {
    let blamed = |cell: &Cell| match cell {
        Cell::Impossible(problem) => Field::behind(&problem.field).into_iter().any(|field| flags.has(field)),
        Cell::Possible { .. } => false,
    };
    let mut first = None;
    // Most sweeps end with their first cell here. What is impossible takes little time to be found so.
    let every = sweep.in_order(
        0..1,
        evaluator,
        |_, cell, _| cell,
        |_, cells| {
            first = cells.into_iter().next().flatten().filter(blamed);
            first.as_ref().map(|_| true).ok_or(())
        },
    );
    let every = every.and_then(|()| {
        sweep.in_order(
            1..sweep.len(),
            evaluator,
            |_, cell, _| blamed(&cell),
            |_, blamed| {
                if blamed.iter().all(|blamed| *blamed == Some(true)) { Ok(true) } else { Err(()) }
            },
        )
    });
    match (every, first) {
        (Ok(()), Some(Cell::Impossible(problem))) => Some(problem),
        _ => None,
    }
}

/// Refuses what no cell could answer.
fn check(arguments: &SweepArgs) -> Result<(), Failure> {
    let (x, y) = (&arguments.x, &arguments.y);
    let mut refusals = Refusals::default();
    refusals.refuse(x.field == y.field, format!("--y: both axes are {}; choose another one", y.word()));
    let cells = x.values.len() * y.values.len();
    let csv = arguments.format == TableForm::Csv;
    let many = format!(
        "--x, --y: {cells} cells are too many; choose axes of at most {MOST_CELLS} together, or --format csv, which takes \
         any number"
    );
    refusals.refuse(cells > MOST_CELLS && !csv, many);
    refusals.refuse(arguments.part.is_some() && !csv, "--part: a part is CSV; add --format csv");
    refusals.end()
}

/// Evaluates the cells by index; those that an interrupt left out are `None`.
fn evaluate(session: &Session, sweep: &search::Sweep, evaluator: &Evaluator) -> Vec<Option<Cell>> {
    progress::collect(sweep.len(), "cells", &session.options, |done| {
        sweep.run(evaluator, 0, &|index, cell| done(index, cell));
    })
}

/// Writes the cells in order. Returns whether any fits.
fn stream(
    session: &Session,
    arguments: &SweepArgs,
    sweep: &search::Sweep,
    evaluator: &Evaluator,
) -> Result<bool, Failure> {
    let cells = SweepCells { sweep, metric: arguments.metric };
    let rows = arguments.part.map_or(0..sweep.len(), |part| part.rows(sweep.len()));
    let bar = progress::bar(rows.len(), "cells", &session.options);
    let shown = !bar.is_hidden();
    let line = |index: usize, cell: search::Cell, scenario: Option<&Scenario>| {
        if shown {
            bar.inc(1);
        }
        (cells.line(index, Some(&cell), scenario), cell.fits())
    };
    let content = arguments.part.map(|_| ContentHash::default());
    let mut ends = Ends { fits: false, whole: output::piece(&SweepCells::header())?, content };
    if !ends.whole {
        return Ok(true);
    }
    sweep.in_order(rows, evaluator, line, |begin, found| {
        let first_missing = found.iter().position(Option::is_none);
        let mut text = String::new();
        for (line, fits) in found.into_iter().flatten() {
            text.push_str(&line);
            ends.fits |= fits;
        }
        if let Some(missing) = first_missing {
            text.push_str(&cells.line(begin + missing, None, None));
        }
        if let Some(content) = &mut ends.content {
            // As it lands in the file.
            content.add(&visible(&text));
        }
        let read = bar.suspend(|| output::piece(&text))?;
        ends.whole = first_missing.is_none() && read;
        Ok::<bool, Failure>(read)
    })?;
    bar.finish_and_clear();
    // A sweep that was interrupted, or not read to its end, is no part: it gets no last line.
    if let Some(part) = arguments.part.filter(|_| ends.whole) {
        let seal = Seal { content: ends.content.as_ref().map(ContentHash::end), ..seal(part, &cells) };
        output::result(&format!("{COMMENT}{seal}\n"))?;
    }
    Ok(ends.fits)
}

struct Ends {
    fits: bool,
    /// Whether every row was computed and read.
    whole: bool,
    /// A hash of the rows of a part as they land in the file.
    content: Option<ContentHash>,
}

fn seal(part: WorkPart, cells: &SweepCells) -> Seal {
    let search::Sweep { base, x, y, tune } = cells.sweep;
    let axis = |axis: &Axis| json!({"axis": axis.word(), "values": axis.values});
    let asked = json!({"x": axis(x), "y": axis(y), "metric": cells.metric.word(), "tuned": tune});
    Seal::new(part, base, &asked).of_rows(cells.sweep.len())
}
