//! A plan while it is written for another tool: which of its fields the tool's file says, and what is left to others.
//!
//! Not for any tool's names, nor for what a tool lacks ([`super::lacks`]).

use std::collections::BTreeSet;

use serde_json::Value as Json;

use shardscope_engine::plan::{Extent, GlobalBatch, Plan};
use shardscope_engine::scenario::{Field, Layout, Scenario, Value};

use super::asked::AskedPlan;

/// A plan's fields, and which of them a tool's file says.
#[derive(Debug)]
pub(crate) struct PlanWriter<'a> {
    /// What is written.
    pub asked: &'a AskedPlan<'a>,
    /// The version of the tool.
    pub version: &'static str,
    pub scenario: &'a Scenario,
    pub layout: Layout,
    /// Fields that the file says, or that are left to something else.
    pub said: BTreeSet<Field>,
    /// Those of them that the file itself says.
    pub own: BTreeSet<Field>,
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

impl Line {
    /// What a key says: a number, a switch or a text.
    pub fn new(name: &str, value: impl Into<Json>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

/// The value of a field as a key says it: numbers and switches as such, all else by its word.
pub(crate) fn in_json(value: &Value) -> Json {
    match value {
        Value::Count(count) | Value::Batch(GlobalBatch::Sequences(count)) | Value::Extent(Extent::Ranks(count)) => {
            (*count).into()
        }
        Value::Number(whole) if whole.fract() == 0.0 => (*whole as u64).into(),
        Value::Switch(on) => (*on).into(),
        other => other.to_string().into(),
    }
}

impl<'a> PlanWriter<'a> {
    /// Of a plan that a version of a tool is asked about.
    pub fn new(asked: &'a AskedPlan<'a>, version: &'static str) -> Self {
        let (said, own, elsewhere) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Self { scenario: &asked.job, layout: *asked.layout(), asked, version, said, own, elsewhere }
    }

    /// What a field says; `None` where it says nothing of its own.
    pub fn value(&self, field: Field) -> Option<&'a Value> {
        self.asked.value(field)
    }

    /// The same, and the tool's file says it too.
    pub fn say(&mut self, field: Field) -> Option<&'a Value> {
        let value = self.value(field)?;
        // What was left before stays so.
        if self.said.insert(field) {
            self.own.insert(field);
        }
        Some(value)
    }

    /// The tool's file says some fields.
    pub fn say_all(&mut self, fields: &[Field]) {
        for field in fields {
            self.say(*field);
        }
    }

    /// What a field says as the line of a key, by which the tool's file says it.
    pub fn line(&mut self, name: &str, field: Field) -> Option<Line> {
        self.say(field).map(|value| Line::new(name, in_json(value)))
    }

    /// Fields that are said elsewhere: by the launcher, or by the script that trains.
    pub fn leave(&mut self, fields: &[Field], to: &str) {
        for field in fields {
            if let Some(value) = self.value(*field) {
                self.said.insert(*field);
                self.elsewhere.push(format!("{} {value}: {to}", field.key()));
            }
        }
    }

    /// The plan that is written.
    pub fn plan(&self) -> &'a Plan {
        self.asked.plan()
    }
}
