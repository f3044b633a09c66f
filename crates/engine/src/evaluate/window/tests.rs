//! Sums over stretches of a made-up step.

use super::*;
use crate::evaluate::{Activity, Folded, Stall};

fn s(seconds: f64) -> Seconds {
    Seconds::new(seconds)
}

fn span(lane: Stream, start: f64, end: f64, bytes: f64) -> Span {
    Span {
        rank: 0,
        lane,
        activity: Activity::default(),
        start: s(start),
        end: s(end),
        alone: s(end - start),
        bytes: Bytes::new(bytes),
        level: None,
        exposed: false,
    }
}

fn trace() -> Trace {
    Trace {
        spans: vec![
            span(Stream::Compute, 0.0, 4.0, 0.0),
            span(Stream::Compute, 5.0, 8.0, 0.0),
            span(Stream::Gather, 1.0, 5.0, 80.0),
        ],
        idle: vec![Stall { rank: 0, cause: IdleCause::Communication, start: s(4.0), end: s(5.0) }],
        memory: Vec::new(),
        folded: Vec::new(),
    }
}

#[test]
fn a_window_counts_what_lies_in_it() {
    let trace = trace();
    // From 3 to 6 s: compute 3-4 and 5-6, the wait 4-5, two of the gather's four seconds.
    let totals = trace.totals(0, s(3.0), s(6.0));
    assert_eq!((totals.busy, totals.exposed, totals.bubble), (s(2.0), s(1.0), Seconds::ZERO));
    assert_eq!(totals.moved, [(Stream::Gather, Bytes::new(40.0))]);
    let whole = trace.totals(0, Seconds::ZERO, s(8.0));
    assert_eq!((whole.busy, whole.moved), (s(7.0), vec![(Stream::Gather, Bytes::new(80.0))]));
    assert_eq!(trace.totals(1, Seconds::ZERO, s(8.0)).busy, Seconds::ZERO, "another rank");
}

#[test]
fn a_wait_is_told_by_what_runs_meanwhile() {
    let mut trace = trace();
    trace.idle.push(Stall { rank: 0, cause: IdleCause::Bubble, start: s(8.0), end: s(9.0) });
    trace.spans.insert(2, span(Stream::Tensor, 4.5, 4.75, 0.0));
    trace.spans.insert(3, span(Stream::Tensor, 4.75, 8.5, 0.0));
    let trace = trace.in_order();
    let beside = |lane: Stream, from: f64, to: f64| trace.exposed_beside(0, lane, s(from), s(to));
    // The wait from 4 to 5 s; a bubble is none.
    assert_eq!((beside(Stream::Gather, 0.0, 9.0), beside(Stream::Tensor, 0.0, 9.0)), (s(1.0), s(0.5)));
    assert_eq!((beside(Stream::Tensor, 4.75, 9.0), beside(Stream::Reduce, 0.0, 9.0)), (s(0.25), Seconds::ZERO));
}

#[test]
fn repeats_that_are_folded_away_count_as_far_as_they_are_in_sight() {
    let mut trace = trace();
    // The four seconds from 4 to 8 happen twice more, until 16.
    trace.folded = vec![Folded { rank: 0, start: s(4.0), end: s(8.0), times: 2 }];
    let whole = trace.totals(0, Seconds::ZERO, s(16.0));
    // 7 s, and twice the 3 s of compute and the 1 s of waiting in the stretch.
    assert_eq!((whole.busy, whole.exposed), (s(13.0), s(3.0)));
    assert_eq!(trace.stall_time(0, IdleCause::Communication), s(3.0));
    // Up to 12 one of the two repeats is seen.
    assert_eq!(trace.totals(0, Seconds::ZERO, s(12.0)).busy, s(10.0));
}

#[test]
fn the_last_rank_is_the_first_of_those_that_end_last() {
    let of = |rank: u32, end: f64| Span { rank, ..span(Stream::Compute, 0.0, end, 0.0) };
    let last = |spans: Vec<Span>| Trace { spans, ..Trace::default() }.last_rank();
    assert_eq!(last(vec![of(0, 4.0), of(1, 8.0), of(2, 8.0)]), 1);
    assert_eq!(last(vec![of(0, 9.0), of(1, 8.0), of(2, 8.0)]), 0);
}
