//! Points over two logarithmic axes, with a line to be on and a band around it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;

use super::{Axis, DOTS, Drawn, GAP, dot, plot, round_values, row};
use crate::ui::theme::{Role, Theme};

/// One point; both of its values are above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Whether it is inside the band.
    pub inside: bool,
}

/// The column and the row of a point in the area of the points.
fn place(dot: &Dot, (x, y): (Axis, Axis), plot: Rect) -> (u16, u16) {
    ((x.at(dot.x) / DOTS.0) as u16, row(y.at(dot.y), plot) as u16)
}

/// Points, a line, a band and a cursor.
///
/// Where several points share a place, their count stands there; points outside the band are crosses.
pub struct Scatter<'a> {
    /// How it looks.
    pub theme: Theme,
    /// The points.
    pub dots: &'a [Dot],
    /// The point under the cursor.
    pub cursor: Option<usize>,
    /// Where a point should be, by its `x`.
    pub line: &'a dyn Fn(f64) -> f64,
    /// How far from there the band reaches, as a share.
    pub band: f64,
    /// What `y` and `x` are, above the chart.
    pub title: &'a str,
}

impl Widget for &Scatter<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Some((x, y)) = self.ranges() else { return };
        let Some(Drawn { labels, gutter, plot, axes: (across, up) }) = self.layout(area) else { return };
        let (width, height) = (usize::from(plot.width), usize::from(plot.height));
        let dim = self.theme.style(Role::Dim);
        buf.set_stringn(area.x, area.y, self.title, usize::from(area.width), dim);
        let mut free = height;
        for (value, label) in labels {
            let row = row(up.at(value), plot);
            if row < free {
                buf.set_stringn(area.x, plot.y + row as u16, format!("{label:>gutter$}"), gutter, dim);
                free = row;
            }
        }
        let mut free = 0;
        for (value, label) in round_values(x.0, x.1) {
            let start =
                (across.at(value) / DOTS.0).saturating_sub(label.len() / 2).min(width.saturating_sub(label.len()));
            if start >= free && label.len() <= width {
                buf.set_stringn(plot.x + start as u16, plot.y + plot.height, &label, label.len(), dim);
                free = start + label.len() + GAP;
            }
        }
        self.lines((across, up), (y.0, y.1), plot, buf);
        self.points((across, up), plot, buf);
    }
}

impl Scatter<'_> {
    /// The point that is nearest to a place on the screen.
    pub fn dot_at(&self, area: Rect, at: Position) -> Option<usize> {
        let Drawn { plot, axes, .. } = self.layout(area)?;
        let away = |index: &usize| {
            let (x, y) = place(&self.dots[*index], axes, plot);
            let (across, down) = (x.abs_diff(at.x.saturating_sub(plot.x)), y.abs_diff(at.y.saturating_sub(plot.y)));
            // A row is as high as two columns are wide.
            u32::from(across).pow(2) + 4 * u32::from(down).pow(2)
        };
        plot.contains(at).then(|| (0..self.dots.len()).min_by_key(away)).flatten()
    }

    fn layout(&self, area: Rect) -> Option<Drawn> {
        let (x, y) = self.ranges()?;
        let labels = round_values(y.0, y.1);
        let gutter = labels.iter().map(|label| label.1.chars().count()).max().unwrap_or(0);
        let plot = plot(area, gutter)?;
        let across = Axis { from: libm::log(x.0), to: libm::log(x.1), dots: usize::from(plot.width) * DOTS.0 };
        let up = Axis { from: libm::log(y.0), to: libm::log(y.1), dots: usize::from(plot.height) * DOTS.1 };
        Some(Drawn { labels, gutter, plot, axes: (across, up) })
    }

    /// The least and the greatest of both axes, the band included, with some room.
    fn ranges(&self) -> Option<((f64, f64), (f64, f64))> {
        let around = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
            (low <= high).then_some((low / 1.05, high * 1.05))
        };
        let x = around(&mut self.dots.iter().map(|dot| dot.x))?;
        let ends = [(self.line)(x.0) / (1.0 + self.band), (self.line)(x.1) * (1.0 + self.band)];
        let y = around(&mut self.dots.iter().map(|dot| dot.y).chain(ends))?;
        Some((x, y))
    }

    /// The line, and the edges of the band in fewer dots.
    fn lines(&self, (x, y): (Axis, Axis), (low, high): (f64, f64), plot: Rect, buf: &mut Buffer) {
        let dim = self.theme.style(Role::Dim);
        for across in 0..x.dots {
            let share = across as f64 / (x.dots.max(2) - 1) as f64;
            let at = (self.line)(libm::exp(x.from + (x.to - x.from) * share));
            let edges = [at / (1.0 + self.band), at * (1.0 + self.band)];
            let every_other = across % 2 == 0;
            let drawn = std::iter::once(at).chain(edges.into_iter().filter(|_| every_other));
            for value in drawn.filter(|value| (low..=high).contains(value)) {
                dot(self.theme, (across, y.at(value)), dim, plot, buf);
            }
        }
    }

    fn points(&self, axes: (Axis, Axis), plot: Rect, buf: &mut Buffer) {
        let places: Vec<(u16, u16)> = self.dots.iter().map(|dot| place(dot, axes, plot)).collect();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|index| (places[*index], self.dots[*index].inside));
        for same in order.chunk_by(|a, b| places[*a] == places[*b]) {
            let inside = same.iter().all(|index| self.dots[*index].inside);
            let mark = match same.len() {
                1 if inside => 'o',
                1 => 'x',
                count => char::from_digit(count.min(9) as u32, 10).unwrap_or('9'),
            };
            let here = self.cursor.is_some_and(|cursor| same.contains(&cursor));
            let role = if inside { Role::Good } else { Role::Bad };
            let style = self.theme.style(if here { Role::Cursor } else { role });
            let (across, down) = places[same[0]];
            buf[(plot.x + across, plot.y + down)].reset();
            buf[(plot.x + across, plot.y + down)].set_char(mark).set_style(style);
        }
    }
}
