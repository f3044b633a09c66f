//! The fields of the scenario, one per row.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{frame, words};
use crate::app::inputs::FIELDS;
use crate::app::pins::Pin;
use crate::app::{App, Panel};
use crate::evaluate::Summary;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::units::devices;

/// Columns that it takes.
pub(in crate::ui) const WIDTH: u16 = 36;

/// Columns of the names.
const NAMES: usize = 10;

/// Draws it: in two columns where the fields do not fit one under another.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let inside = frame(app, theme, Panel::Inputs, "Scenario", "", area, buf);
    let pinned = app.pins.reference().map_or_else(Vec::new, |(pin, summary)| comparison(app, pin, summary, theme));
    let (fields, below) = places(pinned.len(), inside);
    let free = fields.len() == 1 || app.inputs.wrong.is_empty();
    for (fields, area) in fields {
        column(app, theme, fields, area, buf);
    }
    Text::from(if free { pinned } else { Vec::new() }).render(below, buf);
}

/// The field at a place.
pub(in crate::ui) fn field_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let pinned = app.pins.reference().map_or(0, |(_, summary)| {
        let differs = app.answer.as_ref().is_some_and(|answer| answer.evaluation.summary != *summary);
        if differs { 4 } else { 2 }
    });
    let (fields, _) = places(pinned, inside);
    let (fields, area) = fields.into_iter().find(|(_, area)| area.contains(at))?;
    let mut y = area.y;
    (first(app, &fields, area)..fields.end).find(|index| {
        let reason = app.inputs.wrong(*index).map_or(0, |wrong| wrapped(&wrong.why, area.width.saturating_sub(1)));
        y = y.saturating_add(1 + reason);
        at.y < y
    })
}

/// Where which fields are, and where so many lines about the pinned scenario.
fn places(pinned: usize, inside: Rect) -> (Vec<(Range<usize>, Rect)>, Rect) {
    if usize::from(inside.height) < FIELDS.len() + pinned && inside.width >= 2 * WIDTH {
        let half = FIELDS.len().div_ceil(2);
        let [left, right] = inside.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        let below = Rect { y: inside.y.saturating_add(columns(half) + 1), ..inside }.intersection(inside);
        return (vec![(0..half, left), (half..FIELDS.len(), right)], below);
    }
    let rows = [Constraint::Fill(1), Constraint::Length(columns(pinned))];
    let [fields, below] = inside.layout(&Layout::vertical(rows));
    (vec![(0..FIELDS.len(), fields)], below)
}

fn columns(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Some fields, one under another.
fn column(app: &App, theme: Theme, fields: Range<usize>, area: Rect, buf: &mut Buffer) {
    let mut y = area.y;
    for index in first(app, &fields, area)..fields.end {
        let left = Rect { y, height: area.bottom().saturating_sub(y), ..area };
        if left.is_empty() {
            break;
        }
        y += field(app, theme, index, left, buf);
    }
}

/// The first field to show, so that the one with the keys is in sight, and what is wrong with it.
fn first(app: &App, fields: &Range<usize>, area: Rect) -> usize {
    let cursor = app.inputs.cursor;
    if !fields.contains(&cursor) {
        return fields.start;
    }
    let reason = app.inputs.wrong(cursor).map_or(0, |wrong| wrapped(&wrong.why, area.width.saturating_sub(1)));
    (cursor + 1).saturating_sub(usize::from(area.height.saturating_sub(reason))).max(fields.start)
}

/// Draws one field, under it what is wrong with it; gives the rows that it took.
fn field(app: &App, theme: Theme, index: usize, area: Rect, buf: &mut Buffer) -> u16 {
    let inputs = &app.inputs;
    let (wrong, here) = (inputs.wrong(index), inputs.cursor == index);
    let (role, mark) = match (wrong, inputs.changed.contains(&index)) {
        (Some(_), _) => (Role::Bad, theme.glyphs().exposed),
        (None, true) => (Role::Warn, theme.glyphs().more[0]),
        (None, false) if FIELDS[index].idle(&app.scenario).is_some() => (Role::Dim, " "),
        (None, false) => (Role::Text, " "),
    };
    let has_keys = here && app.focus == Panel::Inputs && app.layer.is_none();
    let base = if has_keys { theme.style(Role::Cursor) } else { Style::new() };
    let value = inputs.text(index, &app.scenario);
    let aside = if wrong.is_some() { String::new() } else { FIELDS[index].aside(&value, &app.scenario, &app.library) };
    let mut line = Line::from(vec![
        Span::raw(if here { theme.glyphs().pinned } else { " " }),
        Span::styled(format!("{:<NAMES$}", FIELDS[index].label), theme.style(Role::Dim)),
        Span::styled(value, theme.style(role)),
    ]);
    if !aside.is_empty() && line.width() + Span::raw(&aside).width() + 3 <= usize::from(area.width) {
        line.push_span(Span::styled(format!(" {aside}"), theme.style(Role::Dim)));
    }
    line.push_span(Span::styled(format!(" {mark}"), theme.style(role)));
    buf.set_style(Rect { height: 1, ..area }, base);
    draw_line(buf, area, &line, theme);
    let Some(wrong) = wrong else { return 1 };
    let why = Paragraph::new(wrong.why.as_str()).wrap(Wrap { trim: true }).style(theme.style(Role::Bad));
    let text = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: area.height - 1 };
    let rows = wrapped(&wrong.why, text.width).min(text.height);
    why.render(Rect { height: rows, ..text }, buf);
    1 + rows
}

/// Rows of a text that is wrapped at words.
fn wrapped(text: &str, width: u16) -> u16 {
    let (mut rows, mut used) = (1_u16, 0);
    for word in text.split_whitespace() {
        let columns = Span::raw(word).width();
        if used > 0 && used + 1 + columns > usize::from(width) {
            (rows, used) = (rows.saturating_add(1), columns);
        } else {
            used += columns + usize::from(used > 0);
        }
    }
    rows
}

/// The first pinned scenario, and how the one on the screen differs.
fn comparison(app: &App, pin: &Pin, summary: &Summary, theme: Theme) -> Vec<Line<'static>> {
    let mark = theme.glyphs().pinned;
    let more = match app.pins.all().len() {
        1 => String::new(),
        count => format!(", {} more", count - 1),
    };
    let mut lines = vec![
        Line::raw(format!("{mark} pinned A: {}{more}", pin.name)),
        Line::raw(format!("  {}, step {}", devices(summary.devices), summary.step_time)),
    ];
    if let Some(answer) = app.answer.as_ref().filter(|answer| answer.evaluation.summary != *summary) {
        let now = &answer.evaluation.summary;
        let step = words::change(summary.step_time.get(), now.step_time.get(), theme);
        let memory = words::change(summary.memory.peak.get(), now.memory.peak.get(), theme);
        lines.push(Line::raw(format!("  {step} step time")));
        lines.push(Line::raw(format!("  {memory} memory")));
    }
    lines
}
