//! What a stretch of a step comes to: work, waits and bytes of one rank, repeats that are folded away counted.

use crate::program::Lane;
use crate::units::{Bytes, Seconds};

use super::trace::{Folded, IdleCause, Span, Trace};

/// What one rank does in a stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowTotals {
    /// Time during which its compute is busy: with forward and backward, with the optimizer, with what the host does.
    pub busy: Seconds,
    /// Time during which compute stalls for a transfer.
    pub exposed: Seconds,
    /// Time during which compute waits for another pipeline rank.
    pub bubble: Seconds,
    /// Bytes by lane, of transfers that are only partly in it as much as their time; lanes without any left out.
    pub moved: Vec<(Lane, Bytes)>,
}

impl Trace {
    /// What one rank does between two moments.
    pub fn totals(&self, rank: u32, from: Seconds, to: Seconds) -> WindowTotals {
        let busy = |from: Seconds, to: Seconds| -> f64 {
            let spans = self.spans_on(rank, Lane::Compute).iter();
            spans.map(|span| overlap((span.start, span.end), from, to)).sum::<Seconds>().get()
        };
        let bytes = |lane: Lane| {
            let part = |span: &Span, from, to| {
                let time = (span.end - span.start).get();
                let inside = overlap((span.start, span.end), from, to).get();
                if time > 0.0 { span.bytes.get() * inside / time } else { 0.0 }
            };
            let spans = self.spans_on(rank, lane);
            unfolded(self.folded_of(rank), (from, to), &|from, to| spans.iter().map(|span| part(span, from, to)).sum())
        };
        let moved = Lane::ALL.into_iter().map(|lane| (lane, Bytes::new(bytes(lane))));
        WindowTotals {
            busy: Seconds::new(unfolded(self.folded_of(rank), (from, to), &busy)),
            exposed: self.stands_still(rank, IdleCause::Communication, from, to),
            bubble: self.stands_still(rank, IdleCause::Bubble, from, to),
            moved: moved.filter(|(_, bytes)| *bytes > Bytes::ZERO).collect(),
        }
    }

    /// How long compute of one rank stalls for a cause.
    pub fn still(&self, rank: u32, cause: IdleCause) -> Seconds {
        self.stands_still(rank, cause, Seconds::ZERO, Seconds::new(f64::INFINITY))
    }

    /// How long between two moments compute of one rank stalls for transfers while a lane runs something.
    pub fn exposed_beside(&self, rank: u32, lane: Lane, from: Seconds, to: Seconds) -> Seconds {
        let spans = self.spans_on(rank, lane);
        let waits = self.idle_of(rank).iter().filter(|idle| idle.cause == IdleCause::Communication);
        let waits: Vec<(Seconds, Seconds)> = waits.map(|idle| (idle.start, idle.end)).collect();
        let within = |from: Seconds, to: Seconds| -> f64 {
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

    fn stands_still(&self, rank: u32, cause: IdleCause, from: Seconds, to: Seconds) -> Seconds {
        let within = |from: Seconds, to: Seconds| -> f64 {
            let stretches = self.idle_of(rank).iter().filter(|idle| idle.cause == cause);
            stretches.map(|idle| overlap((idle.start, idle.end), from, to)).sum::<Seconds>().get()
        };
        Seconds::new(unfolded(self.folded_of(rank), (from, to), &within))
    }
}

/// A sum over a stretch of time, with what is listed and what of its repeats falls into the stretch; what repeats
/// inside a stretch that repeats is listed before that.
fn unfolded(folded: &[Folded], (from, to): (Seconds, Seconds), within: &impl Fn(Seconds, Seconds) -> f64) -> f64 {
    let repeats = folded.iter().enumerate().map(|(index, repeated)| {
        let seen = overlap((repeated.end, repeated.over()), from, to);
        if seen <= Seconds::ZERO {
            return 0.0;
        }
        let stretch = (repeated.start, repeated.end);
        unfolded(&folded[..index], stretch, within) * (seen / (repeated.end - repeated.start))
    });
    within(from, to) + repeats.fold(0.0, |sum, seen| sum + seen)
}

/// How much of a stretch lies between two moments.
fn overlap((start, end): (Seconds, Seconds), from: Seconds, to: Seconds) -> Seconds {
    (end.min(to) - start.max(from)).max(Seconds::ZERO)
}

#[cfg(test)]
mod tests;
