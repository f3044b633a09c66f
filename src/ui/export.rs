//! A screen as text, as text with ANSI colours and as an SVG picture. Not for writing files.

mod svg;
mod xml;
pub use svg::svg;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use super::theme::sgr::{MODIFIERS, color_code};

/// The screen as plain text: one line per row, blanks at its end cut.
pub fn text(buf: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(buf) {
        let line: String = row.into_iter().map(|(_, cell)| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The screen as text with ANSI colours, for `cat` and `less -R`; blanks at the end of a row cut.
pub fn ansi(buf: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(buf) {
        let mut last = plain();
        for (_, cell) in trimmed(&row) {
            let style = style_of(cell);
            // A style is written where it changes: each sequence begins with 0, which takes the last one back.
            if style != last {
                text.push_str(&sgr(style));
                last = style;
            }
            text.push_str(cell.symbol());
        }
        if last != plain() {
            text.push_str("\x1b[0m");
        }
        text.push('\n');
    }
    text
}

fn style_of(cell: &Cell) -> Style {
    Style::new().fg(cell.fg).bg(cell.bg).add_modifier(cell.modifier)
}

fn plain() -> Style {
    style_of(&Cell::EMPTY)
}

/// The escape sequence that switches to a style from any other.
fn sgr(style: Style) -> String {
    let modifiers = MODIFIERS.into_iter().filter(|(modifier, ..)| style.add_modifier.contains(*modifier));
    let modifiers = modifiers.map(|(_, on, _)| on.to_string());
    let colors = [(style.fg, 30), (style.bg, 40)].into_iter().filter_map(|(color, base)| Some((color?, base)));
    let colors = colors.filter(|(color, _)| *color != Color::Reset).map(|(color, base)| color_code(color, base));
    let codes: Vec<String> = std::iter::once("0".to_owned()).chain(modifiers).chain(colors).collect();
    format!("\x1b[{}m", codes.join(";"))
}

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

#[cfg(test)]
mod tests;
