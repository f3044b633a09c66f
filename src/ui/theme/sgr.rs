//! The codes of colours and modifiers (ECMA-48, "select graphic rendition").

use ratatui::style::{Color, Modifier};

/// Modifiers with their codes on and off; bold and dim share theirs off.
pub const MODIFIERS: [(Modifier, u8, u8); 5] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::REVERSED, 7, 27),
];

/// The sixteen colours of the user's own scheme in the terminal's order.
const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// The index of a named colour among the sixteen.
pub(super) fn named_index(color: Color) -> u8 {
    NAMED.iter().position(|named| *named == color).unwrap_or(0) as u8
}

/// The code of a colour; the base is 30 for text, 40 for the ground.
pub fn color_code(color: Color, base: u8) -> String {
    match color {
        Color::Reset => (base + 9).to_string(),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        named => match named_index(named) {
            bright @ 8.. => (base + 60 + bright - 8).to_string(),
            index => (base + index).to_string(),
        },
    }
}
