//! Days against devices for each method, and the plan under the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Content, Drawing};
use crate::app::state::pointing::PointerTarget;
use crate::app::views;
use crate::app::views::training::TrainingPicture;
use crate::app::{App, Panel};
use crate::ui::panels::{frame, joined, outdated, progress, words};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::LogLog;
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::text::{self, draw_line, draw_lines};
use shardscope_engine::bounds::intensity::{Intensity, LinkNeed, LinkNeeds, TransferLink};
use shardscope_engine::plan::Offload;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::training::{BestTraining, METHODS};
use shardscope_engine::units::{Amount, BytesPerSecond, devices, precise_percent, short, significant};
use shardscope_report::figures::Figure;

pub(super) const DRAWING: Drawing = Drawing {
    id: views::training::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Picture { render, target },
    status: |app, _| status(app),
};

/// Rows that it wants: frame, what is asked, the chart, the methods, the plan.
const HEIGHT: u16 = 2 + ASKED + 14 + SAID;

/// Rows of what is asked: the question, and what it frees of the scenario.
const ASKED: u16 = 2;

/// Rows of the table of methods, and of it and the plan.
const METHOD_ROWS: u16 = 3;
const SAID: u16 = METHOD_ROWS + 5;

/// The methods in a word each, which begins with the mark of their curve, and their tones.
const WORDS: [(&str, Tone); 5] = [
    ("data", Tone::Grey),
    ("contiguous", Tone::Ochre),
    ("partitioned", Tone::Violet),
    ("layered", Tone::Teal),
    ("modular", Tone::Blue),
];

/// Columns of what the rows of their table say, and of a number at least.
const NAMES: usize = 23;
const NUMBER: usize = 8;

/// Draws the shortest training and what it trades.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(picture) = &app.views.training.picture else {
        frame(app, theme, Panel::Map, "Training time", "", area, buf);
        return;
    };
    let carried = places(picture).any(|(method, place)| picture.earlier(method, place).is_some());
    let title = format!("Training time of each method{}", outdated(app));
    let note = if picture.is_complete() {
        String::new()
    } else {
        progress("", picture.progress(), if carried { ", in brackets as before" } else { "" }, &title, area)
    };
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let [asked, chart, said] = areas(inside);
    draw_lines(
        buf,
        asked,
        &[question(app, picture, theme, asked.width), describe_freed(app, theme, asked.width)],
        theme,
    );
    if curves(picture, theme).iter().all(|curve| curve.points.is_empty()) {
        let most = devices(picture.search.budgets.last().copied().unwrap_or(0));
        let nothing = if picture.is_complete() {
            format!("no method fits on at most {most}: + allows twice as many")
        } else {
            "computing".to_owned()
        };
        Paragraph::new(nothing).wrap(Wrap { trim: true }).render(chart, buf);
        return;
    }
    days_chart(app, picture, theme).render(chart, buf);
    for (line, row) in lines(app, picture, theme, said.width).into_iter().zip(said.rows()) {
        draw_line(buf, row, &line, theme);
    }
}

/// The method or the count of devices at a place.
fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<PointerTarget> {
    let picture = app.views.training.picture.as_ref()?;
    let [_, chart, said] = areas(inside);
    if (said.y..said.y.saturating_add(METHOD_ROWS)).contains(&at.y) {
        let ends = (0..METHODS.len()).scan(NAMES, |end, method| {
            *end += column(method);
            Some(*end)
        });
        let column = usize::from(at.x - said.x).checked_sub(NAMES)? + NAMES;
        let method = ends.enumerate().find(|(_, end)| column < *end).map(|(method, _)| method);
        return method.map(|method| PointerTarget::Row(Panel::Map, method));
    }
    days_chart(app, picture, theme).place_at(chart, at).map(PointerTarget::Cell)
}

/// The areas of the question, the chart and the plan.
fn areas(inside: Rect) -> [Rect; 3] {
    inside.layout(&Layout::vertical([Constraint::Length(ASKED), Constraint::Fill(1), Constraint::Length(SAID)]))
}

fn days_chart(app: &App, picture: &TrainingPicture, theme: Theme) -> LogLog {
    let training = &app.views.training;
    LogLog {
        theme,
        curves: curves(picture, theme),
        chosen: training.method(),
        places: picture.search.budgets.iter().map(|budget| f64::from(*budget)).collect(),
        cursor: training.budget(),
        title: "days",
        across: "over devices".to_owned(),
        ..LogLog::default()
    }
}

/// The question: steps, batch, network, and the most devices.
fn question(app: &App, picture: &TrainingPicture, theme: Theme, width: u16) -> Line<'static> {
    let base = &picture.search.base;
    let goal = picture.search.goal;
    let law = app.views.training.law().word();
    let factor = base.plan.bandwidth_factor;
    let level = base.cluster.levels.last();
    let rate = level.map_or_else(String::new, |level| format!("{} {}", level.name, level.bandwidth * factor));
    let network = if (factor - 1.0).abs() < 1e-12 { rate } else { format!("{rate} (x {})", short(factor, 3)) };
    let most = picture.search.budgets.last().copied().unwrap_or(0);
    let failing = if picture.search.counts_failures() { "failures included" } else { "" };
    let parts = [
        Span::raw(format!(
            " {} steps at the critical batch of {} sequences ({law} law)",
            words::count(goal.steps),
            words::count(goal.critical)
        )),
        Span::raw(failing),
        Span::raw(network),
        Span::raw(format!("recompute {}", base.plan.recompute)),
        Span::raw(format!("at most {}", devices(most))),
    ];
    joined(parts, theme, width)
}

/// The fields that the question frees, beside the headline's values, so that both can be compared.
fn describe_freed(app: &App, theme: Theme, width: u16) -> Line<'static> {
    let scenario = app.on_screen();
    let batch = words::count(scenario.sequences());
    let days = app.answer.as_ref().and_then(|answer| Figure::Days.amount(&answer.subject())).map(Amount::in_row);
    let parts = std::iter::once(Span::raw(format!(" the batch is free here ({batch} in the headline)")))
        .chain(days.map(|days| Span::raw(format!("as it is {days} days on {}", devices(scenario.devices())))))
        .chain([Span::raw("so are method, mesh and micro-batch")]);
    joined(parts, theme, width).style(theme.style(Role::Dim))
}

/// Every method within every count of devices.
fn places(picture: &TrainingPicture) -> impl Iterator<Item = (usize, usize)> {
    (0..METHODS.len()).flat_map(|method| (0..picture.search.budgets.len()).map(move |place| (method, place)))
}

/// The best of each method within each count of devices; after them what is known of an earlier question only.
fn curves(picture: &TrainingPicture, theme: Theme) -> Vec<Curve> {
    let curve = |mark: char, (name, tone): (&'static str, Tone), days: &dyn Fn(usize) -> Option<f64>| {
        let places = picture.search.budgets.iter().enumerate();
        let points = places.filter_map(|(place, devices)| Some((f64::from(*devices), days(place)?)));
        Curve { mark, tone, name, points: points.filter(|(_, days)| *days > 0.0).collect() }
    };
    let before = theme.glyphs().hidden.chars().next().unwrap_or('.');
    let fresh = WORDS
        .into_iter()
        .enumerate()
        .map(|(method, word)| curve(mark(method), word, &|place| Some(picture.best(method, place)?.days)));
    let earlier =
        (0..METHODS.len()).map(|method| curve(before, ("", Tone::Grey), &|place| picture.earlier(method, place)));
    fresh.chain(earlier).collect()
}

/// Each method's days at the cursor's devices, and the plan under the cursor.
fn lines(app: &App, picture: &TrainingPicture, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let training = &app.views.training;
    let (place, dim) = (training.budget(), theme.style(Role::Dim));
    let mut lines = table(picture, (training.method(), place), theme);
    let method = &METHODS[training.method()];
    let (Some((_, best)), Some(scenario)) = (training.chosen(), training.plan()) else {
        let said = match picture.earlier(training.method(), place) {
            Some(before) => format!("computing; {} days before the change", days(before)),
            None if picture.is_answered(training.method(), place) => {
                let limited = !training.any_plan && app.scenario.stack.runs.is_some();
                let stack = printable(&app.scenario.stack.name);
                if limited {
                    format!("nothing that {stack} runs fits: x searches any plan")
                } else {
                    "nothing fits".to_owned()
                }
            }
            None => "computing".to_owned(),
        };
        let said = format!("{} ({}): {said}", method.name, mark(training.method()));
        lines.push(Line::styled(said, theme.style(Role::Title)));
        lines.push(Line::styled(method.about, dim));
        return lines;
    };
    lines.extend(plan((training.method(), place, best), scenario, picture, theme, width));
    lines
}

fn mark(method: usize) -> char {
    WORDS.get(method).and_then(|(word, _)| word.chars().next()).unwrap_or(' ')
}

/// Columns of a method in the table.
fn column(method: usize) -> usize {
    WORDS.get(method).map_or(0, |(word, _)| (word.len() + 3).max(NUMBER))
}

/// Each method's days at the cursor's devices, and what the outermost level needs in its plan there, so that everything on
/// it that can hide does, except at the ends of the step; `exposed` where something on it never hides.
fn table(picture: &TrainingPicture, (chosen, place): (usize, usize), theme: Theme) -> Vec<Line<'static>> {
    let row = |name: String, cell: &dyn Fn(usize) -> String| {
        let cells = WORDS.iter().enumerate().map(|(method, (_, tone))| {
            let style = if method == chosen { theme.style(Role::Cursor) } else { theme.fill(*tone) };
            let cell = cell(method);
            let blank = column(method).saturating_sub(text::width(&cell));
            [Span::raw(" ".repeat(blank)), Span::styled(cell, style)]
        });
        let name = Span::styled(format!("{name:<NAMES$}"), theme.style(Role::Dim));
        std::iter::once(name).chain(cells.flatten()).collect()
    };
    let days = |method: usize| match (picture.best(method, place), picture.earlier(method, place)) {
        (Some(best), _) => days(best.days),
        (None, Some(before)) => format!("({})", days(before)),
        (None, None) if picture.is_answered(method, place) => theme.glyphs().too_big.to_owned(),
        (None, None) => "?".to_owned(),
    };
    let need = |method: usize| match picture.needs(method, place).map(|needs| needs.outermost) {
        Some(LinkNeed::Rate(rate)) => gigabytes(rate),
        Some(LinkNeed::NeverHidden(_)) => "exposed".to_owned(),
        None => theme.glyphs().impossible.to_owned(),
    };
    let base = &picture.search.base;
    let outermost = TransferLink::Level(base.cluster.levels.len().saturating_sub(1));
    vec![
        row(String::new(), &|method| WORDS[method].0.to_owned()),
        row(format!("days on {}", devices(picture.search.budgets[place])), &days),
        row(format!("GB/s needed (has {})", gigabytes(outermost.bandwidth(base))), &need),
    ]
}

/// The plan under the cursor.
fn plan(
    (index, place, best): (usize, usize, &BestTraining),
    scenario: &Scenario,
    picture: &TrainingPicture,
    theme: Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let (choice, plan, method) = (best.choice, &scenario.plan, &METHODS[index]);
    let sequences = choice.sequences();
    let steps = words::count(picture.search.goal.steps(sequences));
    let order = match (choice.pipeline, plan.accumulation) {
        (1, shardscope_engine::plan::Accumulation::Layered) => "layer by layer".to_owned(),
        (1, shardscope_engine::plan::Accumulation::Standard) => "no pipeline".to_owned(),
        _ => plan.schedule.to_string(),
    };
    let context = if plan.context > 1 { format!(" x cp {}", plan.context) } else { String::new() };
    let host = if choice.offload == Offload::None { "" } else { "host memory assumed unlimited" };
    let said = [host, method.about].map(|text| Span::styled(text, theme.style(Role::Dim)));
    let memory = words::of_capacity(best.summary.memory.peak, best.summary.memory.capacity);
    let titled = |text: String| Span::styled(text, theme.style(Role::Title));
    vec![
        joined(
            [
                titled(format!(
                    "{} ({}): {} days on {}",
                    method.name,
                    mark(index),
                    days(best.days),
                    devices(choice.devices)
                )),
                titled(format!("{steps} steps of {}", best.summary.step_time)),
            ],
            theme,
            width,
        ),
        Line::raw(format!(
            "tp {}{context} x pp {} x dp {}, accum {} x micro {} = {} sequences a step",
            choice.tensor,
            choice.pipeline,
            choice.data,
            choice.accumulate,
            choice.micro_batch,
            words::count(sequences),
        )),
        Line::raw(format!(
            "{}, {order}, recompute {}, offload {}; {memory}, {} MFU",
            scenario.strategy,
            plan.recompute,
            choice.offload,
            precise_percent(best.summary.mfu)
        )),
        picture.needs(index, place).map_or_else(Line::default, |needs| network(needs, scenario, theme, width)),
        joined(said, theme, width),
    ]
}

/// The bandwidth that hides each transfer of the plan, the tightest first: `host needs 5.71 of 15.8 GB/s to
/// hide state-offload traffic`; before all else what runs beside no arithmetic, and never hides: `system: data-parallel
/// traffic exposed, its compute x 1.49`.
fn network(needs: &LinkNeeds, scenario: &Scenario, theme: Theme, width: u16) -> Line<'static> {
    let need = |(it, needed, has): &(Intensity, Option<BytesPerSecond>, BytesPerSecond)| {
        let (kind, link) = (it.kind.word(), it.link.name(scenario));
        Span::raw(match needed {
            Some(needed) => {
                let [needed, has] = [*needed, *has].map(gigabytes);
                format!("{link} needs {needed} of {has} GB/s to hide {kind} traffic")
            }
            None => format!("{link}: {kind} traffic exposed, its compute x {}", significant(it.slowdown(), 3)),
        })
    };
    if needs.transfers.is_empty() {
        return Line::raw("nothing is transferred");
    }
    joined(needs.transfers.iter().map(need), theme, width)
}

fn gigabytes(rate: BytesPerSecond) -> String {
    significant(rate.get() / 1e9, 3)
}

fn days(days: f64) -> String {
    if days >= 1000.0 { words::count(days) } else { significant(days, 3) }
}

/// Says what Enter does, and why the plan takes other tokens than the headline's training: a larger batch learns less of each.
fn status(app: &App) -> String {
    let training = &app.views.training;
    let chosen = training.chosen().zip(training.picture.as_ref()).filter(|_| app.shown.is_ok());
    chosen.map_or_else(String::new, |((_, best), picture)| {
        let (goal, sequences) = (picture.search.goal, best.choice.sequences());
        let taken = goal.steps(sequences) * sequences;
        // Steps below the critical batch take more of them and fewer tokens, steps above it fewer and more.
        format!(
            "Enter applies it; batch {} needs {} tokens, {} times those at the critical batch {}",
            words::count(sequences),
            words::count(taken * f64::from(picture.search.base.plan.sequence)),
            significant(taken / (goal.steps * goal.critical), 3),
            words::count(goal.critical),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::testing;

    /// [layered B5], `X_160` with 5 micro-batches layer by layer on 25 GB/s each way: tensor parallelism runs beside no
    /// arithmetic and costs 1 + 520 / 3413 of it. The partitioned state needs 6240 flop/B of the 6400 that it has, 24.4 GB/s; the pipeline, which has
    /// 307,200, 0.508 GB/s.
    #[test]
    fn what_never_hides_comes_before_the_tightest_link() {
        let scenario = testing::x_160_in(&shardscope_presets::library(), &[]);
        let said =
            network(&LinkNeeds::new(&scenario.checked().expect("a valid scenario")), &scenario, Theme::default(), 200)
                .to_string();
        let order = [
            "node: tensor traffic exposed, its compute x 1.15",
            "system needs 24.4 of 25.0 GB/s to hide partitioned-state traffic",
            "system needs 0.508 of 25.0 GB/s to hide pipeline traffic",
        ];
        assert!(said.starts_with(order[0]), "{said}");
        let places = order.map(|part| said.find(part).unwrap_or_else(|| panic!("{part} is not in {said}")));
        assert!(places.is_sorted(), "{said}");
    }
}
