//! A row of measured runs being read: its cells, and the source of each.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::report::ImportReport;
use shardscope_engine::text::printable;

/// Cells by column, with their report.
#[derive(Debug, Default)]
pub(crate) struct RowDraft {
    /// Cells by column; a missing one is blank.
    pub cells: BTreeMap<String, String>,
    /// Sources of the cells.
    pub report: ImportReport,
    notes: Vec<String>,
}

impl RowDraft {
    /// Sets a cell that a line gives.
    pub fn take(&mut self, column: &str, value: impl Display, place: impl Display) {
        self.report.take(column, &value, place);
        self.cells.insert(column.to_owned(), printable(&value.to_string()));
    }

    /// Sets a cell that no line gives to a default.
    pub fn assume(&mut self, column: &str, value: &str, why: &str) {
        self.report.assume(column, value, why);
        self.cells.insert(column.to_owned(), value.to_owned());
    }

    /// Leaves a cell blank, and notes the option that fills it.
    pub fn leave(&mut self, column: &str, why: impl Display) {
        self.report.assume(column, "blank", why);
    }

    /// Adds a note to the row.
    pub fn note(&mut self, note: impl Display, place: impl Display) {
        self.report.take("notes", &note, place);
        self.notes.push(printable(&note.to_string()));
    }

    /// A cell's number, if positive and finite.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.cells.get(column)?.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
    }

    /// The cells, with all notes joined in one.
    pub fn close(mut self) -> (BTreeMap<String, String>, ImportReport) {
        if !self.notes.is_empty() {
            self.cells.entry("notes".to_owned()).or_insert_with(|| self.notes.join("; "));
        }
        (self.cells, self.report)
    }
}
