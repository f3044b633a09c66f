//! Where the time of a step goes, what each level carries, and what more of each resource would give.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::Widget;

use super::{frame, in_view, staleness};
use crate::app::{Answer, App, Panel};
use crate::evaluate::{Copies, Elasticity, Expense, Traffic};
use crate::figures::Figure;
use crate::ui::theme::{Role, Theme};
use crate::units::{Seconds, significant, thousands};

/// Columns that it takes.
pub(in crate::ui) const WIDTH: u16 = 40;

/// Columns of a bar.
const BAR: usize = 8;

/// Draws it; the row that has the keys is reversed.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    // Beside the other panels, which say it too, it would only cost bytes on a slow line.
    let stale = if app.focus == Panel::Time { staleness(app) } else { "" };
    let title = format!("Where the step goes{stale}");
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Time, &title, "", area, buf);
        return;
    };
    let trace = &answer.evaluation.trace;
    // The timeline may be at another one.
    let whose = if trace.ranks() > 1 { format!("rank {}", trace.last_rank()) } else { String::new() };
    let inside = frame(app, theme, Panel::Time, &title, &whose, area, buf);
    for (area, lines) in columns(app, answer, theme, inside) {
        Text::from(lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>()).render(area, buf);
    }
}

/// The row at a place.
pub(in crate::ui) fn row_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let columns = columns(app, app.answer.as_ref()?, theme, inside);
    let (area, lines) = columns.into_iter().find(|(area, _)| area.contains(at))?;
    lines.get(usize::from(at.y - area.y))?.1
}

/// A line, with the row that it is.
type Drawn = (Line<'static>, Option<usize>);

/// Where which lines are drawn: the elasticities beside the rest where there is room.
fn columns(app: &App, answer: &Answer, theme: Theme, inside: Rect) -> Vec<(Rect, Vec<Drawn>)> {
    let has_keys = app.focus == Panel::Time && app.layer.is_none();
    let rows = app.breakdown();
    let beside = inside.width >= 2 * WIDTH - 4;
    let cursor = app.time.min(rows.len().saturating_sub(1));
    let [mut left, mut right] = [Vec::new(), Vec::new()];
    let (mut section, mut at) = ("", 0);
    for (index, figure) in rows.into_iter().enumerate() {
        let here = has_keys && index == cursor;
        let lines = if beside && matches!(figure, Figure::Elasticity(_)) { &mut right } else { &mut left };
        let title = heading(figure);
        if title != section {
            lines.push((Line::styled(title, theme.style(Role::Title)), None));
            section = title;
        }
        at = if here { lines.len() } else { at };
        let style = if here { theme.style(Role::Cursor) } else { Style::new() };
        lines.push((row(figure, answer, theme).style(style), Some(index)));
    }
    if beside {
        let [first, second] = inside.layout(&Layout::horizontal([Constraint::Length(WIDTH), Constraint::Fill(1)]));
        return vec![(first, left), (second, right)];
    }
    let first = in_view(at, left.len(), usize::from(inside.height)).start;
    vec![(inside, left.split_off(first))]
}

/// The section that a row belongs to.
fn heading(figure: Figure) -> &'static str {
    match figure {
        Figure::Elasticity(_) => "throughput follows (elasticity)",
        Figure::Traffic(_) => "sent per device",
        Figure::Copied(_) => "copied per device",
        Figure::Days | Figure::DeviceHours | Figure::Cost | Figure::Energy => "training",
        _ => "time",
    }
}

fn row(figure: Figure, answer: &Answer, theme: Theme) -> Line<'static> {
    let summary = &answer.evaluation.summary;
    let time = &summary.time;
    let part = |name: &str, part: Seconds| {
        let share = part / summary.step_time;
        let bar = theme.glyphs().fills[0].repeat((share * BAR as f64).round() as usize);
        Line::raw(format!(" {name:<10}{part:>9} {:>5.1} %  {bar}", 100.0 * share))
    };
    match figure {
        Figure::Compute => part("compute", time.compute),
        Figure::Exposed => part("exposed", time.exposed),
        Figure::Bubble => part("bubble", time.bubble),
        Figure::Optimizer => part("optimizer", time.optimizer),
        Figure::Traffic(level) => {
            let name = answer.scenario.cluster.levels.get(level).map_or("network", |level| &level.name);
            let Traffic { bytes_per_device, busy, .. } = summary.traffic[level];
            Line::raw(format!(" {name:<10}{bytes_per_device:>9}, busy {busy}"))
        }
        Figure::Copied(way) => {
            let Copies { bytes, busy } = summary.host.way(way);
            Line::raw(format!(" {:<10}{bytes:>9}, busy {busy}", way.lane().name()))
        }
        Figure::Elasticity(index) => {
            let Elasticity { resource, value } = &answer.evaluation.elasticity[index];
            Line::raw(format!(" {resource:<24}{value:>+7.2}"))
        }
        Figure::Days | Figure::DeviceHours | Figure::Cost | Figure::Energy => training(figure, answer),
        _ => part("other", time.other),
    }
}

/// What the whole training takes of one thing.
fn training(figure: Figure, Answer { scenario, evaluation }: &Answer) -> Line<'static> {
    let tokens = scenario.plan.tokens.unwrap_or(0.0);
    let Expense { time, device_time, cost, energy } = Expense::of(tokens, &evaluation.summary, &scenario.cluster);
    let (name, amount) = match figure {
        Figure::Days => ("days", Some(significant(time.days(), 3))),
        Figure::DeviceHours => ("device-hours", Some(thousands(device_time.hours()))),
        Figure::Cost => ("cost", cost.map(|cost| cost.to_string())),
        _ => ("energy", energy.map(|energy| energy.to_string())),
    };
    Line::raw(format!(" {name:<13}{:>18}", amount.unwrap_or_default()))
}
