//! A mistake in a scenario or in a file: where it stands, what is wrong and how to fix it. Not for the file's lines
//! ([`crate::scenario::file::FileError`]).

use std::fmt;

use crate::text::printable;

/// Something that cannot be, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field, as in the file (`plan.tensor`), or the line; empty where it is the whole.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// How to fix it; empty where `what` says it.
    pub fix: String,
}

/// How to fix what no user can.
const REPORT: &str = "this is a bug in shardscope: please report it with the scenario";

impl Problem {
    /// A problem whose texts may come from a foreign file: they are made printable.
    pub fn new(field: impl fmt::Display, what: impl fmt::Display, fix: impl fmt::Display) -> Self {
        let [field, what, fix] = [field.to_string(), what.to_string(), fix.to_string()].map(|text| printable(&text));
        Self { field, what, fix }
    }

    /// A field that must be something else: `must be above 0`.
    pub fn must(field: impl Into<String>, must: impl Into<String>) -> Self {
        Self { field: field.into(), what: must.into(), fix: String::new() }
    }

    /// A mistake of shardscope itself.
    pub fn bug(field: &str, what: String) -> Self {
        Self { field: field.to_owned(), what, fix: REPORT.to_owned() }
    }

    /// Whether shardscope itself is wrong.
    pub fn is_bug(&self) -> bool {
        self.fix == REPORT
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, what, fix } = self;
        let colon = if field.is_empty() { "" } else { ": " };
        let semicolon = if fix.is_empty() { "" } else { "; " };
        write!(f, "{field}{colon}{what}{semicolon}{fix}")
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parts_that_are_given_are_written() {
        let text = |field: &str, what: &str, fix: &str| Problem::new(field, what, fix).to_string();
        assert_eq!(text("plan.tensor", "is 0", "write 1"), "plan.tensor: is 0; write 1");
        assert_eq!(text("", "is no table", "write one"), "is no table; write one");
        assert_eq!(Problem::must("layers", "must be at least 1").to_string(), "layers: must be at least 1");
        assert_eq!(text("eos\u{1b}[2J", "a", "b"), "eos\u{fffd}[2J: a; b");
    }
}
