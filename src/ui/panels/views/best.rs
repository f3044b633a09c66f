//! The best whole plans as a table, the plan under the cursor, and days over cost where several sizes are searched.

mod cells;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Drawing, row};
use crate::app::views::best::{BestView, PlanRow, SPEC};
use crate::app::{App, Panel};
use crate::ui::panels::{frame, joined, outdated, panel_list, words};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::text::{columns, draw_line, draw_lines};
use crate::ui::widgets::{LogLog, RowList, table};
use shardscope_engine::scenario;
use shardscope_engine::search::plans::{EvaluatedPlan, Objective};
use shardscope_engine::units::{Amount, Seconds, percent, thousands};
use shardscope_report::figures::{self, Figure, FigureSubject, plan_words, proven_words};

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: SPEC.id,
    height: |_| HEIGHT,
    render,
    target: |app, theme, inside, at| row(table(app, theme, inside.width).1.row_at(places(app, theme, inside)[2], at)),
    status: |app, _| status(app),
};

/// Rows that it wants: frame, question, heading, plans, the plan under the cursor, the chart.
const HEIGHT: u16 = 2 + 1 + 1 + 10 + SAID + CHART;

/// Rows of the plan under the cursor.
const SAID: u16 = 2;

/// Rows of the chart at least, and at first.
const LEAST_CHART: u16 = 7;
const CHART: u16 = 10;

/// Draws the best plans that were found.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let best = &app.views.best;
    let title = format!("Best plans{}", outdated(app));
    let inside = frame(app, theme, Panel::Map, &title, &proven(best), area, buf);
    let [asked, heading, rows, said, chart] = places(app, theme, inside);
    draw_lines(buf, asked, &question(app, theme, asked.width), theme);
    if best.answer().plans.is_empty() {
        let nothing = if best.is_complete() {
            let held = best.question.held_to(&app.scenario);
            let fits = if held.is_empty() { "fits".to_owned() } else { format!("fits {}", held.join(", ")) };
            format!("no plan of this search {fits}: {}", best.question.ways_out(&app.scenario).join(", "))
        } else {
            "searching: the first plan that fits will stand here".to_owned()
        };
        Paragraph::new(nothing).wrap(Wrap { trim: true }).render(Rect { y: heading.y, ..inside }, buf);
        return;
    }
    let (headings, list) = table(app, theme, inside.width);
    draw_line(buf, heading, &headings, theme);
    list.render(rows, buf);
    for (line, row) in about(best, theme, said.width).into_iter().zip(said.rows()) {
        draw_line(buf, row, &line, theme);
    }
    days_over_cost(best, theme, chart, buf);
}

/// What is searched, on a second line too where one is too short.
fn question(app: &App, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let best = &app.views.best;
    let batch = best.asked().and_then(|search| search.base.wanted_sequences());
    let batch = batch.map(words::kept);
    let parts: Vec<Span> = best.question.words(&app.scenario).into_iter().chain(batch).map(Span::raw).collect();
    let first = joined(parts.clone(), theme, width);
    // Between two parts stands a mark.
    let rest = joined(parts.into_iter().skip(first.spans.len().div_ceil(2)), theme, width);
    [first, rest].into_iter().filter(|line| !line.spans.is_empty()).collect()
}

/// Where the question, the heading, the plans, the plan under the cursor and the chart are.
fn places(app: &App, theme: Theme, inside: Rect) -> [Rect; 5] {
    let answer = app.views.best.answer();
    let plans = columns(answer.plans.len()).max(1);
    let asked = columns(question(app, theme, inside.width).len());
    let room = inside.height.saturating_sub(asked + 1 + SAID);
    let wanted = if answer.front.len() > 1 { LEAST_CHART } else { 0 };
    // A chart without a table beside it says nothing of what it shows.
    let chart = if room >= wanted + 3 { wanted } else { 0 };
    let rows = plans.min(room - chart);
    let lengths = [asked, 1, rows, SAID].map(Constraint::Length);
    inside.layout(&Layout::vertical(lengths.into_iter().chain([Constraint::Fill(1)])))
}

/// The headings of the plans, and the plans under them.
fn table(app: &App, theme: Theme, width: u16) -> (Line<'static>, RowList<'static>) {
    let (best, shown) = (&app.views.best, cells::shown(app, usize::from(width)));
    let (compared, columns) = (cells::compared(app, theme, &shown), cells::set(&shown));
    let role = |at: usize| if shown[at] == best.sort { Role::Cursor } else { Role::Title };
    let lines = table::lines(&compared, &columns, theme).into_iter().zip((0..).map(Some)).collect();
    (table::headings(&compared, &columns, role, theme), panel_list(app, theme, lines, best.row()))
}

/// How far the search is, and what is proven.
fn proven(best: &BestView) -> String {
    let (answer, counts) = (best.answer(), best.answer().counts);
    let simulated = thousands(counts.simulated as f64);
    let Some(first) = answer.plans.first().filter(|_| !best.is_complete()) else {
        let plans = thousands(counts.plans as f64);
        return if best.is_complete() {
            format!("{plans} plans, {simulated} simulated: optimal in this model")
        } else {
            format!("{simulated} simulated")
        };
    };
    match best.asked().map_or(Objective::Throughput, |search| search.objective) {
        _ if answer.proven <= 0.0 => format!("{simulated} simulated"),
        // Whole plans are done with, and what is placed operator by operator is not proven.
        _ if answer.exact => format!("{simulated} simulated: optimal in this model; placing operators"),
        Objective::Throughput => {
            let least: Seconds = first.summary.step_time * answer.proven;
            format!("{simulated} simulated, lower bound {least} (gap {})", percent(1.0 - answer.proven))
        }
        objective => format!("{simulated} simulated, {}", proven_words(objective, answer)),
    }
}

/// The plan under the cursor in words, and over how many ranks its state lies.
fn about(best: &BestView, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let Some(PlanRow { found: EvaluatedPlan { scenario, summary, layout }, .. }) = best.chosen() else {
        return Vec::new();
    };
    let title = theme.style(Role::Title);
    let figure = |figure: Figure| {
        let amount = figure.amount(&FigureSubject::new(scenario, summary)).map(Amount::in_row)?;
        Some(Span::raw(format!("{} {amount}", figure.entry()?.label)))
    };
    let figures = [Figure::StepTime, Figure::Mfu, Figure::Days, Figure::DaysWithFailures, Figure::CostWithFailures];
    let over = if scenario.plan.operators.is_empty() {
        format!(" shard {}", shard_words(layout))
    } else {
        " each operator's state where it does best".to_owned()
    };
    let caveats = figures::caveats(scenario, summary);
    let figures =
        figures.into_iter().filter_map(figure).chain(caveats.first().map(|caveat| Span::raw(format!("! {caveat}"))));
    vec![
        Line::styled(format!("{}{}", theme.glyphs().pinned, plan_words(&scenario.plan)), title),
        joined(std::iter::once(Span::raw(over)).chain(figures), theme, width),
    ]
}

/// Over how many ranks each part of the state is sharded: `weights 8, gradients 64, optimizer 64, hpZ 8`.
fn shard_words(layout: &scenario::Layout) -> String {
    let scenario::Layout { weights, gradients, optimizer, secondary, .. } = layout;
    let copy = secondary.map_or_else(String::new, |ranks| format!(", hpZ {ranks}"));
    format!("weights {weights}, gradients {gradients}, optimizer {optimizer}{copy}")
}

/// The fastest plan of each size: days over cost, or the seconds of 1e9 tokens over device-hours; devices beside them.
fn days_over_cost(best: &BestView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let front = &best.answer().front;
    if front.len() < 2 || area.height < LEAST_CHART {
        return;
    }
    let scenario = &front[0].scenario;
    let cost = if Figure::Cost.lacks(scenario).is_none() { Figure::Cost } else { Figure::DeviceHours };
    let mut points: Vec<((f64, f64), String)> = front
        .iter()
        .map(|found| {
            let plotted = |figure: Figure| figure.plotted(&found.summary, &found.scenario);
            ((plotted(cost), plotted(Figure::Days)), found.summary.devices.to_string())
        })
        .collect();
    points.sort_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
    let labels: Vec<String> = points.iter().map(|(_, devices)| devices.clone()).collect();
    let points: Vec<(f64, f64)> = points.into_iter().map(|(point, _)| point).collect();
    let places: Vec<f64> = points.iter().map(|(cost, _)| *cost).collect();
    let chosen = best.chosen().map(|row| row.found.summary.devices.to_string());
    let cursor = labels.iter().position(|label| Some(label) == chosen.as_ref()).unwrap_or(usize::MAX);
    let curves = [Curve { mark: 'o', tone: Tone::Blue, points }];
    let unit = cost.unit_in_words(scenario);
    let [said, plot] = area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    let of = if scenario.plan.tokens.is_some() { "of the training" } else { "of 1e9 tokens" };
    let line = Line::styled(format!(" days {of} over {unit}, devices beside"), theme.style(Role::Dim));
    draw_line(buf, said, &line, theme);
    LogLog { theme, curves: &curves, chosen: 0, places: &places, cursor, labels: &labels, title: "days" }
        .render(plot, buf);
}

/// What Enter does.
fn status(app: &App) -> String {
    let best = &app.views.best;
    let (first, last) = best.range();
    match best.answer().plans.len() {
        0 => String::new(),
        _ if first < last => format!("p pins and compares the {} plans of the range", last + 1 - first),
        _ => "Enter makes this plan the scenario's; Space begins a range to compare".to_owned(),
    }
}
