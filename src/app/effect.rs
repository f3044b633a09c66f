//! What a view wants done that is not its own: the explorer alone does it.

use crate::scenario::file::ScenarioFile;
use crate::scenario::{Edit, Scenario};

use super::action::Command;
use super::list::{Entry, List};

/// Something that the explorer is to do.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The rest of the program does this.
    Run(Command),
    /// The status line says this.
    Tell(String),
    /// A list to choose from lies over the panels.
    Choose(List),
    /// A line to type on lies over the panels.
    Ask(Entry),
    /// The scenario gets these edits, if it can be that way; then this is said.
    Edit(Vec<Edit>, String),
    /// The scenario becomes what this file says, if it can be; then this is said.
    Revise(Box<ScenarioFile>, String),
    /// Another scenario becomes the current one, and this is said.
    Adopt(Box<Scenario>, String),
    /// A pinned scenario is let go of.
    Unpin(usize),
    /// A pinned scenario moves by so many places.
    ShiftPin(usize, isize),
    /// The figure under the cursor is explained.
    Explain,
    /// The view asks for something else than before.
    Follow,
    /// What was waited for under the cursor is there.
    Arrived,
}
