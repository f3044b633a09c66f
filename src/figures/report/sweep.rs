//! A map as a text table, as CSV and as JSON.

use serde::Serialize;

use crate::cost;
use crate::figures::figure::Figure;
use crate::scenario::file::{ScenarioFile, printable};
use crate::scenario::{Field, Problem, Value};
use crate::search::{Axis, Cell, Sweep};
use crate::units::significant;

use super::changed;

/// A map and what to say of it.
#[derive(Debug, Clone, Copy)]
pub struct SweepReport<'a> {
    /// What was swept.
    pub sweep: &'a Sweep,
    /// The figure to show.
    pub metric: Figure,
    /// The cells, row by row; `None` where the sweep was interrupted before them.
    pub cells: &'a [Option<Cell>],
}

/// One row of the CSV, one cell of the JSON.
#[derive(Debug, Serialize)]
struct Record {
    x: Value,
    y: Value,
    value: Option<f64>,
    fits: Option<bool>,
    reason: Option<String>,
    micro_batch: Option<u32>,
    recompute: Option<String>,
    accumulate: Option<u32>,
}

/// A value of an axis as a terminal may have it: a level's name may come from anywhere.
fn shown(value: &Value) -> String {
    printable(&value.to_string())
}

/// An axis as JSON.
#[derive(Debug, Serialize)]
struct AxisRecord {
    axis: &'static str,
    values: Vec<Value>,
}

impl AxisRecord {
    fn of(axis: &Axis) -> Self {
        Self { axis: axis.word(), values: axis.values.clone() }
    }
}

/// A map as JSON.
#[derive(Debug, Serialize)]
struct Document {
    format: u32,
    scenario: ScenarioFile,
    metric: &'static str,
    title: String,
    tuned: bool,
    partial: bool,
    x: AxisRecord,
    y: AxisRecord,
    cells: Vec<Record>,
}

impl SweepReport<'_> {
    /// Whether the sweep was interrupted.
    pub fn partial(&self) -> bool {
        self.done() < self.sweep.len()
    }

    /// As CSV with the header `x,y,metric,value,fits,reason,micro_batch,recompute,accumulate`.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([
            "x",
            "y",
            "metric",
            "value",
            "fits",
            "reason",
            "micro_batch",
            "recompute",
            "accumulate",
        ])?;
        for record in self.records() {
            writer.write_record([
                record.x.to_string(),
                record.y.to_string(),
                self.metric.word().to_owned(),
                or_empty(record.value),
                or_empty(record.fits),
                or_empty(record.reason),
                or_empty(record.micro_batch),
                or_empty(record.recompute),
                or_empty(record.accumulate),
            ])?;
        }
        let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(&Document {
            format: super::FORMAT,
            scenario: ScenarioFile::of(&self.sweep.base),
            metric: self.metric.word(),
            title: self.metric.title(&self.sweep.base),
            tuned: self.sweep.tune,
            partial: self.partial(),
            x: AxisRecord::of(&self.sweep.x),
            y: AxisRecord::of(&self.sweep.y),
            cells: self.records().collect(),
        })
    }

    /// As a table: x across, y down, and a legend under it.
    pub fn text(&self) -> String {
        let Sweep { x, y, .. } = self.sweep;
        let corner = format!("{} \\ {}", y.word(), x.word());
        let header = std::iter::once(corner).chain(x.values.iter().map(shown));
        let mut rows: Vec<Vec<String>> = vec![header.collect()];
        for (row, value) in y.values.iter().enumerate() {
            let cells = (0..x.values.len()).map(|column| self.mark(row * x.values.len() + column));
            rows.push(std::iter::once(shown(value)).chain(cells).collect());
        }
        let partial = if self.partial() {
            format!(", ? not computed\npartial: {} of {} cells", self.done(), self.sweep.len())
        } else {
            String::new()
        };
        let (title, table) = (self.metric.title(&self.sweep.base), aligned(&rows));
        let notes = [self.changed(), self.why(), self.above_peak(), self.best()];
        let [changed, why, above, best] = notes.map(Option::unwrap_or_default);
        format!("{title}\n{changed}\n{table}\nx does not fit, - not possible{partial}\n{why}{above}{best}")
    }

    /// In what the hardware of every cell differs from the cluster's, in a line: what an axis sets is not that.
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
            Cell::Impossible(problem) => Some(problem),
            Cell::Possible { .. } => None,
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
        let shown =
            self.cells.iter().flatten().filter(|cell| matches!(cell, Cell::Possible { summary, .. } if summary.fits));
        let above = shown.filter_map(|cell| self.value(cell)).any(|value| value > most);
        above.then(|| format!("above the peak, {peak}: causal kernels skip half of the scores, all of which count\n"))
    }

    fn done(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    fn cell(&self, index: usize) -> Option<&Cell> {
        self.cells.get(index)?.as_ref()
    }

    fn value(&self, cell: &Cell) -> Option<f64> {
        let Cell::Possible { summary, .. } = cell else { return None };
        Some(self.metric.plotted(summary, &self.sweep.base)).filter(|value| value.is_finite())
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        (0..self.sweep.len()).map(|index| self.record(index))
    }

    fn record(&self, index: usize) -> Record {
        let Sweep { x, y, .. } = self.sweep;
        let width = x.values.len();
        let cell = self.cell(index);
        let choice = match cell {
            Some(Cell::Possible { choice, .. }) => Some(choice),
            _ => None,
        };
        Record {
            x: x.values[index % width].clone(),
            y: y.values[index / width].clone(),
            value: cell.and_then(|cell| self.value(cell)),
            fits: cell.map(|cell| matches!(cell, Cell::Possible { summary, .. } if summary.fits)),
            reason: reason(cell),
            micro_batch: choice.map(|choice| choice.micro_batch),
            recompute: choice.map(|choice| choice.recompute.to_string()),
            accumulate: choice.map(|choice| choice.accumulate),
        }
    }

    /// What a table shows of a cell: its figure where it fits, else a mark.
    fn mark(&self, index: usize) -> String {
        match self.cell(index) {
            None => "?".to_owned(),
            Some(Cell::Impossible(_)) => "-".to_owned(),
            Some(Cell::Possible { summary, .. }) if !summary.fits => "x".to_owned(),
            Some(cell) => self.value(cell).map_or_else(|| "?".to_owned(), |value| significant(value, 3)),
        }
    }

    /// The best cell that fits, in a line.
    fn best(&self) -> Option<String> {
        let fitting = (0..self.sweep.len()).filter_map(|index| match self.cell(index)? {
            cell @ Cell::Possible { summary, .. } if summary.fits => Some((index, self.value(cell)?)),
            _ => None,
        });
        let better = |value: f64| if self.metric.more_is_better() { value } else { -value };
        let (index, value) = fitting.reduce(|best, next| if better(next.1) > better(best.1) { next } else { best })?;
        let Record { x, y, .. } = self.record(index);
        let (across, down) = (self.sweep.x.word(), self.sweep.y.word());
        Some(format!("best: {} at {across} {x}, {down} {y}\n", significant(value, 3)))
    }
}

/// Why a cell has no figure, or does not fit.
fn reason(cell: Option<&Cell>) -> Option<String> {
    match cell {
        None => Some("not computed: the sweep was interrupted".to_owned()),
        Some(Cell::Impossible(Problem { what, .. })) => Some(printable(&format!("not possible: {what}"))),
        Some(Cell::Possible { summary, .. }) if !summary.fits => {
            let (peak, capacity) = (summary.memory.peak, summary.memory.capacity);
            Some(format!("does not fit: needs {peak} of {capacity}"))
        }
        Some(Cell::Possible { .. }) => None,
    }
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Columns wide enough for their texts, the first one to the left, the others to the right.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
