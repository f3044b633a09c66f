use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::ui::caps::{Caps, Depth};
use shardscope_engine::evaluate::{Activity, ModelPart, Stream, TaskKind};
use shardscope_engine::units::Bytes;

fn theme(depth: Depth, ascii: bool) -> Theme {
    Theme::new(Caps { depth, ascii, ..Caps::default() })
}

fn s(seconds: f64) -> Seconds {
    Seconds::new(seconds)
}

fn span(kind: TaskKind, layer: u32, start: f64, end: f64) -> Span {
    Span {
        rank: 0,
        lane: Stream::Compute,
        activity: Activity { kind, part: ModelPart::Layer, layer, micro_batch: 0 },
        start: s(start),
        end: s(end),
        alone: s(end - start),
        bytes: Bytes::ZERO,
        level: None,
        exposed: false,
    }
}

fn idle(cause: IdleCause, start: f64, end: f64) -> Stall {
    Stall { rank: 0, cause, start: s(start), end: s(end) }
}

fn wait(start: f64, end: f64) -> Stall {
    idle(IdleCause::Communication, start, end)
}

fn track<'a>(name: &str, spans: &'a [Span]) -> Track<'a> {
    Track { name: name.to_string(), spans, ..Track::default() }
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
fn layers() -> [Span; 2] {
    [span(TaskKind::Forward, 20, 0.0, 16.0), span(TaskKind::Forward, 21, 18.0, 34.0)]
}

fn gathers() -> [Span; 2] {
    [span(TaskKind::AllGather, 21, 0.0, 5.0), span(TaskKind::AllGather, 22, 16.0, 22.0)]
}

#[test]
fn spans_have_ends_and_labels_and_exposure_stands_under_them() {
    let (layers, gathers, waits) = (layers(), gathers(), [wait(16.0, 18.0)]);
    let (tracks, moved) = ([track("compute", &layers), track("gather", &gathers)], [&gathers[..]]);
    let gantt =
        Gantt { exposed: Some((&waits, &moved)), ..Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(40.0)) };
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
    let gantt =
        Gantt { exposed: Some((&waits, &moved)), ..Gantt::new(theme(Depth::None, true), &tracks, s(0.0), s(40.0)) };
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
fn the_row_with_the_keys_is_marked() {
    let spans = layers();
    let tracks = [track("rank 0", &[]), Track { here: true, ..track("rank 1", &spans) }];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(40.0));
    assert_eq!(lines(&drawn(&gantt, 47, 2)), ["rank 0", "rank 1▸▕█ forward 20 █▏  ▕█ forward 21 █▏"]);
}

#[test]
fn where_there_are_several_a_span_names_its_micro_batch() {
    let mut spans = [span(TaskKind::Backward, 7, 0.0, 30.0), span(TaskKind::Backward, 7, 30.0, 46.0)];
    (spans[0].activity.micro_batch, spans[1].activity.micro_batch) = (3, 4);
    let tracks = [Track { turns: true, ..track("", &spans) }];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(46.0));
    // 30 columns less two ends have room for 25 letters and two blanks; 16 have room for 12.
    assert_eq!(lines(&drawn(&gantt, 46, 1)), ["▕ backward 7, micro-batch 3  ▏▕ bwd 7, mb 4  ▏"]);
}

#[test]
fn the_overview_shows_the_whole_step_with_the_window_between_marks() {
    let (layers, gathers, waits) = (layers(), gathers(), [wait(16.0, 18.0)]);
    let (tracks, moved) = ([track("compute", &layers)], [&gathers[..]]);
    let gantt = Gantt {
        exposed: Some((&waits, &moved)),
        overview: Some(s(40.0)),
        ..Gantt::new(theme(Depth::None, false), &tracks, s(8.0), s(28.0))
    };
    let buf = drawn(&gantt, 48, 4);
    // One column is one second: the window takes columns 8 to 27 of the plot, the marks stand beside it.
    assert_eq!(lines(&buf)[0], "step    ███████▐████████!!██████████▌███████████");
    let reversed = |x: u16| buf[(8 + x, 0)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..40).filter(|x| reversed(*x)).collect::<Vec<_>>(), (8..28).collect::<Vec<_>>());
    assert_eq!(gantt.height(), 4);
}

#[test]
fn a_span_that_leaves_the_window_has_no_end_there() {
    let spans = [span(TaskKind::Backward, 3, -10.0, 50.0)];
    let tracks = [track("", &spans)];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(20.0));
    assert_eq!(lines(&drawn(&gantt, 20, 1)), ["████ backward 3 ████"]);
}

#[test]
fn narrow_spans_add_up_to_the_share_of_time_in_which_something_runs() {
    // Ten spans a column; each column busier than the one before: 0, 20, 40, 60, 80, 100 %.
    let spans: Vec<Span> = (0..60)
        .filter(|i| i / 10 > 0)
        .map(|i| {
            let (start, share) = (f64::from(i) / 10.0, f64::from(i / 10) * 0.02);
            span(TaskKind::AllGather, 0, start, start + share)
        })
        .collect();
    let tracks = [track("", &spans)];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(6.0));
    // A quarter a shade: 20 % is the first, 40 % the second, 60 % the third, 80 and 100 % the full one.
    assert_eq!(lines(&drawn(&gantt, 6, 1)), [" ░▒▓██"]);
}

#[test]
fn a_run_of_narrow_spans_of_one_kind_is_named() {
    let row = |kind, from: u32| {
        (0..100).map(move |i| f64::from(i) * 0.1 + f64::from(from)).map(move |start| span(kind, 0, start, start + 0.1))
    };
    let spans: Vec<Span> = row(TaskKind::Forward, 0).chain(row(TaskKind::Backward, 10)).collect();
    let tracks = [track("", &spans)];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(20.0));
    assert_eq!(lines(&drawn(&gantt, 40, 1)), ["█████ forward ███████████ backward █████"]);
}

#[test]
fn where_only_a_letter_fits_it_says_which_way_compute_goes() {
    let short = |kind, from: u32| {
        (0..10).map(move |i| f64::from(i) * 0.3 + f64::from(from)).map(move |start| span(kind, 0, start, start + 0.3))
    };
    let spans: Vec<Span> = short(TaskKind::Forward, 0)
        .chain(short(TaskKind::Backward, 3))
        .chain([span(TaskKind::Forward, 12, 6.0, 9.0)])
        .collect();
    let gathers: Vec<Span> = short(TaskKind::AllGather, 0).collect();
    let tracks = [track("", &spans), track("", &gathers)];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(9.0));
    assert_eq!(lines(&drawn(&gantt, 9, 2)), ["█f██b█▕f▏", "███"]);
}

#[test]
fn marks_of_exposure_add_up_to_the_exposed_time() {
    // 20 waits of a tenth of a column each, one per column: two columns in all. A bubble is no exposure.
    let mut waits: Vec<Stall> = (0..20).map(|i| wait(f64::from(i), f64::from(i) + 0.1)).collect();
    waits.push(idle(IdleCause::Bubble, 19.1, 20.0));
    let all = (s(0.0), s(20.0));
    let gantt = Gantt { exposed: Some((&waits, &[])), ..Gantt::new(theme(Depth::None, false), &[], all.0, all.1) };
    let row = &lines(&drawn(&gantt, 20, 1))[0];
    assert_eq!((row.matches('!').count(), row.chars().count()), (2, 20), "{row}");
    // A single short wait is never lost.
    let gantt =
        Gantt { exposed: Some((&waits[3..4], &[])), ..Gantt::new(theme(Depth::None, false), &[], all.0, all.1) };
    assert_eq!(lines(&drawn(&gantt, 20, 1)), ["   !"]);
}

#[test]
fn bubbles_fill_where_nothing_runs() {
    let (spans, idle) = ([span(TaskKind::Forward, 1, 0.0, 5.0)], [idle(IdleCause::Bubble, 5.0, 9.0)]);
    let tracks = [Track { idle: &idle, ..track("", &spans) }];
    let gantt = Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(10.0));
    assert_eq!(lines(&drawn(&gantt, 10, 1)), ["▕f1 ▏╌╌╌╌"]);
}

/// Forward and backward of two micro-batches, two layers each, a bubble and a wait for a gather between them.
fn visits() -> (Vec<Span>, Vec<Stall>) {
    let turn = |kind, micro_batch, start: f64, time: f64| {
        [0, 1].map(|half| {
            let start = start + f64::from(half) * time / 2.0;
            let mut span = span(kind, 4 + half, start, start + time / 2.0);
            span.activity.micro_batch = micro_batch;
            span
        })
    };
    let (forward, backward) = (TaskKind::Forward, TaskKind::Backward);
    let turns = [turn(forward, 0, 0.0, 4.0), turn(forward, 1, 4.0, 4.0), turn(backward, 0, 11.0, 6.0)];
    let last = turn(backward, 1, 19.0, 6.0);
    let idle = vec![idle(IdleCause::Bubble, 8.0, 11.0), wait(17.0, 19.0)];
    (turns.into_iter().flatten().chain(last).collect(), idle)
}

#[test]
fn a_rank_shows_its_visits_with_their_micro_batches_and_what_it_waits_for() {
    let (spans, idle) = visits();
    let tracks = [Track { idle: &idle, form: TrackForm::Visits, ..track("", &spans) }];
    let row = |ascii, columns, to| {
        let gantt = Gantt::new(theme(Depth::None, ascii), &tracks, s(0.0), s(to));
        lines(&drawn(&gantt, columns, 1))[0].clone()
    };
    assert_eq!(row(false, 25, 25.0), "0███1███╌╌╌0▒▒▒▒▒!!1▒▒▒▒▒");
    assert_eq!(row(true, 25, 25.0), "0###1###~~~0+++++!!1+++++");
    // A column of 1.25 s is what most of it is: column 6, to 8.75 s, has 0.5 s of forward and 0.75 of the bubble.
    assert_eq!(row(false, 20, 25.0), "0██1██╌╌╌0▒▒▒▒!1▒▒▒▒");
    // Ten visits of 0.8 s with bubbles of 0.2 s between them: in columns of a second two of ten are bubbles.
    let turn = |at: u32| {
        let mut span = span(TaskKind::Forward, 0, f64::from(at), f64::from(at) + 0.8);
        span.activity.micro_batch = at;
        span
    };
    let many: Vec<Span> = (0..10).map(turn).collect();
    let between: Vec<Stall> = (0..10)
        .map(|at| Stall {
            rank: 0,
            cause: IdleCause::Bubble,
            start: s(f64::from(at) + 0.8),
            end: s(f64::from(at) + 1.0),
        })
        .collect();
    let folded = [Track { idle: &between, form: TrackForm::Visits, ..track("", &many) }];
    let drawn_small = lines(&drawn(&Gantt::new(theme(Depth::None, false), &folded, s(0.0), s(10.0)), 10, 1))[0].clone();
    assert_eq!(drawn_small.matches('╌').count(), 2, "{drawn_small}");
    // In columns of 9 s no visit has room for its number.
    assert_eq!(row(false, 3, 27.0), "█▒▒");
    // Where forward and backward share a column, neither twice the other, it is between them.
    let both = [span(TaskKind::Forward, 0, 0.0, 4.0), span(TaskKind::Backward, 0, 4.0, 10.0)];
    let tracks = [Track { form: TrackForm::Visits, ..track("", &both) }];
    assert_eq!(lines(&drawn(&Gantt::new(theme(Depth::None, false), &tracks, s(0.0), s(10.0)), 1, 1)), ["▓"]);
}

#[test]
fn what_is_chosen_is_reversed_and_colours_follow_the_kind() {
    let (layers, gathers) = (layers(), gathers());
    let tracks = [track("compute", &layers), track("gather", &gathers)];
    let gantt = Gantt {
        selected: Some((1, s(16.0), s(22.0))),
        ..Gantt::new(theme(Depth::C256, false), &tracks, s(0.0), s(40.0))
    };
    let buf = drawn(&gantt, 48, 2);
    let reversed = |x: u16, y: u16| buf[(x, y)].modifier.contains(Modifier::REVERSED);
    // Its six columns are 24 to 29, the ends in the colour of text.
    assert!(!reversed(24, 1) && reversed(25, 1) && reversed(28, 1) && !reversed(29, 1) && !reversed(25, 0));
    assert_eq!((buf[(24, 1)].fg, buf[(29, 1)].fg), (Color::Reset, Color::Reset));
    assert_eq!(buf[(9, 0)].fg, theme(Depth::C256, false).span(TaskKind::Forward).fg.unwrap());
    // A label is cut out of the span's colour.
    assert_eq!((buf[(12, 0)].fg, reversed(12, 0)), (buf[(9, 0)].fg, true));
}

fn any_seconds() -> impl Strategy<Value = f64> {
    prop_oneof![proptest::num::f64::ANY, -1.0..20.0f64]
}

fn any_span() -> impl Strategy<Value = Span> {
    let kinds = [
        TaskKind::Forward,
        TaskKind::Backward,
        TaskKind::Optimizer,
        TaskKind::AllGather,
        TaskKind::AllToAll,
        TaskKind::Copy,
    ];
    let parts = [ModelPart::Layer, ModelPart::Embedding, ModelPart::Head, ModelPart::Model];
    (any_seconds(), any_seconds(), 0..kinds.len(), 0..parts.len(), any::<(u32, u32)>()).prop_map(
        move |(start, end, kind, part, (layer, micro_batch))| Span {
            activity: Activity { kind: kinds[kind], part: parts[part], layer, micro_batch },
            ..span(TaskKind::Forward, 0, start, end)
        },
    )
}

proptest! {
    #[test]
    fn any_size_and_any_spans_draw(
        (width, height, x, y) in (0u16..300, 0u16..12, 0u16..40, 0u16..12),
        spans in proptest::collection::vec(any_span(), 0..40),
        (from, to) in (any_seconds(), any_seconds()),
        selected in proptest::option::of((0usize..3, any_seconds(), any_seconds())),
        name in "\\PC{0,20}",
        (ascii, turns, here) in any::<(bool, bool, bool)>(),
    ) {
        let causes = [IdleCause::Bubble, IdleCause::Communication, IdleCause::Other];
        let still = spans.iter().zip(causes.into_iter().cycle());
        let still: Vec<Stall> =
            still.map(|(span, cause)| Stall { rank: 0, cause, start: span.start, end: span.end }).collect();
        let first = Track { name, spans: &spans, idle: &still, turns, here, ..Track::default() };
        let tracks = [first, Track { spans: &spans, idle: &still, form: TrackForm::Visits, ..Track::default() }];
        let (selected, moved) = (selected.map(|(track, from, to)| (track, s(from), s(to))), [&spans[..]]);
        let gantt =
            Gantt { exposed: Some((&still, &moved)), selected, ..Gantt::new(theme(Depth::True, ascii), &tracks, s(from), s(to)) };
        let mut buf = Buffer::empty(Rect::new(0, 0, 120, 10));
        gantt.render(Rect::new(x, y, width, height), &mut buf);
        let outside = Rect::new(x, y, width, height);
        for position in buf.area.positions().filter(|position| !outside.contains(*position)) {
            prop_assert_eq!(&buf[position], &ratatui::buffer::Cell::EMPTY);
        }
    }
}
