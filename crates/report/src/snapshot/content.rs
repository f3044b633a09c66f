//! What a snapshot holds, and the scenario that it means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::scenario::file::{self, FileError, ScenarioFile};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::stack::{Calibration, Stack};

/// The newest format of snapshots that this version reads.
pub const FORMAT: u32 = 1;

/// What `kind` says in a snapshot.
pub(super) const KIND: &str = "snapshot";

/// A snapshot as a file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of the file format.
    pub format: u32,
    /// `snapshot`.
    pub kind: String,
    /// The version of shardscope that wrote it.
    pub version: String,
    /// The scenario, with the placement of its state in full.
    pub scenario: ScenarioFile,
    /// Its cluster by value, which wins over the id in the scenario.
    pub cluster: Cluster,
    /// Its stack, by value too.
    pub stack: Stack,
    /// The calibration that the stack uses.
    pub calibration: Calibration,
    /// Its model, by value too.
    pub model: Model,
    /// Other models beside that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Model>,
    /// What came out; never an input. What a session left has none: it is saved without evaluating anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Figures>,
}

impl Snapshot {
    /// A scenario and its evaluation, as this version tells them.
    pub fn new(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        Self { evaluation: Some(Figures::new(scenario, evaluation)), ..Self::unevaluated(scenario) }
    }

    /// A scenario alone, as this version tells it.
    pub(crate) fn unevaluated(scenario: &Scenario) -> Self {
        Self {
            format: FORMAT,
            kind: KIND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: ScenarioFile::of(scenario),
            cluster: Cluster::clone(&scenario.cluster),
            stack: Stack::clone(&scenario.stack),
            calibration: Calibration::clone(&scenario.calibration),
            model: Model::clone(&scenario.model),
            beside: scenario.plan.post_training.others().filter_map(|other| other.model.as_deref()).cloned().collect(),
            evaluation: None,
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Reads the text of a snapshot.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let (snapshot, source) = file::read::<Self>(text, FORMAT)?;
        match snapshot.problems() {
            problems if problems.is_empty() => Ok(snapshot),
            problems => Err(source.mistakes(&problems)),
        }
    }

    /// The scenario, from what the snapshot holds by value.
    pub fn scenario(&self) -> Result<Scenario, Vec<Problem>> {
        let problems = self.problems();
        let Some(sharding) = self.scenario.plan.sharding.as_ref().filter(|_| problems.is_empty()) else {
            return Err(problems);
        };
        let plan = self.scenario.plan.plan(sharding, self.model.sequence);
        let mut plan = plan.map_err(|problem| vec![in_scenario(problem)])?;
        for other in plan.post_training.others_mut() {
            other.model = self.beside.iter().find(|model| model.id == *other.id).cloned().map(Arc::new);
        }
        Ok(Scenario {
            name: self.scenario.title(),
            cluster: Arc::new(self.cluster.clone()),
            stack: Arc::new(self.stack.clone()),
            calibration: Arc::new(self.calibration.clone()),
            model: self.scenario.plan.trained(Arc::new(self.model.clone())),
            strategy: self.scenario.strategy.as_str().into(),
            plan,
            caveats: self.scenario.caveats.as_slice().into(),
            unknown: self.scenario.unknown.as_slice().into(),
        })
    }

    /// Everything that is wrong with what it holds.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.kind != KIND {
            found.push(problem("kind", "must be 'snapshot'".to_owned()));
        }
        if self.scenario.plan.sharding.is_none() {
            found.push(problem("scenario.plan", "'sharding' is missing: a snapshot holds it in full".to_owned()));
        }
        found.extend(self.scenario.problems().into_iter().map(in_scenario));
        for (part, problems) in [
            ("cluster", self.cluster.problems()),
            ("stack", self.stack.problems()),
            ("stack", self.calibration.lacks(&self.stack)),
            ("calibration", self.calibration.problems()),
            ("model", self.model.problems()),
        ] {
            found.extend(problems.into_iter().map(|it| problem(&format!("{part}.{}", it.field), it.what)));
        }
        found
    }
}

/// A problem of a scenario, as a snapshot names its field.
pub(super) fn in_scenario(problem: Problem) -> Problem {
    Problem { field: format!("scenario.{}", problem.field), ..problem }
}

fn problem(field: &str, what: String) -> Problem {
    Problem { field: field.to_owned(), what, fix: "export the snapshot again, or fix the field".to_owned() }
}
