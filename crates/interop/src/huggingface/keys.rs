//! Reads a configuration's keys, and notes each value that is taken.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde_json::{Map, Value};

use super::super::report::ImportReport;
use super::family::Family;
use shardscope_engine::problem::Problem;

/// Upper bound of a width or a count.
const MOST: u64 = 1 << 24;

/// A configuration being read.
pub(super) struct Keys<'a> {
    pub object: &'a Map<String, Value>,
    /// The enclosing configuration, or the same one.
    outer: &'a Map<String, Value>,
    /// Prefix of a key in messages, like `text_config.`.
    pub inside: &'static str,
    pub report: &'a mut ImportReport,
    read: BTreeSet<String>,
}

impl<'a> Keys<'a> {
    pub fn new(
        object: &'a Map<String, Value>,
        outer: &'a Map<String, Value>,
        inside: &'static str,
        report: &'a mut ImportReport,
    ) -> Self {
        Self { object, outer, inside, report, read: BTreeSet::from(["model_type".to_owned()]) }
    }

    /// The value of a key; null counts as absent.
    pub fn value(&mut self, key: &str) -> Option<&'a Value> {
        self.read.insert(key.to_owned());
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Marks keys as read that are understood and have no effect.
    pub fn skip(&mut self, keys: &[&str]) {
        self.read.extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// True if a key is present and null.
    pub fn is_null(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(Value::is_null)
    }

    /// Keys that were not read.
    pub fn unread(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.iter().filter(|(key, _)| !self.read.contains(*key))
    }

    pub fn place(&self, key: &str) -> String {
        format!("{}{key}", self.inside)
    }

    pub fn error(&self, key: &str, what: impl Display, fix: impl Display) -> Problem {
        Problem::new(self.place(key), what, fix)
    }

    /// A count under any of several names, which must agree.
    pub fn count(&mut self, field: &str, names: &[&str]) -> Result<Option<u32>, Problem> {
        let mut found: Option<(&str, u32)> = None;
        // Falcon's files have both `n_layer` and `num_hidden_layers`; a file edited by hand may have two that differ.
        for name in names {
            let Some(value) = self.value(name) else { continue };
            let count = self.number(name, value)?;
            match found {
                Some((other, before)) if before != count => {
                    let what = format!("is {count}, and {other} is {before}");
                    return Err(self.error(name, what, "keep the right one"));
                }
                Some(_) => {}
                None => found = Some((name, count)),
            }
        }
        if let Some((name, count)) = found {
            let place = self.place(name);
            self.report.take(field, count, place);
        }
        Ok(found.map(|(_, count)| count))
    }

    /// A count that must be given: its class's default would describe another model.
    pub fn needed(&mut self, field: &str, names: &[&str]) -> Result<u32, Problem> {
        self.count(field, names)?.ok_or_else(|| {
            let others = if names.len() > 1 { format!(" (or {})", names[1..].join(", ")) } else { String::new() };
            self.error(names[0], format!("is missing{others}"), "add it: the default of its class is another model's")
        })
    }

    /// A count that some families and nested configurations may leave to the class's default.
    pub fn needed_or(&mut self, family: &Family, field: &str, names: &[&str]) -> Result<u32, Problem> {
        if let Some(count) = self.count(field, names)? {
            return Ok(count);
        }
        let Some(usual) = family.usual(names[0], !self.inside.is_empty()) else { return self.needed(field, names) };
        self.assume(field, usual, names[0]);
        Ok(usual)
    }

    /// A whole number of a reasonable size.
    pub fn number(&self, key: &str, value: &Value) -> Result<u32, Problem> {
        // `4096.0` is a whole number too, as some tools write it.
        let whole = |value: &f64| value.fract() == 0.0 && *value >= 0.0 && *value <= MOST as f64;
        let count = value.as_u64().or_else(|| value.as_f64().filter(whole).map(|value| value as u64));
        match count.filter(|count| *count <= MOST) {
            Some(count) => Ok(count as u32),
            None if value.is_array() => {
                let what = format!("is {}, a list: layers differ", shown(value));
                Err(self.error(key, what, "there is no format for such a model; describe it with models/*.toml"))
            }
            None => Err(self.error(key, format!("is {}", shown(value)), format!("write a whole number up to {MOST}"))),
        }
    }

    /// A boolean.
    pub fn switch(&mut self, field: &str, name: &str) -> Result<Option<bool>, Problem> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let place = self.place(name);
        self.on_or_off(field, place, value).map(Some)
    }

    /// A model-wide switch; the enclosing configuration gives it if the decoder's does not.
    pub fn switch_of_all(&mut self, field: &str, name: &str) -> Result<Option<bool>, Problem> {
        let said = self.switch(field, name)?;
        match self.outer.get(name).filter(|value| said.is_none() && !value.is_null()) {
            Some(value) => self.on_or_off(field, name.to_owned(), value).map(Some),
            None => Ok(said),
        }
    }

    fn on_or_off(&mut self, field: &str, place: String, value: &Value) -> Result<bool, Problem> {
        let Some(on) = value.as_bool() else {
            return Err(Problem::new(place, format!("is {}", shown(value)), "write true or false"));
        };
        self.report.take(field, on, place);
        Ok(on)
    }

    /// A switch, or the class's default, which is noted as assumed.
    pub(crate) fn switch_or(&mut self, field: &str, name: &str, usual: bool) -> Result<bool, Problem> {
        if let Some(on) = self.switch(field, name)? {
            return Ok(on);
        }
        self.assume(field, usual, name);
        Ok(usual)
    }

    /// A list of which only some entries matter.
    pub fn list(&mut self, name: &str) -> Result<Option<&'a [Value]>, Problem> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_array() {
            Some(items) => Ok(Some(items)),
            None => Err(self.error(name, format!("is {}", shown(value)), "write a list")),
        }
    }

    /// Notes the default of the class for a key that is absent.
    pub fn assume(&mut self, field: &str, value: impl Display, key: &str) {
        let why = format!("{} is absent: the default of its class in transformers", self.place(key));
        self.report.assume(field, value, why);
    }
}

/// A value, cut to 40 characters.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
