//! The map's row and column through the cursor, each as a line of bars with the best on it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::cell::{down, entry};
use super::words;
use crate::app::views::map::Map;
use crate::app::{App, answers::axes};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::heatmap::CellEntry;
use crate::ui::widgets::text::{draw_line, fit, width};
use shardscope_engine::search::Axis;

/// Rows that it takes.
pub(super) const HEIGHT: u16 = 2;

/// Columns of what a line goes along.
const NAMES: usize = 26;

/// Draws both.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let map = &app.views.map;
    let (x, y) = (map.settled % map.width(), map.settled / map.width());
    let Some((across, along)) = map.values(map.settled) else { return };
    let label = |axis: &Axis, value| axes::label(axis.field, value, &app.scenario);
    let (x_axis, y_axis) = (&map.sweep.x, &map.sweep.y);
    let row: Vec<usize> = (0..map.width()).map(|x| y * map.width() + x).collect();
    let column: Vec<usize> = (0..map.height()).map(|y| y * map.width() + x).collect();
    let range = range(map);
    let lines = [
        (format!("{} {}", down(map), label(y_axis, along)), row, x),
        (format!("{} {}", x_axis.word(), label(x_axis, across)), column, y),
    ];
    for (index, ((name, cells, here), at)) in lines.into_iter().zip(area.rows()).enumerate() {
        let best = best(map, &cells).map(|(best, figure)| {
            let value =
                map.values(cells[best]).map(|(x, y)| if index == 0 { label(x_axis, x) } else { label(y_axis, y) });
            format!("  best {} at {}", words::figure(figure), value.unwrap_or_default())
        });
        let mut line =
            Line::from(Span::styled(format!("{:<NAMES$} ", fit(&name, NAMES, theme)), theme.style(Role::Dim)));
        line.spans.extend(cells.iter().enumerate().map(|(at, cell)| bar(map, *cell, range, at == here, theme)));
        line.push_span(Span::raw(best.unwrap_or_default()));
        // A line that is cut would lose its best value: better none.
        if width(&line.to_string()) <= usize::from(area.width) {
            draw_line(buf, at, &line, theme);
        }
    }
}

/// Lowest and highest figure of the map.
fn range(map: &Map) -> (f64, f64) {
    let figures = (0..map.progress().1).filter_map(|index| map.figure(index));
    figures.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), figure| (low.min(figure), high.max(figure)))
}

/// The best of some cells: its place among them, and its figure.
fn best(map: &Map, cells: &[usize]) -> Option<(usize, f64)> {
    let figures = cells.iter().enumerate().filter_map(|(at, cell)| Some((at, map.figure(*cell)?)));
    let better = |a: f64, b: f64| if map.metric().more_is_better() { a > b } else { a < b };
    figures.reduce(|best, next| if better(next.1, best.1) { next } else { best })
}

/// A cell as a bar, two columns wide, between the lowest and the highest figure of the map.
fn bar(map: &Map, cell: usize, (low, high): (f64, f64), here: bool, theme: Theme) -> Span<'static> {
    let glyphs = theme.glyphs();
    let bars = &glyphs.bars;
    let steps = [
        bars.one_eighth,
        bars.one_quarter,
        bars.three_eighths,
        bars.half,
        bars.five_eighths,
        bars.three_quarters,
        bars.seven_eighths,
        bars.full,
    ];
    let glyph = match entry(map, cell) {
        CellEntry::Value(figure) if high > low => {
            steps[(((figure - low) / (high - low) * steps.len() as f64) as usize).min(steps.len() - 1)]
        }
        CellEntry::Value(_) => bars.half,
        CellEntry::Impossible => glyphs.impossible,
        CellEntry::TooBig => glyphs.too_big,
        CellEntry::Pending => glyphs.pending,
    };
    Span::styled(glyph.repeat(2), theme.style(if here { Role::Cursor } else { Role::Text }))
}
