//! The keys in use: all that panels, views and layers declare, with the user's own keys laid over them.
//!
//! Not for how a line is written ([`crate::app::action::keys`]).

mod custom;
mod lookup;
mod table;

pub use custom::{documented, markdown};
pub use lookup::{Keymap, places};
pub use table::TABLE;

#[cfg(test)]
mod tests;
