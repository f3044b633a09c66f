//! The cells of a map that are in view and their places, and the lines between those whose letters differ.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Heatmap;
use crate::ui::theme::Role;
use crate::ui::widgets::text::{columns, put};

/// The places of headers, cells and legend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CellLayout {
    /// Columns of the row names, with the blank behind them.
    pub gutter: u16,
    /// Columns of a cell.
    pub cell: u16,
    /// The first column of the map in view.
    pub first_column: usize,
    /// Whether the title of the rows has a line of its own.
    pub down_title: bool,
    /// The line of the legend.
    pub legend: Option<u16>,
    /// Lines from one row to the next: 2 leaves one for a contour.
    pub spacing: u16,
    visible: (usize, usize),
    first_row: usize,
    origin: (u16, u16),
}

/// A cell wider than this over its text reads worse, not better.
const AIR: u16 = 10;

impl CellLayout {
    /// A map of `count` columns and rows with texts of `text` columns, in `area`; `None` if no cell has room. With
    /// `contour` there is a line between rows, if that leaves all in view.
    pub(super) fn new(
        area: Rect,
        gutter: u16,
        text: u16,
        count: (usize, usize),
        cursor: (usize, usize),
        contour: bool,
    ) -> Option<Self> {
        let room = area.width.checked_sub(gutter)?;
        let cell = room / columns(count.0).max(1);
        let cell = cell.min(text + AIR).max(text + 2);
        let legend = area.height >= 4;
        // Lines between rows, but not after the last.
        let lines = |spacing: u16| (columns(count.1).saturating_mul(spacing)).saturating_sub(spacing - 1);
        // All rows in view are worth more than lines between them.
        let spacing = if contour && lines(2).saturating_add(1 + u16::from(legend)) <= area.height { 2 } else { 1 };
        let rows = lines(spacing);
        // A header, the legend; then the title of the rows and a blank before the legend, if there is room.
        let spare = area.height.saturating_sub(1 + u16::from(legend)).saturating_sub(rows);
        let (down_title, blank) = (spare >= 1, spare >= 2);
        let top = area.y + 1 + u16::from(down_title);
        let bottom = area.bottom().saturating_sub(u16::from(legend));
        // Rounded up: the last row needs no line under it.
        let seen = usize::from(bottom.saturating_sub(top).div_ceil(spacing)).min(count.1);
        let visible = (usize::from(room / cell).min(count.0), seen);
        let after = top + columns(visible.1).saturating_mul(spacing).saturating_sub(spacing - 1) + u16::from(blank);
        (visible.0 > 0 && visible.1 > 0).then(|| Self {
            gutter,
            cell,
            down_title,
            legend: legend.then_some(after.min(area.bottom() - 1)),
            spacing,
            first_column: first(cursor.0, visible.0, count.0),
            first_row: first(cursor.1, visible.1, count.1),
            visible,
            origin: (area.x + gutter, top),
        })
    }

    /// The columns of the map in view, each with where it begins.
    pub(super) fn columns(&self) -> impl Iterator<Item = (usize, u16)> {
        let Self { first_column, origin, cell, .. } = *self;
        (0..self.visible.0).map(move |index| (first_column + index, origin.0 + columns(index) * cell))
    }

    /// The rows of the map in view, each with its line.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, u16)> {
        let Self { first_row, origin, spacing, .. } = *self;
        (0..self.visible.1).map(move |index| (first_row + index, origin.1 + columns(index) * spacing))
    }
}

/// The first of `visible` items out of `count` that keeps the cursor in the middle, or as near as the ends allow.
fn first(cursor: usize, visible: usize, count: usize) -> usize {
    cursor.saturating_sub(visible / 2).min(count.saturating_sub(visible))
}

impl Heatmap<'_> {
    /// A cell's letter.
    pub(super) fn letter(&self, (column, row): (usize, usize)) -> Option<char> {
        self.letters.get(row * self.columns.len() + column).copied().flatten()
    }

    /// Whether a line parts two cells.
    fn parted(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        let inside = other.0 < self.columns.len() && other.1 < self.rows.len();
        inside && self.letter(one).zip(self.letter(other)).is_some_and(|(one, other)| one != other)
    }

    /// Lines beside cells, and where there is a line between rows, under them and at the corners.
    pub(super) fn draw_contour(&self, layout: &CellLayout, buf: &mut Buffer) {
        let (lines, style) = (&self.theme.glyphs().lines, self.theme.style(Role::Title));
        let beside = |column: usize, row: usize| self.parted((column, row), (column + 1, row));
        let under = |column: usize, row: usize| self.parted((column, row), (column, row + 1));
        let last = layout.rows().last().map_or(0, |(row, _)| row);
        for (row, y) in layout.rows() {
            for (column, x) in layout.columns() {
                let edge = x + layout.cell - 1;
                // The cursor's half blocks are in that column.
                let by_cursor = self.cursor == Some((column, row)) || self.cursor == Some((column + 1, row));
                if beside(column, row) && !by_cursor {
                    put(buf, edge, y, lines.vertical, style);
                }
                if layout.spacing < 2 || row == last {
                    continue;
                }
                if under(column, row) {
                    (x..edge).for_each(|x| put(buf, x, y + 1, lines.horizontal, style));
                }
                // From above, below, left and right of the corner under this cell.
                let ways = [beside(column, row), beside(column, row + 1), under(column, row), under(column + 1, row)];
                if let Some(corner) = corner(ways, lines) {
                    put(buf, edge, y + 1, corner, style);
                }
            }
        }
    }
}

/// The glyph at which lines meet that come from above, below, left and right.
const fn corner(ways: [bool; 4], lines: &ratatui::symbols::line::Set<'static>) -> Option<&'static str> {
    Some(match ways {
        [true, true, true, true] => lines.cross,
        [true, true, true, false] => lines.vertical_left,
        [true, true, false, true] => lines.vertical_right,
        [true, false, true, true] => lines.horizontal_up,
        [false, true, true, true] => lines.horizontal_down,
        [true, false, true, false] => lines.bottom_right,
        [true, false, false, true] => lines.bottom_left,
        [false, true, true, false] => lines.top_right,
        [false, true, false, true] => lines.top_left,
        [false, false, true, _] | [false, false, _, true] => lines.horizontal,
        [true, _, false, false] | [_, true, false, false] => lines.vertical,
        [false, false, false, false] => return None,
    })
}
