//! Ways out: whatever ends the explorer, the session is kept, the terminal given back, and nothing half-made is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::{TempDir, tempdir};

use super::harness::{INTERLEAVED, Options, READY, Session};
use super::{field, last, open};

const CTRL_C: &str = "\x03";

/// An explorer in which something was pinned.
fn pinned(options: &Options<'_>) -> (Session, TempDir) {
    let (mut session, folder) = open(options);
    pin(&mut session);
    (session, folder)
}

fn pin(session: &mut Session) {
    session.wait_for("FITS");
    session.press("p");
    session.wait_for("pinned");
}

/// Has the scenario in hand be on so many nodes, the fifth field.
fn set_nodes(session: &mut Session, nodes: &str) {
    session.press("1gjjjjjj\r");
    session.press("\x15");
    session.press(&format!("{nodes}\r"));
    session.wait("the edit", |session| field(session, "nodes") == nodes);
}

/// How often a file of a session names a scenario: the one in hand, and what is pinned.
fn scenarios(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().matches("[[members]]").count()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn every_signal_keeps_the_session_and_ends_it_by_the_signal() {
    for (signal, name) in [
        ("TERM", "Terminated"),
        ("HUP", "Hangup"),
        ("INT", "Interrupt"),
        ("QUIT", "Quit"),
        ("USR1", "User defined signal 1"),
        ("USR2", "User defined signal 2"),
        ("ALRM", "Alarm clock"),
        ("ABRT", "Aborted"),
    ] {
        let (mut session, folder) = pinned(&Options::default());
        session.signal(signal);
        assert_eq!(session.end().signal(), Some(name));
        session.wait_until_restored();
        session.wait_for(&format!("ended by SIG{signal}; the session was saved to"));
        assert_eq!(scenarios(&last(&folder)), 2, "{signal}");
    }
}

#[test]
fn a_session_that_a_signal_ended_goes_on_with_its_pins_and_holds_no_figures() {
    let (mut session, folder) = pinned(&Options::default());
    set_nodes(&mut session, "12");
    session.signal("TERM");
    session.end();
    let kept = fs::read_to_string(last(&folder)).unwrap();
    assert!(!kept.contains("evaluation") && !kept.contains("step_time"), "nothing is evaluated for it: {kept}");
    let mut session = Session::start(folder.path(), &Options::default());
    session.wait_for("as the last session left it");
    session.wait("the edit", |session| field(session, "nodes") == "12");
    session.press("c");
    // Computed here.
    session.wait_for("now \u{2212} A");
}

#[test]
fn a_terminal_that_goes_away_keeps_the_session_and_that_is_in_the_log() {
    let (mut session, folder) = pinned(&Options { arguments: &["--log", "log"], ..Options::default() });
    session.hang_up("?");
    assert_eq!(session.end().signal(), Some("Hangup"));
    assert_eq!(scenarios(&last(&folder)), 2);
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("ended by SIGHUP; the session was saved to"), "{log}");
}

#[test]
fn of_two_explorers_at_once_both_sessions_stay() {
    let (mut session, folder) = pinned(&Options::default());
    session.press("q");
    session.end();
    let mut both = [(); 2].map(|()| Session::start(folder.path(), &Options::default()));
    for (session, nodes) in both.iter_mut().zip(["12", "16"]) {
        session.wait_for("as the last session left it");
        set_nodes(session, nodes);
        pin(session);
    }
    let [first, second] = &mut both;
    first.press("q");
    first.end();
    second.signal("TERM");
    second.end();
    let earlier = last(&folder).with_file_name("previous.toml");
    assert_eq!([&last(&folder), &earlier].map(|path| scenarios(path)), [3, 3]);

    let mut session = Session::start(folder.path(), &Options::default());
    session.wait_for("s lists the one before it");
    assert_eq!(field(&session, "nodes"), "16");
    session.press("s");
    session.wait_for("previous.toml");
    session.press("previous\r");
    session.wait("opening the other session", |session| field(session, "nodes") == "12");
}

/// Holds the thread that lists and writes files for fifty seconds: a pipe that nobody writes to, where the folders with
/// snapshots are remembered, is waited for ten seconds by each list.
fn hold_the_files(session: &mut Session, folder: &TempDir) {
    let state = last(folder).with_file_name("");
    fs::create_dir_all(&state).unwrap();
    assert!(Command::new("mkfifo").arg(state.join("folders.txt")).status().unwrap().success());
    for _ in 0..5 {
        session.press("s");
        session.wait_for("Snapshots and sets");
        session.press("\x1b");
        session.wait("closing the list", |session| !session.text().contains("Snapshots and sets"));
    }
}

#[test]
fn it_ends_at_the_first_press_and_keeps_the_session_whatever_the_files_wait_for() {
    for key in [CTRL_C, "q"] {
        let (mut session, folder) = pinned(&Options::default());
        hold_the_files(&mut session, &folder);
        session.press(key);
        // Much sooner than the pipe is given up.
        assert!(session.end().success(), "{key:?}");
        session.wait_until_restored();
        assert_eq!(scenarios(&last(&folder)), 2, "{key:?}");
    }
}

#[test]
fn what_could_not_be_written_before_the_end_is_named() {
    let (mut session, folder) = pinned(&Options::default());
    hold_the_files(&mut session, &folder);
    session.press("e");
    // What comes with Ctrl-C in one piece counts no more.
    session.wait_for_silence(Duration::from_millis(300));
    session.press(CTRL_C);
    assert!(session.end().success());
    session.wait_for("not finished before the end: the snapshot");
    assert_eq!(scenarios(&last(&folder)), 2);
}

#[test]
fn a_terminal_that_takes_no_bytes_does_not_hold_the_end() {
    for end in [CTRL_C, "TERM"] {
        let (mut session, folder) = pinned(&Options::default());
        session.stall();
        if end == CTRL_C {
            session.press(end);
            assert!(session.end().success());
        } else {
            session.signal(end);
            assert_eq!(session.end().signal(), Some("Terminated"));
        }
        assert_eq!(scenarios(&last(&folder)), 2, "{end:?}");
    }
}

/// Whether the edit was evaluated in between or not.
#[test]
fn who_leaves_at_once_keeps_what_was_changed_last() {
    for end in [CTRL_C, "q"] {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("scenario.toml"), INTERLEAVED).unwrap();
        let mut session =
            Session::start(folder.path(), &Options { arguments: &["./scenario.toml"], ..Options::default() });
        session.wait_for(READY);
        session.press("1g/order\rlayered\r");
        session.wait("the edit", |session| field(session, "acc order") == "layered");
        session.press(end);
        assert!(session.end().success());
        let kept = fs::read_to_string(last(&folder)).unwrap();
        assert!(kept.contains("layered"), "{end:?}: {kept}");
    }
}

#[test]
fn ctrl_c_ends_a_search_over_whole_plans_and_keeps_the_session() {
    let (mut session, folder) = pinned(&Options::default());
    session.press("B");
    session.wait_for("Best plans");
    session.press(CTRL_C);
    assert!(session.end().success());
    assert_eq!(scenarios(&last(&folder)), 2);
}

#[test]
fn a_session_that_cannot_be_saved_is_said_and_the_exit_code_stays() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // A file where a folder is needed, and a session that nobody may replace. Root may write anywhere else.
    fs::write(at("file"), "").unwrap();
    fs::create_dir_all(at("state/shardscope")).unwrap();
    fs::write(at("state/shardscope/last.toml"), "mine").unwrap();
    set_mode(&at("state/shardscope/last.toml"), 0o444);
    for (state, why) in [("file", "Not a directory"), ("state", "read-only")] {
        let state = at(state);
        let environment = [("XDG_STATE_HOME", state.to_str().unwrap())];
        let options = Options { environment: &environment, size: (300, 40), ..Options::default() };
        for end in ["q", CTRL_C, "TERM"] {
            let mut session = Session::start(folder.path(), &options);
            session.wait_for(READY);
            pin(&mut session);
            if end == "TERM" {
                session.signal(end);
                assert_eq!(session.end().signal(), Some("Terminated"));
            } else {
                session.press(end);
                assert!(session.end().success());
            }
            session.wait_for("the session was not saved: ");
            session.wait_for("last.toml: ");
            session.wait_for(why);
        }
    }
    assert_eq!(fs::read_to_string(at("state/shardscope/last.toml")).unwrap(), "mine");
}

/// A pipe in the place of the file stands for a network folder that does not answer: who changed nothing looks whether it
/// still holds what the session went on from.
#[test]
fn a_folder_that_does_not_answer_does_not_hold_the_end_and_that_is_said() {
    for end in ["q", "TERM"] {
        let (mut session, folder) = pinned(&Options::default());
        session.press("q");
        session.end();
        let mut session = Session::start(folder.path(), &Options { size: (200, 40), ..Options::default() });
        session.wait_for("as the last session left it");
        fs::remove_file(last(&folder)).unwrap();
        assert!(Command::new("mkfifo").arg(last(&folder)).status().unwrap().success());
        if end == "q" {
            session.press(end);
            assert!(session.end().success());
        } else {
            session.signal(end);
            assert_eq!(session.end().signal(), Some("Terminated"));
        }
        session.wait_for("last.toml could not be written within a second");
    }
}

#[test]
fn the_state_is_for_nobody_else_to_read_whatever_the_mask_is() {
    for mask in ["000", "022", "077", "177"] {
        let shell = format!("umask {mask}; exec \"$@\"");
        let (mut session, folder) = pinned(&Options { shell: Some(&shell), ..Options::default() });
        session.press("q");
        assert!(session.end().success());
        let folder = last(&folder).with_file_name("");
        let last = folder.join("last.toml");
        assert_eq!([&folder, &last].map(|path| mode(path)), [0o700, 0o600], "{mask}");
    }
}

/// A command that writes for some seconds, stopped while a file that it writes has no name yet; and that file.
fn stopped_while_writing(folder: &Path, shell: Option<&str>) -> (Session, PathBuf) {
    fs::write(folder.join("scenario.toml"), INTERLEAVED.replace("accumulate = 64", "accumulate = 128")).unwrap();
    let arguments = ["export", "./scenario.toml", "--to", "trace", "--force", "--out", "trace"];
    let of_others = staged(&folder.join("trace"));
    // One that is still empty may not be locked yet: if a sweep takes it, its writer makes another.
    let is_begun = |path: &PathBuf| path.metadata().is_ok_and(|facts| facts.len() > 0);
    let own = || staged(&folder.join("trace")).into_iter().find(|path| !of_others.contains(path) && is_begun(path));
    let mut session = Session::start(folder, &Options { arguments: &arguments, shell, ..Options::default() });
    loop {
        session.wait("writing", |_| own().is_some());
        session.signal("STOP");
        session.wait_for_state("T");
        // Else it just got its name: the next one is taken.
        if let Some(file) = own() {
            return (session, file);
        }
        session.signal("CONT");
    }
}

fn staged(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".shardscope-")).collect()
}

#[test]
fn a_signal_to_a_command_removes_what_it_was_writing() {
    for (signal, name) in [("INT", "Interrupt"), ("TERM", "Terminated"), ("HUP", "Hangup")] {
        let folder = tempdir().unwrap();
        let (mut session, _) = stopped_while_writing(folder.path(), None);
        session.signal(signal);
        session.signal("CONT");
        assert_eq!(session.end().signal(), Some(name));
        assert_eq!(staged(&folder.path().join("trace")), Vec::<PathBuf>::new(), "{signal}");
    }
}

#[test]
fn a_command_that_is_to_outlive_its_terminal_does() {
    let folder = tempdir().unwrap();
    let (mut session, _) = stopped_while_writing(folder.path(), Some("trap '' HUP; exec \"$@\""));
    session.signal("HUP");
    session.signal("CONT");
    assert!(session.end().success());
    assert!(folder.path().join("trace/rank7.json").exists() && staged(&folder.path().join("trace")).is_empty());
}

#[test]
fn what_a_killed_command_left_is_swept_at_the_next_start_and_not_what_a_stopped_one_writes() {
    let folder = tempdir().unwrap();
    let (mut stopped, living) = stopped_while_writing(folder.path(), None);
    let (mut killed, dead) = stopped_while_writing(folder.path(), None);
    killed.signal("KILL");
    killed.end();
    assert!(living.exists() && dead.exists());
    let mut explorer = Session::start(&folder.path().join("trace"), &Options::default());
    explorer.wait("sweeping", |_| !dead.exists());
    explorer.press("q");
    assert!(explorer.end().success());
    assert!(living.exists(), "its writer is only stopped");
    stopped.signal("CONT");
    assert!(stopped.end().success());
    assert_eq!(staged(&folder.path().join("trace")), Vec::<PathBuf>::new());
}
