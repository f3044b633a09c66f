//! Curves over two logarithmic axes, told apart by mark and colour in a legend, with one point under the cursor.

mod axes;
mod scatter;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::text::{columns, put, width};
use crate::ui::theme::{Role, Theme, Tone};
use axes::{Axes, range};
use shardscope_engine::units::counted;

pub use scatter::{Dot, Scatter};

/// One curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Its mark, one column wide.
    pub mark: char,
    /// Its tone, which repeats the mark.
    pub tone: Tone,
    /// Its name in the legend; a curve without one is left out there.
    pub name: &'static str,
    /// Its points by `x`; all values are above 0.
    pub points: Vec<(f64, f64)>,
}

/// Curves and a cursor.
#[derive(Debug, Clone, Default)]
pub struct LogLog {
    pub theme: Theme,
    /// The curves; the chosen one is drawn over the others.
    pub curves: Vec<Curve>,
    /// The index of the chosen curve.
    pub chosen: usize,
    /// Places on the axis of `x`: the ticks, and where the cursor can be.
    pub places: Vec<f64>,
    /// The index of the place under the cursor.
    pub cursor: usize,
    /// Labels beside points of the chosen curve, in their order.
    pub labels: Vec<String>,
    /// The name of `y`, above its axis.
    pub title: &'static str,
    /// The name of `x`, behind that: `over devices`.
    pub across: String,
}

impl Widget for &LogLog {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Some(axes) = self.axes(area) else { return };
        let dim = self.theme.style(Role::Dim);
        let tick = |(index, place): (usize, &f64)| (*place, counted(*place), index == self.cursor);
        let ticks: Vec<_> = self.places.iter().enumerate().map(tick).collect();
        axes.draw(self.theme, &self.legend(), &ticks, buf);
        if let Some(place) = self.places.get(self.cursor) {
            let x = axes.plot.x + axes.column(*place);
            (axes.plot.top()..axes.plot.bottom()).for_each(|y| put(buf, x, y, self.theme.glyphs().limit, dim));
        }
        let order = (0..self.curves.len()).filter(|index| *index != self.chosen).chain([self.chosen]);
        for curve in order.clone().filter_map(|index| self.curves.get(index)) {
            for ends in curve.points.windows(2) {
                axes.line(self.theme, [ends[0], ends[1]], self.theme.fill(curve.tone), buf);
            }
        }
        // Marks over all lines: a line must not hide the mark of another curve.
        for curve in order.filter_map(|index| self.curves.get(index)) {
            self.marks(curve, &axes, buf);
        }
        let points = self.curves.get(self.chosen).into_iter().flat_map(|curve| &curve.points);
        for (point, label) in points.zip(&self.labels) {
            let cell = axes.cell(*point);
            // To the left of a mark at the right edge; blanks part it from the curve.
            let room = columns(width(label)) + 1;
            let has_room = cell.x + room < axes.plot.right();
            let x = if has_room { cell.x + 1 } else { cell.x.saturating_sub(room + 1) };
            buf.set_stringn(x, cell.y, format!(" {label} "), usize::from(axes.plot.right().saturating_sub(x)), dim);
        }
    }
}

impl LogLog {
    /// The place of the axis of `x` that is nearest to a place on the screen.
    pub fn place_at(&self, area: Rect, at: Position) -> Option<usize> {
        let axes = self.axes(area)?;
        let column = at.x.checked_sub(axes.plot.x)?;
        let away = |index: &usize| axes.column(self.places[*index]).abs_diff(column);
        area.contains(at).then(|| (0..self.places.len()).min_by_key(away)).flatten()
    }

    /// The title: the names of `y` and `x`, and each curve in its colour.
    fn legend(&self) -> Line<'_> {
        let across = Span::styled(format!("{} {}", self.title, self.across), self.theme.style(Role::Dim));
        let named = self.curves.iter().filter(|curve| !curve.name.is_empty());
        let named = named
            .map(|Curve { mark, tone, name, .. }| Span::styled(format!("  {mark} {name}"), self.theme.fill(*tone)));
        std::iter::once(across).chain(named).collect()
    }

    fn axes(&self, area: Rect) -> Option<Axes> {
        let y = range(self.curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y))?;
        let (first, last) = (*self.places.first()?, *self.places.last()?);
        Axes::new(area, (first, last.max(first * 1.001)), y, self.title.chars().count())
    }

    fn marks(&self, curve: &Curve, axes: &Axes, buf: &mut Buffer) {
        let chosen = self.curves.get(self.chosen).is_some_and(|chosen| chosen.mark == curve.mark);
        for point in &curve.points {
            let under =
                chosen && self.places.get(self.cursor).is_some_and(|place| (place / point.0 - 1.0).abs() < 1e-9);
            let style = if under { self.theme.style(Role::Cursor) } else { self.theme.fill(curve.tone) };
            buf[axes.cell(*point)].set_char(curve.mark).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests;
