//! What the terminal says, read on a thread of its own; also that it went away.
//!
//! The bytes are read here and not by crossterm 0.29, which reads 1,024 of a burst and then waits for the next key,
//! waits for ever for the rest of a sequence, and for ever too where the terminal went away (issue 793).

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::event::Event;
use super::keys::{Input, KeyReader};
use super::leaving::Leaving;

/// More than a terminal's line holds.
const BURST: usize = 64 * 1024;

/// Starts the thread; it ends when nobody listens or nothing can be read.
pub(super) fn watch(events: Sender<Event>, leaving: &Arc<Leaving>) -> io::Result<()> {
    let leaving = Arc::clone(leaving);
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let (mut keys, mut bytes) = (KeyReader::default(), vec![0; BURST]);
        loop {
            let mut heard = true;
            let mut say = |input| {
                heard &= match input {
                    // The drawing thread is not asked: it may be busy, and what waits for it counts no more.
                    Input::Interrupt => leaving.at_once(),
                    input => events.send(Event::Input(input)).is_ok(),
                };
            };
            match next(&mut bytes, keys.patience()) {
                Ok(Some(0)) | Err(_) => {
                    // Nobody listens any more where the program is ending.
                    let _ = events.send(Event::Gone);
                    return;
                }
                Ok(Some(count)) => keys.take(&bytes[..count], &mut say),
                Ok(None) => keys.settle(&mut say),
            }
            if !heard {
                return;
            }
        }
    })?;
    Ok(())
}

/// Reads what has come, at least a byte, and none at the end; nothing where it took too long.
fn next(bytes: &mut [u8], patience: Option<Duration>) -> Result<Option<usize>, Errno> {
    let stdin = io::stdin();
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    loop {
        let mut line = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        let read = match poll(&mut line, patience.as_ref()) {
            Ok(0) => return Ok(None),
            Ok(_) => rustix::io::read(stdin.as_fd(), &mut *bytes),
            Err(error) => Err(error),
        };
        match read {
            Err(Errno::INTR | Errno::AGAIN) => {}
            read => return read.map(Some),
        }
    }
}
