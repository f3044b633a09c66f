//! The report of an import: what it took from the file, assumed or ignored, and why it refuses.
//!
//! Reads no format, and prints nothing.

use std::fmt::{self, Write};

use serde::Serialize;

use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

/// A result in shardscope's form, and the source of each part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Imported<T> {
    /// The result of the import.
    #[serde(flatten)]
    pub made: T,
    /// The sources of the result.
    #[serde(flatten)]
    pub report: ImportReport,
}

impl<T> Imported<T> {
    /// The import, with its result converted.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Imported<U> {
        Imported { made: change(self.made), report: self.report }
    }
}

/// The most ignored settings that are listed: several times more than any real file has.
const MOST_IGNORED: usize = 500;

/// The source of each part of an import, so that nothing is guessed silently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Values that the files give.
    pub taken: Vec<Taken>,
    /// Values that the files leave open.
    pub assumed: Vec<AssumedValue>,
    /// Settings on which nothing depends.
    pub ignored: Vec<Ignored>,
    /// Number of such settings beyond those listed.
    #[serde(skip)]
    pub unlisted: usize,
    /// Settings that are unknown: they may change size, time or memory.
    pub unknown: UnknownSettings,
}

/// Settings that this program does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UnknownSettings {
    /// Number of settings.
    pub count: usize,
    /// Places of the first of them.
    pub places: Vec<String>,
}

/// A value that a file gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// The field of the result.
    pub field: String,
    /// The field's value.
    pub value: String,
    /// The key, or the file and its line.
    #[serde(rename = "where")]
    pub place: String,
}

/// A value that no file gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssumedValue {
    /// The field of the result.
    pub field: String,
    /// The field's value.
    pub value: String,
    /// The source of the default, and how to override it.
    pub why: String,
}

/// A setting without effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// The setting's name in the file.
    pub field: String,
    /// The reason why it has no effect.
    pub why: String,
}

impl ImportReport {
    /// Notes a value that a file gives.
    pub fn take(&mut self, field: &str, value: impl fmt::Display, place: impl fmt::Display) {
        let [value, place] = [value.to_string(), place.to_string()].map(|text| printable(&text));
        self.taken.push(Taken { field: printable(field), value, place });
    }

    /// Notes a value that no file gives.
    pub fn assume(&mut self, field: &str, value: impl fmt::Display, why: impl fmt::Display) {
        let [value, why] = [value.to_string(), why.to_string()].map(|text| printable(&text));
        self.assumed.push(AssumedValue { field: printable(field), value, why });
    }

    /// Notes a setting without effect; beyond the limit, only counts it.
    pub fn ignore(&mut self, field: &str, why: impl fmt::Display) {
        if self.ignored.len() < MOST_IGNORED {
            let ignored = Ignored { field: printable(field), why: printable(&why.to_string()) };
            // Two tools may read one file.
            if !self.ignored.contains(&ignored) {
                self.ignored.push(ignored);
            }
            return;
        }
        self.unlisted += 1;
        let more =
            Ignored { field: format!("{} more", self.unlisted), why: "not listed: too many have no effect".to_owned() };
        self.ignored.truncate(MOST_IGNORED);
        self.ignored.push(more);
    }

    /// Notes an unknown setting, however many there are.
    pub fn doubt(&mut self, place: &str) {
        self.unknown.count += 1;
        if self.unknown.places.len() < MOST_IGNORED {
            self.unknown.places.push(printable(place));
        }
    }

    /// Forgets what was noted of a field that another place decides.
    pub fn forget(&mut self, field: &str) {
        self.taken.retain(|taken| taken.field != field);
        self.assumed.retain(|assumed| assumed.field != field);
    }

    /// Unknown settings as errors, for callers that accept none.
    pub fn strictly(&self) -> Result<(), Vec<Problem>> {
        let what = "is unknown to this program: it may change size, time or memory";
        let fix = "leave it out, or import without --strict";
        let errors: Vec<Problem> = self.unknown.places.iter().map(|place| Problem::new(place, what, fix)).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Adds the report of another file.
    pub fn append(&mut self, other: Self) {
        self.taken.extend(other.taken);
        self.assumed.extend(other.assumed);
        self.unknown.count += other.unknown.count;
        self.unknown.places.extend(other.unknown.places);
        other.ignored.into_iter().for_each(|Ignored { field, why }| self.ignore(&field, why));
    }

    /// The report as text; empty lists are left out.
    pub fn text(&self) -> String {
        let taken = self.taken.iter().map(|Taken { field, value, place }| format!("{field} = {value} ({place})"));
        let assumed =
            self.assumed.iter().map(|AssumedValue { field, value, why }| format!("{field} = {value} ({why})"));
        let ignored = self.ignored.iter().map(|Ignored { field, why }| format!("{field}: {why}"));
        let mut text = String::new();
        for (head, lines) in
            [("taken", taken.collect::<Vec<_>>()), ("assumed", assumed.collect()), ("ignored", ignored.collect())]
        {
            if !lines.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{head}:\n  {}", lines.join("\n  "));
            }
        }
        let UnknownSettings { count, places } = &self.unknown;
        if *count > 0 {
            let head = format!(
                "unknown to this program, {count}, which may change size, time or memory (--strict refuses them)"
            );
            let _ = writeln!(text, "{head}:\n  {}", places.join("\n  "));
            let more = count - places.len();
            if more > 0 {
                let _ = writeln!(text, "  {more} more: not listed");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_has_a_head_and_foreign_text_is_made_harmless() {
        let mut report = ImportReport::default();
        assert_eq!(report.text(), "");
        report.take("layers", 32, "num_hidden_layers");
        report.assume("sequence", 4096, "the file's limit is 131072; --seq says otherwise");
        report.ignore("eos\u{1b}[2J_token_id", "a token's number");
        let expected = "taken:\n  layers = 32 (num_hidden_layers)\nassumed:\n  sequence = 4096 (the file's limit is \
                        131072; --seq says otherwise)\nignored:\n  eos\u{fffd}[2J_token_id: a token's number\n";
        assert_eq!(report.text(), expected);
        report.doubt("a.json: surprise");
        let unknown = "unknown to this program, 1, which may change size, time or memory (--strict refuses them):\n  \
                       a.json: surprise\n";
        assert_eq!(report.text(), format!("{expected}{unknown}"));
        assert_eq!(report.strictly().unwrap_err()[0].field, "a.json: surprise");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["taken"][0],
            serde_json::json!({
                "field": "layers", "value": "32", "where": "num_hidden_layers",
            })
        );
    }
}
