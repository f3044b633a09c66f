use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::evaluate::{Activity, Idle, Kind, MemoryPoint, Part};
use crate::ui::caps::{Caps, Depth};
use crate::units::Bytes;

fn theme(depth: Depth, ascii: bool) -> Theme {
    Theme::new(Caps { depth, ascii, ..Caps::default() })
}

fn s(seconds: f64) -> Seconds {
    Seconds::new(seconds)
}

fn span(kind: Kind, layer: u32, start: f64, end: f64) -> Span {
    Span { start: s(start), end: s(end), activity: Activity { kind, part: Part::Layer, layer, micro_batch: 0 } }
}

fn track(name: &str, spans: Vec<Span>) -> Track {
    Track { name: name.to_string(), spans, bubbles: Vec::new() }
}

fn drawn(gantt: &Gantt, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    gantt.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

/// Two layers of 16 s and the gathers of the next two: one column is one second where the plot has 40 columns.
fn tracks() -> Vec<Track> {
    vec![
        track("compute", vec![span(Kind::Forward, 20, 0.0, 16.0), span(Kind::Forward, 21, 18.0, 34.0)]),
        track("gather", vec![span(Kind::AllGather, 21, 0.0, 5.0), span(Kind::AllGather, 22, 16.0, 22.0)]),
    ]
}

#[test]
fn spans_have_ends_and_labels_and_exposure_stands_under_them() {
    let (tracks, exposed) = (tracks(), [(s(16.0), s(18.0))]);
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(40.0)).exposed(&exposed);
    assert_eq!(
        lines(&drawn(&gantt, 48, 4)),
        [
            "compute ▕█ forward 20 █▏  ▕█ forward 21 █▏",
            "gather  ▕g21▏           ▕g22 ▏",
            "exposed ·····           !!····",
            "        ╵0 s                ╵20",
        ]
    );
    assert_eq!(gantt.height(), 4);
}

#[test]
fn ascii_says_the_same() {
    let (tracks, exposed) = (tracks(), [(s(16.0), s(18.0))]);
    let gantt = Gantt::new(theme(Depth::None, true), &tracks, s(0.0), s(40.0)).exposed(&exposed);
    assert_eq!(
        lines(&drawn(&gantt, 48, 4)),
        [
            "compute |# forward 20 #|  |# forward 21 #|",
            "gather  |g21|           |g22 |",
            "exposed .....           !!....",
            "        '0 s                '20",
        ]
    );
}

#[test]
fn the_overview_shows_the_whole_step_with_the_window_between_marks() {
    let (tracks, exposed) = (tracks(), [(s(16.0), s(18.0))]);
    let gantt =
        Gantt::new(theme(Depth::None, false), &tracks, s(8.0), s(28.0)).exposed(&exposed).overview(Some(s(40.0)));
    let buf = drawn(&gantt, 48, 5);
    // One column is one second: the window takes columns 8 to 27 of the plot, the marks stand beside it.
    assert_eq!(lines(&buf)[0], "step    ·····  ▐        !!····      ▌");
    let reversed = |x: u16| buf[(8 + x, 0)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..40).filter(|x| reversed(*x)).collect::<Vec<_>>(), (8..28).collect::<Vec<_>>());
    assert_eq!(gantt.height(), 5);
}

#[test]
fn a_span_that_leaves_the_window_has_no_end_there() {
    let tracks = [track("", vec![span(Kind::Backward, 3, -10.0, 50.0)])];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(20.0));
    assert_eq!(lines(&drawn(&gantt, 20, 1)), ["████ backward 3 ████"]);
}

#[test]
fn narrow_spans_add_up_to_the_share_of_time_in_which_something_runs() {
    // Ten spans a column; each column busier than the one before: 0, 20, 40, 60, 80, 100 %.
    let spans = (0..60).filter(|i| i / 10 > 0).map(|i| {
        let (start, share) = (f64::from(i) / 10.0, f64::from(i / 10) * 0.02);
        span(Kind::AllGather, 0, start, start + share)
    });
    let tracks = [track("", spans.collect())];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(6.0));
    // A quarter a shade: 20 % is the first, 40 % the second, 60 % the third, 80 and 100 % the full one.
    assert_eq!(lines(&drawn(&gantt, 6, 1)), [" ░▒▓██"]);
}

#[test]
fn a_run_of_narrow_spans_of_one_kind_is_named() {
    let row = |kind, from: u32| {
        (0..100).map(move |i| f64::from(i) * 0.1 + f64::from(from)).map(move |start| span(kind, 0, start, start + 0.1))
    };
    let tracks = [track("", row(Kind::Forward, 0).chain(row(Kind::Backward, 10)).collect())];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(20.0));
    assert_eq!(lines(&drawn(&gantt, 40, 1)), ["█████ forward ███████████ backward █████"]);
}

#[test]
fn marks_of_exposure_add_up_to_the_exposed_time() {
    // 20 waits of a tenth of a column each, one per column: two columns in all.
    let exposed: Vec<_> = (0..20).map(|i| (s(f64::from(i)), s(f64::from(i) + 0.1))).collect();
    let gantt = Gantt::new(theme(Depth::None, false), &[], s(0.0), s(20.0)).exposed(&exposed);
    let row = &lines(&drawn(&gantt, 20, 1))[0];
    assert_eq!((row.matches('!').count(), row.chars().count()), (2, 20), "{row}");
    // A single short wait is never lost.
    let gantt = Gantt::new(theme(Depth::None, false), &[], s(0.0), s(20.0)).exposed(&exposed[3..4]);
    assert_eq!(lines(&drawn(&gantt, 20, 1)), ["   !"]);
}

#[test]
fn bubbles_fill_where_nothing_runs() {
    let mut tracks = [track("", vec![span(Kind::Forward, 1, 0.0, 5.0)])];
    tracks[0].bubbles = vec![(s(5.0), s(9.0))];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(10.0));
    assert_eq!(lines(&drawn(&gantt, 10, 1)), ["▕f1 ▏╌╌╌╌"]);
}

#[test]
fn the_chosen_span_is_reversed_and_colours_follow_the_kind() {
    let tracks = tracks();
    let gantt = Gantt::new(theme(Depth::C256, false), &tracks, s(0.0), s(40.0)).selected(Some((1, 1)));
    let buf = drawn(&gantt, 48, 2);
    let reversed = |x: u16, y: u16| buf[(x, y)].modifier.contains(Modifier::REVERSED);
    // Its six columns are 24 to 29, the ends in the colour of text.
    assert!(!reversed(24, 1) && reversed(25, 1) && reversed(28, 1) && !reversed(29, 1) && !reversed(25, 0));
    assert_eq!((buf[(24, 1)].fg, buf[(29, 1)].fg), (Color::Reset, Color::Reset));
    assert_eq!(buf[(9, 0)].fg, theme(Depth::C256, false).span(Kind::Forward).fg.unwrap());
    // A label lies on the span's colour.
    assert_eq!(buf[(12, 0)].bg, buf[(9, 0)].fg);
}

#[test]
fn tracks_come_from_a_trace() {
    let spans = [(0, Lane::Gather, 0.0), (0, Lane::Compute, 1.0), (1, Lane::Reduce, 1.0), (0, Lane::Compute, 8.0)];
    let trace = Trace {
        spans: spans
            .iter()
            .map(|(rank, lane, start)| crate::evaluate::Span {
                rank: *rank,
                lane: *lane,
                activity: Activity::default(),
                start: s(*start),
                end: s(*start + 1.0),
                alone: s(1.0),
                bytes: Bytes::ZERO,
                level: None,
                exposed: false,
            })
            .collect(),
        idle: [IdleCause::Bubble, IdleCause::Communication, IdleCause::Other]
            .map(|cause| Idle { rank: 0, cause, start: s(2.0), end: s(3.0) })
            .to_vec(),
        memory: vec![MemoryPoint { rank: 0, at: s(0.0), in_use: Bytes::ZERO }],
        folded: Vec::new(),
    };
    let tracks = Track::of_trace(&trace, 0, s(1.0), s(5.0));
    let summary: Vec<_> = tracks.iter().map(|track| (track.name.as_str(), track.spans.len())).collect();
    // The gather has ended and the last compute not begun, but their lanes are in use.
    assert_eq!(summary, [("compute", 1), ("gather", 0)]);
    assert_eq!(tracks[0].bubbles, [(s(2.0), s(3.0))]);
    assert_eq!(exposed(&trace, 0), [(s(2.0), s(3.0))]);
}

fn any_seconds() -> impl Strategy<Value = Seconds> {
    prop_oneof![proptest::num::f64::ANY, -1.0..20.0f64].prop_map(Seconds::new)
}

fn any_span() -> impl Strategy<Value = Span> {
    let kinds = [Kind::Forward, Kind::Backward, Kind::Optimizer, Kind::AllGather, Kind::AllToAll, Kind::Copy];
    let parts = [Part::Layer, Part::Embedding, Part::Head, Part::Model];
    (any_seconds(), any_seconds(), 0..kinds.len(), 0..parts.len(), any::<u32>()).prop_map(
        move |(start, end, kind, part, layer)| Span {
            start,
            end,
            activity: Activity { kind: kinds[kind], part: parts[part], layer, micro_batch: 0 },
        },
    )
}

proptest! {
    #[test]
    fn any_size_and_any_spans_draw(
        (width, height, x, y) in (0u16..300, 0u16..12, 0u16..40, 0u16..12),
        spans in proptest::collection::vec(any_span(), 0..40),
        (from, to) in (any_seconds(), any_seconds()),
        selected in proptest::option::of((0usize..3, 0usize..50)),
        name in "\\PC{0,20}",
        ascii: bool,
    ) {
        let waits: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        let first = Track { name, spans: spans.clone(), bubbles: waits.clone() };
        let tracks = [first, Track { spans, ..Track::default() }];
        let gantt = Gantt::new(theme(Depth::True, ascii), &tracks, from, to).exposed(&waits).selected(selected);
        let mut buf = Buffer::empty(Rect::new(0, 0, 120, 10));
        gantt.render(Rect::new(x, y, width, height), &mut buf);
        let outside = Rect::new(x, y, width, height);
        for position in buf.area.positions().filter(|position| !outside.contains(*position)) {
            prop_assert_eq!(&buf[position], &ratatui::buffer::Cell::EMPTY);
        }
    }
}
