use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::ui::caps::{Caps, Depth};

fn theme(depth: Depth, ascii: bool) -> Theme {
    Theme::new(Caps { depth, ascii, ..Caps::default() })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn drawn(map: &Heatmap, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    map.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

/// Two rows of four: values, what does not fit, what cannot be, what is not there yet.
const ENTRIES: [CellEntry; 8] = [
    CellEntry::TooBig(10.3),
    CellEntry::Value(63.2),
    CellEntry::Value(57.0),
    CellEntry::Pending,
    CellEntry::Impossible,
    CellEntry::Value(18.0),
    CellEntry::Value(40.0),
    CellEntry::Value(f64::NAN),
];

/// Calls `check` with the map of `ENTRIES`.
fn with_map(theme: Theme, check: impl FnOnce(Heatmap)) {
    let (columns, rows) = (names(&["1", "2", "4", "8"]), names(&["package", "node"]));
    check(Heatmap {
        titles: ("nodes", "shard"),
        cursor: Some((2, 0)),
        ..Heatmap::new(theme, &columns, &rows, &ENTRIES)
    });
}

#[test]
fn cells_say_what_they_are_without_colour() {
    with_map(theme(Depth::None, false), |map| {
        // 28 columns: 8 for names, 4 cells of 5: room for whole numbers and a mark.
        assert_eq!(
            lines(&drawn(&map, 28, 6)),
            [
                "  nodes    1    2    4    8",
                "shard",
                "package  +11  ★63 ▐ 57▌   ·",
                "node       –  ░18  ▒40    –",
                "",
                "★ best 63 at 2, package",
            ]
        );
    });
}

#[test]
fn ascii_says_the_same() {
    with_map(theme(Depth::None, true), |map| {
        let rows = lines(&drawn(&map, 28, 6));
        assert_eq!(rows[2..4], ["package  +11  *63 [ 57]   .", "node       -  _18  :40    -"]);
    });
}

#[test]
fn the_legend_explains_marks_and_shades() {
    with_map(theme(Depth::None, false), |map| {
        let rows = lines(&drawn(&map, 100, 6));
        assert_eq!(
            rows[5],
            "★ best 63.2 at nodes 2, shard package   +n GiB too many   – not possible   18.0 ░▒▓█ 63.2"
        );
        let rows =
            lines(&drawn(&Heatmap { marked: Some(((1, 1), "pinned")), lower_is_better: true, ..map.clone() }, 100, 6));
        assert_eq!(
            rows[5],
            "★ best 18.0 at nodes 2, shard node   +n GiB too many   – not possible   ▸ pinned   18.0 █▓▒░ 63.2"
        );
    });
}

#[test]
fn a_contour_parts_cells_of_different_letters() {
    let (columns, rows) = (names(&["1", "2", "4"]), names(&["2", "1"]));
    let entries: Vec<CellEntry> = [30.0, 50.0, 50.0, 20.0, 40.0, 50.0].map(CellEntry::Value).into();
    let letters = ['n', 'c', 'c', 'n', 'n', 'c'].map(Some);
    let map =
        |ascii| Heatmap { letters: &letters, ..Heatmap::new(theme(Depth::None, ascii), &columns, &rows, &entries) };
    assert_eq!(
        lines(&drawn(&map(false), 35, 5))[..4],
        [
            "           1          2          4",
            "2    ▒30.0 n│   ★50.0 c    █50.0 c",
            "            └──────────┐",
            "1    ░20.0 n    ▓40.0 n│   █50.0 c",
        ]
    );
    assert_eq!(
        lines(&drawn(&map(true), 35, 5))[1..4],
        ["2    :30.0 n|   *50.0 c    #50.0 c", "            +----------+", "1    _20.0 n    =40.0 n|   #50.0 c"]
    );
    // Without a line to spare the sides remain.
    assert_eq!(
        lines(&drawn(&map(false), 35, 4))[1..3],
        ["2    ▒30.0 n│   ★50.0 c    █50.0 c", "1    ░20.0 n    ▓40.0 n│   █50.0 c"]
    );
}

#[test]
fn the_cursor_cell_is_reversed_between_its_caps() {
    with_map(theme(Depth::C256, false), |map| {
        let buf = drawn(&map, 28, 6);
        let reversed: Vec<u16> = (0..28).filter(|x| buf[(*x, 2)].modifier.contains(Modifier::REVERSED)).collect();
        // The third cell has columns 18 to 22; its caps are the first and the last.
        assert_eq!(reversed, [19, 20, 21]);
        assert_eq!(buf[(18, 2)].symbol(), "▐");
    });
}

#[test]
fn where_colours_are_fixed_cells_are_filled_and_the_best_is_the_lightest() {
    with_map(theme(Depth::C256, false), |map| {
        let buf = drawn(&map, 28, 6);
        let ground = |x: u16, y: u16| buf[(x, y)].bg;
        // Cividis' ladder ends at 60 and 227.
        assert_eq!((ground(16, 2), ground(16, 3)), (Color::Indexed(227), Color::Indexed(60)));
        assert_eq!(ground(11, 2), Color::Reset);
        let lower = drawn(&Heatmap { lower_is_better: true, ..map.clone() }, 28, 6);
        assert_eq!((lower[(16, 2)].bg, lower[(16, 3)].bg), (Color::Indexed(60), Color::Indexed(227)));
        let stale = drawn(&Heatmap { stale: true, ..map }, 28, 6);
        assert_eq!(stale[(16, 2)].bg, Color::Reset);
        assert_eq!(stale[(16, 2)].symbol(), "3");
    });
}

#[test]
fn digits_follow_the_room() {
    let range = Some((4.25, 63.24));
    assert_eq!(Numbers::new(range, 6).text(57.0), "57.0");
    assert_eq!(Numbers::new(range, 3).text(57.0), "57");
    assert_eq!(Numbers::new(Some((1.0, 2_345_678.0)), 9).text(1_234_567.0), "1235k");
    assert_eq!(Numbers::new(Some((0.01, 0.0684)), 9).text(0.0342), "0.0342");
    assert_eq!(Numbers::new(Some((1.0, 6.84)), 9).text(5.0), "5.00");
    assert_eq!(Numbers::new(None, 9).text(0.0), "0.00");
    // Goodput in percent: three digits would say 100 of all.
    assert_eq!(Numbers::new(Some((99.62, 99.97)), 9).text(99.88), "99.9");
    assert_eq!(Numbers::new(Some((99.98, 99.99)), 9).text(99.98), "99.98");
    assert_eq!(Numbers::new(Some((100.0, 100.0)), 9).text(100.0), "100");
}

#[test]
fn it_scrolls_to_keep_the_cursor_in_view() {
    let labels: Vec<String> = (0..30).map(|index| index.to_string()).collect();
    let entries: Vec<CellEntry> = (0..900).map(|index| CellEntry::Value(f64::from(index))).collect();
    let map = Heatmap::new(theme(Depth::None, false), &labels, &labels, &entries);
    // 3 columns of names, cells of 5, so 5 of 30 columns; a header, 4 rows, the legend.
    let at = |cursor| lines(&drawn(&Heatmap { cursor: Some(cursor), ..map.clone() }, 29, 6));
    let start = at((0, 0));
    assert_eq!(start[0], "      0    1    2    3    4▸");
    assert!(start[4].starts_with("3 ▾"), "{}", start[4]);
    let end = at((29, 29));
    assert_eq!(end[0], "  ◂  25   26   27   28   29");
    assert!(end[1].starts_with("26▴") && end[4].contains("▐899▌"), "{}", end[4]);
    let middle = at((15, 15));
    assert!(middle[3].contains("▐465▌"), "{}", middle[3]);
}

#[test]
fn the_best_of_equals_is_the_first_and_an_empty_map_has_none() {
    let (columns, rows) = (names(&["a", "b"]), names(&["r"]));
    let equal = [CellEntry::Value(2.0), CellEntry::Value(2.0)];
    assert_eq!(Heatmap::new(theme(Depth::None, false), &columns, &rows, &equal).best(), Some((0, 0)));
    assert_eq!(Heatmap::new(theme(Depth::None, false), &columns, &rows, &[]).best(), None);
}

proptest! {
    #[test]
    fn any_size_and_any_map_draw(
        (width, height, x, y) in (0u16..300, 0u16..40, 0u16..50, 0u16..20),
        columns in proptest::collection::vec("\\PC{0,8}", 0..40),
        rows in proptest::collection::vec("\\PC{0,20}", 0..40),
        values in proptest::collection::vec(proptest::num::f64::ANY, 0..300),
        cursor in proptest::option::of((0usize..50, 0usize..50)),
        pinned in proptest::option::of((0usize..50, 0usize..50)),
        letters in proptest::collection::vec(proptest::option::of(proptest::char::range('a', 'c')), 0..300),
        (depth, ascii, lower, stale) in (0usize..4, any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let depth = [Depth::None, Depth::C16, Depth::C256, Depth::True][depth];
        let kinds = [CellEntry::Pending, CellEntry::Impossible, CellEntry::TooBig(10.3)];
        let entry = |(index, value): (usize, &f64)| kinds.get(index % 7).copied().unwrap_or(CellEntry::Value(*value));
        let entries: Vec<CellEntry> = values.iter().enumerate().map(entry).collect();
        let map = Heatmap { titles: ("nodes", "shard"), cursor, marked: pinned.map(|cell| (cell, "pinned")), letters: &letters, lower_is_better: lower, stale, ..Heatmap::new(theme(depth, ascii), &columns, &rows, &entries) };
        let mut buf = Buffer::empty(Rect::new(0, 0, 160, 30));
        let area = Rect::new(x, y, width, height);
        map.render(area, &mut buf);
        for position in buf.area.positions().filter(|position| !area.contains(*position)) {
            prop_assert_eq!(&buf[position], &ratatui::buffer::Cell::EMPTY);
        }
    }

    #[test]
    fn the_cursor_is_always_in_view(
        (width, height) in (20u16..160, 4u16..30),
        cursor in (0usize..40, 0usize..25),
    ) {
        let columns: Vec<String> = (0..40).map(|index| index.to_string()).collect();
        let entries = vec![CellEntry::Value(12.0); 40 * 25];
        let map = Heatmap { cursor: Some(cursor), ..Heatmap::new(theme(Depth::None, false), &columns, &columns[..25], &entries) };
        let text = lines(&drawn(&map, width, height)).join("\n");
        prop_assert_eq!(text.matches('▐').count(), 1);
    }
}
