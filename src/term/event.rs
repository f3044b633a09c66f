//! Events that the explorer's loop waits for.

use crate::app::action::JobReport;

use super::keys::Input;

/// Event that the loop waits for.
#[derive(Debug)]
pub(super) enum Event {
    Input(Input),
    Resize,
    Report(JobReport),
    /// Someone asked the program to stop until it is continued.
    Suspend,
    /// It was continued.
    Continue,
    /// The map's cursor rests.
    Rest,
    /// Findings of jobs are to be drawn.
    Due,
    /// No more input will come.
    Gone,
}
