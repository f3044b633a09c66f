use proptest::prelude::*;
use ratatui::style::Modifier;

use super::*;
use crate::ui::caps::{Caps, Depth};

fn theme(ascii: bool) -> Theme {
    Theme::new(Caps { depth: Depth::None, ascii, ..Caps::default() })
}

fn items(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, note)| ((*name).to_string(), (*note).to_string())).collect()
}

fn drawn(picker: &Picker, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    picker.render(buf.area, &mut buf);
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    crate::ui::export::text(buf).lines().map(str::to_string).collect()
}

#[test]
fn names_and_notes_stand_in_columns_and_the_chosen_row_is_marked() {
    let items = items(&[("fsdp", "over all ranks"), ("zero-topo", "weights in the package")]);
    let buf = drawn(&Picker::new(theme(false), &items).selected(Some(1)), 30, 2);
    assert_eq!(lines(&buf), ["  fsdp       over all ranks", "▸ zero-topo  weights in the p…"]);
    assert!(buf[(3, 1)].modifier.contains(Modifier::REVERSED) && !buf[(3, 0)].modifier.contains(Modifier::REVERSED));
    let ascii = drawn(&Picker::new(theme(true), &items).selected(Some(1)), 30, 2);
    assert_eq!(lines(&ascii)[1], "> zero-topo  weights in the p~");
}

#[test]
fn it_scrolls_to_the_chosen_row_and_says_where_it_is() {
    let names: Vec<(String, String)> = (0..20).map(|index| (format!("item {index}"), String::new())).collect();
    let top = lines(&drawn(&Picker::new(theme(false), &names).selected(Some(0)), 12, 4));
    assert_eq!(top, ["▸ item 0   █", "  item 1   │", "  item 2   │", "  item 3   │"]);
    let end = lines(&drawn(&Picker::new(theme(false), &names).selected(Some(19)), 12, 4));
    assert_eq!(end, ["  item 16  │", "  item 17  │", "  item 18  │", "▸ item 19  █"]);
}

proptest! {
    #[test]
    fn any_size_and_any_items_draw(
        (width, height, x, y) in (0u16..100, 0u16..12, 0u16..40, 0u16..12),
        items in proptest::collection::vec(("\\PC{0,12}", "\\PC{0,30}"), 0..30),
        selected in proptest::option::of(0usize..40),
        ascii: bool,
    ) {
        let mut buf = Buffer::empty(Rect::new(0, 0, 60, 10));
        Picker::new(theme(ascii), &items).selected(selected).render(Rect::new(x, y, width, height), &mut buf);
    }
}
