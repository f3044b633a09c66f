use proptest::prelude::*;
use ratatui::style::Modifier;

use super::*;
use crate::ui::caps::{Caps, Depth};

fn theme(ascii: bool) -> Theme {
    Theme::new(Caps { depth: Depth::None, ascii, ..Caps::default() })
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, note)| ((*name).to_string(), (*note).to_string())).collect()
}

/// Names and notes with the cursor on a row.
fn chosen(ascii: bool, items: &[(String, String)], cursor: usize, (width, height): (u16, u16)) -> Buffer {
    let theme = theme(ascii);
    let lines = choices(theme, items, usize::from(width - u16::from(items.len() > usize::from(height))));
    let list = RowList { theme, lines, cursor: Some(cursor), focused: true, marked: true, top: None, scrollbar: true };
    drawn(&list, (width, height))
}

fn drawn(list: &RowList, (width, height): (u16, u16)) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    list.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

#[test]
fn names_and_notes_stand_in_columns_and_the_chosen_row_is_marked() {
    let items = pairs(&[("fsdp", "over all ranks"), ("zero-topo", "weights in the package")]);
    let buf = chosen(false, &items, 1, (30, 2));
    assert_eq!(lines(&buf), ["  fsdp       over all ranks", "▸ zero-topo  weights in the p…"]);
    assert!(buf[(3, 1)].modifier.contains(Modifier::REVERSED) && !buf[(3, 0)].modifier.contains(Modifier::REVERSED));
    assert_eq!(lines(&chosen(true, &items, 1, (30, 2)))[1], "> zero-topo  weights in the p~");
}

#[test]
fn it_scrolls_to_the_chosen_row_and_says_where_it_is() {
    let names: Vec<(String, String)> = (0..20).map(|index| (format!("item {index}"), String::new())).collect();
    let shown = |cursor| lines(&chosen(false, &names, cursor, (12, 4)));
    assert_eq!(shown(0), ["▸ item 0   █", "  item 1   │", "  item 2   │", "  item 3   │"]);
    assert_eq!(shown(19), ["  item 16  │", "  item 17  │", "  item 18  │", "▸ item 19  █"]);
}

#[test]
fn keys_stand_under_their_headings() {
    let rows =
        pairs(&[("", "Everywhere"), ("q", "quit"), ("Ctrl-U", "half a page up"), ("", "Map"), ("Enter", "take it")]);
    let shown = |top, size| {
        let lines = key_lines(theme(false), rows.clone());
        drawn(&RowList { theme: theme(false), lines, top: Some(top), scrollbar: true, ..RowList::default() }, size)
    };
    let buf = shown(0, (30, 5));
    assert_eq!(lines(&buf), ["Everywhere", "  q       quit", "  Ctrl-U  half a page up", "Map", "  Enter   take it"]);
    assert!(buf[(0, 0)].modifier.contains(Modifier::BOLD) && !buf[(10, 1)].modifier.contains(Modifier::BOLD));
    let scrolled = |top| lines(&shown(top, (26, 3)));
    assert_eq!(scrolled(0), ["Everywhere               █", "  q       quit           █", "  Ctrl-U  half a page up │"]);
    assert_eq!(scrolled(2), ["  Ctrl-U  half a page up │", "Map                      █", "  Enter   take it        █"]);
    assert_eq!(scrolled(99), scrolled(2), "no further than the end");
}

/// A heading, row 0 in two lines, a blank, row 1.
#[test]
fn a_place_leads_to_the_row_whose_line_is_there() {
    let rows = [None, Some(0), Some(0), None, Some(1)];
    let lines = rows.map(|row| (Line::raw("line"), row)).into();
    let list = RowList { lines, cursor: Some(0), ..RowList::default() };
    let at = |list: &RowList, height, y| list.row_at(Rect::new(2, 1, 4, height), Position::new(3, y));
    let all: Vec<_> = (0..7).map(|y| at(&list, 5, y)).collect();
    assert_eq!(all, [None, None, Some(0), Some(0), None, Some(1), None]);
    assert_eq!(list.row_at(Rect::new(2, 1, 4, 5), Position::new(1, 2)), None, "beside it");
    // In two rows the last ones are seen once the cursor is there: the blank and row 1.
    let list = RowList { cursor: Some(1), ..list };
    assert_eq!([at(&list, 2, 1), at(&list, 2, 2)], [None, Some(1)]);
}

proptest! {
    #[test]
    fn any_size_and_any_items_draw(
        (width, height, x, y) in (0u16..100, 0u16..12, 0u16..40, 0u16..12),
        items in proptest::collection::vec(("\\PC{0,12}", "\\PC{0,30}"), 0..30),
        cursor in proptest::option::of(0usize..40),
        top in proptest::option::of(any::<usize>()),
        ascii: bool,
    ) {
        let mut buf = Buffer::empty(Rect::new(0, 0, 60, 10));
        let area = Rect::new(x, y, width, height);
        for lines in [choices(theme(ascii), &items, width.into()), key_lines(theme(ascii), items.clone())] {
            let list = RowList { theme: theme(ascii), lines, cursor, focused: true, marked: true, top, scrollbar: true };
            list.render(area, &mut buf);
            list.row_at(area, Position::new(x, y));
        }
    }
}

/// Turned over, each colour of a line would be a ground of its own.
#[test]
fn the_chosen_row_has_one_ground() {
    let theme = Theme::new(Caps { depth: Depth::True, ..Caps::default() });
    let line =
        || Line::from(vec![Span::raw(" fsdp "), Span::styled("+69 %", theme.style(Role::Good)), Span::raw(" 4")]);
    let list =
        RowList { theme, lines: numbered([line(), line()]), cursor: Some(1), focused: true, ..RowList::default() };
    let buf = drawn(&list, (14, 2));
    let looks = |row: u16| (0..14).map(|column| buf[(column, row)].style()).collect::<std::collections::HashSet<_>>();
    assert_eq!((looks(0).len(), looks(1).len()), (2, 1), "{buf:?}");
}
