//! Panics of the real program, which a build with debug assertions has on demand.

use std::fs;

use tempfile::tempdir;

use super::harness::{Options, READY, Session};

#[test]
fn a_panic_while_drawing_gives_the_terminal_back_says_what_happened_and_ends_with_70() {
    let folder = tempdir().unwrap();
    let options = Options { environment: &[("SHARDSCOPE_BREAK", "drawing")], ..Options::default() };
    let mut session = Session::start(folder.path(), &options);
    session.wait_for(READY);
    session.press("?");
    assert_eq!((session.end().exit_code(), session.end().signal()), (70, None));
    session.wait_for("broken by a test");
    session.wait_for("This is a bug in shardscope");
    session.wait_until_restored();
}

#[test]
fn a_panic_of_a_job_is_shown_and_logged_and_the_rest_goes_on() {
    for (part, keys) in [("evaluation", ""), ("map", ""), ("view", "S")] {
        let folder = tempdir().unwrap();
        let environment = [("SHARDSCOPE_BREAK", part)];
        let arguments = ["--log", "log"];
        let options = Options { environment: &environment, arguments: &arguments, ..Options::default() };
        let mut session = Session::start(folder.path(), &options);
        session.wait_for(READY);
        session.press(keys);
        session.wait_for(&format!("{part} failed: broken by a test"));
        assert!(session.screen(vt100::Screen::alternate_screen) && session.is_raw(), "{part}");
        session.press("?");
        session.wait_for("Keys");
        session.press("\x03");
        assert!(session.end().success(), "{part}");
        session.wait_until_restored();
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(log.contains("broken by a test"), "{part}: {log}");
    }
}
