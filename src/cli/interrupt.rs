//! Signals to a command: files in the making are removed, and the process ends by the signal. The first SIGINT only stops
//! a search: what was found so far is printed, then the signal ends the process after all. Not for the explorer, which
//! has a terminal to give back ([`crate::term`]).

use std::io;
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::term;
use shardscope_engine::search::Cancel;
use shardscope_library::disk;

use super::exit::Failure;

/// How long a folder may take for the removal of a file.
const PATIENCE: Duration = Duration::from_millis(500);

/// The effect of the next SIGINT.
enum OnInterrupt {
    /// It ends the process.
    End,
    /// It stops a search; the one after it ends the process.
    Stop(Cancel),
    /// It is for a program that this one waits for.
    Nothing,
}

static ON_INTERRUPT: Mutex<OnInterrupt> = Mutex::new(OnInterrupt::End);

fn set(next: OnInterrupt) -> OnInterrupt {
    mem::replace(&mut *ON_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner), next)
}

/// Starts the thread that waits for signals.
pub(super) fn watch() -> Result<(), Failure> {
    let hangup = (!term::hangup_is_ignored()).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)).map_err(|error| failed(&error))?;
    let wait = move || {
        for signal in signals.forever() {
            match if signal == SIGINT { set(OnInterrupt::End) } else { OnInterrupt::End } {
                OnInterrupt::End => die(signal),
                OnInterrupt::Stop(search) => search.cancel(),
                OnInterrupt::Nothing => drop(set(OnInterrupt::Nothing)),
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(|error| failed(&error))?;
    Ok(())
}

fn die(signal: i32) {
    term::within(PATIENCE, "removing", disk::remove_staged);
    let _ = emulate_default_handler(signal);
}

/// Has the first SIGINT cancel a search; the second one ends the process at once.
pub(super) fn cancels(cancel: &Cancel) {
    set(OnInterrupt::Stop(cancel.clone()));
}

/// Ends the process by the signal if that came: whoever waits for it must see that.
pub(super) fn ends(cancel: &Cancel) {
    if cancel.is_cancelled() {
        die(SIGINT);
    }
}

/// Has SIGINT do nothing here from now on: it is for a program that this one waits for.
pub(super) fn is_left_to_others() {
    set(OnInterrupt::Nothing);
}

fn failed(error: &io::Error) -> Failure {
    Failure::Io(format!("signals: {error}"))
}
