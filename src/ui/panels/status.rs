//! One line under the panels: what just happened, or what the cursor is on.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};

use super::layers::input;
use super::{view, words};
use crate::app::rows::Find;
use crate::app::views::map::Map;
use crate::app::{App, Panel, axes};
use crate::evaluate::Resource;
use crate::figures::Figure;
use crate::search::Cell;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::units::devices;

/// Draws it; gives the place of the text cursor where rows are searched.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    if let Some(find) = &app.find {
        return Some(search(find, theme, area, buf));
    }
    let said = match &app.notice {
        Some(notice) => Line::styled(notice.clone(), theme.style(Role::Accent)),
        None => Line::raw(match app.focus {
            Panel::Inputs => field(app),
            Panel::Map => view::status(app, area.width.saturating_sub(2)),
            Panel::Memory | Panel::Timeline | Panel::Time => cell(app, area.width.saturating_sub(2)),
        }),
    };
    draw_line(buf, area, &said, theme);
    None
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
    let wrong = app.inputs.wrong(app.inputs.cursor).map(|wrong| wrong.why.clone());
    let excess = || app.answer.as_ref().filter(|_| !app.stale).and_then(|it| app.excess(&it.evaluation.summary));
    let about = || app.inputs.field().about(&app.scenario);
    wrong.or_else(about).or_else(excess).unwrap_or_default()
}

/// The map's cell under the cursor: its figure, or why it has none; where there is little room, without its place.
pub(super) fn cell(app: &App, width: u16) -> String {
    let (map, scenario) = (&app.map, &app.scenario);
    if map.home.is_none() && !app.looking {
        return format!("the present scenario is on no cell: {}, a part of a node", devices(scenario.devices()));
    }
    let Some((x, y)) = map.values(map.cursor) else { return String::new() };
    let place = format!(
        "{} {}, {} {}",
        map.sweep.y.kind.word(),
        axes::label(y, scenario),
        map.sweep.x.kind.word(),
        axes::label(x, scenario)
    );
    let figure = match map.figure(map.cursor) {
        Some(figure) => format!("{} {}{}{}", words::figure(figure), unit(map), limiting(map), settled(map)),
        None => why(app).unwrap_or_else(|| "computing".to_owned()),
    };
    let hint = if app.looking && !app.following { " (Enter takes it, Esc goes back)" } else { "" };
    let (long, short) = (format!("{place}: {figure}{hint}"), format!("{place}: {figure}"));
    let fits = |text: &String| Span::raw(text.as_str()).width() <= usize::from(width);
    [long, short].into_iter().find(fits).unwrap_or(figure)
}

/// What sets a cell's limit, where that is shown: `, set by the link to the host`.
fn limiting(map: &Map) -> String {
    let Some(Cell::Possible { summary, .. }) = map.cell(map.cursor) else { return String::new() };
    if !matches!(map.metric, Figure::Limit | Figure::ShareOfLimit) {
        return String::new();
    }
    match summary.limiting() {
        Resource::HostLink => ", set by the link to the host".to_owned(),
        Resource::Level(_) => format!(", set by the {} level", summary.limiting().name(&map.sweep.base)),
        _ => ", set by arithmetic".to_owned(),
    }
}

/// What a cell of a tuned map settled on: `; micro 4, accum 2, recompute none`.
fn settled(map: &Map) -> String {
    map.tuned(map.cursor).map_or_else(String::new, |choice| {
        format!("; micro {}, accum {}, recompute {}", choice.micro_batch, choice.accumulate, choice.recompute)
    })
}

/// Why a cell has no figure: what the headline says about it comes with how to fix it here.
fn why(app: &App) -> Option<String> {
    let why = app.why();
    match &app.shown {
        // The reason comes with the panels: while the cursor moves, a word does.
        _ if app.following => why.map(|_| if is_possible(app) { "does not fit" } else { "not possible" }.to_owned()),
        Err(problems) => problems.first().map(|problem| problem.fix.clone()),
        Ok(_) => why,
    }
}

fn is_possible(app: &App) -> bool {
    matches!(app.map.cell(app.map.cursor), Some(Cell::Possible { .. }))
}

/// The unit of a map's figures, in words.
pub(super) fn unit(map: &Map) -> String {
    map.metric.unit_in_words(&map.sweep.base)
}
