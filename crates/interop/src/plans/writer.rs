//! A plan being written for a tool: fields that the tool's file states, and fields left to others.
//!
//! Knows no tool's names; [`super::lacks`] tells what a tool lacks.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use shardscope_engine::plan::{Extent, GlobalBatch, Plan};
use shardscope_engine::scenario::{Field, Layout, Scenario, Value};

use super::asked::PlanQuery;

/// A plan's fields, and which of them a tool's file states.
#[derive(Debug)]
pub(crate) struct PlanWriter<'a> {
    /// The plan to write.
    pub asked: &'a PlanQuery<'a>,
    /// The version of the tool.
    pub version: &'static str,
    pub scenario: &'a Scenario,
    pub layout: Layout,
    /// Fields that the file states, or leaves to something else.
    pub said: BTreeSet<Field>,
    /// Fields that the file itself states.
    pub own: BTreeSet<Field>,
    /// Notes on what is set outside the file.
    pub elsewhere: Vec<String>,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The name, with enclosing objects before dots.
    pub name: String,
    pub value: Json,
}

impl Line {
    /// A key with a number, a boolean or a text.
    pub fn new(name: &str, value: impl Into<Json>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

/// A field's value for a key: numbers and booleans as such, all else as its word.
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
    /// Starts from a plan and a tool's version.
    pub fn new(asked: &'a PlanQuery<'a>, version: &'static str) -> Self {
        let (said, own, elsewhere) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Self { scenario: &asked.job, layout: *asked.layout(), asked, version, said, own, elsewhere }
    }

    /// A field's value; `None` if it need not be stated.
    pub fn value(&self, field: Field) -> Option<&'a Value> {
        self.asked.value(field)
    }

    /// A field's value; marks it as stated by the file.
    pub fn say(&mut self, field: Field) -> Option<&'a Value> {
        let value = self.value(field)?;
        // A field that was left to others stays left.
        if self.said.insert(field) {
            self.own.insert(field);
        }
        Some(value)
    }

    /// Marks fields as stated by the file.
    pub fn say_all(&mut self, fields: &[Field]) {
        for field in fields {
            self.say(*field);
        }
    }

    /// A field's value as a line; marks it as stated by the file.
    pub fn line(&mut self, name: &str, field: Field) -> Option<Line> {
        self.say(field).map(|value| Line::new(name, in_json(value)))
    }

    /// Marks fields as set elsewhere: by the launcher, or by the training script.
    pub fn leave(&mut self, fields: &[Field], to: &str) {
        for field in fields {
            if let Some(value) = self.value(*field) {
                self.said.insert(*field);
                self.elsewhere.push(format!("{} {value}: {to}", field.key()));
            }
        }
    }

    /// The plan to write.
    pub fn plan(&self) -> &'a Plan {
        self.asked.plan()
    }
}
