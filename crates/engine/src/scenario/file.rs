//! The TOML schema of a scenario: the ids of its cluster, stack, model and strategy, and its plan.
//!
//! Reading a text gives a [`ScenarioFile`]; what its ids stand for is found by [`crate::presets`].
//! The same value takes the flags of the command line and what is typed in the explorer
//! ([`ScenarioFile::set`]). Mistakes carry their place in the text ([`FileError`]). Not for costs, and
//! not for reading from disk.

mod edit;
mod error;
mod plan;
mod published;
mod source;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::field::Field;
use super::{Problem, Scenario, UnknownSetting};
use crate::hardware::Cluster;
use crate::model::Model;
use crate::text;

pub use error::Mistake;

pub use error::{FileError, printable};
pub use plan::{PlanFile, PostTrainingTable};
pub use published::PublishedValue;
pub use published::{Published, PublishedFigure, PublishedQuantity};
pub use source::{Source, read, read_unversioned};

/// The newest format of scenario files that this version reads.
pub const FORMAT: u32 = 1;

/// A scenario as a file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ScenarioFile {
    /// Version of the file format.
    pub format: u32,
    /// Its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Sentences on what it cannot say of the job; they stand with every figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// What to look at once it is open, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<String>,
    /// Id of the cluster.
    pub cluster: String,
    /// Id of the stack.
    pub stack: String,
    /// Id of the model.
    pub model: String,
    /// Id of the strategy.
    pub strategy: String,
    /// How the job is laid out; what is absent is as `Plan::new` has it.
    #[serde(default)]
    pub plan: PlanFile,
    /// The plan's fields of post-training while they are written or read: the plan has them otherwise.
    #[serde(default, skip_serializing_if = "PostTrainingTable::is_empty")]
    pub post_training: PostTrainingTable,
    /// What was published of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The model in full, where `model` names none of the presets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Model>,
    /// The cluster in full, where `cluster` names none of the presets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Cluster>,
    /// What an import did not understand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownSetting>,
}

impl ScenarioFile {
    /// What reproduces a scenario, whatever its strategy's file says later: the placement of its state in full.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            format: FORMAT,
            name: Some(scenario.name.clone()),
            about: None,
            caveats: scenario.caveats.to_vec(),
            look: None,
            cluster: scenario.cluster.id.clone(),
            stack: scenario.stack.id.clone(),
            model: scenario.model.id.clone(),
            strategy: scenario.strategy.to_string(),
            plan: PlanFile::from_scenario(scenario),
            post_training: PostTrainingTable::default(),
            published: None,
            shape: None,
            machine: None,
            unknown: scenario.unknown.to_vec(),
        }
    }

    /// Its name, or what it is in short.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => text::name(&format!("{} on {}, {}", self.model, self.cluster, self.strategy)),
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// What can be wrong with it before its ids are looked up.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = self.published.as_ref().map_or_else(Vec::new, Published::problems);
        let shape = self.shape.as_ref().map_or_else(Vec::new, Model::problems);
        let machine = self.machine.as_ref().map_or_else(Vec::new, Cluster::problems);
        for (whole, problems) in [("shape", shape), ("machine", machine)] {
            found.extend(problems.into_iter().map(|Problem { field, what, .. }| Problem {
                field: format!("{whole}.{field}"),
                what,
                fix: format!("correct it, or leave '{whole}' out and name a preset"),
            }));
        }
        if [Field::Nodes, Field::Devices].iter().all(|field| self.plan.get(*field).is_some()) {
            found.push(Problem {
                field: Field::Devices.path().to_owned(),
                what: "both 'nodes' and 'devices' are given".to_owned(),
                fix: "keep one of them".to_owned(),
            });
        }
        found
    }
}

impl Serialize for ScenarioFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let post_training = PostTrainingTable::from_plan(&self.plan);
        // The derived way, which writes the table as it stands in the file.
        if post_training.is_empty() {
            return Self::serialize(self, serializer);
        }
        Self::serialize(&Self { post_training, ..self.clone() }, serializer)
    }
}

impl<'de> Deserialize<'de> for ScenarioFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut file = Self::deserialize(from)?;
        file.post_training.move_into(&mut file.plan);
        Ok(file)
    }
}

/// Reads the text of a scenario file.
pub fn parse(text: &str) -> Result<ScenarioFile, FileError> {
    let (file, source) = read::<ScenarioFile>(text, FORMAT)?;
    match file.problems() {
        problems if problems.is_empty() => Ok(file),
        problems => Err(source.mistakes(&problems)),
    }
}

#[cfg(test)]
mod tests;
