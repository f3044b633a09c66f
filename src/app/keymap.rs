//! The keys, as data: key, where it works, what it asks for, and the words that the footer and the help print.
//!
//! The one place above the terminal that knows key codes.

mod binding;
mod custom;
mod keys;
mod lookup;
mod names;
mod table;

pub use binding::{Binding, Place};
pub use custom::{documented, markdown};
pub use lookup::Keymap;
pub use table::BINDINGS;

#[cfg(test)]
mod tests;
