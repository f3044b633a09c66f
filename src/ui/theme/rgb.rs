//! What a terminal colour looks like, to judge contrast and to draw pictures.

use ratatui::style::Color;

use super::sgr::named_index;

/// The sixteen named colours, as xterm's default scheme shows them.
const NAMED: [u32; 16] = [
    0x0000_0000,
    0x00cd_0000,
    0x0000_cd00,
    0x00cd_cd00,
    0x0000_00ee,
    0x00cd_00cd,
    0x0000_cdcd,
    0x00e5_e5e5,
    0x007f_7f7f,
    0x00ff_0000,
    0x0000_ff00,
    0x00ff_ff00,
    0x005c_5cff,
    0x00ff_00ff,
    0x0000_ffff,
    0x00ff_ffff,
];

/// Red, green and blue of a colour; `None` for the terminal's own ([`Color::Reset`]).
pub fn rgb(color: Color) -> Option<[u8; 3]> {
    Some(match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => [r, g, b],
        Color::Indexed(index) => indexed(index),
        named => indexed(named_index(named)),
    })
}

/// xterm's 256 colours: 16 named, a cube of 6 x 6 x 6, 24 greys.
const fn indexed(index: u8) -> [u8; 3] {
    match index {
        0..=15 => {
            let [_, r, g, b] = NAMED[index as usize].to_be_bytes();
            [r, g, b]
        }
        16..=231 => {
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232..=255 => [8 + 10 * (index - 232); 3],
    }
}

const fn level(step: u8) -> u8 {
    if step == 0 { 0 } else { 55 + 40 * step }
}

/// Relative luminance, 0 for black to 1 for white (WCAG 2.1).
pub(super) fn luminance(color: Color) -> f64 {
    let [r, g, b] = rgb(color).unwrap_or_default().map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Contrast ratio, 1 to 21 (WCAG 2.1).
pub(super) fn contrast(one: Color, other: Color) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    (one / other).max(other / one)
}
