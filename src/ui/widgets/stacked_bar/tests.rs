use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::ui::caps::{Caps, Depth};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn theme(depth: Depth, ascii: bool) -> Theme {
    Theme::new(Caps { depth, ascii, ..Caps::default() })
}

fn gib(value: f64) -> Bytes {
    Bytes::new(value * GIB)
}

/// 8 + 4 + 2 + 10 + 4 + 4 = 32 GiB.
fn parts() -> MemoryParts {
    MemoryParts {
        weights: gib(8.0),
        gradients: gib(4.0),
        optimizer: gib(2.0),
        activations: gib(10.0),
        gathered: gib(4.0),
        reserved: gib(4.0),
        ..MemoryParts::default()
    }
}

fn drawn(bar: &StackedBar, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    bar.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

#[test]
fn parts_take_their_share_of_the_columns() {
    // 33 columns: 32 for 64 GiB, so 2 GiB a column, and one for the limit.
    let bar = StackedBar { legend: false, ..StackedBar::new(theme(Depth::None, false), parts(), gib(64.0)) };
    assert_eq!(lines(&drawn(&bar, 33, 1)), ["████▓▓▒░░░░░ggrr                │"]);
    let ascii = StackedBar { legend: false, ..StackedBar::new(theme(Depth::None, true), parts(), gib(64.0)) };
    assert_eq!(lines(&drawn(&ascii, 33, 1)), ["####==+-----ggrr                |"]);
}

#[test]
fn name_and_figures_stand_beside_the_bar_and_the_legend_under_it() {
    let bar = StackedBar { name: "memory", ..StackedBar::new(theme(Depth::None, false), parts(), gib(64.0)) };
    // 57 columns: "memory " 7, " 32.0 of 64.0 GiB" 17, so the bar has 33.
    assert_eq!(
        lines(&drawn(&bar, 57, 3)),
        [
            "memory ████▓▓▒░░░░░ggrr                │ 32.0 of 64.0 GiB",
            "█ weights 8.0  ▓ gradients 4.0  ▒ optimizer 2.0",
            "░ activations 10.0  g gathered 4.0  r reserved 4.0",
        ]
    );
    assert_eq!(bar.height(57), 3);
    assert_eq!(bar.height(120), 2);
}

#[test]
fn short_names_serve_where_long_ones_would_take_too_many_rows() {
    let bar = StackedBar::new(theme(Depth::None, false), parts(), gib(64.0));
    assert_eq!(
        lines(&drawn(&bar, 79, 2))[1],
        "█ weights 8.0  ▓ grad 4.0  ▒ opt 2.0  ░ act 10.0  g gathered 4.0  r reserve 4.0"
    );
}

#[test]
fn what_exceeds_the_capacity_stands_behind_the_limit() {
    // 32 GiB on a device of 16: 32 columns for 32 GiB, the limit after 16 of them: 8 + 4 + 2 and 2 of activations.
    let bar = StackedBar::new(theme(Depth::None, false), parts(), gib(16.0));
    let buf = drawn(&bar, 33 + 28, 1);
    assert_eq!(lines(&buf), ["████████▓▓▓▓▒▒░░│░░░░░░░░ggggrrrr 32.0 of 16.0 GiB, 16.0 over"]);
    let underlined = |x: u16| buf[(x, 0)].modifier.contains(Modifier::UNDERLINED);
    assert!(!underlined(15) && underlined(17) && underlined(32) && underlined(40));
}

#[test]
fn a_common_scale_makes_bars_comparable() {
    let bar = StackedBar {
        scale: Some(gib(128.0)),
        legend: false,
        ..StackedBar::new(theme(Depth::None, false), parts(), gib(64.0))
    };
    // 32 columns for 128 GiB: 4 GiB a column; the limit after 16. Ends: 8/4=2, 3, 3.5 -> 4, 6, 7, 8.
    assert_eq!(lines(&drawn(&bar, 33, 1)), ["██▓▒░░gr        │"]);
}

#[test]
fn colours_repeat_what_the_marks_say() {
    let bar = StackedBar { legend: false, ..StackedBar::new(theme(Depth::C256, false), parts(), gib(64.0)) };
    let buf = drawn(&bar, 33, 1);
    assert_eq!(buf[(0, 0)].fg, theme(Depth::C256, false).color(Tone::Blue));
    // Activations on the other shade of their colour; nothing behind the last part.
    let light = Theme::new(Caps { light: true, ..theme(Depth::C256, false).caps() });
    assert_eq!((buf[(7, 0)].bg, buf[(20, 0)].bg), (light.color(Tone::Green), Color::Reset));
    assert_eq!(buf[(12, 0)].fg, theme(Depth::C256, false).color(Tone::Teal));
    assert!(buf[(12, 0)].modifier.contains(Modifier::REVERSED), "the letter is cut out of its colour");
}

#[test]
fn tiny_parts_are_named_and_small_devices_count_in_mebibytes() {
    let parts = MemoryParts { weights: gib(0.01), ..MemoryParts::default() };
    let large = StackedBar::new(theme(Depth::None, false), parts, gib(64.0));
    assert_eq!(lines(&drawn(&large, 60, 2))[1], "█ weights <0.1");
    // 0.01 GiB = 10.24 MiB.
    let small = StackedBar::new(theme(Depth::None, false), parts, gib(0.5));
    assert!(lines(&drawn(&small, 60, 2))[0].ends_with("10.2 of 512 MiB"));
}

proptest! {
    #[test]
    fn any_size_and_any_bytes_draw(
        (width, height, x, y) in (0u16..200, 0u16..6, 0u16..40, 0u16..6),
        sizes in proptest::array::uniform10(proptest::num::f64::ANY),
        capacity in proptest::num::f64::ANY,
        ascii: bool,
    ) {
        let [weights, gradients, optimizer, beside, secondary_weights, activations, gathered, communication, engine, reserved] =
            sizes.map(Bytes::new);
        let parts = MemoryParts {
            weights, gradients, optimizer, beside, secondary_weights, activations, gathered, communication, engine, reserved,
        };
        let bar = StackedBar { name: "a", ..StackedBar::new(theme(Depth::True, ascii), parts, Bytes::new(capacity)) };
        let mut buf = Buffer::empty(Rect::new(0, 0, 100, 4));
        bar.render(Rect::new(x, y, width, height), &mut buf);
        prop_assert!(bar.height(width) >= 1);
    }

    #[test]
    fn every_column_of_the_used_part_is_filled(sizes in proptest::array::uniform6(0.0..40.0f64), cells in 2usize..200) {
        let [weights, gradients, optimizer, activations, gathered, reserved] = sizes.map(gib);
        let rest = MemoryParts::default();
        let parts = MemoryParts { weights, gradients, optimizer, activations, gathered, reserved, ..rest };
        let bar = StackedBar::new(theme(Depth::None, false), parts, gib(64.0));
        let drawn = bar.cells(cells);
        let filled = drawn.iter().filter(|cell| cell.is_some_and(|index| index < 8)).count();
        let peak: f64 = sizes.iter().sum();
        let expected = peak / peak.max(64.0) * (cells - 1) as f64;
        prop_assert!((filled as f64 - expected).abs() <= 0.5 + 1e-9);
        prop_assert_eq!(drawn.iter().filter(|cell| cell.is_none()).count(), 1);
    }
}
