//! Where the memory of the fullest device goes, at the peak and over the step.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::Widget;

use super::{frame, staleness, words};
use crate::app::timeline::Step;
use crate::app::{App, Panel};
use crate::ui::theme::Theme;
use crate::ui::widgets::{MemoryLine, StackedBar};

/// Rows over time that are worth their place.
pub(super) const LINE: u16 = 8;

/// Rows that it can use at a width: frame, bar, line over time, peak.
pub(in crate::ui) fn height(app: &App, width: u16) -> u16 {
    let bar = app.answer.as_ref().map_or(2, |answer| {
        let memory = &answer.evaluation.summary.memory;
        StackedBar::new(Theme::default(), memory.parts, memory.capacity).height(width.saturating_sub(2))
    });
    bar + LINE + 3
}

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Memory per device{}", staleness(app));
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Memory, &title, "", area, buf);
        return;
    };
    let (summary, trace) = (&answer.evaluation.summary, &answer.evaluation.trace);
    let memory = &summary.memory;
    let note = format!("peak {} at {}", memory.peak, words::activity(memory.during));
    let inside = frame(app, theme, Panel::Memory, &title, &note, area, buf);
    let bar = StackedBar::new(theme, memory.parts, memory.capacity);
    let rows = [Constraint::Length(bar.height(inside.width)), Constraint::Fill(1)];
    let [parts, line] = inside.layout(&Layout::vertical(rows));
    bar.render(parts, buf);
    MemoryLine::new(theme, trace.memory_of(app.timeline.rank(Step::of(&answer.evaluation))), summary.step_time)
        .capacity(memory.capacity)
        .render(line, buf);
}
