//! The fields of the scenario, one per row.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{frame, words};
use crate::app::inputs::{InputRow, aside, idle};
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
    let rows: Vec<InputRow> = app.inputs.rows().collect();
    let (fields, below) = places(rows.len(), pinned.len(), inside);
    let free = fields.len() == 1 || app.inputs.wrong.is_empty();
    for (fields, area) in fields {
        column(app, theme, (&rows, fields), area, buf);
    }
    Text::from(if free { pinned } else { Vec::new() }).render(below, buf);
}

/// The field at a place.
pub(in crate::ui) fn field_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let pinned = app.pins.reference().map_or(0, |(_, summary)| {
        let differs = app.answer.as_ref().is_some_and(|answer| answer.evaluation.summary != *summary);
        if differs { 4 } else { 2 }
    });
    let rows: Vec<InputRow> = app.inputs.rows().collect();
    let (fields, _) = places(rows.len(), pinned, inside);
    let (fields, area) = fields.into_iter().find(|(_, area)| area.contains(at))?;
    let mut y = area.y;
    (first(app, &fields, area)..fields.end).find(|index| {
        y = y.saturating_add(1 + reason(app, rows[*index], area));
        at.y < y
    })
}

/// Where which fields are, and where so many lines about the pinned scenario.
fn places(rows: usize, pinned: usize, inside: Rect) -> (Vec<(Range<usize>, Rect)>, Rect) {
    if usize::from(inside.height) < rows + pinned && inside.width >= 2 * WIDTH {
        let half = rows.div_ceil(2);
        let [left, right] = inside.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        let below = Rect { y: inside.y.saturating_add(columns(half) + 1), ..inside }.intersection(inside);
        return (vec![(0..half, left), (half..rows, right)], below);
    }
    let heights = [Constraint::Fill(1), Constraint::Length(columns(pinned))];
    let [fields, below] = inside.layout(&Layout::vertical(heights));
    (vec![(0..rows, fields)], below)
}

fn columns(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Some fields, one under another.
fn column(app: &App, theme: Theme, (rows, fields): (&[InputRow], Range<usize>), area: Rect, buf: &mut Buffer) {
    let mut y = area.y;
    let shown = first(app, &fields, area)..fields.end;
    for (index, field) in shown.clone().zip(&rows[shown]) {
        let left = Rect { y, height: area.bottom().saturating_sub(y), ..area };
        if left.is_empty() {
            break;
        }
        y += row(app, theme, (*field, app.inputs.place() == index), left, buf);
    }
}

/// The first field to show, so that the one with the keys is in sight, and what is wrong with it.
fn first(app: &App, fields: &Range<usize>, area: Rect) -> usize {
    let cursor = app.inputs.place();
    if !fields.contains(&cursor) {
        return fields.start;
    }
    let reason = reason(app, app.inputs.row(), area);
    (cursor + 1).saturating_sub(usize::from(area.height.saturating_sub(reason))).max(fields.start)
}

/// What is wrong with a row.
fn wrong(app: &App, row: InputRow) -> Option<&str> {
    match row {
        InputRow::Field(field) => app.inputs.wrong(field).map(|wrong| wrong.why.as_str()),
        InputRow::Fold => None,
    }
}

/// Lines under a row that say what is wrong with it.
fn reason(app: &App, row: InputRow, area: Rect) -> u16 {
    wrong(app, row).map_or(0, |why| wrapped(why, area.width.saturating_sub(1)))
}

/// What stands beside the value of a row.
fn beside(app: &App, row: InputRow) -> String {
    match row {
        InputRow::Field(field) if app.inputs.wrong(field).is_none() => aside(field, &app.scenario, &app.library),
        InputRow::Field(_) | InputRow::Fold => String::new(),
    }
}

/// The role of a row's value, and the mark behind it.
fn look(app: &App, theme: Theme, row: InputRow) -> (Role, &'static str) {
    match row {
        InputRow::Field(field) if app.inputs.wrong(field).is_some() => (Role::Bad, theme.glyphs().exposed),
        InputRow::Field(field) if app.inputs.changed.contains(&field) => (Role::Warn, theme.glyphs().more[0]),
        InputRow::Field(field) if idle(field, &app.scenario).is_none() => (Role::Text, " "),
        InputRow::Field(_) | InputRow::Fold => (Role::Dim, " "),
    }
}

/// Draws one row, under it what is wrong with it; gives the lines that it took.
fn row(app: &App, theme: Theme, (row, here): (InputRow, bool), area: Rect, buf: &mut Buffer) -> u16 {
    let (role, mark) = look(app, theme, row);
    let has_keys = here && app.focus == Panel::Inputs && app.layer.is_none();
    let base = if has_keys { theme.style(Role::Cursor) } else { Style::new() };
    let aside = beside(app, row);
    let mut line = Line::from(vec![
        Span::raw(if here { theme.glyphs().pinned } else { " " }),
        Span::styled(format!("{:<NAMES$}", row.label()), theme.style(Role::Dim)),
        Span::styled(app.inputs.row_text(row, &app.scenario), theme.style(role)),
    ]);
    if !aside.is_empty() && line.width() + Span::raw(&aside).width() + 3 <= usize::from(area.width) {
        line.push_span(Span::styled(format!(" {aside}"), theme.style(Role::Dim)));
    }
    line.push_span(Span::styled(format!(" {mark}"), theme.style(role)));
    buf.set_style(Rect { height: 1, ..area }, base);
    draw_line(buf, area, &line, theme);
    let Some(wrong) = wrong(app, row) else { return 1 };
    let why = Paragraph::new(wrong).wrap(Wrap { trim: true }).style(theme.style(Role::Bad));
    let text = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: area.height - 1 };
    let rows = wrapped(wrong, text.width).min(text.height);
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
