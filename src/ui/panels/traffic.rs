//! What each level of the cluster carries in a step, beside what it carries with the pinned scenario.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{frame, staleness};
use crate::app::{App, Panel};
use crate::evaluate::{Summary, Traffic};
use crate::scenario::Scenario;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::units::Bytes;

/// Columns of the names, and of what stands behind a bar.
const NAMES: usize = 13;
const AMOUNT: usize = 31;

/// A run whose traffic is drawn: what it is called, and the mark of its bars.
struct Run<'a> {
    name: String,
    scenario: &'a Scenario,
    summary: &'a Summary,
    fill: &'static str,
}

/// Rows that it wants: frame, two rows per level and run, a row between levels, a sentence per run.
pub(super) fn height(app: &App) -> u16 {
    let levels = app.scenario.cluster.levels.len();
    let runs = 1 + usize::from(app.pins.reference().is_some());
    u16::try_from(2 + levels * (2 * runs + 1) + runs).unwrap_or(u16::MAX)
}

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Traffic per device and step{}", staleness(app));
    let hint = if app.pins.reference().is_some() { "" } else { "p pins one to compare with" };
    let inside = frame(app, theme, Panel::Map, &title, hint, area, buf);
    let Some(answer) = &app.answer else { return };
    let fills = &theme.glyphs().fills;
    let present = Run {
        name: answer.scenario.strategy.to_string(),
        scenario: &answer.scenario,
        summary: &answer.evaluation.summary,
        fill: fills[0],
    };
    let pinned = app.pins.reference().map(|(pinned, summary)| Run {
        name: format!("{} {}", theme.glyphs().pinned, pinned.scenario.strategy),
        scenario: &pinned.scenario,
        summary,
        fill: fills[2],
    });
    let runs: Vec<Run> = std::iter::once(present).chain(pinned).collect();
    let lines = levels(&runs, usize::from(inside.width), theme).into_iter().chain(runs.iter().map(outside));
    for (row, line) in inside.rows().zip(lines) {
        draw_line(buf, row, &line, theme);
    }
}

/// Two bars per level and run: what is sent, against the most; how long it is busy, against the step.
fn levels(runs: &[Run], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let bar = width.saturating_sub(NAMES + 5 + AMOUNT);
    let sent = runs.iter().flat_map(|run| &run.summary.traffic).map(|traffic| traffic.bytes_per_device);
    let most = sent.fold(Bytes::ZERO, Bytes::max);
    let mut lines = Vec::new();
    for level in &runs[0].scenario.cluster.levels {
        for (index, run) in runs.iter().enumerate() {
            let Some(Traffic { bytes_per_device, busy, .. }) = traffic(run, &level.name) else { continue };
            let step = run.summary.step_time;
            let name = if index == 0 { &level.name } else { &run.name };
            let role = if index == 0 { Role::Title } else { Role::Dim };
            let all = total(run.summary);
            let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
            let of_all = percent(share(bytes_per_device.get(), all.get()));
            let of_step = percent(share(busy.get(), step.get()));
            let filled = [share(bytes_per_device.get(), most.get()), share(busy.get(), step.get())];
            let [long, short] = filled.map(|share| (share.min(1.0) * bar as f64).round() as usize);
            let row = |name: &str, what: &str, filled: usize, amount: &str, share: &str| {
                Line::from(vec![
                    Span::styled(format!(" {name:<width$}", width = NAMES - 1), theme.style(role)),
                    Span::styled(format!("{what} "), theme.style(Role::Dim)),
                    Span::raw(format!("{:<bar$}", run.fill.repeat(filled))),
                    Span::raw(format!("{amount:>10}")),
                    Span::styled(share.to_owned(), theme.style(Role::Dim)),
                ])
            };
            lines.push(row(name, "sent", long, &bytes_per_device.to_string(), &format!(" {of_all:>7} of all")));
            lines.push(row("", "busy", short, &busy.to_string(), &format!(" {of_step:>7} of the step")));
        }
        lines.push(Line::default());
    }
    lines
}

/// What a level of this name carries.
fn traffic(run: &Run, level: &str) -> Option<Traffic> {
    run.scenario.cluster.level(level).map(|index| run.summary.traffic[index])
}

fn total(summary: &Summary) -> Bytes {
    summary.traffic.iter().map(|traffic| traffic.bytes_per_device).sum()
}

/// `zero-topo: 3.8 % of it leaves the node, 6.13 s exposed in a step of 35.3 s`.
fn outside(run: &Run) -> Line<'static> {
    let beyond = run.scenario.cluster.level("node").map_or(0, |node| node + 1);
    let left: Bytes = run.summary.traffic[beyond..].iter().map(|traffic| traffic.bytes_per_device).sum();
    let all = total(run.summary);
    let share = if all > Bytes::ZERO { left / all } else { 0.0 };
    Line::raw(format!(
        " {}: {} of it leaves the node, {} exposed in a step of {}",
        run.name,
        percent(share),
        run.summary.time.exposed,
        run.summary.step_time
    ))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
