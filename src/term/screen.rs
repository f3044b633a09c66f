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
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

use super::wire::WireBackend;
use super::within::within;

/// Room for a whole frame, so that it goes out in one piece.
const FRAME_BYTES: usize = 256 * 1024;

/// How long a dying process waits for a terminal that takes no bytes.
const PATIENCE: Duration = Duration::from_millis(300);

/// Whether the terminal is ours.
static OURS: AtomicBool = AtomicBool::new(false);

/// Whether the mouse is ours too, while the terminal is.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Buttons, wheel and drags (xterm's modes 1000 and 1002), in SGR's form (1006), which knows every column. Not each
/// motion, as crossterm would have it: that is bytes for nothing.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Pasted text comes between marks (xterm's mode 2004), so that it is not taken for keys.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// Held while a frame is written, so that none follows after the terminal was given back.
static FRAME: Mutex<()> = Mutex::new(());

/// The terminal while it is ours.
pub(super) struct Screen {
    /// Not dropped: its own drop prints where the terminal is dead.
    terminal: ManuallyDrop<Terminal<WireBackend<BufWriter<File>>>>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter() -> io::Result<Self> {
        let writer = BufWriter::with_capacity(FRAME_BYTES, stdout()?);
        let mut screen = Self { terminal: ManuallyDrop::new(Terminal::new(WireBackend::new(writer, None))?) };
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
        let mouse = if MOUSE.load(Ordering::SeqCst) { MOUSE_ON } else { "" };
        execute!(backend, EnterAlternateScreen, Clear(ClearType::All), Hide, Print(PASTE_ON), Print(mouse))?;
        backend.forget();
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Columns and rows of the terminal.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Takes the mouse, or gives it back.
    pub(super) fn take_mouse(&mut self, taken: bool) -> io::Result<()> {
        let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
        MOUSE.store(taken, Ordering::SeqCst);
        execute!(self.terminal.backend_mut(), Print(if taken { MOUSE_ON } else { MOUSE_OFF }))
    }

    /// Draws one frame, if the terminal is ours.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        let _frame = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
        if !OURS.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.terminal.draw(render).map(|_| ())
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
        give_back_soon();
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
    within(PATIENCE, "give back", give_back);
}

/// Gives the terminal back at once: in a panic the frame may be held by the very thread that panics.
pub(super) fn leave() {
    // The first of those who leave does it: a panic, a signal and the end may come together.
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    // Nothing can be done about a terminal that refuses.
    if let Ok(mut out) = stdout() {
        let mouse = if MOUSE.load(Ordering::SeqCst) { MOUSE_OFF } else { "" };
        let _ = execute!(
            out,
            EndSynchronizedUpdate,
            Print(mouse),
            Print(PASTE_OFF),
            SetAttribute(Attribute::Reset),
            LeaveAlternateScreen,
            Show
        );
    }
    let _ = disable_raw_mode();
}

/// A descriptor of our own for what stdout is.
fn stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}
