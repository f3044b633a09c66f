//! Odd hosts and odd wishes: no home, a closed stderr, the mouse, the clipboard, keys of one's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::tempdir;

use super::harness::{Options, PROGRAM, READY, Session};
use super::open;

/// The files of a folder that end so.
fn files(folder: &std::path::Path, extension: &str) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|end| end == extension)).collect()
}

#[test]
fn it_never_asks_the_terminal_anything() {
    let (mut session, _folder) = open(&Options::default());
    session.press("2lj?\x1b");
    session.wait_for_silence(std::time::Duration::from_millis(300));
    session.press("q");
    session.end();
    let written = String::from_utf8_lossy(&session.written(0)).into_owned();
    // Where the cursor is, what the terminal is, its colours, its keyboard, its settings: answers would come as keys.
    for question in ["\x1b[6n", "\x1b[c", "\x1b[0c", "\x1b[>c", "\x1b]10;?", "\x1b]11;?", "\x1b[?u", "\x1bP", "$p"] {
        assert!(!written.contains(question), "{question:?}");
    }
}

#[test]
fn it_clears_what_it_enters_and_never_asks_where_the_cursor_is() {
    let (mut session, _folder) = open(&Options::default());
    session.press("\x1a");
    session.wait_for_state("T");
    session.signal("CONT");
    // The screen of before is still there while it comes back: only what is written after the second entry tells.
    let written = |session: &Session| String::from_utf8_lossy(&session.written(0)).into_owned();
    session.wait("drawing on the terminal again", |session| {
        written(session).split("\x1b[?1049h").skip(2).any(|after| after.contains("\x1b[?2026l"))
    });
    let written = written(&session);
    let entered: Vec<&str> = written.split("\x1b[?1049h").skip(1).collect();
    assert_eq!(entered.len(), 2, "{written:?}");
    assert!(entered.iter().all(|after| after.starts_with("\x1b[2J")), "{entered:?}");
    assert!(!written.contains("\x1b[6n"));
}

#[test]
fn every_frame_is_a_synchronized_update_that_ends() {
    for key in ["q", "\x1a", ""] {
        let (mut session, _folder) = open(&Options::default());
        session.press("2ltjj");
        session.press(key);
        match key {
            "\x1a" => session.wait_for_state("T"),
            "q" => drop(session.end()),
            _ => {
                session.signal("TERM");
                session.end();
            }
        }
        session.wait_until_restored();
        let written = String::from_utf8_lossy(&session.written(0)).into_owned();
        let updates: Vec<&str> = written.split("\x1b[?2026h").skip(1).collect();
        assert!(!updates.is_empty());
        assert!(updates.iter().all(|update| update.contains("\x1b[?2026l")), "{key:?}: {updates:?}");
    }
}

#[test]
fn a_visit_leaves_nothing_but_what_was_asked_for() {
    let (mut session, folder) = open(&Options { environment: &[("XDG_RUNTIME_DIR", ".")], ..Options::default() });
    session.wait_for("FITS");
    session.wait_for_silence(std::time::Duration::from_millis(300));
    session.press("e");
    session.wait_for("exported to");
    session.press("q");
    assert!(session.end().success());
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Where the next session begins, in the home folder of the test.
    let state = folder.path().join(".local/state/shardscope");
    left.retain(|path| !state.starts_with(path));
    assert_eq!(left, files(folder.path(), "toml"), "the snapshot and nothing else");
    assert_eq!(left.len(), 1);
    let mut kept: Vec<_> = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept, ["folders.txt", "last.toml"], "the last session, and where its snapshot is");
}

#[test]
fn without_a_home_it_starts_and_a_read_only_place_is_named() {
    let folder = tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // Root writes everywhere: there the message cannot be had.
    let writable = fs::write(folder.path().join("try"), "").is_ok();
    for home in ["/nonexistent", folder.path().to_str().unwrap()] {
        let options = Options { environment: &[("HOME", home), ("XDG_DATA_HOME", home)], ..Options::default() };
        let mut session = Session::start(folder.path(), &options);
        session.wait_for(READY);
        session.wait_for("FITS");
        session.press("e");
        session.wait_for(if writable { "exported to" } else { "cannot create a file in" });
        session.press("q");
        assert!(session.end().success());
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_closed_stderr_and_a_full_one_are_survived() {
    for shell in ["exec \"$@\" 2>&-", "exec \"$@\" 2>/dev/full"] {
        let folder = tempdir().unwrap();
        let mut session = Session::start(folder.path(), &Options { shell: Some(shell), ..Options::default() });
        session.wait_for(READY);
        session.press("q");
        assert!(session.end().success(), "{shell}");
        session.wait_until_restored();
    }
}

#[test]
fn a_dumb_terminal_gets_the_report() {
    let folder = tempdir().unwrap();
    let mut session =
        Session::start(folder.path(), &Options { environment: &[("TERM", "dumb")], ..Options::default() });
    assert!(session.end().success());
    let eval =
        Command::new(PROGRAM).arg("eval").current_dir(folder.path()).env("HOME", folder.path()).output().unwrap();
    let written = String::from_utf8(session.written(0)).unwrap().replace("\r\n", "\n");
    assert_eq!(written, String::from_utf8(eval.stdout).unwrap(), "the report of `eval`, and nothing else");
}

#[test]
fn the_map_is_copied_through_the_terminal() {
    let (mut session, _folder) = open(&Options::default());
    session.wait_for("FITS");
    session.wait("completing the map", |session| !session.text().contains("computing"));
    let before = session.bytes();
    session.press("2y");
    session.wait_for("sent to the terminal's clipboard");
    let written = String::from_utf8_lossy(&session.written(before)).into_owned();
    // "x,y,metric" in base 64, which is four letters for three bytes.
    assert!(written.contains("\x1b]52;c;eCx5LG1ldHJp"), "{written:?}");
}

#[test]
fn the_map_is_written_to_a_file() {
    let (mut session, folder) = open(&Options::default());
    session.wait_for("FITS");
    session.wait("completing the map", |session| !session.text().contains("computing"));
    session.press("2Y");
    session.wait_for("exported to");
    let text = fs::read_to_string(files(folder.path(), "csv").remove(0)).unwrap();
    assert!(text.starts_with("x,y,metric,value,fits,"), "{text}");
}

#[test]
fn the_screen_is_written_as_text_with_colours_and_as_a_picture() {
    let (mut session, folder) = open(&Options::default());
    session.wait_for("FITS");
    for (keys, extension, holds) in
        [("w\r", "txt", "FITS"), ("wansi\r", "ans", "\x1b[0;38;5;"), ("wsvg\r", "svg", "<svg")]
    {
        session.press(keys);
        session.wait("writing the screen", |_| !files(folder.path(), extension).is_empty());
        let path = files(folder.path(), extension).remove(0);
        session.wait_for(&format!("exported to {}", path.file_name().unwrap().to_str().unwrap()));
        assert!(fs::read_to_string(path).unwrap().contains(holds), "{extension}");
    }
}

#[test]
fn the_mouse_is_left_alone_until_it_is_taken_and_given_back_at_the_end() {
    let (mut session, _folder) = open(&Options::default());
    session.wait_for("FITS");
    let mode = |session: &Session| session.screen(vt100::Screen::mouse_protocol_mode);
    assert_eq!(mode(&session), vt100::MouseProtocolMode::None);
    session.press("&");
    session.wait("taking the mouse", |session| mode(session) == vt100::MouseProtocolMode::ButtonMotion);
    // A click on the third field, where the inputs are: column 5, row 10 of the screen.
    session.press("\x1b[<0;5;10M\x1b[<0;5;10m");
    session.wait("choosing a field", |session| session.text().lines().nth(9).unwrap().contains('▸'));
    // The wheel goes on by one field.
    session.press("\x1b[<65;5;10M");
    session.wait("choosing the next field", |session| session.text().lines().nth(10).unwrap().contains('▸'));
    session.signal("TERM");
    session.end();
    session.wait_until_restored();
}

#[test]
fn keys_and_theme_come_from_the_configuration() {
    let folder = tempdir().unwrap();
    let config = folder.path().join("config.toml");
    fs::write(&config, "[terminal]\npalette = \"16\"\n[keys]\nhelp = \"f1\"\n[keys.everywhere]\nquit = \"Q\"\n")
        .unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(folder.path(), &Options { arguments: &arguments, ..Options::default() });
    session.wait_for("F1 help");
    session.press("q");
    session.press("\x1bOP");
    session.wait_for("Keys");
    session.press("\x1b");
    session.wait("closing the help", |session| !session.text().contains("Esc closes"));
    session.press("Q");
    assert!(session.end().success());

    fs::write(&config, "[keys.map]\ntune = \"ctrl-i\"\n").unwrap();
    let mut refused = Session::start(folder.path(), &Options { arguments: &arguments, ..Options::default() });
    assert_eq!(refused.end().exit_code(), 2);
    let reason = "config.toml:2:1: keys.map.tune: a terminal sends the same for ctrl-i and Tab";
    refused.wait("saying why", |session| session.text().replace('\n', "").contains(reason));
}

#[test]
fn the_diagnostics_say_what_was_found_and_how_to_change_it() {
    let environment = [("NO_COLOR", "1"), ("TMUX", "/tmp/tmux,1,0"), ("SSH_CONNECTION", "1 2 3 4")];
    let (mut session, _folder) = open(&Options { environment: &environment, ..Options::default() });
    session.press("~");
    for part in [
        "What the terminal can do",
        "NO_COLOR is set",
        "--palette",
        "LANG=C.UTF-8",
        "120 x 40",
        "through tmux, SSH",
        "set-clipboard on",
        "config.toml",
    ] {
        session.wait_for(part);
    }
}

#[test]
fn sweeps_give_way_to_the_person_at_the_keys() {
    let (mut session, _folder) = open(&Options { arguments: &["--threads", "2"], ..Options::default() });
    // A thread has its parent's name until it has taken its own.
    let count = |session: &Session| ["shardscope", "search-"].map(|name| session.niceness(name).len());
    session.wait("having its threads", |session| count(session) == [1, 2]);
    let (own, sweeps) = (session.niceness("shardscope"), session.niceness("search-"));
    assert!(sweeps.iter().all(|nice| *nice > own[0] || *nice == 19), "{sweeps:?} to {own:?}");
}
