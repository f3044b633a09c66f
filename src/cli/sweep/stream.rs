//! A map, or a part of it, as CSV that is written as it is computed: memory does not grow with the cells.

use serde_json::json;

use crate::cli::args::SweepArgs;
use crate::cli::exit::Failure;
use crate::cli::parts::{COMMENT, ContentHash, Seal};
use crate::cli::session::Session;
use crate::cli::{output, progress};
use shardscope_engine::search::{self, Axis, Evaluator, WorkPart};
use shardscope_engine::text::visible;
use shardscope_report::figures::SweepCells;

/// Writes the cells in order. Returns whether any fits.
pub(super) fn run(
    session: &Session,
    arguments: &SweepArgs,
    sweep: &search::Sweep,
    evaluator: &Evaluator,
) -> Result<bool, Failure> {
    let cells = SweepCells { sweep, metric: arguments.metric };
    let rows = arguments.part.map_or(0..sweep.len(), |part| part.rows(sweep.len()));
    let bar = progress::bar(rows.len(), "cells", &session.options);
    let line = |index: usize, cell: search::Cell| {
        bar.inc(1);
        cells.line(index, Some(&cell)).map(|line| (line, cell.fits())).map_err(|error| error.to_string())
    };
    let mut ends = Ends { fits: false, whole: output::piece(&SweepCells::header())?, content: ContentHash::default() };
    if !ends.whole {
        return Ok(true);
    }
    sweep.in_order(rows, evaluator, line, |begin, found| {
        let first_missing = found.iter().position(Option::is_none);
        let mut text = String::new();
        for one in found.into_iter().flatten() {
            let (line, fits) = one.map_err(Failure::unwritten)?;
            text.push_str(&line);
            ends.fits |= fits;
        }
        if let Some(missing) = first_missing {
            text.push_str(&cells.line(begin + missing, None).map_err(Failure::unwritten)?);
        }
        // As it lands in the file.
        ends.content.add(&visible(&text));
        let read = bar.suspend(|| output::piece(&text))?;
        ends.whole = first_missing.is_none() && read;
        Ok::<bool, Failure>(read)
    })?;
    bar.finish_and_clear();
    // What was interrupted, or not read to its end, is no part: it gets no last line.
    if let Some(part) = arguments.part.filter(|_| ends.whole) {
        let seal = Seal { content: Some(ends.content.end()), ..seal(part, &cells) };
        output::result(&format!("{COMMENT}{seal}\n"))?;
    }
    Ok(ends.fits)
}

/// What came of it.
struct Ends {
    fits: bool,
    /// Whether every row was computed and read.
    whole: bool,
    /// A hash of its rows as they land in the file.
    content: ContentHash,
}

fn seal(part: WorkPart, cells: &SweepCells) -> Seal {
    let search::Sweep { base, x, y, tune } = cells.sweep;
    let axis = |axis: &Axis| json!({"axis": axis.word(), "values": axis.values});
    let asked = json!({"x": axis(x), "y": axis(y), "metric": cells.metric.word(), "tuned": tune});
    Seal::new(part, base, &asked).of_rows(cells.sweep.len())
}
