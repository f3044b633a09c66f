//! The explorer's state and how it answers: actions in, commands out, reports of the jobs back in.
//!
//! Not for drawing ([`crate::ui`]), not for the terminal ([`crate::term`]), not for costs.

pub mod action;
mod answers;
pub mod asked;
pub mod assumed;
pub mod axes;
mod batch;
pub mod browser;
mod clicking;
pub mod command_lines;
pub mod context;
pub mod cursor;
pub mod diagnostics;
mod edit;
pub mod effect;
mod explain;
pub mod explaining;
pub mod exporting;
pub mod files;
pub mod find;
pub mod form;
pub mod help;
pub mod history;
pub mod importing;
pub mod inputs;
pub mod jobs;
pub mod keymap;
pub mod keys;
pub mod layer;
pub mod list;
mod matching;
pub mod memory;
pub mod notice;
pub mod own_run;
pub mod page;
pub mod palette;
pub mod panel;
mod perform;
pub mod pins;
pub mod pointing;
mod receiving;
mod resolve;
pub mod rows;
pub mod sheet;
mod start;
mod state;
mod stored;
pub mod time;
pub mod timeline;
pub mod transfer;
pub mod typing;
mod update;
pub mod view;
mod viewing;
pub mod views;
pub mod work;

pub use answers::Answer;
pub use panel::Panel;
pub use start::{Options, Start};
pub use state::App;

#[cfg(test)]
pub(crate) mod tests;
