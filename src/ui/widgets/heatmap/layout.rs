//! Which cells of a map are in view, and where.

use ratatui::layout::Rect;

use crate::ui::widgets::text::columns;

/// Where everything stands.
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
