//! A list: its lines, the row that has the cursor, which lines are in view, and what lies under the mouse. Not for
//! moving the cursor, and not for what the lines say.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Scrollbar, ScrollbarOrientation, ScrollbarState, StatefulWidget, Widget};

use super::text::{draw_line, fit, put, width};
use crate::ui::theme::{Role, Theme};

/// A line with the row that it belongs to: a row may have several lines, headings and blanks belong to none.
pub type ListLine<'a> = (Line<'a>, Option<usize>);

/// Lines of which each is a row.
pub fn numbered<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Vec<ListLine<'a>> {
    lines.into_iter().zip((0..).map(Some)).collect()
}

/// Lines one under another, of which those around the cursor are in view.
///
/// ```text
/// throughput with another plan       a heading
///  recompute none         +4.1 %     row 0
/// ▸micro-batch 4          +2.0 %     row 1, under the cursor
///  needs 61.0 GiB                    row 1 as well
/// ```
#[derive(Debug, Clone, Default)]
pub struct RowList<'a> {
    pub theme: Theme,
    /// All lines.
    pub lines: Vec<ListLine<'a>>,
    /// The row under the cursor.
    pub cursor: Option<usize>,
    /// Whether that row is highlighted.
    pub focused: bool,
    /// Whether that row has a mark in its first column, which its line leaves blank.
    pub marked: bool,
    /// The first line in view, where the keys scroll instead of moving a cursor.
    pub top: Option<usize>,
    /// Whether a bar on the right says which lines are in view, if not all are.
    pub scrollbar: bool,
}

impl RowList<'_> {
    /// The row at a place.
    pub fn row_at(&self, area: Rect, at: Position) -> Option<usize> {
        self.row_in(&[area], at)
    }

    /// The row at a place of columns that the list fills one after another.
    pub fn row_in(&self, columns: &[Rect], at: Position) -> Option<usize> {
        // A list that scrolls as a whole has no row to choose.
        let mut seen = self.seen(columns).filter(|_| self.top.is_none());
        seen.find(|(_, place)| place.contains(at)).and_then(|((_, row), _)| *row)
    }

    /// The place of the first line of the row under the cursor, if an area shows it.
    pub fn cursor_place(&self, area: Rect) -> Option<Rect> {
        self.cursor_in(&[area])
    }

    fn cursor_in(&self, columns: &[Rect]) -> Option<Rect> {
        let mut seen = self.seen(columns);
        seen.find(|((_, row), _)| row.is_some() && *row == self.cursor).map(|(_, place)| place)
    }

    /// Draws it in columns, of which each goes on where the one before ended.
    pub fn render_in(&self, columns: &[Rect], buf: &mut Buffer) {
        for ((line, _), place) in self.seen(columns) {
            draw_line(buf, place, line, self.theme);
        }
        let cursor = self.cursor_in(columns);
        // One ground under all of the row: turned over, colours of the line would be patches in it. The mark comes last, over
        // the blank that lines leave.
        if let Some(place) = cursor.filter(|_| self.focused) {
            let plain = self.theme.style(Role::Cursor).fg(Color::Reset).bg(Color::Reset);
            buf.set_style(place, plain.remove_modifier(Modifier::DIM));
        }
        if let Some(place) = cursor.filter(|place| self.marked && !place.is_empty()) {
            put(buf, place.x, place.y, self.theme.glyphs().pinned, Style::new());
        }
    }

    /// The lines that columns show, each with its place.
    fn seen(&self, columns: &[Rect]) -> impl Iterator<Item = (&ListLine<'_>, Rect)> {
        let room = columns.iter().map(|column| usize::from(column.height)).sum();
        self.lines[self.in_view(room)].iter().zip(columns.iter().flat_map(|column| column.rows()))
    }

    /// The lines that so much room shows.
    fn in_view(&self, room: usize) -> Range<usize> {
        let count = self.lines.len();
        let at = match (self.top, self.cursor) {
            (Some(top), _) => return top.min(count.saturating_sub(room))..count,
            // From the top as long as the cursor is on the first row, so that the headings over it are seen.
            (None, None | Some(0)) => 0,
            (None, cursor) => self.lines.iter().rposition(|(_, row)| *row == cursor).unwrap_or(0),
        };
        in_view(at, count, room)
    }
}

impl Widget for &RowList<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let overflows = self.scrollbar && self.lines.len() > usize::from(area.height);
        let inner = Rect { width: area.width.saturating_sub(u16::from(overflows)), ..area };
        self.render_in(&[inner], buf);
        if overflows {
            let first = self.in_view(usize::from(area.height)).start;
            scrollbar(self.theme, self.lines.len(), first, area, buf);
        }
    }
}

/// The rows of a list that are in view: so many of `count`, the one with the keys in their middle, or as near as the
/// ends allow.
pub fn in_view(row: usize, count: usize, room: usize) -> Range<usize> {
    let room = room.clamp(1, count.max(1)).min(count);
    let first = row.saturating_sub(room / 2).min(count - room);
    first..first + room
}

/// A bar at the right edge that shows which of `rows` rows are in view.
fn scrollbar(theme: Theme, rows: usize, offset: usize, area: Rect, buf: &mut Buffer) {
    let glyphs = theme.glyphs();
    let in_view = usize::from(area.height);
    // ratatui counts positions, of which there is one more than rows that can be scrolled away.
    let positions = rows.saturating_sub(in_view) + 1;
    let mut state = ScrollbarState::new(positions).position(offset).viewport_content_length(in_view);
    Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .begin_symbol(None)
        .end_symbol(None)
        .track_symbol(Some(glyphs.limit))
        .thumb_symbol(glyphs.shades[4])
        .style(theme.style(Role::Dim))
        .render(area, buf, &mut state);
}

/// Names to choose from with a note behind each, in two columns of `room` in all.
///
/// ```text
///   fsdp        weights, gradients and optimizer over all ranks
/// ▸ hsdp        within a node, replicated between nodes
/// ```
pub fn choices(theme: Theme, items: &[(String, String)], room: usize) -> Vec<ListLine<'static>> {
    let longest = |text: fn(&(String, String)) -> &String| items.iter().map(|item| width(text(item))).max();
    let room = room.saturating_sub(2);
    // Names may have what the notes leave, at least half.
    let notes = longest(|(_, note)| note).unwrap_or(0);
    let most = room.saturating_sub(notes + 2).max(room / 2);
    let widest = longest(|(name, _)| name).unwrap_or(0).min(most);
    let line = |(name, note): &(String, String)| {
        let name = fit(name, if note.is_empty() { room } else { widest }, theme);
        let gap = " ".repeat(widest.saturating_sub(width(&name)) + 2);
        let note = fit(note, room.saturating_sub(widest + 2), theme);
        Line::from(vec![Span::raw(format!("  {name}{gap}")), Span::styled(note, theme.style(Role::Dim))])
    };
    numbered(items.iter().map(line))
}

/// Keys and what they do, under headings, which are what has no keys.
///
/// ```text
/// Everywhere
///   q        quit
///   ?        help
/// ```
pub fn key_lines(theme: Theme, rows: Vec<(String, String)>) -> Vec<ListLine<'static>> {
    let widest = rows.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
    let line = |(keys, what): (String, String)| {
        if keys.is_empty() {
            return Line::styled(what, theme.style(Role::Title));
        }
        let gap = " ".repeat(widest - width(&keys) + 2);
        Line::from(vec![Span::styled(format!("  {keys}{gap}"), theme.style(Role::Accent)), Span::raw(what)])
    };
    numbered(rows.into_iter().map(line))
}

#[cfg(test)]
mod tests;
