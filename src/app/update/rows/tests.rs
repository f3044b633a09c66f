//! Searching rows: what is found, where the cursor goes, and how one comes back.

use super::*;
use crate::app::Panel;
use crate::app::action::keys::KeyPlace;
use crate::app::layer::Layer;
use crate::app::layer::page::Finding;
use crate::app::tests::{explorer, press, to_field};
use crate::app::views::View;
use crate::app::views::panels::breakdown;

/// The label of the field that has the keys.
fn label(app: &App) -> &'static str {
    app.inputs.row().label()
}

#[test]
fn a_field_is_found_by_a_part_of_its_name_and_taken() {
    let mut app = explorer();
    press(&mut app, "1g/recomp");
    assert_eq!((app.place(), label(&app)), (KeyPlace::Find, "recompute"));
    press(&mut app, "<ret>");
    assert_eq!((app.place(), label(&app)), (KeyPlace::List, "recompute"));
    press(&mut app, "<esc>");
    assert_eq!((app.place(), label(&app)), (KeyPlace::Panel(Panel::Inputs), "recompute"));
    // Figures have no value to change.
    press(&mut app, "5g/step<ret>");
    assert_eq!(app.place(), KeyPlace::Panel(Panel::Time));
}

#[test]
fn a_field_that_is_folded_away_is_found_too() {
    let mut app = explorer();
    press(&mut app, "1g/nothing has this");
    press(&mut app, "<esc>/examp<ret>");
    assert_eq!((app.place(), label(&app)), (KeyPlace::Entry, "examples"));
    press(&mut app, "50000<ret>");
    assert_eq!(app.scenario.plan.examples, Some(50_000));
}

#[test]
fn escape_brings_the_cursor_back_and_so_does_a_text_that_is_nowhere() {
    let mut app = explorer();
    press(&mut app, "1gjjjjj/recomp");
    assert_eq!(label(&app), "recompute");
    press(&mut app, "xyz");
    assert_eq!((label(&app), app.find.as_ref().unwrap().place), ("stack", (0, 0)));
    press(&mut app, "<bs><bs><bs>");
    assert_eq!(label(&app), "recompute");
    press(&mut app, "<esc>");
    assert_eq!((label(&app), app.find.is_none()), ("stack", true));
}

#[test]
fn arrows_go_from_match_to_match_and_round() {
    let mut app = explorer();
    // The last three switches of ZeRO++: qwZ, hpZ, qgZ.
    for name in ["hpZ", "qwZ"] {
        to_field(&mut app, name);
    }
    press(&mut app, "1g/qwz");
    let mut seen = vec![label(&app)];
    for _ in 0..2 {
        press(&mut app, "<down>");
        seen.push(label(&app));
    }
    let count = app.find.as_ref().unwrap().place.1;
    assert!(seen.contains(&"qwZ"), "{seen:?}");
    let first = seen[0];
    for _ in 2..count {
        press(&mut app, "<down>");
    }
    assert_eq!((label(&app), app.find.as_ref().unwrap().place.0), (first, 1), "round to the first");
    press(&mut app, "<up>");
    assert_eq!(app.find.as_ref().unwrap().place.0, count, "and back to the last");
}

#[test]
fn the_search_goes_on_from_the_cursor() {
    let mut app = explorer();
    // "seq" stands in the sequence and in nothing before it; from below it goes round.
    press(&mut app, "1G/seq");
    assert_eq!(label(&app), "seq");
}

#[test]
fn every_list_finds_its_last_row_by_its_own_words() {
    let mut app = explorer();
    for keys in ["1", "5", "W", "L", "I", "S", "T", "D", "P", "E", "!", "1a", "i", "pc"] {
        app.layer = None;
        press(&mut app, keys);
        if keys == "!" {
            let finding = |value: &str| Finding::new("size", value, "because", "");
            app.diagnose((0..40).map(|number| finding(&format!("number {number}"))).collect());
        }
        press(&mut app, "g");
        let (rows, _) = app.rows().unwrap_or_else(|| panic!("{keys} has no rows"));
        let last = rows.last().unwrap().to_lowercase();
        press(&mut app, "/");
        assert_eq!(app.place(), KeyPlace::Find, "{keys}");
        press(&mut app, &last.replace('<', "<lt>"));
        let find = app.find.as_ref().unwrap();
        let row = find.row.unwrap_or_else(|| panic!("{keys}: '{last}' is not found"));
        assert!(rows[row].to_lowercase().contains(&last), "{keys}");
        let (_, cursor) = app.rows().unwrap();
        assert!(cursor == row || matches!(app.layer, Some(Layer::Diagnostics(..))), "{keys}");
        press(&mut app, "<ret>");
        assert!(app.find.is_none(), "{keys}");
    }
}

#[test]
fn where_there_are_no_rows_it_says_so() {
    let mut app = explorer();
    for keys in ["2", "3", "4", "H"] {
        press(&mut app, keys);
        press(&mut app, "/");
        assert!(app.find.is_none() && app.notice.as_ref().unwrap().contains("no rows"), "{keys}");
    }
}

#[test]
fn escape_brings_the_cursor_back_to_a_row_that_is_still_there() {
    let mut app = explorer();
    press(&mut app, "5G/");
    app.answer = None;
    let rows = breakdown(app.answer.as_ref()).len();
    press(&mut app, "<esc>");
    assert_eq!(app.time.cursor(&app.context()), rows.saturating_sub(1));
}

#[test]
fn pages_lead_through_every_list_from_end_to_end() {
    let mut app = explorer();
    for keys in ["1", "5", "W", "L", "I", "S", "P", "E"] {
        press(&mut app, keys);
        let last = app.rows().unwrap().0.len() - 1;
        for (key, end) in [("<pgdn>", last), ("<pgup>", 0), ("<c-d>", last), ("<c-u>", 0)] {
            for _ in 0..=last {
                press(&mut app, key);
            }
            assert_eq!(app.rows().unwrap().1, end, "{key} of {keys}");
        }
    }
}
