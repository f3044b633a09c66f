//! Where the timeline goes when asked for a thing and not for a way: a layer, what a gather is for, the next wait for a
//! transfer, the peak of the memory.

use shardscope_engine::evaluate::{Activity, IdleCause, ModelPart, Span, Stream, Trace};
use shardscope_engine::units::Seconds;

use super::shown::{ShownStep, Timeline, Window};

/// Room around what is shown, as a share of it.
const MARGIN: f64 = 0.1;

/// The counterpart of a span: what uses a gather, what was gathered for compute, what made the gradients that are
/// reduced. Its place in the trace.
pub fn counterpart(trace: &Trace, span: &Span) -> Option<usize> {
    // Streams run in order, so that the nearest of the same unit is the one: a gather serves the first compute after
    // it, a reduction sums the last backward before it.
    let same = |index: &usize| is_of(trace.spans[*index].activity, span.activity);
    let compute = trace.line(span.rank, Stream::Compute);
    match (span.lane, span.activity.kind) {
        (Stream::Gather, _) => compute.into_iter().filter(same).find(|index| trace.spans[*index].start >= span.end),
        (Stream::Reduce | Stream::Replicas, _) => {
            let made = |index: &usize| {
                let one = &trace.spans[*index];
                one.activity.kind.is_backward() && one.end <= span.start
            };
            compute.rev().filter(same).find(made)
        }
        (Stream::Compute, kind) if kind.computes_layers() => {
            trace.line(span.rank, Stream::Gather).rev().filter(same).find(|index| trace.spans[*index].end <= span.start)
        }
        _ => None,
    }
}

/// Whether two activities are of one unit: the same layer or part of it.
fn is_of(one: Activity, other: Activity) -> bool {
    let layered =
        |part: ModelPart| matches!(part, ModelPart::Layer | ModelPart::Attention | ModelPart::Mlp | ModelPart::Experts);
    // Attention and MLP are parts of their layer: a gather may be of a half where compute is of the whole.
    let parts = one.part == other.part || [one.part, other.part].contains(&ModelPart::Layer);
    if layered(one.part) && layered(other.part) { one.layer == other.layer && parts } else { one.part == other.part }
}

impl Timeline {
    /// The layer of what is chosen, or of what runs in the middle of the window, fills the window: its compute in that
    /// direction and micro-batch, and the gather that it needs. Says whether there is one.
    pub fn to_layer(&mut self, step: ShownStep) -> bool {
        let trace = step.trace;
        let Some(here) = self.computes(step) else { return false };
        let wanted = trace.spans[here].activity;
        let same = |index: &usize| {
            let one = trace.spans[*index].activity;
            (one.kind, one.micro_batch) == (wanted.kind, wanted.micro_batch) && is_of(one, wanted)
        };
        let line = trace.line(trace.spans[here].rank, Stream::Compute);
        // A layer may be several spans: collectives of tensor parallelism stand between its halves.
        let first = (line.start..=here).rev().take_while(same).last().unwrap_or(here);
        let last = (here..line.end).take_while(same).last().unwrap_or(here);
        let gather = counterpart(trace, &trace.spans[first]).map(|index| &trace.spans[index]);
        // One that came long before would make the layer small.
        let start = trace.spans[first].start;
        let length = trace.spans[last].end - start;
        let near = gather.map(|gather| gather.start).filter(|issued| start - *issued <= length);
        self.open_lanes(step);
        self.show(near.unwrap_or(start), trace.spans[last].end, step);
        true
    }

    /// The counterpart of what is chosen is chosen, both in sight. Says whether there is one.
    pub fn follow(&mut self, step: ShownStep) -> bool {
        let from = self.chosen(step).and_then(|spans| spans.first()).copied();
        let Some(from) = from.or_else(|| self.computes(step).map(|index| step.trace.spans[index])) else {
            return false;
        };
        let Some(to) = counterpart(step.trace, &from) else { return false };
        let span = step.trace.spans[to];
        self.open_lanes(step);
        self.take_span(to, step);
        self.show(from.start.min(span.start), from.end.max(span.end), step);
        true
    }

    /// The next stretch in which compute waits for a transfer, or the one before, is in the middle, the transfer chosen.
    /// Says whether there is one.
    pub fn to_exposed(&mut self, forward: bool, step: ShownStep) -> bool {
        let (trace, rank) = (step.trace, self.rank(step));
        let middle = {
            let now = self.window(step);
            now.middle() * step.time
        };
        let chosen = self.chosen(step).and_then(|spans| Some((spans.first()?.start, spans.last()?.end)));
        // From the ends of the chosen span on, so that the key pressed again goes on to the next wait.
        let (before, after) = chosen.unwrap_or((middle, middle));
        let mut waits = trace.idle_of(rank).iter().filter(|idle| idle.cause == IdleCause::Communication);
        let found =
            if forward { waits.find(|idle| idle.start >= after) } else { waits.rfind(|idle| idle.end <= before) };
        let Some(idle) = found else { return false };
        let blames = |index: &usize| {
            let one = &trace.spans[*index];
            one.exposed && one.start < idle.end && one.end > idle.start
        };
        let lines =
            Stream::ALL.into_iter().filter(|lane| *lane != Stream::Compute).flat_map(|lane| trace.line(rank, lane));
        let width = self.window(step).width;
        self.open_lanes(step);
        match lines
            .into_iter()
            .filter(blames)
            .max_by(|a, b| trace.spans[*a].end.get().total_cmp(&trace.spans[*b].end.get()))
        {
            Some(span) => self.take_span(span, step),
            None => self.chosen = None,
        }
        let wide = width.max(2.0 * ((idle.end - idle.start) / step.time));
        self.window = Some(Window::around((idle.start + idle.end) / 2.0 / step.time, wide));
        true
    }

    /// A moment is in the middle, and what compute does then chosen.
    pub fn to_moment(&mut self, moment: Seconds, step: ShownStep) {
        self.open_lanes(step);
        self.lane = 0;
        let line = step.trace.line(self.rank(step), Stream::Compute);
        let begun = step.trace.spans[line.clone()].partition_point(|span| span.start <= moment);
        self.chosen = (begun > 0).then(|| line.start + begun - 1);
        self.window = Some(Window::around(moment / step.time, self.window(step).width));
    }

    /// The compute span that is chosen, that uses what is chosen, or that is in the middle of the window.
    fn computes(&self, step: ShownStep) -> Option<usize> {
        let trace = step.trace;
        let line = trace.line(self.rank(step), Stream::Compute);
        let Some(first) = self.chosen(step).and_then(|spans| spans.first()) else {
            let middle = self.window(step).middle();
            let works = |index: &usize| trace.spans[*index].activity.kind.computes_layers();
            let distance = |index: &usize| (step.middle(&trace.spans[*index]) - middle).abs();
            return line.filter(works).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        };
        if first.lane == Stream::Compute {
            return line.into_iter().find(|index| trace.spans[*index] == *first);
        }
        counterpart(trace, first).filter(|index| trace.spans[*index].lane == Stream::Compute)
    }

    /// A span is chosen, on its row.
    fn take_span(&mut self, index: usize, step: ShownStep) {
        let lane = step.trace.spans[index].lane;
        self.lane = self.rows(step).iter().position(|row| row.lane == lane).unwrap_or(self.lane);
        self.chosen = Some(index);
    }

    fn open_lanes(&mut self, step: ShownStep) {
        self.rank = Some(self.rank(step));
        self.opened = true;
    }

    /// A stretch of time fills the window, with some room around it.
    fn show(&mut self, from: Seconds, to: Seconds, step: ShownStep) {
        let width = (to - from) / step.time * (1.0 + 2.0 * MARGIN);
        self.window = Some(Window::around((from + to) / 2.0 / step.time, width));
    }
}

#[cfg(test)]
mod tests;
