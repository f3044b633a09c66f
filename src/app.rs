//! The explorer's state and how it answers: actions in, commands out, reports of the jobs back in.
//!
//! A key becomes an [`action`]; [`update`] changes the [`state`] by it and asks [`jobs`] for what must be computed or
//! written; the [`answers`] come back and are kept. [`views`], the [`timeline`] and [`layer`]s say what keys do in them and
//! what their rows are. [`transfer`] is for files of other tools, in and out.
//!
//! Not for drawing ([`crate::ui`]), not for the terminal ([`crate::term`]), not for costs.

pub mod action;
pub mod answers;
pub mod jobs;
pub mod layer;
pub mod state;
pub mod timeline;
pub mod transfer;
pub mod update;
pub mod views;

pub use action::panel::Panel;
pub use answers::Answer;
pub use state::App;
pub use state::start::{Options, Start};

#[cfg(test)]
pub(crate) mod tests;
