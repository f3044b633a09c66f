//! The specification: a readable JSON, and the plan that it means. Not for making one of a scenario ([`super::specify`]).

use serde::{Deserialize, Serialize};

use shardscope_engine::plan::{Extents, Layers, Operator, Placement, Plan, Recompute};

/// The newest format of specifications.
pub const FORMAT: u32 = 1;

/// A plan for FSDP2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fsdp2Spec {
    /// Version of the format.
    pub format: u32,
    /// The version of shardscope that wrote it.
    pub version: String,
    /// The name of the scenario.
    pub scenario: String,
    /// Ranks that it is for.
    pub ranks: u32,
    /// Format of weights and activations, as PyTorch calls it.
    pub param_dtype: String,
    /// Format in which gradients are reduced.
    pub reduce_dtype: String,
    /// Whether the state lives in the host's memory.
    pub offload: bool,
    /// Sequences per rank and micro-batch.
    pub micro_batch: u32,
    /// Micro-batches per optimizer step.
    pub accumulate: u32,
    /// Tokens per sequence.
    pub sequence: u32,
    /// Path of the blocks.
    pub layer_path: String,
    /// What is treated alike.
    pub modules: Vec<Module>,
    /// What FSDP2 does otherwise than planned.
    pub notes: Vec<String>,
}

/// Modules that are treated alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Path in the model, with `{layer}` for the number of the layer.
    pub path: String,
    /// The layers, for what is in layers.
    pub layers: Option<Layers>,
    /// What it is.
    pub operator: Operator,
    /// Extents of its shards, as planned.
    pub extents: Extents,
    /// Ranks that share its state.
    pub shard: u32,
    /// Groups of them.
    pub replicate: u32,
    /// Whether its gathered weights are dropped after forward, or over how many ranks they then stay sharded.
    pub reshard_after_forward: Reshard,
    /// Whether they are dropped after each backward, or only after the last of a step.
    pub reshard_after_backward: bool,
    /// When its gradients are reduced.
    pub reduce: Reduce,
    /// Slices of its linear maps.
    pub split: u32,
    /// What backward computes again of the layer.
    pub recompute: Recompute,
    /// Whether FSDP2 moves and keeps what is planned.
    pub exact: bool,
}

/// What happens to gathered weights after forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reshard {
    /// They are dropped, or kept.
    Drop(bool),
    /// They stay sharded over so many ranks.
    Over(u32),
}

/// When gradients are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// Over shards at each micro-batch, over replicas at the last.
    ShardedLast,
    /// At each micro-batch.
    MicroBatch,
    /// Once, at the last one.
    Step,
}

impl Fsdp2Spec {
    /// As JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Reads the JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// A plan with the operators, the batch and the recompute that this says.
    pub fn over(&self, plan: &Plan) -> Plan {
        let placement = |module: &Module| Placement {
            layers: module.layers,
            operator: module.operator,
            extents: module.extents.clone(),
            split: module.split,
        };
        Plan {
            operators: self.modules.iter().map(placement).collect(),
            micro_batch: self.micro_batch,
            accumulate: self.accumulate,
            sequence: self.sequence,
            recompute: self.recompute(),
            ..plan.clone()
        }
    }

    /// The recompute of all layers: the first ones, or all in one way.
    fn recompute(&self) -> Recompute {
        let layers = |wanted: Option<Recompute>| {
            let mut all: Vec<u32> = Vec::new();
            for module in self.modules.iter().filter(|module| wanted.is_none_or(|wanted| module.recompute == wanted)) {
                all.extend(module.layers.into_iter().flat_map(|layers| layers.first..=layers.last));
            }
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let (all, full) = (layers(None), layers(Some(Recompute::Full)));
        match (full, layers(Some(Recompute::Selective))) {
            (0, 0) => Recompute::None,
            (0, _) => Recompute::Selective,
            (full, _) if full == all => Recompute::Full,
            (full, _) => Recompute::Share(full as f64 / all as f64),
        }
    }
}
