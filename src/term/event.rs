//! What the explorer's loop waits for.

use crossterm::event::KeyEvent;

use crate::app::action::Report;
use crate::app::pointing::Gesture;

/// What the loop waits for.
#[derive(Debug)]
pub(super) enum Event {
    Key(KeyEvent),
    /// The mouse did something at a column and a row.
    Mouse(Gesture, (u16, u16)),
    Resize,
    Report(Report),
    /// Someone asked the program to stop until it is continued.
    Suspend,
    /// It was continued.
    Continue,
    /// The map's cursor rests.
    Rest,
    /// What jobs have found is to be drawn.
    Due,
    /// No more input will come.
    Gone,
}
