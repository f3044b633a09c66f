//! A set: several snapshots with names, saved together so that a comparison can be reopened.

use serde::{Deserialize, Serialize};

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::file::{self, FileError, Source};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::text;

use super::content::{FORMAT, Snapshot};
use super::stored::{Stored, StoredPin};

/// Value of `kind` in a set.
pub(super) const KIND: &str = "set";

/// A set as a file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Version of the file format.
    pub format: u32,
    /// `set`.
    pub kind: String,
    /// The version of shardscope that wrote it.
    pub version: String,
    /// The view that a session of the explorer ended with; no other set has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The snapshots, in the order of the comparison; the first is the one that others are held against.
    pub members: Vec<Member>,
}

/// One snapshot of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Name of the member in the comparison.
    pub name: String,
    /// What it was taken of, and what came out.
    pub snapshot: Snapshot,
}

impl Set {
    /// Scenarios with their names and evaluations.
    pub fn new<'a>(members: impl IntoIterator<Item = (&'a str, &'a Scenario, &'a Evaluation)>) -> Self {
        let member = |(name, scenario, evaluation): (&str, &Scenario, &Evaluation)| Member {
            name: text::name(name),
            snapshot: Snapshot::new(scenario, evaluation),
        };
        Self::holding(members.into_iter().map(member).collect())
    }

    /// Set that a session ends with: a view, and scenarios with their names, none of which is evaluated.
    pub(crate) fn unevaluated(view: &str, scenarios: &[(String, Scenario)]) -> Self {
        let member = |(name, scenario): &(String, Scenario)| Member {
            name: name.clone(),
            snapshot: Snapshot::unevaluated(scenario),
        };
        Self { view: Some(view.to_owned()), ..Self::holding(scenarios.iter().map(member).collect()) }
    }

    fn holding(members: Vec<Member>) -> Self {
        Self {
            format: FORMAT,
            kind: KIND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: None,
            members,
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Reads the text of a set.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let (set, source) = file::read::<Self>(text, FORMAT)?;
        match set.problems() {
            problems if problems.is_empty() => Ok(set),
            problems => Err(source.mistakes(&problems)),
        }
    }

    /// The scenarios, from what the set holds by value.
    pub(super) fn pins(&self, source: &Source) -> Result<Vec<StoredPin>, FileError> {
        let member = |(index, member): (usize, &Member)| match member.snapshot.scenario() {
            Ok(scenario) => {
                Ok(StoredPin { name: member.name.clone(), scenario, stored: Stored::new(&member.snapshot) })
            }
            Err(problems) => Err(source.mistakes(&inside(index, problems))),
        };
        self.members.iter().enumerate().map(member).collect()
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut refuse = |field: &str, what: &str| {
            let fix = "save the set again, or fix the field".to_owned();
            found.push(Problem { field: field.to_owned(), what: what.to_owned(), fix });
        };
        if self.kind != KIND {
            refuse("kind", "must be 'set'");
        }
        if self.members.is_empty() {
            refuse("members", "must hold at least one snapshot");
        }
        let members = self.members.iter().enumerate();
        found.extend(members.flat_map(|(index, member)| inside(index, member.snapshot.problems())));
        found
    }
}

/// Problems of a member, as the set names their fields.
fn inside(index: usize, problems: Vec<Problem>) -> Vec<Problem> {
    let nested =
        |problem: Problem| Problem { field: format!("members[{index}].snapshot.{}", problem.field), ..problem };
    problems.into_iter().map(nested).collect()
}

#[cfg(test)]
mod tests;
