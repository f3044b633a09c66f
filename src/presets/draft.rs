//! A copy of a cluster or a model being edited: its fields, read from the file's text and changed one at a time; comments
//! and whatever has no field here stay as they are. Not for the form on the screen, nor for writing the file.

use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Value};

use crate::hardware::Cluster;
use crate::model::Model;
use crate::scenario::Scenario;
use crate::scenario::field;
use crate::scenario::file::{FileError, printable};
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond, Money, Quantity, Seconds, Watts};

use super::{Entry, Kind, Library, Origin, Saving, read};

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Text,
    Count,
    Switch,
    Word(&'static [&'static str]),
    Size,
    Bandwidth,
    Peak,
    Latency,
    Power,
    Price,
}

/// One field of a kind of preset; `[]` stands for each item of an array.
struct Spec {
    path: &'static str,
    sort: Sort,
    optional: bool,
}

const fn must(path: &'static str, sort: Sort) -> Spec {
    Spec { path, sort, optional: false }
}

const fn may(path: &'static str, sort: Sort) -> Spec {
    Spec { path, sort, optional: true }
}

const CLUSTER: &[Spec] = &[
    must("name", Sort::Text),
    may("nodes", Sort::Count),
    may("price_per_device_hour", Sort::Price),
    may("watts_per_device", Sort::Power),
    must("device.name", Sort::Text),
    must("device.architecture", Sort::Text),
    must("device.memory", Sort::Size),
    must("device.memory_bandwidth", Sort::Bandwidth),
    must("device.compute_units", Sort::Count),
    must("device.host_bandwidth", Sort::Bandwidth),
    must("device.peak.fp32", Sort::Peak),
    may("device.peak.fp16", Sort::Peak),
    may("device.peak.bf16", Sort::Peak),
    may("device.peak.fp8", Sort::Peak),
    must("levels[].name", Sort::Text),
    may("levels[].members", Sort::Count),
    must("levels[].bandwidth", Sort::Bandwidth),
    may("levels[].injection", Sort::Bandwidth),
    must("levels[].latency", Sort::Latency),
];

/// Of each link of a level.
const LINK: Spec = must("bandwidth", Sort::Bandwidth);

const MODEL: &[Spec] = &[
    must("name", Sort::Text),
    must("layers", Sort::Count),
    must("hidden", Sort::Count),
    must("heads", Sort::Count),
    must("kv_heads", Sort::Count),
    must("head_size", Sort::Count),
    must("ffn_hidden", Sort::Count),
    may("gated", Sort::Switch),
    may("vocab", Sort::Count),
    may("tied", Sort::Switch),
    must("positions", Sort::Word(&["learned", "computed"])),
    must("norm", Sort::Word(&["layer-norm", "rms-norm", "none"])),
    may("bias", Sort::Switch),
    may("causal", Sort::Switch),
    must("sequence", Sort::Count),
    may("experts.count", Sort::Count),
    may("experts.active", Sort::Count),
];

/// A field as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its path in the file, as messages name it: `levels[1].bandwidth`.
    pub path: String,
    /// Its value without the unit; empty where the file leaves it out.
    pub value: String,
    /// The unit of its value, or the usual one.
    pub unit: String,
    /// What it is about, where the path does not say it: the ends of a link.
    pub note: String,
    /// Whether it may be left out.
    pub optional: bool,
    sort: Sort,
}

/// The copy.
#[derive(Debug, Clone)]
pub struct Draft {
    /// A cluster or a model.
    pub kind: Kind,
    /// The id under which it is saved.
    pub id: String,
    /// The user's own file that it takes the place of; a new file without one.
    pub replaces: Option<PathBuf>,
    document: DocumentMut,
}

impl Library {
    /// A copy of a scenario's cluster, or else of its model, to edit: a new file for one that the program or a snapshot
    /// carries, the file itself for one of the user's.
    pub fn draft(&self, kind: Kind, scenario: &Scenario) -> Result<Draft, String> {
        let (id, known, own) = if kind == Kind::Cluster {
            let (id, facts) = (&scenario.cluster.id, &scenario.cluster);
            (id, self.cluster(id).is_ok_and(|known| known == *facts), toml::to_string(&**facts))
        } else {
            let (id, facts) = (&scenario.model.id, &scenario.model);
            (id, self.model(id).is_ok_and(|known| known == *facts), toml::to_string(&**facts))
        };
        let entry = self.entries(kind).find(|entry| known && entry.id == *id);
        let text = match entry {
            Some(entry) => entry.text.to_string(),
            None => own.map_err(|error| error.to_string())?,
        };
        let document = text.parse().map_err(|error: toml_edit::TomlError| printable(error.message()))?;
        let replaces = match entry {
            Some(Entry { origin: Origin::File(path), .. }) => Some(path.clone()),
            _ => None,
        };
        let id = if replaces.is_some() { id.clone() } else { self.free(kind, id) };
        Ok(Draft { kind, id, replaces, document })
    }

    /// An id like this one that nothing has: `mpt-7b-2`.
    fn free(&self, kind: Kind, id: &str) -> String {
        let taken = |id: &String| self.entries(kind).any(|entry| entry.id == *id);
        (2..u32::MAX).map(|count| format!("{id}-{count}")).find(|id| !taken(id)).unwrap_or_default()
    }
}

impl Draft {
    /// The fields, in the order of the file's format.
    pub fn slots(&self) -> Vec<Slot> {
        let specs = if self.kind == Kind::Cluster { CLUSTER } else { MODEL };
        let levels = self.count("levels");
        let (plain, each): (Vec<&Spec>, Vec<&Spec>) = specs.iter().partition(|spec| !spec.path.contains("[]"));
        let indexed = (0..levels).flat_map(|index| {
            each.iter().map(move |spec| (spec.path.replace("[]", &format!("[{index}]")), *spec)).collect::<Vec<_>>()
        });
        let slots = plain.into_iter().map(|spec| (spec.path.to_owned(), spec)).chain(indexed).map(|it| self.slot(it));
        slots.chain((0..levels).flat_map(|level| self.links(level))).collect()
    }

    /// The bandwidth of each link of a level; new links are written into the file.
    fn links(&self, level: usize) -> Vec<Slot> {
        let link = |index: usize| {
            let path = format!("levels[{level}].links[{index}]");
            let [a, b] = ["a", "b"].map(|end| self.text_at(&format!("{path}.{end}")));
            Slot { note: format!("between {a} and {b}"), ..self.slot((format!("{path}.{}", LINK.path), &LINK)) }
        };
        (0..self.count(&format!("levels[{level}].links"))).map(link).collect()
    }

    /// How many items an array has.
    fn count(&self, path: &str) -> usize {
        match self.item_at(path) {
            Some(Item::ArrayOfTables(tables)) => tables.len(),
            Some(other) => other.as_array().map_or(0, toml_edit::Array::len),
            None => 0,
        }
    }

    fn slot(&self, (path, spec): (String, &Spec)) -> Slot {
        let text = self.text_at(&path);
        let (value, unit) = match (spec.sort.unit(), text.split_once(' ')) {
            ("", _) => (text.clone(), ""),
            (_, Some((value, unit))) => (value.to_owned(), unit),
            (usual, None) => {
                let named = spec.sort == Sort::Price && !text.is_empty();
                (text.clone(), if named { "" } else { usual })
            }
        };
        Slot { value, unit: unit.to_owned(), path, note: String::new(), optional: spec.optional, sort: spec.sort }
    }

    /// Gives a field a text, in its unit where the text names none; no text leaves an optional field out. What cannot
    /// stand there is refused with how to write it.
    pub fn set(&mut self, slot: &Slot, text: &str) -> Result<(), String> {
        let text = printable(text.trim());
        if text.is_empty() {
            return if slot.optional { self.put(&slot.path, None) } else { Err("must be given".to_owned()) };
        }
        let bare = !slot.unit.is_empty() && text.replace('_', "").parse::<f64>().is_ok();
        let value = slot.sort.value(&if bare { format!("{text} {}", slot.unit) } else { text })?;
        self.put(&slot.path, Some(value))
    }

    /// What is wrong with the copy as a whole: paths of fields, each with what it must be.
    pub fn problems(&self) -> Vec<(String, String)> {
        let text = self.text();
        let wrong = match self.kind {
            Kind::Cluster => read::checked::<Cluster>(&self.id, &text).err(),
            _ => read::checked::<Model>(&self.id, &text).err(),
        };
        let split = |message: &str| match message.split_once(": ") {
            Some((path, must)) => (path.to_owned(), must.to_owned()),
            None => (String::new(), message.to_owned()),
        };
        let mistakes = wrong.map_or_else(Vec::new, |FileError { mistakes, .. }| mistakes);
        mistakes.iter().map(|mistake| split(&mistake.message)).collect()
    }

    /// What is to be written, once nothing is wrong with it.
    pub fn saving(&self) -> Saving {
        Saving { kind: self.kind, id: self.id.clone(), replaces: self.replaces.clone(), text: self.text() }
    }

    fn text(&self) -> String {
        self.document.to_string()
    }

    /// A field's text; empty where the file leaves it out.
    fn text_at(&self, path: &str) -> String {
        match self.item_at(path).and_then(Item::as_value) {
            None => String::new(),
            Some(Value::String(text)) => printable(text.value()),
            Some(Value::Boolean(on)) => if *on.value() { "on" } else { "off" }.to_owned(),
            Some(other) => other.clone().decorated("", "").to_string(),
        }
    }

    fn item_at(&self, path: &str) -> Option<&Item> {
        path.split('.').try_fold(self.document.as_item(), |item, step| {
            let (name, index) = step_of(step);
            let item = item.get(name)?;
            index.map_or(Some(item), |index| item.get(index))
        })
    }

    /// Writes or removes a field; tables on the way to it are made.
    fn put(&mut self, path: &str, value: Option<Value>) -> Result<(), String> {
        let lost = || "stands in no table of the file".to_owned();
        let (tables, name) = path.rsplit_once('.').unwrap_or(("", path));
        let mut item = self.document.as_item_mut();
        for step in tables.split('.').filter(|step| !step.is_empty()) {
            let (name, index) = step_of(step);
            let table = item.as_table_like_mut().ok_or_else(lost)?;
            if index.is_none() && value.is_some() && !table.contains_key(name) {
                table.insert(name, toml_edit::table());
            }
            item = table.get_mut(name).ok_or_else(lost)?;
            if let Some(index) = index {
                item = item.get_mut(index).ok_or_else(lost)?;
            }
        }
        let table = item.as_table_like_mut().ok_or_else(lost)?;
        match (value, table.get_mut(name)) {
            (None, _) => drop(table.remove(name)),
            (Some(value), Some(Item::Value(old))) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            (Some(value), _) => drop(table.insert(name, Item::Value(value))),
        }
        Ok(())
    }
}

/// A step of a path: its name, and the index in brackets behind it.
fn step_of(step: &str) -> (&str, Option<usize>) {
    match step.trim_end_matches(']').split_once('[') {
        Some((name, index)) => (name, index.parse().ok()),
        None => (step, None),
    }
}

impl Sort {
    /// The unit that a value without one is taken in.
    const fn unit(self) -> &'static str {
        match self {
            Self::Text | Self::Count | Self::Switch | Self::Word(_) => "",
            Self::Size => "GiB",
            Self::Bandwidth => "GB/s",
            Self::Peak => "TFLOP/s",
            Self::Latency => "us",
            Self::Power => "W",
            Self::Price => "EUR",
        }
    }

    fn value(self, text: &str) -> Result<Value, String> {
        fn quantity<Q: Quantity + std::str::FromStr<Err: ToString>>(text: &str) -> Result<Value, String> {
            text.parse::<Q>().map(|_| text.into()).map_err(|error| error.to_string())
        }
        match self {
            Self::Text => Ok(text.into()),
            Self::Count => field::count(text).map(|count| i64::from(count).into()),
            Self::Switch => match text {
                "on" | "true" => Ok(true.into()),
                "off" | "false" => Ok(false.into()),
                _ => Err("write on or off".to_owned()),
            },
            Self::Word(words) if words.contains(&text) => Ok(text.into()),
            Self::Word(words) => Err(format!("write one of {}", words.join(", "))),
            Self::Size => quantity::<Bytes>(text),
            Self::Bandwidth => quantity::<BytesPerSecond>(text),
            Self::Peak => quantity::<FlopPerSecond>(text),
            Self::Latency => quantity::<Seconds>(text),
            Self::Power => quantity::<Watts>(text),
            Self::Price => text.parse::<Money>().map(|_| text.into()).map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
