//! The plans that a stack can run, as its file lists them. Not for checking a plan against the list
//! ([`crate::scenario`]).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::plan::{ContextKind, LossKind, Offload, Precision, Recompute, Reduction, Schedule};

/// A feature of plans that a program either has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Tensor parallelism.
    Tensor,
    /// Context parallelism.
    Context,
    /// Pipeline parallelism.
    Pipeline,
    /// Expert parallelism.
    Expert,
    /// Layered accumulation.
    Layered,
    /// A second copy of the weights (`hpZ`).
    Hpz,
    /// Weights in int8 or gradients in int4 on the wire.
    Quantised,
    /// Sharding chosen for each operator.
    Operators,
    /// Operators cut into slices.
    Slices,
    /// Adapters beside frozen weights, or some weights alone.
    Adapters,
    /// Matrix products of tensor parallelism cut so that their collectives run beside them.
    TensorOverlap,
    /// Gathers that may be told how far ahead of compute they run.
    Prefetch,
    /// Gathered weights that may stay from forward to backward.
    KeptGathered,
    /// Moments in pages of unified memory, which go to the host where a device is full.
    PagedOptimizer,
    /// Inputs of modules kept by the host, module by module.
    HostModules,
    /// Keys and values repeated for context ranks that exchange heads and are more than these.
    RepeatedKeys,
}

/// How much is computed again in the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RecomputeKind {
    /// Nothing.
    None,
    /// A part of each layer.
    Selective,
    /// All layers.
    Full,
    /// Some of the layers.
    Share,
    /// Modules of each layer, by name.
    Modules,
}

impl From<Recompute> for RecomputeKind {
    fn from(recompute: Recompute) -> Self {
        match recompute {
            Recompute::None => Self::None,
            Recompute::Selective => Self::Selective,
            Recompute::Full => Self::Full,
            Recompute::Share(_) => Self::Share,
        }
    }
}

/// The plans that a stack can run: section `[runs]` of its file. An absent key is taken from the stack that
/// `like` names; without `like` it limits nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Runs {
    /// The id of the stack whose keys serve where this one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// The place in the program's code or documents that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Patterns in which it shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Vec<ShardPattern>>,
    /// Patterns in which it shards beside a pipeline, where those are fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline_shards: Option<Vec<ShardPattern>>,
    /// Whether a group of shards holds whole groups of context ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards_hold_context: Option<bool>,
    /// Features that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<Feature>>,
    /// Kinds of context parallelism that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_kinds: Option<Vec<ContextKind>>,
    /// Those that it has for layers with a window: the first one where nothing else is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_kinds: Option<Vec<ContextKind>>,
    /// Schedules that its pipeline runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Vec<Schedule>>,
    /// Kinds of recompute that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recompute: Option<Vec<RecomputeKind>>,
    /// Precisions that it trains in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precisions: Option<Vec<Precision>>,
    /// Kinds of loss that it has beside its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Vec<LossKind>>,
    /// State and checkpoints that it can keep on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<Vec<Offload>>,
    /// When it can reduce gradients, beside as their sharding requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reductions: Option<Vec<Reduction>>,
    /// Whether it hides experts' exchanges in passes that are forward of one micro-batch and backward of another, as
    /// Megatron-LM does, which rules some plans out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combined_passes: Option<bool>,
}

impl Runs {
    /// These keys, and another stack's where they are absent.
    #[must_use]
    pub(crate) fn over(self, base: Self) -> Self {
        Self {
            like: base.like,
            source: self.source.or(base.source),
            shards: self.shards.or(base.shards),
            pipeline_shards: self.pipeline_shards.or(base.pipeline_shards),
            shards_hold_context: self.shards_hold_context.or(base.shards_hold_context),
            features: self.features.or(base.features),
            context_kinds: self.context_kinds.or(base.context_kinds),
            window_kinds: self.window_kinds.or(base.window_kinds),
            schedules: self.schedules.or(base.schedules),
            recompute: self.recompute.or(base.recompute),
            precisions: self.precisions.or(base.precisions),
            losses: self.losses.or(base.losses),
            offload: self.offload.or(base.offload),
            reductions: self.reductions.or(base.reductions),
            combined_passes: self.combined_passes.or(base.combined_passes),
        }
    }

    /// Whether it has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        lists(self.features.as_ref(), feature)
    }

    /// Whether it has a kind of context parallelism.
    pub(crate) fn shares_context(&self, kind: ContextKind) -> bool {
        lists(self.context_kinds.as_ref(), kind)
    }

    /// Whether its pipeline runs a schedule.
    pub fn schedules(&self, schedule: Schedule) -> bool {
        lists(self.schedules.as_ref(), schedule)
    }

    /// Whether it has a kind of recompute.
    pub fn recomputes(&self, recompute: Recompute) -> bool {
        lists(self.recompute.as_ref(), recompute.into())
    }

    /// Whether selective recompute takes modules by their names.
    pub(crate) fn repeats_modules(&self) -> bool {
        lists(self.recompute.as_ref(), RecomputeKind::Modules)
    }

    /// Whether it trains in a precision. A program of fp8 scales it in some way; blocks that matrix units scale are a
    /// format of their own.
    pub(crate) fn trains_in(&self, precision: Precision) -> bool {
        let scaled = matches!(precision, Precision::Fp8Delayed | Precision::Fp8Current | Precision::Fp8Block);
        let precisions = self.precisions.as_ref();
        lists(precisions, precision) || scaled && lists(precisions, Precision::Fp8)
    }

    /// Whether it can compute the loss in this way.
    pub(crate) fn computes(&self, loss: LossKind) -> bool {
        loss == LossKind::Stack || lists(self.losses.as_ref(), loss)
    }

    /// Whether it can keep state or checkpoints on the host in this way.
    pub fn offloads(&self, offload: Offload) -> bool {
        lists(self.offload.as_ref(), offload)
    }

    /// Whether it can reduce gradients then.
    pub fn reduces(&self, reduction: Reduction) -> bool {
        reduction == Reduction::Default || lists(self.reductions.as_ref(), reduction)
    }

    /// The patterns in which it shards, beside a pipeline or without one; `None` where any will do.
    pub(crate) fn shard_patterns(&self, pipelined: bool) -> Option<&[ShardPattern]> {
        let beside = self.pipeline_shards.as_ref().filter(|_| pipelined);
        beside.or(self.shards.as_ref()).map(Vec::as_slice)
    }
}

fn lists<T: Copy + PartialEq>(known: Option<&Vec<T>>, one: T) -> bool {
    known.is_none_or(|known| known.contains(&one))
}

/// The entries of a list, separated by commas.
pub(crate) fn listed<T: ToString>(known: Option<&Vec<T>>) -> String {
    known.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How far weights, gradients and optimizer state may be sharded: `device/device/system` is ZeRO-1, `N/N/N` FSDP over
/// any one number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardPattern(pub [PatternExtent; 3]);

/// One extent of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternExtent {
    /// Not sharded.
    Device,
    /// The first level above the device.
    Innermost,
    /// The level called `node`.
    Node,
    /// All data x context ranks.
    System,
    /// Any number of ranks, equal wherever it stands in a pattern.
    Alike,
    /// Any number of ranks.
    Any,
}

impl PatternExtent {
    const WORDS: [(&'static str, Self); 6] = [
        ("device", Self::Device),
        ("innermost", Self::Innermost),
        ("node", Self::Node),
        ("system", Self::System),
        ("N", Self::Alike),
        ("*", Self::Any),
    ];
}

/// Ranks of the levels that a pattern may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelRanks {
    /// Ranks of the innermost level.
    pub innermost: u32,
    /// Ranks of a node.
    pub node: u32,
    /// Ranks of the whole data x context group.
    pub system: u32,
}

impl ShardPattern {
    /// Whether shards of weights, gradients and optimizer state over so many ranks match this pattern.
    pub fn takes(&self, counts: [u32; 3], levels: LevelRanks) -> bool {
        let alike =
            self.0.iter().zip(counts).find(|(extent, _)| **extent == PatternExtent::Alike).map(|(_, count)| count);
        self.0.iter().zip(counts).all(|(extent, count)| match extent {
            PatternExtent::Device => count == 1,
            PatternExtent::Innermost => count == levels.innermost,
            PatternExtent::Node => count == levels.node,
            PatternExtent::System => count == levels.system,
            PatternExtent::Alike => Some(count) == alike,
            PatternExtent::Any => true,
        })
    }
}

impl fmt::Display for ShardPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |extent| PatternExtent::WORDS.iter().find(|(_, own)| *own == extent).map_or("", |(word, _)| *word);
        f.write_str(&self.0.map(word).join("/"))
    }
}

impl FromStr for ShardPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let extent = |word: &str| PatternExtent::WORDS.iter().find(|(own, _)| *own == word.trim()).map(|(_, own)| *own);
        let extents: Option<Vec<PatternExtent>> = text.split('/').map(extent).collect();
        let three = extents.and_then(|extents| <[PatternExtent; 3]>::try_from(extents).ok());
        three.map(Self).ok_or_else(|| {
            "extents of weights, gradients and optimizer are three of device, innermost, node, system, N and *, like \
             device/device/system"
                .to_owned()
        })
    }
}

impl Serialize for ShardPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShardPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 96 ranks on nodes of 4: ZeRO-1 shards the optimizer over all of them or over none.
    #[test]
    fn a_pattern_takes_what_it_names() {
        let levels = LevelRanks { innermost: 2, node: 4, system: 96 };
        let takes = |pattern: &str, counts| pattern.parse::<ShardPattern>().unwrap().takes(counts, levels);
        assert!(takes("device/device/system", [1, 1, 96]) && !takes("device/device/system", [1, 1, 24]));
        assert!(takes("N/N/N", [24, 24, 24]) && takes("N/N/N", [1, 1, 1]) && !takes("N/N/N", [1, 1, 24]));
        assert!(takes("device/N/N", [1, 24, 24]) && !takes("device/N/N", [1, 24, 96]));
        assert!(takes("innermost/node/system", [2, 4, 96]) && !takes("innermost/node/system", [4, 4, 96]));
        assert!(takes("*/*/*", [2, 4, 24]));
    }

    #[test]
    fn a_pattern_is_three_words() {
        for text in ["device/device", "device/device/rack", "", "N/N/N/N"] {
            assert!(text.parse::<ShardPattern>().is_err(), "{text}");
        }
        assert_eq!("N/N/N".parse::<ShardPattern>().unwrap().to_string(), "N/N/N");
    }
}
