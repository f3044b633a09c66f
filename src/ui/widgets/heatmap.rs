//! A map of numbers: each cell prints its value, the shade is a second voice. Not for what the numbers mean.

mod layout;
mod numbers;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::text::{columns, fit, put, width};
use crate::ui::theme::{Role, Theme};
use layout::CellLayout;
use numbers::Numbers;

/// The content of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum CellEntry {
    /// Not computed yet.
    #[default]
    Pending,
    /// Not possible.
    Impossible,
    /// Does not fit, by so many GiB.
    TooBig(f64),
    /// Its value, in the unit that the panel's title names.
    Value(f64),
}

/// By how much a cell does not fit, in whole GiB, rounded up: `+11`, `+14k`.
fn over(excess: f64) -> String {
    let whole = excess.ceil().max(1.0);
    if whole < 1000.0 { format!("+{whole:.0}") } else { format!("+{:.0}k", whole / 1000.0) }
}

/// Columns of the legend without the best cell's place.
const LEGEND: usize = 70;

/// A map with headers, a cursor and a legend in its last row. It scrolls to keep the cursor in view.
///
/// ```text
///        nodes    1    2    4    8   16   32   48   64
/// shard weights
/// device          ×    ×    ×    ×    ×    ×    ×    ×
/// package         ×    ×  ★63   62   62   61 ▐ 57▌  60
///
/// ★ best 63 at 4, package   × does not fit   – not possible   18 to 63
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap<'a> {
    pub theme: Theme,
    /// The cells, row by row.
    pub entries: &'a [CellEntry],
    /// The names of the columns.
    pub columns: &'a [String],
    /// The names of the rows.
    pub rows: &'a [String],
    /// The names of the axes across and down (`nodes`, `shard weights`).
    pub titles: (&'a str, &'a str),
    /// The cell under the cursor: column, row.
    pub cursor: Option<(usize, usize)>,
    /// A cell that is marked (column, row), and what the legend says of it.
    pub marked: Option<((usize, usize), &'a str)>,
    /// A letter for each entry, behind its number, and a contour between cells whose letters differ.
    pub letters: &'a [Option<char>],
    /// The cell to prefer among equals: column, row.
    pub home: Option<(usize, usize)>,
    /// Whether the lowest value is the best (step time, memory); the highest is by default.
    pub lower_is_better: bool,
    /// Whether the numbers belong to an older question: they stay, without shades.
    pub stale: bool,
}

impl<'a> Heatmap<'a> {
    /// A map of `entries`, row by row; `columns` and `rows` name them.
    pub const fn new(theme: Theme, columns: &'a [String], rows: &'a [String], entries: &'a [CellEntry]) -> Self {
        Self {
            theme,
            entries,
            columns,
            rows,
            titles: ("", ""),
            cursor: None,
            marked: None,
            letters: &[],
            home: None,
            lower_is_better: false,
            stale: false,
        }
    }

    /// The best cell so far: column, row. Of equals the preferred one, else the first.
    pub fn best(&self) -> Option<(usize, usize)> {
        let cells = || (0..self.rows.len()).flat_map(|row| (0..self.columns.len()).map(move |column| (column, row)));
        // The preferred cell comes first: of equals the earlier one stays.
        let values =
            self.home.into_iter().chain(cells()).filter_map(|cell| self.value(cell).map(|value| (cell, value)));
        let better = |one: f64, other: f64| if self.lower_is_better { one < other } else { one > other };
        values.reduce(|best, next| if better(next.1, best.1) { next } else { best }).map(|(cell, _)| cell)
    }

    fn entry(&self, (column, row): (usize, usize)) -> CellEntry {
        self.entries.get(row * self.columns.len() + column).copied().unwrap_or_default()
    }

    /// A cell's value; one that is not finite says as little as none.
    fn value(&self, cell: (usize, usize)) -> Option<f64> {
        match self.entry(cell) {
            CellEntry::Value(value) if value.is_finite() => Some(value),
            _ => None,
        }
    }

    /// Lowest and highest value.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.entries.iter().filter_map(|entry| match entry {
            CellEntry::Value(value) if value.is_finite() => Some((*value, *value)),
            _ => None,
        });
        values.reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
    }

    /// The cell at a place: column, row.
    pub fn cell_at(&self, area: Rect, at: Position) -> Option<(usize, usize)> {
        let (_, layout) = self.layout(area)?;
        let (column, _) = layout.columns().find(|(_, x)| (*x..*x + layout.cell).contains(&at.x))?;
        let (row, _) = layout.rows().find(|(_, y)| *y == at.y)?;
        Some((column, row))
    }

    fn layout(&self, area: Rect) -> Option<(Numbers, CellLayout)> {
        let widest = |names: &[String]| columns(names.iter().map(|name| width(name)).max().unwrap_or(0));
        let gutter = widest(self.rows).max(columns(width(self.titles.0))).max(columns(width(self.titles.1)));
        // Names may take a third at most: the numbers are what the map is for.
        let gutter = (gutter + 1).min(area.width / 3);
        let room = usize::from(area.width - gutter) / self.columns.len().max(1);
        let numbers = Numbers::new(self.range(), room.saturating_sub(2)).lower_is_better(self.lower_is_better);
        let letters = !self.letters.is_empty();
        // A letter takes a blank and a column, in every cell, so that numbers stay under one another.
        let text = (numbers.width().max(self.widest_excess()) + if letters { 2 } else { 0 }).max(widest(self.columns));
        let count = (self.columns.len(), self.rows.len());
        let layout = CellLayout::new(area, gutter, text, count, self.cursor.unwrap_or_default(), letters)?;
        Some((numbers, layout))
    }

    /// Columns of the longest text of a cell that does not fit.
    fn widest_excess(&self) -> u16 {
        let excess = |entry: &CellEntry| if let CellEntry::TooBig(excess) = entry { Some(*excess) } else { None };
        let most = self.entries.iter().filter_map(excess).reduce(f64::max);
        most.map_or(0, |most| columns(over(most).len()))
    }

    fn draw_headers(&self, layout: &CellLayout, area: Rect, buf: &mut Buffer) {
        let header = |here: bool| self.theme.style(if here { Role::Title } else { Role::Dim });
        let gutter = usize::from(layout.gutter.saturating_sub(1));
        let across = fit(self.titles.0, gutter, self.theme);
        let start = area.x + layout.gutter.saturating_sub(1).saturating_sub(columns(width(&across)));
        buf.set_stringn(start, area.y, &across, gutter, header(false));
        if layout.down_title {
            buf.set_stringn(area.x, area.y + 1, fit(self.titles.1, gutter, self.theme), gutter, header(false));
        }
        for (column, x) in layout.columns() {
            let name = fit(&self.columns[column], usize::from(layout.cell - 1), self.theme);
            let start = x + (layout.cell - 1).saturating_sub(columns(width(&name)));
            let here = self.cursor.is_some_and(|cursor| cursor.0 == column);
            buf.set_stringn(start, area.y, name, layout.cell.into(), header(here));
        }
        for (row, y) in layout.rows() {
            let here = self.cursor.is_some_and(|cursor| cursor.1 == row);
            buf.set_stringn(area.x, y, fit(&self.rows[row], gutter, self.theme), gutter, header(here));
        }
    }

    /// Marks where the map goes on beyond what is in view.
    fn draw_more(&self, layout: &CellLayout, area: Rect, buf: &mut Buffer) {
        let [left, right, up, down] = self.theme.glyphs().more;
        let style = self.theme.style(Role::Accent);
        let edge = area.x + layout.gutter.saturating_sub(1);
        let end = layout.columns().last().map_or(edge, |(_, x)| x + layout.cell - 1);
        let (top, bottom) = (layout.rows().next(), layout.rows().last());
        let marks = [
            (layout.first_column > 0, edge, area.y, left),
            (layout.columns().last().is_some_and(|(column, _)| column + 1 < self.columns.len()), end, area.y, right),
            (top.is_some_and(|(row, _)| row > 0), edge, top.map_or(area.y, |(_, y)| y), up),
            (bottom.is_some_and(|(row, _)| row + 1 < self.rows.len()), edge, bottom.map_or(area.y, |(_, y)| y), down),
        ];
        for (_, x, y, mark) in marks.into_iter().filter(|(more, ..)| *more) {
            put(buf, x, y, mark, style);
        }
    }

    /// One cell: its mark and its number at the right end, the column behind it blank.
    fn draw_cell(&self, cell: (usize, usize), mark: Option<&str>, numbers: &Numbers, place: Rect, buf: &mut Buffer) {
        let glyphs = self.theme.glyphs();
        let (text, mut style) = match self.entry(cell) {
            CellEntry::Value(value) if value.is_finite() => (
                numbers.text(value),
                if self.stale { self.theme.style(Role::Dim) } else { self.theme.heat(numbers.share(value)) },
            ),
            CellEntry::Value(_) | CellEntry::Impossible => (glyphs.impossible.to_string(), self.theme.style(Role::Dim)),
            CellEntry::TooBig(excess) => (over(excess), self.theme.style(Role::Dim)),
            CellEntry::Pending => (glyphs.pending.to_string(), self.theme.style(Role::Dim)),
        };
        let text = match self.letter(cell) {
            Some(letter) => format!("{text} {letter}"),
            None if self.letters.is_empty() => text,
            None => format!("{text}  "),
        };
        let under = self.cursor == Some(cell);
        if under {
            style = self.theme.style(Role::Cursor);
        }
        let room = place.width.saturating_sub(1);
        let start = place.x + room.saturating_sub(columns(width(&text)));
        buf.set_style(place, style);
        buf.set_stringn(start, place.y, &text, room.into(), style);
        if start > place.x {
            let shade = self.value(cell).filter(|_| !self.theme.fills_cells() && !self.stale && !under);
            // The mark stands in the column before the number, whatever the number's width, and wins over the shade.
            let beside =
                mark.or_else(|| shade.map(|value| self.theme.shade(numbers.share(value).max(f64::MIN_POSITIVE))));
            put(buf, start - 1, place.y, beside.unwrap_or(" "), style);
        }
        if under && place.width >= 2 {
            // Half blocks in the terminal's own colours: reversed they would look like part of the number.
            let caps = Style::reset();
            put(buf, place.x, place.y, glyphs.cursor[0], caps);
            put(buf, place.right() - 1, place.y, glyphs.cursor[1], caps);
        }
    }

    /// The legend; what does not fit is left out from its end.
    fn legend(&self, numbers: &Numbers, room: u16) -> Line<'static> {
        let glyphs = self.theme.glyphs();
        let dim = self.theme.style(Role::Dim);
        let mut items: Vec<Vec<Span<'static>>> = Vec::new();
        if let Some((best, value)) = self.best().and_then(|best| Some((best, self.value(best)?))) {
            let (column, row) = (&self.columns[best.0], &self.rows[best.1]);
            let short = format!(" at {column}, {row}");
            let long = format!(" at {} {column}, {} {row}", self.titles.0, self.titles.1);
            let roomy = usize::from(room) >= LEGEND + width(&long);
            items.push(vec![
                Span::styled(glyphs.best, self.theme.style(Role::Accent)),
                Span::styled(" best ", dim),
                Span::styled(numbers.text(value), self.theme.style(Role::Title)),
                Span::styled(if roomy { long } else { short }, dim),
            ]);
        }
        if self.entries.iter().any(|entry| matches!(entry, CellEntry::TooBig(_))) {
            items.push(vec![Span::raw("+n"), Span::styled(" GiB too many", dim)]);
        }
        if self.entries.contains(&CellEntry::Impossible) {
            items.push(vec![Span::raw(glyphs.impossible), Span::styled(" not possible", dim)]);
        }
        if let Some((_, name)) = self.marked {
            items.push(vec![Span::raw(glyphs.pinned), Span::styled(format!(" {name}"), dim)]);
        }
        items.extend(self.range().filter(|_| !self.stale).map(|range| self.ramp(numbers, range)));
        let mut line = Line::default();
        for item in items {
            let gap = if line.spans.is_empty() { 0 } else { 3 };
            // Skipped, not cut: a shorter item behind it may still fit.
            if line.width() + gap + item.iter().map(Span::width).sum::<usize>() <= room.into() {
                line.push_span(" ".repeat(gap));
                line.spans.extend(item);
            }
        }
        line
    }

    /// The ramp from the lowest to the highest value: on its colours, or between them as shades.
    fn ramp(&self, numbers: &Numbers, (low, high): (f64, f64)) -> Vec<Span<'static>> {
        let (from, to) = (numbers.text(low), numbers.text(high));
        if !self.theme.fills_cells() {
            let mut shades: Vec<&str> = self.theme.glyphs().shades[1..].to_vec();
            if self.lower_is_better {
                shades.reverse();
            }
            return vec![Span::raw(format!("{from} {} {to}", shades.concat()))];
        }
        let text = format!(" {from} to {to} ");
        let last = text.len().saturating_sub(1).max(1) as f64;
        let at = |index: usize| low + (high - low) * index as f64 / last;
        // Each letter stands on the colour of the value at its share of the way.
        let letter = |(index, letter): (usize, char)| {
            Span::styled(letter.to_string(), self.theme.heat(numbers.share(at(index))))
        };
        text.chars().enumerate().map(letter).collect()
    }
}

impl Widget for &Heatmap<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Some((numbers, layout)) = self.layout(area) else { return };
        self.draw_headers(&layout, area, buf);
        let best = self.best();
        for (row, y) in layout.rows() {
            for (column, x) in layout.columns() {
                let cell = (column, row);
                let glyphs = self.theme.glyphs();
                let mark = self.marked.filter(|(marked, _)| *marked == cell).map(|_| glyphs.pinned);
                let mark = mark.or(if best == Some(cell) { Some(glyphs.best) } else { None });
                self.draw_cell(cell, mark, &numbers, Rect { x, y, width: layout.cell, height: 1 }, buf);
            }
        }
        self.draw_contour(&layout, buf);
        self.draw_more(&layout, area, buf);
        if let Some(y) = layout.legend {
            buf.set_line(area.x, y, &self.legend(&numbers, area.width), area.width);
        }
    }
}

#[cfg(test)]
mod tests;
