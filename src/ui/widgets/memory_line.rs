//! Memory over the step: the fullest moment of each column, the peak marked. Not for what the memory holds.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Sparkline, SparklineBar, Widget};

use super::text::{columns, put, width};
use crate::ui::theme::{Role, Theme, Tone};
use shardscope_engine::evaluate::MemoryPoint;
use shardscope_engine::units::{Bytes, Seconds};

/// Memory of one rank over a stretch of time, as high as its rectangle, from the least that is in use to the most: what
/// is held all through is the bar's to show. With two rows or more the last one names both ends; in a single row the
/// peak's column is reversed.
///
/// ```text
/// ▁▁▂▂▃▃▄▄▅▅▆▆▇▇▇█▇▇▇▆▆▅▅▄▄▃▃▂▂▁▁
/// lowest 36.1 GiB  ▲ 41.2 GiB at 3.2 s
/// ```
///
/// With an axis the last row says from when to when in place of the least:
///
/// ```text
/// 41.2 GiB│    ▁▃▅█▇▅▃▁
/// 36.1 GiB│▁▃▅▇████████▇▅
///          0 – 6.84 s ▲ 41.2 GiB at 3.2 s
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryLine<'a> {
    pub theme: Theme,
    /// The memory in use by time; each point holds until the next.
    pub points: &'a [MemoryPoint],
    /// The stretch of time to show.
    pub window: (Seconds, Seconds),
    /// The capacity: what is above it looks bad.
    pub capacity: Bytes,
    /// Columns on the left for an axis that names the most and the least in use; 0 for none.
    pub axis: u16,
}

/// The fewest rows in which the ends of an axis are apart.
const LEAST_AXIS: u16 = 4;

impl<'a> MemoryLine<'a> {
    /// The memory of one rank (points by time; each holds until the next) from 0 to `end`.
    pub const fn new(theme: Theme, points: &'a [MemoryPoint], end: Seconds) -> Self {
        Self { theme, points, window: (Seconds::ZERO, end), capacity: Bytes::ZERO, axis: 0 }
    }

    /// The fullest moment of each column; `None` before anything is known.
    fn samples(&self, count: usize) -> Vec<Option<f64>> {
        let length = self.window.1 - self.window.0;
        if !(length.get() > 0.0 && length.get().is_finite()) {
            return vec![None; count];
        }
        let edge = |column: usize| self.window.0 + length * (column as f64 / count as f64);
        let fullest = |column: usize| {
            let held = self.held((edge(column), edge(column + 1))).iter();
            held.map(|point| point.in_use.get()).reduce(f64::max)
        };
        (0..count).map(fullest).collect()
    }

    /// The points that hold at some moment of a stretch of time.
    fn held(&self, (start, end): (Seconds, Seconds)) -> &'a [MemoryPoint] {
        let first = self.points.partition_point(|point| point.at < start);
        let last = self.points.partition_point(|point| point.at < end);
        // The value before holds on, unless it changes at the very first moment.
        let holds_on = self.points.get(first).is_none_or(|point| point.at > start);
        self.points.get(first.saturating_sub(usize::from(holds_on))..last).unwrap_or_default()
    }

    /// The fullest moment in the window.
    fn peak(&self) -> Option<&MemoryPoint> {
        let begun = self.held(self.window).iter().filter(|point| point.at >= self.window.0);
        begun.reduce(|one, other| if other.in_use > one.in_use { other } else { one })
    }

    /// The least in use in the window, however few columns show it.
    fn least(&self) -> Option<Bytes> {
        self.held(self.window).iter().map(|point| point.in_use).reduce(Bytes::min)
    }

    /// The peak's mark under its column, its figures beside it, and at the foot another text where that leaves room.
    fn draw_peak(&self, peak: &MemoryPoint, column: u16, foot: &str, row: Rect, buf: &mut Buffer) {
        let style = self.theme.style(Role::Dim);
        put(buf, row.x + column, row.y, self.theme.glyphs().peak, self.theme.style(Role::Accent));
        let text = format!("{} at {}", peak.in_use, peak.at);
        let (after, needed) = (row.width - column - 1, columns(width(&text)) + 1);
        // Behind the mark if there is room, else before it; the other text takes the side that is left.
        let (left, right) =
            if needed <= after { (column, column + 1 + needed) } else { (column.saturating_sub(needed), column + 1) };
        if needed <= after {
            buf.set_stringn(row.x + column + 2, row.y, text, after.into(), style);
        } else if needed <= column {
            buf.set_stringn(row.x + left, row.y, text, needed.into(), style);
        }
        let long = columns(width(foot)) + 2;
        if long <= left {
            buf.set_stringn(row.x, row.y, foot, long.into(), style);
        } else if right + long <= row.width {
            buf.set_stringn(row.right() - long + 2, row.y, foot, long.into(), style);
        }
    }

    /// The most and the least in use beside the rows that stand for them, and a line between them and the plot.
    fn draw_axis(&self, ends: [f64; 2], area: Rect, buf: &mut Buffer) {
        let style = self.theme.style(Role::Dim);
        let room = usize::from(area.width - 1);
        for (size, y) in ends.map(Bytes::new).into_iter().zip([area.y, area.bottom() - 1]) {
            let text = [size.to_string(), size.in_gib()].into_iter().find(|text| width(text) <= room);
            let text = text.unwrap_or_default();
            buf.set_stringn(area.x, y, format!("{text:>room$}"), room, style);
        }
        area.rows().for_each(|row| put(buf, row.right() - 1, row.y, self.theme.glyphs().limit, style));
    }

    /// The style of one bar.
    fn style(&self, sample: Option<f64>, at_peak: bool) -> Style {
        let over = self.capacity.get() > 0.0 && sample.is_some_and(|sample| sample > self.capacity.get());
        let style = self.theme.fill(if over { Tone::Orange } else { Tone::Blue });
        if at_peak { style.patch(self.theme.style(Role::Cursor)) } else { style }
    }
}

impl Widget for &MemoryLine<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        let named = area.height >= 2;
        let axis = if area.height >= LEAST_AXIS && self.axis < area.width { self.axis } else { 0 };
        let height = area.height - u16::from(named);
        let plot = Rect { x: area.x + axis, width: area.width - axis, height, ..area };
        let samples = self.samples(plot.width.into());
        let known = || samples.iter().flatten().copied().filter(|sample| sample.is_finite());
        let (Some(least), Some(most)) = (known().reduce(f64::min), known().reduce(f64::max)) else { return };
        let steps = f64::from(8 * plot.height - 1);
        let range = (most - least).max(f64::MIN_POSITIVE);
        // The least in use is one step high, so that it does not look like nothing.
        let height = |sample: f64| ((sample - least) / range * steps).min(steps) as u64 + 1;
        let column = samples.iter().position(|sample| *sample == Some(most)).unwrap_or(0);
        let bars = samples.iter().enumerate().map(|(index, sample)| {
            SparklineBar::from(sample.map(height)).style(Some(self.style(*sample, !named && index == column)))
        });
        Sparkline::default()
            .data(bars)
            .max(steps as u64 + 1)
            .bar_set(self.theme.glyphs().bars.clone())
            .absent_value_symbol(" ")
            .render(plot, buf);
        if axis > 0 {
            self.draw_axis([most, least], Rect { width: axis, height: plot.height, ..area }, buf);
        }
        if let (Some(peak), Some(least), true) = (self.peak(), self.least(), named) {
            let (from, to) = self.window;
            let foot = match axis {
                0 => format!("lowest {least}"),
                _ if from == Seconds::ZERO => format!("0 {} {to}", self.theme.glyphs().to),
                _ => format!("{from} {} {to}", self.theme.glyphs().to),
            };
            self.draw_peak(peak, columns(column), &foot, Rect { y: plot.bottom(), height: 1, ..plot }, buf);
        }
    }
}

#[cfg(test)]
mod tests;
