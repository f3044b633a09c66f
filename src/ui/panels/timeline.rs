//! The timeline of a step: spans of each stream, and the communication that compute waits for.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{frame, has_room, staleness, words};
use crate::app::timeline::{ShownStep, Timeline, TrackRow, Window, counterpart};
use crate::app::{Answer, App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::gantt::{self, Track, TrackForm};
use crate::ui::widgets::list::in_view;
use crate::ui::widgets::text::draw_lines;
use crate::ui::widgets::{Gantt, MemoryLine};
use shardscope_engine::evaluate::{self, IdleCause, ModelPart, SpanMicroBatches, Stream, Trace, WindowTotals};
use shardscope_engine::units::{Bytes, Seconds, whole_percent};

/// The fewest rows in which memory over the window says anything.
pub(in crate::ui) const HELD: u16 = 5;

/// Rows of the chosen span in words.
const WORDS: u16 = 3;

/// More rows than this scroll before they take room from the other panels.
const MOST_ROWS: usize = 12;

/// From this width on the title has room for the window and a rank's waits.
const LONG: u16 = 100;

/// Rows that it needs: frame, the whole step, lanes, exposed communication, axis, the chosen span.
pub(in crate::ui) fn height(app: &App) -> u16 {
    let rows = app.answer.as_ref().map_or(3, |answer| app.timeline.rows(ShownStep::new(&answer.evaluation)).len());
    u16::try_from(rows.min(MOST_ROWS)).unwrap_or(u16::MAX).saturating_add(5 + WORDS)
}

/// Draws the timeline.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Timeline, &format!("Timeline{}", staleness(app)), "", area, buf);
        return;
    };
    let (timeline, step) = (&app.timeline, ShownStep::new(&answer.evaluation));
    let (from, to) = timeline.window(step).times(step);
    let seen = step.trace.totals(timeline.rank(step), from, to);
    let note = note(app, answer, (from, to), &seen, theme, area.width);
    let mut title = format!("Timeline, step {}", step.time);
    // While the next answer is computed the note stays, for a line that is slow: the other panels say so, too.
    if app.shown.is_err() || has_room(&format!("4 {title}{}", staleness(app)), &note, area) {
        title.push_str(staleness(app));
    }
    let inside = frame(app, theme, Panel::Timeline, &title, &note, area, buf);
    gantt(app, answer, theme, inside, |gantt, _| lanes(app, answer, &seen, theme, gantt, inside, buf));
}

/// The lanes, what is chosen on them, and under them the memory.
fn lanes(app: &App, answer: &Answer, seen: &WindowTotals, theme: Theme, gantt: &Gantt, inside: Rect, buf: &mut Buffer) {
    let (timeline, step) = (&app.timeline, ShownStep::new(&answer.evaluation));
    let (rank, chosen) = (timeline.rank(step), timeline.chosen(step));
    let (from, to) = timeline.window(step).times(step);
    let words = inside.height.saturating_sub(gantt.height()).clamp(1, WORDS);
    let rows = [Constraint::Max(gantt.height()), Constraint::Length(words), Constraint::Fill(1)];
    let [lanes, said, below] = inside.layout(&Layout::vertical(rows));
    gantt.render(lanes, buf);
    let mut lines = match chosen {
        None => Vec::new(),
        Some([span]) if !timeline.shows_ranks(step) => describe(span, answer, (from, to), theme),
        Some(spans) => visit(spans, step, (from, to), theme),
    };
    if chosen.is_none() {
        lines = totals(seen, to - from, said.width);
        // The meaning of the marks comes before bytes that need a second row.
        if lines.len() >= usize::from(said.height) {
            lines.truncate(1);
        }
        lines.extend(hint(app, step, theme));
    }
    draw_lines(buf, said, &lines, theme);
    let plot = gantt.plot(below);
    let axis = plot.x.saturating_sub(below.x);
    draw_memory(answer, theme, rank, (from, to), axis, Rect { width: axis + plot.width, ..below }, buf);
    if below.height >= HELD && axis > 0 {
        buf.set_line(below.x, below.y + 1, &Line::styled("memory", theme.style(Role::Dim)), axis);
    }
}

/// The moment at a place, as a share of the window, and the row, if it is on one.
pub(in crate::ui) fn moment_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<(f64, Option<usize>)> {
    gantt(app, app.answer.as_ref()?, theme, inside, |gantt, visible| {
        let plot = gantt.plot(inside);
        let share = f64::from(at.x.saturating_sub(plot.x)) / f64::from(plot.width.max(2) - 1);
        let row = gantt.track_at(inside, at).and_then(|track| visible.clone().nth(track));
        Some((share, row))
    })
}

/// The lanes as a widget, for as long as it is needed, and the rows that are in sight.
fn gantt<T>(
    app: &App,
    answer: &Answer,
    theme: Theme,
    inside: Rect,
    with: impl FnOnce(&Gantt, &Range<usize>) -> T,
) -> T {
    let (timeline, step) = (&app.timeline, ShownStep::new(&answer.evaluation));
    let (rows, row, rank) = (timeline.rows(step), timeline.row(step), timeline.rank(step));
    let window = timeline.window(step);
    let (from, to) = window.times(step);
    // Beside the lanes: exposed communication, the axis, words; of ranks also what their marks mean.
    let beside = if timeline.shows_ranks(step) { 4 } else { 3 };
    let visible = in_view(row, rows.len(), inside.height.saturating_sub(beside).into());
    // The rank with the keys is the one whose exposed communication is shown.
    let marked = rows.len() > 1 && (app.focus == Panel::Timeline || timeline.shows_ranks(step));
    let tracks: Vec<Track> =
        visible.clone().map(|index| track(answer, timeline, rows[index], marked && index == row)).collect();
    let chosen = timeline.chosen(step);
    let selected = chosen.and_then(|spans| Some((row - visible.start, spans.first()?.start, spans.last()?.end)));
    let lines: Vec<&[evaluate::Span]> = communication(step, rank).collect();
    // Over the whole step it would say what the rows say.
    let overview = window != Window::WHOLE && inside.height > tracks.len() as u16 + beside;
    let gantt = Gantt {
        folded: step.trace.folded_of(rank),
        exposed: Some((step.trace.idle_of(rank), &lines)),
        overview: overview.then_some(step.time),
        selected,
        ..Gantt::new(theme, &tracks, from, to)
    };
    with(&gantt, &visible)
}

/// The window, and what compute of the rank waits for; where there is little room, of several ranks only that.
fn note(
    app: &App,
    answer: &Answer,
    (from, to): (Seconds, Seconds),
    seen: &WindowTotals,
    theme: Theme,
    width: u16,
) -> String {
    let (step, time) = (ShownStep::new(&answer.evaluation), &answer.evaluation.summary.time);
    let window = words::window((from, to), theme);
    if step.trace.ranks() == 1 {
        let exposed = format!("exposed {} of {}", seen.exposed, time.exposed);
        let busy = format!("busy {}", whole_percent(seen.busy / (to - from)));
        return if width < LONG { format!("{window}, {exposed}") } else { format!("{window}: {busy}, {exposed}") };
    }
    let rank = app.timeline.rank(step);
    let [bubble, exposed] =
        [IdleCause::Bubble, IdleCause::Communication].map(|cause| step.trace.stall_time(rank, cause));
    let waits = format!("rank {rank} of {}: bubble {bubble}, exposed {exposed}", step.trace.ranks());
    if width < LONG { waits } else { format!("{window}, {waits}") }
}

/// A row as the widget draws it.
fn track<'a>(answer: &'a Answer, timeline: &Timeline, row: TrackRow, here: bool) -> Track<'a> {
    let step = ShownStep::new(&answer.evaluation);
    let ranks = timeline.shows_ranks(step);
    let compute = row.lane == Stream::Compute;
    Track {
        name: if ranks { format!("rank {}", row.rank) } else { row.lane.name().to_owned() },
        spans: step.trace.spans_on(row.rank, row.lane),
        idle: if compute { step.trace.idle_of(row.rank) } else { &[] },
        form: if ranks { TrackForm::Visits } else { TrackForm::Spans },
        folded: step.trace.folded_of(row.rank),
        turns: answer.scenario.plan.accumulate > 1,
        model: Some(&*answer.scenario.model).filter(|model| model.is_mixed()),
        here,
    }
}

/// The spans of a rank that move bytes, lane by lane.
fn communication(step: ShownStep<'_>, rank: u32) -> impl Iterator<Item = &[evaluate::Span]> {
    let lines = Stream::ALL.into_iter().map(move |lane| step.trace.spans_on(rank, lane));
    lines.filter(|line| line.first().is_some_and(gantt::communicates))
}

/// Memory of the rank over the same window, where there is room to spare.
fn draw_memory(
    answer: &Answer,
    theme: Theme,
    rank: u32,
    (from, to): (Seconds, Seconds),
    axis: u16,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.height < HELD {
        return;
    }
    let (summary, trace) = (&answer.evaluation.summary, &answer.evaluation.trace);
    MemoryLine {
        window: (from, to),
        axis,
        capacity: summary.memory.capacity,
        ..MemoryLine::new(theme, trace.memory_of(rank), summary.step_time)
    }
    .render(area, buf);
}

/// A visit of a stage in words: what, on which layers, when.
fn visit(spans: &[evaluate::Span], step: ShownStep, window: (Seconds, Seconds), theme: Theme) -> Vec<Line<'static>> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Vec::new() };
    let layers = spans.iter().filter(|span| span.activity.part == ModelPart::Layer).map(|span| span.activity.layer);
    let (low, high) = (layers.clone().min(), layers.max());
    let layers = match (low, high) {
        (Some(low), Some(high)) if low < high => format!(", layers {low} to {high}"),
        (Some(low), _) => format!(", layer {low}"),
        _ => String::new(),
    };
    let passes = first.activity.kind.computes_layers();
    let turn = if passes { format!(" of micro-batch {}", first.activity.micro_batch) } else { String::new() };
    let what = format!("{} rank {}: {}{turn}{layers}", theme.glyphs().pinned, first.rank, first.activity.kind.name());
    let when = format!(": {}, at {}", last.end - first.start, words::moment(first.start, window));
    let before = step.trace.idle_of(first.rank).iter().rfind(|idle| idle.end <= first.start);
    let waited = before.filter(|idle| idle.end == first.start && idle.cause == IdleCause::Bubble);
    let mut lines = vec![Line::from(vec![
        Span::styled(what, theme.style(Role::Title)),
        Span::styled(when, theme.style(Role::Text)),
    ])];
    lines.extend(waited.map(|idle| Line::raw(format!("  it waited {} for another rank", idle.end - idle.start))));
    lines
}

/// A span in words: what and when; bytes, level and rates, for a transfer; what waits for it.
fn describe(span: &evaluate::Span, answer: &Answer, window: (Seconds, Seconds), theme: Theme) -> Vec<Line<'static>> {
    let time = span.end - span.start;
    let turn = match span.micro_batches(&answer.scenario, &answer.evaluation.details.layout) {
        _ if answer.scenario.plan.accumulate == 1 => String::new(),
        SpanMicroBatches::One(micro_batch) => format!(", micro-batch {micro_batch}"),
        SpanMicroBatches::All => ", all micro-batches".to_owned(),
        SpanMicroBatches::Unsaid => String::new(),
    };
    let what = format!("{} {}{turn}", theme.glyphs().pinned, words::activity(span.activity, &answer.scenario.model));
    let slowed = if span.alone < time * 0.999 { format!(", {} if alone", span.alone) } else { String::new() };
    let when = format!(": {time}{slowed}, at {}", words::moment(span.start, window));
    let mut lines = vec![Line::from(vec![
        Span::styled(what, theme.style(Role::Title)),
        Span::styled(when, theme.style(Role::Text)),
    ])];
    lines.extend(transfer(span, answer).map(Line::raw));
    lines.extend(fullest(span, answer, theme));
    let trace = &answer.evaluation.trace;
    let meant = [waited(span, trace, theme), used(span, answer, window).map(Span::raw)];
    for (index, part) in meant.into_iter().flatten().enumerate() {
        let between = Span::raw(if index == 0 { "  " } else { "; " });
        match lines.last_mut().filter(|_| index > 0) {
            Some(line) => line.extend([between, part]),
            None => lines.push(Line::from(vec![between, part])),
        }
    }
    lines
}

/// Bytes and rate of a transfer, and the rate that its level has: `148 MiB over package at 51.8 GB/s, 72.1 GB/s if alone`.
fn transfer(span: &evaluate::Span, answer: &Answer) -> Option<String> {
    if span.bytes <= Bytes::ZERO {
        return None;
    }
    let time = span.end - span.start;
    let level = span.level.and_then(|level| answer.scenario.cluster.levels.get(usize::from(level)));
    let over = level.map_or_else(String::new, |level| format!(" over {}", level.name));
    let alone =
        if span.alone < time * 0.999 { format!(", {} if alone", span.bytes / span.alone) } else { String::new() };
    let port = level.map_or_else(String::new, |level| format!(", of {} a device", level.bandwidth));
    Some(format!("  {}{over} at {}{alone}{port}", span.bytes, span.bytes / time))
}

/// The task that a transfer is for, the time before or after it first: `used 12 ms later by forward, layer 22, at 1.21 s`.
fn used(span: &evaluate::Span, answer: &Answer, window: (Seconds, Seconds)) -> Option<String> {
    let trace = &answer.evaluation.trace;
    let other = &trace.spans[counterpart(trace, span)?];
    let (what, at) = (words::activity(other.activity, &answer.scenario.model), words::moment(other.start, window));
    Some(match span.lane {
        Stream::Gather if other.start > span.end => format!("used {} later by {what}, at {at}", other.start - span.end),
        Stream::Gather => format!("used by {what}, at {at}"),
        Stream::Reduce | Stream::Replicas if span.start > other.end => {
            format!("{} after {what}", span.start - other.end)
        }
        Stream::Reduce | Stream::Replicas => format!("of {what}"),
        _ => format!("needs {what}, issued {} before", span.start - other.start),
    })
}

/// That the memory is fullest while it runs.
fn fullest(span: &evaluate::Span, answer: &Answer, theme: Theme) -> Option<Line<'static>> {
    let memory = answer.evaluation.stages.get(span.rank as usize)?;
    let here = span.lane == Stream::Compute && (span.start..=span.end).contains(&memory.moment);
    let text = || format!("  {} the memory's peak: {} at {}", theme.glyphs().peak, memory.peak, memory.moment);
    here.then(|| Line::styled(text(), theme.style(Role::Accent)))
}

/// The totals of the window, on rows of whole parts: `busy 88.1 ms 88 %, exposed 12.1 ms, gather 6.90 GiB`.
fn totals(totals: &WindowTotals, time: Seconds, width: u16) -> Vec<Line<'static>> {
    let share = |part: Seconds| format!("{part} {}", whole_percent(part / time));
    let mut parts = vec![format!("busy {}", share(totals.busy)), format!("exposed {}", share(totals.exposed))];
    if totals.bubble > Seconds::ZERO {
        parts.push(format!("bubble {}", share(totals.bubble)));
    }
    parts.extend(totals.moved.iter().map(|(lane, bytes)| format!("{} {bytes}", lane.name())));
    let mut rows: Vec<String> = Vec::new();
    for part in parts {
        match rows.last_mut() {
            Some(row) if Span::raw(row.as_str()).width() + 2 + part.len() <= usize::from(width) => {
                row.push_str(", ");
                row.push_str(&part);
            }
            _ => rows.push(part),
        }
    }
    rows.into_iter().map(Line::raw).collect()
}

/// How long compute stalls for a transfer while this one runs.
fn waited(span: &evaluate::Span, trace: &Trace, theme: Theme) -> Option<Span<'static>> {
    if span.bytes <= Bytes::ZERO {
        return None;
    }
    if !span.exposed {
        return Some(Span::styled("hidden", theme.style(Role::Dim)));
    }
    let exposed = trace.idle_of(span.rank).iter().filter(|idle| idle.cause == IdleCause::Communication);
    let waits: Seconds =
        exposed.map(|idle| (idle.end.min(span.end) - idle.start.max(span.start)).max(Seconds::ZERO)).sum();
    Some(Span::styled(format!("exposed: compute waits {waits}"), theme.style(Role::Bad)))
}

/// The meaning of the marks and of the keys.
fn hint(app: &App, step: ShownStep, theme: Theme) -> Vec<Line<'static>> {
    let glyphs = theme.glyphs();
    let here = app.focus == Panel::Timeline;
    let (marks, keys) = if app.timeline.shows_ranks(step) {
        let [forward, both, backward, _] = glyphs.fills;
        let marks = format!(
            "{forward} forward  {backward} backward  {both} both  {} bubble  {} communication  0 1 2 micro-batches",
            glyphs.bubble, glyphs.exposed
        );
        (marks, "up and down choose a rank, left and right a visit, Enter shows its lanes")
    } else {
        let marks = format!(
            "{} compute waits for transfers   {} transfers hidden by compute   {} bubble",
            glyphs.exposed, glyphs.hidden, glyphs.bubble
        );
        (marks, "left and right choose a span, + and - zoom")
    };
    [marks.as_str(), if here { keys } else { "" }]
        .map(|text| Line::styled(text.to_owned(), theme.style(Role::Dim)))
        .into()
}
