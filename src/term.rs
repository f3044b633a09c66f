//! The terminal: the explorer's event loop, from the first frame to giving the terminal back.
//!
//! Input, signals and jobs have threads of their own and send events; this one waits for them, takes all that have
//! come, and draws once. Without an event it writes nothing. Not for what a key means ([`crate::app`]) and not for
//! what a frame shows ([`crate::ui`]).

mod input;
mod screen;
mod signals;

use std::io::{self, ErrorKind, IsTerminal};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, mem, panic, thread};

use crossterm::event::KeyEvent;

use crate::app::action::{Command, Report};
use crate::app::files::{Errand, Files};
use crate::app::jobs::{Jobs, Tell};
use crate::app::{App, Options, Start, keymap};
use crate::config::{Palette, Theme};
use crate::ui;
use crate::ui::caps::{Caps, Depth, Overrides};

use screen::Screen;

/// Between two reports of a map, and that over a slow line.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// How long a frame waits for the answer to what was asked with the last key, so that both are drawn at once.
const SETTLE: Duration = Duration::from_millis(10);

/// How often the loop looks whether the terminal is still there: crossterm 0.29 never tells (issue 793).
const CHECK: Duration = Duration::from_secs(2);

/// What the loop waits for.
#[derive(Debug)]
enum Event {
    Key(KeyEvent),
    Resize,
    Report(Report),
    /// Someone asked the program to stop until it is continued.
    Suspend,
    /// It was continued.
    Continue,
    /// No more input will come.
    Gone,
}

/// Runs the explorer until the user quits or the terminal goes away.
pub fn run(start: Start) -> io::Result<()> {
    // Without this, crossterm answers NO_COLOR by resets that also take bold and reverse away (fixed by its PR 1069).
    crossterm::style::force_color_output(true);
    let caps = Caps::detect(&|name| env::var(name).ok(), overrides(&start.options));
    let (events, queue) = mpsc::channel();
    signals::watch(events.clone())?;
    restore_before_panic();
    let screen = Screen::enter()?;
    input::watch(events.clone())?;
    let tell: Tell = Arc::new(move |report| drop(events.send(Event::Report(report))));
    let pause = if start.options.low_bandwidth { PAUSE.1 } else { PAUSE.0 };
    let jobs = Jobs::start(start.options.threads, pause, &tell)?;
    let (app, commands) = App::new(start);
    let files = Files::start(&tell)?;
    let mut explorer = Explorer { app, screen, jobs, files, caps, dirty: true };
    explorer.resize()?;
    for command in commands {
        let _ = explorer.obey(command);
    }
    explorer.run(&queue)
}

/// A panic of the thread that draws gives the terminal back before it prints; one of a job is caught and shown there.
fn restore_before_panic() {
    let (drawing, print) = (thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == drawing {
            screen::leave();
            print(info);
        }
    }));
}

fn overrides(options: &Options) -> Overrides {
    let depth = match options.palette {
        Palette::Auto => None,
        Palette::Truecolor => Some(Depth::True),
        Palette::Xterm256 => Some(Depth::C256),
        Palette::Ansi16 => Some(Depth::C16),
        Palette::None => Some(Depth::None),
    };
    Overrides {
        depth,
        ascii: options.ascii.then_some(true),
        light: options.theme.map(|theme| theme == Theme::Light),
        low_bandwidth: options.low_bandwidth,
    }
}

/// When it ends, the terminal is given back before what is still being written is waited for: fields drop in order.
struct Explorer {
    app: App,
    screen: Screen,
    jobs: Jobs,
    files: Files,
    caps: Caps,
    /// Whether the screen no longer shows the state.
    dirty: bool,
}

impl Explorer {
    fn run(&mut self, queue: &Receiver<Event>) -> io::Result<()> {
        loop {
            if mem::take(&mut self.dirty) {
                self.screen.draw(|frame| ui::draw(&self.app, &self.caps, frame))?;
            }
            let first = match queue.recv_timeout(CHECK) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) if io::stdin().is_terminal() => continue,
                Err(_) => return Err(gone()),
            };
            if self.take(first, queue)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Takes an event and all that have come since, and waits a moment for the answer that they asked for.
    fn take(&mut self, first: Event, queue: &Receiver<Event>) -> io::Result<ControlFlow<()>> {
        let deadline = Instant::now() + SETTLE;
        let mut next = Some(first);
        while let Some(event) = next {
            if self.handle(event)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let patience =
                if self.app.is_waiting() { deadline.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            next = queue.recv_timeout(patience).ok();
        }
        Ok(ControlFlow::Continue(()))
    }

    fn handle(&mut self, event: Event) -> io::Result<ControlFlow<()>> {
        match event {
            Event::Key(key) => {
                let Some(action) = keymap::action(self.app.place(), key) else { return Ok(ControlFlow::Continue(())) };
                self.dirty = true;
                let commands = self.app.update(action);
                return self.obey_all(commands);
            }
            Event::Resize => self.resize()?,
            Event::Report(report) => {
                self.dirty = true;
                let commands = self.app.hear(report);
                return self.obey_all(commands);
            }
            Event::Suspend => screen::suspend()?,
            Event::Continue => {
                self.screen.resume()?;
                self.dirty = true;
            }
            Event::Gone => return Err(gone()),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn resize(&mut self) -> io::Result<()> {
        self.app.set_page(ui::page(self.screen.height()?));
        self.dirty = true;
        Ok(())
    }

    /// Nothing acknowledges it: a terminal may also ignore it.
    fn copy(&mut self, text: &str) -> io::Result<()> {
        self.screen.copy(text)?;
        self.app
            .tell(format!("{} lines of CSV sent to the terminal's clipboard; Y writes a file", text.lines().count()));
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
        match command {
            Command::Evaluate { generation, scenario } => self.jobs.evaluate(generation, scenario),
            Command::Sweep { generation, sweep, from } => self.jobs.sweep(generation, sweep, from),
            Command::Work { generation, work } => self.jobs.work(generation, work),
            Command::Export(answer) => self.files.run(Errand::Export(answer)),
            Command::SaveSet(name) => self.files.run(Errand::SaveSet(name, self.app.pins.all().to_vec())),
            Command::SaveMap(text) => self.files.run(Errand::SaveMap(text)),
            Command::Copy(text) => self.copy(&text)?,
            Command::List => self.files.run(Errand::List),
            Command::Open(path) => self.files.run(Errand::Open(path, Arc::clone(&self.app.library))),
            Command::Delete(path) => self.files.run(Errand::Delete(path)),
            Command::SavePreset(saving) => {
                self.files.run(Errand::SavePreset(saving, Arc::clone(&self.app.library)));
            }
            Command::Reload => self.files.run(Errand::Reload(Arc::clone(&self.app.library))),
            Command::Suspend => screen::suspend()?,
            Command::Quit => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "it went away")
}

#[cfg(test)]
mod tests;
