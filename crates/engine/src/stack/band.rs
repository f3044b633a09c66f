//! Error bands of predicted step times, as data: how far off predictions of similar runs were. Not for deriving them
//! from measured rows (`calibrate`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::{Extent, Plan};
use crate::units::thousands;

/// An 80 % interval: four of five measured runs were this close to their predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The stacks that it covers, on whose rows it rests. If there are none, it covers any stack, and rests on rows of
    /// sources to which the constants were not fitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// The architecture of their devices.
    pub architecture: String,
    /// How their work was divided; any way if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
    /// Whether they ran on several nodes; either if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across_nodes: Option<bool>,
    /// Whether their models have experts.
    #[serde(default, skip_serializing_if = "crate::model::is_off")]
    pub experts: bool,
    /// Half width of the 80 % interval: the largest `|ln(measured / predicted)|` in it.
    pub half_width: f64,
    /// Groups of rows behind it.
    pub groups: u32,
    /// Rows behind it.
    pub rows: u32,
}

/// How the work of a step is divided among devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Division {
    /// Each device has all weights: plain data parallelism, ZeRO-1, ZeRO-2.
    Replicated,
    /// Weights are sharded and gathered: ZeRO-3, FSDP.
    Sharded,
    /// Matrices or layers are split over devices: tensor and pipeline parallelism.
    Split,
}

impl From<&Plan> for Division {
    fn from(plan: &Plan) -> Self {
        match plan.sharding.weights {
            _ if plan.tensor * plan.pipeline > 1 => Self::Split,
            Extent::Device => Self::Replicated,
            _ => Self::Sharded,
        }
    }
}

/// The properties of a run that decide which band it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Likeness<'a> {
    /// The stack's id.
    pub stack: &'a str,
    /// The device's architecture.
    pub architecture: &'a str,
    /// How the work is divided.
    pub division: Division,
    /// Whether it takes several nodes.
    pub across_nodes: bool,
    /// Whether its model has experts.
    pub experts: bool,
}

impl Band {
    /// Whether it is for runs such as this one.
    pub fn serves(&self, run: &Likeness<'_>) -> bool {
        (self.stacks.is_empty() || self.stacks.iter().any(|stack| stack == run.stack))
            && self.architecture == run.architecture
            && self.experts == run.experts
            && self.division.is_none_or(|division| division == run.division)
            && self.across_nodes.is_none_or(|across| across == run.across_nodes)
    }
}

/// `120 rows of llm-foundry-2024 on hopper, sharded, across nodes`.
impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of ", thousands(f64::from(self.rows)))?;
        match &self.stacks[..] {
            [] => f.write_str("other stacks, none of this one,")?,
            [one] => f.write_str(one)?,
            many => write!(f, "{} stacks", many.len())?,
        }
        write!(f, " on {}", self.architecture)?;
        self.division.map_or(Ok(()), |division| write!(f, ", {division}"))?;
        f.write_str(match self.across_nodes {
            None => "",
            Some(false) => ", within a node",
            Some(true) => ", across nodes",
        })?;
        f.write_str(if self.experts { ", with experts" } else { "" })
    }
}
