//! The table of keys, as the help shows it. Not for what keys there are.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Row, StatefulWidget, Table, TableState, Widget};

use super::picker::scrollbar;
use super::text::{columns, width};
use crate::ui::theme::{Role, Theme};

/// Keys and what they do, under headings; scrolled by the caller.
///
/// ```text
/// Everywhere
///   q        quit
///   ?        help
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTable<'a> {
    theme: Theme,
    rows: &'a [(String, String)],
    offset: usize,
    selected: Option<usize>,
}

impl<'a> KeyTable<'a> {
    /// Rows of keys and what they do; a row without keys is a heading.
    pub const fn new(theme: Theme, rows: &'a [(String, String)]) -> Self {
        Self { theme, rows, offset: 0, selected: None }
    }

    /// The first row to show; more than the last possible shows the end.
    #[must_use = "method moves the value of self and returns the modified value"]
    pub const fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The row under the cursor.
    #[must_use = "method moves the value of self and returns the modified value"]
    pub const fn selected(mut self, row: Option<usize>) -> Self {
        self.selected = row;
        self
    }

    fn draw_table(&self, offset: usize, area: Rect, buf: &mut Buffer) {
        let widest = self.rows.iter().map(|(keys, _)| columns(width(keys))).max().unwrap_or(0);
        let row = |(keys, what): &'a (String, String)| {
            let keys = Line::styled(format!("  {keys}"), self.theme.style(Role::Accent));
            Row::new([keys, Line::raw(what.as_str())])
        };
        let table = Table::new(self.rows.iter().map(row), [Constraint::Length(widest + 2), Constraint::Fill(1)])
            .column_spacing(2);
        StatefulWidget::render(table, area, buf, &mut TableState::new().with_offset(offset));
        // A heading spans both columns, which a table can't do.
        let shown = self.rows.iter().skip(offset).zip(area.top()..area.bottom());
        for ((_, heading), y) in shown.filter(|((keys, _), _)| keys.is_empty()) {
            let row = Rect { y, height: 1, ..area };
            Clear.render(row, buf);
            Line::styled(heading.as_str(), self.theme.style(Role::Title)).render(row, buf);
        }
        let at = self.selected.and_then(|row| row.checked_sub(offset)).and_then(|row| area.rows().nth(row));
        if let Some(row) = at {
            buf.set_style(row, self.theme.style(Role::Cursor));
        }
    }
}

impl Widget for &KeyTable<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let hidden = self.rows.len().saturating_sub(area.height.into());
        let offset = self.offset.min(hidden);
        let inner = Rect { width: area.width.saturating_sub(u16::from(hidden > 0)), ..area };
        self.draw_table(offset, inner, buf);
        if hidden > 0 {
            scrollbar(self.theme, self.rows.len(), offset, area, buf);
        }
    }
}

#[cfg(test)]
mod tests;
