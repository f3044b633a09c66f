//! Operators whose state lies elsewhere than the rest of the model's, and operators cut into slices.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Extent, Operator, Plan};

/// Where the state of some operators lies. An operator that several entries of a plan name is placed by
/// the last of them; one that none names is placed as the plan's sharding says. A layer is gathered in one
/// piece where one entry places both its halves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Which layers; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Layers>,
    /// Which operators of them.
    pub operator: Operator,
    /// Extents of their shards.
    #[serde(default)]
    pub extents: Extents,
    /// Slices into which each of them is cut, gathered and computed one after the other; 1 leaves it whole.
    #[serde(default = "whole")]
    pub split: u32,
}

fn whole() -> u32 {
    1
}

/// Extents of an operator's shards; what is absent is as in the plan's sharding.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extents {
    /// Over which ranks its weights are sharded; where absent, as the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Extent>,
    /// Over which ranks its gradients are sharded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradients: Option<Extent>,
    /// Over which ranks its optimizer state is sharded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Extent>,
}

impl Extents {
    /// The three with their names.
    pub fn named(&self) -> [(&'static str, Option<&Extent>); 3] {
        [
            ("weights", self.weights.as_ref()),
            ("gradients", self.gradients.as_ref()),
            ("optimizer", self.optimizer.as_ref()),
        ]
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents = self.named().map(|(_, extent)| extent.map_or_else(|| "-".to_owned(), Extent::to_string));
        f.write_str(&extents.join(" / "))
    }
}

/// Layers in a row, both ends included: `0-47`, or `5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layers {
    /// The first one, from 0.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl Layers {
    /// Whether a layer is one of them.
    pub const fn contains(self, layer: u32) -> bool {
        self.first <= layer && layer <= self.last
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return f.pad(&self.first.to_string());
        }
        f.pad(&format!("{}-{}", self.first, self.last))
    }
}

impl FromStr for Layers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err("layers are written as \"0-47\" or \"5\", counted from 0, the smaller number first".to_owned()),
        }
    }
}

impl Serialize for Layers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// One operator of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The embedding; with the logits, where they reuse it.
    Embedding,
    /// Attention of a layer.
    Attention(u32),
    /// The MLP of a layer.
    Mlp(u32),
    /// Last norm and logits.
    Head,
}

impl Placement {
    /// The entry that places an operator, by its index; `None` where none names it.
    pub fn find(entries: &[Self], site: Site) -> Option<usize> {
        // The last entry that names it: later entries are exceptions to earlier ones.
        entries.iter().rposition(|placement| placement.names(site))
    }

    /// Whether it says where an operator lies.
    pub fn names(&self, site: Site) -> bool {
        let layer = |layer: u32| self.layers.is_none_or(|layers| layers.contains(layer));
        match (self.operator, site) {
            (Operator::Attention | Operator::Layer | Operator::All, Site::Attention(of))
            | (Operator::Mlp | Operator::Layer | Operator::All, Site::Mlp(of)) => layer(of),
            (Operator::Embedding, Site::Embedding) | (Operator::Head, Site::Head) => true,
            (Operator::All, Site::Embedding | Site::Head) => self.layers.is_none(),
            _ => false,
        }
    }
}

impl Plan {
    /// The entry that places an operator, by its index; `None` where the plan's sharding does.
    pub fn placement(&self, site: Site) -> Option<usize> {
        Placement::find(&self.operators, site)
    }
}
