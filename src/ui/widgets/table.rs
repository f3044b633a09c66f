//! A table of figures as lines: its headings, and a line for each row, in columns of given widths.

use ratatui::text::{Line, Span};

use super::text::{pad, width};
use crate::ui::theme::{Role, Theme};
use shardscope_report::figures::{CellTone, Table, TableCell};

/// The alignment of a column: names to the left, numbers to the right, in so many screen columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aligned {
    /// To the left.
    Left(usize),
    /// To the left, after so many blanks.
    Indented(usize, usize),
    /// To the right.
    Right(usize),
}

impl Aligned {
    /// Columns that it takes.
    pub fn width(self) -> usize {
        match self {
            Self::Left(columns) | Self::Right(columns) => columns,
            Self::Indented(blanks, columns) => blanks + columns,
        }
    }

    fn text(self, text: &str) -> String {
        match self {
            Self::Left(columns) => pad(text, columns),
            Self::Indented(blanks, columns) => format!("{}{}", " ".repeat(blanks), pad(text, columns)),
            Self::Right(columns) => format!("{}{text}", " ".repeat(columns.saturating_sub(width(text)))),
        }
    }
}

/// The headings as a line, each in the role of its place.
pub fn headings(table: &Table, columns: &[Aligned], role: impl Fn(usize) -> Role, theme: Theme) -> Line<'static> {
    let spans = table.headings().zip(columns).enumerate();
    spans.map(|(at, (heading, column))| Span::styled(column.text(heading), theme.style(role(at)))).collect()
}

/// The rows. What a row says in place of its numbers runs on over their columns.
pub fn lines(table: &Table, columns: &[Aligned], theme: Theme) -> Vec<Line<'static>> {
    let line = |row: &Vec<TableCell>| {
        let runs_on = row.len() < columns.len();
        let cells = row.iter().zip(columns).enumerate().map(|(at, (cell, column))| {
            let text = if runs_on && at + 1 == row.len() { cell.text().to_owned() } else { column.text(cell.text()) };
            let role = match cell.tone() {
                CellTone::Plain => return Span::raw(text),
                CellTone::Aside => Role::Dim,
                CellTone::Name => Role::Title,
                CellTone::Good => Role::Good,
                CellTone::Bad => Role::Bad,
            };
            Span::styled(text, theme.style(role))
        });
        cells.collect()
    };
    table.rows().iter().map(line).collect()
}
