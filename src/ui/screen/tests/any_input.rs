//! Any size, any keys, and hostile text: nothing panics, and no cell holds what a terminal would obey.

use std::sync::Arc;

use super::*;
use shardscope_engine::scenario::Problem;

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

const HOSTILE: &str = "x\u{1b}]52;c;eA==\u{7}\u{9b}\u{202e}\u{200d}y\u{e0041}\u{fe0f}z\u{feff}";

fn hostile_explorer() -> App {
    let mut app = fixture::explorer();
    let spoil = |text: &mut String| text.push_str(HOSTILE);
    let scenario = &mut app.scenario;
    let cluster = Arc::make_mut(&mut scenario.cluster);
    spoil(&mut cluster.name);
    spoil(&mut cluster.source);
    spoil(&mut cluster.device.name);
    cluster.levels.iter_mut().for_each(|level| spoil(&mut level.name));
    spoil(&mut Arc::make_mut(&mut scenario.model).name);
    spoil(&mut Arc::make_mut(&mut scenario.stack).about);
    for id in [&mut app.file.cluster, &mut app.file.model, &mut app.file.strategy, &mut app.file.stack] {
        spoil(id);
    }
    app.shown = app.scenario.clone().into_checked();
    app.tell(HOSTILE.to_owned());
    app
}

fn is_clean(app: &App) {
    for (caps, size) in [(UTF8, (200, 50)), (ASCII, (80, 24))] {
        let shown = screen(app, caps, size);
        let text: String = shown.buffer().content.iter().map(ratatui::buffer::Cell::symbol).collect();
        let found = text.chars().find(|c| c.is_control() || HOSTILE[1..].chars().any(|h| h == *c && !h.is_ascii()));
        assert_eq!(found, None, "{text}");
    }
}

#[test]
fn no_cell_holds_hostile_text() {
    for view in crate::app::views::SPECS.map(|spec| spec.id) {
        let mut app = hostile_explorer();
        app.update(Action::View(view));
        is_clean(&app);
    }
    for keys in ["?", "v", ":", "p", "i", "2i", "5i", "w", "1/"] {
        let mut app = hostile_explorer();
        engine::press(&mut app, keys);
        is_clean(&app);
    }
    let mut app = hostile_explorer();
    app.shown = Err(vec![Problem { field: HOSTILE.to_owned(), what: HOSTILE.to_owned(), fix: HOSTILE.to_owned() }]);
    is_clean(&app);
}
