//! Files, and the presets in them: read whole within a limit, written whole or not at all, and never code by accident.
//!
//! The engine knows what a text means and the system what a file is; this crate stands between them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod command;
pub mod disk;
pub mod draft;
pub mod folders;
mod schema;
pub mod text;
pub mod threads;
