//! Figures that were published of a scenario, each with its source and how near a model should come.
//!
//! Not for what comes out here: `search` runs that, and `figures` compares it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::scenario::Problem;
use crate::units::{Amount, Bytes, Dimension, FlopPerSecond, Seconds};

/// The most figures of one scenario: each may take two runs to compare with, and no publication has so many.
const MOST_FIGURES: usize = 100;

/// What was published of a scenario (`[published]` in its file).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where.
    pub source: String,
    /// What had to be assumed to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What.
    pub figures: Vec<PublishedFigure>,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// What was measured.
    pub what: PublishedQuantity,
    /// How much, with its unit where it has one.
    pub value: PublishedValue,
    /// The strategy that it was measured with; the scenario's where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The strategy that a speedup is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The nodes that a scaling efficiency starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_nodes: Option<u32>,
    /// How far off a figure may be, as a share of the published one.
    pub tolerance: f64,
}

/// What can be compared, per device where it is a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedQuantity {
    /// Time of a step.
    StepTime,
    /// Time of its forward.
    ForwardTime,
    /// Time of its backward.
    BackwardTime,
    /// Time of the optimizer's update.
    UpdateTime,
    /// Tokens per second and device.
    Tokens,
    /// Model flop per second and device, recompute not counted.
    ModelFlop,
    /// Hardware flop per second and device, recompute counted.
    HardwareFlop,
    /// Model flop utilisation.
    Mfu,
    /// Peak of the memory without what runtime and allocator reserve.
    AllocatedMemory,
    /// Throughput over that of another strategy.
    Speedup,
    /// Throughput per device over that of the same job on fewer nodes.
    ScalingEfficiency,
}

/// A number, or a quantity with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublishedValue {
    /// A ratio or a share.
    Number(f64),
    /// Text like `"3.68 s"`.
    Text(String),
}

impl PublishedQuantity {
    /// Its word in files and reports, and what it counts.
    const fn entry(self) -> (&'static str, Dimension) {
        match self {
            Self::StepTime => ("step-time", Dimension::Seconds),
            Self::ForwardTime => ("forward-time", Dimension::Seconds),
            Self::BackwardTime => ("backward-time", Dimension::Seconds),
            Self::UpdateTime => ("update-time", Dimension::Seconds),
            Self::Tokens => ("tokens", Dimension::Of("tokens/s")),
            Self::ModelFlop => ("model-flop", Dimension::FlopPerSecond),
            Self::HardwareFlop => ("hardware-flop", Dimension::FlopPerSecond),
            Self::Mfu => ("mfu", Dimension::Share),
            Self::AllocatedMemory => ("allocated-memory", Dimension::Bytes),
            Self::Speedup => ("speedup", Dimension::Of("")),
            Self::ScalingEfficiency => ("scaling-efficiency", Dimension::Of("")),
        }
    }

    /// Its word in files and reports.
    pub const fn name(self) -> &'static str {
        self.entry().0
    }

    /// What it counts.
    pub const fn unit(self) -> Dimension {
        self.entry().1
    }

    /// A value in base units.
    fn read(self, value: &PublishedValue) -> Result<f64, String> {
        fn parsed<T: FromStr<Err: fmt::Display>>(text: &str, base: impl Fn(T) -> f64) -> Result<f64, String> {
            text.parse().map(base).map_err(|error: T::Err| error.to_string())
        }
        match (self.unit(), value) {
            (Dimension::Seconds, PublishedValue::Text(text)) => parsed(text, Seconds::get),
            (Dimension::FlopPerSecond, PublishedValue::Text(text)) => parsed(text, FlopPerSecond::get),
            (Dimension::Bytes, PublishedValue::Text(text)) => parsed(text, Bytes::get),
            (Dimension::Of(_) | Dimension::Share, PublishedValue::Number(number))
                if *number > 0.0 && number.is_finite() =>
            {
                Ok(*number)
            }
            (Dimension::Of(_) | Dimension::Share, _) => Err("write a number above 0, like 1.4".to_owned()),
            _ => Err("write the number with its unit, in quotes".to_owned()),
        }
    }
}

impl fmt::Display for PublishedFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what.name().replace('-', " "))?;
        if let Some(strategy) = &self.strategy {
            write!(f, " of {strategy}")?;
        }
        match (&self.over, self.from_nodes) {
            (Some(over), _) => write!(f, " over {over}"),
            (None, Some(nodes)) => write!(f, " from {nodes} nodes"),
            (None, None) => Ok(()),
        }
    }
}

impl Published {
    /// What is wrong with it.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let many = self.figures.len();
        if many > MOST_FIGURES {
            let what = format!("{many} figures are too many");
            let fix = format!("keep at most {MOST_FIGURES}");
            return vec![Problem { field: "published.figures".to_owned(), what, fix }];
        }
        self.figures.iter().enumerate().flat_map(|(index, figure)| figure.problems(index)).collect()
    }
}

impl PublishedFigure {
    /// How much was published; `None` where the file says something else.
    pub fn amount(&self) -> Option<Amount> {
        Some(Amount { value: self.what.read(&self.value).ok()?, unit: self.what.unit() })
    }

    /// What is wrong with the entry at a place of the list.
    fn problems(&self, index: usize) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut wrong = |field: &str, what: String, fix: String| {
            found.push(Problem { field: format!("published.figures[{index}].{field}"), what, fix });
        };
        let name = self.what.name();
        if let Err(fix) = self.what.read(&self.value) {
            wrong("value", format!("is no {name}"), fix);
        }
        if self.over.is_some() != (self.what == PublishedQuantity::Speedup) {
            wrong(
                "over",
                format!("does not fit {name}"),
                "name a strategy beside a speedup, and only there".to_owned(),
            );
        }
        if self.from_nodes.is_some() != (self.what == PublishedQuantity::ScalingEfficiency) {
            let fix = "name the nodes beside a scaling-efficiency, and only there";
            wrong("from_nodes", format!("does not fit {name}"), fix.to_owned());
        }
        if !(self.tolerance > 0.0 && self.tolerance <= 1.0) {
            wrong("tolerance", format!("{} is out of range", self.tolerance), "choose a share up to 1".to_owned());
        }
        found
    }
}
