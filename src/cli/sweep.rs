//! `sweep`: a map over two axes, with a progress bar for people and a clean end on SIGINT.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use crate::app::Options;
use crate::figures::SweepReport;
use crate::plan::{Plan, Recompute};
use crate::scenario::{Field, Problem};
use crate::search::{self, Cancel, Cell};
use crate::units::thousands;

use super::args::{ScenarioFlags, Sweep, TableForm};
use super::session::{Session, note_idle, refused};
use super::{Exit, Failure, Refusals, log, output};

/// The most cells of a map: about half a gigabyte of results.
const MOST_CELLS: usize = 1 << 20;

pub(super) fn run(session: &Session, arguments: &Sweep) -> Result<Exit, Failure> {
    check(arguments)?;
    let base = session.open(&arguments.input)?.scenario;
    if let Some(problem) = arguments.metric.lacks(&base) {
        return Err(vec![problem].into());
    }
    let sweep = search::Sweep { base, x: arguments.x.clone(), y: arguments.y.clone(), tune: arguments.tune };
    note_idle(&arguments.input, edges(&sweep));
    let interrupted = catch_interrupts().map_err(|error| Failure::Io(format!("signals: {error}")))?;
    let cells = evaluate(&sweep, &session.options, &interrupted)?;
    if let Some(problem) = fault(&cells, &arguments.input.flags) {
        return Err(refused(std::slice::from_ref(problem), &arguments.input));
    }
    let report = SweepReport { sweep: &sweep, metric: arguments.metric, cells: &cells };
    output::result(&match arguments.format {
        TableForm::Text => report.text(),
        TableForm::Csv => report.csv().map_err(Failure::unwritten)?,
        TableForm::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    if interrupted.load(Ordering::Relaxed) {
        // Whoever waits for this process must see that the signal ended it.
        low_level::emulate_default_handler(SIGINT).map_err(|error| Failure::Io(format!("signals: {error}")))?;
    }
    let fits = |cell: &Option<Cell>| matches!(cell, Some(Cell::Possible { summary, .. }) if summary.fits);
    Ok(if cells.iter().any(fits) { Exit::Done } else { Exit::DoesNotFit })
}

/// The plans of the first row and the first column: a choice that none of them follows counts in no cell.
fn edges(sweep: &search::Sweep) -> impl Iterator<Item = Plan> {
    let width = sweep.x.values.len();
    let edges = (0..width).chain((0..sweep.len()).step_by(width.max(1)));
    let plans = edges.filter_map(|index| Some(sweep.scenario(index).ok()?.plan));
    // A cell that takes its best recompute may compute everything again.
    plans.map(|plan| if sweep.tune { Plan { recompute: Recompute::Full, ..plan } } else { plan })
}

/// The problem of a flag that makes every cell impossible.
fn fault<'a>(cells: &'a [Option<Cell>], flags: &ScenarioFlags) -> Option<&'a Problem> {
    let mut problems = cells.iter().map(|cell| match cell {
        Some(Cell::Impossible(problem)) => {
            Field::from_path(&problem.field).filter(|field| flags.has(*field)).map(|_| problem)
        }
        _ => None,
    });
    let first = problems.next()??;
    problems.all(|problem| problem.is_some()).then_some(first)
}

/// Refuses what no cell could answer.
fn check(arguments: &Sweep) -> Result<(), Failure> {
    let (x, y) = (&arguments.x, &arguments.y);
    let mut refusals = Refusals::default();
    refusals.refuse(x.kind == y.kind, format!("--y: both axes are {}; choose another one", y.kind.word()));
    let cells = x.values.len() * y.values.len();
    let many = format!("--x, --y: {cells} cells are too many; choose axes of at most {MOST_CELLS} together");
    refusals.refuse(cells > MOST_CELLS, many);
    refusals.end()
}

/// A flag that the first SIGINT sets; the second one ends the process at once.
fn catch_interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_default(SIGINT, Arc::clone(&interrupted))?;
    flag::register(SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

/// Evaluates the cells by index; those that an interrupt left out are `None`.
fn evaluate(sweep: &search::Sweep, options: &Options, interrupted: &AtomicBool) -> Result<Vec<Option<Cell>>, Failure> {
    let pool = search::pool(options.threads).map_err(|error| Failure::Io(format!("threads: {error}")))?;
    let (progress, cancel) = (progress(sweep.len(), "cells", options.low_bandwidth), Cancel::default());
    let cells = Mutex::new(vec![None; sweep.len()]);
    log::line(&format!("sweep of {} cells on {} threads", sweep.len(), pool.current_num_threads()));
    sweep.run(&pool, 0, &cancel, &|index, cell| {
        cells.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(cell);
        progress.inc(1);
        if interrupted.load(Ordering::Relaxed) {
            cancel.cancel();
        }
    });
    progress.finish_and_clear();
    Ok(cells.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// stderr, if that is a terminal, a few times a second.
fn target(low_bandwidth: bool) -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(if low_bandwidth { 2 } else { 8 })
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// What is done now and how many scenarios have been evaluated, where nobody knows how many there will be.
pub(super) fn spinner(low_bandwidth: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(low_bandwidth));
    match ProgressStyle::with_template("{msg}: {pos} scenarios in {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar with rate and time left on stderr, if that is a terminal.
pub(super) fn progress(count: usize, of: &str, low_bandwidth: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count as u64), target(low_bandwidth));
    let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = write!(text, "{} per second", thousands(state.per_sec()));
    };
    match ProgressStyle::with_template(&format!("[{{bar:40}}] {{pos}} of {{len}} {of}, {{rate}}, {{eta}} left")) {
        Ok(style) => bar.with_style(style.with_key("rate", rate).progress_chars("=> ")),
        Err(_) => bar,
    }
}
