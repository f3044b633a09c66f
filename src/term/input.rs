//! What the terminal says: keys and new sizes on one thread, on another that it went away.

use std::sync::mpsc::Sender;
use std::{io, thread};

use crossterm::event::{self, Event as Input, KeyEventKind, MouseButton, MouseEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::event::Event;
use crate::app::pointing::Gesture;

/// Starts the threads; they end when nobody listens or nothing can be read.
pub(super) fn watch(events: &Sender<Event>) -> io::Result<()> {
    watch_keys(events.clone())?;
    watch_line(events.clone())
}

fn watch_keys(events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        loop {
            let input = event::read();
            // After an error crossterm would give the same error for ever.
            let last = input.is_err();
            let Some(event) = input.as_ref().map_or(Some(Event::Gone), understood) else { continue };
            if events.send(event).is_err() || last {
                return;
            }
        }
    })?;
    Ok(())
}

/// What an input means here, if anything; a key that is let go of means nothing.
fn understood(input: &Input) -> Option<Event> {
    match input {
        Input::Key(key) => (key.kind != KeyEventKind::Release).then_some(Event::Key(*key)),
        Input::Resize(..) => Some(Event::Resize),
        Input::Mouse(mouse) => Some(Event::Mouse(gesture(mouse.kind)?, (mouse.column, mouse.row))),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;

    #[test]
    fn a_key_that_is_let_go_of_is_no_key() {
        let key = |kind| Input::Key(KeyEvent::new_with_kind(KeyCode::Char('j'), KeyModifiers::NONE, kind));
        for (kind, counts) in
            [(KeyEventKind::Press, true), (KeyEventKind::Repeat, true), (KeyEventKind::Release, false)]
        {
            assert_eq!(matches!(understood(&key(kind)), Some(Event::Key(_))), counts, "{kind:?}");
        }
        assert!(understood(&Input::FocusGained).is_none());
    }
}
