//! Figures for people and machines: their names, units and formulas, reports as text, JSON and CSV, and snapshots that
//! keep a scenario with its report.
//!
//! Not for computing them, which is the engine's, nor for a terminal.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod figures;
pub mod snapshot;
