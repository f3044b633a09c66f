//! Lines between cells of a map whose letters differ.

use ratatui::buffer::Buffer;

use super::Heatmap;
use super::layout::CellLayout;
use crate::ui::theme::Role;
use crate::ui::widgets::text::put;

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

/// Where lines meet that come from above, below, left and right.
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
