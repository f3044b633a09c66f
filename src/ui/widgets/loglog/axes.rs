//! Two logarithmic axes: where a point is on the screen, the values beside them, and lines in dots finer than cells.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use crate::config::Markers;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{columns, draw_line, width};
use shardscope_engine::units::{counted, significant};

/// Dots of a Braille cell, across and down; the bit of each [Unicode, block Braille Patterns].
const DOTS: (usize, usize) = (2, 4);
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Columns between labels of the axis of `x`.
const GAP: usize = 2;

/// The ends of an axis, and its dots.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogAxis {
    pub ends: (f64, f64),
    pub dots: usize,
}

impl LogAxis {
    /// The dot of a value.
    fn at(self, value: f64) -> usize {
        let (from, to) = (libm::log(self.ends.0), libm::log(self.ends.1));
        let share = (libm::log(value) - from) / (to - from);
        (share.clamp(0.0, 1.0) * (self.dots.max(1) - 1) as f64).round() as usize
    }

    /// The value at a share of the way from one end to the other.
    pub(super) fn value(self, share: f64) -> f64 {
        let (from, to) = (libm::log(self.ends.0), libm::log(self.ends.1));
        libm::exp(from + (to - from) * share)
    }
}

/// A value to write under an axis, and whether the cursor is there.
pub(super) type AxisLabel = (f64, String, bool);

/// Both axes, and the area between them.
#[derive(Debug, Clone)]
pub(super) struct Axes {
    pub x: LogAxis,
    pub y: LogAxis,
    /// The area of the points.
    pub plot: Rect,
    /// Round values beside the axis of `y`.
    labels: Vec<(f64, String)>,
    /// Columns of these.
    gutter: usize,
}

impl Axes {
    /// Axes between the ends of `x` and `y` in an area, with at least so many columns for labels; `None` where there is
    /// no room.
    pub(super) fn new(area: Rect, x: (f64, f64), y: (f64, f64), least: usize) -> Option<Self> {
        let labels = round_values(y.0, y.1);
        let gutter = labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0).max(least);
        let room = usize::from(area.width).saturating_sub(gutter + 1);
        // A row is the title's, one the labels' of `x`.
        let height = area.height.saturating_sub(2);
        let plot = Rect { x: area.x + columns(gutter) + 1, y: area.y + 1, width: columns(room), height };
        let axis = |ends, dots| LogAxis { ends, dots };
        let (x, y) = (axis(x, room * DOTS.0), axis(y, usize::from(height) * DOTS.1));
        (room >= 4 && height >= 2).then_some(Self { x, y, plot, labels, gutter })
    }

    /// The cell of a point.
    pub(super) fn cell(&self, (x, y): (f64, f64)) -> Position {
        Position::new(self.plot.x + self.column(x), self.plot.y + self.row(y))
    }

    /// The column of a value, from the left of the plot.
    pub(super) fn column(&self, x: f64) -> u16 {
        columns(self.x.at(x) / DOTS.0)
    }

    /// The row of a value, from the top of the plot.
    fn row(&self, y: f64) -> u16 {
        (self.plot.height - 1).saturating_sub(columns(self.y.at(y) / DOTS.1))
    }

    /// Writes a title, round values beside its axis and ticks under that of `x`: as many as do not touch.
    pub(super) fn draw(&self, theme: Theme, title: &Line, ticks: &[AxisLabel], buf: &mut Buffer) {
        let (plot, gutter, dim) = (self.plot, self.gutter, theme.style(Role::Dim));
        let left = plot.x - 1 - columns(gutter);
        let above = Rect { x: left, y: plot.y - 1, width: columns(gutter) + 1 + plot.width, height: 1 };
        draw_line(buf, above, title, theme);
        let mut free = plot.height;
        for (value, label) in &self.labels {
            let row = self.row(*value);
            // From the bottom up, each label a row of its own.
            if row < free {
                buf.set_stringn(left, plot.y + row, format!("{label:>gutter$}"), gutter, dim);
                free = row;
            }
        }
        let mut free = 0;
        for (value, label, here) in ticks {
            let (room, needed) = (plot.width, columns(label.len()));
            let start = self.column(*value).saturating_sub(needed / 2).min(room.saturating_sub(needed));
            // Labels from the left, as long as they do not touch.
            if start >= free && needed <= room {
                let style = if *here { theme.style(Role::Accent) } else { dim };
                buf.set_stringn(plot.x + start, plot.bottom(), label, label.len(), style);
                free = start + needed + columns(GAP);
            }
        }
    }

    /// Draws the line between two points.
    pub(super) fn line(&self, theme: Theme, ends: [(f64, f64); 2], style: Style, buf: &mut Buffer) {
        let [from, to] = ends.map(|(x, y)| (self.x.at(x), self.y.at(y)));
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let between = |a: usize, b: usize| (a as f64 + (b as f64 - a as f64) * share).round() as usize;
            self.dot(theme, (between(from.0, to.0), between(from.1, to.1)), style, buf);
        }
    }

    /// Draws one point as a dot, not as a cell.
    pub(super) fn point(&self, theme: Theme, (x, y): (f64, f64), style: Style, buf: &mut Buffer) {
        self.dot(theme, (self.x.at(x), self.y.at(y)), style, buf);
    }

    /// Sets one dot, counted from the lower left; dots that share a cell join, except in ASCII.
    fn dot(&self, theme: Theme, (across, up): (usize, usize), style: Style, buf: &mut Buffer) {
        let down = (self.y.dots - 1).saturating_sub(up);
        let cell = &mut buf[(self.plot.x + columns(across / DOTS.0), self.plot.y + columns(down / DOTS.1))];
        let mark = match theme.markers() {
            Markers::Ascii => '.',
            Markers::Dot => '\u{2022}',
            Markers::Block => match (cell.symbol(), down % DOTS.1 < DOTS.1 / 2) {
                ("█" | "▄", true) | ("█" | "▀", false) => '█',
                (_, true) => '▀',
                (_, false) => '▄',
            },
            Markers::Braille => {
                let set = cell.symbol().chars().next().map_or(0, u32::from);
                let before = set.checked_sub(0x2800).filter(|bits| *bits < 0x100).unwrap_or(0);
                let bits = before | u32::from(BITS[down % DOTS.1][across % DOTS.0]);
                char::from_u32(0x2800 + bits).unwrap_or('.')
            }
        };
        cell.set_char(mark).set_style(style);
    }
}

/// The least and the greatest of some values, with some room; `None` where there is none.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    (low <= high).then_some((low / 1.05, high * 1.05))
}

/// Fewer labels than this do not say how high a curve is.
const FEW: usize = 3;

/// Round values from below to above: 1, 2 and 5 times powers of ten within two decades and a half, beyond that the
/// powers alone, if there are enough of them; where all that leaves few, multiples of a round step.
pub(super) fn round_values(low: f64, high: f64) -> Vec<(f64, String)> {
    let powers = libm::floor(libm::log10(low)) as i32..=libm::ceil(libm::log10(high)) as i32;
    let inside = |digits: &[f64]| -> Vec<f64> {
        let all =
            powers.clone().flat_map(|power| digits.iter().map(move |digit| digit * libm::pow(10.0, f64::from(power))));
        all.filter(|value| (low..=high).contains(value)).collect()
    };
    let alone = inside(&[1.0]);
    let found = if high / low > 300.0 && alone.len() >= FEW { alone } else { inside(&[1.0, 2.0, 5.0]) };
    if found.len() < FEW {
        return stepped(low, high);
    }
    let label = |value: f64| if value < 1.0 { significant(value, 1) } else { counted(value) };
    found.into_iter().map(|value| (value, label(value))).collect()
}

/// Multiples of the smallest of 1, 2 and 5 times a power of ten that gives at most five of them.
fn stepped(low: f64, high: f64) -> Vec<(f64, String)> {
    let least = ((high - low) / 5.0).max(low * 1e-6);
    let power = libm::floor(libm::log10(least)) as i32;
    let unit = libm::pow(10.0, f64::from(power));
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * unit).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(10.0 * unit);
    let decimals = usize::try_from(-libm::floor(libm::log10(step * 1.001)) as i32).unwrap_or(0);
    let label = |value: f64| if decimals == 0 { counted(value) } else { format!("{value:.decimals$}") };
    let multiples = libm::ceil(low / step) as u64..=libm::floor(high / step) as u64;
    multiples.map(|multiple| multiple as f64 * step).map(|value| (value, label(value))).collect()
}
