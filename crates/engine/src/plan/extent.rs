//! Over how many ranks a part of the state is sharded: a level of the cluster, or a count.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::hardware::Level;

use super::Sharding;

/// A group of the data x context ranks: those inside one group of a level, or a count of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extent {
    /// One device: not sharded.
    Device,
    /// The first level above the device: the package on Frontier, the node elsewhere.
    Innermost,
    /// The level called `node`.
    Node,
    /// All data x context ranks.
    System,
    /// Another level, by its name.
    Level(Arc<str>),
    /// A count of ranks.
    Ranks(u32),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.pad("device"),
            Self::Innermost => f.pad("innermost"),
            Self::Node => f.pad("node"),
            Self::System => f.pad("system"),
            Self::Level(name) => f.pad(name),
            Self::Ranks(count) => f.pad(&count.to_string()),
        }
    }
}

impl From<&Level> for Extent {
    fn from(level: &Level) -> Self {
        match level.name.as_str() {
            "node" => Self::Node,
            "system" => Self::System,
            name => Self::Level(name.into()),
        }
    }
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "device" => Ok(Self::Device),
            "innermost" => Ok(Self::Innermost),
            "node" => Ok(Self::Node),
            "system" => Ok(Self::System),
            "" | "0" => {
                Err("an extent is a level of the cluster (device, innermost, node, system) or a count of ranks from 1"
                    .to_owned())
            }
            name => Ok(name.parse().map_or_else(|_| Self::Level(name.into()), Self::Ranks)),
        }
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ranks(count) => serializer.serialize_u32(*count),
            level => serializer.serialize_str(&level.to_string()),
        }
    }
}

struct ExtentVisitor;

impl de::Visitor<'_> for ExtentVisitor {
    type Value = Extent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a level of the cluster (\"device\", \"innermost\", \"node\", \"system\") or a count of ranks")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Extent, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<Extent, E> {
        match u32::try_from(count) {
            Ok(count) if count > 0 => Ok(Extent::Ranks(count)),
            _ => Err(E::invalid_value(de::Unexpected::Signed(count), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Extent, E> {
        self.visit_i64(i64::try_from(count).unwrap_or(-1))
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtentVisitor)
    }
}

/// The three parts of the state, in the order in which `--shard` looks for the first sharded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharded {
    /// Weights.
    Weights,
    /// Gradients.
    Gradients,
    /// Optimizer state.
    Optimizer,
}

impl Sharding {
    /// The first part that is sharded, in the order weights, gradients, optimizer; `None` for `ddp`.
    pub fn first_sharded(&self) -> Option<Sharded> {
        let parts = [
            (Sharded::Weights, &self.weights),
            (Sharded::Gradients, &self.gradients),
            (Sharded::Optimizer, &self.optimizer),
        ];
        parts.into_iter().find(|(_, extent)| !matches!(extent, Extent::Device | Extent::Ranks(1))).map(|(part, _)| part)
    }

    /// The extent of the first part that is sharded: what `--shard` moves.
    pub fn first_extent(&self) -> Option<&Extent> {
        self.first_sharded().map(|part| self.extent(part))
    }

    /// The extent of one part.
    pub fn extent(&self, part: Sharded) -> &Extent {
        match part {
            Sharded::Weights => &self.weights,
            Sharded::Gradients => &self.gradients,
            Sharded::Optimizer => &self.optimizer,
        }
    }

    /// Moves the first sharded extent, and every extent equal to it; `None` where nothing is sharded.
    ///
    /// An extent that this leaves narrower is widened by [`crate::scenario`], which knows how many
    /// ranks each extent has.
    #[must_use]
    pub(crate) fn with_shard(&self, shard: &Extent) -> Option<Self> {
        let moved = self.first_extent()?.clone();
        let mut sharding = self.clone();
        // `zero-topo` has weights in the package, gradients in the node and the optimizer over all: only weights move.
        // Under `fsdp` all three lie together, and move together.
        for extent in [&mut sharding.weights, &mut sharding.gradients, &mut sharding.optimizer] {
            if *extent == moved {
                *extent = shard.clone();
            }
        }
        Some(sharding)
    }
}
