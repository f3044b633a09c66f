//! Which part of the step the timeline shows, and which span is chosen in it.

use crate::evaluate::{IdleCause, Lane, Span, Trace};
use crate::units::Seconds;

/// Compute spans that the first window shows.
const FIRST_WINDOW: f64 = 8.0;

/// The narrowest window, as a share of the step.
const NARROWEST: f64 = 1e-6;

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
    fn around(middle: f64, width: f64) -> Self {
        let width = width.clamp(NARROWEST, 1.0);
        Self { start: (middle - width / 2.0).clamp(0.0, 1.0 - width), width }
    }

    fn middle(self) -> f64 {
        self.start + self.width / 2.0
    }

    fn holds(self, moment: f64) -> bool {
        (self.start..=self.start + self.width).contains(&moment)
    }
}

/// What the timeline shows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timeline {
    /// The window that the user chose; without one, a window that is worth looking at.
    window: Option<Window>,
    /// The lane that has the keys, in the order of the trace's lanes.
    lane: usize,
    /// The chosen span, by its place in the trace.
    pub chosen: Option<usize>,
}

impl Timeline {
    /// The window on a step.
    pub fn window(&self, trace: &Trace, step: Seconds) -> Window {
        self.window.unwrap_or_else(|| first_window(trace, step))
    }

    /// The lane that has the keys.
    pub fn lane(&self, trace: &Trace) -> Option<Lane> {
        let lanes = lanes(trace);
        lanes.get(self.lane.min(lanes.len().saturating_sub(1))).copied()
    }

    /// Another trace: spans have other places in it.
    pub fn renew(&mut self) {
        self.chosen = None;
    }

    /// Closer (above 1) or further out, around the chosen span if it is in sight.
    pub fn zoom(&mut self, factor: f64, trace: &Trace, step: Seconds) {
        let now = self.window(trace, step);
        let chosen = self.span(trace).map(|span| middle(span, step)).filter(|moment| now.holds(*moment));
        self.window = Some(Window::around(chosen.unwrap_or(now.middle()), now.width / factor));
    }

    /// On (above 0) or back, by shares of the window.
    pub fn pan(&mut self, windows: f64, trace: &Trace, step: Seconds) {
        let now = self.window(trace, step);
        self.window = Some(Window::around(now.middle() + windows * now.width, now.width));
    }

    /// The whole step; the first window again if that is what it shows.
    pub fn toggle_whole(&mut self) {
        self.window = if self.window == Some(Window::WHOLE) { None } else { Some(Window::WHOLE) };
    }

    /// Another lane; the chosen span becomes the one of that lane at the same time.
    pub fn change_lane(&mut self, by: isize, trace: &Trace, step: Seconds) {
        let last = lanes(trace).len().saturating_sub(1);
        let moment = self.span(trace).map_or_else(|| self.window(trace, step).middle(), |span| middle(span, step));
        self.lane = self.lane.min(last).saturating_add_signed(by).min(last);
        self.chosen = self.nearest(moment, trace, step);
    }

    /// The next span of the lane, or the one before; the window follows.
    pub fn next_span(&mut self, forward: bool, trace: &Trace, step: Seconds) {
        let Some(lane) = self.lane(trace) else { return };
        let on_lane = |index: &usize| trace.spans[*index].lane == lane;
        let next = match self.chosen {
            None => self.nearest(self.window(trace, step).middle(), trace, step),
            Some(at) if forward => (at + 1..trace.spans.len()).find(on_lane),
            Some(at) => (0..at.min(trace.spans.len())).rev().find(on_lane),
        };
        self.choose(next, trace, step);
    }

    /// The first or last span of the lane.
    pub fn end_span(&mut self, last: bool, trace: &Trace, step: Seconds) {
        let Some(lane) = self.lane(trace) else { return };
        let mut on_lane = (0..trace.spans.len()).filter(|index| trace.spans[*index].lane == lane);
        let end = if last { on_lane.next_back() } else { on_lane.next() };
        self.choose(end, trace, step);
    }

    /// The chosen span.
    pub fn span<'a>(&self, trace: &'a Trace) -> Option<&'a Span> {
        trace.spans.get(self.chosen?)
    }

    fn choose(&mut self, span: Option<usize>, trace: &Trace, step: Seconds) {
        let Some(index) = span else { return };
        let now = self.window(trace, step);
        let moment = middle(&trace.spans[index], step);
        self.chosen = span;
        if !now.holds(moment) {
            self.window = Some(Window::around(moment, now.width));
        }
    }

    fn nearest(&self, moment: f64, trace: &Trace, step: Seconds) -> Option<usize> {
        let lane = self.lane(trace)?;
        let distance = |index: &usize| (middle(&trace.spans[*index], step) - moment).abs();
        let on_lane = (0..trace.spans.len()).filter(|index| trace.spans[*index].lane == lane);
        on_lane.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// The lanes on which anything runs, in the order in which they are drawn.
pub fn lanes(trace: &Trace) -> Vec<Lane> {
    Lane::ALL.into_iter().filter(|lane| trace.spans.iter().any(|span| span.lane == *lane)).collect()
}

/// A few layers around the longest wait for a transfer, all of it in sight, or in the middle of the step.
fn first_window(trace: &Trace, step: Seconds) -> Window {
    let compute: Vec<f64> = trace
        .spans
        .iter()
        .filter(|span| span.lane == Lane::Compute)
        .map(|span| (span.end - span.start).get())
        .collect();
    if compute.is_empty() || step.get() <= 0.0 {
        return Window::WHOLE;
    }
    let mean = compute.iter().sum::<f64>() / compute.len() as f64;
    let waits = trace.idle.iter().filter(|idle| idle.cause == IdleCause::Communication);
    let longest = waits.max_by(|a, b| (a.end - a.start).get().total_cmp(&(b.end - b.start).get()));
    let middle = longest.map_or(0.5, |idle| (idle.start + idle.end) / 2.0 / step);
    let wait = longest.map_or(0.0, |idle| (idle.end - idle.start) / step);
    Window::around(middle, (FIRST_WINDOW * mean / step.get()).max(2.0 * wait))
}

fn middle(span: &Span, step: Seconds) -> f64 {
    (span.start + span.end) / 2.0 / step
}
