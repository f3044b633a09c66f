//! The terminal program: the explorer is [`app`], [`ui`] and [`term`], the command line [`cli`].
//!
//! The rooms beside it are crates of their own: `shardscope-engine` computes, `shardscope-evidence` knows what was
//! measured, `shardscope-report` names and prints figures, `shardscope-interop` reads and writes other tools' files.
//! What the model counts, what it leaves out and where it is wrong stands in the [`guide`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod app;
pub mod cli;
pub mod config;
pub mod guide;
pub mod term;
pub mod ui;
