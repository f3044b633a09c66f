//! Measured training runs: rows, their predictions and errors, and the fit of the constants to them.
//!
//! Not for what a prediction is made of, which is the engine's, nor for reading files.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod calibrate;
pub mod measured;
