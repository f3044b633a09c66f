//! What makes parts one whole: which part of how many each is, and of which question.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::str::FromStr;

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;
use crate::search::Part;

/// What a line of CSV begins with that is none of its rows.
pub(super) const COMMENT: &str = "# ";

/// Says of a part which one it is, and of what. It comes last: what was cut off has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) part: Part,
    /// How many rows the whole has.
    pub(super) total: usize,
    /// A hash of the question; parts of one whole have the same.
    question: String,
}

impl Seal {
    /// A part of what is asked about a scenario. Presets count by what they say: another machine's may differ.
    pub(super) fn new(part: Part, total: usize, base: &Scenario, asked: &Value) -> Self {
        let question = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": ScenarioFile::of(base),
            "cluster": base.cluster,
            "stack": base.stack,
            "calibration": base.calibration,
            "model": base.model,
            "asked": asked,
        });
        // Its keys are fixed, so that every process of one build makes the same of the same text.
        let mut hasher = DefaultHasher::new();
        hasher.write(question.to_string().as_bytes());
        Self { part, total, question: format!("{:016x}", hasher.finish()) }
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}-{}", self.part, self.total, self.question)
    }
}

impl FromStr for Seal {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (part, question) = line.strip_prefix("part ").and_then(|rest| rest.split_once(" of ")).ok_or(())?;
        let (total, question) = question.split_once('-').ok_or(())?;
        let (part, total) = (part.parse().map_err(drop)?, total.parse().map_err(drop)?);
        Ok(Self { part, total, question: question.to_owned() })
    }
}

/// Why these are not all parts of one whole, each once: one line for each mistake.
pub(super) fn mistakes(parts: &[(String, Seal)]) -> Vec<String> {
    let Some((first, seal)) = parts.iter().min_by_key(|(_, seal)| seal.part.index()) else { return Vec::new() };
    let count = seal.part.count();
    let whole = |seal: &Seal| (seal.part.count(), seal.total, seal.question.clone());
    let strangers = parts.iter().filter(|(_, other)| whole(other) != whole(seal));
    let mut lines: Vec<String> = strangers
        .map(|(file, other)| format!("{file}: is {other}, but {first} is {seal}; give parts of one whole"))
        .collect();
    if !lines.is_empty() {
        return lines;
    }
    let mut missing = Vec::new();
    for part in Part::all(count) {
        let files: Vec<&str> = parts.iter().filter(|(_, seal)| seal.part == part).map(|(file, _)| &**file).collect();
        match files[..] {
            [] => missing.push(part.to_string()),
            [_] => {}
            _ => lines.push(format!("{}: all are part {part}; give one of them", files.join(", "))),
        }
    }
    if !missing.is_empty() {
        let more = missing.len().saturating_sub(MOST_NAMED);
        missing.truncate(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("missing: part {}{more}; run each with --part and give it too", missing.join(", ")));
    }
    lines
}

/// The most missing parts that are named.
const MOST_NAMED: usize = 20;
