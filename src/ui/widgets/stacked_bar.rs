//! A device's memory as one bar: its parts, one after another, against the capacity. Not for memory over time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::axis::round_step;
use super::text::{columns, put, width, width as width_of};
use crate::ui::theme::{Role, Theme, Tone};
use shardscope_engine::evaluate::MemoryParts;
use shardscope_engine::units::{Bytes, short};
use shardscope_report::figures::Figure;

/// Memory parts against capacity: a bar, and under it a legend with figures that wraps to the width.
///
/// ```text
/// memory ██████████▓▓▓▒▒▒▒▒▒▒░░░░░ggrr          │ 41.2 of 64.0 GiB
/// █ weights 19.1  ▓ gradients 4.8  ▒ optimizer 0.6  ░ activations 9.7  g gathered 3.4  r reserved 3.6
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StackedBar<'a> {
    pub theme: Theme,
    /// The parts of the memory.
    pub parts: MemoryParts,
    /// The capacity of the memory.
    pub capacity: Bytes,
    /// The bytes that the whole width stands for, to compare bars; by default the larger of peak and capacity.
    pub scale: Option<Bytes>,
    /// A name to the left of the bar.
    pub name: &'a str,
    /// Whether the legend is drawn; it is by default.
    pub legend: bool,
}

/// One part as it is drawn.
struct BarPart {
    name: &'static str,
    short: &'static str,
    size: f64,
    tone: Tone,
}

/// Columns that a part on a row of its own has at least, and those of its name and its size.
const PART: u16 = 34;
const PART_NAME: usize = 15;
const PART_SIZE: usize = 7;

/// Columns that a size under the bar has for itself.
const TICK: f64 = 8.0;

/// Below this width of the whole there is only a bar.
const LABELLED: u16 = 40;

impl StackedBar<'_> {
    /// A bar of `parts` against `capacity`.
    pub const fn new(theme: Theme, parts: MemoryParts, capacity: Bytes) -> Self {
        Self { theme, parts, capacity, scale: None, name: "", legend: true }
    }

    /// Rows that bar and legend take at a width.
    pub fn height(&self, width: u16) -> u16 {
        1 + if self.legend { self.legend_height(width) } else { 0 }
    }

    /// Rows that the legend takes at a width.
    pub fn legend_height(&self, width: u16) -> u16 {
        columns(self.legend_lines(width, 2).len())
    }

    /// Draws the legend alone, for bars that share one.
    pub fn draw_legend(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        for (row, line) in area.rows().zip(self.legend_lines(area.width, usize::from(area.height).min(2))) {
            buf.set_line(row.x, row.y, &line, row.width);
        }
    }

    /// Rows of [`StackedBar::draw_parts`] at a width.
    pub fn parts_height(&self, width: u16) -> u16 {
        columns(self.sizes().len()).div_ceil((width / PART).max(1))
    }

    /// Draws each part on a row of its own, in as many columns of rows as there is room for: its name, its size, and a bar on
    /// the scale of the largest; last what is free.
    pub fn draw_parts(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let (sizes, (unit, _)) = (self.sizes(), self.unit());
        let most = sizes.iter().map(|(_, size, _)| *size).fold(0.0, f64::max);
        let (abreast, rows) = ((area.width / PART).max(1), usize::from(self.parts_height(area.width)));
        let width = area.width / abreast;
        for (index, (name, size, style)) in sizes.into_iter().enumerate() {
            let (column, row) = (columns(index / rows.max(1)), columns(index % rows.max(1)));
            if row >= area.height || column >= abreast {
                continue;
            }
            let (x, y) = (area.x + column * width, area.y + row);
            let room = width.saturating_sub(columns(PART_NAME + PART_SIZE) + 2);
            let text = format!("{name:<PART_NAME$}{:>PART_SIZE$} ", figure(size / unit));
            buf.set_stringn(x, y, &text, width.into(), self.theme.style(Role::Text));
            let length = (size / most * f64::from(room)).round() as u16;
            let glyph = if style.is_some() { self.theme.glyphs().fills[0] } else { self.theme.glyphs().fills[3] };
            let style = style.unwrap_or(self.theme.style(Role::Dim));
            (0..length.min(room)).for_each(|at| put(buf, x + columns(width_of(&text)) + at, y, glyph, style));
        }
    }

    /// The parts that are any, each with its size and its fill, and what is free, which has none.
    fn sizes(&self) -> Vec<(&'static str, f64, Option<Style>)> {
        let parts = self.drawn().into_iter().filter(|part| part.size > 0.0);
        let parts = parts.map(|part| (part.name, part.size, Some(self.theme.fill(part.tone))));
        let free = amount(self.capacity) - self.peak();
        parts.chain((free > 0.0).then_some(("free", free, None))).collect()
    }

    /// Draws round sizes under a bar, in the unit of its label.
    pub fn draw_scale(&self, area: Rect, buf: &mut Buffer) {
        let (_, bar, _) = self.places(area.intersection(buf.area));
        let (most, room) = (self.most() / self.unit().0, f64::from(bar.width.saturating_sub(1)));
        if !(most > 0.0 && room > TICK) {
            return;
        }
        let step = round_step(most * TICK / room);
        let ticks = (0..).map(|count| f64::from(count) * step).take_while(|size| *size <= most);
        for size in ticks {
            let text = short(size, 3);
            let at = bar.x + (size / most * room).round() as u16;
            // Under its column, or as near as the edge lets it be.
            let start = at.min(bar.right().saturating_sub(columns(width(&text))));
            buf.set_stringn(start, bar.y, text, usize::from(bar.right() - start), self.theme.style(Role::Dim));
        }
    }

    /// Name, bar and label beside one another.
    fn places(&self, area: Rect) -> (String, Rect, String) {
        let (name, label) = match area.width {
            0..LABELLED => (String::new(), String::new()),
            _ if self.name.is_empty() => (String::new(), format!(" {}", self.label())),
            _ => (format!("{} ", self.name), format!(" {}", self.label())),
        };
        let (left, right) = (columns(width(&name)), columns(width(&label)));
        let bar = Rect {
            x: area.x.saturating_add(left).min(area.right()),
            width: area.width.saturating_sub(left).saturating_sub(right),
            ..area
        };
        (name, bar, label)
    }

    /// The bytes that the whole width stands for.
    fn most(&self) -> f64 {
        self.scale.map_or(0.0, amount).max(amount(self.capacity).max(self.peak()))
    }

    /// The parts in the order of the bar: what the shards hold, activations, then what comes and goes.
    fn drawn(&self) -> Vec<BarPart> {
        let part = |figure: Figure, short, size: Bytes, tone| BarPart {
            name: figure.label(),
            short,
            size: amount(size),
            tone,
        };
        let parts = &self.parts;
        let seldom = [
            part(Figure::BesideWeights, "beside", parts.beside, Tone::Rose),
            part(Figure::Engine, "engine", parts.engine, Tone::Teal),
        ];
        let own = [
            part(Figure::Weights, "weights", parts.weights, Tone::Blue),
            part(Figure::Gradients, "grad", parts.gradients, Tone::Ochre),
            part(Figure::OptimizerState, "opt", parts.optimizer, Tone::Violet),
            part(Figure::Activations, "act", parts.activations, Tone::Green),
            part(Figure::SecondaryWeights, "sec", parts.secondary_weights, Tone::Rose),
            part(Figure::Gathered, "gathered", parts.gathered, Tone::Teal),
            part(Figure::Buffers, "comm", parts.communication, Tone::Orange),
            part(Figure::Reserved, "reserve", parts.reserved, Tone::Grey),
        ];
        // Behind all others, whose marks hang on their places.
        own.into_iter().chain(seldom.into_iter().filter(|part| part.size > 0.0)).collect()
    }

    fn peak(&self) -> f64 {
        self.drawn().iter().map(|part| part.size).sum()
    }

    /// The mark of the part at `index` and its style: a fill, and from the fifth on the first letter of its name.
    fn mark(&self, index: usize, part: &BarPart) -> (&'static str, Style) {
        let fill = self.theme.fill(part.tone);
        match self.theme.glyphs().fills.get(index) {
            Some(glyph) => (glyph, self.theme.texture(part.tone)),
            None => (&part.name[..1], if self.theme.fills_cells() { self.theme.inside(fill) } else { fill }),
        }
    }

    /// Peak and capacity in words, in the unit of the capacity.
    fn label(&self) -> String {
        let (unit, text) = self.unit();
        let (peak, capacity) = (self.peak(), amount(self.capacity));
        let over = if peak > capacity { format!(", {} over", figure((peak - capacity) / unit)) } else { String::new() };
        format!("{} of {} {text}{over}", figure(peak / unit), figure(capacity / unit))
    }

    /// The unit of all figures.
    fn unit(&self) -> (f64, &'static str) {
        let (unit, name) = Bytes::new(self.peak().max(amount(self.capacity))).common_unit();
        (unit.get(), name)
    }

    /// The cells of the bar over `cells` columns; `None` is the limit.
    fn cells(&self, cells: usize) -> Vec<Option<usize>> {
        let capacity = amount(self.capacity);
        let scale = self.most();
        let room = cells.saturating_sub(1);
        let column = |size: f64| if scale > 0.0 { (size / scale * room as f64).round() as usize } else { 0 };
        let mut bar = Vec::with_capacity(cells);
        let mut sum = 0.0;
        for (index, part) in self.drawn().iter().enumerate() {
            sum += part.size;
            // The ends of parts are rounded, not their widths: so no error adds up along the bar.
            bar.resize(column(sum).max(bar.len()), Some(index));
        }
        // Free memory up to the limit; behind the limit is what does not fit.
        let limit = column(capacity);
        bar.resize(bar.len().max(limit), Some(usize::MAX));
        bar.insert(limit, None);
        bar
    }

    fn draw_bar(&self, area: Rect, buf: &mut Buffer) {
        let parts = self.drawn();
        let mut over = false;
        for (x, cell) in (area.left()..area.right()).zip(self.cells(area.width.into())) {
            let Some(index) = cell else {
                put(buf, x, area.y, self.theme.glyphs().limit, self.theme.style(Role::Title));
                over = true;
                continue;
            };
            let Some(part) = parts.get(index) else { continue };
            let (glyph, style) = self.mark(index, part);
            put(buf, x, area.y, glyph, if over { style.patch(self.theme.style(Role::Bad)) } else { style });
        }
    }

    /// The legend in at most `rows` rows if short names make that possible.
    fn legend_lines(&self, width: u16, rows: usize) -> Vec<Line<'static>> {
        let long = self.wrapped(width, |part| part.name);
        if long.len() <= rows { long } else { self.wrapped(width, |part| part.short) }
    }

    fn wrapped(&self, total: u16, name: fn(&BarPart) -> &'static str) -> Vec<Line<'static>> {
        let (unit, _) = self.unit();
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (index, part) in self.drawn().iter().enumerate().filter(|(_, part)| part.size > 0.0) {
            let (glyph, style) = self.mark(index, part);
            let item = [
                Span::styled(glyph, style),
                Span::styled(format!(" {} ", name(part)), self.theme.style(Role::Dim)),
                Span::raw(figure(part.size / unit)),
            ];
            let needed: usize = item.iter().map(Span::width).sum();
            match lines.last_mut() {
                Some(line) if line.width() + 2 + needed <= total.into() => {
                    line.push_span("  ");
                    line.spans.extend(item);
                }
                _ => lines.push(Line::from(item.to_vec())),
            }
        }
        lines
    }
}

impl Widget for &StackedBar<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        let (name, bar, label) = self.places(area);
        // Underlined or orange: the figure says how much is over.
        let verdict = if self.peak() > amount(self.capacity) { Role::Bad } else { Role::Text };
        buf.set_stringn(area.x, area.y, &name, area.width.into(), self.theme.style(Role::Text));
        self.draw_bar(bar, buf);
        buf.set_stringn(
            bar.right(),
            area.y,
            &label,
            usize::from(area.right() - bar.right()),
            self.theme.style(verdict),
        );
        if self.legend {
            self.draw_legend(Rect { y: area.y + 1, height: area.height - 1, ..area }, buf);
        }
    }
}

/// Bytes as a number that can be drawn: what is not finite or below nothing counts as nothing.
fn amount(bytes: Bytes) -> f64 {
    if bytes.get().is_finite() { bytes.get().max(0.0) } else { 0.0 }
}

/// A figure of the legend: tenths up to a hundred, whole above.
fn figure(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v > 0.0 && v < 0.05 => "<0.1".to_string(),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests;
