//! The fields of the scenario: what they hold, what they can hold, and what is wrong with them.

use crate::hardware::Level;
use crate::plan::{Accumulation, Extent, Idle, Offload, Optimizer, Precision, Schedule, Size};
use crate::presets::{Kind, Library};
use crate::scenario::Field as Key;
use crate::scenario::Scenario;
use crate::units::devices;

use super::axes;

/// How a value is chosen with Enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// From a list.
    List,
    /// By typing.
    Text,
}

/// One field of the inputs panel.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name on the screen.
    pub label: &'static str,
    /// Its name for [`crate::scenario::file::ScenarioFile::set`].
    pub flag: &'static str,
    /// The beginning of the paths of problems that belong to it.
    pub path: &'static str,
    /// How Enter chooses a value.
    pub choice: Choice,
    /// Its value in a scenario.
    read: fn(&Scenario) -> String,
    /// What a key steps through, in order; not all of it may be possible.
    options: fn(&Scenario, &Library) -> Vec<String>,
}

impl Field {
    /// Its value in a scenario.
    pub fn read(&self, scenario: &Scenario) -> String {
        (self.read)(scenario)
    }

    /// What a key steps through, in order; not all of it may be possible.
    pub fn options(&self, scenario: &Scenario, library: &Library) -> Vec<String> {
        (self.options)(scenario, library)
    }

    /// What an option stands for, where it is the id of a preset.
    pub fn note(&self, option: &str, library: &Library) -> String {
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == self.path);
        let entry = kind.and_then(|kind| library.entries(kind).find(|entry| entry.id == option));
        entry.map_or_else(String::new, |entry| entry.name.clone())
    }

    /// Why a scenario's plan does not follow what this field says, where it does not.
    pub fn idle(&self, scenario: &Scenario) -> Option<Idle> {
        scenario.plan.idle().into_iter().find(|idle| idle.field == self.path)
    }

    /// What it stands for that its value does not say, for the status line.
    pub fn about(&self, scenario: &Scenario) -> Option<String> {
        if let Some(Idle { why, fix, .. }) = self.idle(scenario) {
            return Some(format!("{} has no effect; {fix}: {why}", self.label));
        }
        let network = || scenario.cluster.levels.last().map_or("network", |level| &level.name);
        let of = match self.flag {
            "bandwidth" => format!("the {} level's bandwidth", network()),
            "memory-factor" => "a device's memory".to_owned(),
            _ => return None,
        };
        Some(format!("a factor on {of}; 1 is the machine as it is"))
    }

    /// The unit of a value, or what it stands for; or that the plan does not follow it.
    pub fn aside(&self, value: &str, scenario: &Scenario, library: &Library) -> String {
        let plan = &scenario.plan;
        let (one, many) = match self.flag {
            _ if self.idle(scenario).is_some() => return "unused".to_owned(),
            "nodes" => return format!("= {}", devices(scenario.devices())),
            "bandwidth" => {
                let level = scenario.cluster.levels.last();
                let rate = |level: &Level| format!("= {}", level.bandwidth * plan.bandwidth_factor);
                return level.map_or_else(String::new, rate);
            }
            "memory-factor" => return format!("= {}", scenario.cluster.device.memory * plan.memory_factor),
            "micro-batch" => ("sequence", "sequences"),
            "accumulate" => ("micro-batch", "micro-batches"),
            "seq" => ("token", "tokens"),
            "tp" | "cp" => ("device", "devices"),
            "strategy" if !scenario.plan.operators.is_empty() => return "operators placed apart".to_owned(),
            "qwz" if value == "on" => return "weights quantised".to_owned(),
            "hpz" if value == "device" => return "no second copy".to_owned(),
            "hpz" => return "second copy".to_owned(),
            "qgz" if value == "on" => return "gradients quantised".to_owned(),
            _ => return self.note(value, library),
        };
        if value == "1" { one } else { many }.to_owned()
    }

    /// The options after or before a value, the nearest first: what a step tries.
    pub fn toward(&self, value: &str, forward: bool, scenario: &Scenario, library: &Library) -> Vec<String> {
        let options = self.options(scenario, library);
        let number = |text: &str| text.parse::<f64>().ok();
        let beyond = |option: &String| match (number(option), number(value)) {
            (Some(option), Some(value)) if forward => option > value,
            (Some(option), Some(value)) => option < value,
            _ => forward,
        };
        let mut rest: Vec<String> = match options.iter().position(|option| option == value) {
            Some(at) if forward => options[at + 1..].to_vec(),
            Some(at) => options[..at].to_vec(),
            None => options.into_iter().filter(beyond).collect(),
        };
        if !forward {
            rest.reverse();
        }
        rest
    }
}

const fn list(
    label: &'static str,
    flag: &'static str,
    path: &'static str,
    read: fn(&Scenario) -> String,
    options: fn(&Scenario, &Library) -> Vec<String>,
) -> Field {
    Field { label, flag, path, choice: Choice::List, read, options }
}

const fn text(
    label: &'static str,
    flag: &'static str,
    path: &'static str,
    read: fn(&Scenario) -> String,
    options: fn(&Scenario, &Library) -> Vec<String>,
) -> Field {
    Field { label, flag, path, choice: Choice::Text, read, options }
}

/// The fields, from the machine to the job's details.
pub const FIELDS: [Field; 25] = [
    list("cluster", "hardware", "cluster", |s| s.cluster.id.clone(), |_, l| ids(l, Kind::Cluster)),
    list("stack", "stack", "stack", |s| s.stack.id.clone(), |_, l| ids(l, Kind::Stack)),
    list("model", "model", "model", |s| s.model.id.clone(), |_, l| ids(l, Kind::Model)),
    list("strategy", "strategy", "strategy", |s| s.strategy.to_string(), |_, l| ids(l, Kind::Strategy)),
    text("nodes", "nodes", "plan.nodes", nodes, |s, _| counts(s.cluster.nodes.unwrap_or(4096))),
    text(
        "network",
        "bandwidth",
        "plan.bandwidth_factor",
        |s| s.plan.bandwidth_factor.to_string(),
        |_, _| words(&FACTORS),
    ),
    text("memory", "memory-factor", "plan.memory_factor", |s| s.plan.memory_factor.to_string(), |_, _| words(&FACTORS)),
    list("shard", "shard", "plan.shar", shard, |s, _| extents(s)),
    text("micro", "micro-batch", "plan.micro_batch", |s| s.plan.micro_batch.to_string(), |_, _| counts(4096)),
    text("accum", "accumulate", "plan.accumulate", |s| s.plan.accumulate.to_string(), |_, _| counts(4096)),
    text("seq", "seq", "plan.sequence", |s| s.plan.sequence.to_string(), |_, _| powers(256, 1 << 20)),
    list("recompute", "recompute", "plan.recompute", |s| s.plan.recompute.to_string(), |_, _| recompute()),
    list("precision", "precision", "plan.precision", |s| s.plan.precision.to_string(), |_, _| words(Precision::ALL)),
    text("tp", "tp", "plan.tensor", |s| s.plan.tensor.to_string(), |_, _| powers(1, 256)),
    text("cp", "cp", "plan.context", |s| s.plan.context.to_string(), |_, _| powers(1, 256)),
    text("pp", "pp", "plan.pipeline", |s| s.plan.pipeline.to_string(), |_, _| powers(1, 128)),
    list("schedule", "schedule", "plan.schedule", |s| s.plan.schedule.to_string(), |_, _| words(Schedule::ALL)),
    text(
        "stages",
        "stages-per-rank",
        "plan.stages_per_rank",
        |s| s.plan.stages_per_rank.to_string(),
        |_, _| powers(1, 128),
    ),
    list(
        "order",
        "accumulation",
        "plan.accumulation",
        |s| s.plan.accumulation.to_string(),
        |_, _| words(Accumulation::ALL),
    ),
    list("optimizer", "optimizer", "plan.optimizer", |s| s.plan.optimizer.to_string(), |_, _| words(Optimizer::ALL)),
    list("offload", "offload", "plan.offload", |s| s.plan.offload.to_string(), |_, _| words(Offload::ALL)),
    list("qwZ", "qwz", "plan.qwz", |s| switch(s.plan.sharding.wire.weights.quantised()), |_, _| switches()),
    list("hpZ", "hpz", "plan.sharding.secondary", second_copy, |s, _| levels(s)),
    list("qgZ", "qgz", "plan.qgz", |s| switch(s.plan.sharding.wire.gradients.quantised()), |_, _| switches()),
    text("tokens", "tokens", "plan.tokens", tokens, |_, _| lengths()),
];

/// What a key makes of the outermost level's bandwidth and of a device's memory; 1 is the machine as it is.
const FACTORS: [f64; 9] = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

fn ids(library: &Library, kind: Kind) -> Vec<String> {
    library.entries(kind).map(|entry| entry.id.clone()).collect()
}

fn words<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn nodes(scenario: &Scenario) -> String {
    let per_node = scenario.cluster.devices_per_node();
    match scenario.plan.size {
        Size::Nodes(nodes) => nodes.to_string(),
        Size::Devices(count) if count.is_multiple_of(per_node) => (count / per_node).to_string(),
        Size::Devices(count) => devices(count),
    }
}

fn shard(scenario: &Scenario) -> String {
    let sharding = &scenario.plan.sharding;
    sharding.first_sharded().map_or(Extent::Device, |part| sharding.extent(part).clone()).to_string()
}

/// Extent of the second copy of the weights; one device's is none.
fn second_copy(scenario: &Scenario) -> String {
    scenario.plan.sharding.secondary.as_ref().map_or(Extent::Device, |secondary| secondary.extent.clone()).to_string()
}

/// One device, and the levels of the cluster.
fn levels(scenario: &Scenario) -> Vec<String> {
    let levels = scenario.cluster.levels.iter().map(|level| level.name.clone());
    std::iter::once(Extent::Device.to_string()).chain(levels).collect()
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn switches() -> Vec<String> {
    [false, true].map(switch).to_vec()
}

fn tokens(scenario: &Scenario) -> String {
    scenario.plan.tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:e}"))
}

/// 1, 2, 3, 4, 6, 8, 12, ...: powers of two, and half-way between them.
fn counts(most: u32) -> Vec<String> {
    let doubled = |from: u32| std::iter::successors(Some(from), |count| count.checked_mul(2));
    let mut all: Vec<u32> = doubled(1).chain(doubled(3)).filter(|count| *count <= most).collect();
    all.push(most);
    all.sort_unstable();
    all.dedup();
    words(&all)
}

fn powers(first: u32, last: u32) -> Vec<String> {
    let doubled = std::iter::successors(Some(first), |count| count.checked_mul(2));
    doubled.take_while(|count| *count <= last).map(|count| count.to_string()).collect()
}

fn recompute() -> Vec<String> {
    ["none", "selective", "0.25", "0.5", "0.75", "full"].map(str::to_owned).to_vec()
}

/// Lengths of a training run, in tokens.
fn lengths() -> Vec<String> {
    ["1e9", "1e10", "1e11", "3e11", "1e12", "2e12", "5e12", "1.5e13"].map(str::to_owned).to_vec()
}

/// The rows of the map, as words.
fn extents(scenario: &Scenario) -> Vec<String> {
    axes::plan_axis(Key::Shard, scenario).values.iter().map(ToString::to_string).collect()
}

/// A value that the scenario cannot take, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Which field, by its place in [`FIELDS`].
    pub field: usize,
    /// What was given.
    pub text: String,
    /// What is wrong and how to fix it.
    pub why: String,
    /// Whether the file holds it; text that cannot be read never gets there.
    pub in_file: bool,
}

/// The cursor among the fields, and what became of the last edit.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The field that has the keys.
    pub cursor: usize,
    /// The fields that the last edit changed.
    pub changed: Vec<usize>,
    /// Values that cannot be.
    pub wrong: Vec<Wrong>,
}

impl Inputs {
    /// The field that has the keys.
    pub fn field(&self) -> &'static Field {
        &FIELDS[self.cursor.min(FIELDS.len() - 1)]
    }

    /// Whether the fields as they stand make a scenario; a text that is none of a field's values changes none.
    pub fn are_possible(&self) -> bool {
        !self.wrong.iter().any(|wrong| wrong.in_file)
    }

    /// What is wrong with a field.
    pub fn wrong(&self, field: usize) -> Option<&Wrong> {
        self.wrong.iter().find(|wrong| wrong.field == field)
    }

    /// A field's text: what was given, where that cannot be, else its value.
    pub fn text(&self, field: usize, scenario: &Scenario) -> String {
        self.wrong(field).map_or_else(|| FIELDS[field].read(scenario), |wrong| wrong.text.clone())
    }
}
