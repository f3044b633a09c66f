//! The tones: each a colour per depth, on a dark and on a light background.

use ratatui::style::Color;

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
    /// What may be overlooked; runtime reserve.
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
