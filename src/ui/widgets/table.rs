//! A table of figures as lines: its headings, and a line for each row, in columns of given widths.

use ratatui::text::{Line, Span};

use super::text::pad;
use crate::figures::{CellTone, Table, TableCell};
use crate::ui::theme::{Role, Theme};

/// How a column is set: names to the left, numbers to the right, in so many screen columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aligned {
    /// To the left.
    Left(usize),
    /// To the right.
    Right(usize),
}

impl Aligned {
    fn text(self, text: &str) -> String {
        match self {
            Self::Left(width) => pad(text, width),
            Self::Right(width) => format!("{text:>width$}"),
        }
    }
}

/// The headings, as one text.
pub fn headings(table: &Table, columns: &[Aligned]) -> String {
    table.headings().zip(columns).map(|(heading, column)| column.text(heading)).collect()
}

/// The headings as a line, one of them where the table is sorted.
pub fn heading_line(table: &Table, columns: &[Aligned], sorted: Option<usize>, theme: Theme) -> Line<'static> {
    let span = |(at, (heading, column)): (usize, (&str, &Aligned))| {
        let role = if sorted == Some(at) { Role::Cursor } else { Role::Title };
        Span::styled(column.text(heading), theme.style(role))
    };
    table.headings().zip(columns).enumerate().map(span).collect()
}

/// The rows. What a row says in place of its numbers runs on over their columns.
pub fn lines(table: &Table, columns: &[Aligned], theme: Theme) -> Vec<Line<'static>> {
    let line = |row: &Vec<TableCell>| {
        let runs_on = row.len() < columns.len();
        let cells = row.iter().zip(columns).enumerate().map(|(at, (cell, column))| {
            let text = if runs_on && at + 1 == row.len() { cell.text().to_owned() } else { column.text(cell.text()) };
            match cell.tone() {
                CellTone::Plain => Span::raw(text),
                CellTone::Aside => Span::styled(text, theme.style(Role::Dim)),
                CellTone::Bad => Span::styled(text, theme.style(Role::Bad)),
            }
        });
        cells.collect()
    };
    table.rows().iter().map(line).collect()
}
