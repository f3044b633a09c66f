//! What the terminal says: keys and new sizes on one thread, on another that it went away.

use std::sync::mpsc::Sender;
use std::{io, thread};

use crossterm::event::{self, Event as Input, KeyEventKind, MouseButton, MouseEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::Event;
use crate::app::pointing::Gesture;

/// Starts the threads; they end when nobody listens or nothing can be read.
pub(super) fn watch(events: &Sender<Event>) -> io::Result<()> {
    watch_keys(events.clone())?;
    watch_line(events.clone())
}

fn watch_keys(events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        loop {
            let event = match event::read() {
                Ok(Input::Key(key)) if key.kind != KeyEventKind::Release => Event::Key(key),
                Ok(Input::Resize(..)) => Event::Resize,
                Ok(Input::Mouse(mouse)) => match gesture(mouse.kind) {
                    Some(gesture) => Event::Mouse(gesture, (mouse.column, mouse.row)),
                    None => continue,
                },
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

/// What the mouse does, if it means anything here.
const fn gesture(kind: MouseEventKind) -> Option<Gesture> {
    match kind {
        MouseEventKind::Down(MouseButton::Left) => Some(Gesture::Click),
        MouseEventKind::Drag(MouseButton::Left) => Some(Gesture::Drag),
        MouseEventKind::ScrollUp => Some(Gesture::WheelUp),
        MouseEventKind::ScrollDown => Some(Gesture::WheelDown),
        _ => None,
    }
}

/// Waits for the terminal to go away, which a program whose terminal does not control it hears of in no other way:
/// crossterm 0.29 reads nothing for ever (issue 793).
fn watch_line(events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("line".to_owned()).spawn(move || {
        let stdin = io::stdin();
        let mut line = [PollFd::new(&stdin, PollFlags::empty())];
        while poll(&mut line, None) == Err(Errno::INTR) {}
        if line[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            // Nobody listens any more where the program is ending.
            let _ = events.send(Event::Gone);
        }
    })?;
    Ok(())
}
