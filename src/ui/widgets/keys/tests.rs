use proptest::prelude::*;
use ratatui::style::Modifier;

use super::*;
use crate::ui::caps::{Caps, Depth};

fn theme() -> Theme {
    Theme::new(Caps { depth: Depth::None, ..Caps::default() })
}

fn rows() -> Vec<(String, String)> {
    [("", "Everywhere"), ("q", "quit"), ("Ctrl-U", "half a page up"), ("", "Map"), ("Enter", "take the cell")]
        .map(|(keys, what)| (keys.to_string(), what.to_string()))
        .to_vec()
}

fn drawn(table: &KeyTable, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    table.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

#[test]
fn keys_stand_under_their_headings() {
    let rows = rows();
    let buf = drawn(&KeyTable::new(theme(), &rows), 30, 5);
    assert_eq!(
        lines(&buf),
        ["Everywhere", "  q       quit", "  Ctrl-U  half a page up", "Map", "  Enter   take the cell"]
    );
    assert!(buf[(0, 0)].modifier.contains(Modifier::BOLD) && !buf[(10, 1)].modifier.contains(Modifier::BOLD));
}

#[test]
fn it_scrolls_no_further_than_its_end() {
    let rows = rows();
    let shown = |offset| lines(&drawn(&KeyTable::new(theme(), &rows).offset(offset), 26, 3));
    assert_eq!(shown(0), ["Everywhere               █", "  q       quit           █", "  Ctrl-U  half a page up │"]);
    assert_eq!(shown(2), ["  Ctrl-U  half a page up │", "Map                      █", "  Enter   take the cell  █"]);
    assert_eq!(shown(99), shown(2));
}

proptest! {
    #[test]
    fn any_size_and_any_rows_draw(
        (width, height, x, y) in (0u16..100, 0u16..12, 0u16..40, 0u16..12),
        rows in proptest::collection::vec(("\\PC{0,12}", "\\PC{0,30}"), 0..30),
        offset: usize,
    ) {
        let mut buf = Buffer::empty(Rect::new(0, 0, 60, 10));
        KeyTable::new(theme(), &rows).offset(offset).render(Rect::new(x, y, width, height), &mut buf);
    }
}
