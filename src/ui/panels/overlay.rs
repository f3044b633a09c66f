//! A box over the panels with a line to type on, a list and lines under it: the shape of every layer.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use tui_input::Input;

use super::boxed;
use crate::app::layer::list::Filter;
use crate::app::state::pointing::PointerTarget;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::choices;
use crate::ui::widgets::text::{columns, draw_line, draw_lines};

/// Rows of a list that stay beside what is under it.
pub(super) const LEAST: u16 = 3;

/// A box over the panels: a line to type on, if there is one, a list, and lines under it.
#[derive(Default)]
pub(super) struct Overlay<'a> {
    pub(super) theme: Theme,
    /// Columns and rows that it takes, as far as there is room.
    pub(super) size: (u16, u16),
    pub(super) title: String,
    pub(super) note: String,
    pub(super) prompt: Option<Prompt<'a>>,
    pub(super) list: RowList<'a>,
    pub(super) below: Vec<Line<'a>>,
}

/// A line to type on.
pub(super) enum Prompt<'a> {
    /// Text behind a mark, and a hint while there is none.
    Typed(&'static str, &'a Input, &'static str),
    /// Text in the row under the cursor, from a column on.
    InRow(u16, &'a Input),
    /// Text that replaces the old value, which is highlighted until then.
    Replaced(&'a Input),
}

impl<'a> Prompt<'a> {
    /// The text that filters a list.
    pub(super) fn filter(filter: &'a Filter) -> Self {
        Self::Typed("> ", &filter.0, "type to filter")
    }
}

impl Overlay<'_> {
    /// Draws it; gives the place of the text cursor, if there is one.
    pub(super) fn render(&self, area: Rect, buf: &mut Buffer) -> Option<Position> {
        let [outside, line, list, below] = self.places(area);
        Clear.render(outside, buf);
        boxed(self.theme, true, &self.title, &self.note, outside, buf);
        self.list.render(list, buf);
        draw_lines(buf, below, &self.below, self.theme);
        match self.prompt.as_ref()? {
            Prompt::Typed(mark, typed, hint) => {
                let cursor = input(self.theme, mark, typed, line, buf);
                if typed.value().is_empty() {
                    let free = Rect { x: cursor.x, ..line }.intersection(line);
                    draw_line(buf, free, &Line::styled(*hint, self.theme.style(Role::Dim)), self.theme);
                }
                Some(cursor)
            }
            Prompt::Replaced(old) => {
                let cursor = input(self.theme, "", old, line, buf);
                buf.set_style(Rect { width: cursor.x - line.x, ..line }, self.theme.style(Role::Cursor));
                Some(cursor)
            }
            Prompt::InRow(column, typed) => {
                let row = self.list.cursor_place(list)?;
                let free = Rect { x: row.x.saturating_add(*column), ..row }.intersection(row);
                Clear.render(free, buf);
                buf.set_style(free, self.theme.style(Role::Cursor));
                Some(input(self.theme, "", typed, free, buf))
            }
        }
    }

    /// Finds its target at a place.
    pub(super) fn target(&self, area: Rect, at: Position) -> PointerTarget {
        let [outside, _, list, _] = self.places(area);
        match self.list.row_at(list, at) {
            Some(row) => PointerTarget::Item(row),
            None if outside.contains(at) => PointerTarget::Layer,
            None => PointerTarget::Nothing,
        }
    }

    /// The areas of the box, and in it of the line to type on, the list and the lines under it.
    fn places(&self, area: Rect) -> [Rect; 4] {
        let outside = middle(self.size, area);
        let inside = outside.inner(Margin::new(1, 1));
        // Text in a row needs no line of its own.
        let line = u16::from(!matches!(self.prompt, None | Some(Prompt::InRow(..))));
        let below = columns(self.below.len()).min(inside.height.saturating_sub(line + LEAST));
        let rows = [Constraint::Length(line), Constraint::Fill(1), Constraint::Length(below)];
        let [line, list, below] = inside.layout(&Layout::vertical(rows));
        [outside, line, list, below]
    }
}

/// A box in the middle, as far as there is room.
fn middle(size: (u16, u16), area: Rect) -> Rect {
    area.centered(Constraint::Length(size.0), Constraint::Length(size.1))
}

/// Columns and rows inside a box in the middle.
pub(super) fn room(size: (u16, u16), area: Rect) -> (usize, usize) {
    let inside = middle(size, area).inner(Margin::new(1, 1));
    (inside.width.into(), inside.height.into())
}

/// Names with notes, one of which is chosen, in so many columns and rows; what is more scrolls beside a bar.
pub(super) fn picked(
    theme: Theme,
    items: &[(String, String)],
    cursor: usize,
    (width, height): (usize, usize),
) -> RowList<'static> {
    let lines = choices(theme, items, width.saturating_sub(usize::from(items.len() > height)));
    RowList { theme, lines, cursor: Some(cursor), focused: true, marked: true, top: None, scrollbar: true }
}

/// A line being typed, scrolled so that its cursor is in sight; gives the place of the cursor.
pub(super) fn input(theme: Theme, prompt: &str, input: &Input, area: Rect, buf: &mut Buffer) -> Position {
    let before = u16::try_from(Span::raw(prompt).width()).unwrap_or(0).min(area.width);
    let text = Rect { x: area.x + before, width: area.width - before, ..area };
    let scroll = input.visual_scroll(usize::from(text.width.saturating_sub(1)));
    let shown: String = input.value().chars().skip(scroll).collect();
    draw_line(buf, area, &Line::styled(prompt.to_owned(), theme.style(Role::Accent)), theme);
    draw_line(buf, text, &Line::raw(shown), theme);
    let column = u16::try_from(input.visual_cursor().saturating_sub(scroll)).unwrap_or(u16::MAX);
    Position::new(text.x.saturating_add(column), text.y)
}
