//! The screen: taking the terminal over, drawing frames, giving it back on every way out.
//!
//! It writes to a copy of stdout's descriptor of its own: nothing that another thread holds (the lock of `Stdout`) can
//! keep a dying process from giving the terminal back. It never asks the terminal anything (ratatui issue 2691), and
//! never prints (a dead terminal would turn that into an abort).

use std::fs::File;
use std::io::{self, BufWriter};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

/// Room for a whole frame, so that it goes out in one piece.
const FRAME_BYTES: usize = 256 * 1024;

/// How long a dying process waits for a terminal that takes no bytes.
const PATIENCE: Duration = Duration::from_millis(300);

/// Whether the terminal is ours.
static OURS: AtomicBool = AtomicBool::new(false);

/// Held while a frame is written, so that none follows after the terminal was given back.
static FRAME: Mutex<()> = Mutex::new(());

/// The terminal while it is ours.
pub(super) struct Screen {
    /// Not dropped: its own drop prints where the terminal is dead.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<File>>>>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter() -> io::Result<Self> {
        let writer = BufWriter::with_capacity(FRAME_BYTES, stdout()?);
        let mut screen = Self { terminal: ManuallyDrop::new(Terminal::new(CrosstermBackend::new(writer))?) };
        screen.take()?;
        Ok(screen)
    }

    /// Takes the terminal, as it may be after anyone else had it, and forgets what was drawn.
    fn take(&mut self) -> io::Result<()> {
        let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
        // A shell may have changed the mode while we were stopped; crossterm only sets it where it thinks it unset.
        disable_raw_mode()?;
        OURS.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let backend = self.terminal.backend_mut();
        // Some terminals have no alternate screen, or do not clear it.
        execute!(backend, EnterAlternateScreen, Clear(ClearType::All), Hide)?;
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Rows of the terminal.
    pub(super) fn height(&self) -> io::Result<u16> {
        Ok(self.terminal.size()?.height)
    }

    /// Draws one frame, if the terminal is ours.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
        if !OURS.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(render).map(|_| ());
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Hands a text to the terminal's clipboard (OSC 52), which reaches over SSH.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Takes the terminal again.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, if it is ours.
fn give_back() {
    let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
    leave();
}

/// Gives the terminal back and stops until someone continues the program; SIGCONT then leads to [`Screen::resume`].
pub(super) fn suspend() -> io::Result<()> {
    give_back();
    emulate_default_handler(SIGTSTP)
}

/// Gives the terminal back in a process that is about to die: a terminal that takes no bytes does not hold it up.
pub(super) fn give_back_soon() {
    let (done, wait) = mpsc::channel();
    let giver = thread::Builder::new().name("give back".to_owned()).spawn(move || {
        give_back();
        let _ = done.send(());
    });
    if giver.is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Gives the terminal back at once: in a panic the frame may be held by the very thread that panics.
pub(super) fn leave() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    // Nothing can be done about a terminal that refuses.
    if let Ok(mut out) = stdout() {
        let _ = execute!(out, EndSynchronizedUpdate, SetAttribute(Attribute::Reset), LeaveAlternateScreen, Show);
    }
    let _ = disable_raw_mode();
}

/// A descriptor of our own for what stdout is.
fn stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}
