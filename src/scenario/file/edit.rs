//! Fields of a scenario by the names of their flags: read from text and written as text.

use std::fmt::{self, Display};
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use crate::scenario::Problem;

use super::{ScenarioFile, printable};

/// A field that a flag or a typed text sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name of its flag (`micro-batch`).
    pub flag: &'static str,
    /// Its path in the file (`plan.micro_batch`), as in [`Problem::field`].
    pub path: &'static str,
}

const fn field(flag: &'static str, path: &'static str) -> Field {
    Field { flag, path }
}

/// All fields that can be set, in the order of the command line's help.
pub const FIELDS: [Field; 28] = [
    field("hardware", "cluster"),
    field("stack", "stack"),
    field("model", "model"),
    field("strategy", "strategy"),
    field("nodes", "plan.nodes"),
    field("devices", "plan.devices"),
    field("micro-batch", "plan.micro_batch"),
    field("accumulate", "plan.accumulate"),
    field("seq", "plan.sequence"),
    field("shard", "plan.shard"),
    field("qwz", "plan.qwz"),
    field("hpz", "plan.hpz"),
    field("qgz", "plan.qgz"),
    field("precision", "plan.precision"),
    field("recompute", "plan.recompute"),
    field("tp", "plan.tensor"),
    field("pp", "plan.pipeline"),
    field("cp", "plan.context"),
    field("schedule", "plan.schedule"),
    field("stages-per-rank", "plan.stages_per_rank"),
    field("accumulation", "plan.accumulation"),
    field("offload", "plan.offload"),
    field("tokens", "plan.tokens"),
    field("optimizer", "plan.optimizer"),
    field("reduction", "plan.reduction"),
    field("prefetch", "plan.prefetch"),
    field("bandwidth", "plan.bandwidth_factor"),
    field("memory", "plan.memory_factor"),
];

/// Reads a whole number as people write it: `2048` or `2_048`.
pub fn count(text: &str) -> Result<u32, String> {
    text.replace('_', "").parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large: write a smaller whole number, like 8".to_owned(),
        _ => "write a whole number, like 8".to_owned(),
    })
}

/// What [`count`] reads.
struct Count(u32);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        count(text).map(Self)
    }
}

/// `on` or `off`.
struct Switch(bool);

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err("write on or off".to_owned()),
        }
    }
}

impl Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "on" } else { "off" })
    }
}

/// The text of one field on its way into a file.
struct Text<'a> {
    path: &'a str,
    text: &'a str,
}

impl Text<'_> {
    /// The value of a field of the plan; nothing for no text, which stands for the default.
    fn value<T: FromStr<Err: Display>>(&self) -> Result<Option<T>, Problem> {
        if self.text.is_empty() {
            return Ok(None);
        }
        self.text.parse().map(Some).map_err(|error: T::Err| self.problem(&error.to_string()))
    }

    fn count(&self) -> Result<Option<u32>, Problem> {
        Ok(self.value()?.map(|Count(count)| count))
    }

    /// A number of any size: `300e9` or `300_000_000_000`.
    fn number(&self, fix: &str) -> Result<Option<f64>, Problem> {
        if self.text.is_empty() {
            return Ok(None);
        }
        match self.text.replace('_', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.problem(fix)),
        }
    }

    /// A factor on the hardware; 1 leaves it as it is, which is the default.
    fn factor(&self) -> Result<Option<f64>, Problem> {
        let factor = self.number("write a factor, like 0.5")?;
        Ok(factor.filter(|factor| (factor - 1.0).abs() > f64::EPSILON))
    }

    fn id(&self) -> Result<String, Problem> {
        if self.text.is_empty() || self.text.chars().any(char::is_control) {
            return Err(self.problem("write an id, as `shardscope presets` lists them"));
        }
        Ok(self.text.to_owned())
    }

    fn problem(&self, fix: &str) -> Problem {
        Problem {
            field: self.path.to_owned(),
            what: format!("'{}' cannot stand here", printable(self.text)),
            fix: fix.to_owned(),
        }
    }
}

impl ScenarioFile {
    /// Sets the field of a flag from text; no text puts a field of the plan back to its default.
    ///
    /// A model brings its own sequence length, a strategy its own extents, and neither keeps operators that
    /// were placed apart; nodes and devices replace each other. The name, the description and what was
    /// published go: they were those of another scenario.
    pub fn set(&mut self, flag: &str, text: &str) -> Result<(), Problem> {
        let text = Text { path: path(flag)?, text: text.trim() };
        let plan = &mut self.plan;
        match flag {
            "hardware" => self.cluster = text.id()?,
            "stack" => self.stack = text.id()?,
            "model" => (self.model, plan.sequence, plan.operators) = (text.id()?, None, Vec::new()),
            "strategy" => {
                (self.strategy, plan.operators) = (text.id()?, Vec::new());
                (plan.shard, plan.sharding, plan.qwz, plan.hpz, plan.qgz) = (None, None, None, None, None);
            }
            "nodes" => (plan.nodes, plan.devices) = (text.count()?, None),
            "devices" => (plan.devices, plan.nodes) = (text.count()?, None),
            "micro-batch" => plan.micro_batch = text.count()?,
            "accumulate" => plan.accumulate = text.count()?,
            "seq" => plan.sequence = text.count()?,
            "shard" => plan.shard = text.value()?,
            "qwz" => plan.qwz = text.value()?.map(|Switch(on)| on),
            "hpz" => plan.hpz = text.value()?,
            "qgz" => plan.qgz = text.value()?.map(|Switch(on)| on),
            "precision" => plan.precision = text.value()?,
            "recompute" => plan.recompute = text.value()?,
            "tp" => plan.tensor = text.count()?,
            "pp" => plan.pipeline = text.count()?,
            "cp" => plan.context = text.count()?,
            "schedule" => plan.schedule = text.value()?,
            "stages-per-rank" => plan.stages_per_rank = text.count()?,
            "accumulation" => plan.accumulation = text.value()?,
            "offload" => plan.offload = text.value()?,
            "tokens" => plan.tokens = text.number("write a number, like 300e9")?,
            "optimizer" => plan.optimizer = text.value()?,
            "reduction" => plan.reduction = text.value()?,
            "prefetch" => plan.prefetch = text.count()?,
            "bandwidth" => plan.bandwidth_factor = text.factor()?,
            _ => plan.memory_factor = text.factor()?,
        }
        (self.name, self.about, self.published) = (None, None, None);
        Ok(())
    }

    /// The text of a flag's field, as [`ScenarioFile::set`] takes it; `None` where the file leaves it to a default.
    pub fn get(&self, flag: &str) -> Option<String> {
        fn text<T: ToString>(value: Option<&T>) -> Option<String> {
            value.map(T::to_string)
        }
        let plan = &self.plan;
        match flag {
            "hardware" => Some(self.cluster.clone()),
            "stack" => Some(self.stack.clone()),
            "model" => Some(self.model.clone()),
            "strategy" => Some(self.strategy.clone()),
            "nodes" => text(plan.nodes.as_ref()),
            "devices" => text(plan.devices.as_ref()),
            "micro-batch" => text(plan.micro_batch.as_ref()),
            "accumulate" => text(plan.accumulate.as_ref()),
            "seq" => text(plan.sequence.as_ref()),
            "shard" => text(plan.shard.as_ref().or_else(|| {
                let sharding = plan.sharding.as_ref()?;
                Some(sharding.extent(sharding.first_sharded()?))
            })),
            "qwz" => plan.qwz.map(|on| Switch(on).to_string()),
            "hpz" => text(plan.hpz.as_ref()),
            "qgz" => plan.qgz.map(|on| Switch(on).to_string()),
            "precision" => text(plan.precision.as_ref()),
            "recompute" => text(plan.recompute.as_ref()),
            "tp" => text(plan.tensor.as_ref()),
            "pp" => text(plan.pipeline.as_ref()),
            "cp" => text(plan.context.as_ref()),
            "schedule" => text(plan.schedule.as_ref()),
            "stages-per-rank" => text(plan.stages_per_rank.as_ref()),
            "accumulation" => text(plan.accumulation.as_ref()),
            "offload" => text(plan.offload.as_ref()),
            "tokens" => text(plan.tokens.as_ref()),
            "optimizer" => text(plan.optimizer.as_ref()),
            "reduction" => text(plan.reduction.as_ref()),
            "prefetch" => text(plan.prefetch.as_ref()),
            "bandwidth" => text(plan.bandwidth_factor.as_ref()),
            "memory" => text(plan.memory_factor.as_ref()),
            _ => None,
        }
    }
}

fn path(flag: &str) -> Result<&'static str, Problem> {
    FIELDS.iter().find(|field| field.flag == flag).map(|field| field.path).ok_or_else(|| {
        let flags = FIELDS.map(|field| field.flag).join(", ");
        Problem {
            field: printable(flag),
            what: "is no field of a scenario".to_owned(),
            fix: format!("choose one of {flags}"),
        }
    })
}
