//! Cells of a map: what they show, and what is said of the one under the cursor.

use ratatui::text::Span;

use super::words;
use crate::app::views::map::Map;
use crate::app::{App, answers::axes};
use crate::ui::widgets::heatmap::CellEntry;
use shardscope_engine::evaluate::Resource;
use shardscope_engine::plan::Sharded;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::{Axis, Cell, word};
use shardscope_engine::units::devices;
use shardscope_report::figures::Figure;

/// What a cell shows.
pub(super) fn entry(map: &Map, index: usize) -> CellEntry {
    match (map.cell(index), map.figure(index)) {
        (None, _) => CellEntry::Pending,
        (Some(Cell::Impossible(_)), _) => CellEntry::Impossible,
        (Some(Cell::Possible { .. }), None) => CellEntry::TooBig,
        (Some(Cell::Possible { .. }), Some(figure)) => CellEntry::Value(figure),
    }
}

/// What runs down.
pub(super) fn down(map: &Map) -> &'static str {
    match (map.sweep.y.field, map.sweep.base.plan.sharding.first_sharded()) {
        (Field::Shard, Some(Sharded::Weights)) => "shard weights",
        (Field::Shard, Some(Sharded::Gradients)) => "shard gradients",
        (Field::Shard, _) => "shard optimizer",
        (field, _) => word(field),
    }
}

/// The map's cell under the cursor: its figure, or why it has none; where there is little room, without its place.
pub(super) fn status(app: &App, width: u16) -> String {
    let (map, scenario) = (&app.views.map, &app.scenario);
    // A part of a node is no column of the map, and what is not stated is none.
    if map.home.is_none() && !app.looking {
        let lacking = [&map.sweep.x, &map.sweep.y].into_iter().find(|axis| axes::position(axis, scenario).is_none());
        let why = match lacking {
            Some(axis) if axis.field != Field::Nodes => format!("it has no value for {}", axis.word()),
            _ => format!("{}, a part of a node", devices(scenario.devices())),
        };
        return format!("the current scenario is on no cell: {why}");
    }
    let Some((x, y)) = map.values(map.cursor) else { return String::new() };
    let on = |axis: &Axis, value| format!("{} {}", axis.word(), axes::label(axis.field, value, scenario));
    let place = format!("{}, {}", on(&map.sweep.y, y), on(&map.sweep.x, x));
    let figure = match map.figure(map.cursor) {
        Some(figure) => format!("{} {}{}{}", words::figure(figure), unit(map), limiting(map), settled(map)),
        None => why(app).unwrap_or_else(|| "computing".to_owned()),
    };
    let hint = if app.looking && !app.following { " (Enter applies it, Esc goes back)" } else { "" };
    let (long, short) = (format!("{place}: {figure}{hint}"), format!("{place}: {figure}"));
    let fits = |text: &String| Span::raw(text.as_str()).width() <= usize::from(width);
    [long, short].into_iter().find(fits).unwrap_or(figure)
}

/// What sets a cell's limit, where that is shown: `, set by the link to the host`.
fn limiting(map: &Map) -> String {
    let Some(Cell::Possible { summary, .. }) = map.cell(map.cursor) else { return String::new() };
    if !matches!(map.metric(), Figure::Limit | Figure::ShareOfLimit) {
        return String::new();
    }
    match summary.limiting() {
        Resource::HostLink => ", set by the link to the host".to_owned(),
        Resource::Level(_) => format!(", set by the {} level", summary.limiting().name(&map.sweep.base)),
        _ => ", set by arithmetic".to_owned(),
    }
}

/// What a cell of a tuned map settled on: `; micro 4, accum 2, recompute none`.
fn settled(map: &Map) -> String {
    map.tuned(map.cursor).map_or_else(String::new, |choice| format!("; {choice}"))
}

/// Why a cell has no figure: what the headline says about it comes with how to fix it here.
fn why(app: &App) -> Option<String> {
    let why = app.why();
    match &app.shown {
        // The reason comes with the panels: while the cursor moves, a word does.
        _ if app.following => why.map(|_| if is_possible(app) { "does not fit" } else { "not possible" }.to_owned()),
        Err(problems) => problems.first().map(|problem| problem.fix.clone()),
        Ok(_) => why,
    }
}

fn is_possible(app: &App) -> bool {
    matches!(app.views.map.cell(app.views.map.cursor), Some(Cell::Possible { .. }))
}

/// The unit of a map's figures, in words.
pub(super) fn unit(map: &Map) -> String {
    map.metric().unit_in_words(&map.sweep.base)
}
