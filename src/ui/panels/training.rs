//! Days against devices for each method, and the plan under the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{frame, joined, part_at, words};
use crate::app::pointing::Target;
use crate::app::training::Picture;
use crate::app::{App, Panel};
use crate::bounds::intensity::{self, Intensity};
use crate::bounds::layered::CriticalBatch;
use crate::scenario::Scenario;
use crate::search::training::{Best, METHODS, Method};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::LogLog;
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::text::draw_line;
use crate::units::{significant, thousands};

/// Rows that it wants: frame, what is asked, the chart, the methods, the plan.
pub(super) const HEIGHT: u16 = 2 + 1 + 16 + SAID;

/// Rows of the methods and of the plan.
const SAID: u16 = 6;

/// The marks of the methods and their tones.
const MARKS: [(char, Tone); 5] =
    [('d', Tone::Grey), ('c', Tone::Ochre), ('p', Tone::Violet), ('l', Tone::Teal), ('m', Tone::Blue)];

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(picture) = &app.views.training.picture else {
        frame(app, theme, Panel::Map, "Training time", "", area, buf);
        return;
    };
    let (done, all) = picture.progress();
    let note = if picture.is_complete() { String::new() } else { format!("computing {done} of {all}") };
    let inside = frame(app, theme, Panel::Map, "Training time of each method", &note, area, buf);
    let [asked, chart, said] = areas(inside);
    draw_line(buf, asked, &question(app, picture, theme, asked.width), theme);
    if curves(picture).iter().all(|curve| curve.points.is_empty()) {
        let most = thousands(f64::from(picture.search.budgets.last().copied().unwrap_or(0)));
        let nothing = if picture.is_complete() {
            format!("nothing fits on at most {most} devices, by any method: + allows twice as many")
        } else {
            "computing".to_owned()
        };
        Paragraph::new(nothing).wrap(Wrap { trim: true }).render(chart, buf);
        return;
    }
    days_chart(app, picture, theme, |days| days.render(chart, buf));
    for (line, row) in lines(app, picture, theme, said.width).into_iter().zip(said.rows()) {
        draw_line(buf, row, &line, theme);
    }
}

/// The method or the count of devices at a place.
pub(super) fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<Target> {
    let picture = app.views.training.picture.as_ref()?;
    let [_, chart, said] = areas(inside);
    if at.y == said.y {
        let methods = lines(app, picture, theme, said.width).into_iter().next()?;
        return part_at(&methods, at.x - said.x)
            .filter(|method| *method < METHODS.len())
            .map(|method| Target::Row(Panel::Map, method));
    }
    days_chart(app, picture, theme, |days| days.place_at(chart, at)).map(Target::Cell)
}

/// Where the question, the chart and the plan are.
fn areas(inside: Rect) -> [Rect; 3] {
    inside.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(SAID)]))
}

/// The chart as a widget, for as long as it is needed.
fn days_chart<T>(app: &App, picture: &Picture, theme: Theme, with: impl FnOnce(&LogLog) -> T) -> T {
    let (training, curves) = (&app.views.training, curves(picture));
    let places: Vec<f64> = picture.search.budgets.iter().map(|budget| f64::from(*budget)).collect();
    let (chosen, cursor) = (training.method(), training.budget());
    with(&LogLog { theme, curves: &curves, chosen, places: &places, cursor, title: "days" })
}

/// What is asked: how far, how long, and on which network.
fn question(app: &App, picture: &Picture, theme: Theme, width: u16) -> Line<'static> {
    let base = &picture.search.base;
    let goal = picture.search.goal;
    let law = match app.views.training.law() {
        CriticalBatch::Kaplan => "kaplan",
        CriticalBatch::Layered => "layered",
        CriticalBatch::Sequences(_) => "given",
    };
    let factor = base.plan.bandwidth_factor;
    let level = base.cluster.levels.last();
    let rate = level.map_or_else(String::new, |level| format!("{} {}", level.name, level.bandwidth * factor));
    let network = if (factor - 1.0).abs() < 1e-12 { rate } else { format!("{rate} (x {factor})") };
    let most = picture.search.budgets.last().copied().unwrap_or(0);
    let parts = [
        Span::raw(format!(" {} steps at batch {}, {law}", words::count(goal.steps), words::count(goal.critical))),
        Span::raw(network),
        Span::raw(format!("at most {} devices", words::count(f64::from(most)))),
    ];
    joined(parts, theme, width)
}

/// The best of each method within each count of devices.
fn curves(picture: &Picture) -> Vec<Curve> {
    let budgets = picture.search.budgets.iter().enumerate();
    let curve = |(method, (mark, tone)): (usize, (char, Tone))| {
        let points = budgets.clone().filter_map(|(place, devices)| {
            Some((f64::from(*devices), picture.best(method, place)?.days)).filter(|(_, days)| *days > 0.0)
        });
        Curve { mark, tone, points: points.collect() }
    };
    MARKS.into_iter().enumerate().map(curve).collect()
}

/// Each method's days at the cursor's devices, and the plan under the cursor.
fn lines(app: &App, picture: &Picture, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let training = &app.views.training;
    let (place, dim) = (training.budget(), theme.style(Role::Dim));
    let devices = words::count(f64::from(picture.search.budgets[place]));
    let all = METHODS.iter().zip(MARKS).enumerate().map(|(method, (_, (mark, tone)))| {
        let days = picture.best(method, place).map_or(theme.glyphs().too_big.to_owned(), |best| days(best.days));
        let style = if method == training.method() { theme.style(Role::Cursor) } else { theme.fill(tone) };
        Span::styled(format!("{mark} {days}"), style)
    });
    let unit = [Span::styled(format!("days on {devices} devices"), dim)];
    let mut lines = vec![joined(all.chain(unit), theme, width)];
    let method = &METHODS[training.method()];
    let Some((_, best)) = training.chosen() else {
        lines.push(Line::styled(
            format!("{} ({}): nothing fits", method.name, mark(training.method())),
            theme.style(Role::Title),
        ));
        lines.push(Line::styled(method.about, dim));
        return lines;
    };
    let scenario = picture.search.scenario(method, &best.choice);
    lines.extend(plan(method, training.method(), best, &scenario, picture, theme));
    lines
}

fn mark(method: usize) -> char {
    MARKS.get(method).map_or(' ', |(mark, _)| *mark)
}

/// The plan under the cursor.
fn plan(
    method: &Method,
    index: usize,
    best: &Best,
    scenario: &Scenario,
    picture: &Picture,
    theme: Theme,
) -> Vec<Line<'static>> {
    let (choice, plan, dim) = (best.choice, &scenario.plan, theme.style(Role::Dim));
    let devices = thousands(f64::from(choice.devices));
    let sequences = choice.sequences();
    let steps = picture.search.goal.steps(sequences);
    let order = match (choice.pipeline, plan.accumulation) {
        (1, crate::plan::Accumulation::Layered) => "layer by layer".to_owned(),
        (1, crate::plan::Accumulation::Standard) => "no pipeline".to_owned(),
        _ => plan.schedule.to_string(),
    };
    let memory = words::of_capacity(best.summary.memory.peak, best.summary.memory.capacity);
    vec![
        Line::styled(
            format!("{} ({}): {} days on {devices} devices", method.name, mark(index), days(best.days)),
            theme.style(Role::Title),
        ),
        Line::raw(format!(
            "tp {} x pp {} x dp {}, accum {} x micro {} = {} sequences, {} steps of {}",
            choice.tensor,
            choice.pipeline,
            choice.data,
            choice.accumulate,
            choice.micro_batch,
            words::count(sequences),
            words::count(steps),
            best.summary.step_time
        )),
        Line::raw(format!(
            "{}, {order}, offload {}; {memory}, {} % MFU",
            scenario.strategy,
            choice.offload,
            significant(100.0 * best.summary.mfu, 3)
        )),
        Line::raw(network(scenario)),
        Line::styled(method.about, dim),
    ]
}

/// What the transfers need to hide: `partitioned-state hides from 30.5 GB/s on, system has 25.0 GB/s`.
fn network(scenario: &Scenario) -> String {
    let need = |it: &Intensity| {
        let bandwidth = it.link.bandwidth(scenario);
        let needed = bandwidth * (it.threshold / it.flop_per_byte());
        let (kind, link) = (it.kind.word(), it.link.name(scenario).to_owned());
        format!("{kind} hides from {needed} on, {link} has {bandwidth}")
    };
    let overlapped = intensity::of(scenario).into_iter().filter(|it| it.overlapped);
    let worst = overlapped.max_by(|a, b| a.slowdown().total_cmp(&b.slowdown()));
    worst.map_or_else(|| "no transfer runs beside arithmetic".to_owned(), |it| need(&it))
}

fn days(days: f64) -> String {
    if days >= 1000.0 { words::count(days) } else { significant(days, 3) }
}

/// Nothing beyond what the panel says.
pub(super) fn status(app: &App) -> String {
    let chosen = app.views.training.chosen();
    chosen.map_or_else(String::new, |(method, _)| format!("{}: Enter makes this plan the scenario's", method.name))
}
