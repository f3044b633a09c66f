//! One line under the panels: what just happened, or what the cursor is on. Where that is longer, it takes the keys' row
//! too, since a remedy stands at the end of what is said.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::overlay::input;
use super::{cell, footer, views};
use crate::app::state::Find;
use crate::app::views::inputs::{self, InputRow};
use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{draw_line, width, wrapped};

/// Draws it, and the keys under it; gives the place of the text cursor where rows are searched.
pub(in crate::ui) fn render(app: &App, theme: Theme, [said, keys]: [Rect; 2], buf: &mut Buffer) -> Option<Position> {
    let indented = |row: Rect| Rect { x: row.x + 1, width: row.width.saturating_sub(1), ..row };
    let area = indented(said);
    if let Some(find) = &app.find {
        footer::render(app, theme, keys, buf);
        return Some(search(find, theme, area, buf));
    }
    let (text, style) = match app.status() {
        Some(said) => (said, theme.style(Role::Accent)),
        None => (told(app, area.width.saturating_sub(2)), Style::new()),
    };
    let columns = usize::from(area.width);
    if width(&text) <= columns {
        draw_line(buf, area, &Line::styled(text, style), theme);
        footer::render(app, theme, keys, buf);
        return None;
    }
    let lines = wrapped(&text, columns);
    let (first, rest) = lines.split_at(1);
    let lines = [first.concat(), rest.join(" ")].map(|line| Line::styled(line, style));
    for (line, row) in lines.iter().zip([area, indented(keys)]) {
        draw_line(buf, row, line, theme);
    }
    None
}

/// What the cursor is on.
fn told(app: &App, columns: u16) -> String {
    match app.focus {
        Panel::Inputs => field(app),
        Panel::Map => views::status(app, columns),
        Panel::Memory | Panel::Timeline | Panel::Time => cell::status(app, columns),
    }
}

/// What is searched for, and how often it was found: `/node   2 of 5`.
fn search(find: &Find, theme: Theme, area: Rect, buf: &mut Buffer) -> Position {
    let said = match find.place {
        _ if find.input.value().is_empty() => "type a part of a row".to_owned(),
        (_, 0) => "not found".to_owned(),
        (place, count) => format!("{place} of {count}"),
    };
    let role = if find.row.is_none() && !find.input.value().is_empty() { Role::Bad } else { Role::Dim };
    let columns = [Constraint::Length(30), Constraint::Fill(1)];
    let [typed, told] = area.layout(&Layout::horizontal(columns).spacing(2));
    draw_line(buf, told, &Line::styled(said, theme.style(role)), theme);
    input(theme, "/", &find.input, typed, buf)
}

/// What is wrong with the field that has the keys, what is to be known of it, or why the scenario does not fit.
fn field(app: &App) -> String {
    let wrong = app.inputs.field().and_then(|field| app.inputs.wrong(field)).map(|wrong| wrong.why.clone());
    let excess = || app.answer.as_ref().filter(|_| !app.stale).and_then(|it| app.excess(&it.evaluation.summary));
    let about = || match app.inputs.row() {
        InputRow::Field(field) => inputs::about(field, app.inputs.idle(field), &app.scenario),
        InputRow::Measured => Some(
            "what your own job takes, like 3.4 s or 38 %: Enter types it and shows what explains the gap".to_owned(),
        ),
        InputRow::Fold => Some("Enter shows or hides the fields that are seldom changed".to_owned()),
    };
    wrong.or_else(about).or_else(excess).unwrap_or_default()
}
