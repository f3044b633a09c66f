//! What makes parts one whole: which part of how many each is, and of which question.

pub(super) mod search;

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::str::FromStr;

use serde_json::{Value, json};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::search::WorkPart;

/// What a line of CSV begins with that is none of its rows.
pub(super) const COMMENT: &str = "# ";

/// Says of a part which one it is, and of what. It comes last: what was cut off has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) part: WorkPart,
    /// A hash of the question, and the count of its rows where it has any; parts of one whole have the same.
    pub(super) question: String,
}

impl Seal {
    /// A part of what is asked about a scenario. Presets count by what they say: another machine's may differ.
    pub(super) fn new(part: WorkPart, base: &Scenario, asked: &Value) -> Self {
        let question = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": ScenarioFile::of(base),
            "cluster": base.cluster,
            "stack": base.stack,
            "calibration": base.calibration,
            "model": base.model,
            "asked": asked,
        });
        Self { part, question: hashed(&question.to_string()) }
    }

    /// The same of a whole of so many rows.
    #[must_use]
    pub(super) fn of_rows(self, total: usize) -> Self {
        Self { question: format!("{total}-{}", self.question), ..self }
    }

    /// How many of them are this part's.
    pub(super) fn rows(&self) -> Option<usize> {
        let total = self.question.split_once('-')?.0.parse().ok()?;
        Some(self.part.rows(total).len())
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.part, self.question)
    }
}

impl FromStr for Seal {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (part, question) = line.strip_prefix("part ").and_then(|rest| rest.split_once(" of ")).ok_or(())?;
        Ok(Self { part: part.parse().map_err(drop)?, question: question.to_owned() })
    }
}

/// A hash of a text: the same in every process of one build, since its keys are fixed.
fn hashed(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}

/// Why these are not all parts of one whole, each once: one line for each mistake.
pub(super) fn mistakes(parts: &[(String, Seal)]) -> Vec<String> {
    let mut lines = strangers(parts);
    let count = parts.first().map_or(0, |(_, seal)| seal.part.count());
    if !lines.is_empty() {
        return lines;
    }
    let mut missing = Vec::new();
    for part in WorkPart::all(count) {
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

/// What is said of each part that is of another whole than the first one's.
pub(super) fn strangers(parts: &[(String, Seal)]) -> Vec<String> {
    let Some((first, seal)) = parts.iter().min_by_key(|(_, seal)| seal.part.index()) else { return Vec::new() };
    let whole = |seal: &Seal| (seal.part.count(), seal.question.clone());
    let strangers = parts.iter().filter(|(_, other)| whole(other) != whole(seal));
    strangers
        .map(|(file, other)| format!("{file}: is {other}, but {first} is {seal}; give parts of one whole"))
        .collect()
}

/// The most missing parts that are named.
const MOST_NAMED: usize = 20;
