//! One line under the panels: what just happened, or what the cursor is on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::app::{App, Panel, axes};
use crate::search::Metric;
use crate::ui::theme::{Role, Theme};
use crate::units::significant;

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let said = match &app.notice {
        Some(notice) => Line::styled(notice.clone(), theme.style(Role::Accent)),
        None => Line::raw(match app.focus {
            Panel::Inputs => field(app),
            Panel::Map | Panel::Memory | Panel::Timeline => cell(app),
        }),
    };
    buf.set_line(area.x + 1, area.y, &said, area.width.saturating_sub(1));
}

/// What is wrong with the field that has the keys.
fn field(app: &App) -> String {
    app.inputs.wrong(app.inputs.cursor).map_or_else(String::new, |wrong| wrong.why.clone())
}

/// The map's cell under the cursor: its figure, or why it has none.
fn cell(app: &App) -> String {
    let map = &app.map;
    let Some((x, y)) = map.values(map.cursor) else { return String::new() };
    let scenario = &app.scenario;
    let place = format!(
        "{} {}, {} {}",
        map.sweep.y.kind.word(),
        axes::label(y, scenario),
        map.sweep.x.kind.word(),
        axes::label(x, scenario)
    );
    let figure = match map.figure(map.cursor) {
        Some(figure) => format!("{} {}", significant(figure, 3), unit(map.metric)),
        None => app.why().unwrap_or_else(|| "computing".to_owned()),
    };
    let hint = if app.looking { " (Enter takes it, Esc goes back)" } else { "" };
    format!("{place}: {figure}{hint}")
}

const fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "TFLOP/s per device",
        Metric::Mfu => "% MFU",
        Metric::StepTime => "s per step",
        Metric::Memory => "GiB at the peak",
        Metric::Headroom => "GiB left",
        Metric::Exposed => "% of the step exposed",
        Metric::DeviceHours => "device-hours",
    }
}
