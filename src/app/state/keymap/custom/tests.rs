use crossterm::event::KeyEvent;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::app::Panel;

const MAP: KeyPlace = KeyPlace::Panel(Panel::Map);

fn custom(text: &str) -> Result<Keymap, Vec<Problem>> {
    Keymap::custom(&text.parse::<Table>().unwrap())
}

/// The documented keys, without the marks of comments.
fn settings() -> String {
    let lines = documented();
    let lines = lines.lines().filter_map(|line| line.strip_prefix("# "));
    lines.filter(|line| line.starts_with('[') || line.ends_with("\"]")).flat_map(|line| [line, "\n"]).collect()
}

fn press(keymap: &Keymap, place: KeyPlace, code: KeyCode) -> Option<Action> {
    keymap.action(place, KeyEvent::new(code, KeyModifiers::NONE))
}

fn wrong(text: &str) -> String {
    custom(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_wish_changes_nothing() {
    assert_eq!(custom("").unwrap(), Keymap::default());
}

#[test]
fn a_key_is_changed_at_one_place() {
    let keymap = custom("[map]\ntune = \"a\"").unwrap();
    assert_eq!(press(&keymap, MAP, KeyCode::Char('a')), Some(Action::Tune));
    assert_eq!(press(&keymap, MAP, KeyCode::Char('t')), None);
    let shown = keymap.hints(MAP).find(|line| line.asks(Action::Tune)).unwrap();
    assert_eq!(shown.name(false), "a", "the footer says the new key");
}

#[test]
fn a_key_is_changed_wherever_the_action_is_known() {
    let keymap = custom("down = [\"down\", \"alt-n\"]\nup = [\"up\", \"alt-e\"]").unwrap();
    let alt = |place, letter| keymap.action(place, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::ALT));
    for place in [MAP, KeyPlace::Help, KeyPlace::List, KeyPlace::Panel(Panel::Inputs)] {
        assert_eq!(alt(place, 'n'), Some(Action::Down), "{place:?}");
        assert_eq!(press(&keymap, place, KeyCode::Up), Some(Action::Up), "{place:?}");
        assert_ne!(press(&keymap, place, KeyCode::Char('j')), Some(Action::Down), "{place:?}");
    }
    let scroll = keymap.help(KeyPlace::Help).next().unwrap().1[0].clone();
    assert_eq!((scroll.name(false), scroll.name(true)), ("↑↓".to_owned(), "Up Down".to_owned()));
    assert_eq!(scroll.text(), "previous and next line (also Alt-e and Alt-n)");
}

#[test]
fn letters_stay_text_where_one_types() {
    let keymap = custom("take = [\"enter\", \",\"]").unwrap();
    assert_eq!(press(&keymap, MAP, KeyCode::Char(',')), Some(Action::Take));
    for place in [KeyPlace::List, KeyPlace::Snapshots, KeyPlace::Palette, KeyPlace::Help] {
        assert!(matches!(press(&keymap, place, KeyCode::Char(',')), Some(Action::Type(_))), "{place:?}");
    }
}

/// Lists had keys for a search of their own before typing filtered them.
#[test]
fn a_file_with_keys_for_the_search_of_lists_is_still_read() {
    let keymap = custom("[lists]\nsearch = \"/\"\n[search-in-a-list]\ntake = [\"enter\", \"alt-t\"]").unwrap();
    let alt = KeyEvent::new(KeyCode::Char('t'), KeyModifiers::ALT);
    assert_eq!(keymap.action(KeyPlace::List, alt), Some(Action::Take));
}

#[test]
fn there_is_always_a_way_out() {
    let keymap = custom("quit = \"Q\"").unwrap();
    for place in places() {
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(keymap.action(place, interrupt), Some(Action::Quit), "{place:?}");
    }
    assert_eq!(press(&keymap, MAP, KeyCode::Char('q')), None);
}

#[test]
fn what_cannot_be_is_refused_with_its_field_and_what_would_be_right() {
    for (text, parts) in [
        ("pin = \"qq\"", &["keys.pin: 'qq' is not a key", "ctrl-c", "pgdn"][..]),
        ("pin = \"ctrl-i\"", &["keys.pin: a terminal sends the same for ctrl-i and Tab"]),
        ("pin = 7", &["keys.pin: write a key or a list of keys"]),
        ("pin = []", &["keys.pin: write a key or a list of keys"]),
        ("fly = \"f\"", &["keys.fly: there is no such action here; use ", "pin", "next-panel", "view-limits"]),
        ("[map]\npin = \"z\"", &["keys.map.pin: there is no such action here; use ", "tune"]),
        ("[moon]\npin = \"z\"", &["keys.moon: there is no such place; use everywhere, scenario, map"]),
        ("[map]\ntune = \"o\"", &["keys.map.tune: o already means", "contour"]),
        ("pin = \"c\"", &["keys.pin: c already means", "compare"]),
        ("[map]\ntune = \"u\"", &["keys.map.tune: u already means 'undo the last change' (everywhere)"]),
        ("[command-palette]\ntake = \"x\"", &["keys.command-palette.take: characters are typed as text here"]),
    ] {
        let message = wrong(text);
        for part in parts {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
    }
}

#[test]
fn the_documented_keys_are_the_table() {
    let text = settings();
    let table: Table = text.parse().unwrap();
    let keymap = Keymap::custom(table["keys"].as_table().unwrap()).unwrap();
    assert_eq!(keymap.lines(), &TABLE[..]);
}

#[test]
fn the_names_of_keys_read_back() {
    for (_, binding) in bindings(&TABLE) {
        for key in &binding.keys {
            assert_eq!(names::key(&names::name(*key)), Ok(*key));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_configuration_is_taken_or_refused_in_printable_words(
        at: Index,
        length in 0_usize..12,
        put in select(&["", "=", "[", "]]", "\"", "ctrl-", "\u{1b}", "\0", "é", "\n[keys.map]\n", "9e999", "quit", "#"][..]),
    ) {
        let mut text: Vec<char> = settings().chars().collect();
        let from = at.index(text.len());
        let to = (from + length).min(text.len());
        text.splice(from..to, put.chars());
        let text: String = text.into_iter().collect();
        let Ok(table) = text.parse::<Table>() else { return Ok(()) };
        let Some(keys) = table.get("keys").and_then(Value::as_table) else { return Ok(()) };
        match Keymap::custom(keys) {
            Ok(keymap) => {
                let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                prop_assert_eq!(keymap.action(MAP, interrupt), Some(Action::Quit));
            }
            Err(problems) => prop_assert!(problems.iter().all(|one| one.field.starts_with("keys.") && !one.what.is_empty())),
        }
    }
}
