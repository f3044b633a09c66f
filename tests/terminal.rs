//! The explorer on a real terminal: what a person does, what a bad connection does, what is left behind.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of tests ends the test")]

mod budgets;
mod floods;
mod guide;
pub mod harness;
mod host;
mod jobs;
mod leaving;
mod matrix;
#[cfg(debug_assertions)]
mod panics;
mod promises;
mod tmux;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{Options, PIPELINE, PROGRAM, READY, Session};
use tempfile::{TempDir, tempdir};
use vt100::{Color, Screen};

const CTRL_L: &str = "\x0c";
const CTRL_Z: &str = "\x1a";
const RIGHT: &str = "\x1b[C";

/// Opens the explorer on the default scenario in a folder of its own.
fn open(options: &Options<'_>) -> (Session, TempDir) {
    let folder = tempdir().unwrap();
    let mut session = Session::start(folder.path(), options);
    session.wait_for(READY);
    (session, folder)
}

/// The value of a field of the scenario, as its panel shows it.
fn field(session: &Session, name: &str) -> String {
    let text = session.text();
    let mut rows = text.lines().map(|line| line.trim_start_matches(['│', '▸', ' ']));
    let value = |row: &str| row.strip_prefix(name)?.strip_prefix(' ')?.split_whitespace().next().map(str::to_owned);
    rows.find_map(value).unwrap_or_default()
}

/// Moves to the number of nodes, the fifth field, and takes the next one.
fn take_more_nodes(session: &mut Session) {
    session.press("1gjjjjjj");
    let before = field(session, "nodes");
    session.press(RIGHT);
    session.wait("evaluating another number of nodes", |session| {
        let nodes = field(session, "nodes");
        nodes != before && session.text().lines().next().unwrap().contains(&format!("{nodes} node"))
    });
    session.wait_for_silence(Duration::from_millis(300));
}

/// The snapshots that were exported into a folder.
fn snapshots(folder: &TempDir) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

/// Where the screen is reversed: the cursor of a panel.
fn reversed(screen: &Screen) -> Vec<(u16, u16)> {
    cells(screen).filter(|(_, cell)| cell.inverse()).map(|(at, _)| at).collect()
}

fn cells(screen: &Screen) -> impl Iterator<Item = ((u16, u16), &vt100::Cell)> {
    let (rows, columns) = screen.size();
    let at = (0..rows.get()).flat_map(move |row| (0..columns.get()).map(move |column| (row, column)));
    at.filter_map(|(row, column)| Some(((row, column), screen.cell(row, column)?)))
}

#[test]
fn a_person_moves_edits_exports_and_opens_the_snapshot_again() {
    let (mut session, folder) = open(&Options::default());
    assert!(session.is_raw());
    assert!(session.screen(|screen| screen.alternate_screen() && screen.hide_cursor()));
    session.wait_for("FITS");

    session.press("2");
    let before = session.screen(reversed);
    session.press(RIGHT);
    session.wait("moving the map's cursor", |session| session.screen(reversed) != before);

    take_more_nodes(&mut session);

    session.press("e");
    session.wait("writing a snapshot", |_| !snapshots(&folder).is_empty());
    let snapshot = snapshots(&folder).remove(0);
    session.wait_for(snapshot.file_name().unwrap().to_str().unwrap());
    let headline: Vec<String> = session.text().lines().take(2).map(str::to_owned).collect();
    session.press("q");
    assert!(session.end().success());

    let mut again =
        Session::start(folder.path(), &Options { arguments: &[snapshot.to_str().unwrap()], ..Options::default() });
    again.wait("showing the same headline", |again| again.text().lines().take(2).eq(headline.iter()));
}

/// The explorer on a scenario of its own.
fn open_scenario(text: &str) -> (Session, TempDir) {
    open_with(text, &Options::default())
}

fn open_with(text: &str, options: &Options<'_>) -> (Session, TempDir) {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("scenario.toml"), text).unwrap();
    let arguments = [options.arguments, &["./scenario.toml"]].concat();
    let mut session = Session::start(folder.path(), &Options { arguments: &arguments, ..*options });
    session.wait_for("FITS");
    (session, folder)
}

/// The number before or after a word on the screen.
fn number(text: &str, before: &str, after: &str) -> Option<f64> {
    let from = text.split(before).nth(1)?;
    from.split(after).next()?.trim().parse().ok()
}

#[test]
fn a_pipeline_goes_from_1f1b_to_breadth_first_and_its_bubble_shrinks() {
    let (mut session, _folder) = open_scenario(PIPELINE);
    let bubble = |session: &Session| number(&session.text(), "bubble ", "%").unwrap_or(f64::INFINITY);
    let memory = |session: &Session| number(&session.text(), "FITS ", "/").unwrap_or(0.0);
    session.wait("showing the ranks and the bubble", |session| {
        let text = session.text();
        text.contains("rank 7") && text.contains("╌╌╌╌") && bubble(session) > 25.0
    });
    let before = (bubble(&session), memory(&session));
    // The field is found by its name and opened; under it are the stages of a rank.
    session.press("1g/schedule\rbreadth\r");
    session.wait("changing the schedule", |session| field(session, "schedule") == "breadth-first");
    session.press("j\x1b[C\x1b[C");
    session.wait("less of a bubble and more memory", |session| {
        field(session, "stages") == "4" && bubble(session) < 0.6 * before.0 && memory(session) > before.1
    });
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn accumulation_becomes_layered_and_its_gathers_merge_on_the_timeline() {
    let (mut session, _folder) = open_scenario(
        r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "mpt-7b"
strategy = "fsdp"
[plan]
nodes = 4
accumulate = 8
recompute = "full"
"#,
    );
    // Over the whole step the row of gathers has a mark in each column in which one runs for long enough.
    let gathers = |session: &Session| {
        let text = session.text();
        let row = text.lines().find_map(|line| line.split("│gather").nth(1)).unwrap_or_default().to_owned();
        row.chars().filter(|mark| "░▒▓█".contains(*mark)).count()
    };
    session.press("40");
    session.wait("showing the whole step", |session| gathers(session) > 40);
    let before = gathers(&session);
    session.press("1g/order\rlayered\r");
    session.wait("merging the gathers", |session| {
        field(session, "acc order") == "layered" && (1..before * 3 / 4).contains(&gathers(session))
    });
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn a_view_is_chosen_by_name_and_left_again() {
    let (mut session, _folder) = open(&Options::default());
    session.wait_for("FITS");
    session.press("vlimit\r");
    session.wait_for("net floor");
    session.press("j\x1b[C");
    session.wait("changing an assumption", |session| {
        session.text().lines().any(|line| line.contains("▸n_bwd") && line.contains(" 2 "))
    });
    session.press("\x1b");
    session.wait("showing the map again", |session| session.text().contains("shard weights"));
    session.press("H");
    session.wait_for("from the current hardware on");
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn pinned_scenarios_are_saved_as_a_set_and_compared_again() {
    let (mut session, folder) = open(&Options::default());
    session.wait_for("FITS");
    session.press("p");
    session.wait_for("pinned");
    take_more_nodes(&mut session);
    session.press("p");
    session.wait_for("pinned as B");
    session.press("s");
    session.wait_for("Snapshots and sets");
    session.press(CTRL_L);
    session.wait_for("Name of the set");
    session.press("pair\r");
    session.wait("writing the set", |_| folder.path().join("pair.toml").exists());
    session.press("q");
    assert!(session.end().success());

    let mut again = Session::start(folder.path(), &Options { arguments: &["pair.toml"], ..Options::default() });
    again.wait_for(READY);
    again.press("c");
    again.wait("comparing both", |again| {
        let text = again.text();
        text.contains("Comparison") && text.contains("B \u{2212} A") && text.contains("step time")
    });
    again.press("q");
    assert!(again.end().success());
}

#[test]
fn a_tiny_window_and_back_is_survived() {
    let (mut session, _folder) = open(&Options::default());
    // What more of a resource gives is known last.
    session.wait_for("gives +");
    session.wait_for_silence(Duration::from_secs(1));
    let before = session.text();
    session.resize((20, 5));
    session.wait_for("small");
    session.resize((120, 40));
    session.wait("drawing the same screen again", |session| session.text() == before);
    for size in [(1, 1), (300, 2), (2, 100), (80, 24)] {
        session.resize(size);
    }
    session.wait_for(READY);
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn quitting_leaves_the_terminal_as_it_was() {
    for key in ["q", "\x03"] {
        let (mut session, _folder) = open(&Options::default());
        session.press(key);
        assert_eq!((session.end().exit_code(), session.end().signal()), (0, None), "{key:?}");
        session.wait_until_restored();
    }
}

#[test]
fn a_signal_ends_it_and_leaves_the_terminal_as_it_was() {
    for (signal, name) in [("TERM", "Terminated"), ("HUP", "Hangup"), ("INT", "Interrupt"), ("QUIT", "Quit")] {
        let (mut session, _folder) = open(&Options::default());
        session.signal(signal);
        assert_eq!(session.end().signal(), Some(name));
        session.wait_until_restored();
    }
}

#[test]
fn it_ends_when_the_terminal_goes_away() {
    let (mut session, _folder) = open(&Options::default());
    session.wait_for_silence(Duration::from_millis(300));
    let before = session.processor_time();
    session.hang_up("?");
    session.wait_for_state("Z");
    let spent = session.processor_time().saturating_sub(before);
    assert!(spent < Duration::from_millis(500), "{spent:?} of processor time to end");
}

#[test]
fn it_stops_on_ctrl_z_and_comes_back() {
    let (mut session, _folder) = open(&Options::default());
    session.wait_for("FITS");
    session.wait("completing the map", |session| !session.text().contains("computing"));
    session.wait_for_silence(Duration::from_millis(300));
    let before = session.text();
    session.press(CTRL_Z);
    session.wait_for_state("T");
    session.wait_until_restored();
    session.signal("CONT");
    session.wait("drawing the same screen again", |session| session.text() == before && session.is_raw());
    session.press("q");
    assert!(session.end().success());
    session.wait_until_restored();
}

#[test]
fn without_colour_the_cursor_is_still_reversed() {
    let (mut session, _folder) = open(&Options { environment: &[("NO_COLOR", "1")], ..Options::default() });
    session.press("2");
    session.wait_for_silence(Duration::from_millis(300));
    let before = session.screen(reversed);
    assert!(!before.is_empty(), "nothing is reversed:\n{}", session.text());
    session.press(RIGHT);
    session.wait("moving the reversed cell", |session| {
        let now = session.screen(reversed);
        !now.is_empty() && now != before
    });
    let coloured = |screen: &Screen| {
        cells(screen).any(|(_, cell)| (cell.fgcolor(), cell.bgcolor()) != (Color::Default, Color::Default))
    };
    assert!(!session.screen(coloured), "a colour in spite of NO_COLOR");
}

#[test]
fn without_a_terminal_it_prints_the_report_of_eval() {
    let folder = tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(folder.path()).env_clear().env("HOME", folder.path()).stdin(Stdio::null());
        command.output().unwrap()
    };
    let report = run(&[]);
    assert!(report.status.success(), "{report:?}");
    assert!(!report.stdout.is_empty() && !report.stdout.contains(&0x1b), "{report:?}");
    assert_eq!(report.stdout, run(&["eval"]).stdout);
    assert_eq!(String::from_utf8(report.stderr).unwrap(), "");
}

/// The state of the last session in a home.
fn last(folder: &TempDir) -> PathBuf {
    folder.path().join(".local/state/shardscope/last.toml")
}

#[test]
fn the_next_session_begins_where_the_last_one_ended() {
    let (mut session, folder) = open(&Options::default());
    // The fifth field is the number of nodes; then it is pinned, and changed again.
    session.press("p1gjjjjjj\r");
    session.press("\x15");
    session.press("12\r");
    session.wait("the edit", |session| field(session, "nodes") == "12");
    session.wait_for("FITS");
    session.press("q");
    session.end();
    assert!(last(&folder).exists());

    let mut session = Session::start(folder.path(), &Options::default());
    session.wait_for("as the last session left it");
    session.wait("the edit", |session| field(session, "nodes") == "12");
    session.press("c");
    session.wait_for("A ");
    session.press("q");
    session.end();
    let mut session = Session::start(folder.path(), &Options::default());
    session.wait_for("A ");
    session.press("q");
    session.end();

    let mut session = Session::start(folder.path(), &Options { arguments: &["--fresh"], ..Options::default() });
    session.wait_for(READY);
    assert_eq!(field(&session, "nodes"), "8");
    let left = fs::read(last(&folder)).unwrap();
    session.press("q");
    session.end();
    assert!(left == fs::read(last(&folder)).unwrap(), "who only looked leaves it as it was");
    let mut session = Session::start(folder.path(), &Options { arguments: &["--fresh"], ..Options::default() });
    session.wait_for(READY);
    session.press("p");
    session.wait_for("pinned");
    session.press("q");
    session.end();
    assert!(left == fs::read(last(&folder).with_file_name("previous.toml")).unwrap(), "who pinned sets it aside");
    fs::write(last(&folder), "kind = \"set\"\n").unwrap();
    let mut session = Session::start(folder.path(), &Options::default());
    session.wait_for("the last session is lost");
    session.wait("the default", |session| field(session, "nodes") == "8");
    session.press("q");
    session.end();
}

/// The card of the first start: one key opens the gallery, where typing finds a paper; the next start goes on.
#[test]
fn the_first_start_asks_what_is_at_hand_and_no_later_one_does() {
    let folder = tempdir().unwrap();
    let mut session = Session::start(folder.path(), &Options { asks: true, size: (80, 24), ..Options::default() });
    session.wait_for("What do you have?");
    session.wait_for("FITS");
    session.press("6");
    session.wait_for("Gallery");
    session.press("osdp\r");
    session.wait_for("opened osdp-48x1536");
    session.wait_for("titan-rtx-pcie");
    session.press("q");
    assert!(session.end().success());
    let mut again = Session::start(folder.path(), &Options { asks: true, ..Options::default() });
    again.wait_for("as the last session left it");
    assert!(!again.text().contains("What do you have?"));
    again.press("q");
    assert!(again.end().success());
}

/// `q`, `/`, digits and capitals are text where a list is open.
#[test]
fn whatever_is_typed_into_a_list_filters_it_and_nothing_else() {
    let (mut session, _folder) = open(&Options { size: (80, 24), ..Options::default() });
    session.press("1g\rq/GW:1");
    session.wait_for("> q/GW:1");
    session.press(&"\x7f".repeat(6));
    session.press("llama-2-7\r");
    session.wait("taking the model", |session| field(session, "model") == "llama-2-7b");
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn a_path_is_completed_and_its_file_imported() {
    let (mut session, folder) = open(&Options { size: (80, 24), ..Options::default() });
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hf/gpt2.json"), folder.path().join("config.json"))
        .unwrap();
    session.press("Oconf\t");
    session.wait_for("config.json");
    session.press("\r");
    // GPT-2 has 124,439,808 parameters.
    session.wait_for("124,439,808 parameters");
    session.press("\x03");
    assert!(session.end().success());
}
