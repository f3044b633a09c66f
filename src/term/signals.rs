//! Signals, on a thread of their own: it gives the terminal back and lets the process die by the signal, whatever the
//! other threads are doing (crossterm 0.29 can spin where a signal only sets a flag: issue 793).

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::event::Event;
use super::screen;

/// Starts the thread.
pub(super) fn watch(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => drop(events.send(Event::Suspend)),
                SIGCONT => drop(events.send(Event::Continue)),
                SIGWINCH => drop(events.send(Event::Resize)),
                deadly => {
                    // The drawing thread may be stuck in a write to a terminal that takes no bytes, and hold the frame: this
                    // waits a moment for it, and then the process dies with the screen as it is.
                    screen::give_back_soon();
                    let _ = emulate_default_handler(deadly);
                }
            }
        }
    })?;
    Ok(())
}
