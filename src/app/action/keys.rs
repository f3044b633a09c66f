//! Keys as data: which do what where, and the words that the footer and the help print of them. Panels, views and layers
//! declare their own in these terms; [`crate::app::state::keymap`] has all of them.
//!
//! The one place above the terminal that knows key codes.

mod line;
pub mod names;
mod place;

pub use line::{Binding, KeyLine, KeyLines};
pub use place::KeyPlace;

/// A key as a terminal sends it.
pub type KeyStroke = (crossterm::event::KeyCode, crossterm::event::KeyModifiers);
