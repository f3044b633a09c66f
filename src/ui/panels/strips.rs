//! Where memory and time go in a few lines, for a screen that shows one panel at a time.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::App;
use crate::app::timeline::ShownStep;
use crate::ui::theme::Theme;
use crate::ui::widgets::text::draw_line;
use crate::ui::widgets::{Gantt, StackedBar};
use shardscope_engine::units::Seconds;

/// Rows that it takes: bar and legend of the memory, one line of exposed communication.
pub(in crate::ui) const HEIGHT: u16 = 4;

/// Draws the strips.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(answer) = app.answer.as_ref().filter(|_| area.height >= HEIGHT) else { return };
    let summary = &answer.evaluation.summary;
    let area = area.inner(Margin::new(1, 0));
    let [memory, wire] = area.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]));
    StackedBar { name: "memory", ..StackedBar::new(theme, summary.memory.parts, summary.memory.capacity) }
        .render(memory, buf);
    let figure = Line::raw(format!(" {} of {} ", summary.time.exposed, summary.step_time));
    let width = u16::try_from(figure.width()).unwrap_or(u16::MAX);
    let [strip, text] = wire.layout(&Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]));
    let step = ShownStep::new(&answer.evaluation);
    let rank = app.timeline.rank(step);
    let (idle, folded) = (step.trace.idle_of(rank), step.trace.folded_of(rank));
    Gantt { folded, exposed: Some((idle, &[])), ..Gantt::new(theme, &[], Seconds::ZERO, step.time) }.render(strip, buf);
    draw_line(buf, text, &figure, theme);
}
