//! Text and marks on a given number of columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::theme::Theme;

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    // Nearly all texts are letters of ASCII, a column each.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) { text.len() } else { Span::raw(text).width() }
}

/// A text in at most `columns` columns, cut with a mark if it is longer.
pub fn fit(text: &str, columns: usize, theme: Theme) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut short = String::new();
    // Letter by letter, since a letter may be two columns wide, or none.
    for letter in text.chars() {
        if width(&short) + width(letter.encode_utf8(&mut [0; 4])) + 1 > columns {
            break;
        }
        short.push(letter);
    }
    if columns > 0 {
        short.push_str(theme.glyphs().cut);
    }
    short
}

/// A text cut at its beginning: where texts begin alike, `nodes 16` and `nodes 32`, their ends tell them apart.
pub fn fit_end(text: &str, columns: usize, theme: Theme) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    fit(&backwards, columns, theme).chars().rev().collect()
}

/// A text with blanks behind it, so that it takes at least so many columns.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Draws a line on a row, cut with a mark where it is longer.
pub fn draw_line(buf: &mut Buffer, row: Rect, line: &Line, theme: Theme) {
    let (end, _) = buf.set_line(row.x, row.y, line, row.width);
    // Only a line that reaches the edge can be longer; a wide letter may end a column before it.
    if row.width > 0 && end + 1 >= row.right() && line.width() > row.width.into() {
        put(buf, row.right() - 1, row.y, theme.glyphs().cut, Style::new());
    }
}

/// Draws lines one under the other, as many as there is room for.
pub fn draw_lines(buf: &mut Buffer, area: Rect, lines: &[Line], theme: Theme) {
    for (line, row) in lines.iter().zip(area.rows()) {
        draw_line(buf, row, line, theme);
    }
}

/// Sets one cell, if it is on the buffer.
pub fn put(buf: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    if let Some(cell) = buf.cell_mut((x, y)) {
        cell.set_symbol(symbol).set_style(style);
    }
}

/// A count of columns as a coordinate.
pub fn columns(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// A text in lines of at most `columns` columns, broken between words; a word that is longer has a line of its own.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::caps::Caps;

    #[test]
    fn a_line_that_is_too_long_ends_with_a_mark() {
        let theme = Theme::new(Caps { ascii: true, ..Caps::default() });
        let drawn = |text: &'static str| {
            let mut buf = Buffer::empty(Rect::new(0, 0, 6, 1));
            draw_line(&mut buf, Rect::new(0, 0, 5, 1), &Line::raw(text), theme);
            buf
        };
        assert_eq!(drawn("12345"), Buffer::with_lines(["12345 "]));
        assert_eq!(drawn("123456"), Buffer::with_lines(["1234~ "]));
        draw_line(&mut Buffer::empty(Rect::ZERO), Rect::ZERO, &Line::raw("1"), theme);
    }

    /// Letters of Chinese are two columns wide, a joined accent none.
    #[test]
    fn a_text_is_cut_at_columns_and_not_at_letters() {
        let theme = Theme::new(Caps { ascii: true, ..Caps::default() });
        assert_eq!(width("模型 e\u{301}"), 6);
        assert_eq!(fit("模型模型", 8, theme), "模型模型");
        assert_eq!(fit("模型模型", 7, theme), "模型模~");
        assert_eq!(fit("模型模型", 6, theme), "模型~");
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 3, theme), "e\u{301}e\u{301}e\u{301}");
    }
}
