//! The best whole plans as a table, the plan under the cursor, and days over cost where several sizes are searched.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views::best::{BestView, PlanColumn, PlanRow, SPEC};
use crate::ui::panels::{joined, outdated, words};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::table::Aligned;
use crate::ui::widgets::{LogLog, table, text};
use shardscope_engine::evaluate::SAFE_CHANCE;
use shardscope_engine::scenario;
use shardscope_engine::search::plans::{EvaluatedPlan, Objective};
use shardscope_engine::units::{Amount, Seconds, percent, thousands};
use shardscope_report::figures::{
    self, CellTone, Figure, FigureSubject, Table, TableCell, extent_words, offload_words, plan_words, proven_words,
};

pub(super) const DRAWING: Drawing =
    Drawing { id: SPEC.id, height: |_| HEIGHT, content: Content::Table(view), status: |app, _| status(app) };

/// Rows that it wants: frame, question, heading, plans, the plan under the cursor, the chart.
const HEIGHT: u16 = 2 + 1 + 1 + 10 + SAID + CHART;

/// Rows of the plan under the cursor.
const SAID: u16 = 2;

/// Rows of the chart at least, and at first.
const LEAST_CHART: u16 = 6;
const CHART: u16 = 9;

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let best = &app.views.best;
    let mut over = question(app, theme, inside.width);
    let framed =
        TableView { title: format!("Best plans{}", outdated(app)), notes: notes(best), ..TableView::default() };
    if best.answer().plans.is_empty() {
        return TableView { over, instead: Some(nothing(app)), ..framed };
    }
    let offload = offload_words(best.answer()).into_iter().flatten();
    over.extend(offload.map(|said| Line::styled(said, theme.style(Role::Title))));
    let width = usize::from(inside.width);
    let shown = shown(app, width);
    let (compared, columns) = (compared(app, theme, &shown, width), set(&shown));
    let role = |at: usize| if shown[at] == best.sort { Role::Cursor } else { Role::Title };
    over.push(table::headings(&compared, &columns, role, theme));
    TableView {
        over,
        list: rows(app, theme, &compared, &columns, best.row()),
        under: about(best, theme, inside.width).into_iter().chain(by_recipe(best, inside.width)).collect(),
        // A chart without a table beside it says nothing of what it shows.
        kept: if best.answer().front.len() > 1 { LEAST_CHART } else { 0 },
        rest: Some(draw_days_over_cost),
        ..framed
    }
}

/// Says why there is no plan yet, or none at all.
fn nothing(app: &App) -> String {
    let best = &app.views.best;
    if !best.is_complete() {
        return "searching: the first plan that fits will stand here".to_owned();
    }
    let held = best.question.held_to(&app.scenario);
    let fits = if held.is_empty() { "fits".to_owned() } else { format!("fits {}", held.join(", ")) };
    format!("no plan of this search {fits}: {}", best.question.ways_out(&app.scenario).join(", "))
}

/// The question of the search, on a second line too where one is too short.
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

/// The progress of the search in forms for more and less room.
fn notes(best: &BestView) -> Vec<String> {
    let proof = best.answer().proven;
    let gap = (proof > 0.0 && proof < 1.0).then(|| format!("{}, gap {}", so_far(best), percent(1.0 - proof)));
    let short = if best.is_complete() { "optimal in this model".to_owned() } else { so_far(best) };
    std::iter::once(proven(best)).chain(gap.filter(|_| !best.is_complete())).chain([short]).collect()
}

/// The progress of the search, and the bound that is proven.
fn proven(best: &BestView) -> String {
    let (answer, counts) = (best.answer(), best.answer().counts);
    let simulated = thousands(counts.simulated as f64);
    let Some(first) = answer.plans.first().filter(|_| !best.is_complete()) else {
        let plans = thousands(counts.plans as f64);
        return if best.is_complete() {
            format!("{plans} plans, {simulated} simulated: optimal in this model")
        } else {
            format!("{}: {plans} plans, {simulated} simulated", so_far(best))
        };
    };
    let so_far = so_far(best);
    match best.asked().map_or(Objective::Throughput, |search| search.objective) {
        _ if answer.proven <= 0.0 => format!("{so_far}: {simulated} simulated"),
        // Whole plans are done with, and what is placed operator by operator is not proven.
        _ if answer.exact => format!("{so_far}: {simulated} simulated: optimal in this model"),
        _ if answer.proven >= 1.0 => {
            format!("{so_far}: {simulated} simulated: the best is proven, the others may change")
        }
        Objective::Throughput => {
            let least: Seconds = first.summary.step_time * answer.proven;
            format!("{so_far}: {simulated} simulated, lower bound {least} (gap {})", percent(1.0 - answer.proven))
        }
        objective => format!("{so_far}: {simulated} simulated, {}", proven_words(objective, answer)),
    }
}

/// What a search is busy with, and for how long it has run: `proving plans, 1:04`.
fn so_far(best: &BestView) -> String {
    let seconds = best.elapsed().as_secs();
    format!("{}, {}:{:02}", best.answer().phase.words(), seconds / 60, seconds % 60)
}

/// The plan under the cursor in words, and over how many ranks its state lies.
fn about(best: &BestView, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let Some(PlanRow { found: EvaluatedPlan { scenario, summary, layout }, runs_in, beyond, .. }) = best.chosen()
    else {
        return Vec::new();
    };
    // The column has room for some of them.
    let launchers = (runs_in.len() > 1).then(|| Span::raw(format!("runs in {}", runs_in.join(", "))));
    let missing = beyond.iter().map(|missing| Span::raw(format!("! {missing}")));
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
    let figures = launchers
        .into_iter()
        .chain(missing)
        .chain(figures.into_iter().filter_map(figure))
        .chain(caveats.first().map(|caveat| Span::raw(format!("! {caveat}"))));
    vec![
        Line::styled(format!("{}{}", theme.glyphs().pinned, plan_words(&scenario.plan)), title),
        joined(std::iter::once(Span::raw(over)).chain(figures), theme, width),
    ]
}

/// What a vendor's recipe would come to, and why the first plan is faster.
fn by_recipe(best: &BestView, width: u16) -> Vec<Line<'static>> {
    let lines = best.recipe().map(|recipe| text::wrapped(&recipe.words(), usize::from(width.saturating_sub(1))));
    lines.into_iter().flatten().map(|line| Line::raw(format!(" {line}"))).collect()
}

/// Over how many ranks each part of the state is sharded: `weights 8, gradients 64, optimizer 64, hpZ 8`.
fn shard_words(layout: &scenario::Layout) -> String {
    let scenario::Layout { weights, gradients, optimizer, secondary, .. } = layout;
    let copy = secondary.map_or_else(String::new, |ranks| format!(", hpZ {ranks}"));
    format!("weights {weights}, gradients {gradients}, optimizer {optimizer}{copy}")
}

/// The fastest plan of each size: days over cost, or the seconds of 1e9 tokens over device-hours; devices beside them.
fn draw_days_over_cost(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let best = &app.views.best;
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
    let of = if scenario.plan.length().is_some() { "of the training" } else { "of 1e9 tokens" };
    let chart = LogLog {
        theme,
        curves: vec![Curve { mark: 'o', tone: Tone::Blue, name: "", points }],
        chosen: 0,
        places,
        cursor,
        labels,
        title: "days",
        across: format!("{of} over {}, devices beside", cost.unit_in_words(scenario)),
    };
    chart.render(area, buf);
}

/// Says what Enter does.
fn status(app: &App) -> String {
    let best = &app.views.best;
    let (first, last) = best.range();
    match best.answer().plans.len() {
        0 => String::new(),
        _ if first < last => format!("p pins and compares the {} plans of the range", last + 1 - first),
        _ => "Enter applies this plan to the scenario; Space begins a range to compare".to_owned(),
    }
}

/// Blanks before a column of words.
const GAP: &str = "  ";

/// The columns that have room.
pub(super) fn shown(app: &App, width: usize) -> Vec<PlanColumn> {
    let mut shown = PlanColumn::ALL.to_vec();
    let base = app.views.best.asked().map(|search| &search.base);
    if base.is_none_or(|base| base.plan.length().is_none() || Figure::Cost.lacks(base).is_some()) {
        shown.retain(|column| *column != PlanColumn::Cost);
    }
    if base.is_none_or(|base| base.model.experts.is_none()) {
        shown.retain(|column| *column != PlanColumn::Experts);
    }
    // Those that give way first; plans of one size all have as many devices.
    let alike = if app.views.best.question.sizes_differ() { PlanColumn::Against } else { PlanColumn::Devices };
    for rare in
        [PlanColumn::Cost, PlanColumn::Step, PlanColumn::Context, alike, PlanColumn::Again, PlanColumn::Pipeline]
    {
        if left(&shown, width) >= words::LEAST_LAUNCHERS {
            break;
        }
        // The column that sorts the rows stays in sight.
        shown.retain(|column| *column != rare || *column == app.views.best.sort);
    }
    shown
}

/// Columns of the names of launchers, behind the gap: what the others leave.
fn left(shown: &[PlanColumn], width: usize) -> usize {
    let others: usize = set(shown).into_iter().map(Aligned::width).sum();
    width.saturating_sub(others + GAP.len())
}

/// Widths and alignment of the columns.
pub(super) fn set(shown: &[PlanColumn]) -> Vec<Aligned> {
    let set = |column: &PlanColumn| match column {
        PlanColumn::Rank => Aligned::Right(5),
        PlanColumn::Tensor | PlanColumn::Context | PlanColumn::Experts => Aligned::Right(4),
        PlanColumn::Over => Aligned::Left(16),
        // The last one has what is left.
        PlanColumn::RunsIn => Aligned::Left(0),
        PlanColumn::Micro => Aligned::Right(6),
        PlanColumn::Again => Aligned::Right(10),
        PlanColumn::Pipeline | PlanColumn::Spare | PlanColumn::Fits => Aligned::Right(7),
        PlanColumn::Cost => Aligned::Right(12),
        PlanColumn::Against => Aligned::Right(11),
        PlanColumn::Speed | PlanColumn::Devices | PlanColumn::Step => Aligned::Right(9),
    };
    shown.iter().map(set).collect()
}

/// The plans in the order of the table.
pub(super) fn compared(app: &App, theme: Theme, shown: &[PlanColumn], width: usize) -> Table {
    let best = &app.views.best;
    let timed = best.asked().is_some_and(|search| search.base.plan.length().is_some());
    let mut table = Table::headed(shown.iter().map(|column| heading(*column, timed)));
    let room = left(shown, width);
    let (first, last) = best.range();
    for (place, row) in best.plans().iter().enumerate() {
        let marked = first < last && (first..=last).contains(&place);
        let mark = if marked { "+" } else { "" };
        table.push(shown.iter().map(|column| cell(*column, (mark, row), (timed, room), app, theme)).collect());
    }
    table
}

fn heading(column: PlanColumn, timed: bool) -> &'static str {
    match column {
        PlanColumn::Rank => "#",
        PlanColumn::Speed if timed => "days",
        PlanColumn::Speed => "tokens/s",
        PlanColumn::Against => "vs current",
        PlanColumn::Cost => "cost",
        PlanColumn::Devices => "devices",
        PlanColumn::Tensor => "tp",
        PlanColumn::Pipeline => "pp",
        PlanColumn::Context => "cp",
        PlanColumn::Experts => "ep",
        PlanColumn::Over => "  shard W/G/O",
        PlanColumn::Micro => "micro",
        PlanColumn::Again => "recompute",
        PlanColumn::Spare => "spare",
        PlanColumn::Fits => "fits",
        PlanColumn::Step => "step",
        PlanColumn::RunsIn => "  runs in",
    }
}

fn cell(
    column: PlanColumn,
    (mark, row): (&str, &PlanRow),
    (timed, room): (bool, usize),
    app: &App,
    theme: Theme,
) -> TableCell {
    let PlanRow { rank, found: EvaluatedPlan { scenario, summary, layout }, alike, .. } = row;
    let plan = &scenario.plan;
    let figure = |figure: Figure| {
        let amount = figure.amount(&FigureSubject::new(scenario, summary));
        TableCell::word(amount.map_or_else(String::new, Amount::in_row))
    };
    let count = |count: u32| TableCell::word(thousands(f64::from(count)));
    match column {
        // Better than the first, and nobody runs it.
        PlanColumn::Rank if row.beyond.is_some() => TableCell::word(format!("{mark}-")).toned(CellTone::Bad),
        PlanColumn::Rank => {
            let alike = if *alike > 0 { format!("+{alike}") } else { String::new() };
            if figures::above_published(scenario, summary).is_some() {
                TableCell::word(format!("{mark}{rank}{alike}!")).toned(CellTone::Bad)
            } else {
                TableCell::word(format!("{mark}{rank}{alike}"))
            }
        }
        PlanColumn::Speed if timed => figure(Figure::Days),
        PlanColumn::Speed => TableCell::word(words::count(summary.tokens_per_s())),
        PlanColumn::Against => {
            let of_shown = app.answer.as_ref().map(|answer| answer.evaluation.summary.tokens_per_s());
            let change = of_shown.map(|shown| words::change(shown, summary.tokens_per_s(), theme));
            TableCell::word(change.unwrap_or_default()).toned(CellTone::Aside)
        }
        PlanColumn::Cost => figure(Figure::Cost),
        PlanColumn::Devices => count(summary.devices),
        PlanColumn::Tensor => count(plan.tensor),
        // Plans may differ in their virtual stages alone.
        PlanColumn::Pipeline if plan.virtual_stages() > 1 => {
            TableCell::word(format!("{} x {}", plan.pipeline, plan.virtual_stages()))
        }
        PlanColumn::Pipeline => count(plan.pipeline),
        PlanColumn::Context => count(plan.context),
        PlanColumn::Experts => count(plan.experts.ranks),
        PlanColumn::Over if !plan.operators.is_empty() => TableCell::word("  by operator"),
        PlanColumn::Over => TableCell::word(format!("  {}", extent_words(layout, "+"))),
        PlanColumn::Micro => count(plan.micro_batch),
        PlanColumn::Again => TableCell::word(plan.recompute.to_string()),
        PlanColumn::Spare => {
            let spare = TableCell::word((summary.memory.capacity - summary.memory.peak).in_gib());
            match row.found.chance_of_fitting() {
                chance if chance >= SAFE_CHANCE => spare.toned(CellTone::Good),
                chance if chance < 0.5 => spare.toned(CellTone::Bad),
                _ => spare,
            }
        }
        PlanColumn::Fits => figure(Figure::FitChance),
        PlanColumn::Step => TableCell::word(summary.step_time.to_string()),
        PlanColumn::RunsIn => match row.runs_in.as_slice() {
            [] => TableCell::aside(format!("{GAP}{}", words::launchers(&[], room))),
            names => TableCell::word(format!("{GAP}{}", words::launchers(names, room))),
        },
    }
}
