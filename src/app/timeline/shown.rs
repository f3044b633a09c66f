//! Which rows and which part of the step the timeline shows, and what is chosen on it.

use std::ops::Range;

use shardscope_engine::evaluate::{Evaluation, IdleCause, Span, Stream, Summary, TaskKind, Trace};
use shardscope_engine::units::Seconds;

use crate::app::action::Action;

/// Compute spans that the first window on one rank shows.
const FIRST_WINDOW: f64 = 8.0;

/// The narrowest window, as a share of the step.
const NARROWEST: f64 = 1e-6;

/// How much one key zooms.
const ZOOM: f64 = 2.0;

/// How much of the window one key pans.
const PAN: f64 = 0.8;

/// A window on the step, as shares of it, so that it stays where it is when the step's length changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Where it begins, 0 to 1.
    pub start: f64,
    /// How wide it is, 0 to 1.
    pub width: f64,
}

impl Window {
    /// The whole step.
    pub const WHOLE: Self = Self { start: 0.0, width: 1.0 };

    /// A window of some width around a moment, inside the step.
    pub(super) fn around(middle: f64, width: f64) -> Self {
        let width = width.clamp(NARROWEST, 1.0);
        Self { start: (middle - width / 2.0).clamp(0.0, 1.0 - width), width }
    }

    /// Where it begins and ends on a step.
    pub fn times(self, step: ShownStep) -> (Seconds, Seconds) {
        (self.start * step.time, (self.start + self.width) * step.time)
    }

    pub(super) fn middle(self) -> f64 {
        self.start + self.width / 2.0
    }

    pub(super) fn holds(self, moment: f64) -> bool {
        (self.start..=self.start + self.width).contains(&moment)
    }
}

/// A step as it runs: what the timeline is of.
#[derive(Debug, Clone, Copy)]
pub struct ShownStep<'a> {
    /// The tasks over time.
    pub trace: &'a Trace,
    /// How long it takes.
    pub time: Seconds,
    /// The pipeline rank with the highest peak of memory.
    pub fullest: u32,
    /// The pipeline rank that ends last.
    last: u32,
}

impl<'a> ShownStep<'a> {
    /// The step of an evaluation, with the memory of its stages.
    pub fn new(evaluation: &'a Evaluation) -> Self {
        let stages = evaluation.stages.iter().zip(0..);
        let fuller = stages.reduce(|best, next| if next.0.peak > best.0.peak { next } else { best });
        let fullest = fuller.map_or(0, |(_, rank)| rank);
        let Summary { step_time: time, last_rank: last, .. } = evaluation.summary;
        Self { trace: &evaluation.trace, time, fullest, last }
    }

    pub(super) fn middle(self, span: &Span) -> f64 {
        (span.start + span.end) / 2.0 / self.time
    }
}

/// One row: a lane of a pipeline rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackRow {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Its lane; the compute lane stands for a rank that is drawn as one row.
    pub lane: Stream,
}

/// The rows of the timeline: compute of all pipeline ranks, or all lanes of one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timeline {
    /// The window that the user chose; without one, a window that is worth looking at.
    pub(super) window: Option<Window>,
    /// The pipeline rank that the user chose; without one, that which ends last: the parts of the step are its own.
    pub(super) rank: Option<u32>,
    /// Whether the rows are the lanes of that rank where there are several ranks.
    pub(super) opened: bool,
    /// The lane that has the keys, in the order of the rank's lanes.
    pub(super) lane: usize,
    /// The chosen span, by its place in the trace.
    pub(super) chosen: Option<usize>,
}

impl Timeline {
    /// The pipeline rank that has the keys.
    pub fn rank(&self, step: ShownStep) -> u32 {
        self.rank.unwrap_or(step.last).min(step.trace.ranks().saturating_sub(1))
    }

    /// Whether each row is a pipeline rank.
    pub fn shows_ranks(&self, step: ShownStep) -> bool {
        step.trace.ranks() > 1 && !self.opened
    }

    /// The rows, from above.
    pub fn rows(&self, step: ShownStep) -> Vec<TrackRow> {
        if self.shows_ranks(step) {
            return (0..step.trace.ranks()).map(|rank| TrackRow { rank, lane: Stream::Compute }).collect();
        }
        let rank = self.rank(step);
        let used = Stream::ALL.into_iter().filter(|lane| !step.trace.line(rank, *lane).is_empty());
        used.map(|lane| TrackRow { rank, lane }).collect()
    }

    /// The row that has the keys.
    pub fn row(&self, step: ShownStep) -> usize {
        // Another plan may have fewer ranks or lanes than the cursor's place.
        let last = self.rows(step).len().saturating_sub(1);
        let row = if self.shows_ranks(step) { self.rank(step) as usize } else { self.lane };
        row.min(last)
    }

    /// The window on a step.
    pub fn window(&self, step: ShownStep) -> Window {
        self.window
            .unwrap_or_else(|| if self.shows_ranks(step) { Window::WHOLE } else { first_window(step, self.rank(step)) })
    }

    /// The chosen spans: one, or on a row of a rank all of a visit.
    pub fn chosen<'a>(&self, step: ShownStep<'a>) -> Option<&'a [Span]> {
        let at = self.chosen?;
        let range = if self.shows_ranks(step) { visit(step.trace, at) } else { at..at + 1 };
        step.trace.spans.get(range).filter(|spans| !spans.is_empty())
    }

    /// Another trace: spans have other places in it.
    pub fn renew(&mut self) {
        self.chosen = None;
    }

    /// Does what the user asked for.
    pub(super) fn go(&mut self, action: Action, step: ShownStep) {
        match action {
            Action::Left => self.next_span(false, step),
            Action::Right => self.next_span(true, step),
            Action::Up => self.change_row(-1, step),
            Action::Down => self.change_row(1, step),
            Action::First => self.end_span(false, step),
            Action::Last => self.end_span(true, step),
            Action::More => self.zoom(ZOOM, step),
            Action::Less => self.zoom(1.0 / ZOOM, step),
            Action::PageUp => self.pan(-PAN, step),
            Action::PageDown => self.pan(PAN, step),
            Action::Whole => self.toggle_whole(),
            Action::Take => self.fold(step),
            _ => {}
        }
    }

    /// Another pipeline rank gets the keys.
    pub fn change_rank(&mut self, by: isize, step: ShownStep) {
        let last = step.trace.ranks().saturating_sub(1) as usize;
        let rank = (self.rank(step) as usize).saturating_add_signed(by).min(last);
        self.rank = Some(rank as u32);
    }

    /// All ranks, or the lanes of the one that has the keys, the chosen span in sight.
    pub(super) fn fold(&mut self, step: ShownStep) {
        if step.trace.ranks() > 1 {
            self.opened = !self.opened;
            self.rank = Some(self.rank(step));
            self.lane = 0;
            let on_row = |index: &usize| step.trace.spans.get(*index).is_some_and(|span| span.lane == Stream::Compute);
            self.choose(self.chosen.filter(on_row).map(|at| visit(step.trace, at).start), step);
        }
    }

    /// Closer (above 1) or further out, around what is chosen if it is in sight.
    pub(super) fn zoom(&mut self, factor: f64, step: ShownStep) {
        let now = self.window(step);
        let chosen = self.moment(step).filter(|moment| now.holds(*moment));
        self.window = Some(Window::around(chosen.unwrap_or(now.middle()), now.width / factor));
    }

    /// On (above 0) or back, by shares of the window.
    pub(crate) fn pan(&mut self, windows: f64, step: ShownStep) {
        let now = self.window(step);
        self.window = Some(Window::around(now.middle() + windows * now.width, now.width));
    }

    /// Chooses what a row runs at a moment, a share of the window; of the present row where none is given.
    pub(crate) fn choose_at(&mut self, share: f64, row: Option<usize>, step: ShownStep) {
        if let Some(row) = row {
            self.change_row(row.cast_signed() - self.row(step).cast_signed(), step);
        }
        let now = self.window(step);
        self.chosen = self.nearest(now.start + share * now.width, step).or(self.chosen);
    }

    /// The whole step; the first window again if that is what it shows.
    pub(super) fn toggle_whole(&mut self) {
        self.window = if self.window == Some(Window::WHOLE) { None } else { Some(Window::WHOLE) };
    }

    /// Another row; what is chosen becomes what it runs at the same time.
    pub(super) fn change_row(&mut self, by: isize, step: ShownStep) {
        // To another row at the same moment: there the span nearest to the one that was chosen.
        let moment = self.moment(step).unwrap_or_else(|| self.window(step).middle());
        if self.shows_ranks(step) {
            self.change_rank(by, step);
        } else {
            let last = self.rows(step).len().saturating_sub(1);
            self.lane = self.row(step).saturating_add_signed(by).min(last);
        }
        self.chosen = self.nearest(moment, step);
    }

    /// Chooses the row's next or previous span; the window follows.
    pub(super) fn next_span(&mut self, forward: bool, step: ShownStep) {
        let line = self.line(step);
        let counts = |index: &usize| self.counts(&step.trace.spans[*index], step);
        let next = match self.chosen.filter(|index| line.contains(index)) {
            None => self.nearest(self.window(step).middle(), step),
            Some(at) => {
                // Where each rank is one row, a step is a whole visit: a stage's layers for one micro-batch, drawn as
                // one bar.
                let here = if self.shows_ranks(step) { visit(step.trace, at) } else { at..at + 1 };
                if forward { (here.end..line.end).find(counts) } else { (line.start..here.start).rev().find(counts) }
            }
        };
        self.choose(next, step);
    }

    /// The first or last span of the row.
    pub(super) fn end_span(&mut self, last: bool, step: ShownStep) {
        let mut line = self.line(step).filter(|index| self.counts(&step.trace.spans[*index], step));
        let end = if last { line.next_back() } else { line.next() };
        self.choose(end, step);
    }

    /// Whether a span can be seen on its row; a fixed cost of the host is no visit of a stage.
    pub(super) fn counts(&self, span: &Span, step: ShownStep) -> bool {
        span.end > span.start && !(self.shows_ranks(step) && span.activity.kind == TaskKind::Host)
    }

    pub(super) fn choose(&mut self, span: Option<usize>, step: ShownStep) {
        let Some(index) = span else { return };
        self.chosen = Some(index);
        // The window moves only where the chosen span would be out of sight, and keeps its width.
        let now = self.window(step);
        if let Some(moment) = self.moment(step).filter(|moment| !now.holds(*moment)) {
            self.window = Some(Window::around(moment, now.width));
        }
    }

    /// The middle of what is chosen.
    pub(super) fn moment(&self, step: ShownStep) -> Option<f64> {
        let (first, last) = self.chosen(step).and_then(|spans| Some((spans.first()?, spans.last()?)))?;
        Some(f64::midpoint(step.middle(first), step.middle(last)))
    }

    /// Where in the trace the spans of the row with the keys are.
    pub(super) fn line(&self, step: ShownStep) -> Range<usize> {
        let row = self.rows(step).get(self.row(step)).copied();
        row.map_or(0..0, |row| step.trace.line(row.rank, row.lane))
    }

    /// The span of the row that is closest to a moment.
    pub(super) fn nearest(&self, moment: f64, step: ShownStep) -> Option<usize> {
        let (line, spans) = (self.line(step), &step.trace.spans);
        // Spans of a lane follow one another, so that their middles are sorted: the nearest is the last before or the
        // first after.
        let after = line.start + spans[line.clone()].partition_point(|span| step.middle(span) < moment);
        let counts = |index: &usize| self.counts(&spans[*index], step);
        let (before, after) = ((line.start..after).rev().find(counts), (after..line.end).find(counts));
        let distance = |index: &usize| (step.middle(&spans[*index]) - moment).abs();
        before.into_iter().chain(after).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// The spans of the visit that a span belongs to.
fn visit(trace: &Trace, at: usize) -> Range<usize> {
    let Some(span) = trace.spans.get(at) else { return 0..0 };
    let line = trace.line(span.rank, span.lane);
    let leads = |index: &usize| trace.spans[*index].leads_to(&trace.spans[*index + 1]);
    let from = (line.start..at).rev().take_while(leads).last().unwrap_or(at);
    let to = (at..line.end.saturating_sub(1)).take_while(leads).last().map_or(at, |index| index + 1);
    from..to + 1
}

/// A few layers around a rank's longest wait for a transfer, all of it in sight, or in the middle of the step.
fn first_window(step: ShownStep, rank: u32) -> Window {
    let compute = step.trace.spans_on(rank, Stream::Compute);
    if compute.is_empty() || step.time.get() <= 0.0 {
        return Window::WHOLE;
    }
    // The longest wait is what one looks for: it is shown with as much again around it, so that what it waits for is in
    // sight.
    let mean = compute.iter().map(|span| (span.end - span.start).get()).sum::<f64>() / compute.len() as f64;
    let waits = step.trace.idle_of(rank).iter().filter(|idle| idle.cause == IdleCause::Communication);
    let longest = waits.max_by(|a, b| (a.end - a.start).get().total_cmp(&(b.end - b.start).get()));
    let middle = longest.map_or(0.5, |idle| (idle.start + idle.end) / 2.0 / step.time);
    let wait = longest.map_or(0.0, |idle| (idle.end - idle.start) / step.time);
    Window::around(middle, (FIRST_WINDOW * mean / step.time.get()).max(2.0 * wait))
}
