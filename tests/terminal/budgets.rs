//! What the program may cost a line and a machine, of the real program. Times are measured, not tested: `cargo bench`.

use std::thread;
use std::time::Duration;

use super::harness::{Options, Session};
use super::{RIGHT, open};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];
const QUIET: Duration = Duration::from_millis(500);

/// The explorer at a size, with its map complete.
fn settled(size: (u16, u16)) -> (Session, tempfile::TempDir) {
    let (mut session, folder) = open(&Options { size, ..Options::default() });
    session.wait("completing the map", |session| {
        let text = session.text();
        text.contains("FITS") && !text.contains("computing")
    });
    session.wait_for_silence(QUIET);
    (session, folder)
}

#[test]
fn idle_it_writes_nothing_and_wakes_up_for_nothing() {
    let (session, _folder) = settled((120, 40));
    let before = (session.bytes(), session.sleeps(), session.processor_time());
    thread::sleep(Duration::from_secs(10));
    assert_eq!((session.bytes(), session.sleeps(), session.processor_time()), before);
}

#[test]
fn a_whole_frame_takes_at_most_12_kb_at_80x24() {
    let (mut session, _folder) = settled((80, 24));
    for keys in ["", "H", "S", "?", "\x1b:"] {
        session.press(keys);
        session.wait_for_silence(QUIET);
        let before = session.bytes();
        session.resize((79, 24));
        session.wait("drawing the screen anew", |session| !session.frames(before).is_empty());
        session.wait_for_silence(QUIET);
        let most = session.frames(before).into_iter().max().unwrap();
        assert!((1_000..=12_000).contains(&most), "{most} bytes after {keys:?}");
        session.resize((80, 24));
        session.wait_for_silence(QUIET);
    }
}

#[test]
fn a_cursor_that_moves_is_a_small_frame_and_the_panels_follow_in_another() {
    for size in SIZES {
        let (mut session, _folder) = settled(size);
        session.press("2");
        session.wait_for_silence(QUIET);
        for key in [RIGHT, "k", "h", "j", "j", "l", "l"] {
            let before = (session.bytes(), session.writes());
            session.press(key);
            session.wait_for_silence(QUIET);
            let frames = session.frames(before.0);
            let Some((first, panels)) = frames.split_first() else { continue };
            assert!(*first <= 300, "{key:?} at {size:?}: {frames:?}");
            assert!(panels.iter().all(|bytes| *bytes <= 8_000), "{key:?} at {size:?}: {frames:?}");
            // Two calls for a frame at most; a signal or a waker would have to write, too.
            let writes = session.writes() - before.1;
            assert!(writes <= 2 * frames.len() as u64, "{writes} calls of write for {frames:?}");
        }
    }
}

#[test]
fn a_held_key_moves_the_cursor_and_leaves_the_panels_until_it_rests() {
    let (mut session, _folder) = settled((200, 50));
    session.press("2g");
    session.wait_for_silence(QUIET);
    let before = session.bytes();
    // The panels may follow the first key, which is not held yet, and follow once the last one rests.
    session.press(&RIGHT.repeat(6));
    session.wait_for_silence(QUIET);
    let frames = session.frames(before);
    assert!(frames.iter().filter(|bytes| **bytes > 300).count() <= 2, "{frames:?}");
}

#[test]
fn memory_stays_below_40_mb_and_does_not_grow_with_use() {
    let (mut session, _folder) = settled((120, 40));
    let mut use_it = |times: usize| {
        for _ in 0..times {
            for keys in ["2lljj", "1gjjjjll", "4+++0", "Hlljj", "Sjj", "Mtmt", "p", "W", "u", "5jj", "U"] {
                session.press(keys);
                session.wait_for_silence(Duration::from_millis(20));
            }
        }
        session.wait_for_silence(QUIET);
        session.resident().0
    };
    let (early, late) = (use_it(6), use_it(12));
    assert!(late < 40.0, "{late} MB");
    assert!(late < 1.5 * early, "from {early} to {late} MB");
}
