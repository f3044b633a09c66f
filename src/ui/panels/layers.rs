//! What lies over the panels, each a box with a list in it: the help, commands, a list to choose from, a value being
//! typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::overlay::{Overlay, Prompt, picked, room};
use super::{browser, explain, form};
use crate::app::App;
use crate::app::action::Format;
use crate::app::diagnostics::{Finding, LINES};
use crate::app::layer::Layer;
use crate::app::list::{Entry, List, Subject};
use crate::app::palette::Palette;
use crate::app::pointing::PointerTarget;
use crate::app::view::ViewSpec;
use crate::app::views::SPECS;
use crate::scenario::Field;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::key_lines;
use crate::ui::widgets::text::columns;

/// Draws the top layer; gives the place of the text cursor, if there is one.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    overlay(app, theme, area)?.render(area, buf)
}

/// What of the top layer is at a place.
pub(in crate::ui) fn target(app: &App, area: Rect, at: Position) -> PointerTarget {
    overlay(app, Theme::default(), area).map_or(PointerTarget::Nothing, |overlay| overlay.target(area, at))
}

fn overlay(app: &App, theme: Theme, area: Rect) -> Option<Overlay<'_>> {
    match app.layer.as_ref()? {
        Layer::Browser(found) => Some(browser::overlay(theme, found, area)),
        Layer::Explain(explaining) => explain::overlay(theme, explaining, area),
        Layer::Palette(palette) => Some(commands(theme, palette, area)),
        Layer::Help(top) => Some(help(app, theme, *top, area)),
        Layer::Diagnostics(findings, top) => Some(diagnostics(theme, findings, *top)),
        Layer::List(found) => Some(list(app, theme, found, area)),
        Layer::Entry(typed) => Some(entry(theme, typed)),
        Layer::Form(form) => Some(form::overlay(theme, form, area)),
    }
}

/// The same under a line to type on.
fn under_prompt(size: (u16, u16), area: Rect) -> (usize, usize) {
    let (width, height) = room(size, area);
    (width, height.saturating_sub(1))
}

fn help(app: &App, theme: Theme, top: usize, area: Rect) -> Overlay<'static> {
    let rows = app.keymap.help_rows(app.panel_place(), theme.caps().ascii);
    let list = RowList {
        theme,
        lines: key_lines(theme, rows),
        cursor: app.find.as_ref().and_then(|find| find.row),
        focused: true,
        top: Some(top),
        scrollbar: true,
        ..RowList::default()
    };
    Overlay {
        theme,
        size: (76, area.height),
        title: "Keys".into(),
        note: "Esc closes".into(),
        list,
        ..Overlay::default()
    }
}

fn diagnostics(theme: Theme, findings: &[Finding], top: usize) -> Overlay<'_> {
    let names = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0) + 2;
    let lines = findings.iter().flat_map(|Finding { what, value, why, fix }| {
        let name = Span::styled(format!("{what:<names$}"), theme.style(Role::Dim));
        let value = Span::styled(value.as_str(), theme.style(Role::Title));
        let change = if fix.is_empty() { String::new() } else { format!("{:names$}change it: {fix}", "") };
        [Line::from(vec![name, value, Span::raw(format!("  {why}"))]), Line::styled(change, theme.style(Role::Dim))]
    });
    let list = RowList { theme, lines: lines.map(|line| (line, None)).collect(), top: Some(top), ..RowList::default() };
    let title = "What the terminal can do".into();
    let size = (100, columns(findings.len() * LINES).saturating_add(2));
    Overlay { theme, size, title, note: "Esc closes".into(), list, ..Overlay::default() }
}

fn commands(theme: Theme, palette: &Palette, area: Rect) -> Overlay<'_> {
    let found: Vec<(String, String)> =
        palette.found().into_iter().map(|item| (item.name.clone(), item.key.clone())).collect();
    let size = (84, columns(found.len()).saturating_add(3).clamp(12, 30));
    Overlay {
        theme,
        size,
        title: "Commands".into(),
        note: format!("{} found", found.len()),
        prompt: Some(Prompt::Typed(":", &palette.search, true)),
        list: picked(theme, &found, palette.row(), under_prompt(size, area)),
        below: Vec::new(),
    }
}

fn list<'a>(app: &App, theme: Theme, list: &'a List, area: Rect) -> Overlay<'a> {
    let note = |item: &str| match list.subject {
        Subject::Field(field) => app.library.title(field, item).unwrap_or_default().to_owned(),
        Subject::Views => about(app, item, theme),
        Subject::Screen => {
            Format::ALL.into_iter().find(|format| format.name() == item).map_or("", Format::about).to_owned()
        }
        Subject::Axis(_) => Field::from_axis(item).map_or("", |field| field.spec().help).to_owned(),
        Subject::Pin(_) | Subject::Set => String::new(),
    };
    let items: Vec<(String, String)> = list.found().iter().map(|item| ((*item).to_owned(), note(item))).collect();
    let size = (72, columns(items.len()).saturating_add(4).max(12));
    let searched = list.searching || !list.search.value().is_empty();
    Overlay {
        theme,
        size,
        title: title(list.subject).into(),
        note: format!("{} found", items.len()),
        prompt: Some(if searched {
            Prompt::Typed("/", &list.search, list.searching)
        } else {
            Prompt::Hint("/ searches")
        }),
        list: picked(theme, &items, list.row(), under_prompt(size, area)),
        below: Vec::new(),
    }
}

fn title(subject: Subject) -> &'static str {
    match subject {
        Subject::Field(field) => field.spec().label,
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
    let spec = SPECS.into_iter().find(|spec| spec.id.name == name);
    spec.map_or_else(String::new, |ViewSpec { id, .. }| {
        format!("{}  {}", app.keymap.key_of(*id, theme.caps().ascii), id.about)
    })
}

fn entry(theme: Theme, entry: &Entry) -> Overlay<'_> {
    let prompt = if entry.untouched { Prompt::Replaced(&entry.input) } else { Prompt::Typed("", &entry.input, true) };
    let title = title(entry.subject).into();
    Overlay { theme, size: (44, 3), title, note: "Enter takes".into(), prompt: Some(prompt), ..Overlay::default() }
}
