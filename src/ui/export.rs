//! A screen as text, as text with ANSI colours and as an SVG picture. Not for writing files.

mod svg;

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

pub use svg::svg;

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

/// The rows of a screen: each cell with its column; what a wide glyph covers is left out.
fn rows(buf: &Buffer) -> Vec<Vec<(u16, &Cell)>> {
    let area = buf.area;
    let row = |y| {
        let mut cells = Vec::new();
        let mut x = area.left();
        while x < area.right() {
            let Some(cell) = buf.cell((x, y)) else { break };
            cells.push((x - area.left(), cell));
            x += columns(cell).max(1);
        }
        cells
    };
    (area.top()..area.bottom()).map(row).collect()
}

/// A row without the cells at its end that show nothing.
fn trimmed<'a, 'b>(row: &'a [(u16, &'b Cell)]) -> &'a [(u16, &'b Cell)] {
    let blank = |cell: &Cell| {
        cell.symbol().trim().is_empty()
            && cell.bg == Color::Reset
            && !cell.modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED)
    };
    let end = row.iter().rposition(|(_, cell)| !blank(cell)).map_or(0, |last| last + 1);
    &row[..end]
}

fn columns(cell: &Cell) -> u16 {
    u16::try_from(Line::from(cell.symbol()).width()).unwrap_or(1)
}

fn style_of(cell: &Cell) -> Style {
    Style::new().fg(cell.fg).bg(cell.bg).add_modifier(cell.modifier)
}

fn plain() -> Style {
    style_of(&Cell::EMPTY)
}

/// The escape sequence that switches to a style from any other (ECMA-48, "select graphic rendition").
fn sgr(style: Style) -> String {
    const MODIFIERS: [(Modifier, u8); 5] = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ];
    let mut codes = String::from("0");
    for (modifier, code) in MODIFIERS {
        if style.add_modifier.contains(modifier) {
            let _ = write!(codes, ";{code}");
        }
    }
    for (color, base) in [(style.fg, 30), (style.bg, 40)] {
        let code = match color.unwrap_or_default() {
            Color::Reset => continue,
            Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
            Color::Indexed(index) => format!("{};5;{index}", base + 8),
            named => match named_index(named) {
                bright @ 8.. => format!("{}", base + 60 + bright - 8),
                index => format!("{}", base + index),
            },
        };
        let _ = write!(codes, ";{code}");
    }
    format!("\x1b[{codes}m")
}

/// Which of the sixteen colours a named one is, in the terminal's order.
const fn named_index(color: Color) -> u8 {
    match color {
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
