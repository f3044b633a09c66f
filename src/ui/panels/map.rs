//! The map: a figure over nodes and shard extents.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::frame;
use crate::app::{App, Panel, axes, map::Map};
use crate::plan::Sharded;
use crate::search::{AxisKind, AxisValue, Cell};
use crate::ui::theme::Theme;
use crate::ui::widgets::Heatmap;
use crate::ui::widgets::heatmap::Entry;

/// Rows that it takes: frame, two of headers, one of legend.
pub(super) fn height(app: &App) -> u16 {
    u16::try_from(app.map.height()).unwrap_or(u16::MAX).saturating_add(5)
}

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let map = &app.map;
    let (done, all) = map.progress();
    let note = if map.is_complete() { format!("{done} of {all}") } else { format!("computing {done} of {all}") };
    let inside = frame(app, theme, Panel::Map, map.metric.title(), &note, area, buf);
    let labels = |values: &[AxisValue]| -> Vec<String> {
        values.iter().map(|value| axes::label(value, &app.scenario)).collect()
    };
    let (columns, rows) = (labels(&map.sweep.x.values), labels(&map.sweep.y.values));
    let entries: Vec<Entry> = (0..all).map(|index| entry(map, index)).collect();
    let at = |index: usize| (index % map.width(), index / map.width());
    Heatmap::new(theme, &columns, &rows, &entries)
        .titles("nodes", down(map))
        .cursor(Some(at(map.cursor)))
        .marked(pinned(app).map(|index| (at(index), "pinned")))
        .home(map.home.map(at))
        .lower_is_better(!map.metric.more_is_better())
        .render(inside, buf);
}

pub(super) fn entry(map: &Map, index: usize) -> Entry {
    match (map.cell(index), map.figure(index)) {
        (None, _) => Entry::Pending,
        (Some(Cell::Impossible(_)), _) => Entry::Impossible,
        (Some(Cell::Possible { .. }), None) => Entry::TooBig,
        (Some(Cell::Possible { .. }), Some(figure)) => Entry::Value(figure),
    }
}

/// What runs down.
fn down(map: &Map) -> &'static str {
    match (map.sweep.y.kind, map.sweep.base.plan.sharding.first_sharded()) {
        (AxisKind::Shard, Some(Sharded::Weights)) => "weights over",
        (AxisKind::Shard, Some(Sharded::Gradients)) => "gradients over",
        (AxisKind::Shard, _) => "optimizer over",
        (kind, _) => kind.word(),
    }
}

/// The first pinned scenario's cell, if it is on this map.
fn pinned(app: &App) -> Option<usize> {
    let pinned = &app.pins.all().first()?.scenario;
    let map = &app.map;
    (0..map.progress().1).find(|index| map.sweep.scenario(*index).is_ok_and(|scenario| scenario == *pinned))
}
