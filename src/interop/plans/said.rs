//! A plan while it is written for another tool: what each field says, which of them have been said, and what is left.
//!
//! Not for any tool's names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::plan::{Accumulation, Plan, Precision, Recompute, Reduction, Sharded};
use crate::scenario::{Field, Layout, Scenario};

/// A plan's fields, and which of them a tool's file says.
#[derive(Debug)]
pub struct PlanSaid<'a> {
    /// What is written.
    pub scenario: &'a Scenario,
    pub layout: Layout,
    texts: BTreeMap<Field, String>,
    said: BTreeSet<Field>,
    /// Those of them that the file itself says, as planned.
    pub own: BTreeSet<Field>,
    /// What the tool does otherwise than planned.
    pub notes: Vec<String>,
    /// What is said in another place than the file.
    pub elsewhere: Vec<String>,
}

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
    /// A number, a switch or a text.
    pub fn new(name: &str, text: &str) -> Self {
        let number = || text.parse::<u64>().map(Json::from);
        let value = match text {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ => number().unwrap_or_else(|_| Json::from(text)),
        };
        Self { name: name.to_owned(), value }
    }

    /// A text, whatever it looks like.
    pub fn text(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), value: Json::from(text) }
    }
}

impl<'a> PlanSaid<'a> {
    /// Of a scenario whose layout is right.
    pub fn new(scenario: &'a Scenario, layout: Layout) -> Self {
        let plan = &scenario.plan;
        // As the layout has it, not as the file does: two ways of saying one plan are written alike.
        let mut texts: BTreeMap<Field, String> = Field::all()
            .filter(|field| field.is_in_plan() && !field.is_in_sharding())
            .filter_map(|field| Some((field, field.in_plan(plan)?.to_string())))
            .collect();
        texts.remove(&Field::Nodes);
        texts.insert(Field::Devices, layout.devices.to_string());
        texts.insert(Field::GlobalBatch, scenario.sequences().to_string());
        texts.insert(Field::Schedule, plan.effective_schedule().to_string());
        texts.insert(Field::StagesPerRank, plan.virtual_stages().to_string());
        // What is 1 is what every tool does where nothing is said; without a pipeline no schedule is.
        for field in [Field::Tensor, Field::Context, Field::Pipeline, Field::StagesPerRank] {
            texts.retain(|key, text| *key != field || text != "1");
        }
        if layout.pipeline == 1 {
            texts.remove(&Field::Schedule);
            texts.remove(&Field::StagesPerRank);
        }
        let sharding = &plan.sharding;
        if layout.weights > 1 {
            texts.insert(Field::Reshard, if sharding.reshard_after_forward { "on" } else { "off" }.to_owned());
        }
        // What is quantised travels only where it is sharded.
        for (field, format, ranks) in [
            (Field::Qwz, sharding.wire.weights, layout.weights),
            (Field::Qgz, sharding.wire.gradients, layout.gradients),
        ] {
            if format.quantised() && ranks > 1 {
                texts.insert(field, "on".to_owned());
            }
        }
        if let Some(ranks) = layout.secondary.filter(|ranks| *ranks > 1 && layout.weights > 1) {
            texts.insert(Field::Hpz, ranks.to_string());
        }
        Self {
            scenario,
            layout,
            texts,
            said: BTreeSet::new(),
            own: BTreeSet::new(),
            notes: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// What a field says; `None` where it says nothing of its own.
    pub fn text(&self, field: Field) -> Option<&str> {
        self.texts.get(&field).map(String::as_str)
    }

    /// The same, and the tool's file says it too.
    pub fn say(&mut self, field: Field) -> Option<String> {
        let before = self.said.contains(&field);
        let text = self.pass(field)?;
        // What was noted or left before stays so.
        if !before {
            self.own.insert(field);
        }
        Some(text)
    }

    /// The same, where something else says it.
    fn pass(&mut self, field: Field) -> Option<String> {
        let text = self.texts.get(&field)?.clone();
        self.said.insert(field);
        Some(text)
    }

    /// Fields that are said elsewhere: by the launcher, or by the script that trains.
    pub fn leave(&mut self, fields: &[Field], to: &str) {
        for field in fields {
            if let Some(text) = self.pass(*field) {
                self.elsewhere.push(format!("{} {text}: {to}", field.key()));
            }
        }
    }

    /// Notes what the tool does otherwise.
    pub fn note(&mut self, field: Field, instead: &str) {
        let text = self.pass(field).unwrap_or_default();
        self.own.remove(&field);
        self.notes.push(format!("{} {text}: {instead}", field.key()));
    }

    /// Whether a part of the layers, or of each, is computed again, which a tool can only say of all: a plan that fits
    /// with a part fits with all, and would not with none.
    pub fn recompute_rounded_up(&mut self, tool: &str) -> bool {
        let part = matches!(self.plan().recompute, Recompute::Selective | Recompute::Share(_));
        if part {
            let instead =
                format!("{tool} computes all of each layer again, or nothing: all, in less memory and more time");
            self.note(Field::Recompute, &instead);
        }
        part
    }

    /// The plan, whose fields [`PlanSaid::text`] has in words.
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
    pub fn fsdp2_shards(&mut self) -> Shards {
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
        let usual = Plan::new(plan.sharding.clone(), plan.sequence);
        let words: Vec<(Field, String)> = self.texts.iter().map(|(field, text)| (*field, text.clone())).collect();
        for (field, text) in words.into_iter().filter(|(field, _)| !self.said.contains(field)) {
            let says = match field {
                // What a file of a run does not hold: its length, the count of its flop, and what-ifs on the machine.
                Field::Tokens | Field::FlopCount => false,
                Field::Bandwidth | Field::Memory => text != "1",
                Field::Reshard => text == "off",
                Field::Reduction => plan.reduction != Reduction::Default && plan.accumulate > 1,
                Field::Accumulation => plan.accumulation == Accumulation::Layered && plan.accumulate > 1,
                Field::Recompute => plan.recompute != Recompute::None,
                Field::Precision => plan.precision != Precision::Bf16,
                Field::Accumulate
                | Field::GlobalBatch
                | Field::Devices
                | Field::MicroBatch
                | Field::Qwz
                | Field::Qgz
                | Field::Hpz => true,
                _ => field.in_plan(&usual).is_none_or(|usual| usual.to_string() != text),
            };
            if says {
                self.notes.push(format!("{} {text}: {tool} has no word for it", field.key()));
            }
        }
        if !plan.operators.is_empty() {
            self.notes.push(format!("operators that lie apart: {tool} treats all layers alike"));
        }
        (self.notes, self.elsewhere)
    }
}
