//! The real program on a real terminal: a pty for it to run on, a screen to read back.
//!
//! Nothing here sleeps for things to settle: a condition is polled until a deadline, and the whole
//! screen is printed when it does not come true. What a screen should say is for the tests.

use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use vt100::{Color, MouseProtocolMode, Parser, Screen};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_shardscope");
/// The end of the footer: the first frame is complete.
pub const READY: &str = "q quit";

/// A model of 175 billion parameters in a pipeline of eight ranks.
pub const PIPELINE: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "gpt3-175b"
strategy = "zero1"
[plan]
nodes = 64
tensor = 8
pipeline = 8
accumulate = 16
recompute = "full"
"#;

/// A scenario whose maps take long: each step is simulated visit by visit.
pub const INTERLEAVED: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "gpt3-175b"
strategy = "zero1"
[plan]
nodes = 64
tensor = 8
pipeline = 8
accumulate = 64
recompute = "full"
schedule = "interleaved"
stages_per_rank = 4
"#;

/// After so long a thing does not come: the longest search is proven within a minute by a build for tests on two idle cores.
const DEADLINE: Duration = Duration::from_secs(180);
/// How a frame ends: "end of a synchronized update".
const END: &[u8] = b"\x1b[?2026l";
const POLL: Duration = Duration::from_micros(500);

/// A running program and its terminal.
pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    output: Arc<Mutex<Output>>,
    /// The end of the terminal that a person sits at; gone after a hang-up.
    line: Option<Line>,
    /// The line settings before the program ran.
    settings: String,
}

struct Line {
    terminal: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    reader: JoinHandle<()>,
    /// Ends the reader once it has read something more.
    hang_up: Arc<AtomicBool>,
}

struct Output {
    parser: Parser,
    /// All that was written.
    written: Vec<u8>,
}

/// How a session differs from a plain one.
pub struct Options<'a> {
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a str)],
    /// Columns and rows.
    pub size: (u16, u16),
    /// Bits that the line carries in a second, if it is slow.
    pub line: Option<u32>,
    /// A shell command that runs the program as `"$@"`.
    pub shell: Option<&'a str>,
    /// Whether the first start may ask what is at hand.
    pub asks: bool,
}

impl Options<'_> {
    /// The state of the last session in a home.
    fn last(&self, home: &Path) -> PathBuf {
        let named = self.environment.iter().find(|(name, _)| *name == "XDG_STATE_HOME");
        named.map_or_else(|| home.join(".local/state"), |(_, state)| state.into()).join("shardscope/last.toml")
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { arguments: &[], environment: &[], size: (120, 40), line: None, shell: None, asks: false }
    }
}

impl Session {
    /// Starts the program in `folder`, which is its home too, with nothing else from this environment.
    pub fn start(folder: &Path, options: &Options<'_>) -> Self {
        let pty = native_pty_system().openpty(pty_size(options.size)).unwrap();
        let settings = settings(&*pty.master);
        let mut command = CommandBuilder::new(options.shell.map_or(PROGRAM, |_| "/bin/sh"));
        if let Some(shell) = options.shell {
            command.args(["-c", shell, "sh", PROGRAM]);
        }
        command.args(options.arguments);
        if options.arguments.is_empty() && !options.asks && !options.last(folder).exists() {
            // The first start asks what is at hand, unless it is told.
            command.arg("default");
        }
        command.cwd(folder);
        command.env_clear();
        command.env("HOME", folder);
        let plain = [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];
        plain.iter().chain(options.environment).for_each(|(name, value)| command.env(name, value));
        let child = pty.slave.spawn_command(command).unwrap();
        let (columns, rows) = options.size;
        let output =
            Arc::new(Mutex::new(Output { parser: Parser::new(cells(rows), cells(columns), 0), written: Vec::new() }));
        let line = Line::new(pty.master, &output, options.line);
        Self { child, output, line: Some(line), settings }
    }

    fn line(&mut self) -> &mut Line {
        self.line.as_mut().expect("a terminal that is still there")
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap()
    }

    /// Asks about the screen as it is now.
    pub fn screen<T>(&self, ask: impl Fn(&Screen) -> T) -> T {
        ask(self.output().parser.screen())
    }

    /// What the screen says.
    pub fn text(&self) -> String {
        self.screen(Screen::contents)
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> usize {
        self.output().written.len()
    }

    /// What was written from a byte on.
    pub fn written(&self, from: usize) -> Vec<u8> {
        self.output().written[from..].to_vec()
    }

    /// The bytes of each whole frame from a byte on.
    pub fn frames(&self, from: usize) -> Vec<usize> {
        let written = self.written(from);
        let ends = written.windows(END.len()).enumerate().filter(|(_, window)| *window == END);
        let ends: Vec<usize> = ends.map(|(at, _)| at + END.len()).collect();
        ends.iter().scan(0, |last, end| Some(end - std::mem::replace(last, *end))).collect()
    }

    /// Waits until `condition` holds; `what` says what is missing when it never does.
    pub fn wait(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            if start.elapsed() > DEADLINE {
                let (rows, columns) = self.screen(Screen::size);
                panic!("after {DEADLINE:?} not {what}; the screen, {columns} x {rows}:\n{}\n", self.text());
            }
            thread::sleep(POLL);
        }
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&mut self, text: &str) {
        self.wait(&format!("showing '{text}'"), |session| session.text().contains(text));
    }

    /// Waits until nothing has been written for `time`.
    pub fn wait_for_silence(&mut self, time: Duration) {
        let mut last = (self.bytes(), Instant::now());
        self.wait(&format!("silent for {time:?}"), |session| {
            if session.bytes() != last.0 {
                last = (session.bytes(), Instant::now());
            }
            last.1.elapsed() >= time
        });
    }

    /// Waits for the end of the program.
    pub fn end(&mut self) -> ExitStatus {
        let mut status = None;
        self.wait("at its end", |session| {
            status = session.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Waits until the process is in `state`, a letter as in `/proc/PID/stat`: `T` stopped, `Z` ended.
    pub fn wait_for_state(&mut self, state: &str) {
        self.wait(&format!("in process state {state}"), |session| session.stat()[0] == state);
    }

    /// Waits until the terminal is as the program found it.
    pub fn wait_until_restored(&mut self) {
        self.wait("leaving the terminal as it was", |session| session.screen(is_plain) && !session.is_raw());
    }

    /// Whether the line settings are not those that the program found.
    pub fn is_raw(&mut self) -> bool {
        settings(&*self.line().terminal) != self.settings
    }

    /// Types keys, as the terminal sends them.
    pub fn press(&mut self, keys: &str) {
        self.line().keyboard.write_all(keys.as_bytes()).unwrap();
        self.line().keyboard.flush().unwrap();
    }

    /// Changes the terminal's size, in columns and rows.
    pub fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.output().parser.screen_mut().set_size(cells(rows), cells(columns));
        self.line().terminal.resize(pty_size((columns, rows))).unwrap();
    }

    /// Takes the terminal away, as a lost connection does. `key` must make the program write something:
    /// until then the reader holds the terminal open.
    pub fn hang_up(&mut self, key: &str) {
        self.line().hang_up.store(true, Ordering::Relaxed);
        self.press(key);
        if let Some(Line { reader, .. }) = self.line.take() {
            reader.join().unwrap();
        }
    }

    /// Has the terminal take no more bytes, and waits until the program feels it.
    pub fn stall(&mut self) {
        self.line().hang_up.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + DEADLINE;
        let mut last = (self.writes(), Instant::now());
        while last.1.elapsed() < Duration::from_secs(1) {
            assert!(Instant::now() < deadline, "it writes on and on");
            self.press("?\x1b");
            thread::sleep(POLL);
            if self.writes() != last.0 {
                last = (self.writes(), Instant::now());
            }
        }
    }

    /// Sends a signal by its name, like `TERM`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// The fields of `/proc/PID/stat` from the state on.
    fn stat(&self) -> Vec<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').map(str::to_owned).collect()
    }

    /// How often its threads have gone to sleep so far: what sleeps on does not count.
    pub fn sleeps(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let status =
            |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        tasks.map(|task| field(&status(task), "voluntary_ctxt_switches:")).sum()
    }

    /// The niceness of the threads whose name begins so.
    pub fn niceness(&self, name: &str) -> Vec<i64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let stats = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")).unwrap());
        let named = stats.filter(|stat| stat.contains(&format!("({name}")));
        // The nineteenth field; the state is the third.
        named.map(|stat| stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()).collect()
    }

    /// How often it has called `write` so far.
    pub fn writes(&self) -> u64 {
        field(&fs::read_to_string(format!("/proc/{}/io", self.id())).unwrap(), "syscw:")
    }

    /// Processor time used so far, user and system, to a hundredth of a second (Linux's tick).
    pub fn processor_time(&self) -> Duration {
        let stat = self.stat();
        Duration::from_millis(10 * (stat[11].parse::<u64>().unwrap() + stat[12].parse::<u64>().unwrap()))
    }

    /// The memory that is resident, and the most that ever was, in MB.
    pub fn resident(&self) -> (f64, f64) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let megabytes = |name| field(&status, name) as f64 * 1024.0 / 1e6;
        (megabytes("VmRSS:"), megabytes("VmHWM:"))
    }
}

/// The number behind a name in a file of `/proc`.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

impl Drop for Session {
    /// Leaves no process behind when a test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Line {
    fn new(terminal: Box<dyn MasterPty + Send>, output: &Arc<Mutex<Output>>, bits: Option<u32>) -> Self {
        let keyboard = terminal.take_writer().unwrap();
        let mut source = terminal.try_clone_reader().unwrap();
        let hang_up = Arc::new(AtomicBool::new(false));
        let (output, stop) = (Arc::clone(output), Arc::clone(&hang_up));
        let reader = thread::spawn(move || {
            // A slow line carries little at a time, so that the program feels how slow it is.
            let mut buffer = vec![0; if bits.is_some() { 256 } else { 1 << 13 }];
            while let Ok(count @ 1..) = source.read(&mut buffer) {
                if let Some(bits) = bits {
                    thread::sleep(Duration::from_secs_f64(8.0 * count as f64 / f64::from(bits)));
                }
                let mut output = output.lock().unwrap();
                output.parser.process(&buffer[..count]);
                output.written.extend_from_slice(&buffer[..count]);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        Self { terminal, keyboard, reader, hang_up }
    }
}

/// Whether a screen is as a shell expects it: the main one, cursor shown, no style, no mouse, no paste mode.
fn is_plain(screen: &Screen) -> bool {
    !screen.alternate_screen()
        && !screen.hide_cursor()
        && !screen.bracketed_paste()
        && !screen.application_cursor()
        && screen.mouse_protocol_mode() == MouseProtocolMode::None
        && (screen.fgcolor(), screen.bgcolor()) == (Color::Default, Color::Default)
        && !(screen.inverse() || screen.bold() || screen.dim() || screen.underline())
}

/// The line settings (raw mode and the like), to be compared and printed.
fn settings(terminal: &dyn MasterPty) -> String {
    format!("{:?}", terminal.get_termios().unwrap())
}

fn pty_size((columns, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols: columns, ..PtySize::default() }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}
