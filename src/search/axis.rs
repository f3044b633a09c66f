//! The axes of a map.

use std::fmt;
use std::str::FromStr;

use crate::plan::{Extent, Size};
use crate::scenario::file::printable;
use crate::scenario::{Field, Problem, Scenario};

/// What varies along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AxisKind {
    /// Nodes of the job.
    Nodes,
    /// Extent of the first sharded part of the state.
    Shard,
    /// Sequences per micro-batch.
    MicroBatch,
    /// Tokens per sequence.
    Seq,
    /// Micro-batches per step.
    Accumulate,
    /// Tensor-parallel ranks.
    Tp,
    /// Pipeline ranks.
    Pp,
    /// Factor on the outermost level's bandwidth.
    Bandwidth,
    /// Factor on the device's memory.
    Memory,
}

impl AxisKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Nodes,
        Self::Shard,
        Self::MicroBatch,
        Self::Seq,
        Self::Accumulate,
        Self::Tp,
        Self::Pp,
        Self::Bandwidth,
        Self::Memory,
    ];

    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Shard => "shard",
            Self::MicroBatch => "micro-batch",
            Self::Seq => "seq",
            Self::Accumulate => "accumulate",
            Self::Tp => "tp",
            Self::Pp => "pp",
            Self::Bandwidth => "bandwidth",
            Self::Memory => "memory",
        }
    }

    /// The field that varies.
    pub const fn field(self) -> Field {
        match self {
            Self::Nodes => Field::Nodes,
            Self::Shard => Field::Shard,
            Self::MicroBatch => Field::MicroBatch,
            Self::Seq => Field::Sequence,
            Self::Accumulate => Field::Accumulate,
            Self::Tp => Field::Tensor,
            Self::Pp => Field::Pipeline,
            Self::Bandwidth => Field::Bandwidth,
            Self::Memory => Field::Memory,
        }
    }

    /// What it is, for a list.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Nodes => "nodes of the job",
            Self::Shard => "extent over which the first sharded part lies",
            Self::MicroBatch => "sequences of a micro-batch",
            Self::Seq => "tokens of a sequence",
            Self::Accumulate => "micro-batches of a step",
            Self::Tp => "tensor-parallel devices",
            Self::Pp => "pipeline ranks",
            Self::Bandwidth => "the outermost level's bandwidth, times",
            Self::Memory => "the device's memory, times",
        }
    }
}

/// One value on an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisValue {
    /// A count.
    Count(u32),
    /// An extent.
    Shard(Extent),
    /// A factor.
    Factor(f64),
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => f.pad(&count.to_string()),
            Self::Shard(extent) => extent.fmt(f),
            Self::Factor(factor) => f.pad(&factor.to_string()),
        }
    }
}

/// An axis with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What varies.
    pub kind: AxisKind,
    /// The values, in order.
    pub values: Vec<AxisValue>,
}

/// The most values that an axis may have.
const MOST_VALUES: u32 = 4096;

impl Axis {
    /// Reads `1,2,4`, `1..64` (powers of two) or `1..64:3` (step); for `shard`, levels and counts of ranks.
    pub fn parse(kind: AxisKind, values: &str) -> Result<Self, String> {
        let mut read = Vec::new();
        for item in values.split(',').map(str::trim) {
            match item.split_once("..") {
                Some((from, to)) if kind != AxisKind::Shard => read.extend(range(kind, from, to)?),
                _ => read.push(value(kind, item)?),
            }
        }
        if read.len() > MOST_VALUES as usize {
            return Err(format!("an axis has at most {MOST_VALUES} values"));
        }
        Ok(Self { kind, values: read })
    }
}

impl FromStr for Axis {
    type Err = String;

    /// Reads `AXIS=VALUES`.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = AxisKind::ALL.map(AxisKind::word).join(", ");
        let (name, values) = text.split_once('=').ok_or("an axis is written AXIS=VALUES, like nodes=1..64")?;
        let kind = AxisKind::ALL.into_iter().find(|kind| kind.word() == name);
        Self::parse(kind.ok_or_else(|| format!("an axis is one of {words}"))?, values)
    }
}

fn value(kind: AxisKind, text: &str) -> Result<AxisValue, String> {
    match kind {
        AxisKind::Shard => text.parse().map(AxisValue::Shard),
        AxisKind::Bandwidth | AxisKind::Memory => match text.parse::<f64>() {
            Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(AxisValue::Factor(factor)),
            _ => Err(format!("'{}' is not a factor above 0", printable(text))),
        },
        _ => match text.parse::<u32>() {
            Ok(count) if count > 0 => Ok(AxisValue::Count(count)),
            _ => Err(format!("'{}' is not a count from 1", printable(text))),
        },
    }
}

fn range(kind: AxisKind, from: &str, to: &str) -> Result<Vec<AxisValue>, String> {
    if matches!(kind, AxisKind::Bandwidth | AxisKind::Memory) {
        return Err("a range is for counts: list factors, like 0.5,1,2".to_owned());
    }
    let (to, step) = to.split_once(':').map_or((to, None), |(to, step)| (to, Some(step)));
    let number = |text: &str| match value(kind, text)? {
        AxisValue::Count(count) => Ok(count),
        _ => Err("a range is for counts".to_owned()),
    };
    let (first, last) = (number(from)?, number(to)?);
    if first > last {
        return Err(format!("the range {first}..{last} is empty: its first number is the larger one"));
    }
    let counts: Vec<u32> = match step.map(number).transpose()? {
        Some(step) => (first..=last).step_by(step as usize).take(MOST_VALUES as usize + 1).collect(),
        None => std::iter::successors(Some(first), |count| count.checked_mul(2))
            .take_while(|count| *count <= last)
            .collect(),
    };
    Ok(counts.into_iter().map(AxisValue::Count).collect())
}

impl AxisValue {
    /// Puts the value into a scenario; a value that the scenario cannot take is a problem.
    pub fn apply(&self, kind: AxisKind, scenario: &mut Scenario) -> Result<(), Problem> {
        let plan = &mut scenario.plan;
        match (kind, self) {
            (AxisKind::Nodes, Self::Count(count)) => plan.size = Size::Nodes(*count),
            (AxisKind::Shard, Self::Shard(extent)) => {
                plan.sharding = plan.sharding.with_shard(extent).ok_or_else(Problem::nothing_sharded)?;
            }
            (AxisKind::MicroBatch, Self::Count(count)) => plan.micro_batch = *count,
            (AxisKind::Seq, Self::Count(count)) => plan.sequence = *count,
            (AxisKind::Accumulate, Self::Count(count)) => plan.accumulate = *count,
            (AxisKind::Tp, Self::Count(count)) => plan.tensor = *count,
            (AxisKind::Pp, Self::Count(count)) => plan.pipeline = *count,
            (AxisKind::Bandwidth, Self::Factor(factor)) => plan.bandwidth_factor = *factor,
            (AxisKind::Memory, Self::Factor(factor)) => plan.memory_factor = *factor,
            _ => {}
        }
        Ok(())
    }
}
