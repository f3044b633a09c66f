//! The lines around the panels: the tabs above; the strips of memory and time, the status line and the keys below.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::overlay::input;
use super::views::{self, map};
use crate::app::action::keys::{Intent, KeyLine};
use crate::app::state::Find;
use crate::app::timeline::ShownStep;
use crate::app::views::inputs::{self, InputRow};
use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{draw_line, width, wrapped};
use crate::ui::widgets::{Gantt, StackedBar};
use shardscope_engine::units::Seconds;

/// The panel whose name is at a place.
pub(in crate::ui) fn tab_at(app: &App, theme: Theme, area: Rect, at: Position) -> Option<Panel> {
    let mut end = area.x;
    Panel::ALL.into_iter().find(|panel| {
        end = end.saturating_add(tab(app, theme, *panel).width() as u16);
        at.x < end
    })
}

fn tab(app: &App, theme: Theme, panel: Panel) -> Span<'static> {
    let title = if panel == Panel::Map { app.view.name } else { panel.title() };
    let name = format!("{} {title}", panel as usize + 1);
    if panel == app.focus {
        Span::styled(format!("[{name}]"), theme.style(Role::Accent))
    } else {
        Span::styled(format!(" {name} "), theme.style(Role::Dim))
    }
}

/// Draws the tabs; the panel that has the keys is in brackets.
pub(in crate::ui) fn render_tabs(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    buf.set_line(
        area.x,
        area.y,
        &Panel::ALL.map(|panel| tab(app, theme, panel)).into_iter().collect::<Line>(),
        area.width,
    );
}

/// Rows of the strips: bar and legend of the memory, one line of exposed communication.
pub(in crate::ui) const STRIPS: u16 = 4;

pub(in crate::ui) fn render_strips(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(answer) = app.answer.as_ref().filter(|_| area.height >= STRIPS) else { return };
    let summary = &answer.evaluation.summary;
    let area = area.inner(Margin::new(1, 0));
    let [memory, wire] = area.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]));
    StackedBar { name: "memory", ..StackedBar::new(theme, summary.memory.parts, summary.memory.capacity) }
        .render(memory, buf);
    let figure = Line::raw(format!(" {} of {} ", summary.time.exposed, summary.step_time));
    let width = u16::try_from(figure.width()).unwrap_or(u16::MAX);
    let [strip, text] = wire.layout(&Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]));
    let step = ShownStep::new(&answer.evaluation);
    let rank = app.timeline.rank(step);
    let (idle, folded) = (step.trace.idle_of(rank), step.trace.folded_of(rank));
    Gantt { folded, exposed: Some((idle, &[])), ..Gantt::new(theme, &[], Seconds::ZERO, step.time) }.render(strip, buf);
    draw_line(buf, text, &figure, theme);
}

/// Draws the status line (the latest news, or what the cursor is on) and the keys under it; gives the place of the text
/// cursor where rows are searched.
pub(in crate::ui) fn render_status(
    app: &App,
    theme: Theme,
    [status, keys]: [Rect; 2],
    buf: &mut Buffer,
) -> Option<Position> {
    let indented = |row: Rect| Rect { x: row.x + 1, width: row.width.saturating_sub(1), ..row };
    let area = indented(status);
    if let Some(find) = &app.find {
        render_footer(app, theme, keys, buf);
        return Some(draw_search(find, theme, area, buf));
    }
    let (text, style) = match app.status() {
        Some(news) => (news, theme.style(Role::Accent)),
        None => (describe_cursor(app, area.width.saturating_sub(2)), Style::new()),
    };
    let columns = usize::from(area.width);
    if width(&text) <= columns {
        draw_line(buf, area, &Line::styled(text, style), theme);
        render_footer(app, theme, keys, buf);
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

fn describe_cursor(app: &App, columns: u16) -> String {
    match app.focus {
        Panel::Inputs => field(app),
        Panel::Map => views::status(app, columns),
        Panel::Memory | Panel::Timeline | Panel::Time => map::status(app, columns),
    }
}

/// Draws the search and its matches, `/node   2 of 5`; gives the place of the text cursor.
fn draw_search(find: &Find, theme: Theme, area: Rect, buf: &mut Buffer) -> Position {
    let outcome = match find.place {
        _ if find.input.value().is_empty() => "type a part of a row".to_owned(),
        (_, 0) => "not found".to_owned(),
        (place, count) => format!("{place} of {count}"),
    };
    let role = if find.row.is_none() && !find.input.value().is_empty() { Role::Bad } else { Role::Dim };
    let columns = [Constraint::Length(30), Constraint::Fill(1)];
    let [typed, beside] = area.layout(&Layout::horizontal(columns).spacing(2));
    draw_line(buf, beside, &Line::styled(outcome, theme.style(role)), theme);
    input(theme, "/", &find.input, typed, buf)
}

/// The problem of the field that has the keys, a note on it, or the reason why the scenario does not fit.
fn field(app: &App) -> String {
    let wrong = app.inputs.field().and_then(|field| app.inputs.wrong(field)).map(|wrong| wrong.why.clone());
    let excess = || app.answer.as_ref().filter(|_| !app.stale).and_then(|it| app.excess(&it.evaluation.summary));
    let about = || match app.inputs.row() {
        InputRow::Field(field) => inputs::about(field, app.inputs.idle(field), &app.scenario),
        InputRow::Measured => Some(
            "what your own job takes, like 3.4 s or 38 %: Enter types it and shows what explains the gap".to_owned(),
        ),
        InputRow::Group(_) => {
            Some("Enter or z shows or hides the fields of the group; what is set is always seen".to_owned())
        }
    };
    wrong.or_else(about).or_else(excess).unwrap_or_default()
}

/// Columns from which on the footer says what its keys are for.
const WORDED: u16 = 100;

/// Draws the keys by what they are for; where there is little room, the last ones of the fullest group are left out, but not
/// the ways to help and out.
pub(in crate::ui) fn render_footer(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let grouped = app.place().is_under_layers();
    let worded = area.width >= WORDED && grouped;
    // Keys of a layer stand in the order of what is done there.
    let intent = |line: &KeyLine| match line.intent() {
        Intent::Leave => Intent::Leave,
        _ if !grouped => Intent::Change,
        intent => intent,
    };
    let mut groups: Vec<(Intent, Vec<Line>)> = Vec::new();
    for line in app.keymap.hints(app.place()) {
        let key = Span::styled(line.name(theme.caps().ascii), theme.style(Role::Accent));
        let hint = Line::from(vec![Span::raw(" "), key, Span::raw(" "), Span::raw(line.hint), Span::raw(" ")]);
        match groups.iter_mut().find(|(known, _)| *known == intent(line)) {
            Some((_, hints)) => hints.push(hint),
            None => groups.push((intent(line), vec![hint])),
        }
    }
    groups.sort_by_key(|(intent, _)| *intent);
    let word = |intent: Intent| {
        if worded && !intent.word().is_empty() { format!(" {}", intent.word()) } else { String::new() }
    };
    let width =
        |(intent, hints): &(Intent, Vec<Line>)| word(*intent).len() + hints.iter().map(Line::width).sum::<usize>();
    while groups.iter().map(width).sum::<usize>() > usize::from(area.width) {
        let shown = groups.iter_mut().filter(|(intent, hints)| *intent != Intent::Leave && !hints.is_empty());
        // Questions are what a user looks for, so that twice as many of them stay.
        let weight = |intent: Intent| if intent == Intent::Ask { 1 } else { 2 };
        let Some((_, fullest)) = shown.max_by_key(|(intent, hints)| hints.len() * weight(*intent)) else { break };
        fullest.pop();
    }
    groups.retain(|(_, hints)| !hints.is_empty());
    let last = groups.pop_if(|(intent, _)| *intent == Intent::Leave);
    let line = |(intent, hints): (Intent, Vec<Line<'static>>)| {
        std::iter::once(Span::styled(word(intent), theme.style(Role::Dim))).chain(hints.into_iter().flatten())
    };
    let keys: Line = groups.into_iter().flat_map(line).collect();
    let leave: Line = last.into_iter().flat_map(line).collect();
    let taken = u16::try_from(leave.width()).unwrap_or(u16::MAX).min(area.width);
    buf.set_line(area.x, area.y, &keys, area.width - taken);
    // Under a layer there is little else, and nothing to set it apart from.
    let from = if worded { area.right() - taken } else { area.x + (keys.width() as u16).min(area.width - taken) };
    buf.set_line(from, area.y, &leave, taken);
}
