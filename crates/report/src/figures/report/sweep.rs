//! A map as a text table, as CSV and as JSON.

use serde_json::{Value, json};

use super::caveats;
use super::text::{examples, nearest};
use crate::figures::figure::Figure;
use crate::figures::table::{Table, TableCell, pretty};
use shardscope_engine::cost;
use shardscope_engine::scenario::file::{ScenarioFile, printable};
use shardscope_engine::scenario::{self, Field, Problem, Scenario};
use shardscope_engine::search::{self, Axis, Sweep};
use shardscope_engine::units::{counted, significant};
use shardscope_library::text::csv::csv_line;

use super::{RunsIn, changed};

/// A map and what to say of it.
#[derive(Debug, Clone, Copy)]
pub struct SweepReport<'a> {
    pub sweep: &'a Sweep,
    pub metric: Figure,
    /// The cells, row by row; `None` where the sweep was interrupted before them.
    pub cells: &'a [Option<search::Cell>],
    /// Who runs the plans on which tuned cells settled.
    pub runs_in: RunsIn,
}

/// The cells of a map, each for itself: a map of any size can be written as it is computed.
#[derive(Debug, Clone, Copy)]
pub struct SweepCells<'a> {
    pub sweep: &'a Sweep,
    pub metric: Figure,
}

/// The keys of a cell in CSV and in JSON.
const KEYS: [&str; 10] =
    ["x", "y", "metric", "value", "fits", "reason", "micro_batch", "recompute", "accumulate", "global_batch"];

/// A value of an axis as a terminal may have it: a level's name may come from anywhere.
fn shown(axis: &Axis, value: &scenario::Value) -> String {
    printable(&axis.field.spec().takes.show(value))
}

fn axis(axis: &Axis) -> Value {
    json!({"axis": axis.word(), "values": axis.values})
}

impl SweepReport<'_> {
    /// Whether the sweep was interrupted.
    pub fn partial(&self) -> bool {
        self.done() < self.sweep.len()
    }

    /// As CSV with the header `x,y,metric,value,fits,reason,micro_batch,recompute,accumulate,
    /// global_batch`.
    pub fn csv(&self) -> String {
        self.table(KEYS.into_iter()).csv()
    }

    pub fn json(&self) -> String {
        // The metric stands above the cells.
        let keys = KEYS.map(|key| if key == "metric" { "" } else { key });
        let tuned = self.sweep.tune.then_some("runs_in");
        pretty(&json!({
            "format": super::FORMAT,
            "scenario": ScenarioFile::of(&self.sweep.base),
            "metric": self.metric.word(),
            "title": self.metric.title(self.sweep),
            "tuned": self.sweep.tune,
            "partial": self.partial(),
            "x": axis(&self.sweep.x),
            "y": axis(&self.sweep.y),
            "cells": self.table(keys.into_iter().chain(tuned)).objects(),
        }))
    }

    fn cells(&self) -> SweepCells<'_> {
        SweepCells { sweep: self.sweep, metric: self.metric }
    }

    /// The cells by some columns, of which the first are those of every cell, and one more who runs what is tuned.
    fn table(&self, keys: impl Iterator<Item = &'static str>) -> Table {
        let keys: Vec<&str> = keys.collect();
        let names = |index| (keys.len() > KEYS.len()).then(|| TableCell::new("", json!(self.names(index))));
        let mut table = Table::new(keys.iter().map(|key| (*key, "")));
        // Of an interrupted sweep what it has, and one cell that says so: a map may have a million.
        let (done, missing): (Vec<usize>, Vec<usize>) =
            (0..self.sweep.len()).partition(|index| self.cell(*index).is_some());
        let shown = done.into_iter().chain(missing.into_iter().take(1));
        table.extend(shown.map(|index| {
            let record = self.cells().record(index, self.cell(index), self.sweep.untuned(index).ok().as_ref());
            record.into_iter().chain(names(index)).collect()
        }));
        table
    }

    /// The launchers that run the plan on which a tuned cell settled; `None` where none is possible.
    fn names(&self, index: usize) -> Option<Vec<&'static str>> {
        let Some(search::Cell::Possible { choice, .. }) = self.cell(index) else { return None };
        let mut scenario = self.sweep.untuned(index).ok()?;
        choice.apply(&mut scenario);
        Some((self.runs_in.names)(&scenario))
    }

    /// As a table: x across, y down, and a legend under it.
    pub fn text(&self) -> String {
        let Sweep { x, y, .. } = self.sweep;
        let corner = format!("{} \\ {}", y.word(), x.word());
        let across: Vec<String> = std::iter::once(corner).chain(x.values.iter().map(|value| shown(x, value))).collect();
        let headings: Vec<&str> = across.iter().map(String::as_str).collect();
        let width = x.values.len();
        let begun = |row: usize| (row * width..(row + 1) * width).any(|index| self.cell(index).is_some());
        let rows = y.values.iter().enumerate().filter(|(row, _)| begun(*row)).map(|(row, value)| {
            let cells = (0..width).map(|column| self.mark(row * width + column));
            std::iter::once(shown(y, value)).chain(cells).collect()
        });
        let table = Table::of_texts(&headings, rows).text();
        let partial = if self.partial() {
            format!(", ? not computed\npartial: {} of {} cells", self.done(), self.sweep.len())
        } else {
            String::new()
        };
        let title = self.metric.title(self.sweep);
        let notes = [self.changed(), self.held(), self.why(), self.above_peak(), self.best()];
        let [changed, held, why, above, best] = notes.map(Option::unwrap_or_default);
        format!("{title}\n{changed}{held}\n{table}\nx does not fit, - not possible{partial}\n{why}{above}{best}")
    }

    /// The changes of every cell's hardware against the cluster's, in a line; an axis's own values are none.
    fn changed(&self) -> Option<String> {
        let Sweep { base, x, y, .. } = self.sweep;
        let mut scenario = base.clone();
        for axis in [x, y] {
            match axis.field {
                Field::Bandwidth => scenario.plan.bandwidth_factor = 1.0,
                Field::Memory => scenario.plan.memory_factor = 1.0,
                _ => {}
            }
        }
        changed(&scenario).map(|changed| format!("{changed}\n"))
    }

    /// Why cells are not possible, in a line, where that is the same for all of them.
    fn why(&self) -> Option<String> {
        let mut problems = self.cells.iter().flatten().filter_map(|cell| match cell {
            search::Cell::Impossible(problem) => Some(problem),
            search::Cell::Possible { .. } => None,
        });
        let first = problems.next()?;
        let Problem { what, fix, .. } = first;
        problems.all(|other| other == first).then(|| format!("-: {}\n", printable(&format!("{what}; {fix}"))))
    }

    /// Why there are rates of arithmetic above the device's peak, in a line, where there are any.
    fn above_peak(&self) -> Option<String> {
        let base = &self.sweep.base;
        let peak = cost::peak(base, base.plan.precision);
        let most = match self.metric {
            Figure::ModelFlops | Figure::Limit => peak.get() / 1e12,
            Figure::Mfu => 100.0,
            _ => return None,
        };
        let above = self.fitting().any(|(_, value)| value > most);
        above.then(|| caveats::above_peak(peak) + "\n")
    }

    fn done(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    fn cell(&self, index: usize) -> Option<&search::Cell> {
        self.cells.get(index)?.as_ref()
    }

    /// In a line, that all cells have the same global batch, where it is held.
    fn held(&self) -> Option<String> {
        let wanted = self.sweep.held_sequences()?;
        let methods = [&self.sweep.x, &self.sweep.y].iter().any(|axis| axis.field == Field::Method);
        let what = if methods { "examples" } else { examples(&self.sweep.base.plan) };
        Some(format!("global batch {} {what} in every cell, or {}\n", counted(wanted), nearest()))
    }

    /// A cell of the text table: its figure where it fits, else a mark.
    fn mark(&self, index: usize) -> String {
        match self.cell(index) {
            None => "?".to_owned(),
            Some(search::Cell::Impossible(_)) => "-".to_owned(),
            Some(search::Cell::Possible { summary, .. }) if !summary.fits => "x".to_owned(),
            Some(cell) => self.cells().value(index, cell).map_or_else(|| "?".to_owned(), |value| significant(value, 3)),
        }
    }

    /// The cells that fit, with their figures.
    fn fitting(&self) -> impl Iterator<Item = (usize, f64)> {
        let fitting = |index| self.cell(index).filter(|cell| cell.fits());
        (0..self.sweep.len()).filter_map(move |index| Some((index, self.cells().value(index, fitting(index)?)?)))
    }

    /// The best cell that fits, in a line.
    fn best(&self) -> Option<String> {
        let better = |value: f64| if self.metric.more_is_better() { value } else { -value };
        let (index, value) =
            self.fitting().reduce(|best, next| if better(next.1) > better(best.1) { next } else { best })?;
        let [across, down] =
            self.cells().place(index).map(|(axis, value)| format!("{} {}", axis.word(), shown(axis, value)));
        let names = self.sweep.tune.then(|| self.names(index)).flatten();
        let runs = names.map_or_else(String::new, |names| format!(", runs in {}", RunsIn::joined(&names)));
        Some(format!("best: {} at {across}, {down}{runs}\n", significant(value, 3)))
    }
}

impl SweepCells<'_> {
    pub fn header() -> String {
        KEYS.join(",") + "\n"
    }

    /// The line of a cell in CSV, its figures by its scenario before it was tuned; without the cell, that the sweep was
    /// interrupted before it.
    pub fn line(&self, index: usize, cell: Option<&search::Cell>, scenario: Option<&Scenario>) -> String {
        csv_line(self.record(index, cell, scenario).iter().map(TableCell::csv))
    }

    fn value(&self, index: usize, cell: &search::Cell) -> Option<f64> {
        let search::Cell::Possible { summary, .. } = cell else { return None };
        self.metric.mapped(summary, self.sweep, index)
    }

    fn record(
        &self,
        index: usize,
        cell: Option<&search::Cell>,
        scenario: Option<&Scenario>,
    ) -> [TableCell; KEYS.len()] {
        let [x, y] = self.place(index).map(|(axis, value)| {
            // Of a switch alone CSV has what people read.
            let is_switch = matches!(value, scenario::Value::Switch(_));
            TableCell::new(if is_switch { shown(axis, value) } else { String::new() }, json!(value))
        });
        let (found, choice) = match cell {
            Some(search::Cell::Possible { summary, choice }) => {
                (scenario.map(|scenario| (summary, scenario)), Some(choice))
            }
            _ => (None, None),
        };
        let figure = found.and_then(|(summary, scenario)| self.metric.finite(summary, scenario));
        // Of a step, all devices together.
        let sequences = found
            .map(|(summary, scenario)| (summary.tokens_per_step / f64::from(scenario.plan.sequence)).round() as u64);
        let fits = cell.map(search::Cell::fits);
        let of = |value: Value| TableCell::new("", value);
        [
            x,
            y,
            of(self.metric.word().into()),
            of(figure.into()),
            of(fits.into()),
            of(reason(cell).into()),
            of(choice.map(|choice| choice.micro_batch).into()),
            of(choice.map(|choice| choice.recompute.to_string()).into()),
            of(choice.map(|choice| choice.accumulate).into()),
            of(sequences.into()),
        ]
    }

    /// The values of a cell's column and row.
    fn place(&self, index: usize) -> [(&Axis, &scenario::Value); 2] {
        let Sweep { x, y, .. } = self.sweep;
        let width = x.values.len();
        [(x, &x.values[index % width]), (y, &y.values[index / width])]
    }
}

/// Why a cell has no figure, or does not fit.
fn reason(cell: Option<&search::Cell>) -> Option<String> {
    match cell {
        None => Some("not computed: the sweep was interrupted".to_owned()),
        Some(search::Cell::Impossible(Problem { what, .. })) => Some(printable(&format!("not possible: {what}"))),
        Some(search::Cell::Possible { summary, .. }) if !summary.fits => {
            let (peak, capacity) = (summary.memory.peak, summary.memory.capacity);
            Some(format!("does not fit: needs {peak} of {capacity}"))
        }
        Some(search::Cell::Possible { .. }) => None,
    }
}
