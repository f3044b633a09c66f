//! No panic at any size, after any keys.

use super::*;

/// Keys that lead everywhere.
const KEYS: [&str; 54] = [
    "h", "j", "k", "l", "g", "G", "<pgup>", "<pgdn>", "<c-u>", "<c-d>", "<tab>", "<s-tab>", "1", "2", "3", "4",
    "<ret>", "<esc>", "+", "-", "0", "m", "b", "p", "e", "?", "/", "v", "L", "F", "H", "I", "9", "é", "<bs>", "<left>",
    "<right>", "<up>", "<down>", "c", "W", "S", "M", "o", ":", "s", "i", "u", "U", "w", "!", "&", "5", "x",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn plan_and_evidence_are_drawn_on_any_size(size in (0_u16..=300, 0_u16..=100), keys in vec(select(&["[", "]", "j"][..]), 0..12)) {
        shown(fixture::planned(), &keys.concat(), UTF8, size);
        shown(fixture::evidence(), &keys.concat(), UTF8, size);
    }

    #[test]
    fn nothing_panics_at_any_size_after_any_keys(
        keys in vec(select(&KEYS[..]), 0..12),
        sizes in vec((0_u16..=500, 0_u16..=200), 1..3),
        narrow in (0_u16..=45, 0_u16..=45),
        depth in select(&[Depth::None, Depth::C16, Depth::C256, Depth::True][..]),
        markers in select(&[Markers::Braille, Markers::Block, Markers::Dot][..]),
        switches: (bool, bool),
        pointer in (0_u16..=220, 0_u16..=60),
    ) {
        let (ascii, light) = switches;
        let caps = Caps { ascii, depth, light, markers, low_bandwidth: false };
        let mut app = engine::explorer();
        // What is typed is the user's own: it stays as it is, on a terminal that is only sent ASCII too.
        let ascii = ascii && keys.iter().all(|key| key.is_ascii());
        for key in keys {
            engine::press(&mut app, key);
            screen(&app, caps, narrow);
            let target = crate::ui::pointing::target(&app, &caps, (120, 40), pointer);
            app.point(target, Gesture::Click);
            engine::follow(&mut app);
        }
        for size in sizes {
            let shown = screen(&app, caps, size);
            if ascii {
                prop_assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
            }
            if depth == Depth::None {
                let plain = |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
                prop_assert!(shown.buffer().content.iter().all(plain));
            }
        }
    }
}
