//! Layers over the panels, each a box with a list in it: the help, commands, a list to choose from, a value being
//! typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::overlay::{Overlay, Prompt, picked, room};
use super::{browser, form};
use crate::app::App;
use crate::app::action::Action;
use crate::app::action::keys::{KeyLine, KeyPlace};
use crate::app::layer::Layer;
use crate::app::layer::command_lines::CommandLines;
use crate::app::layer::explanation::{Explaining, Page};
use crate::app::layer::help::Help;
use crate::app::layer::list::{Item, List};
use crate::app::layer::page::TextPage;
use crate::app::layer::page::{Finding, LINES};
use crate::app::layer::typing::{Entry, Purpose};
use crate::app::state::pointing::PointerTarget;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::{ListLine, key_lines};
use crate::ui::widgets::text::{columns, fit, width, wrapped};
use shardscope_report::figures::FormulaInput;

/// Draws the top layer; gives the place of the text cursor, if there is one.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    overlay(app, theme, area)?.render(area, buf)
}

/// Finds the target of the top layer at a place.
pub(in crate::ui) fn target(app: &App, area: Rect, at: Position) -> PointerTarget {
    overlay(app, Theme::default(), area).map_or(PointerTarget::Nothing, |overlay| overlay.target(area, at))
}

fn overlay(app: &App, theme: Theme, area: Rect) -> Option<Overlay<'_>> {
    match app.layer.as_ref()? {
        Layer::FirstStart(_) => Some(first_start(app, theme)),
        Layer::Browser(found) => Some(browser::overlay(theme, found, area)),
        Layer::Explain(explaining) => explanation(theme, explaining, area),
        Layer::Help(read) => Some(help(app, theme, read, area)),
        Layer::Diagnostics(findings, sheet) => Some(diagnostics(theme, findings, sheet.top(&app.context()))),
        Layer::Page(read) => Some(page(app, theme, read, area)),
        Layer::List(found) => Some(list(theme, found, area)),
        Layer::Entry(typed) => Some(entry(theme, typed)),
        Layer::Form(form) => Some(form::overlay(theme, form, area)),
        Layer::CommandLines(lines) => Some(command_lines(theme, lines, area)),
    }
}

/// What may be at hand, each with its key.
fn first_start(app: &App, theme: Theme) -> Overlay<'_> {
    let is_question = |line: &&KeyLine| {
        line.place == KeyPlace::FirstStart && matches!(line.bindings[0].action, Action::Close | Action::Begin(_))
    };
    let questions = app.keymap.lines().iter().filter(is_question);
    let rows: Vec<_> = questions.map(|line| (line.name(theme.caps().ascii), line.text())).collect();
    let size = (66, columns(rows.len()).saturating_add(2));
    let list = RowList { theme, lines: key_lines(theme, rows), top: Some(0), ..RowList::default() };
    Overlay { theme, size, title: "What do you have?".into(), note: "one key each".into(), list, ..Overlay::default() }
}

fn help<'a>(app: &'a App, theme: Theme, help: &'a Help, area: Rect) -> Overlay<'a> {
    let rows = help.found(app.keymap.help_rows(app.panel_place(), theme.caps().ascii));
    let lines = if rows.is_empty() {
        vec![(Line::styled("nothing found", theme.style(Role::Bad)), None)]
    } else {
        key_lines(theme, rows)
    };
    let list = RowList {
        theme,
        lines,
        focused: true,
        top: Some(help.top(&app.context())),
        scrollbar: true,
        ..RowList::default()
    };
    Overlay {
        theme,
        size: (78, area.height),
        title: "Keys".into(),
        note: "`shardscope guide` has more  Esc closes".into(),
        prompt: Some(Prompt::filter(&help.filter)),
        list,
        ..Overlay::default()
    }
}

fn page<'a>(app: &'a App, theme: Theme, page: &'a TextPage, area: Rect) -> Overlay<'a> {
    let list = RowList {
        theme,
        lines: page.lines.iter().map(|line| (Line::raw(line.as_str()), None)).collect(),
        cursor: app.find.as_ref().and_then(|find| find.row),
        focused: true,
        top: Some(page.sheet.top(&app.context())),
        scrollbar: true,
        ..RowList::default()
    };
    let size = (78, columns(page.lines.len()).saturating_add(2).min(area.height));
    Overlay { theme, size, title: page.title.clone(), note: "Esc closes".into(), list, ..Overlay::default() }
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

fn list(theme: Theme, list: &List, area: Rect) -> Overlay<'_> {
    // As large as all items need, so that the box stays where it is while they are filtered.
    let longest = |text: fn(&Item) -> &str| list.items.iter().map(|item| width(text(item))).max().unwrap_or(0);
    let across = match longest(|item| &item.name) + longest(|item| &item.note) {
        _ if list.commands => 84,
        // As wide as the longest line, up to what the eye follows.
        line => columns(line + 7).clamp(72, 110),
    };
    let below = about(theme, list, room((across, area.height), area).0);
    let rows = columns(list.items.len() + below.len()).saturating_add(4);
    let size = (across, if list.commands { rows.clamp(12, 30) } else { rows.max(12) });
    let found: Vec<(String, String)> =
        list.found().into_iter().map(|item| (item.name.clone(), item.note.clone())).collect();
    let prompt = match &list.filter {
        filter if list.commands => Prompt::Typed(":", &filter.0, ""),
        filter if list.typed.is_some() => Prompt::Typed("> ", &filter.0, "type to filter, or another value"),
        filter => Prompt::filter(filter),
    };
    let note = match list.typed_value() {
        Some((_, text)) => format!("Enter applies {text}"),
        None => format!("{} found", found.len()),
    };
    let (inside, height) = room(size, area);
    let rows = if found.is_empty() && list.typed_value().is_none() {
        let said = if list.commands { NO_COMMAND } else { "nothing is called so: Backspace shows more" };
        let said = wrapped(said, inside.saturating_sub(1)).into_iter();
        let lines = said.map(|row| (Line::styled(format!(" {row}"), theme.style(Role::Dim)), None)).collect();
        RowList { theme, lines, ..RowList::default() }
    } else {
        picked(theme, &found, list.row(), (inside, height.saturating_sub(1 + below.len())))
    };
    Overlay { theme, size, title: list.title.into(), note, prompt: Some(prompt), list: rows, below }
}

/// Said where no command is found.
const NO_COMMAND: &str = "nothing is called so: type a field, with its value if you like (nodes 8), a view, a figure of the \
                          map, or a preset; Esc, then ? lists all keys";

/// Sentences on the item under the cursor, behind a blank line: as many rows whichever item that is.
fn about(theme: Theme, list: &List, width: usize) -> Vec<Line<'static>> {
    let said = |item: &Item| wrapped(&item.about, width.saturating_sub(1));
    let rows = list.items.iter().map(|item| said(item).len()).max().unwrap_or(0);
    if rows == 0 {
        return Vec::new();
    }
    let here = list.found().get(list.row()).map_or_else(Vec::new, |item| said(item));
    let lines = here.into_iter().map(|row| Line::styled(format!(" {row}"), theme.style(Role::Dim)));
    let mut below: Vec<Line> = std::iter::once(Line::default()).chain(lines).collect();
    below.resize(rows + 1, Line::default());
    below
}

/// Each under what it gives, broken as a shell takes it, so that the mouse of the terminal can copy it too.
fn command_lines(theme: Theme, shown: &CommandLines, area: Rect) -> Overlay<'_> {
    let (width, _) = room((100, area.height), area);
    let mut lines = Vec::new();
    for (row, (what, command)) in shown.lines.iter().enumerate() {
        lines.push((Line::styled(format!(" {what}"), theme.style(Role::Title)), Some(row)));
        let parts = wrapped(command, width.saturating_sub(4));
        let last = parts.len().saturating_sub(1);
        let parts = parts.into_iter().enumerate();
        let broken = |(at, part)| Line::raw(if at == last { format!("  {part}") } else { format!("  {part} \\") });
        lines.extend(parts.map(broken).map(|line| (line, Some(row))));
    }
    let size = (100, columns(lines.len()).saturating_add(2));
    let list = RowList { theme, lines, cursor: Some(shown.row()), focused: true, ..RowList::default() };
    Overlay { theme, size, title: "Command lines".into(), note: "Enter copies".into(), list, ..Overlay::default() }
}

fn entry(theme: Theme, entry: &Entry) -> Overlay<'_> {
    let (input, untouched) = (&entry.line.input, entry.line.untouched);
    let prompt = if untouched { Prompt::Replaced(input) } else { Prompt::Typed("", input, "") };
    let title = match entry.purpose {
        Purpose::Value(field) => field.spec().label.into(),
        Purpose::PinName(_) => "Name".into(),
        Purpose::SetName => "Name of the set".into(),
        Purpose::OwnFigure => "Measured: 3.4 s, 38 % MFU, 71 GiB, or PyTorch's message".into(),
        Purpose::ImportPath => "File to import: its path, then --options".into(),
        Purpose::ExportFolder(form) => format!("Folder for the files of {}", form.name()),
    };
    let wide = matches!(entry.purpose, Purpose::OwnFigure | Purpose::ImportPath | Purpose::ExportFolder(_));
    Overlay {
        theme,
        size: (if wide { 76 } else { 44 }, 3),
        title,
        note: "Enter applies".into(),
        prompt: Some(prompt),
        ..Overlay::default()
    }
}

/// Columns that it takes, as far as there is room.
const EXPLAINED: u16 = 100;

/// Columns of an input's value.
const INPUT: usize = 14;

/// The page on top of those that led to it.
pub(super) fn explanation(theme: Theme, explaining: &Explaining, area: Rect) -> Option<Overlay<'_>> {
    let (page, title) = (explaining.page()?, explaining.title()?);
    let way: Vec<&str> = explaining.way().collect();
    let note = way.split_last().map_or_else(String::new, |(_, before)| before.join(" / "));
    let size = (EXPLAINED, area.height);
    let lines = explanation_lines(page, theme, room(size, area).0.saturating_sub(2));
    let list = RowList { theme, lines, cursor: Some(page.row()), ..RowList::default() };
    Some(Overlay { theme, size, title, note, list, ..Overlay::default() })
}

/// The figure, a row for each input, a description, and its source.
fn explanation_lines(page: &Page, theme: Theme, width: usize) -> Vec<ListLine<'static>> {
    let mut lines: Vec<_> = head(page, theme, width).into_iter().map(|line| (line, None)).collect();
    let inputs = page.explanation.formula.inputs();
    for (index, input) in inputs.iter().enumerate() {
        lines.extend(input_row(input, page.row() == index, theme, width).into_iter().map(|line| (line, Some(index))));
    }
    let texts = [page.explanation.about.to_string(), page.explanation.source.to_string()];
    for (text, row) in texts.iter().zip(inputs.len()..) {
        // Each line of a text is marked, where of an input only the first is.
        let (mark, role) = if page.row() == row { (theme.glyphs().pinned, Role::Text) } else { (" ", Role::Dim) };
        let said = wrapped(text, width).into_iter();
        lines.push((Line::default(), None));
        lines.extend(said.map(|line| (Line::styled(format!("{mark}{line}"), theme.style(role)), Some(row))));
    }
    lines
}

/// The figure, its formula, and the formula in numbers.
fn head(page: &Page, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let explanation = &page.explanation;
    let formula = wrapped(&format!("= {}", explanation.formula), width);
    let numbers = wrapped(&format!("= {}", explanation.formula.in_numbers()), width);
    let mut lines =
        vec![Line::styled(format!(" {} {}", explanation.name, explanation.amount), theme.style(Role::Title))];
    lines.extend(formula.into_iter().map(|row| Line::raw(format!(" {row}"))));
    lines.extend(numbers.into_iter().map(|row| Line::styled(format!(" {row}"), theme.style(Role::Dim))));
    lines.push(Line::default());
    lines
}

/// An input: what it is, how much, and, where the cursor is, its source.
fn input_row(input: &FormulaInput, here: bool, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let follows = if input.figure.is_some() { theme.glyphs().more[1] } else { " " };
    let room = width.saturating_sub(INPUT + 3);
    let mark = if here { theme.glyphs().pinned } else { " " };
    let name = format!("{mark}{:<room$} ", fit(&input.name, room, theme));
    let style = theme.style(if here { Role::Cursor } else { Role::Text });
    let value = Span::styled(format!("{:>INPUT$}", input.amount.to_string()), style);
    let mut lines = vec![Line::from(vec![Span::styled(name, style), value, Span::raw(format!(" {follows}"))])];
    if here {
        let source = if input.figure.is_some() { "Enter explains it".to_owned() } else { input.source.to_string() };
        let said = wrapped(&source, width.saturating_sub(3));
        lines.extend(said.into_iter().map(|row| Line::styled(format!("   {row}"), theme.style(Role::Dim))));
    }
    lines
}
