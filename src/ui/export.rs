//! A screen as text, as text with ANSI colours and as an SVG picture. Not for writing files.

mod cells;
mod svg;
mod xml;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Style};

use cells::{rows, trimmed};

use super::theme::sgr::{MODIFIERS, color_code};

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

#[cfg(test)]
mod tests;
