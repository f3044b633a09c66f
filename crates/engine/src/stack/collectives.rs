//! The offer of a stack's collective library. Not for what a collective costs ([`crate::cost`]).

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::units::Bytes;

/// The algorithms and protocols of a collective library, and how its caller uses them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collectives {
    /// Algorithms of the all-reduce.
    pub all_reduce: Vec<AllReduceAlgorithm>,
    /// Algorithms of all-gather and reduce-scatter.
    #[serde(default = "rings")]
    pub gather: Vec<GatherAlgorithm>,
    /// Protocols that rings and trees may take inside a node.
    #[serde(default = "simple")]
    pub protocols: Vec<Protocol>,
    /// Whether all-gather and reduce-scatter go level by level instead of in one flat ring.
    #[serde(default)]
    pub hierarchical: bool,
    /// Collectives per gathered or reduced layer: 1 where its parameters are flattened, one per matrix elsewhere.
    pub per_layer: u32,
    /// Whether a quantised payload sends its scales in a collective of their own.
    #[serde(default)]
    pub separate_scales: bool,
    /// Bytes of one collective when the whole model travels at the step's end.
    #[serde(default = "bucket")]
    pub bucket: Bytes,
    /// Parameters that wait for one another until they fill a collective, where layers do not travel one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<ParameterBuckets>,
}

/// How many parameters a collective carries while backward runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterBuckets {
    /// At least so many.
    pub least: f64,
    /// So many for each data-parallel rank.
    pub per_rank: f64,
}

impl ParameterBuckets {
    /// Parameters of one collective of so many ranks.
    pub fn size(self, ranks: u32) -> f64 {
        self.least.max(self.per_rank * f64::from(ranks))
    }
}

/// An algorithm of the all-reduce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllReduceAlgorithm {
    /// Reduce-scatter, then all-gather, in a ring.
    Ring,
    /// Up and down a pair of trees: as many bytes, logarithmic latency.
    Tree,
}

/// An algorithm of all-gather and reduce-scatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GatherAlgorithm {
    /// One flat ring over all ranks.
    Ring,
    /// NCCL's parallel aggregated trees, of logarithmic latency: since 2.23, of groups with one rank per node only
    /// (NVIDIA/nccl issue 1473).
    Pat,
}

fn rings() -> Vec<GatherAlgorithm> {
    vec![GatherAlgorithm::Ring]
}

/// How a rank tells the next one that data have arrived. Figures are of rings over NVLink in NCCL's own model
/// (`src/graph/tuning.cc`, `hwLat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// By a counter after large pieces: a hop takes 3.4 us.
    #[default]
    #[strum(serialize = "Simple")]
    Simple,
    /// By 8 bytes of each 128, which NVLink keeps together: a hop takes 1.9 us.
    #[strum(serialize = "LL128")]
    Ll128,
    /// By 4 bytes of each 8: a hop takes 0.6 us.
    #[strum(serialize = "LL")]
    Ll,
}

impl Protocol {
    /// A hop's latency over Simple's.
    pub const fn hop(self) -> f64 {
        match self {
            Self::Simple => 1.0,
            Self::Ll128 => 1.9 / 3.4,
            Self::Ll => 0.6 / 3.4,
        }
    }

    /// Bytes on the wire for each of the payload.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Simple => 1.0,
            Self::Ll128 => 128.0 / 120.0,
            Self::Ll => 2.0,
        }
    }

    /// As reports name it.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

fn simple() -> Vec<Protocol> {
    vec![Protocol::Simple]
}

/// Bytes that frameworks put into one collective when the whole model travels at once: the 5e8
/// elements of `DeepSpeed`'s default `allgather_bucket_size`, two bytes each.
const BUCKET: Bytes = Bytes::new(1e9);

fn bucket() -> Bytes {
    BUCKET
}
