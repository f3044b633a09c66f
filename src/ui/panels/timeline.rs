//! What runs when, and which communication compute waits for.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{frame, staleness, words};
use crate::app::{Answer, App, Panel, timeline};
use crate::evaluate::{IdleCause, Span, Trace};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::Gantt;
use crate::ui::widgets::gantt::Track;
use crate::units::{Bytes, Seconds};

/// The pipeline rank that is shown.
const RANK: u32 = 0;

/// Rows that it takes: frame, lanes, exposed communication, axis, the chosen span.
pub(in crate::ui) fn height(app: &App) -> u16 {
    let lanes = app.answer.as_ref().map_or(3, |answer| timeline::lanes(&answer.evaluation.trace).len());
    u16::try_from(lanes).unwrap_or(u16::MAX).saturating_add(5)
}

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Timeline, &format!("Timeline{}", staleness(app)), "", area, buf);
        return;
    };
    let (summary, trace) = (&answer.evaluation.summary, &answer.evaluation.trace);
    let step = summary.step_time;
    let window = app.timeline.window(trace, step);
    let (from, to) = (window.start * step, (window.start + window.width) * step);
    let title = format!("Timeline, step {step}{}", staleness(app));
    let note = format!("{from} {} {to}, exposed {}", theme.glyphs().to, summary.time.exposed);
    let inside = frame(app, theme, Panel::Timeline, &title, &note, area, buf);
    let [lanes, below] = inside.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]));
    let tracks = Track::of_trace(trace, RANK, from, to);
    let chosen = app.timeline.span(trace);
    Gantt::new(theme, &tracks, from, to)
        .exposed(&exposed(trace))
        .selected(chosen.and_then(|span| find(&tracks, span)))
        .render(lanes, buf);
    let said = chosen.map_or_else(|| hint(app), |span| describe(span, answer));
    buf.set_line(below.x, below.y, &Line::styled(said, theme.style(Role::Text)), below.width);
}

/// The stretches in which compute waits for communication.
pub(super) fn exposed(trace: &Trace) -> Vec<(Seconds, Seconds)> {
    let waits = trace.idle.iter().filter(|idle| idle.rank == RANK && idle.cause == IdleCause::Communication);
    waits.map(|idle| (idle.start, idle.end)).collect()
}

/// Where a span is among the tracks.
fn find(tracks: &[Track], wanted: &Span) -> Option<(usize, usize)> {
    let place = |track: &Track| {
        track
            .spans
            .iter()
            .position(|span| (span.start, span.end, span.activity) == (wanted.start, wanted.end, wanted.activity))
    };
    tracks.iter().enumerate().find_map(|(index, track)| Some((index, place(track)?)))
}

/// A span in words: `all-gather, layer 22: 103 MiB over package in 710 us = 145 GB/s, exposed, micro-batch 0`.
fn describe(span: &Span, answer: &Answer) -> String {
    let time = span.end - span.start;
    let level = span.level.and_then(|level| answer.scenario.cluster.levels.get(usize::from(level)));
    let over = level.map_or_else(String::new, |level| format!(" over {}", level.name));
    let what = if span.bytes > Bytes::ZERO {
        format!("{}{over} in {time} = {}", span.bytes, span.bytes / time)
    } else {
        time.to_string()
    };
    let alone = if span.alone < time * 0.999 { format!(", {} alone", span.alone) } else { String::new() };
    let exposed = if span.exposed { ", exposed" } else { "" };
    let (activity, turn) = (words::activity(span.activity), span.activity.micro_batch);
    let turn = if answer.scenario.plan.accumulate > 1 { format!(", micro-batch {turn}") } else { String::new() };
    format!("{activity}: {what}{alone}{exposed}{turn}")
}

fn hint(app: &App) -> String {
    let here = app.focus == Panel::Timeline;
    if here { "left and right choose a span, + and - zoom".to_owned() } else { String::new() }
}
