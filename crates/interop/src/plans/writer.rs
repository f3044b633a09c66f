//! A plan while it is written for another tool: the value of each field, which of them the tool's file says, and what is
//! left.
//!
//! Not for any tool's names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use shardscope_engine::plan::{
    Accumulation, Extent, FrozenEnds, FrozenFormat, GlobalBatch, Plan, Precision, Reduction, Sharded, TrainMethod,
};
use shardscope_engine::scenario::{Field, Layout, Scenario, Value};

/// A plan's fields, and which of them a tool's file says.
#[derive(Debug)]
pub(crate) struct PlanWriter<'a> {
    /// What is written.
    pub scenario: &'a Scenario,
    pub layout: Layout,
    values: BTreeMap<Field, Value>,
    said: BTreeSet<Field>,
    /// Those of them that the file itself says, as planned.
    pub own: BTreeSet<Field>,
    /// What the tool does otherwise than planned.
    pub notes: Vec<String>,
    /// What is said in another place than the file.
    pub elsewhere: Vec<String>,
}

/// Fields that a tool's file says though they are as usual: tools have other defaults.
const STATED: [Field; 9] = [
    Field::MicroBatch,
    Field::Accumulate,
    Field::Recompute,
    Field::Optimizer,
    Field::LoraRank,
    Field::LoraTargets,
    Field::Offload,
    Field::Epochs,
    Field::Prefetch,
];

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The name, with those of the objects around it before dots.
    pub name: String,
    pub value: Json,
}

/// How the state is sharded: from which part on, and over how many ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    /// The first part that is sharded; `None` is `ddp`.
    pub first: Option<Sharded>,
    /// Ranks that share it.
    pub over: u32,
    /// How many copies of it there are.
    pub copies: u32,
}

impl Line {
    /// What a key says: a number, a switch or a text.
    pub fn new(name: &str, value: impl Into<Json>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }

    /// What a key says whose value is that of a field: numbers and switches as such, all else by its word.
    pub(crate) fn of_field(name: &str, value: &Value) -> Self {
        match value {
            Value::Count(count) | Value::Batch(GlobalBatch::Sequences(count)) | Value::Extent(Extent::Ranks(count)) => {
                Self::new(name, *count)
            }
            Value::Number(whole) if whole.fract() == 0.0 => Self::new(name, *whole as u64),
            Value::Switch(on) => Self::new(name, *on),
            other => Self::new(name, other.to_string()),
        }
    }
}

impl<'a> PlanWriter<'a> {
    /// Of a scenario whose layout is right.
    pub fn new(scenario: &'a Scenario, layout: Layout) -> Self {
        let plan = &scenario.plan;
        // An offload that is idle moves the state all the same, or is noted by the tool that cannot say it.
        let counts = |field: Field| field == Field::Offload || field.idle_in(plan).is_none();
        // What is as it usually is needs no word, but where tools have other defaults.
        let stated = |field: Field, value: &Value| STATED.contains(&field) || field.usual() != Some(value);
        let mut values: BTreeMap<Field, Value> = Field::all()
            .filter(|field| field.is_in_plan() && !field.is_in_sharding() && counts(*field))
            .filter_map(|field| Some((field, field.value(scenario)?)))
            .filter(|(field, value)| stated(*field, value))
            .collect();
        if scenario.model.frozen_layers == 0 && plan.tuning.ends == Some(FrozenEnds::None) {
            values.remove(&Field::FrozenEnds);
        }
        // As the layout has it, not as the file does: two ways of saying one plan are written alike.
        values.remove(&Field::Nodes);
        values.insert(Field::Devices, layout.devices.into());
        // More than the field itself could hold is still said.
        let sequences = scenario.sequences();
        let batch = GlobalBatch::sequences(sequences).map_or(Value::Number(sequences), Value::Batch);
        values.insert(Field::GlobalBatch, batch);
        if plan.tuning.freezes() {
            let four_bits = plan.tuning.frozen_format() == FrozenFormat::Nf4;
            let method = if four_bits { TrainMethod::Qlora } else { TrainMethod::Lora };
            values.insert(Field::Train, method.into());
        }
        if layout.pipeline > 1 {
            values.insert(Field::Schedule, plan.effective_schedule().into());
        }
        let sharding = &plan.sharding;
        if layout.weights > 1 {
            values.insert(Field::Reshard, sharding.reshard_after_forward.into());
        }
        // What is quantised travels only where it is sharded.
        for (field, format, ranks) in [
            (Field::Qwz, sharding.wire.weights, layout.weights),
            (Field::Qgz, sharding.wire.gradients, layout.gradients),
        ] {
            if format.quantised() && ranks > 1 {
                values.insert(field, true.into());
            }
        }
        if let Some(ranks) = layout.secondary.filter(|ranks| *ranks > 1 && layout.weights > 1) {
            values.insert(Field::Hpz, Extent::Ranks(ranks).into());
        }
        Self {
            scenario,
            layout,
            values,
            said: BTreeSet::new(),
            own: BTreeSet::new(),
            notes: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// What a field says; `None` where it says nothing of its own.
    pub fn value(&self, field: Field) -> Option<&Value> {
        self.values.get(&field)
    }

    /// The same, and the tool's file says it too.
    pub fn say(&mut self, field: Field) -> Option<Value> {
        let before = self.said.contains(&field);
        let value = self.pass(field)?;
        // What was noted or left before stays so.
        if !before {
            self.own.insert(field);
        }
        Some(value)
    }

    /// The same as the line of a key.
    pub fn line(&mut self, name: &str, field: Field) -> Option<Line> {
        self.say(field).map(|value| Line::of_field(name, &value))
    }

    /// The same, where something else says it.
    fn pass(&mut self, field: Field) -> Option<Value> {
        let value = self.values.get(&field)?.clone();
        self.said.insert(field);
        Some(value)
    }

    /// Fields that are said elsewhere: by the launcher, or by the script that trains.
    pub fn leave(&mut self, fields: &[Field], to: &str) {
        for field in fields {
            if let Some(value) = self.pass(*field) {
                self.elsewhere.push(format!("{} {value}: {to}", field.key()));
            }
        }
    }

    /// Notes what the tool does otherwise.
    pub fn note(&mut self, field: Field, instead: &str) {
        let value = self.pass(field).map_or_else(String::new, |value| value.to_string());
        self.own.remove(&field);
        self.notes.push(format!("{} {value}: {instead}", field.key()));
    }

    /// The plan that is written.
    pub fn plan(&self) -> &'a Plan {
        &self.scenario.plan
    }

    /// Stages of the whole pipeline; 1 without one.
    pub fn stages(&self) -> u32 {
        match self.layout.pipeline {
            1 => 1,
            ranks => ranks * self.plan().virtual_stages(),
        }
    }

    /// How the state is sharded, as nearly as one count of ranks says it.
    pub fn shards(&mut self) -> Shards {
        let Layout { weights, gradients, optimizer, .. } = self.layout;
        let over = optimizer;
        let first = match (weights, gradients, optimizer) {
            (1, 1, 1) => None,
            (1, 1, _) => Some(Sharded::Optimizer),
            (1, ..) => Some(Sharded::Gradients),
            _ => Some(Sharded::Weights),
        };
        let uniform = [weights, gradients].into_iter().all(|ranks| ranks == 1 || ranks == over);
        if !uniform {
            let what = format!(
                "weights over {weights}, gradients over {gradients}, optimizer state over {optimizer} ranks: there is one \
                 extent for all, and {over} is written"
            );
            self.notes.push(what);
        }
        Shards { first, over, copies: self.layout.group() / over }
    }

    /// The same as FSDP2 does it: weights lie with what is sharded, over whole groups of context-parallel ranks.
    pub(crate) fn fsdp2_shards(&mut self) -> Shards {
        let shards = self.shards();
        let (context, group) = (self.layout.context, self.layout.group());
        match shards.first {
            Some(Sharded::Optimizer | Sharded::Gradients) => {
                self.notes
                    .push("FSDP2 shards weights with what is sharded: they are gathered once and kept".to_owned());
            }
            None if context > 1 => {
                self.notes
                    .push(format!("FSDP2 shards over the {context} context-parallel ranks, which hold copies here"));
                return Shards { first: Some(Sharded::Weights), over: context, copies: group / context };
            }
            _ => {}
        }
        if shards.over.is_multiple_of(context) {
            return shards;
        }
        let what = format!("shards over {} ranks: FSDP2's hold all {context} context-parallel ranks", shards.over);
        self.notes.push(what);
        Shards { over: group, copies: 1, ..shards }
    }

    /// Everything that neither the file nor anything else says, at the end.
    pub fn rest(mut self, tool: &str) -> (Vec<String>, Vec<String>) {
        let plan = self.plan();
        for (field, value) in self.values.iter().filter(|(field, _)| !self.said.contains(field)) {
            let says = match field {
                // What a file of a run does not hold: the length of its sequences and of itself, its price, and the count of
                // its flop.
                Field::Sequence
                | Field::Tokens
                | Field::Examples
                | Field::Epochs
                | Field::Packing
                | Field::Price
                | Field::FlopCount => false,
                Field::Reshard => *value == Value::Switch(false),
                Field::Reduction => plan.reduction != Reduction::Default && plan.accumulate > 1,
                Field::Accumulation => plan.accumulation == Accumulation::Layered && plan.accumulate > 1,
                Field::Precision => plan.precision != Precision::Bf16,
                Field::Accumulate
                | Field::GlobalBatch
                | Field::Devices
                | Field::MicroBatch
                | Field::Qwz
                | Field::Qgz
                | Field::Hpz => true,
                _ => field.usual() != Some(value),
            };
            if says {
                self.notes.push(format!("{} {value}: not supported by {tool}", field.key()));
            }
        }
        if !plan.operators.is_empty() {
            self.notes.push(format!("operators that lie apart: {tool} treats all layers alike"));
        }
        (self.notes, self.elsewhere)
    }
}
