//! The fields of a cluster or a model: name, value, unit, and what is wrong or was changed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Span};

use super::in_view;
use super::layers::{input, middle, over};
use crate::app::form::{Form, Row};
use crate::app::pointing::Target;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{fit, wrapped};

/// Columns that it takes, as far as there is room; of a name, of a value and of its unit.
const WIDTH: u16 = 100;
const NAME: u16 = 30;
const VALUE: u16 = 16;
const UNIT: u16 = 9;

/// Rows of what is said under the fields.
const SAID: u16 = 2;

/// Draws it; gives the place of the text cursor, if something is being typed.
pub(super) fn render(theme: Theme, form: &Form, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let title = format!("Edit the {}", form.kind().word());
    let inside = over(theme, size(form), &title, &form.target(), area, buf);
    let [fields, said] = halves(inside);
    let visible = in_view(form.cursor, form.rows.len(), fields.height.into());
    let mut cursor = None;
    for (row, line) in visible.zip(fields.rows()) {
        cursor = field(theme, form, row, line, buf).or(cursor);
    }
    let (text, role) = words(form);
    for (line, row) in wrapped(&text, said.width.saturating_sub(2).into()).into_iter().zip(said.rows()) {
        buf.set_line(row.x + 1, row.y, &Line::styled(line, theme.style(role)), row.width.saturating_sub(1));
    }
    cursor
}

/// What of it is at a place.
pub(super) fn target(form: &Form, area: Rect, at: Position) -> Target {
    let outside = middle(size(form), area);
    let [fields, _] = halves(outside.inner(Margin::new(1, 1)));
    let mut visible = in_view(form.cursor, form.rows.len(), fields.height.into());
    match fields.contains(at).then(|| visible.nth(usize::from(at.y - fields.y))).flatten() {
        Some(row) => Target::Item(row),
        None if outside.contains(at) => Target::Layer,
        None => Target::Nothing,
    }
}

fn size(form: &Form) -> (u16, u16) {
    (WIDTH, u16::try_from(form.rows.len()).unwrap_or(u16::MAX).saturating_add(2 + SAID))
}

/// Where the fields are, and what is said under them.
fn halves(inside: Rect) -> [Rect; 2] {
    inside.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(SAID)]))
}

/// One field; gives the place of the text cursor, if something is being typed into it.
fn field(theme: Theme, form: &Form, index: usize, line: Rect, buf: &mut Buffer) -> Option<Position> {
    let row = &form.rows[index];
    let here = index == form.cursor;
    let widths = [Constraint::Length(2), Constraint::Length(NAME), Constraint::Length(VALUE), Constraint::Length(UNIT)];
    let [mark, name, value, unit, note] =
        line.layout(&Layout::horizontal(widths.into_iter().chain([Constraint::Fill(1)])));
    let put = |area: Rect, text: &str, role: Role, buf: &mut Buffer| {
        let text = fit(text, usize::from(area.width.saturating_sub(1)), theme);
        buf.set_line(area.x, area.y, &Line::from(Span::styled(text, theme.style(role))), area.width);
    };
    let role = if row.wrong.is_some() { Role::Bad } else { Role::Text };
    // A text without a unit may run on; a note behind it does not.
    let long = row.unit.is_empty() && row.value.chars().count() >= usize::from(VALUE);
    put(mark, if here { theme.glyphs().pinned } else { "" }, Role::Accent, buf);
    put(name, &row.label, Role::Dim, buf);
    put(if long { value.union(unit).union(note) } else { value }, shown(row, theme), role, buf);
    if !long {
        put(unit, if row.value.is_empty() { "" } else { &row.unit }, Role::Dim, buf);
        let (text, role) = aside(row);
        put(note, &text, role, buf);
    }
    if here {
        buf.set_style(line, theme.style(Role::Cursor));
    }
    let typing = form.typing.as_ref().filter(|_| here)?;
    let room = value.union(unit).union(note);
    buf.set_line(room.x, room.y, &Line::raw(" ".repeat(room.width.into())), room.width);
    Some(input(theme, "", &typing.input, room, buf))
}

fn shown(row: &Row, theme: Theme) -> &str {
    if row.value.is_empty() { theme.glyphs().impossible } else { &row.value }
}

/// What stands behind a value.
fn aside(row: &Row) -> (String, Role) {
    match &row.wrong {
        Some(why) => (why.clone(), Role::Bad),
        None if row.text() == row.before => (row.note.clone(), Role::Dim),
        None if row.before.is_empty() => ("was not given".to_owned(), Role::Accent),
        None => (format!("was {}", row.before), Role::Accent),
    }
}

/// What is wrong with the field that has the keys, in full, or how it is changed.
fn words(form: &Form) -> (String, Role) {
    let Some(row) = form.rows.get(form.cursor) else { return (String::new(), Role::Dim) };
    match &row.wrong {
        Some(why) => (format!("{}: {why}", row.label), Role::Bad),
        None if row.unit.is_empty() => ("Enter types a value, s saves".to_owned(), Role::Dim),
        None => (format!("Enter types a value in {} or with another unit, s saves", row.unit), Role::Dim),
    }
}
