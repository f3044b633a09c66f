//! What the explorer promises a person at a terminal, promise by promise, and the tests that hold each.
//!
//! The promises were collected from what went wrong in other programs. Names of tests are looked up in the source: a
//! promise whose test was renamed or removed is found here.

use std::fs;
use std::path::Path;

/// A promise, and the tests that hold it.
type Promise = (&'static str, &'static [&'static str]);

const COLOUR: &[Promise] = &[
    (
        "colours without COLORTERM, which SSH does not pass on",
        &["term_and_colorterm_decide_the_depth", "twelve_terminals"],
    ),
    (
        "the depth can be chosen, up and down, and diagnostics say what was found",
        &[
            "what_the_user_says_wins",
            "the_command_line_wins_over_the_environment",
            "the_findings_say_what_led_to_them_and_how_to_change_it",
            "the_diagnostics_say_what_was_found_and_how_to_change_it",
        ],
    ),
    ("no RGB on a terminal of 256 colours", &["no_depth_gets_colours_that_it_lacks", "twelve_terminals"]),
    (
        "ladders of 256 and 16 colours that only get lighter, with the number in each cell",
        &["the_heat_ramp_only_gets_lighter", "numbers_read_on_every_shade", "cells_say_what_they_are_without_colour"],
    ),
    (
        "NO_COLOR takes colours and leaves the cursor",
        &[
            "no_color_counts_only_when_it_is_not_empty",
            "without_colour_the_cursor_is_still_reversed",
            "shades_are_blank_only_at_nothing_and_full_at_the_top",
            "screens_in_each_depth_say_the_same",
        ],
    ),
    (
        "text and ground are the terminal's own, readable on light and dark",
        &["text_and_ground_stay_the_terminals_own", "tones_read_on_their_background_and_survive_on_the_other"],
    ),
    ("the ground is not asked for", &["it_never_asks_the_terminal_anything", "colorfgbg_tells_a_light_background"]),
    (
        "nothing is said by colour alone",
        &[
            "without_colours_good_and_bad_still_differ",
            "colours_repeat_what_the_marks_say",
            "screens_in_each_depth_say_the_same",
        ],
    ),
];

const GLYPHS: &[Promise] = &[
    ("braille, half blocks, dots or ASCII", &["curves_are_drawn_with_the_markers_that_are_asked_for"]),
    (
        "frames, bars and hints in ASCII",
        &[
            "every_mark_is_one_column_and_its_twin_is_ascii",
            "ascii_says_the_same",
            "nothing_panics_at_any_size_after_any_keys",
        ],
    ),
    (
        "LC_ALL, LC_CTYPE, LANG in this order; any other locale gets ASCII and a start",
        &["the_first_locale_that_is_set_decides_the_glyphs", "twelve_terminals"],
    ),
    (
        "no font of its own, and texts measured in columns",
        &["no_text_needs_a_font_of_its_own", "a_text_is_cut_at_columns_and_not_at_letters"],
    ),
];

const KEYS: &[Promise] = &[
    ("the screen is cleared where it is entered", &["it_clears_what_it_enters_and_never_asks_where_the_cursor_is"]),
    (
        "keys of tmux, screen, zellij and of flow control are left alone",
        &[
            "keys_of_multiplexers_and_flow_control_are_left_alone",
            "what_cannot_be_is_refused_with_its_field_and_what_would_be_right",
        ],
    ),
    (
        "Esc closes the top layer and never quits",
        &["escape_never_quits", "escape_closes_what_has_the_keys_and_quits_nothing"],
    ),
    (
        "arrows and hjkl, g and G, PgUp and ^U, Tab, /, :, ?, q, in every list",
        &[
            "arrows_and_letters_do_the_same",
            "pages_lead_through_every_list_from_end_to_end",
            "tab_goes_round_the_panels",
            "every_list_finds_its_last_row_by_its_own_words",
            "every_action_of_the_panels_and_views_is_in_it_once",
            "help_opens_scrolls_and_closes",
            "q_quits_from_the_panels_and_is_text_where_one_types",
        ],
    ),
    (
        "the mouse is the terminal's until it is taken",
        &[
            "the_mouse_is_left_alone_until_it_is_taken_and_given_back_at_the_end",
            "the_mouse_is_the_terminals_until_a_key_takes_it",
        ],
    ),
    (
        "Ctrl-C ends it at once, whatever came before or hangs unfinished",
        &["ctrl_c_ends_it_at_once_whatever_came_before", "ctrl_c_is_heard_whatever_came_before"],
    ),
    (
        "what takes long says how far it is, and Esc stops it",
        &[
            "a_file_that_is_waited_for_says_so_and_escape_stops_it",
            "what_is_stopped_is_told_of_no_more_and_holds_nothing_up",
        ],
    ),
    ("pasted text is no command", &["pasted_text_is_no_command", "pasted_text_is_no_key"]),
    ("a sequence without an end holds no key", &["a_sequence_without_an_end_does_not_hold_the_next_key"]),
    ("a key that is let go of is no key", &["a_key_that_is_let_go_of_is_no_key"]),
];

const SIZE: &[Promise] = &[
    (
        "any size, at any moment",
        &[
            "nothing_panics_at_any_size_after_any_keys",
            "a_tiny_window_and_back_is_survived",
            "a_window_of_any_size_is_drawn",
        ],
    ),
    ("too small is said, with what is needed; 80 x 24 is enough", &["too_small", "compact", "twelve_terminals"]),
    ("the help scrolls", &["help_opens_scrolls_and_closes", "the_help_scrolls_no_further_than_its_end"]),
];

const BYTES: &[Promise] = &[
    (
        "no byte and no wake-up while nothing happens",
        &["idle_it_writes_nothing_and_wakes_up_for_nothing", "a_frame_of_which_nothing_changes_takes_no_bytes"],
    ),
    (
        "progress ten times a second at most",
        &[
            "progress_is_drawn_at_once_and_then_after_each_pause",
            "progress_is_drawn_ten_times_a_second_at_most_and_twice_over_a_slow_line",
        ],
    ),
    ("keys that came together are drawn together", &["keys_that_came_together_are_drawn_together"]),
    ("it waits for input and does not look for it", &["idle_it_writes_nothing_and_wakes_up_for_nothing"]),
    ("each frame is a synchronized update that ends", &["every_frame_is_a_synchronized_update_that_ends"]),
    (
        "a frame is two calls of write at most",
        &[
            "a_cursor_that_moves_is_a_small_frame_and_the_panels_follow_in_another",
            "a_whole_frame_takes_at_most_12_kb_at_80x24",
        ],
    ),
    (
        "arithmetic has threads of its own, a held key is waited for, old answers are dropped",
        &[
            "a_held_key_moves_the_cursor_and_leaves_the_panels_until_it_rests",
            "the_waiting_job_is_overwritten",
            "a_new_map_cancels_the_old_one",
            "answers_to_older_questions_are_dropped",
        ],
    ),
];

const LIFE: &[Promise] = &[
    (
        "a signal ends it by that signal and gives the terminal back",
        &[
            "a_signal_ends_it_and_leaves_the_terminal_as_it_was",
            "every_signal_keeps_the_session_and_ends_it_by_the_signal",
            "quitting_leaves_the_terminal_as_it_was",
        ],
    ),
    ("a terminal that goes away ends it", &["it_ends_when_the_terminal_goes_away"]),
    (
        "it ends within a second, whatever it computes and whatever does not answer",
        &[
            "it_ends_at_the_first_press_and_keeps_the_session_whatever_the_files_wait_for",
            "a_terminal_that_takes_no_bytes_does_not_hold_the_end",
            "a_folder_that_does_not_answer_does_not_hold_the_end_and_that_is_said",
            "ctrl_c_ends_a_search_over_whole_plans_and_keeps_the_session",
            "who_leaves_at_once_keeps_what_was_changed_last",
        ],
    ),
    (
        "no session is lost, whatever ends it and whoever else ends",
        &[
            "every_signal_keeps_the_session_and_ends_it_by_the_signal",
            "a_terminal_that_goes_away_keeps_the_session_and_that_is_in_the_log",
            "of_two_explorers_at_once_both_sessions_stay",
            "sessions_that_end_at_once_all_stay",
        ],
    ),
    (
        "what could not be saved or written is said at the end",
        &[
            "a_session_that_cannot_be_saved_is_said_and_the_exit_code_stays",
            "what_could_not_be_written_before_the_end_is_named",
        ],
    ),
    ("a dead stderr is survived", &["a_closed_stderr_and_a_full_one_are_survived"]),
    ("^Z and fg", &["it_stops_on_ctrl_z_and_comes_back", "it_stops_and_comes_back_with_fg"]),
    (
        "a panic is said after the terminal was given back; one of a job is shown and survived",
        &[
            "a_panic_while_drawing_gives_the_terminal_back_says_what_happened_and_ends_with_70",
            "a_panic_of_a_job_is_shown_and_logged_and_the_rest_goes_on",
            "a_panic_ends_the_job_and_not_the_thread",
        ],
    ),
    (
        "the terminal is never asked where its cursor is",
        &["it_clears_what_it_enters_and_never_asks_where_the_cursor_is", "it_never_asks_the_terminal_anything"],
    ),
];

const HOST: &[Promise] = &[
    (
        "a read-only or missing home; the path is named",
        &[
            "without_a_home_it_starts_and_a_read_only_place_is_named",
            "a_missing_home_never_stops_the_start",
            "an_environment_without_a_home_never_stops_the_start",
            "what_cannot_be_written_is_said_with_its_path",
        ],
    ),
    (
        "--config, --presets, SHARDSCOPE_CONFIG, XDG_CONFIG_HOME",
        &[
            "xdg_config_home_holds_the_folder_and_shardscope_config_wins_over_it",
            "the_command_line_wins_over_the_environment_and_the_environment_over_the_home",
            "a_folder_of_presets_is_read_and_must_be_there",
        ],
    ),
    (
        "no left-over, not even of who was killed; files appear whole",
        &[
            "a_file_is_written_whole_under_a_name_of_its_own",
            "a_visit_leaves_nothing_but_what_was_asked_for",
            "a_signal_to_a_command_removes_what_it_was_writing",
            "what_a_killed_command_left_is_swept_at_the_next_start_and_not_what_a_stopped_one_writes",
        ],
    ),
    ("what sessions left is for nobody else to read", &["the_state_is_for_nobody_else_to_read_whatever_the_mask_is"]),
    ("nohup is obeyed", &["a_command_that_is_to_outlive_its_terminal_does"]),
    (
        "unknown fields are refused with place and valid names",
        &[
            "an_unknown_field_is_refused_with_file_line_and_the_valid_names",
            "configurations_with_a_mistake",
            "scenarios_with_a_mistake",
        ],
    ),
    (
        "few threads on a shared machine, and those give way",
        &[
            "sweeps_give_way_to_the_person_at_the_keys",
            "threads_come_from_the_flag_then_the_variable_then_the_file",
            "four_threads_at_most_unless_more_are_asked_for",
        ],
    ),
    (
        "without a terminal the report, with the same exit code",
        &[
            "without_a_terminal_it_prints_the_report_of_eval",
            "without_a_terminal_the_explorer_prints_the_text_report",
            "a_dumb_terminal_gets_the_report",
        ],
    ),
    (
        "copies go through the terminal, never through a program of the machine, and files are a key away",
        &["the_map_is_copied_through_the_terminal", "a_copied_map_is_in_tmuxs_buffer", "the_map_is_written_to_a_file"],
    ),
];

/// What would be good to have, and is there.
const MORE: &[Promise] = &[
    ("sixteen colours are the user's own", &["no_depth_gets_colours_that_it_lacks"]),
    (
        "keys are the user's own, and help and footer show them",
        &["keys_and_theme_come_from_the_configuration", "a_key_is_changed_wherever_the_action_is_known"],
    ),
    ("--low-bandwidth", &["low_bandwidth_sends_no_rgb_and_leaves_the_panels_until_a_key_rests"]),
    (
        "the screen as text, ANSI and SVG",
        &["the_screen_is_written_as_text_with_colours_and_as_a_picture", "ansi_reads_back_to_the_same_screen"],
    ),
    ("the same facts in lines", &["without_a_terminal_it_prints_the_report_of_eval"]),
    (
        "hints for the place, and a list of commands to run",
        &["a_command_is_found_and_done", "a_command_of_another_panel_goes_there"],
    ),
];

/// The texts of the files of a folder and below.
fn texts_in(folder: &Path, found: &mut Vec<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            texts_in(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            found.push(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
        }
    }
}

fn texts(folders: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    for folder in folders {
        texts_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut texts);
    }
    texts
}

/// Fonts with icons put them where Unicode has no letters (its private use areas).
#[test]
fn no_text_needs_a_font_of_its_own() {
    let texts = texts(&["src", "crates", "presets"]);
    let private = |letter: &char| matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}');
    let found: Vec<char> = texts.iter().flat_map(|text| text.chars()).filter(private).collect();
    assert!(texts.len() > 300 && found.is_empty(), "{found:?}");
}

#[test]
fn each_promise_has_its_tests() {
    let texts = texts(&["src", "crates", "tests"]);
    let known = texts.iter().flat_map(|text| text.split("#[test]").skip(1));
    let known: Vec<&str> = known.filter_map(|after| Some(after.split_once("fn ")?.1.split_once('(')?.0)).collect();
    let mut promises = [COLOUR, GLYPHS, KEYS, SIZE, BYTES, LIFE, HOST, MORE].concat();
    let missing: Vec<_> = promises
        .iter()
        .flat_map(|(promise, tests)| tests.iter().map(move |test| (promise, test)))
        .filter(|(_, test)| !known.contains(test))
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
    assert!(promises.iter().all(|(_, tests)| !tests.is_empty()));
    let count = promises.len();
    promises.sort_unstable();
    promises.dedup_by_key(|(promise, _)| *promise);
    assert_eq!(promises.len(), count, "a promise twice");
}
