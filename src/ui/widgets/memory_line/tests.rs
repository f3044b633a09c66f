use proptest::prelude::*;
use ratatui::style::Modifier;

use super::*;
use crate::ui::caps::{Caps, Depth};
use shardscope_engine::program::PerMemoryKind;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn theme(ascii: bool) -> Theme {
    Theme::new(Caps { depth: Depth::C256, ascii, ..Caps::default() })
}

fn points(pairs: &[(f64, f64)]) -> Vec<MemoryPoint> {
    let point = |(at, gib): &(f64, f64)| MemoryPoint {
        rank: 0,
        at: Seconds::new(*at),
        in_use: Bytes::new(gib * GIB),
        allocated: PerMemoryKind::default(),
    };
    pairs.iter().map(point).collect()
}

fn drawn(line: &MemoryLine, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    line.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

#[test]
fn each_column_shows_its_fullest_moment() {
    // Eight columns of a second, a step a GiB from 1 to 8. The jump at 3.2 s lasts a tenth of a second and is kept.
    let points = points(&[(0.0, 1.0), (1.0, 2.0), (3.0, 4.0), (3.2, 8.0), (3.3, 4.0), (6.0, 1.0)]);
    let line =
        MemoryLine { capacity: Bytes::new(8.0 * GIB), ..MemoryLine::new(theme(false), &points, Seconds::new(8.0)) };
    let buf = drawn(&line, 8, 1);
    assert_eq!(lines(&buf), ["▁▂▂█▄▄▁▁"]);
    assert!(buf[(3, 0)].modifier.contains(Modifier::REVERSED) && !buf[(4, 0)].modifier.contains(Modifier::REVERSED));
    let ascii =
        MemoryLine { capacity: Bytes::new(8.0 * GIB), ..MemoryLine::new(theme(true), &points, Seconds::new(8.0)) };
    assert_eq!(lines(&drawn(&ascii, 8, 1)), ["_..#::__"]);
}

#[test]
fn with_room_the_peak_is_named_on_its_better_side() {
    let points = points(&[(0.0, 1.0), (2.0, 8.0), (3.0, 1.0)]);
    let line = MemoryLine::new(theme(false), &points, Seconds::new(40.0));
    assert_eq!(lines(&drawn(&line, 40, 3))[2], "  ▲ 8.00 GiB at 2.00 s   lowest 1.00 GiB");
    let late = MemoryLine::new(theme(false), &points, Seconds::new(3.0));
    assert_eq!(lines(&drawn(&late, 30, 3))[2], " 8.00 GiB at 2.00 s ▲");
}

#[test]
fn what_is_above_the_capacity_changes_its_colour() {
    let points = points(&[(0.0, 1.0), (1.0, 3.0)]);
    let line =
        MemoryLine { capacity: Bytes::new(2.0 * GIB), ..MemoryLine::new(theme(false), &points, Seconds::new(2.0)) };
    let buf = drawn(&line, 2, 2);
    assert_eq!(buf[(0, 0)].fg, theme(false).color(Tone::Blue));
    assert_eq!(buf[(1, 0)].fg, theme(false).color(Tone::Orange));
}

#[test]
fn a_window_starts_with_what_was_in_use_before() {
    let points = points(&[(0.0, 4.0), (5.0, 8.0), (9.0, 1.0)]);
    let line = MemoryLine {
        window: (Seconds::new(3.0), Seconds::new(7.0)),
        ..MemoryLine::new(theme(false), &points, Seconds::new(10.0))
    };
    assert_eq!(lines(&drawn(&line, 4, 1)), ["▁▁██"]);
}

proptest! {
    #[test]
    fn any_size_and_any_points_draw(
        (width, height, x, y) in (0u16..200, 0u16..8, 0u16..40, 0u16..8),
        pairs in proptest::collection::vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..30),
        (from, to, capacity) in (proptest::num::f64::ANY, proptest::num::f64::ANY, proptest::num::f64::ANY),
        ascii: bool,
    ) {
        let points = points(&pairs);
        let line = MemoryLine { window: (Seconds::new(from), Seconds::new(to)), capacity: Bytes::new(capacity), ..MemoryLine::new(theme(ascii), &points, Seconds::new(to)) };
        let mut buf = Buffer::empty(Rect::new(0, 0, 100, 6));
        line.render(Rect::new(x, y, width, height), &mut buf);
    }

    #[test]
    fn no_peak_is_lost(sizes in proptest::collection::vec(0.0..64.0f64, 1..200), count in 1usize..100) {
        let pairs: Vec<_> = sizes.iter().enumerate().map(|(index, size)| (index as f64, *size)).collect();
        let points = points(&pairs);
        let line = MemoryLine::new(theme(false), &points, Seconds::new(sizes.len() as f64));
        let highest = line.samples(count).into_iter().flatten().fold(0.0, f64::max);
        let expected = points.iter().map(|point| point.in_use.get()).fold(0.0, f64::max);
        prop_assert_eq!(highest.to_bits(), expected.to_bits());
    }
}
