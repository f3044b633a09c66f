//! Colours and glyphs by meaning, for each depth: a widget names what it draws, the theme says how that looks here.
//!
//! Text and background stay the terminal's own; colour only repeats what a mark, a position or a word already says.
//! Good and bad are blue and orange, never green and red. Tones are chosen in the middle, so that they read on dark
//! and light alike. Not for layout.

mod color;
mod glyphs;
pub mod sgr;

use ratatui::style::{Color, Modifier, Style};

use super::caps::{Caps, Depth};
use crate::config::Markers;
use shardscope_engine::evaluate::TaskKind;

pub use color::{Tone, rgb};
pub use glyphs::Glyphs;

/// The meaning of a piece of text, which sets its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Plain text.
    Text,
    /// A name over what follows.
    Title,
    /// Details: frames, units, hints.
    Dim,
    /// The place of the user: the panel in focus, a key.
    Accent,
    /// Fits, is better.
    Good,
    /// Does not fit, is worse, is exposed.
    Bad,
    /// Close to a limit; a value just changed.
    Warn,
    /// The cell or the item under the cursor.
    Cursor,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 8] =
        [Self::Text, Self::Title, Self::Dim, Self::Accent, Self::Good, Self::Bad, Self::Warn, Self::Cursor];

    /// Its colour, if it has one, and what stands in for it without colours.
    const fn look(self) -> (Option<Tone>, Modifier) {
        match self {
            Self::Text => (None, Modifier::empty()),
            Self::Title => (None, Modifier::BOLD),
            Self::Dim => (Some(Tone::Grey), Modifier::DIM),
            Self::Accent => (Some(Tone::Teal), Modifier::BOLD),
            Self::Good => (Some(Tone::Blue), Modifier::BOLD),
            Self::Bad => (Some(Tone::Orange), Modifier::UNDERLINED),
            Self::Warn => (Some(Tone::Ochre), Modifier::UNDERLINED),
            Self::Cursor => (None, Modifier::REVERSED),
        }
    }
}

/// The looks of one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    caps: Caps,
}

impl Theme {
    /// The theme of a terminal.
    pub const fn new(caps: Caps) -> Self {
        Self { caps }
    }

    /// Capabilities of the terminal.
    pub const fn caps(self) -> Caps {
        self.caps
    }

    /// The marks that it can show.
    pub fn glyphs(self) -> &'static Glyphs {
        if self.caps.ascii { &glyphs::ASCII } else { &glyphs::UTF8 }
    }

    /// The markers of curves.
    pub fn markers(self) -> Markers {
        if self.caps.ascii { Markers::Ascii } else { self.caps.markers }
    }

    /// The style of a role.
    pub fn style(self, role: Role) -> Style {
        let (tone, modifier) = role.look();
        let plain = Style::new();
        match (tone, self.caps.depth) {
            (Some(tone), Depth::True | Depth::C256) => plain.fg(self.color(tone)),
            // The sixteen colours follow the user's scheme, where grey may be the background itself.
            (Some(Tone::Grey) | None, _) | (_, Depth::None) => plain.add_modifier(modifier),
            (Some(tone), Depth::C16) => plain.fg(self.color(tone)),
        }
    }

    /// The style of a filled area or of a mark that stands for a thing: a part of memory, a kind of span.
    pub fn fill(self, tone: Tone) -> Style {
        Style::new().fg(self.color(tone))
    }

    /// The style of a shade glyph that stands for a thing: the glyph in the tone, the ground in its other shade, so that
    /// a light glyph is not lost on the terminal's own ground.
    pub fn texture(self, tone: Tone) -> Style {
        let fill = self.fill(tone);
        if self.fills_cells() { fill.bg(tone.color(self.caps.depth, !self.caps.light)) } else { fill }
    }

    /// The style of a span on the timeline.
    pub fn span(self, kind: TaskKind) -> Style {
        self.fill(match kind {
            TaskKind::Forward | TaskKind::ForwardAlone => Tone::Blue,
            TaskKind::Backward | TaskKind::BackwardInputs => Tone::Violet,
            TaskKind::Optimizer => Tone::Green,
            TaskKind::AllGather | TaskKind::Rollout => Tone::Teal,
            TaskKind::ReduceScatter | TaskKind::AllReduce | TaskKind::AllToAll => Tone::Ochre,
            TaskKind::BackwardWeights | TaskKind::PointToPoint => Tone::Rose,
            TaskKind::Copy | TaskKind::Host => Tone::Grey,
        })
    }

    /// The style of text inside a filled area: cut out of its colour where colours are fixed, plain elsewhere. Tones read
    /// on the terminal's own ground, so its ground reads on them; and to turn a style over takes the fewest bytes.
    pub fn inside(self, fill: Style) -> Style {
        if self.fills_cells() { fill.add_modifier(Modifier::REVERSED) } else { Style::new() }
    }

    /// The style of a heatmap cell whose value lies at `share` between the worst (0) and the best (1).
    ///
    /// Where colours are fixed the cell is filled; elsewhere [`Theme::shade`] stands beside the number.
    pub fn heat(self, share: f64) -> Style {
        match self.caps.depth {
            Depth::True | Depth::C256 => on(color::heat(self.caps.depth, share)),
            Depth::C16 | Depth::None => Style::new(),
        }
    }

    /// Whether cells may be filled with colour: where colours are fixed, not the user's own.
    pub fn fills_cells(self) -> bool {
        self.caps.depth >= Depth::C256
    }

    /// The shade glyph at `share` between nothing (0) and full (1); only nothing at all is blank.
    pub fn shade(self, share: f64) -> &'static str {
        let shades = &self.glyphs().shades;
        if share.is_nan() || share <= 0.0 {
            return shades[0];
        }
        let steps = shades.len() - 1;
        // Anything at all is at least the lightest shade, and only a full column is solid.
        shades[((share * steps as f64) as usize + 1).min(steps)]
    }

    /// A tone's colour on this terminal.
    pub fn color(self, tone: Tone) -> Color {
        tone.color(self.caps.depth, self.caps.light)
    }
}

/// Text on a coloured ground, in the colour that reads better on it.
fn on(ground: Color) -> Style {
    // Fixed colours of the cube: the named ones follow the user's scheme.
    let (black, white) = (Color::Indexed(16), Color::Indexed(231));
    Style::new().fg(if color::takes_black(ground) { black } else { white }).bg(ground)
}

#[cfg(test)]
mod tests;
