//! The table of keys.

use crate::app::action::Action;
use crate::app::panel::Panel;
use crate::app::panel::ViewId;
use crossterm::event::KeyEvent;
use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::InputRequest;

use super::*;

fn action(place: Place, key: KeyEvent) -> Option<Action> {
    Keymap::default().action(place, key)
}

fn press(place: Place, code: KeyCode) -> Option<Action> {
    action(place, KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn no_key_has_two_meanings_in_one_place() {
    for (index, binding) in BINDINGS.iter().enumerate() {
        for other in &BINDINGS[..index] {
            let shared = binding.keys.iter().find(|key| other.keys.contains(key));
            assert!(binding.place != other.place || shared.is_none(), "{shared:?} twice in {:?}", binding.place);
        }
    }
}

#[test]
fn a_binding_without_words_stands_under_one_that_speaks_for_it() {
    assert!(!BINDINGS[0].help.is_empty());
    for pair in BINDINGS.windows(2) {
        let silent = pair[1].help.is_empty();
        assert!(!silent || pair[0].place == pair[1].place, "nobody speaks for {:?}", pair[1].action);
        assert!(!silent || pair[1].shown.0.is_empty() && pair[1].hint.is_empty(), "{:?} has no help", pair[1].action);
    }
}

#[test]
fn arrows_and_letters_do_the_same() {
    for place in [Place::Panel(Panel::Inputs), Place::Panel(Panel::Map), Place::Panel(Panel::Timeline)] {
        for (arrow, letter) in [(KeyCode::Left, 'h'), (KeyCode::Down, 'j'), (KeyCode::Up, 'k'), (KeyCode::Right, 'l')] {
            assert!(press(place, arrow).is_some(), "{place:?}");
            assert_eq!(press(place, arrow), press(place, KeyCode::Char(letter)), "{place:?} {letter}");
        }
    }
    for place in [Place::Help, Place::List] {
        assert_eq!(press(place, KeyCode::Up), press(place, KeyCode::Char('k')));
        assert_eq!(
            press(place, KeyCode::PageDown),
            action(place, KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL))
        );
    }
}

#[test]
fn escape_never_quits() {
    let places =
        Panel::ALL.map(Place::Panel).into_iter().chain([Place::Help, Place::List, Place::Search, Place::Entry]);
    for place in places {
        assert_eq!(press(place, KeyCode::Esc), Some(Action::Close), "{place:?}");
    }
}

#[test]
fn letters_are_text_where_one_types() {
    for place in [Place::Search, Place::Entry] {
        assert_eq!(press(place, KeyCode::Char('q')), Some(Action::Type(InputRequest::InsertChar('q'))));
        assert_eq!(press(place, KeyCode::Backspace), Some(Action::Type(InputRequest::DeletePrevChar)));
    }
}

#[test]
fn a_reported_shift_changes_nothing() {
    let map = Place::Panel(Panel::Map);
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
        assert!(BINDINGS.iter().all(|binding| !binding.keys.contains(&key)), "Ctrl-{letter}");
    }
}

#[test]
fn escape_closes_what_has_the_keys_and_quits_nothing() {
    let esc = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    for place in Place::all() {
        assert_eq!(action(place, esc), Some(Action::Close), "{place:?}");
    }
}

#[test]
fn ctrl_c_quits_and_ctrl_z_suspends_wherever_the_keys_go() {
    for place in Place::all() {
        let control = |letter| action(place, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        assert_eq!((control('c'), control('z')), (Some(Action::Quit), Some(Action::Suspend)), "{place:?}");
    }
}

#[test]
fn the_footer_names_the_metric_where_there_is_one() {
    let named = |place| Keymap::default().hints(place).any(|binding| binding.action == Action::Metric);
    assert!(
        named(Place::Panel(Panel::Map)) && named(Place::View(ViewId::Hardware)) && named(Place::View(ViewId::Plan))
    );
    assert!(!named(Place::View(ViewId::Traffic)) && !named(Place::View(ViewId::Limits)));
}

#[test]
fn the_readme_has_the_table_of_keys() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("<!-- keys: printed from the table -->\n").unwrap();
    let (shown, _) = rest.split_once("<!-- /keys -->").unwrap();
    assert_eq!(shown.trim(), markdown().trim(), "put into README.md what this prints:\n{}", markdown());
}

/// The help on 80 columns: two of a frame on each side, thirteen of keys, one of a scroll bar.
#[test]
fn the_help_fits_on_80_columns() {
    let long: Vec<&str> =
        BINDINGS.iter().map(|binding| &*binding.help).filter(|help| help.chars().count() > 62).collect();
    assert!(long.is_empty(), "{long:#?}");
}
