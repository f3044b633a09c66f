//! What text alone does not show: colours, reversed cells.

use super::*;

#[test]
fn the_cursor_is_reversed_without_colours() {
    let shown = screen(&fixture::explorer(), Caps { depth: Depth::None, ..UTF8 }, (120, 40));
    let reversed = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED);
    let text: String = shown.buffer().content.iter().filter(reversed).map(ratatui::buffer::Cell::symbol).collect();
    // Row `package`, column 48 nodes: 66 - 6 - 4.
    assert!(text.contains("56"), "{text:?}");
}

/// The style runs of a few rows: what text alone does not show.
fn styles(app: &App, caps: Caps, rows: std::ops::Range<u16>) -> ratatui::buffer::Buffer {
    let shown = screen(app, caps, (80, 24));
    let mut crop = ratatui::buffer::Buffer::empty(Rect::new(0, 0, 80, rows.end - rows.start));
    for (to, from) in rows.enumerate() {
        for x in 0..80 {
            crop[(x, to as u16)] = shown.buffer()[(x, from)].clone();
        }
    }
    crop
}

#[test]
fn the_cursors_cell_and_its_neighbours_by_style_at_each_depth() {
    for depth in [Depth::None, Depth::C16, Depth::C256, Depth::True] {
        let crop = styles(&fixture::explorer(), Caps { depth, ..UTF8 }, 6..8);
        insta::assert_debug_snapshot!(format!("styles_of_the_map_{}", depth.name()), crop);
    }
}

#[test]
fn the_chosen_item_of_a_list_by_style() {
    let mut app = fixture::explorer();
    engine::press(&mut app, "v");
    insta::assert_debug_snapshot!("styles_of_a_list", styles(&app, UTF8, 8..10));
}

#[test]
fn screens_in_each_depth_say_the_same() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let text = |depth| crate::ui::export::text(screen(&fixture::explorer(), Caps { depth, ..UTF8 }, size).buffer());
        // Where cells are filled with colour, no shade stands beside the number; else the texts are the same.
        assert_eq!(text(Depth::C256), text(Depth::True));
        assert_eq!(text(Depth::None), text(Depth::C16));
        let numbers = |text: String| -> Vec<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
        };
        assert_eq!(numbers(text(Depth::None)), numbers(text(Depth::True)));
    }
}
