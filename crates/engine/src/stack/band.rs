//! Error bands of predicted step times, as data: how far off predictions of similar runs were. Not for deriving them
//! from measured rows (`calibrate`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::plan::{Extent, Plan, Precision};
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
    /// Whether they train adapters or another part of a model.
    #[serde(default, skip_serializing_if = "crate::model::is_off")]
    pub part: bool,
    /// Runs of one's own among them, whose further runs differ as little as they do. Files of before say `true` for one.
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "own_rows")]
    pub own: u32,
    /// How far they reach; any distance if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// Half width of the 80 % interval of its own rows: the largest `|ln(measured / predicted)|` in it. Runs of others have a
    /// wider one ([`Band::widened`]).
    pub half_width: f64,
    /// Groups of rows behind it.
    pub groups: u32,
    /// Rows behind it.
    pub rows: u32,
}

/// How many rows, or whether there is one.
#[derive(Deserialize)]
#[serde(untagged)]
enum OwnRows {
    Any(bool),
    Count(u32),
}

fn own_rows<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    Ok(match OwnRows::deserialize(from)? {
        OwnRows::Any(any) => any.into(),
        OwnRows::Count(rows) => rows,
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(rows: &u32) -> bool {
    *rows == 0
}

/// How far the rows of a band reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// The names of their devices.
    pub devices: BTreeSet<String>,
    /// The most devices of a run, for each way to divide its work.
    pub most: BTreeMap<Division, u32>,
    /// Whether any of them trains in fp8 or in fewer bits.
    #[serde(default, skip_serializing_if = "crate::model::is_off")]
    pub low: bool,
}

/// What of a run lies beyond the rows of a band that is else for runs such as it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// No row ran on this device.
    Device,
    /// No row trained in fp8 or in fewer bits.
    Format,
    /// No row divided its work in this way.
    Division,
    /// The rows that divided their work in this way had at most so many devices.
    Size(u32),
}

/// A band serves runs of up to so many times the devices of the largest of its rows: beyond that errors were larger
/// (docs/evidence.md).
const FARTHEST: u32 = 2;

impl Reach {
    /// The reach that takes in one more run.
    #[must_use]
    pub fn and(mut self, run: &Likeness<'_>) -> Self {
        self.devices.insert(run.device.to_owned());
        let most = self.most.entry(run.division).or_default();
        *most = run.devices.max(*most);
        self.low |= run.precision.is_low();
        self
    }

    /// All in which a run is beyond.
    fn beyond(&self, run: &Likeness<'_>) -> impl Iterator<Item = Beyond> {
        let divided = match self.most.get(&run.division) {
            Some(most) => (run.devices > most.saturating_mul(FARTHEST)).then_some(Beyond::Size(*most)),
            None => Some(Beyond::Division),
        };
        let device = (!self.devices.contains(run.device)).then_some(Beyond::Device);
        let format = (run.precision.is_low() && !self.low).then_some(Beyond::Format);
        [device, format, divided].into_iter().flatten()
    }
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
    /// Whether it trains adapters or another part of its model.
    pub part: bool,
    /// The device's name.
    pub device: &'a str,
    /// How many devices it takes.
    pub devices: u32,
    /// The numbers that its products multiply.
    pub precision: Precision,
}

/// By what factor the half width of a band holds runs of sources that no fit saw: as wide as its rows say, it held a third of
/// them, and so much wider 76 to 90 % (docs/evidence.md). Experts' and Blackwell's rows differ more from one another, and leave
/// less to widen.
const WIDENED: f64 = 2.4;
const WIDENED_LESS: f64 = 1.5;

impl Band {
    /// Half width of the 80 % interval of a run that no fit saw, unless it is of those who ran one of its rows.
    pub fn widened(&self) -> f64 {
        let less = self.experts || self.architecture == "blackwell";
        self.half_width
            * match less {
                _ if self.own > 0 => 1.0,
                true => WIDENED_LESS,
                false => WIDENED,
            }
    }

    /// Whether it is for runs such as this one, and its rows reach so far.
    pub fn serves(&self, run: &Likeness<'_>) -> bool {
        self.is_for(run) && self.beyond(run).next().is_none()
    }

    /// What of a run lies beyond its rows.
    pub fn beyond(&self, run: &Likeness<'_>) -> impl Iterator<Item = Beyond> {
        self.reach.iter().flat_map(|reach| reach.beyond(run))
    }

    /// Whether it is for runs such as this one.
    pub(crate) fn is_for(&self, run: &Likeness<'_>) -> bool {
        (self.stacks.is_empty() || self.has_stack(run)) && self.is_for_other_stacks(run)
    }

    /// Whether rows of a run's stack are among its own.
    pub(crate) fn has_stack(&self, run: &Likeness<'_>) -> bool {
        self.stacks.iter().any(|stack| stack == run.stack)
    }

    /// Whether it would be for runs such as this one, were they of one of its stacks.
    pub(crate) fn is_for_other_stacks(&self, run: &Likeness<'_>) -> bool {
        self.architecture == run.architecture
            && self.experts == run.experts
            && self.part == run.part
            && self.division.is_none_or(|division| division == run.division)
            && self.across_nodes.is_none_or(|across| across == run.across_nodes)
    }
}

/// `120 rows of llm-foundry-2024 on hopper, sharded, across nodes`.
impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of ", thousands(f64::from(self.rows)))?;
        match &self.stacks[..] {
            [] => f.write_str("sources left out of the fit,")?,
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
        f.write_str(if self.experts { ", with experts" } else { "" })?;
        f.write_str(if self.part { ", of adapters" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 16 and 128 devices, sharded, in bf16 on an A100: 256 devices are twice the largest, 257 are beyond. Each thing that
    /// no row has is named.
    #[test]
    fn a_band_serves_to_twice_its_largest_row() {
        let row = Likeness {
            stack: "fms-fsdp",
            architecture: "ampere",
            division: Division::Sharded,
            across_nodes: true,
            experts: false,
            part: false,
            device: "A100",
            devices: 16,
            precision: Precision::Bf16,
        };
        let rows = [row, Likeness { devices: 128, ..row }];
        let band = Band {
            stacks: vec!["fms-fsdp".to_owned()],
            architecture: "ampere".to_owned(),
            division: None,
            across_nodes: None,
            experts: false,
            part: false,
            own: 0,
            reach: Some(rows.iter().fold(Reach::default(), Reach::and)),
            half_width: 0.1,
            groups: 2,
            rows: 2,
        };
        let cases = [
            (Likeness { devices: 256, ..row }, None),
            (Likeness { devices: 257, ..row }, Some(Beyond::Size(128))),
            (Likeness { device: "A100 40 GB", ..row }, Some(Beyond::Device)),
            (Likeness { precision: Precision::Fp8, ..row }, Some(Beyond::Format)),
            (Likeness { division: Division::Split, ..row }, Some(Beyond::Division)),
        ];
        for (run, beyond) in cases {
            assert_eq!((band.beyond(&run).next(), band.serves(&run)), (beyond, beyond.is_none()), "{run:?}");
        }
        assert!(!band.is_for(&Likeness { part: true, ..row }), "adapters have bands of their own");
        let wide = |architecture: &str, experts| {
            Band { architecture: architecture.to_owned(), experts, ..band.clone() }.widened()
        };
        let found =
            [("ampere", false), ("ampere", true), ("blackwell", false)].map(|(chip, experts)| wide(chip, experts));
        assert!(
            found.iter().zip([0.24, 0.15, 0.15]).all(|(found, wanted)| (found - wanted).abs() < 1e-12),
            "{found:?}"
        );
        assert!(Band { reach: None, ..band }.serves(&cases[1].0), "a calibration of before says nothing of its reach");
    }
}
