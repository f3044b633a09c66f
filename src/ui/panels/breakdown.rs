//! Where the time of a step goes, what each level carries, and what more of each resource would give.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::Widget;

use super::{frame, staleness};
use crate::app::{Answer, App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::units::{Bytes, Seconds};

/// Columns that it takes.
pub(in crate::ui) const WIDTH: u16 = 40;

/// The smallest share of the step that is worth a row.
const SEEN: f64 = 0.000_5;

/// Columns of a bar.
const BAR: usize = 8;

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    // Beside the other panels, which say it too, it would only cost bytes on a slow line.
    let stale = if app.focus == Panel::Time { staleness(app) } else { "" };
    let inside = frame(app, theme, Panel::Time, &format!("Where the step goes{stale}"), "", area, buf);
    let Some(answer) = &app.answer else { return };
    let (mut left, right) = (time(answer, theme), elasticities(answer, theme));
    left.extend(traffic(answer, theme));
    if inside.width >= 2 * WIDTH - 4 {
        let [first, second] = inside.layout(&Layout::horizontal([Constraint::Length(WIDTH), Constraint::Fill(1)]));
        Text::from(left).render(first, buf);
        Text::from(right).render(second, buf);
    } else {
        left.extend(right);
        Text::from(left).render(inside, buf);
    }
}

fn heading(text: &str, theme: Theme) -> Line<'static> {
    Line::styled(text.to_owned(), theme.style(Role::Title))
}

fn time(answer: &Answer, theme: Theme) -> Vec<Line<'static>> {
    let summary = &answer.evaluation.summary;
    let time = &summary.time;
    let parts = [
        ("compute", time.compute),
        ("exposed", time.exposed),
        ("bubble", time.bubble),
        ("optimizer", time.optimizer),
        ("other", time.other),
    ];
    let row = |(name, part): (&str, Seconds)| {
        let share = part / summary.step_time;
        let bar = theme.glyphs().fills[0].repeat((share * BAR as f64).round() as usize);
        Line::raw(format!(" {name:<10}{part:>9} {:>5.1} %  {bar}", 100.0 * share))
    };
    let spent = parts.into_iter().filter(|(_, part)| *part / summary.step_time >= SEEN);
    std::iter::once(heading("time", theme)).chain(spent.map(row)).collect()
}

fn traffic(answer: &Answer, theme: Theme) -> Vec<Line<'static>> {
    let levels = answer.scenario.cluster.levels.iter().zip(&answer.evaluation.summary.traffic);
    let used = levels.filter(|(_, traffic)| traffic.bytes_per_device > Bytes::ZERO);
    let row = used.map(|(level, traffic)| {
        Line::raw(format!(" {:<10}{:>9}, busy {}", level.name, traffic.bytes_per_device, traffic.busy))
    });
    std::iter::once(heading("sent per device", theme)).chain(row).collect()
}

/// The strongest first; what gives nothing is left out.
fn elasticities(answer: &Answer, theme: Theme) -> Vec<Line<'static>> {
    let mut felt: Vec<_> = answer.evaluation.elasticity.iter().filter(|it| it.value.abs() >= 0.005).collect();
    felt.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    let row = felt.into_iter().map(|it| Line::raw(format!(" {:<24}{:>+7.2}", it.resource, it.value)));
    std::iter::once(heading("throughput follows (elasticity)", theme)).chain(row).collect()
}
