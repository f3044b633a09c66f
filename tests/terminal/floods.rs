//! Floods of keys, sequences without an end, pasted text and absurd sizes: Ctrl-C still ends the program at once.

use std::process::Command;
use std::time::{Duration, Instant};

use super::harness::{Options, Session};
use super::{field, open, take_more_nodes};

#[test]
fn ctrl_c_ends_it_at_once_whatever_came_before() {
    let burst = "j".repeat(4096);
    let endless = ["\x1b[<0;1", "\x1b[200~abc", "\x1b]52;c;", "\x1bP", "\x1b_", "\x1b[1;", "\x1bO", "\x1b", "\u{c3}"];
    for before in [burst.as_str()].into_iter().chain(endless) {
        for apart in [false, true] {
            let (mut session, _folder) = open(&Options::default());
            if apart {
                session.press(before);
                session.press("\x03");
            } else {
                session.press(&format!("{before}\x03"));
            }
            assert!(session.end().success(), "{:?}", &before[..before.len().min(10)]);
            session.wait_until_restored();
        }
    }
}

#[test]
fn a_file_that_is_being_read_does_not_hold_the_end() {
    for end in ["\x03", "q"] {
        let (mut session, folder) = open(&Options::default());
        assert!(Command::new("mkfifo").arg(folder.path().join("silent")).status().unwrap().success());
        // Something to be kept.
        take_more_nodes(&mut session);
        session.press("O./silent\r");
        session.wait_for("reading ./silent");
        let start = Instant::now();
        session.press(end);
        assert!(session.end().success());
        assert!(start.elapsed() < Duration::from_secs(1), "{end:?}: {:?}", start.elapsed());
        assert!(folder.path().join(".local/state/shardscope/last.toml").exists(), "the session was not kept");
    }
}

#[test]
fn a_file_that_is_waited_for_says_so_and_escape_stops_it() {
    let (mut session, folder) = open(&Options::default());
    assert!(Command::new("mkfifo").arg(folder.path().join("silent")).status().unwrap().success());
    std::fs::write(folder.path().join("other"), "nothing that anyone knows").unwrap();
    session.press("O./silent\r");
    session.wait_for("reading ./silent: 0 B after 1 s; Esc stops it");
    session.press("O./other\r");
    session.wait_for("not yet: still reading ./silent");
    session.press("\x1b");
    session.wait_for("stopped reading ./silent");
    // Nobody waits for the end of the first any more.
    let start = Instant::now();
    session.press("O\x1b[A\r");
    session.wait_for("is no file whose content is known");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    session.press("\x03");
    assert!(session.end().success());
}

#[test]
fn a_sequence_without_an_end_does_not_hold_the_next_key() {
    let (mut session, _folder) = open(&Options::default());
    session.press("\x1b[<0;1");
    // The rest may still come at once: a person's next key comes after a pause.
    session.wait_for_silence(Duration::from_millis(300));
    session.press("?");
    session.wait_for("Keys");
    session.press("\x1b");
    session.wait("closing the help", |session| !session.text().contains("Esc closes"));
    session.press("q");
    assert!(session.end().success());
}

#[test]
fn pasted_text_is_no_command() {
    let (mut session, folder) = open(&Options::default());
    session.wait_for("FITS");
    assert!(session.screen(vt100::Screen::bracketed_paste));
    let page = "qe\r:quit\r\x1b[A".repeat(20_000);
    session.press(&format!("\x1b[200~{page}\x1b[201~"));
    session.wait_for("pasted text is ignored here");
    session.press("?");
    session.wait_for("Keys");
    session.press("\x1b");
    session.wait("closing the help", |session| !session.text().contains("Esc closes"));
    // The fifth field is the number of nodes: there text goes.
    session.press("1gjjjjjj");
    session.press("\r");
    session.wait_for("Esc");
    session.press("\x1b[200~12\n\x1b[201~");
    session.press("\r");
    session.wait("taking what was pasted", |session| field(session, "nodes") == "12");
    session.press("q");
    assert!(session.end().success());
    session.wait_until_restored();
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    // The last session is kept there, and nothing else.
    assert_eq!(left.collect::<Vec<_>>(), [".local"], "a key of the pasted text was obeyed");
}

#[test]
fn a_terminal_of_absurd_size_is_drawn_on_as_far_as_memory_goes() {
    for size in [2_000, 65_535] {
        let shell = format!("stty cols {size} rows {size}; exec \"$@\"");
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::start(folder.path(), &Options { shell: Some(&shell), ..Options::default() });
        session.wait("drawing something", |session| session.bytes() > 1000);
        session.wait_for_silence(Duration::from_millis(300));
        let (_, most) = session.resident();
        assert!(most < 200.0, "{most} MB at {size} x {size}");
        session.press("q");
        assert!(session.end().success());
        session.wait_until_restored();
    }
}
