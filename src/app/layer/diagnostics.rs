//! What was found out about the terminal, why, and how to say otherwise: a page of lines, so that nobody has to guess.
//!
//! Not for finding it out: `ui` knows what can be drawn, `term` the rest.

use shardscope_engine::scenario::file::printable;

/// Lines that a finding takes on the page.
pub const LINES: usize = 2;

/// One thing that was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub what: &'static str,
    /// What was found.
    pub value: String,
    /// Why.
    pub why: String,
    /// How to have it otherwise.
    pub fix: &'static str,
}

impl Finding {
    /// A finding; what comes from the environment is text that nobody checked.
    pub fn new(what: &'static str, value: &str, why: &str, fix: &'static str) -> Self {
        Self { what, value: printable(value), why: printable(why), fix }
    }
}
