//! What lies over the panels, at the three sizes and in ASCII.

use super::*;
use crate::app::action::Action;
use crate::app::layer::Layer;
use crate::app::layer::first_start::FirstStart;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

/// A screen after some keys, at each size, and in ASCII without colours at the smallest.
fn everywhere(name: &str, app: &dyn Fn() -> App, keys: &str) {
    for size in SIZES {
        let at = format!("{name}_{}x{}", size.0, size.1);
        insta::assert_snapshot!(at, shown(app(), keys, UTF8, size));
    }
    let ascii = shown(app(), keys, ASCII, SIZES[0]);
    assert!(ascii.buffer().content.iter().all(|cell| cell.symbol().is_ascii()), "{name}");
    insta::assert_snapshot!(format!("{name}_ascii"), ascii);
}

#[test]
fn an_explanation() {
    everywhere("explain", &fixture::explorer, "mmij");
}

#[test]
fn an_explanation_that_scrolls() {
    insta::assert_snapshot!(after("iG", (80, 14)));
}

#[test]
fn the_rows_of_the_time() {
    insta::assert_snapshot!(after("5jj", (80, 24)));
}

#[test]
fn the_commands() {
    everywhere("commands", &fixture::explorer, ":");
}

#[test]
fn the_commands_that_a_search_finds() {
    insta::assert_snapshot!(after(":exp", (80, 24)));
}

#[test]
fn a_comparison_of_two() {
    everywhere("compare_two", &|| fixture::compared(2), "");
}

#[test]
fn a_comparison_of_six() {
    everywhere("compare_six", &|| fixture::compared(6), "");
}

#[test]
fn a_comparison_of_more_scrolls_beside_the_first() {
    insta::assert_snapshot!(shown(fixture::compared(9), "hhjj", UTF8, (80, 24)));
}

#[test]
fn a_comparison_of_nothing_says_what_to_do() {
    insta::assert_snapshot!(after("c", (80, 24)));
}

#[test]
fn advice() {
    everywhere("advice", &fixture::advised, "");
}

#[test]
fn snapshots_and_sets() {
    everywhere("snapshots", &|| fixture::browsing(&[Action::Down]), "");
}

#[test]
fn a_file_that_is_to_be_deleted() {
    insta::assert_snapshot!(screen(&fixture::browsing(&[Action::Remove]), UTF8, (80, 24)));
}

#[test]
fn a_file_that_cannot_be_opened() {
    insta::assert_snapshot!(screen(&fixture::browsing(&[Action::Last]), UTF8, (80, 24)));
}

#[test]
fn the_map_with_contour_and_tuned_cells() {
    everywhere("map_contour", &fixture::explorer, "o");
    insta::assert_snapshot!(screen(&fixture::tuned(), UTF8, (80, 24)));
}

#[test]
fn what_was_found_out_about_the_terminal() {
    let variables = [("TERM", "xterm-256color"), ("LANG", "de_DE.UTF-8")];
    let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let diagnosed = || {
        let mut app = fixture::explorer();
        app.diagnose(Caps::found(&env, crate::ui::caps::Overrides::default()).1);
        app
    };
    everywhere("diagnostics", &diagnosed, "");
}

#[test]
fn the_caveats_of_what_is_shown() {
    everywhere("caveats", &fixture::explorer, "!");
}

#[test]
fn the_forms_in_which_the_screen_is_written() {
    insta::assert_snapshot!(after("w", (80, 24)));
}

#[test]
fn the_form_of_a_cluster() {
    everywhere("the_form_of_a_cluster", &fixture::edited, "");
}

#[test]
fn the_card_of_the_first_start() {
    let first = || {
        let mut app = fixture::explorer();
        app.layer = Some(Layer::FirstStart(FirstStart));
        app
    };
    everywhere("first_start", &first, "");
}

#[test]
fn the_gallery() {
    insta::assert_snapshot!(after("K", (80, 24)));
}

#[test]
fn clusters_with_what_decides() {
    insta::assert_snapshot!(after("1g<ret>frontier", (80, 24)));
}

#[test]
fn stacks_with_what_they_are() {
    insta::assert_snapshot!(after("1gjjjjj<ret>", (80, 24)));
}

#[test]
fn a_path_being_typed() {
    insta::assert_snapshot!(after("Oconf", (80, 24)));
}
