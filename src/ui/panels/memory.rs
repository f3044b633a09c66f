//! The parts of the memory of the fullest device, or of each pipeline rank, and memory over the step.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::widgets::Widget;

use super::{frame, staleness, words};
use crate::app::timeline::ShownStep;
use crate::app::{Answer, App, Panel};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::in_view;
use crate::ui::widgets::{MemoryLine, StackedBar};
use shardscope_engine::evaluate::Memory;
use shardscope_engine::units::Bytes;

/// Rows over time that are worth their place, and the fewest that say anything.
const LINE: u16 = 8;
const SHORT_LINE: u16 = 3;

/// Columns of the axis beside the line.
const AXIS: u16 = 9;

/// Rows of the legend, which may be shorter: what is under it stays where it is while the figures change.
const LEGEND: u16 = 2;

/// More pipeline ranks than this scroll before they take room from the other panels.
const MOST_BARS: usize = 8;

/// Rows that it can use: frame, bars, sizes under them, legend, line over time, peak.
pub(in crate::ui) fn height(app: &App) -> u16 {
    let bars = app.answer.as_ref().map_or(1, |answer| answer.evaluation.stages.len().min(MOST_BARS));
    rows(bars) + LEGEND + LINE + 4
}

/// Draws the memory.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Memory per device, GiB{}", staleness(app));
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Memory, &title, "", area, buf);
        return;
    };
    let (step, memory) = (ShownStep::new(&answer.evaluation), &answer.evaluation.summary.memory);
    let on = if step.trace.ranks() > 1 { format!(" on rank {}", step.fullest) } else { String::new() };
    let note = format!("peak {}{on} at {}", memory.peak, words::activity(memory.during, &answer.scenario.model));
    let inside = frame(app, theme, Panel::Memory, &title, &note, area, buf);
    let rank = app.timeline.rank(step);
    let [bars, scale, legend, line] = layout(answer, inside);
    ranks(app, answer, theme, bars, buf);
    if !scale.is_empty() {
        let rank = step.fullest as usize;
        let (most, name) = (fullest(answer), name(answer, theme, rank, " "));
        let bar = StackedBar { name: &name, scale: Some(most), ..bar(stage(answer, step.fullest), theme) };
        bar.draw_scale(scale, buf);
    }
    let parts = bar(stage(answer, rank), theme);
    if legend.height > LEGEND {
        parts.draw_parts(legend, buf);
    } else {
        parts.draw_legend(legend, buf);
    }
    MemoryLine {
        capacity: memory.capacity,
        axis: AXIS,
        ..MemoryLine::new(theme, step.trace.memory_of(rank), step.time)
    }
    .render(line, buf);
}

/// The pipeline rank at a place.
pub(in crate::ui) fn rank_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let answer = app.answer.as_ref().filter(|answer| answer.evaluation.stages.len() > 1)?;
    let rank = app.timeline.rank(ShownStep::new(&answer.evaluation));
    let [bars, ..] = layout(answer, inside);
    let mut seen = in_view(rank as usize, answer.evaluation.stages.len(), bars.height.into());
    bars.contains(at).then(|| seen.nth(usize::from(at.y - bars.y))).flatten()
}

/// One bar per rank, the sizes under them, the legend of the one with the keys, and the rest for the line; no line before
/// all bars are seen, and no sizes before the line has rows enough for an axis.
fn layout(answer: &Answer, area: Rect) -> [Rect; 4] {
    let room = area.height.saturating_sub(LEGEND).max(1);
    let bars = rows(answer.evaluation.stages.len()).min(room);
    // All ranks in sight say more than a line too low to read.
    let bars = if room - bars < SHORT_LINE && answer.evaluation.stages.len() > 1 { room } else { bars };
    let scale = u16::from(room - bars > SHORT_LINE + 2);
    // A row for each part, where that leaves the line its rows or there are no rows for a line.
    let parts = StackedBar::new(
        Theme::default(),
        answer.evaluation.summary.memory.parts,
        answer.evaluation.summary.memory.capacity,
    )
    .parts_height(area.width);
    let left = area.height.saturating_sub(bars + scale);
    let legend = if parts > LEGEND && left >= parts { parts } else { LEGEND };
    let rows = [bars, scale, legend].map(Constraint::Length);
    area.layout(&Layout::vertical(rows.into_iter().chain([Constraint::Fill(1)])))
}

/// The bars: the fullest marked, and the one with the keys in sight.
fn ranks(app: &App, answer: &Answer, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (step, stages) = (ShownStep::new(&answer.evaluation), &answer.evaluation.stages);
    let (rank, glyphs, scale) = (app.timeline.rank(step), theme.glyphs(), fullest(answer));
    let visible = in_view(rank as usize, stages.len(), area.height.into());
    let (first, last) = (visible.start, visible.end.saturating_sub(1));
    for (index, row) in visible.zip(area.rows()) {
        let here = match index {
            index if index == rank as usize => glyphs.pinned,
            index if index == first && first > 0 => glyphs.more[2],
            index if index == last && last + 1 < stages.len() => glyphs.more[3],
            _ => " ",
        };
        let name = name(answer, theme, index, here);
        StackedBar { name: &name, scale: Some(scale), legend: false, ..bar(&stages[index], theme) }.render(row, buf);
    }
}

/// The largest peak of any rank.
fn fullest(answer: &Answer) -> Bytes {
    answer.evaluation.stages.iter().map(|stage| stage.peak).fold(Bytes::ZERO, Bytes::max)
}

/// The label before a rank's bar, where there are several: a mark, its number, and whether it is the fullest.
fn name(answer: &Answer, theme: Theme, index: usize, here: &str) -> String {
    let ranks = answer.evaluation.stages.len();
    let digits = ranks.saturating_sub(1).to_string().len();
    let fullest = index == ShownStep::new(&answer.evaluation).fullest as usize;
    let peak = if fullest { theme.glyphs().peak } else { " " };
    if ranks > 1 { format!("{here}rank {index:<digits$} {peak}") } else { String::new() }
}

fn bar<'a>(memory: &Memory, theme: Theme) -> StackedBar<'a> {
    StackedBar::new(theme, memory.parts, memory.capacity)
}

fn stage(answer: &Answer, rank: u32) -> &Memory {
    answer.evaluation.stages.get(rank as usize).unwrap_or(&answer.evaluation.summary.memory)
}

fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
