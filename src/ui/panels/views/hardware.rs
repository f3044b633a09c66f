//! Throughput over memory and bandwidth, and where what limits it changes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::map::{entry, settled, unit};
use super::{Content, Drawing};
use crate::app::state::pointing::PointerTarget;
use crate::app::views;
use crate::app::views::map::Map;
use crate::app::{App, Panel};
use crate::ui::panels::{frame, outdated, progress, words};
use crate::ui::theme::Theme;
use crate::ui::widgets::Heatmap;
use crate::ui::widgets::heatmap::CellEntry;
use crate::ui::widgets::text::draw_lines;
use shardscope_engine::scenario::Value;
use shardscope_engine::search::Cell;
use shardscope_engine::search::limiting_factor::{Gains, LimitingFactor};
use shardscope_report::figures::safety_words;

pub(super) const DRAWING: Drawing = Drawing {
    id: views::hardware::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Picture {
        render,
        target: |app, theme, inside, at| cell_at(app, theme, inside, at).map(PointerTarget::Cell),
    },
    status: |app, _| status(app),
};

/// Rows that it takes: frame, header, seven rows with lines between them, legend, two sentences.
const HEIGHT: u16 = 2 + 1 + 13 + 1 + 2;

/// Draws throughput over memory and bandwidth.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let hardware = &app.views.hardware;
    let Some(map) = &hardware.map else {
        frame(app, theme, Panel::Map, "Hardware", "", area, buf);
        return;
    };
    let title = format!("Hardware: {}{}", map.metric().title(&map.sweep), outdated(app));
    let (done, all) = map.progress();
    let note = if map.is_complete() {
        format!("best batch each, {}, {done} of {all}", safety_words())
    } else {
        progress("best micro-batch each, ", (done, all), "", &title, area)
    };
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let [grid, said] = halves(inside);
    heatmap(app, map, theme, |heatmap| heatmap.render(grid, buf));
    let letters = "limited by  c compute: doubling either adds under 5 %  m memory  n network";
    draw_lines(buf, said, &[gains(hardware.gains(), theme), letters.to_owned()].map(Line::raw), theme);
}

/// The cell at a place.
fn cell_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let map = app.views.hardware.map.as_ref()?;
    let (column, row) = heatmap(app, map, theme, |heatmap| heatmap.cell_at(halves(inside)[0], at))?;
    Some(row * map.width() + column)
}

/// The areas of the map and of the sentences under it.
fn halves(inside: Rect) -> [Rect; 2] {
    inside.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(2)]))
}

/// The map as a widget, for as long as it is needed.
fn heatmap<T>(app: &App, map: &Map, theme: Theme, with: impl FnOnce(&Heatmap) -> T) -> T {
    let (hardware, all) = (&app.views.hardware, map.progress().1);
    let columns: Vec<String> = map.sweep.x.values.iter().map(label).collect();
    let rows: Vec<String> = map.sweep.y.values.iter().map(|value| format!("memory x {}", label(value))).collect();
    let entries: Vec<CellEntry> = (0..all).map(|index| entry(map, index)).collect();
    let letters: Vec<Option<char>> = (0..all).map(|index| letter(hardware.limiting(index))).collect();
    let at = |index: usize| (index % map.width(), index / map.width());
    let across = format!("{} x", app.scenario.cluster.levels.last().map_or("network", |level| &level.name));
    let heatmap = Heatmap {
        titles: (&across, ""),
        cursor: Some(at(map.cursor)),
        marked: map.home.map(|home| (at(home), "current hardware")),
        home: map.home.map(at),
        letters: &letters,
        lower_is_better: !map.metric().more_is_better(),
        ..Heatmap::new(theme, &columns, &rows, &entries)
    };
    with(&heatmap)
}

/// `▸ from the current hardware on: memory x2 +3.1 %, bandwidth x2 +12 %`.
fn gains(gains: Option<Gains>, theme: Theme) -> String {
    let Some(Gains { memory, bandwidth }) = gains else { return String::new() };
    let home = theme.glyphs().pinned;
    if memory.is_none_or(f64::is_infinite) && bandwidth.is_none_or(f64::is_infinite) {
        return format!("{home} it does not fit on the current hardware");
    }
    let words = |name: &str, gain: Option<f64>| match gain {
        Some(gain) if gain.is_finite() => format!("{name} x2 {}", words::change(1.0, 1.0 + gain, theme)),
        _ => format!("{name} x2: does not fit as it is"),
    };
    format!("{home} from the current hardware on: {}, {}", words("memory", memory), words("bandwidth", bandwidth))
}

fn letter(limiting: Option<LimitingFactor>) -> Option<char> {
    limiting.and_then(|limiting| limiting.name().chars().next())
}

/// A multiplier: `1/8`, `0.3`, `1`, `2`.
fn label(value: &Value) -> String {
    match value {
        Value::Number(factor) if *factor < 1.0 && (1.0 / factor).fract() == 0.0 => format!("1/{}", 1.0 / factor),
        other => other.to_string(),
    }
}

/// The cell under the cursor, with what it settled on.
fn status(app: &App) -> String {
    let Some(map) = &app.views.hardware.map else { return String::new() };
    let Some((x, y)) = map.values(map.cursor) else { return String::new() };
    let place = format!("memory x{}, bandwidth x{}", label(y), label(x));
    match map.cell(map.cursor) {
        None => format!("{place}: computing"),
        Some(Cell::Impossible(problem)) => format!("{place}: {problem}"),
        Some(Cell::Possible { summary, .. }) => {
            let fits = if summary.fits { figure(map) } else { "does not fit".to_owned() };
            format!("{place}: {fits}{}", settled(map))
        }
    }
}

fn figure(map: &Map) -> String {
    let unit = unit(map);
    let unit = unit.strip_suffix(" per device").unwrap_or(&unit);
    let figure = map.figure(map.cursor).map(|figure| format!("{} {unit}", words::figure(figure)));
    figure.unwrap_or_default()
}
