//! The map: a figure over nodes and shard extents.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Content, Drawing};
use crate::app::action::Action;
use crate::app::action::panel::ViewId;
use crate::app::answers::axes;
use crate::app::state::pointing::PointerTarget;
use crate::app::views::map::Map;
use crate::app::{App, Panel};
use crate::ui::panels::{LAST_POSSIBLE, frame, roomiest, words};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::Heatmap;
use crate::ui::widgets::heatmap::CellEntry;
use crate::ui::widgets::text::{columns, draw_line, fit, width};
use shardscope_engine::evaluate::Resource;
use shardscope_engine::plan::Sharded;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::{Axis, Cell, word};
use shardscope_engine::units::{Bytes, devices};
use shardscope_report::figures::{Figure, safety_words};

pub(super) const DRAWING: Drawing = Drawing {
    id: ViewId::MAP,
    height,
    content: Content::Picture {
        render,
        target: |app, theme, inside, at| cell_at(app, theme, inside, at).map(PointerTarget::Cell),
    },
    status,
};

/// Rows that it takes: frame, two of headers, one of legend, the profiles; with a contour a line between rows.
fn height(app: &App) -> u16 {
    let rows = columns(app.views.map.seen()[1].len());
    let contour = if app.views.map.contour { rows.saturating_add(1) } else { 0 };
    rows.saturating_add(contour).saturating_add(5 + PROFILES)
}

fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let map = &app.views.map;
    let (done, all) = map.progress();
    let safe = format!("best micro-batch each, {}, ", safety_words());
    let [safe, tuned, short] = if map.sweep.tune { [&safe, "best micro-batch each, ", "tuned, "] } else { [""; 3] };
    let kept = map.sweep.held_sequences().map_or_else(String::new, |held| format!("{}, ", words::kept(held)));
    // Its cells may be impossible without the fields being so.
    let stale = if app.inputs.are_possible() { "" } else { LAST_POSSIBLE };
    let title = format!("{}{stale}", map.metric().title(&map.sweep));
    let count = match hidden(map, &app.keymap.key_of(Action::Fold, theme.caps().ascii)) {
        _ if !map.is_complete() => format!("computing {done} of {all}"),
        Some(hidden) => hidden,
        None => format!("{done} of {all}"),
    };
    let forms = [[&kept, safe], ["", safe], [&kept, tuned], [&kept, short], ["", short], [""; 2]]
        .map(|before| format!("{}{count}", before.concat()));
    let note = roomiest(forms.into_iter().chain([format!("{done}/{all}")]), &title, area);
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let [grid, said] = halves(map, inside);
    heatmap(app, theme, |heatmap| heatmap.render(grid, buf));
    let [bands, profiles] =
        said.layout(&Layout::vertical([Constraint::Length(u16::from(map.contour)), Constraint::Fill(1)]));
    let room = usize::from(bands.width) * usize::from(!bands.is_empty());
    buf.set_stringn(bands.x, bands.y, BANDS, room, theme.style(Role::Dim));
    if !said.is_empty() {
        render_profiles(app, theme, profiles, buf);
    }
}

/// What is hidden of the map, or could be: `3 columns, 2 rows hidden: z shows`.
fn hidden(map: &Map, key: &str) -> Option<String> {
    let [columns, rows] = map.empty();
    let counted = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        many => Some(format!("{many} {one}s")),
    };
    let parts: Vec<String> = counted(columns, "column").into_iter().chain(counted(rows, "row")).collect();
    let [what, does] = if map.compact { ["hidden", "shows"] } else { ["empty", "hides"] };
    (!parts.is_empty()).then(|| format!("{} {what}: {key} {does}", parts.join(", ")))
}

/// The cell at a place.
fn cell_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let [grid, _] = halves(&app.views.map, inside);
    let (column, row) = heatmap(app, theme, |heatmap| heatmap.cell_at(grid, at))?;
    let [columns, rows] = app.views.map.seen();
    Some(rows.get(row)? * app.views.map.width() + columns.get(column)?)
}

/// The areas of the map and of the lines that explain it, if there is room.
fn halves(map: &Map, inside: Rect) -> [Rect; 2] {
    let needed = columns(map.seen()[1].len()).saturating_add(2);
    let below = u16::from(map.contour) + PROFILES;
    let below = if inside.height >= needed.saturating_add(below) { below } else { 0 };
    inside.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(below)]))
}

/// The map as a widget, for as long as it is needed.
fn heatmap<T>(app: &App, theme: Theme, with: impl FnOnce(&Heatmap) -> T) -> T {
    let map = &app.views.map;
    let [across, along] = map.seen();
    let labels = |axis: &Axis, seen: &[usize]| -> Vec<String> {
        let values = seen.iter().filter_map(|at| axis.values.get(*at));
        values.map(|value| axes::label(axis.field, value, &app.scenario)).collect()
    };
    let (columns, rows) = (labels(&map.sweep.x, &across), labels(&map.sweep.y, &along));
    let cells: Vec<usize> =
        along.iter().flat_map(|row| across.iter().map(move |column| row * map.width() + column)).collect();
    let entries: Vec<CellEntry> = cells.iter().map(|index| entry(map, *index)).collect();
    let letters: Vec<Option<char>> =
        if map.contour { cells.iter().map(|index| map.fullness(*index).map(letter)).collect() } else { Vec::new() };
    let at = |index: usize| {
        let place = |seen: &[usize], at: usize| seen.iter().position(|one| *one == at);
        Some((place(&across, index % map.width())?, place(&along, index / map.width())?))
    };
    let heatmap = Heatmap {
        titles: (map.sweep.x.word(), down(map)),
        cursor: at(map.cursor),
        marked: map.pinned.and_then(at).map(|at| (at, "pinned")),
        home: map.home.and_then(at),
        letters: &letters,
        lower_is_better: !map.metric().more_is_better(),
        ..Heatmap::new(theme, &columns, &rows, &entries)
    };
    with(&heatmap)
}

/// Meaning of the letters of the memory's contour.
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

/// The bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// The entry of a cell.
pub(super) fn entry(map: &Map, index: usize) -> CellEntry {
    match (map.cell(index), map.figure(index)) {
        (None, _) => CellEntry::Pending,
        (Some(Cell::Impossible(_)), _) => CellEntry::Impossible,
        (Some(Cell::Possible { summary, .. }), None) => {
            CellEntry::TooBig((summary.memory.peak - summary.memory.capacity) / Bytes::new(GIB))
        }
        (Some(Cell::Possible { .. }), Some(figure)) => CellEntry::Value(figure),
    }
}

/// The name of the axis that runs down.
fn down(map: &Map) -> &'static str {
    match (map.sweep.y.field, map.sweep.base.plan.sharding.first_sharded()) {
        (Field::Shard, Some(Sharded::Weights)) => "shard weights",
        (Field::Shard, Some(Sharded::Gradients)) => "shard gradients",
        (Field::Shard, _) => "shard optimizer",
        (field, _) => word(field),
    }
}

/// The map's cell under the cursor: its figure, or why it has none; where there is little room, without its place.
pub(in crate::ui::panels) fn status(app: &App, width: u16) -> String {
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
    let hint = match app.fix.as_ref().map(|fix| fix.0.len()) {
        _ if app.following => String::new(),
        Some(fixes) => {
            let which = if fixes == 1 { "it" } else { "the first" };
            format!(" ({} applies {which})", app.keymap.key_of(Action::Nearest, false))
        }
        None if app.looking => " (Enter applies it, Esc goes back)".to_owned(),
        None => String::new(),
    };
    let (long, short) = (format!("{place}: {figure}{hint}"), format!("{place}: {figure}"));
    let fits = |text: &String| Span::raw(text.as_str()).width() <= usize::from(width);
    [long, short].into_iter().find(fits).unwrap_or(figure)
}

/// The resource that sets a cell's limit, where that is shown: `, set by the link to the host`.
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

/// What a cell of a tuned map settled on: `; micro 4, accum 2, recompute none; runs in megatron`.
pub(super) fn settled(map: &Map) -> String {
    let runs = map.runs_in(map.cursor).map_or_else(String::new, |names| format!("; runs in {names}"));
    map.tuned(map.cursor).map_or_else(String::new, |choice| format!("; {choice}{runs}"))
}

/// Why a cell has no figure: what the headline says about it comes with how to fix it here.
fn why(app: &App) -> Option<String> {
    let why = app.why();
    match &app.shown {
        // The reason comes with the panels: while the cursor moves, a word does.
        _ if app.following => why.map(|_| if is_possible(app) { "does not fit" } else { "not possible" }.to_owned()),
        Err(problems) => app.way_out().or_else(|| problems.first().map(|problem| problem.fix.clone())),
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

/// Rows of the profiles.
const PROFILES: u16 = 2;

/// Columns of a profile's name.
const PROFILE_NAMES: usize = 26;

fn render_profiles(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
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
        let mut line = Line::from(Span::styled(
            format!("{:<PROFILE_NAMES$} ", fit(&name, PROFILE_NAMES, theme)),
            theme.style(Role::Dim),
        ));
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
        CellEntry::TooBig(_) => glyphs.too_big,
        CellEntry::Pending => glyphs.pending,
    };
    Span::styled(glyph.repeat(2), theme.style(if here { Role::Cursor } else { Role::Text }))
}
