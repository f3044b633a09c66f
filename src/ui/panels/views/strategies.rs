//! All strategies on the scenario shown, one row each.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Drawing, row};
use crate::app::views;
use crate::app::{App, Panel};
use crate::evaluate::Summary;
use crate::presets::Kind;
use crate::scenario::Scenario;
use crate::search::StrategyOutcome as Row;
use crate::ui::panels::{frame, outdated, panel_list, words};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::{columns, draw_line};
use crate::units::significant;

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: views::strategies::SPEC.id,
    height,
    render,
    target: |app, _, inside, at| row(row_at(app, inside, at)),
    status: |app, _| status(app),
};

/// Columns of the names, of a number, and of one level's traffic.
const NAMES: usize = 13;
const NUMBER: usize = 9;
const LEVEL: usize = 9;

/// Rows that it wants: frame, heading, legend, and the strategies.
fn height(app: &App) -> u16 {
    let strategies = app.library.entries(Kind::Strategy).count();
    4 + u16::try_from(strategies).unwrap_or(u16::MAX - 4)
}

/// Draws it.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let strategies = &app.views.strategies;
    let scenario = app.shown.as_ref().unwrap_or(&app.scenario);
    let stale = if strategies.is_complete() { "" } else { ", computing" };
    let title = format!("Strategies {}{stale}{}", strategies.order.name(), outdated(app));
    let against = app.pins.reference().map_or("the current one", |_| "the pinned one");
    let inside = frame(app, theme, Panel::Map, &title, &format!("against {against}"), area, buf);
    let levels = levels(scenario, usize::from(inside.width));
    let [head, rows, foot, below] = places(app, inside);
    draw_line(buf, head, &heading(scenario, &levels, theme), theme);
    list(app, theme, &levels).render(rows, buf);
    draw_line(buf, foot, &legend(theme), theme);
    let about = status(app);
    if about.chars().count() > usize::from(inside.width) {
        // The status line cuts it off.
        let below = below.inner(Margin::new(2, 1)).intersection(below);
        Paragraph::new(about).wrap(Wrap { trim: true }).style(theme.style(Role::Dim)).render(below, buf);
    }
}

/// The strategy at a place.
fn row_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    list(app, Theme::default(), &[]).row_at(places(app, inside)[1], at)
}

/// Where the heading, the strategies and the legend are, and what is left.
fn places(app: &App, inside: Rect) -> [Rect; 4] {
    let rows = columns(app.views.strategies.rows().len()).min(inside.height.saturating_sub(2));
    let rows = [1, rows, 1].map(Constraint::Length);
    inside.layout(&Layout::vertical(rows.into_iter().chain([Constraint::Fill(1)])))
}

fn list(app: &App, theme: Theme, levels: &[usize]) -> RowList<'static> {
    let strategies = &app.views.strategies;
    let best = strategies.rows().iter().filter_map(|row| Some((row.outcome.as_ref().ok()?, row)));
    let best = best.filter(|(summary, _)| summary.fits);
    let best = best.max_by(|(a, _), (b, _)| a.tokens_per_s_per_device.total_cmp(&b.tokens_per_s_per_device));
    let best = best.map(|(_, row)| row.id.as_str());
    let line = |row: &Row| line(app, theme, row, best == Some(row.id.as_str()), levels);
    let lines = strategies.rows().iter().map(line).zip((0..).map(Some)).collect();
    panel_list(app, theme, lines, strategies.row())
}

/// The levels whose traffic has room, the outer ones first to stay; in their order.
fn levels(scenario: &Scenario, width: usize) -> Vec<usize> {
    let all = scenario.cluster.levels.len();
    let room = width.saturating_sub(2 + NAMES + 4 * NUMBER) / LEVEL;
    // The outer levels are the slow ones: they stay longest.
    (all.saturating_sub(room)..all).collect()
}

fn heading(scenario: &Scenario, levels: &[usize], theme: Theme) -> Line<'static> {
    let numbers = ["TFLOP/s", "against", "GiB", "exposed"].map(|name| format!("{name:>NUMBER$}")).concat();
    let levels = levels.iter().map(|level| format!("{:>LEVEL$}", scenario.cluster.levels[*level].name));
    let text = format!("  {:<NAMES$}{numbers}{}", "strategy", levels.collect::<String>());
    Line::styled(text, theme.style(Role::Title))
}

fn line(app: &App, theme: Theme, row: &Row, best: bool, levels: &[usize]) -> Line<'static> {
    let glyphs = theme.glyphs();
    let present = if *row.id == *app.scenario.strategy { glyphs.more[0] } else { " " };
    let star = if best { glyphs.best } else { " " };
    let mut spans = vec![Span::raw(format!(" {star}{:<NAMES$}", format!("{} {present}", row.id)))];
    match &row.outcome {
        Err(problem) => {
            spans.push(Span::styled(format!("{} {}", glyphs.impossible, problem.what), theme.style(Role::Dim)));
        }
        Ok(summary) => {
            let reference = app.pins.reference().map_or_else(|| present_one(app), |(_, summary)| Some(summary));
            spans.extend(numbers(summary, reference, theme));
            for level in levels {
                spans.push(Span::raw(format!("{:>LEVEL$}", summary.traffic[*level].bytes_per_device.to_string())));
            }
        }
    }
    Line::from(spans)
}

/// Throughput, against what, memory and exposed communication.
fn numbers(summary: &Summary, reference: Option<&Summary>, theme: Theme) -> [Span<'static>; 4] {
    let against = reference.map_or_else(String::new, |reference| {
        words::change(reference.tokens_per_s_per_device, summary.tokens_per_s_per_device, theme)
    });
    let too_big = if summary.fits { "" } else { theme.glyphs().too_big };
    let role = if summary.fits { Role::Text } else { Role::Bad };
    [
        Span::raw(format!("{:>NUMBER$}", significant(summary.model_flops.get() / 1e12, 3))),
        Span::raw(format!("{against:>NUMBER$}")),
        Span::styled(
            format!("{:>NUMBER$}", format!("{too_big} {}", significant(summary.memory.peak.gib(), 3))),
            theme.style(role),
        ),
        Span::raw(format!("{:>NUMBER$}", summary.time.exposed.to_string())),
    ]
}

/// The row of the scenario's own strategy.
fn present_one(app: &App) -> Option<&Summary> {
    let rows = app.views.strategies.rows();
    rows.iter().find(|row| *row.id == *app.scenario.strategy)?.outcome.as_ref().ok()
}

fn legend(theme: Theme) -> Line<'static> {
    let glyphs = theme.glyphs();
    let text = format!(
        "  {} current  {} fastest  {} does not fit  {} not possible  levels: bytes sent",
        glyphs.more[0], glyphs.best, glyphs.too_big, glyphs.impossible
    );
    Line::styled(text, theme.style(Role::Dim))
}

/// What the strategy under the cursor does, or why it cannot be.
fn status(app: &App) -> String {
    let strategies = &app.views.strategies;
    let Some(row) = strategies.rows().get(strategies.row()) else { return String::new() };
    match &row.outcome {
        Err(problem) => format!("{}: {problem}", row.id),
        Ok(_) => app.library.strategy(&row.id).map_or_else(|_| String::new(), |found| found.about.clone()),
    }
}
