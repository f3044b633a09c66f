//! The guide on a terminal: in the reader's pager, which may end before the text does.

use tempfile::tempdir;

use super::harness::{Options, Session};

/// A terminal that has the whole chapter, so that its first line is seen.
const TALL: (u16, u16) = (100, 400);

/// Runs `guide keys` with a pager, and hands back what is on the screen at its end.
fn guide(pager: &str, size: (u16, u16)) -> String {
    let folder = tempdir().unwrap();
    let environment = [("PAGER", pager), ("PATH", "/usr/bin:/bin")];
    let options = Options { arguments: &["guide", "keys"], environment: &environment, size, ..Options::default() };
    let mut session = Session::start(folder.path(), &options);
    let status = session.end();
    // What it printed may still be on its way when it ends.
    session.wait("showing the guide", |session| session.text().contains("Look up a key"));
    assert!(status.success(), "{pager}: {status:?}:\n{}", session.text());
    session.text()
}

#[test]
fn the_readers_pager_shows_it() {
    // A pager with options, and one that leaves after three lines of many.
    assert!(guide("sed -n '1s/^/paged: /p;3q'", (80, 24)).starts_with("paged: Look up a key"));
    assert!(guide("head -n 1", (80, 24)).starts_with("Look up a key"));
}

#[test]
fn ctrl_c_is_the_pagers() {
    // It interrupts the whole group, as the terminal does, and goes on.
    let screen = guide("sh -c 'trap : INT; head -n 1; kill -INT 0; echo gone on'", (80, 24));
    assert!(screen.contains("Look up a key") && screen.contains("gone on"), "{screen}");
}

#[test]
fn a_pager_that_is_not_there_is_named_and_the_text_printed() {
    let screen = guide("no-such-pager", TALL);
    assert!(screen.contains("'no-such-pager', does not start") && screen.contains("Look up a key"), "{screen}");
}

#[test]
fn an_empty_pager_means_none() {
    assert!(guide("", TALL).starts_with("Look up a key"));
}
