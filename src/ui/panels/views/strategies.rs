//! All strategies on the scenario shown, one row each.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views;
use crate::ui::panels::{outdated, words};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::table::{self, Aligned};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::presets::Kind;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::StrategyOutcome as Row;
use shardscope_engine::units::Amount;
use shardscope_report::figures::{CellTone, Figure, FigureSubject, STRATEGIES, Table, TableCell};

pub(super) const DRAWING: Drawing =
    Drawing { id: views::strategies::SPEC.id, height, content: Content::Table(view), status: |app, _| status(app) };

/// Columns of the names, of each number, and of one level's traffic.
const NAMES: usize = 14;
const NUMBERS: [usize; 5] = [8, 8, 8, 8, 9];
const LEVEL: usize = 9;

/// Rows that it wants: frame, heading, legend, and the strategies.
fn height(app: &App) -> u16 {
    let strategies = app.library.entries(Kind::Strategy).count();
    4 + u16::try_from(strategies).unwrap_or(u16::MAX - 4)
}

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let strategies = &app.views.strategies;
    let scenario = app.on_screen();
    let stale = if strategies.is_complete() { "" } else { ", computing" };
    let against = app.pins.reference().map_or("against the current one", |_| "against the pinned one");
    let kept = scenario.wanted_sequences().map(|held| format!("{}, {against}", words::kept(held)));
    let levels = levels(scenario, usize::from(inside.width));
    let (compared, columns) = (compared(app, theme, &levels), set(&levels));
    TableView {
        title: format!("Strategies {}{stale}{}", strategies.order(), outdated(app)),
        notes: kept.into_iter().chain([against.to_owned()]).collect(),
        over: vec![table::headings(&compared, &columns, |_| Role::Title, theme)],
        list: rows(app, theme, &compared, &columns, strategies.row()),
        under: vec![legend(app, theme)],
        rest: Some(draw_about),
        ..TableView::default()
    }
}

/// The strategy under the cursor in full, where the status line cuts it off.
fn draw_about(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let about = status(app);
    if about.chars().count() > usize::from(area.width) {
        let area = area.inner(Margin::new(2, 1)).intersection(area);
        Paragraph::new(about).wrap(Wrap { trim: true }).style(theme.style(Role::Dim)).render(area, buf);
    }
}

/// The levels whose traffic has room, the outer ones first to stay; in their order.
fn levels(scenario: &Scenario, width: usize) -> Vec<usize> {
    let all = scenario.cluster.levels.len();
    let room = width.saturating_sub(2 + NAMES + NUMBERS.iter().sum::<usize>()) / LEVEL;
    // The outer levels are the slow ones: they stay longest.
    (all.saturating_sub(room)..all).collect()
}

/// Columns of the names, of the numbers, and of the levels.
fn set(levels: &[usize]) -> Vec<Aligned> {
    let numbers = NUMBERS.map(Aligned::Right).into_iter().chain(levels.iter().map(|_| Aligned::Right(LEVEL)));
    std::iter::once(Aligned::Left(2 + NAMES)).chain(numbers).collect()
}

/// Each strategy's figures, or why it cannot be.
fn compared(app: &App, theme: Theme, levels: &[usize]) -> Table {
    let rows = app.views.strategies.rows();
    let scenario = app.on_screen();
    let names = levels.iter().map(|level| scenario.cluster.levels[*level].name.as_str());
    let whole = whole(scenario);
    let speeds = if whole == Figure::Days { whole.label() } else { Figure::TokensPerSecond.label() };
    let [flop, exposed] = [Figure::ModelFlops, Figure::Exposed].map(Figure::label);
    let memory = Figure::Peak.column_unit();
    let numbers = ["  strategy", speeds, flop, "against", &memory, exposed];
    let mut table = Table::headed(numbers.into_iter().chain(names));
    let speed = |row: &Row| {
        let summary = row.outcome.as_ref().ok()?;
        (summary.fits && !is_coarser(app, row)).then(|| summary.tokens_per_s())
    };
    let best = rows.iter().filter_map(|row| Some((speed(row)?, &row.id))).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let reference = app.pins.reference().map_or_else(|| present_one(app), |(_, summary)| Some(summary));
    for row in rows {
        let present = if *row.id == *app.scenario.strategy { theme.glyphs().more[0] } else { " " };
        let star = if best.is_some_and(|(_, best)| *best == row.id) { theme.glyphs().best } else { " " };
        let mark = if is_coarser(app, row) { "!" } else { "" };
        let name = TableCell::word(format!(" {star}{}{mark} {present}", row.id));
        let figures = match &row.outcome {
            Err(problem) => {
                let why = format!("{} {}", theme.glyphs().impossible, problem.what);
                vec![TableCell::aside(why)]
            }
            Ok(summary) => figures(&FigureSubject::new(scenario, summary), whole, reference, levels, theme),
        };
        table.push(std::iter::once(name).chain(figures).collect());
    }
    table
}

/// The figure of the whole job: its days where it has an end, else the tokens per second of all devices.
fn whole(scenario: &Scenario) -> Figure {
    if scenario.plan.length().is_some() { Figure::Days } else { Figure::TotalTokens }
}

/// Throughput of all devices and of one, against what, memory, exposed communication, and what goes through the levels.
fn figures(
    subject: &FigureSubject,
    whole: Figure,
    reference: Option<&Summary>,
    levels: &[usize],
    theme: Theme,
) -> Vec<TableCell> {
    let [speed, memory, exposed] = STRATEGIES;
    let change = |reference: &Summary| words::change(reference.tokens_per_s(), subject.summary.tokens_per_s(), theme);
    let all = whole.amount(subject).map_or_else(String::new, Amount::in_row);
    let peak = TableCell::in_column(memory, subject);
    let peak = if subject.summary.fits {
        peak
    } else {
        TableCell::word(format!("{} {}", theme.glyphs().too_big, peak.text())).toned(CellTone::Bad)
    };
    let against = TableCell::word(reference.map_or_else(String::new, change));
    let levels = levels.iter().map(|level| TableCell::figure(Figure::Traffic(*level), subject));
    [TableCell::word(all), TableCell::in_column(speed, subject), against, peak, TableCell::figure(exposed, subject)]
        .into_iter()
        .chain(levels)
        .collect()
}

/// The row of the scenario's own strategy.
fn present_one(app: &App) -> Option<&Summary> {
    let rows = app.views.strategies.rows();
    rows.iter().find(|row| *row.id == *app.scenario.strategy)?.outcome.as_ref().ok()
}

/// Whether a strategy makes the numbers coarser than those of the scenario shown.
fn is_coarser(app: &App, row: &Row) -> bool {
    let own = app.on_screen().plan.coarse_numbers();
    row.coarse.iter().any(|coarse| !own.contains(coarse))
}

fn legend(app: &App, theme: Theme) -> Line<'static> {
    let glyphs = theme.glyphs();
    let marked = app.views.strategies.rows().iter().any(|row| is_coarser(app, row));
    let [current, best, too_big, impossible] = [glyphs.more[0], glyphs.best, glyphs.too_big, glyphs.impossible];
    let text = if marked {
        format!("  {current} current  {best} fastest in the same formats  ! other formats  {too_big} does not fit")
    } else {
        format!(
            "  {current} current  {best} fastest  {too_big} does not fit  {impossible} not possible  levels: bytes sent"
        )
    };
    Line::styled(text, theme.style(Role::Dim))
}

/// Describes the strategy under the cursor, or says why it is not possible.
fn status(app: &App) -> String {
    let strategies = &app.views.strategies;
    let Some(row) = strategies.rows().get(strategies.row()) else { return String::new() };
    match &row.outcome {
        Err(problem) => format!("{}: {problem}", row.id),
        Ok(_) => app.library.strategy(&row.id).map_or_else(|_| String::new(), |found| found.about.clone()),
    }
}
