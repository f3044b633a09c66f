//! A long day at the explorer in fast forward: pseudo-random keys, terminals of changing sizes, the real threads behind
//! the screen. Nothing panics, memory stays bounded, and no thread and no descriptor is left.
//!
//! `SHARDSCOPE_SOAK=1000000 cargo test --release --test soak -- --nocapture` presses a million keys, in minutes, and prints
//! every tenth of it what it took.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests ends the test")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use shardscope::app::action::{Command, JobReport};
use shardscope::app::jobs::files::{FileJob, Files};
use shardscope::app::jobs::{Jobs, Tell};
use shardscope::app::transfer::FileTransfer;
use shardscope::app::{App, Start};
use shardscope::ui::{self, caps::Caps};
use shardscope_report::snapshot;

/// The most memory that is ever resident, whatever was pressed, in MB: code and the frames of this test included.
/// Answers that are kept are 40 of it (`app/answers.rs`), and the timelines of pins as much again (`app/pins.rs`). A
/// million keys, optimised, reached 231 before these were bounded: 198 of it within the first 100,000, and nothing more
/// from 700,000 on.
const MOST_MEGABYTES: u64 = 256;

/// The most files that are written.
const MOST_FILES: usize = 100;

/// Keys between two frames; and between two pauses, in which the threads may answer, and the size changes.
const FRAME: u32 = 20;
const PAUSE: u32 = 1000;

/// How long a pause waits for answers.
const PATIENCE: Duration = Duration::from_millis(100);

/// Keys without a character; who takes and closes does so often.
const NAMED: [KeyCode; 16] = [
    KeyCode::Enter,
    KeyCode::Enter,
    KeyCode::Esc,
    KeyCode::Esc,
    KeyCode::Tab,
    KeyCode::BackTab,
    KeyCode::Up,
    KeyCode::Down,
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::PageUp,
    KeyCode::PageDown,
    KeyCode::Backspace,
    KeyCode::Delete,
];

const SIZES: [(u16, u16); 7] = [(80, 24), (120, 40), (200, 50), (20, 5), (1, 1), (300, 100), (79, 23)];

#[test]
fn keys_leave_nothing_behind() {
    let keys: u32 = std::env::var("SHARDSCOPE_SOAK").map_or(10_000, |keys| keys.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let (before, start) = (left_open(), Instant::now());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[16; 32]);
    let mut desk = JobContext::open();
    let mut most = 0;
    for pressed in 0..keys {
        desk.press(key(&mut random));
        if pressed % FRAME == 0 {
            desk.draw();
        }
        if pressed % PAUSE == 0 {
            desk.wait();
            desk.size = SIZES[random.random_range(0..SIZES.len())];
            most = most.max(resident());
        }
        if pressed % (keys / 10).max(1) == 0 {
            println!("{pressed} keys in {} s: {} MB, at most {most}", start.elapsed().as_secs(), resident());
        }
    }
    let drawn = desk.drawn;
    drop(desk);
    // Threads that were cancelled still end what they are at.
    let patience = Instant::now();
    while left_open() != before && patience.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    println!(
        "{keys} keys, {drawn} frames in {} s: at most {most} MB resident, {} MB at the end; threads and descriptors \
         {before:?} before, {:?} after",
        start.elapsed().as_secs(),
        resident(),
        left_open()
    );
    assert_eq!(left_open(), before, "threads and descriptors");
    assert!(most <= MOST_MEGABYTES, "{most} MB");
}

/// Any key that a keyboard has, as a hand would find them: characters mostly.
fn key(random: &mut TestRng) -> KeyEvent {
    let code = match random.random_range(0..10) {
        0..=5 => KeyCode::Char(char::from(random.random_range(b' '..=b'~'))),
        _ => NAMED[random.random_range(0..NAMED.len())],
    };
    let held = if random.random_range(0..20) == 0 { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
    KeyEvent::new(code, held)
}

/// Threads and descriptors of this process.
fn left_open() -> (usize, usize) {
    let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    (count("task"), count("fd"))
}

/// Resident memory in MB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes * 1024 / 1_000_000
}

/// The explorer with everything but a terminal.
struct JobContext {
    app: App,
    jobs: Jobs,
    files: Files,
    reports: Receiver<JobReport>,
    size: (u16, u16),
    written: usize,
    drawn: u32,
}

impl JobContext {
    fn open() -> Self {
        let library = Arc::new(shardscope_presets::library());
        let opened = snapshot::open("default", &library).unwrap();
        let (tell, reports) = mpsc::channel();
        let tell: Tell = Arc::new(move |report| drop(tell.send(report)));
        let jobs = Jobs::start(Some(1), Duration::from_millis(100), &tell).unwrap();
        let files = Files::start(&tell, None).unwrap();
        let (app, commands) = App::new(Start::new(library, opened.file, opened.scenario));
        let mut desk = Self { app, jobs, files, reports, size: SIZES[0], written: 0, drawn: 0 };
        desk.obey(commands);
        desk
    }

    fn press(&mut self, key: KeyEvent) {
        let action = self.app.keymap.action(self.app.place(), key);
        let commands = action.map_or_else(Vec::new, |action| self.app.update(action));
        self.obey(commands);
        while let Ok(report) = self.reports.try_recv() {
            self.receive(report);
        }
    }

    fn receive(&mut self, report: JobReport) {
        if let JobReport::Failed { job, message, .. } = &report {
            panic!("{job} broke down: {message}");
        }
        let commands = self.app.receive(report);
        self.obey(commands);
    }

    fn draw(&mut self) {
        let (width, height) = self.size;
        self.app.set_page(ui::page(height));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| ui::draw(&self.app, &Caps::default(), frame)).unwrap();
        self.drawn += 1;
    }

    /// A person looks at the screen: the panels follow the map's cursor, and what was asked for comes.
    fn wait(&mut self) {
        let commands = self.app.follow_cursor();
        self.obey(commands);
        let start = Instant::now();
        while self.app.is_waiting() && start.elapsed() < PATIENCE {
            if let Ok(report) = self.reports.recv_timeout(PATIENCE) {
                self.receive(report);
            }
        }
    }

    fn obey(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Evaluate { generation, scenario } => self.jobs.evaluate(generation, scenario),
                Command::Explain { generation, scenario } => self.jobs.explain(generation, scenario),
                Command::Sweep { generation, sweep, from } => self.jobs.sweep(generation, sweep, from),
                Command::Work { generation, job } => self.jobs.work(generation, job),
                Command::Rest => self.jobs.rest(),
                Command::Export(answer) => self.write(FileJob::Export(answer)),
                Command::SaveSet(name) => self.write(FileJob::SaveSet(name, self.app.pins.all().to_vec())),
                Command::SaveTable(name, text) => self.write(FileJob::SaveText((name, "csv"), text)),
                // Only of this folder: nobody's own snapshots are opened or deleted.
                Command::List => {
                    let files = snapshot::list(&[PathBuf::from(".")], &|| true);
                    self.receive(JobReport::Listed(files));
                }
                Command::Transfer { number, transfer: transfer @ FileTransfer::Open(_) } => {
                    self.files.transfer(number, transfer, Arc::clone(&self.app.library));
                }
                Command::Transfer { number, .. } => {
                    let report = Box::new(JobReport::Said("no file of another tool is touched".to_owned()));
                    self.receive(JobReport::Transferred { number, report });
                }
                Command::StopTransfer => self.files.stop(),
                Command::Delete(path) => self.files.run(FileJob::Delete(path)),
                Command::Reload => self.files.run(FileJob::Reload(Arc::clone(&self.app.library))),
                // What only a terminal, or the user's own folder, can do; and the end, which is not yet.
                Command::Complete(_)
                | Command::Copy { .. }
                | Command::Diagnose
                | Command::Mouse(_)
                | Command::SaveScreen(_)
                | Command::SavePreset(_)
                | Command::Suspend
                | Command::Quit => {}
            }
        }
    }

    fn write(&mut self, errand: FileJob) {
        self.written += 1;
        if self.written <= MOST_FILES {
            self.files.run(errand);
        }
    }
}
