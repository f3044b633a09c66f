//! Figures that were published of a scenario, each with its source and how near a model should come.
//!
//! Not for what comes out here: that is compared in `search`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scenario::Problem;
use crate::units::{Bytes, FlopPerSecond, Seconds, significant};

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
    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StepTime => "step-time",
            Self::ForwardTime => "forward-time",
            Self::BackwardTime => "backward-time",
            Self::UpdateTime => "update-time",
            Self::Tokens => "tokens",
            Self::ModelFlop => "model-flop",
            Self::HardwareFlop => "hardware-flop",
            Self::Mfu => "mfu",
            Self::AllocatedMemory => "allocated-memory",
            Self::Speedup => "speedup",
            Self::ScalingEfficiency => "scaling-efficiency",
        }
    }

    /// The unit in which reports give it; none for a ratio.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::StepTime | Self::ForwardTime | Self::BackwardTime | Self::UpdateTime => "s",
            Self::Tokens => "tokens/s",
            Self::ModelFlop | Self::HardwareFlop => "flop/s",
            Self::AllocatedMemory => "bytes",
            Self::Mfu | Self::Speedup | Self::ScalingEfficiency => "",
        }
    }

    /// An amount in [`PublishedQuantity::unit`], for people.
    pub fn show(self, amount: f64) -> String {
        match self.unit() {
            "s" => Seconds::new(amount).to_string(),
            "flop/s" => FlopPerSecond::new(amount).to_string(),
            "bytes" => Bytes::new(amount).to_string(),
            _ => significant(amount, 3),
        }
    }

    /// A text in [`PublishedQuantity::unit`].
    fn read(self, value: &PublishedValue) -> Result<f64, String> {
        fn parsed<T: std::str::FromStr<Err: fmt::Display>>(text: &str, base: impl Fn(T) -> f64) -> Result<f64, String> {
            text.parse().map(base).map_err(|error: T::Err| error.to_string())
        }
        match (self.unit(), value) {
            ("s", PublishedValue::Text(text)) => parsed(text, Seconds::get),
            ("flop/s", PublishedValue::Text(text)) => parsed(text, FlopPerSecond::get),
            ("bytes", PublishedValue::Text(text)) => parsed(text, Bytes::get),
            ("" | "tokens/s", PublishedValue::Number(number)) if *number > 0.0 && number.is_finite() => Ok(*number),
            ("" | "tokens/s", _) => Err("write a number above 0, like 1.4".to_owned()),
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
    /// The figure in [`PublishedQuantity::unit`]; `None` where the file says something else.
    pub fn amount(&self) -> Option<f64> {
        self.what.read(&self.value).ok()
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
