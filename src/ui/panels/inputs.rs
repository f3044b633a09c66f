//! The fields of the scenario, one per row.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Widget;

use super::{frame, has_keys, words};
use crate::app::answers::pins::Pin;
use crate::app::views::inputs::{FieldGroup, InputRow, asides};
use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::{columns, wrapped};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::units::devices;

/// Columns that it takes at least, and those that are worth having on a large screen.
const WIDTH: u16 = 36;
const WIDEST: u16 = 54;

/// Columns that it takes on a screen of so many, where `large` is the least of a large one.
pub(in crate::ui) fn width(screen: u16, large: u16) -> u16 {
    (WIDTH + screen.saturating_sub(large)).min(WIDEST)
}

/// Rows that it needs in one column: frame, fields, and the pinned scenario.
pub(in crate::ui) fn height(app: &App) -> u16 {
    columns(2 + app.inputs.rows().count() + HEADINGS + PINNED)
}

/// Rows of the groups that are not folded, over their fields.
const HEADINGS: usize = 3;

/// Rows of the pinned scenario and how the one shown differs.
const PINNED: usize = 4;

/// Columns of the names.
const NAMES: usize = 10;

/// Draws it: in two columns where the fields do not fit one under another.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let note = if app.inputs.set.is_empty() { String::new() } else { format!("{} set by you", theme.glyphs().set) };
    let inside = frame(app, theme, Panel::Inputs, "Scenario", &note, area, buf);
    let pinned = app.pins.reference().map_or_else(Vec::new, |(pin, summary)| comparison(app, pin, summary, theme));
    let rows: Vec<InputRow> = app.inputs.rows().collect();
    let (fields, below) = places(rows.len(), pinned.len(), inside);
    list(app, theme, &rows, fields[0].width).render_in(&fields, buf);
    Text::from(pinned).render(below, buf);
}

/// The field at a place.
pub(in crate::ui) fn field_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let pinned = app.pins.reference().map_or(0, |(_, summary)| {
        let differs = app.answer.as_ref().is_some_and(|answer| answer.evaluation.summary != *summary);
        if differs { PINNED } else { 2 }
    });
    let rows: Vec<InputRow> = app.inputs.rows().collect();
    let (fields, _) = places(rows.len(), pinned, inside);
    list(app, Theme::default(), &rows, fields[0].width).row_in(&fields, at)
}

/// The areas of the columns of so many fields, the second of which goes on where the first ended, and of so many lines
/// about the pinned scenario.
fn places(rows: usize, pinned: usize, inside: Rect) -> (Vec<Rect>, Rect) {
    let crowded = usize::from(inside.height) < rows + HEADINGS + pinned && inside.width >= 2 * WIDTH;
    let heights = [Constraint::Fill(1), Constraint::Length(columns(pinned))];
    let [fields, below] = inside.layout(&Layout::vertical(heights));
    let count = if crowded { 2 } else { 1 };
    (Layout::horizontal(vec![Constraint::Fill(1); count]).split(fields).to_vec(), below)
}

/// Some fields, one under another, each with what is wrong with it.
fn list(app: &App, theme: Theme, rows: &[InputRow], width: u16) -> RowList<'static> {
    let lines = rows.iter().enumerate().flat_map(|(index, row)| {
        let heading = heading(rows, index).map(|group| (Line::styled(group.name(), theme.style(Role::Title)), None));
        let why = wrong(app, *row).map_or_else(Vec::new, |why| wrapped(why, usize::from(width.saturating_sub(1))));
        let why = why.into_iter().map(|why| Line::styled(format!(" {why}"), theme.style(Role::Bad)));
        let lines = std::iter::once(line(app, theme, *row, width)).chain(why);
        heading.into_iter().chain(lines.map(move |line| (line, Some(index))))
    });
    let cursor = Some(app.inputs.place());
    RowList {
        theme,
        lines: lines.collect(),
        cursor,
        focused: has_keys(app, Panel::Inputs),
        marked: true,
        ..RowList::default()
    }
}

/// The group that begins with a row, where no row of its own says so.
fn heading(rows: &[InputRow], index: usize) -> Option<FieldGroup> {
    let group =
        |row: &InputRow| if let InputRow::Field(field) = row { Some(FieldGroup::holding(*field)) } else { None };
    let own = group(rows.get(index)?).filter(|group| group.opens())?;
    let before = index.checked_sub(1).and_then(|before| rows.get(before));
    let begins = before.is_none_or(|before| group(before) != Some(own) && *before != InputRow::Group(own));
    begins.then_some(own)
}

/// The problem with a row's value.
fn wrong(app: &App, row: InputRow) -> Option<&str> {
    match row {
        InputRow::Field(field) => app.inputs.wrong(field).map(|wrong| wrong.why.as_str()),
        InputRow::Group(_) | InputRow::Measured => None,
    }
}

/// Notes for beside the value of a row, the fullest form first.
fn beside(app: &App, row: InputRow) -> Vec<String> {
    match row {
        InputRow::Field(field) if app.inputs.wrong(field).is_none() => {
            asides(field, app.inputs.idle(field), &app.scenario, &app.library)
        }
        InputRow::Field(_) | InputRow::Group(_) | InputRow::Measured => Vec::new(),
    }
}

/// The role of a row's value, and the mark behind it.
fn look(app: &App, theme: Theme, row: InputRow) -> (Role, &'static str) {
    match row {
        InputRow::Field(field) if app.inputs.wrong(field).is_some() => (Role::Bad, theme.glyphs().exposed),
        InputRow::Field(field) if app.inputs.changed.contains(&field) => (Role::Warn, theme.glyphs().more[0]),
        InputRow::Field(field) if app.inputs.set.contains(&field) => (Role::Text, theme.glyphs().set),
        InputRow::Field(field) if app.inputs.idle(field).is_none() => (Role::Text, " "),
        InputRow::Measured if app.inputs.measured.is_some() => (Role::Text, " "),
        InputRow::Field(_) | InputRow::Group(_) | InputRow::Measured => (Role::Dim, " "),
    }
}

/// One row: its name, its value, what stands beside that where there is room, and whether it was changed.
fn line(app: &App, theme: Theme, row: InputRow, width: u16) -> Line<'static> {
    let (role, mark) = look(app, theme, row);
    let mut line = Line::from(vec![
        Span::styled(format!(" {:<NAMES$}", row.label()), theme.style(Role::Dim)),
        Span::styled(app.inputs.row_text(row, &app.scenario), theme.style(role)),
    ]);
    let room = usize::from(width).saturating_sub(line.width() + 3);
    let fits = |aside: &String| !aside.is_empty() && Span::raw(aside).width() <= room;
    if let Some(aside) = beside(app, row).into_iter().find(fits) {
        line.push_span(Span::styled(format!(" {aside}"), theme.style(Role::Dim)));
    }
    line.push_span(Span::styled(format!(" {mark}"), theme.style(role)));
    line
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

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::scenario::Field;

    #[test]
    fn a_blank_follows_every_name() {
        let rows =
            Field::all().map(InputRow::Field).chain(FieldGroup::ALL.map(InputRow::Group)).chain([InputRow::Measured]);
        let long: Vec<&str> = rows.map(InputRow::label).filter(|label| label.len() >= NAMES).collect();
        assert!(long.is_empty(), "{long:?} fill their column of {NAMES}");
    }
}
