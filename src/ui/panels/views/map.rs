//! The map: a figure over nodes and shard extents.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::widgets::Widget;

use super::{Content, Drawing};
use crate::app::action::panel::ViewId;
use crate::app::state::pointing::PointerTarget;
use crate::app::views::map::Map;
use crate::app::{App, Panel, answers::axes};
use crate::ui::panels::cell;
use crate::ui::panels::cell::{down, entry};
use crate::ui::panels::{LAST_POSSIBLE, frame, profile, roomiest, words};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::Heatmap;
use crate::ui::widgets::heatmap::CellEntry;
use shardscope_engine::search::Axis;

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: ViewId::MAP,
    height,
    content: Content::Picture {
        render,
        target: |app, theme, inside, at| cell_at(app, theme, inside, at).map(PointerTarget::Cell),
    },
    status: cell::status,
};

/// Rows that it takes: frame, two of headers, one of legend, the profiles; with a contour a line between rows.
fn height(app: &App) -> u16 {
    let rows = u16::try_from(app.views.map.height()).unwrap_or(u16::MAX);
    let contour = if app.views.map.contour { rows.saturating_add(1) } else { 0 };
    rows.saturating_add(contour).saturating_add(5 + profile::HEIGHT)
}

/// Draws the map and its legend.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let map = &app.views.map;
    let (done, all) = map.progress();
    let [tuned, short] = if map.sweep.tune { ["best micro-batch each, ", "tuned, "] } else { [""; 2] };
    let kept = map.sweep.held_sequences().map_or_else(String::new, |held| format!("{}, ", words::kept(held)));
    // Its cells may be impossible without the fields being so.
    let stale = if app.inputs.are_possible() { "" } else { LAST_POSSIBLE };
    let title = format!("{}{stale}", map.metric().title(&map.sweep));
    let count = format!("{}{done} of {all}", if map.is_complete() { "" } else { "computing " });
    let forms =
        [[&kept, tuned], [&kept, short], ["", short], [""; 2]].map(|before| format!("{}{count}", before.concat()));
    let note = roomiest(forms.into_iter().chain([format!("{done}/{all}")]), &title, area);
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let [grid, said] = halves(map, inside);
    heatmap(app, theme, |heatmap| heatmap.render(grid, buf));
    let [bands, profiles] =
        said.layout(&Layout::vertical([Constraint::Length(u16::from(map.contour)), Constraint::Fill(1)]));
    let room = usize::from(bands.width) * usize::from(!bands.is_empty());
    buf.set_stringn(bands.x, bands.y, BANDS, room, theme.style(Role::Dim));
    if !said.is_empty() {
        profile::render(app, theme, profiles, buf);
    }
}

/// The cell at a place.
fn cell_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let [grid, _] = halves(&app.views.map, inside);
    let (column, row) = heatmap(app, theme, |heatmap| heatmap.cell_at(grid, at))?;
    Some(row * app.views.map.width() + column)
}

/// Where the map is, and under it what explains it, if there is room.
fn halves(map: &Map, inside: Rect) -> [Rect; 2] {
    let needed = u16::try_from(map.height()).unwrap_or(u16::MAX).saturating_add(2);
    let below = u16::from(map.contour) + profile::HEIGHT;
    let below = if inside.height >= needed.saturating_add(below) { below } else { 0 };
    inside.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(below)]))
}

/// The map as a widget, for as long as it is needed.
fn heatmap<T>(app: &App, theme: Theme, with: impl FnOnce(&Heatmap) -> T) -> T {
    let map = &app.views.map;
    let count = map.progress().1;
    let labels = |axis: &Axis| -> Vec<String> {
        axis.values.iter().map(|value| axes::label(axis.field, value, &app.scenario)).collect()
    };
    let (columns, rows) = (labels(&map.sweep.x), labels(&map.sweep.y));
    let entries: Vec<CellEntry> = (0..count).map(|index| entry(map, index)).collect();
    let letters: Vec<Option<char>> =
        if map.contour { (0..count).map(|index| map.fullness(index).map(letter)).collect() } else { Vec::new() };
    let at = |index: usize| (index % map.width(), index / map.width());
    let heatmap = Heatmap {
        titles: (map.sweep.x.word(), down(map)),
        cursor: Some(at(map.cursor)),
        marked: map.pinned.map(|index| (at(index), "pinned")),
        home: map.home.map(at),
        letters: &letters,
        lower_is_better: !map.metric().more_is_better(),
        ..Heatmap::new(theme, &columns, &rows, &entries)
    };
    with(&heatmap)
}

/// What the letters of the memory's contour mean.
const BANDS: &str = "memory up to  q a quarter  h half  t three quarters  f all of it  o over";

/// The band of a share of the memory.
fn letter(fullness: f64) -> char {
    match fullness {
        f if f <= 0.25 => 'q',
        f if f <= 0.5 => 'h',
        f if f <= 0.75 => 't',
        f if f <= 1.0 => 'f',
        _ => 'o',
    }
}
