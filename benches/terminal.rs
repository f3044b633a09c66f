//! What a person at a terminal feels, measured on the real program through a pty: `cargo bench --bench terminal`.
//!
//! It prints a report and fails nothing: times depend on the machine. What does not, bytes, is tested
//! (`tests/terminal/budgets.rs`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement that fails ends the report")]

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/terminal/harness.rs"]
mod harness;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::parse;
use shardscope_engine::search::{Evaluator, Sweep, pool};

use harness::{INTERLEAVED, Options, PIPELINE, READY, Session};

const QUIET: Duration = Duration::from_millis(300);

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

/// A slow line, in bits a second.
const SLOW: u32 = 400_000;

fn main() {
    // `cargo test --all-targets` only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    start();
    idle();
    frames();
    latency();
    searches();
    held_key();
    slow_line();
    maps();
    long_use();
}

/// One line of the report.
fn report(what: &str, measured: &str, budget: &str) {
    println!("{what:<64} {measured:>22}   {budget}");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value below which a share of the values lies.
fn share(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// The explorer in a folder of its own, once it is quiet.
fn open(options: &Options, scenario: Option<&str>) -> (Session, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = options.arguments.to_vec();
    if let Some(text) = scenario {
        std::fs::write(folder.path().join("scenario.toml"), text).unwrap();
        arguments.push("./scenario.toml");
    }
    let mut session = Session::start(folder.path(), &Options { arguments: &arguments, ..*options });
    session.wait_for(READY);
    session.wait_for_silence(QUIET);
    (session, folder)
}

fn start() {
    for size in [SMALL, LARGE] {
        let mut times: Vec<f64> = (0..20)
            .map(|_| {
                let folder = tempfile::tempdir().unwrap();
                let begun = Instant::now();
                let mut session = Session::start(folder.path(), &Options { size, ..Options::default() });
                session.wait("drawing a frame", |session| !session.frames(0).is_empty());
                millis(begun.elapsed())
            })
            .collect();
        let (middle, worst) = (share(&mut times, 0.5), share(&mut times, 1.0));
        report(
            &format!("start to the first full frame, {} x {}", size.0, size.1),
            &format!("{middle:.0} ms, at most {worst:.0}"),
            "60 ms",
        );
    }
}

fn idle() {
    let (session, _folder) = open(&Options { size: LARGE, ..Options::default() }, None);
    let before = (session.bytes(), session.sleeps(), session.processor_time());
    thread::sleep(Duration::from_secs(10));
    let after =
        (session.bytes() - before.0, session.sleeps() - before.1, session.processor_time().saturating_sub(before.2));
    report("idle for 10 s", &format!("{} B, {} wake-ups, {:.0} ms", after.0, after.1, millis(after.2)), "0 B, 0 CPU");
}

/// Bytes and calls of `write` of the frames that some keys lead to.
fn frames() {
    for (size, budget) in [(SMALL, "12 kB"), ((120, 40), ""), (LARGE, "")] {
        let (mut session, _folder) = open(&Options { size, ..Options::default() }, None);
        let before = session.bytes();
        session.press("?");
        session.wait_for_silence(QUIET);
        session.press("\x1b");
        session.wait_for_silence(QUIET);
        session.resize((size.0 - 1, size.1));
        session.wait_for_silence(QUIET);
        let name = format!("a whole frame after a resize, {} x {}, 256 colours", size.0, size.1);
        let whole = session.frames(before).last().copied().unwrap();
        report(&name, &format!("{whole} B"), budget);
        session.press("2");
        session.wait_for_silence(QUIET);
        let (mut first, mut panels, mut writes) = (0, 0, 0.0_f64);
        for key in ["\x1b[C", "\x1b[B", "\x1b[C", "\x1b[A", "\x1b[D", "\x1b[D", "\x1b[D", "\x1b[B", "\x1b[C"] {
            let before = (session.bytes(), session.writes());
            session.press(key);
            session.wait_for_silence(QUIET);
            let frames = session.frames(before.0);
            // At the map's edge nothing moves.
            let Some((moved, followed)) = frames.split_first() else { continue };
            first = first.max(*moved);
            panels = panels.max(followed.iter().copied().max().unwrap_or(0));
            writes = writes.max((session.writes() - before.1) as f64 / frames.len() as f64);
        }
        let name = format!("the map's cursor moves, {} x {}", size.0, size.1);
        report(&name, &format!("{first} B, then {panels} B"), "300 B, then 8 kB");
        report("  calls of write for a frame, at most", &format!("{writes:.1}"), "2");
    }
}

/// From a key to the first byte, while maps are filled one after another: each is begun anew once it is complete.
fn latency() {
    let options = Options { size: LARGE, arguments: &["--threads", "1"], ..Options::default() };
    let (mut session, _folder) = open(&options, Some(INTERLEAVED));
    let computing = |session: &Session| session.text().contains("computing");
    session.press("2");
    let (mut times, mut running) = (Vec::new(), 0);
    for round in 0..100 {
        // Every other map is of tuned cells, which take some tenths of a second.
        while !computing(&session) {
            session.press("t");
            thread::sleep(Duration::from_millis(30));
        }
        for key in if round % 2 == 0 { ["\x1b[C", "\x1b[D", "\x1b[C", "\x1b[D"] } else { ["?", "\x1b", "3", "2"] } {
            running += usize::from(computing(&session));
            let bytes = session.bytes();
            let pressed = Instant::now();
            session.press(key);
            session.wait("answering a key", |session| session.bytes() > bytes);
            times.push(millis(pressed.elapsed()));
            thread::sleep(Duration::from_millis(11 + round % 7));
        }
    }
    let count = times.len();
    let name = format!("key to first byte, 200 x 50, {running} of {count} keys during a sweep");
    let figures = format!("{:.1} ms, p99 {:.1}", share(&mut times, 0.5), share(&mut times, 0.99));
    report(&name, &figures, "4 ms, p99 16");
}

/// From a key to the picture that it asks for while views search, and the memory that this takes. Progress changes the screen
/// all the time, so that its first byte would say nothing: the help is opened and closed.
fn searches() {
    let options = Options { size: LARGE, arguments: &["--threads", "1"], ..Options::default() };
    let (mut session, _folder) = open(&options, Some(PIPELINE));
    let mut times = Vec::new();
    let answer = |session: &mut Session, key: &str, times: &mut Vec<f64>| {
        let opens = key == "?";
        let pressed = Instant::now();
        session.press(key);
        session.wait("answering a key", |session| session.text().contains("Esc closes") == opens);
        times.push(millis(pressed.elapsed()));
        thread::sleep(Duration::from_millis(13 + times.len() as u64 % 7));
    };
    // The plans of 175 billion parameters on 512 devices; between two looks at them other searches, which stop them.
    for (key, rounds) in [("B", 100), ("D", 10), ("B", 20), ("P", 10), ("S", 10), ("Mt", 10), ("B", 100)] {
        session.press(key);
        for _ in 0..rounds {
            answer(&mut session, "?", &mut times);
            answer(&mut session, "\x1b", &mut times);
        }
    }
    let figures = format!("{:.1} ms, p99 {:.1}", share(&mut times, 0.5), share(&mut times, 0.99));
    let name = format!("key to its picture, 200 x 50, {} keys during searches", times.len());
    report(&name, &figures, "4 ms, p99 16");
    let end = Instant::now() + Duration::from_secs(300);
    while !session.text().contains(": proven") && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    report("  most resident until that of 175 B is proven", &format!("{:.0} MB", session.resident().1), "40 MB");
}

/// From each key of a held one to its first byte; and the bytes that all take.
fn held_key() {
    let (mut session, _folder) = open(&Options { size: LARGE, ..Options::default() }, None);
    session.press("2");
    session.wait_for_silence(QUIET);
    let before = session.bytes();
    let mut times = Vec::new();
    for index in 0..90 {
        let bytes = session.bytes();
        let pressed = Instant::now();
        session.press(if index / 4 % 2 == 0 { "\x1b[C" } else { "\x1b[D" });
        session.wait("answering a key", |session| session.bytes() > bytes);
        times.push(millis(pressed.elapsed()));
        thread::sleep(Duration::from_millis(33).saturating_sub(pressed.elapsed()));
    }
    session.wait_for_silence(QUIET);
    let name = "a key held for 3 s at 30/s: slowest answer, bytes of all";
    report(name, &format!("{:.1} ms, {} B", share(&mut times, 1.0), session.bytes() - before), "never behind");
}

fn slow_line() {
    for arguments in [&[][..], &["--low-bandwidth"]] {
        let options = Options { size: SMALL, arguments, line: Some(SLOW), ..Options::default() };
        let folder = tempfile::tempdir().unwrap();
        let begun = Instant::now();
        let mut session = Session::start(folder.path(), &options);
        session.wait_for(READY);
        let first = millis(begun.elapsed());
        session.wait_for_silence(QUIET);
        let whole = millis(begun.elapsed().saturating_sub(QUIET));
        session.press("2");
        session.wait_for_silence(QUIET);
        let bytes = session.bytes();
        let pressed = Instant::now();
        session.press("\x1b[C");
        session.wait("moving the cursor", |session| !session.frames(bytes).is_empty());
        let moved = millis(pressed.elapsed());
        session.wait_for_silence(QUIET);
        let followed = millis(pressed.elapsed().saturating_sub(QUIET));
        let name = format!("400 kbit/s, 80 x 24 {}: first frame, map complete", arguments.concat());
        report(&name, &format!("{first:.0} ms, {whole:.0} ms"), "");
        report("  the cursor moves, the panels follow", &format!("{moved:.0} ms, {followed:.0} ms"), "");
    }
}

fn scenario(text: &str) -> Scenario {
    shardscope_presets::library().resolve(&parse(text).unwrap()).unwrap()
}

/// Tuned maps of 64 x 32 cells on two threads.
fn maps() {
    let plain = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n\
                 [plan]\nnodes = 16\n";
    for (name, base, budget) in [("no pipeline", plain, "50 ms, 2 s"), ("a pipeline of 8", PIPELINE, "50 ms, 10 s")] {
        let sweep = Sweep {
            base: scenario(base),
            x: "nodes=8..512:8".parse().unwrap(),
            y: "seq=256..8192:256".parse().unwrap(),
            tune: true,
        };
        let first = Mutex::new(None);
        let begun = Instant::now();
        let pool = pool(Some(2)).unwrap();
        sweep.run(&Evaluator::on(&pool), 0, &|_, _| {
            first.lock().unwrap().get_or_insert_with(|| begun.elapsed());
        });
        let whole = begun.elapsed().as_secs_f64();
        let first = first.into_inner().unwrap().map_or(f64::NAN, millis);
        let name = format!("tuned map of {} cells, {name}: first cell, all", sweep.len());
        report(&name, &format!("{first:.1} ms, {whole:.2} s"), budget);
    }
}

/// Memory after as many keys as a busy hour has: views, edits, pins, maps, undo.
fn long_use() {
    let (mut session, _folder) = open(&Options { size: LARGE, ..Options::default() }, Some(PIPELINE));
    let mut after = Vec::new();
    for _ in 0..6 {
        for _ in 0..20 {
            for keys in [
                "2lljjb",
                "1gjjjjjjll",
                "4+++ll0",
                "Hlljj",
                "Sjj",
                "Mtmt",
                "pc",
                "W",
                "B",
                "Djj",
                "P",
                "Mu",
                "5jj",
                "i\x1b",
                "U",
                "x\x1b",
            ] {
                session.press(keys);
                session.wait_for_silence(Duration::from_millis(10));
            }
        }
        session.wait_for_silence(QUIET);
        after.push(session.resident().0);
    }
    let most = session.resident().1;
    let name = "resident after 1, 2, ... 6 times 1,000 keys; most";
    let list: Vec<String> = after.iter().map(|megabytes| format!("{megabytes:.0}")).collect();
    report(name, &format!("{} MB; {most:.0}", list.join(" ")), "40 MB");
}
