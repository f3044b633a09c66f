//! Messages about presets that are not there.

use std::fmt;

use crate::scenario::file::printable;

use super::Kind;

/// An id that no preset has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The kind that was looked for.
    pub kind: Kind,
    /// The id that nothing has.
    pub id: String,
    /// Ids that look like it, the nearest first.
    pub near: Vec<String>,
    /// The kind of preset that has the id, if another one has.
    pub other: Option<Kind>,
}

impl Unknown {
    pub(super) fn new<'a>(kind: Kind, id: &str, known: impl Iterator<Item = &'a str>, other: Option<Kind>) -> Self {
        let mut near: Vec<(f64, &str)> =
            known.map(|other| (strsim::jaro_winkler(&id.to_lowercase(), other), other)).collect();
        near.retain(|(likeness, _)| *likeness > 0.75);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = near.into_iter().take(3).map(|(_, other)| other.to_owned()).collect();
        Self { kind, id: printable(id).chars().take(60).collect(), near, other }
    }

    /// Says that nothing has the id: `no model 'mpt-8b'`.
    pub fn what(&self) -> String {
        format!("no {} '{}'", self.kind.word(), self.id)
    }

    /// How to fix it.
    pub fn fix(&self) -> String {
        let of_other = match self.other {
            Some(Kind::Scenario) => "it is a scenario: give it in place of a file, without a flag; ".to_owned(),
            Some(other) => other.flag().map_or_else(String::new, |flag| format!("it is a {}: {flag}; ", other.word())),
            None => String::new(),
        };
        let near =
            if self.near.is_empty() { String::new() } else { format!("did you mean {}? ", self.near.join(", ")) };
        match self.kind {
            // Stacks name calibrations; no list of the command line shows them.
            Kind::Calibration => format!("{near}a stack names 'measured', 'ideal' or a file of calibration/"),
            kind => format!("{of_other}{near}`shardscope presets {}` lists them", kind.folder()),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.fix())
    }
}

impl std::error::Error for Unknown {}
