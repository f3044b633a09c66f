//! Points over two logarithmic axes, with a line to be on and a band around it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::axes::{Axes, range, round_values};
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

/// Points, a line, a band and a cursor.
///
/// The count of several points that share a place stands there; points outside the band are crosses.
pub struct Scatter {
    pub theme: Theme,
    /// In the order in which they are drawn: later ones cover earlier ones.
    pub dots: Vec<Dot>,
    /// The point under the cursor.
    pub cursor: Option<usize>,
    /// The `y` that a point should have, by its `x`.
    pub line: fn(f64) -> f64,
    /// The reach of the band from there, as a share.
    pub band: f64,
    /// The names of `y` and `x`, above the chart.
    pub title: String,
}

impl Widget for &Scatter {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Some(axes) = self.axes(area) else { return };
        let ticks: Vec<_> = round_values(axes.x.ends.0, axes.x.ends.1)
            .into_iter()
            .map(|(value, label)| (value, label, false))
            .collect();
        axes.draw(self.theme, &Line::styled(&self.title, self.theme.style(Role::Dim)), &ticks, buf);
        self.draw_band(&axes, buf);
        self.draw_points(&axes, buf);
    }
}

impl Scatter {
    /// The point that is nearest to a place on the screen.
    pub fn dot_at(&self, area: Rect, at: Position) -> Option<usize> {
        let axes = self.axes(area)?;
        let away = |index: &usize| {
            let cell = self.cell(*index, &axes);
            // A row is as high as two columns are wide.
            u32::from(cell.x.abs_diff(at.x)).pow(2) + 4 * u32::from(cell.y.abs_diff(at.y)).pow(2)
        };
        axes.plot.contains(at).then(|| (0..self.dots.len()).min_by_key(away)).flatten()
    }

    fn cell(&self, index: usize, axes: &Axes) -> Position {
        axes.cell((self.dots[index].x, self.dots[index].y))
    }

    /// Axes as long as points and band need.
    fn axes(&self, area: Rect) -> Option<Axes> {
        let x = range(self.dots.iter().map(|dot| dot.x))?;
        let ends = [(self.line)(x.0) / (1.0 + self.band), (self.line)(x.1) * (1.0 + self.band)];
        let y = range(self.dots.iter().map(|dot| dot.y).chain(ends))?;
        Axes::new(area, x, y, 0)
    }

    /// The line, and the edges of the band in fewer dots.
    fn draw_band(&self, axes: &Axes, buf: &mut Buffer) {
        let dim = self.theme.style(Role::Dim);
        for across in 0..axes.x.dots {
            let x = axes.x.value(across as f64 / (axes.x.dots.max(2) - 1) as f64);
            let at = (self.line)(x);
            let edges = [at / (1.0 + self.band), at * (1.0 + self.band)];
            let every_other = across % 2 == 0;
            let drawn = std::iter::once(at).chain(edges.into_iter().filter(|_| every_other));
            for y in drawn.filter(|y| (axes.y.ends.0..=axes.y.ends.1).contains(y)) {
                axes.point(self.theme, (x, y), dim, buf);
            }
        }
    }

    fn draw_points(&self, axes: &Axes, buf: &mut Buffer) {
        let cells: Vec<Position> = (0..self.dots.len()).map(|index| self.cell(index, axes)).collect();
        let mut order: Vec<usize> = (0..cells.len()).collect();
        // Points of one cell stand together after this, and are drawn once.
        order.sort_by_key(|index| (cells[*index].x, cells[*index].y, self.dots[*index].inside));
        for same in order.chunk_by(|a, b| cells[*a] == cells[*b]) {
            let inside = same.iter().all(|index| self.dots[*index].inside);
            let mark = match same.len() {
                1 if inside => 'o',
                1 => 'x',
                count => char::from_digit(count.min(9) as u32, 10).unwrap_or('9'),
            };
            let here = self.cursor.is_some_and(|cursor| same.contains(&cursor));
            let role = if inside { Role::Good } else { Role::Bad };
            let cell = &mut buf[cells[same[0]]];
            // The band's dots under the mark must not colour it.
            cell.reset();
            cell.set_char(mark).set_style(self.theme.style(if here { Role::Cursor } else { role }));
        }
    }
}
