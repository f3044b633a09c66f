//! What runs when, and which communication compute waits for.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Widget;

use super::memory::LINE;
use super::{frame, staleness, words};
use crate::app::{Answer, App, Panel, timeline};
use crate::evaluate::{self, IdleCause, Part, Trace};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::gantt::Track;
use crate::ui::widgets::{Gantt, MemoryLine};
use crate::units::{Bytes, Seconds};

/// The pipeline rank that is shown.
const RANK: u32 = 0;

/// The fewest rows in which memory over the window says anything.
const HELD: u16 = 5;

/// Rows of the chosen span in words.
const WORDS: u16 = 3;

/// Rows that it needs: frame, the whole step, lanes, exposed communication, axis, the chosen span.
pub(in crate::ui) fn height(app: &App) -> u16 {
    let lanes = app.answer.as_ref().map_or(3, |answer| timeline::lanes(&answer.evaluation.trace).len());
    u16::try_from(lanes).unwrap_or(u16::MAX).saturating_add(5 + WORDS)
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
    let tracks = Track::of_trace(trace, RANK, Seconds::ZERO, step);
    let (chosen, exposed) = (app.timeline.span(trace), exposed(trace));
    let gantt = Gantt::new(theme, &tracks, from, to)
        .exposed(&exposed)
        .overview((inside.height > tracks.len() as u16 + 3).then_some(step))
        .selected(chosen.and_then(|span| find(&tracks, span)));
    let words = inside.height.saturating_sub(gantt.height()).clamp(1, WORDS);
    let rows = [Constraint::Max(gantt.height()), Constraint::Length(words), Constraint::Fill(1)];
    let [lanes, said, below] = inside.layout(&Layout::vertical(rows));
    gantt.render(lanes, buf);
    let lines = chosen.map_or_else(|| hint(app, theme), |span| describe(span, answer, theme));
    Text::from(lines).render(said, buf);
    held(answer, theme, (from, to), gantt.plot(below), buf);
    let named = below.height >= HELD && below.width > gantt.plot(below).width;
    if named {
        buf.set_line(below.x, below.y, &Line::styled("memory", theme.style(Role::Dim)), below.width);
    }
}

/// Memory over the same window, where there is room to spare.
fn held(answer: &Answer, theme: Theme, (from, to): (Seconds, Seconds), area: Rect, buf: &mut Buffer) {
    if area.height < HELD {
        return;
    }
    let (summary, trace) = (&answer.evaluation.summary, &answer.evaluation.trace);
    let area = Rect { height: area.height.min(1 + LINE), ..area };
    MemoryLine::new(theme, &trace.memory, summary.step_time)
        .window(from, to)
        .capacity(summary.memory.capacity)
        .render(area, buf);
}

/// The stretches in which compute waits for communication.
pub(super) fn exposed(trace: &Trace) -> Vec<(Seconds, Seconds)> {
    let waits = trace.idle.iter().filter(|idle| idle.rank == RANK && idle.cause == IdleCause::Communication);
    waits.map(|idle| (idle.start, idle.end)).collect()
}

/// Where a span is among the tracks.
fn find(tracks: &[Track], wanted: &evaluate::Span) -> Option<(usize, usize)> {
    let place = |track: &Track| {
        track
            .spans
            .iter()
            .position(|span| (span.start, span.end, span.activity) == (wanted.start, wanted.end, wanted.activity))
    };
    tracks.iter().enumerate().find_map(|(index, track)| Some((index, place(track)?)))
}

/// A span in words: what and when; bytes, level and rates, for a transfer; what waits for it.
fn describe(span: &evaluate::Span, answer: &Answer, theme: Theme) -> Vec<Line<'static>> {
    let time = span.end - span.start;
    let turn = span.activity.micro_batch;
    let turn = if answer.scenario.plan.accumulate > 1 && span.activity.part != Part::Model {
        format!(", micro-batch {turn}")
    } else {
        String::new()
    };
    let what = format!("{} {}{turn}", theme.glyphs().pinned, words::activity(span.activity));
    let slowed = if span.alone < time * 0.999 { format!(", {} if alone", span.alone) } else { String::new() };
    let when = format!(": {time}{slowed}, at {}", span.start);
    let mut lines = vec![Line::from(vec![
        Span::styled(what, theme.style(Role::Title)),
        Span::styled(when, theme.style(Role::Text)),
    ])];
    lines.extend(transfer(span, answer).map(Line::raw));
    lines.extend(waited(span, &answer.evaluation.trace, theme));
    lines
}

/// What a transfer moves, how fast, and what its level has: `148 MiB over package at 51.8 GB/s, 72.1 GB/s if alone`.
fn transfer(span: &evaluate::Span, answer: &Answer) -> Option<String> {
    if span.bytes <= Bytes::ZERO {
        return None;
    }
    let time = span.end - span.start;
    let level = span.level.and_then(|level| answer.scenario.cluster.levels.get(usize::from(level)));
    let over = level.map_or_else(String::new, |level| format!(" over {}", level.name));
    let alone =
        if span.alone < time * 0.999 { format!(", {} if alone", span.bytes / span.alone) } else { String::new() };
    let port = level.map_or_else(String::new, |level| format!("; the level has {} a device", level.bandwidth));
    Some(format!("  {}{over} at {}{alone}{port}", span.bytes, span.bytes / time))
}

/// How long compute stands still for a transfer while this one runs.
fn waited(span: &evaluate::Span, trace: &Trace, theme: Theme) -> Option<Line<'static>> {
    if span.bytes <= Bytes::ZERO {
        return None;
    }
    if !span.exposed {
        return Some(Line::styled("  hidden: compute never waits for it", theme.style(Role::Dim)));
    }
    let shared = |(from, to): (Seconds, Seconds)| (to.min(span.end) - from.max(span.start)).max(Seconds::ZERO);
    let waits: Seconds = exposed(trace).into_iter().map(shared).sum();
    Some(Line::styled(format!("  exposed: compute waits {waits} while it runs"), theme.style(Role::Bad)))
}

/// What the marks mean and what the keys do.
fn hint(app: &App, theme: Theme) -> Vec<Line<'static>> {
    let glyphs = theme.glyphs();
    let marks = format!(
        "{} compute waits for communication   {} communication behind compute   {} bubble",
        glyphs.exposed, glyphs.hidden, glyphs.bubble
    );
    let here = app.focus == Panel::Timeline;
    let keys = if here { "left and right choose a span, + and - zoom" } else { "" };
    [marks.as_str(), keys].map(|text| Line::styled(text.to_owned(), theme.style(Role::Dim))).into()
}
