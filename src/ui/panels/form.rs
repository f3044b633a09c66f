//! The fields of a cluster or a model: name, value, unit, and what is wrong or was changed.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::overlay::{Overlay, Prompt, room};
use crate::app::layer::form::{Form, Row};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::{columns, fit, pad, wrapped};

/// Columns that it takes, as far as there is room; of a name, of a value and of its unit.
const WIDTH: u16 = 100;
const NAME: usize = 30;
const VALUE: usize = 16;
const UNIT: usize = 9;

/// Rows of what is said under the fields.
const SAID: usize = 2;

/// The fields, and what is said of the one under the cursor.
pub(super) fn overlay(theme: Theme, form: &Form, area: Rect) -> Overlay<'_> {
    let total = form.total();
    let size = (WIDTH, columns(form.rows.len() + SAID + usize::from(total.is_some()) + 2));
    let (width, _) = room(size, area);
    let lines = form.rows.iter().map(|row| line(row, theme, width)).zip((0..).map(Some)).collect();
    let (text, role) = words(form);
    let mut below: Vec<Line> = wrapped(&text, width.saturating_sub(2))
        .into_iter()
        .map(|line| Line::styled(format!(" {line}"), theme.style(role)))
        .collect();
    below.resize(SAID, Line::default());
    below.extend(total.map(|total| Line::styled(format!(" {total}"), theme.style(Role::Dim))));
    Overlay {
        theme,
        size,
        title: format!("Edit the {}", form.kind().word()),
        note: form.target(),
        prompt: form.typing.as_ref().map(|typing| Prompt::InRow(columns(2 + NAME), &typing.input)),
        list: RowList { theme, lines, cursor: Some(form.row()), focused: true, marked: true, ..RowList::default() },
        below,
    }
}

/// One field.
fn line(row: &Row, theme: Theme, width: usize) -> Line<'static> {
    let cell = |text: &str, columns: usize, role: Role| {
        Span::styled(pad(&fit(text, columns.saturating_sub(1), theme), columns), theme.style(role))
    };
    let role = if row.wrong.is_some() { Role::Bad } else { Role::Text };
    let rest = width.saturating_sub(2 + NAME + VALUE);
    let mut line = Line::from(vec![Span::raw("  "), cell(&row.label, NAME, Role::Dim)]);
    let shown = if row.value.is_empty() { theme.glyphs().impossible } else { &row.value };
    if row.unit.is_empty() && row.value.chars().count() >= VALUE {
        // A text without a unit may run on; a note behind it does not.
        line.push_span(cell(shown, VALUE + rest, role));
        return line;
    }
    let unit = if row.value.is_empty() { "" } else { &row.unit };
    let (note, noted) = aside(row);
    line.extend([cell(shown, VALUE, role), cell(unit, UNIT, Role::Dim), cell(&note, rest.saturating_sub(UNIT), noted)]);
    line
}

/// The note behind a value.
fn aside(row: &Row) -> (String, Role) {
    match &row.wrong {
        Some(why) => (why.clone(), Role::Bad),
        None if row.text() == row.before => (row.note.clone(), Role::Dim),
        None if row.before.is_empty() => ("was not given".to_owned(), Role::Accent),
        None => (format!("was {}", row.before), Role::Accent),
    }
}

/// The problem with the field that has the keys in full, or how it is changed.
fn words(form: &Form) -> (String, Role) {
    let Some(row) = form.rows.get(form.row()) else { return (String::new(), Role::Dim) };
    match &row.wrong {
        Some(why) => (format!("{}: {why}", row.label), Role::Bad),
        None if row.unit.is_empty() => ("Enter types a value, s saves".to_owned(), Role::Dim),
        None => (format!("Enter types a value in {} or with another unit, s saves", row.unit), Role::Dim),
    }
}
