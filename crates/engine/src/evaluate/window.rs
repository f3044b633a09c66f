//! Totals over a span of a step: one rank's busy time, stalls and bytes, folded repeats included. Not for the figures
//! of the whole step, which come from the simulator's own accounting ([`mod@super::summary`]).

use crate::program::Stream;
use crate::units::{Bytes, Seconds};

use super::trace::{Folded, IdleCause, Span, Stall, Trace};

/// One rank's totals between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowTotals {
    /// Time during which its compute is busy: with forward and backward, with the optimizer, with what the host does.
    pub busy: Seconds,
    /// Time during which compute stalls for a transfer.
    pub exposed: Seconds,
    /// Time during which compute waits for another pipeline rank.
    pub bubble: Seconds,
    /// Bytes by lane; a transfer that is half inside counts half its bytes. Lanes without any are left out.
    pub moved: Vec<(Stream, Bytes)>,
}

/// An item with a beginning and an end.
pub trait Timed {
    /// When it does.
    fn ends(&self) -> (Seconds, Seconds);
}

/// A list in order of time, without overlaps.
pub trait InOrder {
    /// The part of it that touches a window of time.
    fn within(&self, window: (Seconds, Seconds)) -> &Self;
}

impl<T: Timed> InOrder for [T] {
    fn within(&self, (from, to): (Seconds, Seconds)) -> &Self {
        // Both ends rise along the list, so that two binary searches do, however long the step is.
        let first = self.partition_point(|item| item.ends().1 <= from);
        let last = self.partition_point(|item| item.ends().0 < to);
        self.get(first..last).unwrap_or_default()
    }
}

impl Timed for Span {
    fn ends(&self) -> (Seconds, Seconds) {
        (self.start, self.end)
    }
}

impl Timed for Stall {
    fn ends(&self) -> (Seconds, Seconds) {
        (self.start, self.end)
    }
}

impl Trace {
    /// Totals of one rank between two moments.
    pub fn totals(&self, rank: u32, from: Seconds, to: Seconds) -> WindowTotals {
        let busy = |from: Seconds, to: Seconds| -> f64 {
            let spans = self.spans_on(rank, Stream::Compute).within((from, to)).iter();
            spans.map(|span| overlap(span.ends(), from, to)).sum::<Seconds>().get()
        };
        let bytes = |lane: Stream| {
            let part = |span: &Span, from, to| {
                let time = (span.end - span.start).get();
                let inside = overlap(span.ends(), from, to).get();
                if time > 0.0 { span.bytes.get() * inside / time } else { 0.0 }
            };
            let spans = self.spans_on(rank, lane);
            unfolded(self.folded_of(rank), (from, to), &|from, to| {
                spans.within((from, to)).iter().map(|span| part(span, from, to)).sum()
            })
        };
        let moved = Stream::ALL.into_iter().map(|lane| (lane, Bytes::new(bytes(lane))));
        WindowTotals {
            busy: Seconds::new(unfolded(self.folded_of(rank), (from, to), &busy)),
            exposed: self.stalled(rank, IdleCause::Communication, from, to),
            bubble: self.stalled(rank, IdleCause::Bubble, from, to),
            moved: moved.filter(|(_, bytes)| *bytes > Bytes::ZERO).collect(),
        }
    }

    /// How long compute of one rank stalls for a cause.
    pub fn stall_time(&self, rank: u32, cause: IdleCause) -> Seconds {
        self.stalled(rank, cause, Seconds::ZERO, Seconds::new(f64::INFINITY))
    }

    /// How long between two moments compute of one rank stalls for transfers while a lane runs something.
    pub(crate) fn exposed_beside(&self, rank: u32, lane: Stream, from: Seconds, to: Seconds) -> Seconds {
        let spans = self.spans_on(rank, lane);
        let waits = self.idle_of(rank).iter().filter(|idle| idle.cause == IdleCause::Communication);
        let waits: Vec<(Seconds, Seconds)> = waits.map(|idle| (idle.start, idle.end)).collect();
        let within = |from: Seconds, to: Seconds| -> f64 {
            // Spans and stalls are both in order of time, so that stalls that ended before a span are left behind.
            let mut rest = &waits[..];
            let mut sum = Seconds::ZERO;
            for span in spans {
                let over = rest.partition_point(|(_, end)| *end <= span.start);
                rest = &rest[over..];
                let during = rest.iter().take_while(|(start, _)| *start < span.end);
                sum += during.map(|wait| overlap(*wait, from.max(span.start), to.min(span.end))).sum();
            }
            sum.get()
        };
        Seconds::new(unfolded(self.folded_of(rank), (from, to), &within))
    }

    fn stalled(&self, rank: u32, cause: IdleCause, from: Seconds, to: Seconds) -> Seconds {
        let within = |from: Seconds, to: Seconds| -> f64 {
            let stalls = self.idle_of(rank).within((from, to)).iter().filter(|idle| idle.cause == cause);
            stalls.map(|idle| overlap(idle.ends(), from, to)).sum::<Seconds>().get()
        };
        Seconds::new(unfolded(self.folded_of(rank), (from, to), &within))
    }
}

/// A sum over what is listed between two moments, and over the part of folded repeats that falls between them. A repeat
/// inside a repeat comes before it in the list.
fn unfolded(folded: &[Folded], (from, to): (Seconds, Seconds), within: &impl Fn(Seconds, Seconds) -> f64) -> f64 {
    let repeats = folded.iter().enumerate().map(|(index, repeated)| {
        let seen = overlap((repeated.end, repeated.over()), from, to);
        if seen <= Seconds::ZERO {
            return 0.0;
        }
        // 10 to 12 is listed and repeats 4 times, until 20. Of a window from 0 to 15 the repeats fill 12 to 15, which
        // is one and a half times what the sum is over 10 to 12.
        let once = (repeated.start, repeated.end);
        unfolded(&folded[..index], once, within) * (seen / (repeated.end - repeated.start))
    });
    within(from, to) + repeats.fold(0.0, |sum, seen| sum + seen)
}

/// How much of a span lies between two moments.
fn overlap((start, end): (Seconds, Seconds), from: Seconds, to: Seconds) -> Seconds {
    (end.min(to) - start.max(from)).max(Seconds::ZERO)
}

#[cfg(test)]
mod tests;
