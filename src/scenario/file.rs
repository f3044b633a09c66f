//! The TOML schema of a scenario: the ids of its cluster, stack, model and strategy, and its plan.
//!
//! Reading a text gives a [`ScenarioFile`]; what its ids stand for is found by [`crate::presets`].
//! The same value takes the flags of the command line and what is typed in the explorer
//! ([`ScenarioFile::set`]). Mistakes carry their place in the text ([`FileError`]). Not for costs, and
//! not for reading from disk.

mod edit;
mod error;
mod published;
mod source;

use serde::{Deserialize, Serialize};

use crate::plan::{
    Accumulation, Extent, FlopCount, Format, Offload, Optimizer, Placement, Plan, Precision, Recompute, Reduction,
    Schedule, Secondary, Sharding, Size,
};

use super::{Problem, Scenario};

pub use edit::{FIELDS, Field, count};
pub use error::{FileError, Mistake, printable};
pub use published::{Published, PublishedFigure, Quantity, Value};
pub use source::{Source, read, read_unversioned};

/// The newest format of scenario files that this version reads.
pub const FORMAT: u32 = 1;

/// A scenario as a file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Version of the file format.
    pub format: u32,
    /// Its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Id of the cluster.
    pub cluster: String,
    /// Id of the stack.
    pub stack: String,
    /// Id of the model.
    pub model: String,
    /// Id of the strategy.
    pub strategy: String,
    /// The job.
    #[serde(default)]
    pub plan: PlanFile,
    /// What was published of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// A plan as a file holds it: what is absent is as in [`Plan::new`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Whole nodes; 1 where neither `nodes` nor `devices` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Devices, instead of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<u32>,
    /// Moves the strategy's first sharded extent, and every extent equal to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Extent>,
    /// Tensor-parallel ranks; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<u32>,
    /// Context-parallel ranks; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// Pipeline ranks; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// Pipeline schedule; `1f1b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Stages on each pipeline rank; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages_per_rank: Option<u32>,
    /// Sequences per data-parallel rank and micro-batch; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_batch: Option<u32>,
    /// Micro-batches per optimizer step; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulate: Option<u32>,
    /// Order of micro-batches and layers; `standard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulation: Option<Accumulation>,
    /// Tokens per sequence; the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// Number formats; `bf16`, or `fp16` on a device without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Optimizer; `adam`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Optimizer>,
    /// What backward computes again; `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recompute: Option<Recompute>,
    /// What lives in the host's memory; `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<Offload>,
    /// When gradients are reduced; `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reduction>,
    /// How many gathers may run ahead; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<u32>,
    /// Whether gathered weights are dropped after forward; as the strategy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshard_after_forward: Option<bool>,
    /// Whether gathered weights travel in int8 (`qwZ` of ZeRO++); as the strategy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qwz: Option<bool>,
    /// Extent of a second copy of the weights for backward (`hpZ` of ZeRO++), `device` or 1 for none; as the strategy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpz: Option<Extent>,
    /// Whether gradients are reduced in int4 and two hops (`qgZ` of ZeRO++); as the strategy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qgz: Option<bool>,
    /// Training length in tokens; none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// What counts as model flop; `parameters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flop_count: Option<FlopCount>,
    /// What-if factor on the outermost level's bandwidth; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_factor: Option<f64>,
    /// What-if factor on the device's memory; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_factor: Option<f64>,
    /// Placement of the state in full, instead of the strategy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding: Option<Sharding>,
    /// Operators whose state lies elsewhere; none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Placement>,
}

impl PlanFile {
    /// The plan, where the strategy places the state as `sharding` and the model brings `sequence`.
    pub fn plan(&self, sharding: &Sharding, sequence: u32) -> Result<Plan, Problem> {
        let usual = Plan::new(self.sharding(sharding)?, sequence);
        Ok(Plan {
            size: self.size().unwrap_or(usual.size),
            tensor: self.tensor.unwrap_or(usual.tensor),
            context: self.context.unwrap_or(usual.context),
            pipeline: self.pipeline.unwrap_or(usual.pipeline),
            schedule: self.schedule.unwrap_or(usual.schedule),
            stages_per_rank: self.stages_per_rank.unwrap_or(usual.stages_per_rank),
            micro_batch: self.micro_batch.unwrap_or(usual.micro_batch),
            accumulate: self.accumulate.unwrap_or(usual.accumulate),
            accumulation: self.accumulation.unwrap_or(usual.accumulation),
            sequence: self.sequence.unwrap_or(usual.sequence),
            precision: self.precision.unwrap_or(usual.precision),
            optimizer: self.optimizer.unwrap_or(usual.optimizer),
            recompute: self.recompute.unwrap_or(usual.recompute),
            offload: self.offload.unwrap_or(usual.offload),
            reduction: self.reduction.unwrap_or(usual.reduction),
            prefetch: self.prefetch.unwrap_or(usual.prefetch),
            tokens: self.tokens.or(usual.tokens),
            flop_count: self.flop_count.unwrap_or(usual.flop_count),
            bandwidth_factor: self.bandwidth_factor.unwrap_or(usual.bandwidth_factor),
            memory_factor: self.memory_factor.unwrap_or(usual.memory_factor),
            sharding: usual.sharding,
            operators: self.operators.clone(),
        })
    }

    fn size(&self) -> Option<Size> {
        self.nodes.map(Size::Nodes).or(self.devices.map(Size::Devices))
    }

    fn sharding(&self, strategy: &Sharding) -> Result<Sharding, Problem> {
        let mut sharding = self.sharding.as_ref().unwrap_or(strategy).clone();
        if let Some(shard) = &self.shard {
            sharding = sharding.with_shard(shard).ok_or_else(Problem::nothing_sharded)?;
        }
        if let Some(reshard) = self.reshard_after_forward {
            sharding.reshard_after_forward = reshard;
        }
        self.switch(&mut sharding);
        Ok(sharding)
    }

    /// The three parts of ZeRO++, each on its own [frontier D6].
    fn switch(&self, sharding: &mut Sharding) {
        let wire = &mut sharding.wire;
        if let Some(on) = self.qwz.filter(|on| *on != wire.weights.quantised()) {
            wire.weights = if on { Format::Int8 } else { Format::Bf16 };
        }
        if let Some(on) = self.qgz {
            sharding.two_hop_gradients = on;
            if on != wire.gradients.quantised() {
                wire.gradients = if on { Format::Int4 } else { Format::Bf16 };
            }
        }
        if let Some(extent) = &self.hpz {
            let format = sharding.secondary.as_ref().map_or(Format::Bf16, |secondary| secondary.format);
            let none = matches!(extent, Extent::Device | Extent::Ranks(1));
            sharding.secondary = (!none).then(|| Secondary { extent: extent.clone(), format });
        }
    }

    /// Every field of a plan, so that nothing of it hangs on a default.
    fn of(plan: &Plan) -> Self {
        let (nodes, devices) = match plan.size {
            Size::Nodes(nodes) => (Some(nodes), None),
            Size::Devices(devices) => (None, Some(devices)),
        };
        Self {
            nodes,
            devices,
            shard: None,
            tensor: Some(plan.tensor),
            context: Some(plan.context),
            pipeline: Some(plan.pipeline),
            schedule: Some(plan.schedule),
            stages_per_rank: Some(plan.stages_per_rank),
            micro_batch: Some(plan.micro_batch),
            accumulate: Some(plan.accumulate),
            accumulation: Some(plan.accumulation),
            sequence: Some(plan.sequence),
            precision: Some(plan.precision),
            optimizer: Some(plan.optimizer),
            recompute: Some(plan.recompute),
            offload: Some(plan.offload),
            reduction: Some(plan.reduction),
            prefetch: Some(plan.prefetch),
            reshard_after_forward: None,
            qwz: None,
            hpz: None,
            qgz: None,
            tokens: plan.tokens,
            flop_count: Some(plan.flop_count),
            bandwidth_factor: Some(plan.bandwidth_factor),
            memory_factor: Some(plan.memory_factor),
            sharding: Some(plan.sharding.clone()),
            operators: plan.operators.clone(),
        }
    }
}

impl ScenarioFile {
    /// What reproduces a scenario, whatever its strategy's file says later: the placement of its state in full.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            format: FORMAT,
            name: Some(scenario.name.clone()),
            about: None,
            cluster: scenario.cluster.id.clone(),
            stack: scenario.stack.id.clone(),
            model: scenario.model.id.clone(),
            strategy: scenario.strategy.to_string(),
            plan: PlanFile::of(&scenario.plan),
            published: None,
        }
    }

    /// Its name, or what it is in short.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("{} on {}, {}", self.model, self.cluster, self.strategy),
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// What can be wrong with it before its ids are looked up.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = self.published.as_ref().map_or_else(Vec::new, Published::problems);
        if self.plan.nodes.is_some() && self.plan.devices.is_some() {
            found.push(Problem {
                field: "plan.devices".to_owned(),
                what: "both 'nodes' and 'devices' are given".to_owned(),
                fix: "keep one of them".to_owned(),
            });
        }
        found
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
