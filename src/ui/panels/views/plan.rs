//! The planner of operators: throughput over the memory limit, and the plan within the limit under the cursor.

mod strip;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Content, Drawing};
use crate::app::state::pointing::PointerTarget;
use crate::app::views;
use crate::app::views::plan::{PlanPicture, PlanView};
use crate::app::{App, Panel};
use crate::ui::panels::{frame, joined, outdated, progress, words};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::{draw_line, draw_lines};
use crate::ui::widgets::{LogLog, StackedBar};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::search::Tuned;
use shardscope_engine::search::planner::{FoundPlan, PlanAnswer};
use shardscope_engine::units::significant;
use shardscope_report::figures::{Figure, Table, TableCell, safety_words};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::plan::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Picture { render, target },
    status: |app, _| status(app),
};

/// Rows that it wants: frame, what is planned, the curve, the memory, the operators, why, the gains.
const HEIGHT: u16 = 2 + 1 + 9 + 2 + strip::HEIGHT + WHY + 6;

/// Rows of why the operators under the cursor lie where they do.
const WHY: u16 = 2;

/// Rows that the curve keeps beside a table of gains.
const LEAST_CURVE: u16 = 7;

/// Rows of a table of gains: its heading and what every plan is compared with.
const LEAST_TABLE: u16 = 1 + AGAINST.len() as u16;

/// Columns of the table of gains.
const GAINS: [Aligned; 4] = [Aligned::Indented(1, 34), Aligned::Right(10), Aligned::Right(10), Aligned::Right(10)];

/// Finds the best plan of a kind in an answer.
type BestOf = fn(&PlanAnswer) -> Option<&Summary>;

/// Plans to compare with: mark and tone on the chart, name, and how to find the best one.
const AGAINST: [(char, Tone, &str, BestOf); 4] = [
    ('f', Tone::Ochre, "FSDP", |found| found.fsdp.as_ref()),
    ('d', Tone::Grey, "DDP", |found| found.ddp.as_ref()),
    ('u', Tone::Violet, "best uniform", PlanAnswer::best_uniform),
    ('t', Tone::Teal, "two-way", |found| found.two_way.as_ref()),
];

/// Draws the planner's answer.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let planning = &app.views.plan;
    let Some(picture) = &planning.picture else {
        frame(app, theme, Panel::Map, views::plan::SPEC.id.name, "", area, buf);
        return;
    };
    let title = format!(
        "{} to shard for {}{}",
        views::plan::SPEC.id.name,
        planning.objective().word().replace('-', " "),
        outdated(app)
    );
    let note = if picture.is_complete() { safety_words() } else { progress("", picture.progress(), "", &title, area) };
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let [asked, curve, bar, operators, why, table] = places(inside);
    draw_line(buf, asked, &question(planning, picture, theme, asked.width), theme);
    chart(planning, picture, theme).render(curve, buf);
    let Some(found) = planning.chosen() else {
        Paragraph::new(nothing(planning)).wrap(Wrap { trim: true }).render(bar, buf);
        return;
    };
    let memory = &found.summary.memory;
    let most = picture.curve.limits.iter().copied().fold(0.0, f64::max);
    let scale = found.scenario.cluster.device.capacity() * most;
    StackedBar { name: "memory", scale: Some(scale), ..StackedBar::new(theme, memory.parts, memory.capacity) }
        .render(bar, buf);
    strip::render(found, planning.operator(), theme, operators, buf);
    draw_reason(found, planning.operator(), theme, why, buf);
    if let Some(planned) = planning.planned() {
        draw_gains(planned, found, theme, table, buf);
    }
}

/// The limit or the operators at a place.
fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<PointerTarget> {
    let planning = &app.views.plan;
    let [_, curve, _, operators, ..] = places(inside);
    if operators.contains(at) {
        return strip::operator_at(planning.chosen()?, operators, at)
            .map(|operator| PointerTarget::Row(Panel::Map, operator));
    }
    chart(planning, planning.picture.as_ref()?, theme).place_at(curve, at).map(PointerTarget::Cell)
}

/// The areas of the question, the curves, the memory, the operators, the reason and the table.
fn places(inside: Rect) -> [Rect; 6] {
    let room = inside.height.saturating_sub(1 + LEAST_CURVE + 2 + strip::HEIGHT + WHY);
    // A table that is cut would hide the comparison that matters: then one row names all.
    let gains = if room < LEAST_TABLE { 1 } else { room.min(6) };
    let lengths = [1, 2, strip::HEIGHT, WHY, gains].map(Constraint::Length);
    let rows = [lengths[0], Constraint::Fill(1), lengths[1], lengths[2], lengths[3], lengths[4]];
    inside.layout(&Layout::vertical(rows))
}

fn nothing(planning: &PlanView) -> String {
    match planning.planned() {
        None => "computing".to_owned(),
        Some(_) => "no plan fits within this limit, at any batch: ] allows more memory".to_owned(),
    }
}

/// The limit, and what the plan within it is.
fn question(planning: &PlanView, picture: &PlanPicture, theme: Theme, width: u16) -> Line<'static> {
    let device = picture.curve.request.scenario.cluster.device.capacity();
    let limit = device * picture.curve.limits[planning.place()];
    let within = format!(" within {}", words::of_capacity(limit, device));
    let mut parts = vec![Span::styled(within, theme.style(Role::Title))];
    if let Some(found) = planning.chosen() {
        let summary = &found.summary;
        parts.push(Span::raw(format!("{} TFLOP/s", tflops(summary))));
        parts.push(Span::raw(Tuned::from(&found.scenario).to_string()));
        parts.push(Span::raw(format!("step {}", summary.step_time)));
    }
    joined(parts, theme, width)
}

fn tflops(summary: &Summary) -> String {
    significant(summary.model_flops.get() / 1e12, 3)
}

/// Throughput over the limit: the plan's, and that of what it is compared with.
fn chart(planning: &PlanView, picture: &PlanPicture, theme: Theme) -> LogLog {
    let device = picture.curve.request.scenario.cluster.device.capacity();
    let places: Vec<f64> = picture.curve.limits.iter().map(|limit| (device * *limit).gib()).collect();
    let curve = |mark: char, tone: Tone, name: &'static str, of: &dyn Fn(&PlanAnswer) -> Option<f64>| {
        let points = places.iter().enumerate().filter_map(|(place, gib)| Some((*gib, of(picture.at(place)?)?)));
        Curve { mark, tone, name, points: points.collect() }
    };
    let flops = |summary: &Summary| summary.model_flops.get() / 1e12;
    let others =
        AGAINST.into_iter().map(|(mark, tone, name, of)| curve(mark, tone, name, &|found| of(found).map(flops)));
    let best = curve('p', Tone::Blue, "the plan", &|found| found.plans.first().map(|plan| flops(&plan.summary)));
    let curves: Vec<Curve> = others.chain([best]).collect();
    LogLog {
        theme,
        chosen: curves.len() - 1,
        curves,
        places,
        cursor: planning.place(),
        title: "TFLOP/s",
        across: "over GiB".to_owned(),
        ..LogLog::default()
    }
}

/// The operators under the cursor, and what their place saves for what it spends.
fn draw_reason(found: &FoundPlan, operator: usize, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (Some(placement), Some(why)) = (found.operators.get(operator), found.why.get(operator)) else { return };
    let slices = if placement.split > 1 { format!(" in {} slices", placement.split) } else { String::new() };
    let mark = theme.glyphs().pinned;
    let lines = [
        Line::styled(
            format!("{mark}{}: {}{slices}", found.name(placement), placement.extents),
            theme.style(Role::Title),
        ),
        Line::raw(format!(" {why}")),
    ];
    for (line, row) in lines.into_iter().zip(area.rows()) {
        draw_line(buf, row, &line, theme);
    }
}

/// Draws the plan's gains over others: on one row, or as a table where there is room.
fn draw_gains(planned: &PlanAnswer, found: &FoundPlan, theme: Theme, area: Rect, buf: &mut Buffer) {
    let gain = |other: Option<&Summary>| {
        let faster = |other: &Summary| (other.tokens_per_s_per_device, found.summary.tokens_per_s_per_device);
        other.map(faster).map(|(from, to)| words::change(from, to, theme))
    };
    if area.height == 1 {
        let parts = AGAINST.into_iter().map(|(mark, tone, name, of)| {
            let name = name.trim_start_matches("best ");
            let gain = gain(of(planned)).unwrap_or_else(|| theme.glyphs().too_big.to_owned());
            Span::styled(format!("{mark} {name} {gain}"), theme.fill(tone))
        });
        let plan = Span::styled(" gain over ", theme.fill(Tone::Blue));
        let (rest, _) = buf.set_span(area.x, area.y, &plan, area.width);
        let room = area.right().saturating_sub(rest);
        buf.set_line(rest, area.y, &joined(parts, theme, room), room);
        return;
    }
    let named = AGAINST.into_iter().map(|(mark, tone, name, of)| (format!("{mark} {name}"), of(planned), tone));
    let ways = planned.uniform.iter().map(|way| (format!("  all {}", way.extents), way.best.as_ref(), Tone::Grey));
    let compared: Vec<(String, Option<&Summary>, Tone)> = named.chain(ways).collect();
    let memory = Figure::Peak.column_unit();
    let headings = ["p, the plan, over the best", "gain", Figure::ModelFlops.label(), &memory];
    let mut table = Table::headed(headings);
    table.extend(compared.iter().map(|(name, other, _)| {
        let figure = |text: fn(&Summary) -> String| TableCell::word(other.map_or_else(String::new, text));
        let memory = |other: &Summary| other.memory.peak.in_gib();
        let gain = gain(*other).unwrap_or_else(|| "none fits".to_owned());
        vec![TableCell::word(name.clone()), TableCell::word(gain), figure(tflops), figure(memory)]
    }));
    // A row has the tone of its curve.
    let tones = compared.iter().map(|(_, _, tone)| theme.fill(*tone));
    let rows = table::lines(&table, &GAINS, theme).into_iter().zip(tones).map(|(line, tone)| line.style(tone));
    let heading = table::headings(&table, &GAINS, |_| Role::Title, theme);
    draw_lines(buf, area, &std::iter::once(heading).chain(rows).collect::<Vec<_>>(), theme);
}

/// Says what Enter does.
fn status(app: &App) -> String {
    let planning = &app.views.plan;
    let fresh = planning.picture.as_ref().is_some_and(|picture| picture.is_fresh(planning.place()));
    match planning.chosen() {
        Some(_) if fresh => {
            let runs_in = planning.runs_in().unwrap_or_default();
            format!("[ and ] move the limit; Enter applies this plan, which runs in: {runs_in}")
        }
        _ => String::new(),
    }
}
