//! A set: several snapshots with names, saved together so that a comparison can be reopened.

use serde::{Deserialize, Serialize};

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::file::{self, FileError, Source};
use shardscope_engine::scenario::{Problem, Scenario};

use super::content::{FORMAT, Snapshot, Stored, StoredPin};

/// The `kind` of a set.
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
    pub name: String,
    pub snapshot: Snapshot,
}

impl Set {
    pub fn new<'a>(members: impl IntoIterator<Item = (&'a str, &'a Scenario, &'a Evaluation)>) -> Self {
        let member = |(name, scenario, evaluation): (&str, &Scenario, &Evaluation)| Member {
            name: name.to_owned(),
            snapshot: Snapshot::new(scenario, evaluation),
        };
        Self {
            format: FORMAT,
            kind: KIND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: None,
            members: members.into_iter().map(member).collect(),
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
                Ok(StoredPin { name: member.name.clone(), scenario, stored: Some(Stored::new(&member.snapshot)) })
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
mod tests {
    use super::*;
    use crate::figures::report::tests::{evaluation, scenario};
    use crate::snapshot::{OpenError, open};
    use std::fs;

    /// The tests' scenario, and the same on twice the nodes.
    fn set() -> Set {
        let one = scenario();
        let mut two = one.clone();
        two.plan.micro_batch *= 2;
        let evaluation = evaluation(&one);
        Set::new([("narrow", &one, &evaluation), ("wide", &two, &evaluation)])
    }

    #[test]
    fn a_set_reads_back_to_the_last_bit() {
        let set = set();
        assert_eq!(Set::parse(&set.to_toml().unwrap()), Ok(set));
    }

    #[test]
    fn a_set_opens_on_its_first_scenario_with_all_of_them_pinned() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("set.toml");
        fs::write(&path, set().to_toml().unwrap()).unwrap();
        let opened = open(&path.display().to_string(), &shardscope_presets::library()).unwrap();
        assert_eq!(opened.scenario, scenario());
        let pins: Vec<(&str, u32)> =
            opened.pins.iter().map(|pin| (pin.name.as_str(), pin.scenario.plan.micro_batch)).collect();
        let micro_batch = scenario().plan.micro_batch;
        assert_eq!(pins, [("narrow", micro_batch), ("wide", 2 * micro_batch)]);
        assert!(opened.stored.is_some(), "what came out then can be shown beside what comes out now");
    }

    #[test]
    fn a_mistake_is_said_where_it_stands() {
        let text = set().to_toml().unwrap();
        let second = text.rfind("compute_units = ").unwrap();
        let wrong = format!("{}compute_units = 0 # {}", &text[..second], &text[second + 16..]);
        let error = Set::parse(&wrong).unwrap_err();
        let line = text[..second].matches('\n').count() + 1;
        assert_eq!(error.mistakes[0].line, line, "{error}");
        assert!(error.mistakes[0].message.starts_with("members[1].snapshot.cluster.device.compute_units: "), "{error}");
    }

    #[test]
    fn a_set_without_members_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("set.toml");
        fs::write(&path, "format = 1\nkind = \"set\"\nversion = \"0.1.0\"\nmembers = []\n").unwrap();
        let Err(OpenError::File(error)) = open(&path.display().to_string(), &shardscope_presets::library()) else {
            panic!("opened")
        };
        assert!(error.to_string().contains("members: must hold at least one snapshot; save the set again"), "{error}");
    }
}
