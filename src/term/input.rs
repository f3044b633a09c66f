//! Keys and new sizes, on a thread of their own.

use std::sync::mpsc::Sender;
use std::{io, thread};

use crossterm::event::{self, Event as Input, KeyEventKind};

use super::Event;

/// Starts the thread; it ends when nobody listens or nothing can be read.
pub(super) fn watch(events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        loop {
            let event = match event::read() {
                Ok(Input::Key(key)) if key.kind != KeyEventKind::Release => Event::Key(key),
                Ok(Input::Resize(..)) => Event::Resize,
                Ok(_) => continue,
                Err(_) => Event::Gone,
            };
            let last = matches!(event, Event::Gone);
            if events.send(event).is_err() || last {
                return;
            }
        }
    })?;
    Ok(())
}
