//! What the program may cost a line and a machine, of the real program. Times are measured, not tested: `cargo bench`.

use std::thread;
use std::time::{Duration, Instant};

use vt100::{Color, Screen};

use super::harness::{INTERLEAVED, Options, Session};
use super::{RIGHT, cells, open, open_with};

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
        let (before, writes) = (session.bytes(), session.writes());
        session.resize((79, 24));
        session.wait("drawing the screen anew", |session| !session.frames(before).is_empty());
        session.wait_for_silence(QUIET);
        let most = session.frames(before).into_iter().max().unwrap();
        assert!((1_000..=12_000).contains(&most), "{most} bytes after {keys:?}");
        // The signal of a new size is a byte in a pipe of the program's own.
        let (writes, frames) = (session.writes() - writes, session.frames(before).len() as u64);
        assert!(writes <= 2 * frames + 2, "{writes} calls of write for {frames} frames");
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
            // The panels fill 200x50 without holes: a change of all of them is some 9,100 bytes.
            assert!(panels.iter().all(|bytes| *bytes <= 9_300), "{key:?} at {size:?}: {frames:?}");
            // Two calls for a frame at most; a signal or a waker would have to write, too.
            let writes = session.writes() - before.1;
            assert!(writes <= 2 * frames.len() as u64, "{writes} calls of write for {frames:?}");
        }
    }
}

#[test]
fn keys_that_came_together_are_drawn_together() {
    let (mut session, _folder) = settled((120, 40));
    session.press("1g");
    session.wait_for_silence(QUIET);
    let before = session.bytes();
    session.press(&"jk".repeat(200));
    session.press("jjj");
    session.wait("on the fourth field", |session| session.text().lines().any(|line| line.contains("▸tokens")));
    session.wait_for_silence(QUIET);
    let frames = session.frames(before);
    assert!(frames.len() <= 20, "403 keys in {} frames", frames.len());
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

/// The training on many devices takes more than two seconds on any build.
const LONG: &str = "D+++++++";

/// The frames in which something is being computed and no key is pressed, for two seconds, and the seconds.
fn frames_of_progress(arguments: &[&str]) -> (f64, f64) {
    let (mut session, _folder) = open_with(INTERLEAVED, &Options { arguments, ..Options::default() });
    session.press(LONG);
    session.wait_for("computing");
    session.wait("having found something", |session| !session.text().contains("computing 0 of"));
    let (before, begun) = (session.bytes(), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let frames = session.frames(before).len();
    let passed = begun.elapsed().as_secs_f64();
    assert!(session.text().contains("computing"), "{}", session.text());
    (frames as f64, passed)
}

#[test]
fn progress_is_drawn_ten_times_a_second_at_most_and_twice_over_a_slow_line() {
    for (arguments, most) in [(&[][..], 10.0), (&["--low-bandwidth"], 2.0)] {
        let (frames, seconds) = frames_of_progress(arguments);
        // The first frame, and one that was due when the watch began.
        assert!((1.0..=most * seconds + 3.0).contains(&frames), "{frames} frames in {seconds} s of {arguments:?}");
    }
}

#[test]
fn low_bandwidth_sends_no_rgb_and_leaves_the_panels_until_a_key_rests() {
    let rgb = |screen: &Screen| {
        let mut colours = cells(screen).flat_map(|(_, cell)| [cell.fgcolor(), cell.bgcolor()]);
        colours.any(|colour| matches!(colour, Color::Rgb(..)))
    };
    for (arguments, direct) in [(&[][..], true), (&["--low-bandwidth"], false)] {
        let environment = [("COLORTERM", "truecolor")];
        let (mut session, _folder) = open(&Options { arguments, environment: &environment, ..Options::default() });
        session.press("2");
        session.wait("completing the map", |session| !session.text().contains("computing"));
        session.wait_for_silence(QUIET);
        assert_eq!(session.screen(rgb), direct, "{arguments:?}");
        let (before, pressed) = (session.bytes(), Instant::now());
        session.press(RIGHT);
        session.wait("answering", |session| !session.frames(before).is_empty());
        // A tenth of a second has to pass before the panels follow.
        thread::sleep(Duration::from_millis(30));
        let frames = session.frames(before);
        assert!(direct || pressed.elapsed() > Duration::from_millis(90) || frames.len() == 1, "{frames:?}");
        session.wait_for_silence(QUIET);
        assert!(session.frames(before).len() > 1, "the panels follow in the end");
    }
}

#[test]
fn memory_stays_below_40_mb_and_does_not_grow_with_use() {
    let (mut session, _folder) = settled((120, 40));
    let mut use_it = |times: usize| {
        for _ in 0..times {
            for keys in ["2lljj", "1gjjjjjjll", "4+++0", "Hlljj", "Sjj", "Mtmt", "p", "W", "u", "5jj", "U"] {
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
