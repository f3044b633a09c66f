//! Seals of parts: which part of how many each is, of which question, and with which content.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::str::FromStr;

use serde_json::{Value, json};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::search::WorkPart;

/// The start of a line of CSV that is none of its rows.
pub(in crate::cli) const COMMENT: &str = "# ";

/// Says of a part which one it is, and of what. It comes last: what was cut off has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Seal {
    pub(in crate::cli) part: WorkPart,
    /// A hash of the question, and the count of its rows where it has any; parts of one whole have the same.
    pub(in crate::cli) question: String,
    /// A hash of what it holds; parts of before there was one have none, and are read all the same.
    pub(in crate::cli) content: Option<String>,
}

impl Seal {
    /// A part of what is asked about a scenario. Presets count by what they say: another machine's may differ.
    pub(in crate::cli) fn new(part: WorkPart, base: &Scenario, asked: &Value) -> Self {
        let question = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": ScenarioFile::of(base),
            "cluster": base.cluster,
            "stack": base.stack,
            "calibration": base.calibration,
            "model": base.model,
            "asked": asked,
        });
        Self { part, question: hashed(&question.to_string()), content: None }
    }

    /// The seal of a whole of so many rows.
    #[must_use]
    pub(in crate::cli) fn of_rows(self, total: usize) -> Self {
        Self { question: format!("{total}-{}", self.question), ..self }
    }

    /// How many of them are this part's.
    pub(in crate::cli) fn rows(&self) -> Option<usize> {
        let total = self.question.split_once('-')?.0.parse().ok()?;
        Some(self.part.rows(total).len())
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.part, self.question)?;
        self.content.as_ref().map_or(Ok(()), |content| write!(f, "{HOLDING}{content}"))
    }
}

impl FromStr for Seal {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (part, rest) = line.strip_prefix("part ").and_then(|rest| rest.split_once(" of ")).ok_or(())?;
        let (question, content) = match rest.split_once(HOLDING) {
            Some((question, content)) => (question, Some(content.to_owned())),
            None => (rest, None),
        };
        Ok(Self { part: part.parse().map_err(drop)?, question: question.to_owned(), content })
    }
}

/// The word before the hash of the content.
const HOLDING: &str = " holding ";

/// A hash of a text that comes piece by piece: the same in every process of one build, since its keys are fixed.
#[derive(Debug, Default)]
pub(in crate::cli) struct ContentHash(DefaultHasher);

impl ContentHash {
    pub(in crate::cli) fn add(&mut self, piece: &str) {
        self.0.write(piece.as_bytes());
    }

    pub(in crate::cli) fn end(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

pub(super) fn hashed(text: &str) -> String {
    let mut hash = ContentHash::default();
    hash.add(text);
    hash.end()
}

/// Why these are not all parts of one whole, each once: one line for each mistake.
pub(in crate::cli) fn mistakes(parts: &[(String, Seal)]) -> Vec<String> {
    let mut lines = foreign_parts(parts);
    let count = parts.first().map_or(0, |(_, seal)| seal.part.count());
    if !lines.is_empty() {
        return lines;
    }
    let mut files: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (file, seal) in parts {
        files.entry(seal.part.index()).or_default().push(file);
    }
    for (index, files) in files.iter().filter(|(_, files)| files.len() > 1) {
        lines.push(format!("{}: all are part {index}/{count}; give one of them", files.join(", ")));
    }
    // Of a billion parts only those are looked for that are named.
    let missing: Vec<String> = WorkPart::all(count)
        .filter(|part| !files.contains_key(&part.index()))
        .take(MOST_NAMED)
        .map(|part| part.to_string())
        .collect();
    if !missing.is_empty() {
        let more = (count as usize).saturating_sub(files.len() + missing.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("missing: part {}{more}; run each with --part and give it too", missing.join(", ")));
    }
    lines
}

/// Complaints about parts of another whole than the first one's.
pub(in crate::cli) fn foreign_parts(parts: &[(String, Seal)]) -> Vec<String> {
    let Some((first, seal)) = parts.iter().min_by_key(|(_, seal)| seal.part.index()) else { return Vec::new() };
    let whole = |seal: &Seal| (seal.part.count(), seal.question.clone());
    let own = whole(seal);
    let foreign_parts = parts.iter().filter(|(_, other)| whole(other) != own);
    foreign_parts
        .map(|(file, other)| format!("{file}: is {other}, but {first} is {seal}; give parts of one whole"))
        .collect()
}

/// The most missing parts that are named.
const MOST_NAMED: usize = 20;
