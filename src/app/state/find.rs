//! A search among the rows of what has the keys.

use tui_input::Input;

/// A search on the screen.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// What a row is to hold, in any case.
    pub input: Input,
    /// The row that had the cursor before.
    pub(crate) from: usize,
    /// The row that was found.
    pub row: Option<usize>,
    /// Its place among the matches, from 1, and how many there are.
    pub place: (usize, usize),
}
