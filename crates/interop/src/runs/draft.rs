//! A row of measured runs while it is read: its cells, and where each comes from.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::report::ImportReport;
use shardscope_engine::text::printable;

/// Cells by column, with what is reported of them.
#[derive(Debug, Default)]
pub(crate) struct RowDraft {
    /// What stands in each column; one without is blank.
    pub cells: BTreeMap<String, String>,
    /// Where it comes from.
    pub report: ImportReport,
    notes: Vec<String>,
}

impl RowDraft {
    /// A cell that a line gives.
    pub fn take(&mut self, column: &str, value: impl Display, place: impl Display) {
        self.report.take(column, &value, place);
        self.cells.insert(column.to_owned(), printable(&value.to_string()));
    }

    /// A cell that no line gives, and whose default it is.
    pub fn assume(&mut self, column: &str, value: &str, why: &str) {
        self.report.assume(column, value, why);
        self.cells.insert(column.to_owned(), value.to_owned());
    }

    /// A cell that is left blank, and the option that fills it.
    pub fn leave(&mut self, column: &str, why: impl Display) {
        self.report.assume(column, "blank", why);
    }

    /// What the row's notes say beside its cells.
    pub fn note(&mut self, note: impl Display, place: impl Display) {
        self.report.take("notes", &note, place);
        self.notes.push(printable(&note.to_string()));
    }

    /// The number of a cell.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.cells.get(column)?.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
    }

    /// The cells with their notes in one.
    pub fn close(mut self) -> (BTreeMap<String, String>, ImportReport) {
        if !self.notes.is_empty() {
            self.cells.entry("notes".to_owned()).or_insert_with(|| self.notes.join("; "));
        }
        (self.cells, self.report)
    }
}
