//! Everything that is drawn: a pure function of the state. Not for changing it, and not for writing bytes.

pub mod caps;
pub mod export;
mod panels;
pub mod pointing;
mod screen;
pub mod theme;
pub mod widgets;

pub use screen::{draw, page, picture};
