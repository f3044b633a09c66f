//! The tones, the ramp of the heatmap, and what a terminal makes of a colour.

use ratatui::style::Color;

use super::sgr::named_index;
use crate::ui::caps::Depth;

/// A colour by name, whatever the terminal makes of it. The set tells apart under the common colour blindnesses:
/// it follows Okabe and Ito's palette ("Color Universal Design", 2008), moved to middle lightness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Good; forward compute; weights.
    Blue,
    /// Bad; exposed communication; communication buffers.
    Orange,
    /// Nearly bad; reductions; gradients.
    Ochre,
    /// Accent; gathers; gathered units.
    Teal,
    /// Backward compute; optimizer state.
    Violet,
    /// Optimizer; activations.
    Green,
    /// Pipeline transfers; secondary weights.
    Rose,
    /// Details; runtime reserve.
    Grey,
}

impl Tone {
    /// All tones.
    pub const ALL: [Self; 8] =
        [Self::Blue, Self::Orange, Self::Ochre, Self::Teal, Self::Violet, Self::Green, Self::Rose, Self::Grey];

    /// The colour nearest to it that a terminal of this depth can show.
    pub(super) const fn color(self, depth: Depth, light: bool) -> Color {
        match depth {
            Depth::True => Color::from_u32(self.rgb(light)),
            Depth::C256 => Color::Indexed(self.indexed(light)),
            Depth::C16 => self.named(),
            Depth::None => Color::Reset,
        }
    }

    const fn rgb(self, light: bool) -> u32 {
        let (on_dark, on_light) = match self {
            Self::Blue => (0x003d_94e0, 0x000b_62b0),
            Self::Orange => (0x00e0_762a, 0x00b3_5a00),
            Self::Ochre => (0x00b0_8d1e, 0x008a_6400),
            Self::Teal => (0x0016_a095, 0x000b_7a75),
            Self::Violet => (0x0091_80d8, 0x006a_51b5),
            Self::Green => (0x003f_a05a, 0x001f_7a3c),
            Self::Rose => (0x00c8_6f9d, 0x00a0_4878),
            Self::Grey => (0x0080_8080, 0x006c_6c6c),
        };
        if light { on_light } else { on_dark }
    }

    const fn indexed(self, light: bool) -> u8 {
        let (on_dark, on_light) = match self {
            Self::Blue => (32, 25),
            Self::Orange => (166, 130),
            Self::Ochre => (136, 94),
            Self::Teal => (30, 23),
            Self::Violet => (98, 61),
            Self::Green => (65, 22),
            Self::Rose => (132, 126),
            Self::Grey => (244, 242),
        };
        if light { on_light } else { on_dark }
    }

    const fn named(self) -> Color {
        match self {
            Self::Blue => Color::Blue,
            Self::Orange => Color::Red,
            Self::Ochre => Color::Yellow,
            Self::Teal => Color::Cyan,
            Self::Violet => Color::Magenta,
            Self::Green => Color::Green,
            Self::Rose => Color::LightMagenta,
            Self::Grey => Color::Reset,
        }
    }
}

/// Cividis in the fixed 256 colours, picked by hand: mapping it to the nearest colours turns its lightness back four
/// times. Each step is lighter than the one before by more than 3 in CIE L*.
pub(super) const LADDER: [u8; 9] = [60, 242, 243, 244, 245, 144, 185, 221, 227];

/// The colour at `share` between worst (0) and best (1).
pub(super) fn heat(depth: Depth, share: f64) -> Color {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    if depth == Depth::True {
        let colour = colorous::CIVIDIS.eval_continuous(share);
        return Color::Rgb(colour.r, colour.g, colour.b);
    }
    let last = LADDER.len() - 1;
    Color::Indexed(LADDER[((share * LADDER.len() as f64) as usize).min(last)])
}

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

/// The luminance on which black and white have the same contrast: (l + 0.05) / 0.05 = 1.05 / (l + 0.05).
const MIDDLE: f64 = 0.179_128_784_747_792;

/// Whether black reads at least as well on a ground as white.
pub(super) fn takes_black(ground: Color) -> bool {
    luminance(ground) >= MIDDLE
}

/// Contrast ratio, 1 to 21 (WCAG 2.1).
#[cfg(test)]
pub(super) fn contrast(one: Color, other: Color) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    (one / other).max(other / one)
}
