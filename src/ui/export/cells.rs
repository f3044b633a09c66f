//! The cells of a screen that are written, row by row.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Line;

/// The rows of a screen: each cell with its column; what a wide glyph covers is left out.
pub(super) fn rows(buf: &Buffer) -> Vec<Vec<(u16, &Cell)>> {
    let area = buf.area;
    let row = |y| {
        let mut cells = Vec::new();
        let mut x = area.left();
        while x < area.right() {
            let Some(cell) = buf.cell((x, y)) else { break };
            cells.push((x - area.left(), cell));
            // Behind a wide glyph ratatui keeps a cell that is never shown.
            x += columns(cell).max(1);
        }
        cells
    };
    (area.top()..area.bottom()).map(row).collect()
}

/// A row without the cells at its end that show nothing.
pub(super) fn trimmed<'a, 'b>(row: &'a [(u16, &'b Cell)]) -> &'a [(u16, &'b Cell)] {
    let blank = |cell: &Cell| {
        cell.symbol().trim().is_empty()
            && cell.bg == Color::Reset
            && !cell.modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED)
    };
    let end = row.iter().rposition(|(_, cell)| !blank(cell)).map_or(0, |last| last + 1);
    &row[..end]
}

/// Columns that a cell's glyph takes.
pub(super) fn columns(cell: &Cell) -> u16 {
    u16::try_from(Line::from(cell.symbol()).width()).unwrap_or(1)
}
