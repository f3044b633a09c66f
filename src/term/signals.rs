//! Signals, on a thread of their own: whatever the other threads are doing, it gives the terminal back and lets the process
//! die by the signal (crossterm 0.29 can spin where a signal only sets a flag: issue 793).

use std::ffi::c_int;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, SIGXCPU,
};
use signal_hook::iterator::Signals;

use shardscope_library::disk::{self, InputKind};

use super::event::Event;
use super::leaving::Leaving;

/// What ends a process that does not listen, and is sent by people, shells and batch systems. Not what a process does to
/// itself: no thread hears of an abort in time.
const DEADLY: [c_int; 9] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGABRT, SIGXCPU];

/// Starts the thread.
pub(super) fn watch(events: Sender<Event>, leaving: &Arc<Leaving>) -> io::Result<()> {
    let deadly = DEADLY.into_iter().filter(|signal| *signal != SIGHUP || !hangup_is_ignored());
    let mut signals = Signals::new(deadly.chain([SIGTSTP, SIGCONT, SIGWINCH]))?;
    let leaving = Arc::clone(leaving);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => drop(events.send(Event::Suspend)),
                SIGCONT => drop(events.send(Event::Continue)),
                SIGWINCH => drop(events.send(Event::Resize)),
                deadly => leaving.by_signal(deadly),
            }
        }
    })?;
    Ok(())
}

/// Whether the program was started to outlive its terminal, as `nohup` does it. Elsewhere than on Linux nothing tells.
pub fn hangup_is_ignored() -> bool {
    let status = disk::read_text(Path::new("/proc/self/status"), InputKind::Process).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}
