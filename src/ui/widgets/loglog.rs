//! Curves over two logarithmic axes, each told apart by its mark, with one point under the cursor.

mod scatter;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::config::Markers;
use crate::ui::theme::{Role, Theme, Tone};
use crate::units::{counted, significant};

pub use scatter::{Dot, Scatter};

/// One curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Its mark, one column wide.
    pub mark: char,
    /// Its tone, which repeats the mark.
    pub tone: Tone,
    /// Its points by `x`; all values are above 0.
    pub points: Vec<(f64, f64)>,
}

/// Curves and a cursor.
#[derive(Debug, Clone)]
pub struct LogLog<'a> {
    /// How it looks.
    pub theme: Theme,
    /// The curves; the chosen one is drawn over the others.
    pub curves: &'a [Curve],
    /// Which curve is chosen.
    pub chosen: usize,
    /// Places on the axis of `x`: the ticks, and where the cursor can be.
    pub places: &'a [f64],
    /// Which place the cursor is at.
    pub cursor: usize,
    /// What `y` is, above its axis.
    pub title: &'a str,
}

/// Dots of a Braille cell, across and down; the bit of each [Unicode, block Braille Patterns].
const DOTS: (usize, usize) = (2, 4);
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Columns between labels of the axis of `x`.
const GAP: usize = 2;

/// An axis: what is at its ends, as logarithms, and how many dots it has.
#[derive(Debug, Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
    dots: usize,
}

impl Axis {
    /// The dot of a value.
    fn at(self, value: f64) -> usize {
        let share = (libm::log(value) - self.from) / (self.to - self.from);
        (share.clamp(0.0, 1.0) * (self.dots.max(1) - 1) as f64).round() as usize
    }
}

impl Widget for &LogLog<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Some(Drawn { labels, gutter, plot, axes: (x, y) }) = self.layout(area) else { return };
        let dim = self.theme.style(Role::Dim);
        buf.set_stringn(area.x, area.y, self.title, usize::from(area.width), dim);
        self.scales(&labels, (x, y), plot, gutter, buf);
        let order = (0..self.curves.len()).filter(|index| *index != self.chosen).chain([self.chosen]);
        for curve in order.clone().filter_map(|index| self.curves.get(index)) {
            self.line(curve, (x, y), plot, buf);
        }
        for curve in order.filter_map(|index| self.curves.get(index)) {
            self.marks(curve, (x, y), plot, buf);
        }
    }
}

/// Where a chart is drawn: labels beside it, columns for them, the area of the points, the axes.
struct Drawn {
    labels: Vec<(f64, String)>,
    gutter: usize,
    plot: Rect,
    axes: (Axis, Axis),
}

/// The area of a chart's points, with labels of some width on its left; `None` where there is no room.
fn plot(area: Rect, gutter: usize) -> Option<Rect> {
    let width = usize::from(area.width).saturating_sub(gutter + 1);
    let height = area.height.saturating_sub(2);
    (width >= 4 && height >= 2).then(|| Rect {
        x: area.x + gutter as u16 + 1,
        y: area.y + 1,
        width: width as u16,
        height,
    })
}

impl LogLog<'_> {
    /// The place of the axis of `x` that is nearest to a place on the screen.
    pub fn place_at(&self, area: Rect, at: Position) -> Option<usize> {
        let Drawn { plot, axes: (x, _), .. } = self.layout(area)?;
        let column = usize::from(at.x.checked_sub(plot.x)?);
        let away = |index: &usize| (x.at(self.places[*index]) / DOTS.0).abs_diff(column);
        area.contains(at).then(|| (0..self.places.len()).min_by_key(away)).flatten()
    }

    fn layout(&self, area: Rect) -> Option<Drawn> {
        let (low, high) = self.range()?;
        let labels = round_values(low, high);
        let gutter = labels.iter().map(|label| label.1.chars().count()).max().unwrap_or(0);
        let gutter = gutter.max(self.title.chars().count());
        let plot = plot(area, gutter)?;
        let (first, last) = (self.places[0], self.places[self.places.len() - 1]);
        let to = libm::log(last.max(first * 1.001));
        let x = Axis { from: libm::log(first), to, dots: usize::from(plot.width) * DOTS.0 };
        let y = Axis { from: libm::log(low), to: libm::log(high), dots: usize::from(plot.height) * DOTS.1 };
        Some(Drawn { labels, gutter, plot, axes: (x, y) })
    }

    /// The least and the greatest `y`, with some room.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
        (low <= high && !self.places.is_empty()).then_some((low / 1.05, high * 1.05))
    }

    /// The values beside the axes, and a line at the cursor's place.
    fn scales(&self, labels: &[(f64, String)], (x, y): (Axis, Axis), plot: Rect, gutter: usize, buf: &mut Buffer) {
        let dim = self.theme.style(Role::Dim);
        let mut free = usize::from(plot.height);
        for (value, label) in labels {
            let row = row(y.at(*value), plot);
            if row < free {
                buf.set_stringn(
                    plot.x - 1 - gutter as u16,
                    plot.y + row as u16,
                    format!("{label:>gutter$}"),
                    gutter,
                    dim,
                );
                free = row;
            }
        }
        let mut free = 0;
        let below = plot.y + plot.height;
        for (index, place) in self.places.iter().enumerate() {
            let column = x.at(*place) / DOTS.0;
            let label = counted(*place);
            let start = column.saturating_sub(label.len() / 2).min(usize::from(plot.width).saturating_sub(label.len()));
            let here = index == self.cursor;
            if here {
                for row in 0..plot.height {
                    buf[(plot.x + column as u16, plot.y + row)].set_symbol(self.theme.glyphs().limit).set_style(dim);
                }
            }
            // The last label, and that under the cursor, have a place in any case.
            if start >= free && label.len() <= usize::from(plot.width) {
                let style = if here { self.theme.style(Role::Accent) } else { dim };
                buf.set_stringn(plot.x + start as u16, below, &label, label.len(), style);
                free = start + label.len() + GAP;
            }
        }
    }

    /// The line through a curve's points.
    fn line(&self, curve: &Curve, (x, y): (Axis, Axis), plot: Rect, buf: &mut Buffer) {
        let style = self.theme.fill(curve.tone);
        for pair in curve.points.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|(px, py)| (x.at(px), y.at(py)));
            let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                let between = |a: usize, b: usize| (a as f64 + (b as f64 - a as f64) * share).round() as usize;
                dot(self.theme, (between(from.0, to.0), between(from.1, to.1)), style, plot, buf);
            }
        }
    }

    fn marks(&self, curve: &Curve, (x, y): (Axis, Axis), plot: Rect, buf: &mut Buffer) {
        let chosen = self.curves.get(self.chosen).is_some_and(|chosen| chosen.mark == curve.mark);
        for (px, py) in &curve.points {
            let (column, row) = (x.at(*px) / DOTS.0, row(y.at(*py), plot));
            let under = chosen && self.places.get(self.cursor).is_some_and(|place| (place / px - 1.0).abs() < 1e-9);
            let style = if under { self.theme.style(Role::Cursor) } else { self.theme.fill(curve.tone) };
            buf[(plot.x + column as u16, plot.y + row as u16)].set_char(curve.mark).set_style(style);
        }
    }
}

/// Sets one dot of a plot, counted from its lower left.
fn dot(theme: Theme, (across, up): (usize, usize), style: Style, plot: Rect, buf: &mut Buffer) {
    let down = usize::from(plot.height) * DOTS.1 - 1 - up.min(usize::from(plot.height) * DOTS.1 - 1);
    let cell = &mut buf[(plot.x + (across / DOTS.0) as u16, plot.y + (down / DOTS.1) as u16)];
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

/// The row of a dot, from above.
fn row(up: usize, plot: Rect) -> usize {
    let rows = usize::from(plot.height);
    rows - 1 - (up / DOTS.1).min(rows - 1)
}

/// Fewer labels than this do not say how high a curve is.
const FEW: usize = 3;

/// Round values from below to above: 1, 2 and 5 times powers of ten within two decades and a half, beyond that the
/// powers alone, if there are enough of them; where all that leaves few, multiples of a round step.
fn round_values(low: f64, high: f64) -> Vec<(f64, String)> {
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

#[cfg(test)]
mod tests;
