//! What lies over the panels: the help, a list, a value being typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use tui_input::Input;

use super::boxed;
use crate::app::App;
use crate::app::action::Format;
use crate::app::diagnostics::{Finding, LINES};
use crate::app::inputs::FIELDS;
use crate::app::layer::Layer;
use crate::app::list::{Entry, List, Subject};
use crate::app::palette::Palette;
use crate::app::panel::ViewId;
use crate::app::pointing::Target;
use crate::search::AxisKind;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::ui::widgets::{KeyTable, Picker};

/// Draws the top layer; gives the place of the text cursor, if there is one.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    match app.layer.as_ref()? {
        Layer::Browser(browser) => super::browser::render(theme, browser, area, buf),
        Layer::Form(form) => super::form::render(theme, form, area, buf),
        Layer::Explain(explaining) => {
            super::explain::render(theme, explaining, area, buf);
            None
        }
        Layer::Palette(palette) => Some(commands(theme, palette, area, buf)),
        Layer::Help(line) => {
            help(app, theme, *line, area, buf);
            None
        }
        Layer::Diagnostics(findings, line) => {
            diagnostics(theme, findings, *line, area, buf);
            None
        }
        Layer::List(found) => list(app, theme, found, area, buf),
        Layer::Entry(typed) => Some(entry(theme, typed, area, buf)),
    }
}

/// What of the top layer is at a place.
pub(in crate::ui) fn target(app: &App, area: Rect, at: Position) -> Target {
    let (size, list) = match app.layer.as_ref() {
        Some(Layer::List(list)) => (list_size(list), Some((1, list.row(), list.found().len()))),
        Some(Layer::Palette(palette)) => {
            let count = palette.found().len();
            (commands_size(count), Some((1, palette.row(), count)))
        }
        Some(Layer::Entry(_)) => (ENTRY, None),
        Some(Layer::Browser(browser)) => return super::browser::target(browser, area, at),
        Some(Layer::Form(form)) => return super::form::target(form, area, at),
        Some(Layer::Explain(explaining)) => return super::explain::target(explaining, area, at),
        Some(Layer::Help(_)) => ((HELP, area.height), None),
        Some(Layer::Diagnostics(findings, _)) => (diagnostics_size(findings), None),
        None => return Target::Nothing,
    };
    let outside = middle(size, area);
    let rows = outside.inner(Margin::new(1, 1));
    match list {
        _ if !outside.contains(at) => Target::Nothing,
        Some((above, cursor, count)) => {
            let rows = Rect { y: rows.y + above, height: rows.height.saturating_sub(above), ..rows };
            item(rows, cursor, count, at).map_or(Target::Layer, Target::Item)
        }
        None => Target::Layer,
    }
}

/// The item at a place of a list, which scrolls as far as its cursor needs.
pub(super) fn item(rows: Rect, cursor: usize, count: usize, at: Position) -> Option<usize> {
    let above = (cursor + 1).saturating_sub(rows.height.into());
    rows.contains(at).then(|| above + usize::from(at.y - rows.y)).filter(|index| *index < count)
}

/// A box in the middle, as far as there is room.
pub(super) fn middle(size: (u16, u16), area: Rect) -> Rect {
    area.centered(Constraint::Length(size.0), Constraint::Length(size.1))
}

/// The same, drawn over what was there; gives what is inside.
pub(super) fn over(theme: Theme, size: (u16, u16), title: &str, note: &str, area: Rect, buf: &mut Buffer) -> Rect {
    let outside = middle(size, area);
    Clear.render(outside, buf);
    boxed(theme, true, title, note, outside, buf)
}

fn help(app: &App, theme: Theme, line: usize, area: Rect, buf: &mut Buffer) {
    let rows = app.keymap.help_rows(app.panel_place(), theme.caps().ascii);
    let found = app.find.as_ref().and_then(|find| find.row);
    let inside = over(theme, (HELP, area.height), "Keys", "Esc closes", area, buf);
    (&KeyTable::new(theme, &rows).offset(line).selected(found)).render(inside, buf);
}

/// Columns of the help.
const HELP: u16 = 76;

/// Columns and rows of the diagnostics.
fn diagnostics_size(findings: &[Finding]) -> (u16, u16) {
    (100, u16::try_from(findings.len() * LINES).unwrap_or(u16::MAX).saturating_add(2))
}

fn diagnostics(theme: Theme, findings: &[Finding], line: usize, area: Rect, buf: &mut Buffer) {
    let inside = over(theme, diagnostics_size(findings), "What the terminal can do", "Esc closes", area, buf);
    let names = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0) + 2;
    let lines = findings.iter().flat_map(|Finding { what, value, why, fix }| {
        let name = Span::styled(format!("{what:<names$}"), theme.style(Role::Dim));
        let value = Span::styled(value.clone(), theme.style(Role::Title));
        let change = if fix.is_empty() { String::new() } else { format!("{:names$}change it: {fix}", "") };
        [Line::from(vec![name, value, Span::raw(format!("  {why}"))]), Line::styled(change, theme.style(Role::Dim))]
    });
    for (row, line) in inside.rows().zip(lines.skip(line)) {
        draw_line(buf, row, &line, theme);
    }
}

fn commands(theme: Theme, palette: &Palette, area: Rect, buf: &mut Buffer) -> Position {
    let found: Vec<(String, String)> =
        palette.found().into_iter().map(|item| (item.name.clone(), item.key.clone())).collect();
    let inside = over(theme, commands_size(found.len()), "Commands", &format!("{} found", found.len()), area, buf);
    let [search, rows] = inside.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    (&Picker::new(theme, &found).selected(Some(palette.row()))).render(rows, buf);
    input(theme, ":", &palette.search, search, buf)
}

/// Columns and rows of a palette with so many items.
fn commands_size(found: usize) -> (u16, u16) {
    (84, u16::try_from(found).unwrap_or(u16::MAX).saturating_add(3).clamp(12, 30))
}

/// Columns and rows of a list, and of a line to type on.
fn list_size(list: &List) -> (u16, u16) {
    (72, u16::try_from(list.found().len()).unwrap_or(u16::MAX).saturating_add(4).max(12))
}
const ENTRY: (u16, u16) = (44, 3);

fn list(app: &App, theme: Theme, list: &List, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let found = list.found();
    let note = |item: &str| match list.subject {
        Subject::Field(field) => FIELDS[field].note(item, &app.library),
        Subject::Views => about(app, item, theme),
        Subject::Screen => {
            Format::ALL.into_iter().find(|format| format.name() == item).map_or("", Format::about).to_owned()
        }
        Subject::Axis(_) => {
            AxisKind::ALL.into_iter().find(|kind| kind.word() == item).map_or("", AxisKind::about).to_owned()
        }
        Subject::Pin(_) | Subject::Set => String::new(),
    };
    let items: Vec<(String, String)> = found.iter().map(|item| ((*item).to_owned(), note(item))).collect();
    let inside = over(theme, list_size(list), title(list.subject), &format!("{} found", found.len()), area, buf);
    let [search, rows] = inside.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    (&Picker::new(theme, &items).selected(Some(list.row()))).render(rows, buf);
    if !list.searching && list.search.value().is_empty() {
        draw_line(buf, search, &Line::styled("/ searches", theme.style(Role::Dim)), theme);
        return None;
    }
    let cursor = input(theme, "/", &list.search, search, buf);
    list.searching.then_some(cursor)
}

fn title(subject: Subject) -> &'static str {
    match subject {
        Subject::Field(field) => FIELDS[field].label,
        Subject::Views => "Views",
        Subject::Screen => "Write the screen",
        Subject::Axis(0) => "Across the map",
        Subject::Axis(_) => "Down the map",
        Subject::Pin(_) => "Name",
        Subject::Set => "Name of the set",
    }
}

/// A view's key, and what it shows.
fn about(app: &App, name: &str, theme: Theme) -> String {
    let view = ViewId::ALL.into_iter().find(|view| view.name() == name);
    view.map_or_else(String::new, |view| format!("{}  {}", app.keymap.key_of(view, theme.caps().ascii), view.about()))
}

fn entry(theme: Theme, entry: &Entry, area: Rect, buf: &mut Buffer) -> Position {
    let inside = over(theme, ENTRY, title(entry.subject), "Enter takes", area, buf);
    let cursor = input(theme, "", &entry.input, inside, buf);
    if entry.untouched {
        buf.set_style(Rect { width: cursor.x - inside.x, ..inside }, theme.style(Role::Cursor));
    }
    cursor
}

/// A line being typed, scrolled so that its cursor is in sight; gives the place of the cursor.
pub(super) fn input(theme: Theme, prompt: &str, input: &Input, area: Rect, buf: &mut Buffer) -> Position {
    let before = u16::try_from(Span::raw(prompt).width()).unwrap_or(0).min(area.width);
    let text = Rect { x: area.x + before, width: area.width - before, ..area };
    let scroll = input.visual_scroll(usize::from(text.width.saturating_sub(1)));
    let shown: String = input.value().chars().skip(scroll).collect();
    draw_line(buf, area, &Line::styled(prompt.to_owned(), theme.style(Role::Accent)), theme);
    draw_line(buf, text, &Line::raw(shown), theme);
    let column = u16::try_from(input.visual_cursor().saturating_sub(scroll)).unwrap_or(u16::MAX);
    Position::new(text.x.saturating_add(column), text.y)
}
