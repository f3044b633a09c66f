//! The real binary, run as a script would: no terminal, an empty environment, a home of its own.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of tests ends the test")]

pub mod run;
mod search;

#[cfg(target_os = "linux")]
mod bombs;
mod calibrate;
mod code;
mod documents;
mod earlier;
mod eval;
mod export;
mod export_plan;
mod field;
mod files;
mod grid;
mod guide;
mod host;
mod hostile;
mod import;
mod import_plan;
mod launched;
mod lengths;
mod limits;
mod logs;
mod notes;
mod parts;
mod plan;
mod post_training;
mod profile;
mod rollouts;
mod scale;
mod support;
mod sweep;
mod trace;
mod training;
mod validate;
