//! A plan while it is written for another tool: which of its fields the tool's file says, and what is left to others.
//!
//! Not for any tool's names, nor for what a tool lacks ([`super::lacks`]).

use std::collections::BTreeSet;

use serde_json::Value as Json;

use shardscope_engine::plan::{Compile, Extent, GlobalBatch, Plan};
use shardscope_engine::scenario::{Field, Layout, Scenario, Value};

use super::lacks::AskedPlan;
use super::table::{Means, ToolKey};

/// A plan's fields, and which of them a tool's file says.
#[derive(Debug)]
pub(crate) struct PlanWriter<'a> {
    /// What is written.
    pub asked: &'a AskedPlan<'a>,
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
    /// Of a plan that a tool is asked about.
    pub fn new(asked: &'a AskedPlan<'a>) -> Self {
        let (said, own, elsewhere) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Self { scenario: &asked.job, layout: *asked.layout(), asked, said, own, elsewhere }
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

    /// The same as the line of a key.
    pub fn line(&mut self, name: &str, field: Field) -> Option<Line> {
        self.say(field).map(|value| Line::of_field(name, value))
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

    /// Writes the fields that a table has words for.
    pub fn lines(&mut self, table: &[ToolKey]) -> Vec<Line> {
        let mut lines = Vec::new();
        for key in table {
            let line = match key.means {
                Means::Number(field) => self.line(key.name, field),
                Means::Words(field, words) => {
                    let value = self.value(field);
                    let theirs = words.iter().find(|(_, own)| Some(own) == value).map(|(theirs, _)| *theirs);
                    theirs.map(|theirs| {
                        self.say(field);
                        Line::new(key.name, word(theirs))
                    })
                }
                Means::Optimizers(words) => {
                    let (own, paged) = (self.plan().optimizer, self.value(Field::PagedOptimizer).is_some());
                    let alike =
                        |exact: bool| words.iter().find(|(_, one, pages)| *one == own && (*pages == paged || !exact));
                    alike(true).or_else(|| alike(false)).map(|(theirs, ..)| {
                        self.say(Field::Optimizer);
                        if alike(true).is_some() {
                            self.say(Field::PagedOptimizer);
                        }
                        Line::new(key.name, word(theirs))
                    })
                }
                Means::Clipping => (self.value(Field::ClipNorm) == Some(&Value::Switch(false))).then(|| {
                    self.say(Field::ClipNorm);
                    Line::new(key.name, 0.0)
                }),
                Means::Compiled(_, Some(on)) => match self.plan().compile {
                    Compile::Off => None,
                    Compile::Layer | Compile::On => {
                        self.say(Field::Compile);
                        Some(Line::new(key.name, word(on)))
                    }
                },
                Means::Only(..) | Means::Except(..) | Means::Compiled(_, None) | Means::Nothing(_) => None,
            };
            lines.extend(line);
        }
        lines
    }
}

/// A tool's word, a switch where it is one.
fn word(theirs: &str) -> Json {
    theirs.parse::<bool>().map_or_else(|_| Json::from(theirs), Json::from)
}
