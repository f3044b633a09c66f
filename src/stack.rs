//! The software that trains, as data: kernels, fusion, overlap, the collective forms its library has,
//! and the calibration that says what it makes of each device.
//!
//! Not for models or plans. The preset `ideal` reaches every peak at no latency: bounds and
//! golden values are checked on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Format;
use crate::units::{Bytes, Seconds};

/// A training stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Version of the file format.
    pub format: u32,
    /// The id that `--stack` takes.
    #[serde(default)]
    pub id: String,
    /// The name that people use.
    pub name: String,
    /// What it stands for, in a sentence.
    pub about: String,
    /// Where the choices come from.
    pub source: String,
    /// The id of the calibration that it uses.
    pub calibration: String,
    /// Attention kernel.
    pub attention: Attention,
    /// Traffic of element-wise operators and norms, in multiples of reading and writing each
    /// intermediate of the layer once.
    pub element_wise: f64,
    /// Whether dropout masks are kept: one byte per element of three intermediates.
    pub dropout: bool,
    /// What runs beside compute.
    pub overlap: Overlap,
    /// Share of the shorter of two overlapping phases that is not hidden: both slow each other down.
    pub contention: f64,
    /// What the collective library offers.
    pub collectives: Collectives,
    /// Time the host needs to launch work.
    pub host: Host,
    /// Embedding, logits and loss.
    pub loss: Loss,
    /// Format in which gradients are reduced, where it is not that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_format: Option<Format>,
    /// Format in which accumulated gradients are kept, where it is not that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_format: Option<Format>,
    /// Whether context parallelism deals the pieces of a causal sequence so that all ranks work alike.
    #[serde(default)]
    pub balanced_context: bool,
    /// Whether gradients are reduced while backward still runs, or after it.
    pub reduce_during_backward: bool,
    /// Optimizer traffic, in multiples of reading and writing each byte of its state once.
    pub optimizer_traffic: f64,
    /// Memory of the runtime: context, libraries, workspaces.
    pub reserve: Bytes,
    /// Share of the allocated memory that the allocator loses to fragments.
    pub fragmentation: f64,
}

/// The attention kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scores are written, scaled, masked, normalised and read back operator by operator.
    Plain,
    /// Scores are in memory, mask and softmax are one kernel.
    FusedSoftmax,
    /// Flash attention, first version.
    Flash1,
    /// Flash attention, second version.
    Flash2,
    /// Flash attention, third version, or cuDNN's.
    Flash3,
}

impl Attention {
    /// Whether the `heads x sequence^2` scores never reach memory.
    pub const fn flash(self) -> bool {
        matches!(self, Self::Flash1 | Self::Flash2 | Self::Flash3)
    }
}

/// Which communication runs beside compute; what does always shares the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Nothing: every collective stops compute.
    None,
    /// Reductions of gradients only.
    Reductions,
    /// Gathers and reductions, one after the other on one stream.
    OneStream,
    /// Gathers and reductions on streams of their own.
    Independent,
}

/// What the collective library and its caller make of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collectives {
    /// Forms of the all-reduce; all-gather and reduce-scatter are rings.
    pub all_reduce: Vec<AllReduceForm>,
    /// Whether all-gather and reduce-scatter go level by level instead of in one flat ring.
    #[serde(default)]
    pub hierarchical: bool,
    /// Collectives per gathered or reduced layer: 1 where its parameters are flattened, one per matrix elsewhere.
    pub per_layer: u32,
    /// Whether a quantised payload sends its scales in a collective of their own.
    #[serde(default)]
    pub separate_scales: bool,
}

/// A form of the all-reduce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllReduceForm {
    /// Reduce-scatter, then all-gather, in a ring.
    Ring,
    /// Up and down a pair of trees: as many bytes, logarithmic latency.
    Tree,
}

/// Time of the host, which can be slower than the device on small work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Launching one layer's forward; backward takes half as much again.
    pub layer: Seconds,
    /// Exponent of the soft maximum of host and device time: large is a hard maximum.
    pub exponent: f64,
    /// Fixed time per micro-batch.
    pub micro_batch: Seconds,
    /// Fixed time per step.
    pub step: Seconds,
}

/// Cost of embedding, logits and loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Bytes moved per logit, forward and backward, beside the matrix products.
    pub traffic: f64,
    /// Bytes held per logit at the worst moment.
    pub held: f64,
}

/// What software reaches of each device and each network: fitted or measured shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Version of the file format.
    pub format: u32,
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// Where the figures come from.
    pub source: String,
    /// Efficiency by architecture; `default` serves an architecture without an entry.
    pub architectures: BTreeMap<String, Efficiency>,
}

/// What kernels and collectives reach on one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// Where the figures come from is said in the calibration; this is the share of the peak that a
    /// large matrix product reaches.
    pub matmul: f64,
    /// The same for fp8 factors, casts included.
    pub matmul_fp8: f64,
    /// Depth at which a matrix product's fixed cost per tile equals its work: `k / (k + depth)`.
    pub matmul_depth: f64,
    /// Share of the tile and wave quantisation that shows, 0 to 1.
    pub wave: f64,
    /// Share of the memory bandwidth that streaming kernels reach.
    pub memory: f64,
    /// Share of the peak that the score and value products of plain attention reach.
    pub attention_plain: f64,
    /// Bytes moved per score by plain attention, forward, and again backward.
    pub attention_score_bytes: f64,
    /// Share of the peak that flash attention reaches in forward at a long sequence, by version.
    pub attention_flash: [f64; 3],
    /// The same in backward, relative to forward.
    pub attention_backward: f64,
    /// Sequence length at which flash attention reaches half of that.
    pub attention_half_sequence: f64,
    /// Share of the wire that collectives reach inside a node.
    pub wire_in_node: f64,
    /// The same between nodes.
    pub wire_between: f64,
    /// Time to start one collective.
    pub collective_launch: Seconds,
    /// Factor on the latency of the hardware's hops: 1, or 0 for `ideal`.
    pub latency: f64,
}

impl Calibration {
    /// The efficiency of an architecture, or of `default`.
    pub fn efficiency(&self, architecture: &str) -> Option<&Efficiency> {
        self.architectures.get(architecture).or_else(|| self.architectures.get("default"))
    }

    /// What is wrong with it, each with the field's path and how to mend it.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if !self.architectures.contains_key("default") {
            found.push((
                "architectures.default".to_owned(),
                "is missing: it serves devices without an entry".to_owned(),
            ));
        }
        for (name, efficiency) in &self.architectures {
            for (field, share) in efficiency.shares() {
                if !(share > 0.0 && share <= 1.25) {
                    found
                        .push((format!("architectures.{name}.{field}"), "must be above 0 and at most 1.25".to_owned()));
                }
            }
        }
        found
    }
}

impl Efficiency {
    /// Every peak reached, at no latency.
    pub const IDEAL: Self = Self {
        matmul: 1.0,
        matmul_fp8: 1.0,
        matmul_depth: 0.0,
        wave: 0.0,
        memory: 1.0,
        attention_plain: 1.0,
        attention_score_bytes: 0.0,
        attention_flash: [1.0; 3],
        attention_backward: 1.0,
        attention_half_sequence: 0.0,
        wire_in_node: 1.0,
        wire_between: 1.0,
        collective_launch: Seconds::ZERO,
        latency: 0.0,
    };

    /// Everything that is a share of a peak.
    fn shares(&self) -> [(&'static str, f64); 10] {
        let [flash1, flash2, flash3] = self.attention_flash;
        [
            ("matmul", self.matmul),
            ("matmul_fp8", self.matmul_fp8),
            ("memory", self.memory),
            ("attention_plain", self.attention_plain),
            ("attention_flash", flash1),
            ("attention_flash", flash2),
            ("attention_flash", flash3),
            ("attention_backward", self.attention_backward),
            ("wire_in_node", self.wire_in_node),
            ("wire_between", self.wire_between),
        ]
    }
}

impl Stack {
    /// What is wrong with it, each with the field's path and how to mend it.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut check = |field: &str, value: f64, most: f64| {
            if !(0.0..=most).contains(&value) {
                found.push((field.to_owned(), format!("must be between 0 and {most}")));
            }
        };
        check("element_wise", self.element_wise, 100.0);
        check("contention", self.contention, 1.0);
        check("loss.traffic", self.loss.traffic, 1000.0);
        check("loss.held", self.loss.held, 100.0);
        check("optimizer_traffic", self.optimizer_traffic, 100.0);
        check("fragmentation", self.fragmentation, 0.9);
        if !(1.0..=64.0).contains(&self.host.exponent) {
            found.push(("host.exponent".to_owned(), "must be between 1 and 64".to_owned()));
        }
        if self.collectives.all_reduce.is_empty() {
            found.push(("collectives.all_reduce".to_owned(), "must name at least one form: ring, tree".to_owned()));
        }
        if !(1..=64).contains(&self.collectives.per_layer) {
            found.push(("collectives.per_layer".to_owned(), "must be between 1 and 64".to_owned()));
        }
        found
    }
}
