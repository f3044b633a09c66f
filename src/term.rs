//! The terminal: the explorer's event loop, from the first frame to giving the terminal back.
//!
//! Input, signals and jobs have threads of their own and send events; this one waits for them, takes all that have
//! come, and draws once. Without an event it writes nothing. Not for what a key means ([`crate::app`]) and not for
//! what a frame shows ([`crate::ui`]).

mod diagnostics;
mod event;
mod input;
mod keys;
mod leaving;
mod pace;
mod screen;
mod signals;
mod wire;
mod within;

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use rustix::io::Errno;
use signal_hook::consts::SIGHUP;

use crate::app::action::{Command, Format, JobReport};
use crate::app::jobs::files::{FileJob, Files};
use crate::app::jobs::{Jobs, Tell, is_to_break};
use crate::app::{App, Options, Start};
use crate::ui;
use crate::ui::caps::{Caps, Overrides};
use crate::ui::export;
use shardscope_engine::text::visible;
use shardscope_report::snapshot::SessionFile;

use event::Event;
use keys::Input;
use leaving::Leaving;
use pace::{HeldKey, Progress};
use screen::Screen;

pub use signals::hangup_is_ignored;
pub use within::within;

/// Between two frames that show how far a job is, and that over a slow line.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));

/// How long a frame waits for the answer to what was asked with the last key, so that both are drawn at once.
const SETTLE: Duration = Duration::from_millis(10);

/// The thread that draws.
static DRAWING: OnceLock<ThreadId> = OnceLock::new();

/// Runs the explorer until the user quits or the terminal goes away. What is said when the screen is gone goes to the log
/// too.
pub fn run(start: Start, log: fn(&str)) -> io::Result<()> {
    // Without this, crossterm answers NO_COLOR by resets that also take bold and reverse away (fixed by its PR 1069).
    crossterm::style::force_color_output(true);
    let caps = Caps::detect(&|name| env::var(name).ok(), Overrides::from(&start.options));
    let (events, queue) = mpsc::channel();
    let reports = events.clone();
    let tell: Tell = Arc::new(move |report| drop(reports.send(Event::Report(report))));
    let session = start.options.session.clone();
    let files = Files::start(&tell, session.as_ref().map(SessionFile::folders))?;
    let leaving = Leaving::new(session, files.unwritten(), log);
    signals::watch(events.clone(), &leaving)?;
    let _ = DRAWING.set(thread::current().id());
    let screen = Screen::enter()?;
    input::watch(events, &leaving)?;
    let pause = if start.options.terminal.low_bandwidth { PAUSE.1 } else { PAUSE.0 };
    let jobs = Jobs::start(start.options.threads, pause, &tell)?;
    let options = start.options.clone();
    let held = HeldKey::new(options.terminal.low_bandwidth);
    let (app, commands) = App::new(start);
    let progress = Progress::new(pause);
    let mut explorer =
        Explorer { app, screen, jobs, files, leaving, caps, options, dirty: true, asked: false, held, progress };
    explorer.resize()?;
    if explorer.app.mouse.taken {
        explorer.screen.take_mouse(true)?;
    }
    for command in commands {
        let _ = explorer.obey(command);
    }
    let ended = explorer.run(&queue);
    explorer.leaving.note(explorer.app.left_off());
    if ended.as_ref().is_err_and(is_gone) {
        // Whether or not the system says so.
        explorer.leaving.by_signal(SIGHUP);
    }
    explorer.leaving.quit();
    ended
}

/// Whether a panic of this thread may be printed. The thread that draws gives the terminal back first; a job's panic is
/// caught and shown on the screen.
pub fn may_print() -> bool {
    let Some(drawing) = DRAWING.get() else { return true };
    let draws = thread::current().id() == *drawing;
    if draws {
        screen::leave();
    }
    draws
}

struct Explorer {
    app: App,
    screen: Screen,
    jobs: Jobs,
    files: Files,
    leaving: Arc<Leaving>,
    caps: Caps,
    options: Options,
    /// Whether the screen no longer shows the state.
    dirty: bool,
    /// Whether jobs were asked for something since the last frame.
    asked: bool,
    held: HeldKey,
    progress: Progress,
}

impl Explorer {
    fn run(&mut self, queue: &Receiver<Event>) -> io::Result<()> {
        loop {
            let now = Instant::now();
            // One frame for all events that had come: a thousand keys of a paste are a thousand changes of the state,
            // and one drawing.
            if mem::take(&mut self.dirty) || self.progress.left(now) == Some(Duration::ZERO) {
                self.progress.drawn(now);
                self.leaving.note(self.app.left_off());
                self.screen.draw(|frame| {
                    debug_assert!(self.app.layer.is_none() || !is_to_break("drawing"), "broken by a test");
                    ui::draw(&self.app, &self.caps, frame);
                })?;
            }
            let first = self.wait(queue)?;
            if self.take(first, queue)?.is_break() {
                return Ok(());
            }
        }
    }

    /// The next event: that the map's cursor rests or that progress is to be drawn, if nothing else comes before.
    fn wait(&self, queue: &Receiver<Event>) -> io::Result<Event> {
        let now = Instant::now();
        // Three reasons to wake: something happened, the map's cursor has rested, or a running job's progress is due.
        // With none of the last two it sleeps until the first, and burns nothing.
        let rest = self.app.following.then(|| (self.held.left(now), Event::Rest));
        let due = self.progress.left(now).map(|left| (left, Event::Due));
        let Some((patience, event)) = rest.into_iter().chain(due).min_by_key(|(left, _)| *left) else {
            return queue.recv().map_err(|_| gone());
        };
        match queue.recv_timeout(patience) {
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            next => Ok(next.unwrap_or(event)),
        }
    }

    /// Takes an event and all that have come since, and waits a moment for the answer that they asked for; the cursor
    /// of a map is drawn before there is one.
    fn take(&mut self, first: Event, queue: &Receiver<Event>) -> io::Result<ControlFlow<()>> {
        let deadline = Instant::now() + SETTLE;
        self.asked = false;
        let mut next = Some(first);
        while let Some(event) = next {
            if self.handle(event)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // A map's cursor is drawn at once: its panels follow when it rests.
            let waits = self.asked && self.app.is_asking() && !self.app.following;
            // Nothing to wait for: only events that have already come are taken.
            let patience = if waits { deadline.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            next = queue.recv_timeout(patience).ok();
        }
        Ok(ControlFlow::Continue(()))
    }

    fn handle(&mut self, event: Event) -> io::Result<ControlFlow<()>> {
        match event {
            Event::Input(input) => return self.receive(input),
            Event::Resize => self.resize()?,
            Event::Report(report) => {
                match report {
                    // Parts of a long job come by the hundred: they are drawn at the next pause, all else at once.
                    JobReport::Cells { .. } | JobReport::Found { .. } | JobReport::Transferring { .. } => {
                        self.progress.found(Instant::now());
                    }
                    _ => self.dirty = true,
                }
                let commands = self.app.receive(report);
                return self.obey_all(commands);
            }
            Event::Suspend => screen::suspend()?,
            Event::Continue => {
                self.screen.resume()?;
                self.dirty = true;
            }
            Event::Rest => {
                self.dirty = true;
                let commands = self.app.follow_cursor();
                return self.obey_all(commands);
            }
            Event::Due => {}
            Event::Gone => return Err(gone()),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn receive(&mut self, input: Input) -> io::Result<ControlFlow<()>> {
        let commands = match input {
            Input::Key(key) => {
                let Some(action) = self.app.keymap.action(self.app.place(), key) else {
                    return Ok(ControlFlow::Continue(()));
                };
                self.app.update(action)
            }
            Input::Mouse(gesture, place) => {
                let target = ui::pointing::target(&self.app, &self.caps, self.screen.size()?, place);
                self.app.point(target, gesture)
            }
            Input::Paste(text) => self.app.paste(&text),
            // The thread of the input has ended the process by then.
            Input::Interrupt => return Ok(ControlFlow::Break(())),
        };
        self.dirty = true;
        self.held.press(Instant::now());
        self.obey_all(commands)
    }

    fn resize(&mut self) -> io::Result<()> {
        self.app.set_page(ui::page(self.screen.size()?.1));
        self.dirty = true;
        Ok(())
    }

    /// Nothing acknowledges it: a terminal may also ignore it.
    fn copy(&mut self, text: &str, said: String) -> io::Result<()> {
        self.screen.copy(&visible(text))?;
        self.app.tell(said);
        Ok(())
    }

    /// Writes a picture of the screen to a file.
    fn save_screen(&mut self, format: Format) -> io::Result<()> {
        let picture = ui::picture(&self.app, &self.caps, self.screen.size()?);
        let text = match format {
            Format::Text => export::text(&picture),
            Format::Ansi => export::ansi(&picture),
            Format::Svg => export::svg(&picture, self.caps.light),
        };
        self.files.run(FileJob::SaveText(("screen", format.extension()), text));
        Ok(())
    }

    fn obey_all(&mut self, commands: Vec<Command>) -> io::Result<ControlFlow<()>> {
        for command in commands {
            if self.obey(command)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn obey(&mut self, command: Command) -> io::Result<ControlFlow<()>> {
        self.asked |= matches!(command, Command::Evaluate { .. } | Command::Sweep { .. } | Command::Work { .. });
        match command {
            Command::Evaluate { generation, scenario } => self.jobs.evaluate(generation, scenario),
            Command::Explain { generation, scenario } => self.jobs.explain(generation, scenario),
            Command::Sweep { generation, sweep, from } => self.jobs.sweep(generation, sweep, from),
            Command::Work { generation, job } => self.jobs.work(generation, job),
            Command::Rest => self.jobs.rest(),
            Command::Export(answer) => self.files.run(FileJob::Export(answer)),
            Command::SaveSet(name) => self.files.run(FileJob::SaveSet(name, self.app.pins.all().to_vec())),
            Command::SaveTable(name, text) => self.files.run(FileJob::SaveText((name, "csv"), text)),
            Command::SaveScreen(format) => self.save_screen(format)?,
            Command::Diagnose => {
                let findings = diagnostics::find(&self.app, &self.screen, &self.options)?;
                self.app.diagnose(findings);
            }
            Command::Mouse(taken) => self.screen.take_mouse(taken)?,
            Command::Copy { text, said } => self.copy(&text, said)?,
            Command::List => self.files.run(FileJob::List),
            Command::Complete(line) => self.files.complete(line),
            Command::Transfer { number, transfer } => {
                self.files.transfer(number, transfer, Arc::clone(&self.app.library));
            }
            Command::StopTransfer => self.files.stop(),
            Command::Delete(path) => self.files.run(FileJob::Delete(path)),
            Command::SavePreset(saving) => {
                self.files.run(FileJob::SavePreset(saving, Arc::clone(&self.app.library)));
            }
            Command::Reload => self.files.run(FileJob::Reload(Arc::clone(&self.app.library))),
            Command::Suspend => screen::suspend()?,
            Command::Quit => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A terminal that went away.
fn gone() -> io::Error {
    Errno::IO.into()
}

fn is_gone(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::IO)
}

#[cfg(test)]
mod tests;
