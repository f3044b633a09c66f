//! The specification: readable JSON, and the plan that it stands for. [`super::specify`] makes it from a scenario.

use serde::{Deserialize, Serialize};

use shardscope_engine::plan::{Extents, Layers, Operator, Placement, Plan, Recompute};

/// The newest version of the format.
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
    /// Number of ranks.
    pub ranks: u32,
    /// PyTorch's name of the format of weights and activations.
    pub param_dtype: String,
    /// PyTorch's name of the format in which gradients are reduced.
    pub reduce_dtype: String,
    /// True if the state is offloaded to the host's memory.
    pub offload: bool,
    /// Sequences per rank and micro-batch.
    pub micro_batch: u32,
    /// Micro-batches per optimizer step.
    pub accumulate: u32,
    /// Tokens per sequence.
    pub sequence: u32,
    /// Path of the transformer blocks.
    pub layer_path: String,
    /// The modules, grouped by equal settings.
    pub modules: Vec<Module>,
    /// Where FSDP2 deviates from the plan.
    pub notes: Vec<String>,
}

/// Modules with equal settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Path in the model, with `{layer}` for the number of the layer.
    pub path: String,
    /// The layers; `None` for the embedding and the head.
    pub layers: Option<Layers>,
    /// Kind of the module.
    pub operator: Operator,
    /// Sharding extents, as planned.
    pub extents: Extents,
    /// Ranks over which the state is sharded.
    pub shard: u32,
    /// Number of replicas of the shards.
    pub replicate: u32,
    /// Gathered weights after forward: dropped, kept, or sharded over fewer ranks.
    pub reshard_after_forward: Reshard,
    /// True if gathered weights are dropped after each backward, false if after the last of a step.
    pub reshard_after_backward: bool,
    /// When gradients are reduced.
    pub reduce: Reduce,
    /// Slices of each linear layer.
    pub split: u32,
    /// What backward recomputes of the layer.
    pub recompute: Recompute,
    /// True if FSDP2 runs the module as planned.
    pub exact: bool,
}

/// What happens to gathered weights after forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reshard {
    /// Weights are dropped if true, kept if false.
    Drop(bool),
    /// Weights stay sharded over this many ranks.
    Over(u32),
}

/// When gradients are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// Over shards at each micro-batch, over replicas at the last one.
    ShardedLast,
    /// At each micro-batch.
    MicroBatch,
    /// Once per step, at the last micro-batch.
    Step,
}

impl Fsdp2Spec {
    /// Writes the JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Reads the JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// `plan` with this specification's operators, batch and recomputation.
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

    /// Recomputation of all layers: a share of them, the first ones, or one way for all.
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
