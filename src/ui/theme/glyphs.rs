//! The marks, each with its twin in plain ASCII. None needs a patched font.

use ratatui::symbols::{bar, border, line};

/// The marks of one character set; each is one column wide.
#[derive(Debug, Clone, PartialEq)]
pub struct Glyphs {
    /// Parts of a whole, in order; further parts take letters.
    pub fills: [&'static str; 4],
    /// From nothing to full; none looks like part of a number.
    pub shades: [&'static str; 5],
    /// Left and right of the cell under the cursor.
    pub cursor: [&'static str; 2],
    /// The best cell.
    pub best: &'static str,
    /// The pinned cell, the chosen item.
    pub pinned: &'static str,
    /// A field that is set.
    pub set: &'static str,
    /// Does not fit.
    pub too_big: &'static str,
    /// Not possible.
    pub impossible: &'static str,
    /// Not computed yet.
    pub pending: &'static str,
    /// Communication that compute waits for.
    pub exposed: &'static str,
    /// Communication behind compute; also parts facts on one line.
    pub hidden: &'static str,
    /// Waiting for another pipeline rank.
    pub bubble: &'static str,
    /// Ends of a span.
    pub ends: [&'static str; 2],
    /// A limit across a bar.
    pub limit: &'static str,
    /// The peak of a line.
    pub peak: &'static str,
    /// A text cut short.
    pub cut: &'static str,
    /// More to the left, right, above, below.
    pub more: [&'static str; 4],
    /// Rises, falls.
    pub change: [&'static str; 2],
    /// A tick on an axis.
    pub tick: &'static str,
    /// Between numbers that are ends of a range.
    pub to: &'static str,
    /// Before a negative number.
    pub minus: &'static str,
    /// Arrow keys: left, down, up, right.
    pub arrows: [&'static str; 4],
    /// Heights of a line over time.
    pub bars: bar::Set<'static>,
    /// Frames.
    pub border: border::Set<'static>,
    /// Lines that part and meet.
    pub lines: line::Set<'static>,
}

/// For terminals in a UTF-8 locale.
pub(super) static UTF8: Glyphs = Glyphs {
    fills: ["█", "▓", "▒", "░"],
    shades: [" ", "░", "▒", "▓", "█"],
    cursor: ["▐", "▌"],
    best: "★",
    pinned: "▸",
    set: "●",
    too_big: "×",
    impossible: "–",
    pending: "·",
    exposed: "!",
    hidden: "·",
    bubble: "╌",
    ends: ["▕", "▏"],
    limit: "│",
    peak: "▲",
    cut: "…",
    more: ["◂", "▸", "▴", "▾"],
    change: ["▲", "▼"],
    tick: "╵",
    to: "–",
    minus: "−",
    arrows: ["←", "↓", "↑", "→"],
    bars: bar::NINE_LEVELS,
    border: border::PLAIN,
    lines: line::NORMAL,
};

/// For all others, and for those who ask.
pub(super) static ASCII: Glyphs = Glyphs {
    fills: ["#", "=", "+", "-"],
    shades: [" ", "_", ":", "=", "#"],
    cursor: ["[", "]"],
    best: "*",
    pinned: ">",
    set: "*",
    too_big: "x",
    impossible: "-",
    pending: ".",
    exposed: "!",
    hidden: ".",
    bubble: "~",
    ends: ["|", "|"],
    limit: "|",
    peak: "^",
    cut: "~",
    more: ["<", ">", "^", "v"],
    change: ["^", "v"],
    tick: "'",
    to: "-",
    minus: "-",
    arrows: ["<", "v", "^", ">"],
    bars: bar::Set {
        empty: " ",
        one_eighth: "_",
        one_quarter: ".",
        three_eighths: "-",
        half: ":",
        five_eighths: "=",
        three_quarters: "+",
        seven_eighths: "*",
        full: "#",
    },
    border: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
    lines: line::Set {
        vertical: "|",
        horizontal: "-",
        top_right: "+",
        top_left: "+",
        bottom_right: "+",
        bottom_left: "+",
        vertical_left: "+",
        vertical_right: "+",
        horizontal_down: "+",
        horizontal_up: "+",
        cross: "+",
    },
};
