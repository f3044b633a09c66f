//! The table of keys.

use crate::app::action::Action;
use crate::app::action::keys::{KeyLine, KeyPlace, KeyStroke};
use crate::app::action::panel::Panel;
use crate::app::views;
use crossterm::event::KeyEvent;
use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::InputRequest;

use super::*;

fn action(place: KeyPlace, key: KeyEvent) -> Option<Action> {
    Keymap::default().action(place, key)
}

fn press(place: KeyPlace, code: KeyCode) -> Option<Action> {
    action(place, KeyEvent::new(code, KeyModifiers::NONE))
}

/// The keys of a line, whatever they ask for.
fn keys(line: &KeyLine) -> impl Iterator<Item = &KeyStroke> {
    line.bindings.iter().flat_map(|binding| &binding.keys)
}

#[test]
fn no_key_has_two_meanings_in_one_place() {
    for place in places() {
        let mut known: Vec<&KeyStroke> = Vec::new();
        for key in TABLE.iter().filter(|line| line.place == place).flat_map(keys) {
            assert!(!known.contains(&key), "{key:?} twice in {place:?}");
            known.push(key);
        }
    }
}

#[test]
fn every_line_has_keys_and_words() {
    for line in TABLE.iter() {
        assert!(!line.help.is_empty() && !line.name(true).is_empty(), "{line:?}");
        assert!(line.bindings.iter().all(|binding| !binding.keys.is_empty()), "a name that is no key: {line:?}");
    }
}

#[test]
fn keys_that_belong_together_are_named_together() {
    let line = |place, action| TABLE.iter().find(|line| line.place == place && line.asks(action)).unwrap();
    let rows = line(KeyPlace::Panel(Panel::Time), Action::Up);
    assert_eq!((rows.name(false), rows.name(true)), ("↑↓".to_owned(), "Up Down".to_owned()));
    assert_eq!(rows.text(), "previous and next figure (also k and j)");
    let around = line(KeyPlace::Panel(Panel::Map), Action::Up);
    assert_eq!((around.name(false), around.name(true)), ("←↓↑→".to_owned(), "Arrows".to_owned()));
    assert_eq!(line(KeyPlace::Panels, Action::Quit).text(), "quit; start with --fresh to begin anew (also ^C)");
}

#[test]
fn arrows_and_letters_do_the_same() {
    for place in [KeyPlace::Panel(Panel::Inputs), KeyPlace::Panel(Panel::Map), KeyPlace::Panel(Panel::Timeline)] {
        for (arrow, letter) in [(KeyCode::Left, 'h'), (KeyCode::Down, 'j'), (KeyCode::Up, 'k'), (KeyCode::Right, 'l')] {
            assert!(press(place, arrow).is_some(), "{place:?}");
            assert_eq!(press(place, arrow), press(place, KeyCode::Char(letter)), "{place:?} {letter}");
        }
    }
    assert_eq!(press(KeyPlace::Page, KeyCode::Up), press(KeyPlace::Page, KeyCode::Char('k')));
}

/// Where a list is filtered by what is typed, no character does anything else, and keys that are none move.
#[test]
fn every_character_is_text_in_a_list_to_choose_from() {
    for place in [KeyPlace::List, KeyPlace::Snapshots, KeyPlace::Palette, KeyPlace::Help] {
        for letter in ' '..='~' {
            let typed = Some(Action::Type(InputRequest::InsertChar(letter)));
            assert_eq!(press(place, KeyCode::Char(letter)), typed, "{place:?} {letter}");
        }
        let control = |letter| action(place, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        let ways = [
            (KeyCode::Up, 'p', Action::Up),
            (KeyCode::Down, 'n', Action::Down),
            (KeyCode::PageUp, 'u', Action::PageUp),
            (KeyCode::PageDown, 'd', Action::PageDown),
        ];
        for (key, letter, way) in ways {
            assert_eq!((press(place, key), control(letter)), (Some(way), Some(way)), "{place:?}");
        }
        assert_eq!(
            (press(place, KeyCode::Home), press(place, KeyCode::End)),
            (Some(Action::First), Some(Action::Last))
        );
    }
}

#[test]
fn escape_never_quits() {
    let places = Panel::ALL.map(KeyPlace::Panel).into_iter().chain([KeyPlace::Help, KeyPlace::List, KeyPlace::Entry]);
    for place in places {
        assert_eq!(press(place, KeyCode::Esc), Some(Action::Close), "{place:?}");
    }
}

#[test]
fn letters_are_text_where_one_types() {
    for place in [KeyPlace::Find, KeyPlace::Entry] {
        assert_eq!(press(place, KeyCode::Char('q')), Some(Action::Type(InputRequest::InsertChar('q'))));
        assert_eq!(press(place, KeyCode::Backspace), Some(Action::Type(InputRequest::DeletePrevChar)));
    }
}

#[test]
fn a_reported_shift_changes_nothing() {
    let map = KeyPlace::Panel(Panel::Map);
    for modifiers in [KeyModifiers::NONE, KeyModifiers::SHIFT] {
        assert_eq!(action(map, KeyEvent::new(KeyCode::Char('G'), modifiers)), Some(Action::Last));
        assert_eq!(action(map, KeyEvent::new(KeyCode::Char('?'), modifiers)), Some(Action::Help));
        assert_eq!(action(map, KeyEvent::new(KeyCode::BackTab, modifiers)), Some(Action::PreviousPanel));
    }
}

#[test]
fn keys_of_multiplexers_and_flow_control_are_left_alone() {
    // tmux and screen: B, A; zellij: G, O, P, T, N; Tab, Enter and Backspace: I, J, M, H; flow control: S, Q.
    for letter in "bagoptnijmhsq".chars() {
        let key = (KeyCode::Char(letter), KeyModifiers::CONTROL);
        // Beside an arrow it may be a habit of other lists.
        let only = TABLE.iter().flat_map(|line| &line.bindings).filter_map(|binding| binding.keys.first());
        assert!(only.into_iter().all(|known| *known != key), "Ctrl-{letter}");
    }
}

#[test]
fn escape_closes_what_has_the_keys_and_quits_nothing() {
    let esc = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    for place in places() {
        assert_eq!(action(place, esc), Some(Action::Close), "{place:?}");
    }
}

#[test]
fn ctrl_c_quits_and_ctrl_z_suspends_wherever_the_keys_go() {
    for place in places() {
        let control = |letter| action(place, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        assert_eq!((control('c'), control('z')), (Some(Action::Quit), Some(Action::Suspend)), "{place:?}");
    }
}

#[test]
fn the_footer_names_the_metric_where_there_is_one() {
    let named = |place| Keymap::default().hints(place).any(|line| line.asks(Action::Metric));
    assert!(
        named(KeyPlace::Panel(Panel::Map))
            && named(KeyPlace::View(views::hardware::SPEC.id))
            && named(KeyPlace::View(views::plan::SPEC.id))
    );
    assert!(!named(KeyPlace::View(views::traffic::SPEC.id)) && !named(KeyPlace::View(views::limits::SPEC.id)));
}

#[test]
fn the_guide_has_the_table_of_keys() {
    let chapter = include_str!("../../../../docs/keys.md");
    for (name, table) in [("keys", panels_markdown()), ("views", views_markdown())] {
        let (_, rest) = chapter.split_once(&format!("<!-- {name}: printed from the table -->\n")).unwrap();
        let (shown, _) = rest.split_once(&format!("<!-- /{name} -->")).unwrap();
        assert_eq!(shown.trim(), table.trim(), "put into docs/keys.md what this prints:\n{table}");
    }
}

/// The help on 80 columns: two of a frame on each side, thirteen of keys, one of a scroll bar.
#[test]
fn the_help_fits_on_80_columns() {
    let long: Vec<String> = TABLE.iter().map(KeyLine::text).filter(|help| help.chars().count() > 62).collect();
    assert!(long.is_empty(), "{long:#?}");
    let wide: Vec<String> = TABLE.iter().map(|line| line.name(true)).filter(|keys| keys.len() > 13).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
