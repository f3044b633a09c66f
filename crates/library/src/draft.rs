//! A copy of a cluster or a model being edited: its fields, which are the keys of its schema, read from the file's text
//! and changed one at a time; comments and whatever is no field stay as they are. Not for the form on the screen, nor
//! for writing the file.

use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Value};

use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::presets::{Kind, Library, Origin, PresetFile, read};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::field;
use shardscope_engine::scenario::file::{FileError, printable};

use crate::folders::Saving;
use crate::schema::{self, KeyType, SchemaKey};

/// Keys that are no fields: the file's format, its name, which has a row of its own, and which devices a link joins,
/// which says what link it is.
const KEPT: [&str; 4] = ["format", "id", "levels[].links[].a", "levels[].links[].b"];

/// The key that says where facts are from.
const SOURCE: &str = "source";

/// The key that says what a preset is called in reports.
const NAME: &str = "name";

/// A field as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftField {
    /// Its path in the file, as messages name it: `levels[1].bandwidth`.
    pub path: String,
    /// Its value without the unit; empty where the file leaves it out.
    pub value: String,
    /// The unit of its value, or the usual one.
    pub unit: String,
    /// A note where the path does not say enough: the ends of a link.
    pub note: String,
    takes: KeyType,
}

/// A file being edited: what saving it would write.
#[derive(Debug, Clone)]
pub struct Draft {
    /// A cluster or a model.
    pub kind: Kind,
    /// The id under which it is saved.
    pub id: String,
    /// The user's own file that it takes the place of; a new file without one.
    pub replaces: Option<PathBuf>,
    document: DocumentMut,
    /// The origin of a copy.
    origin: Option<Box<Self>>,
}

impl Draft {
    /// A copy of a scenario's cluster, or else of its model, to edit: a new file for one that the program or a snapshot
    /// carries, the file itself for one of the user's.
    pub fn copy_of(library: &Library, kind: Kind, scenario: &Scenario) -> Result<Self, String> {
        let (id, known, own) = if kind == Kind::Cluster {
            let (id, facts) = (&scenario.cluster.id, &scenario.cluster);
            (id, library.cluster(id).is_ok_and(|known| known == *facts), toml::to_string(&**facts))
        } else {
            let (id, facts) = (&scenario.model.id, &scenario.model);
            (id, library.model(id).is_ok_and(|known| known == *facts), toml::to_string(&**facts))
        };
        let entry = library.entries(kind).find(|entry| known && entry.id == *id);
        // A file that is like another one does not have all fields.
        let whole = entry.filter(|entry| matches!(read::like(&entry.text), Ok(None)));
        let text = match whole {
            Some(entry) => entry.text.to_string(),
            None => own.map_err(|error| error.to_string())?,
        };
        let document = text.parse().map_err(|error: toml_edit::TomlError| printable(error.message()))?;
        let replaces = match entry {
            Some(PresetFile { origin: Origin::File(path), .. }) => Some(path.clone()),
            _ => None,
        };
        let copied = Self { kind, id: id.clone(), replaces, document, origin: None };
        if copied.replaces.is_some() {
            return Ok(copied);
        }
        Ok(Self { id: library.free_id(kind, id), origin: Some(Box::new(copied.clone())), ..copied })
    }

    /// The fields, in the order of the file's format.
    pub fn slots(&self) -> Vec<DraftField> {
        let keys = match self.kind {
            Kind::Cluster => schema::keys::<Cluster>(),
            _ => schema::keys::<Model>(),
        };
        let mut keys = keys.unwrap_or_default();
        keys.retain(|key| !KEPT.contains(&key.path.as_str()));
        self.expanded(keys).into_iter().map(|key| self.slot(key)).collect()
    }

    /// The keys, with those of an array once for each item that the file has.
    fn expanded(&self, keys: Vec<SchemaKey>) -> Vec<SchemaKey> {
        let Some(array) = keys.iter().find_map(|key| key.path.split_once("[]")).map(|(array, _)| array.to_owned())
        else {
            return keys;
        };
        let each = format!("{array}[]");
        let (inside, outside): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| key.path.starts_with(&each));
        let item = |index: usize| {
            let at = |key: &SchemaKey| key.path.replacen(&each, &format!("{array}[{index}]"), 1);
            self.expanded(inside.iter().map(|key| SchemaKey { path: at(key), ..key.clone() }).collect())
        };
        self.expanded(outside).into_iter().chain((0..self.count(&array)).flat_map(item)).collect()
    }

    /// How many items an array has.
    fn count(&self, path: &str) -> usize {
        match self.item_at(path) {
            Some(Item::ArrayOfTables(tables)) => tables.len(),
            Some(other) => other.as_array().map_or(0, toml_edit::Array::len),
            None => 0,
        }
    }

    fn slot(&self, SchemaKey { path, takes }: SchemaKey) -> DraftField {
        let text = self.text_at(&path);
        let (value, unit) = match (&takes, text.split_once(' ')) {
            (KeyType::Quantity(_), Some((value, unit))) => (value.to_owned(), unit.to_owned()),
            (KeyType::Quantity(usual), None) if text.is_empty() => (text, usual.clone()),
            _ => (text, String::new()),
        };
        DraftField { value, unit, note: self.note(&path), path, takes }
    }

    /// The note of a field: the ends of a link, whose a level's rate is and where it runs.
    fn note(&self, path: &str) -> String {
        let Some((table, key)) = path.rsplit_once('.') else { return String::new() };
        if table.contains("links[") {
            let [a, b] = ["a", "b"].map(|end| self.text_at(&format!("{table}.{end}")));
            return format!("between {a} and {b}");
        }
        let level = table.strip_prefix("levels[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok());
        let name = |level: usize| self.text_at(&format!("levels[{level}].name"));
        match (key, level) {
            ("bandwidth" | "injection", Some(0)) => format!("device, in the {}", name(0)),
            ("bandwidth", Some(level)) => format!("device, between {}s", name(level - 1)),
            // The ports of a node: its devices share them.
            ("injection", Some(level)) => format!("of a whole {}", name(level - 1)),
            _ => String::new(),
        }
    }

    /// Gives a field a text, in its unit where the text names none; no text leaves a field out that need not be given.
    /// A value that cannot stand there is refused with how to write it.
    pub fn set(&mut self, slot: &DraftField, text: &str) -> Result<(), String> {
        let text = printable(text.trim());
        let bare = !slot.unit.is_empty() && text.replace('_', "").parse::<f64>().is_ok();
        let text = if bare { format!("{text} {}", slot.unit) } else { text };
        let mut changed = self.clone();
        if slot.path == "device.memory" {
            // It was of a device with other memory.
            changed.put("device.usable", None)?;
        }
        changed.put(&slot.path, if text.is_empty() { None } else { Some(slot.takes.value(&text)?) })?;
        match changed.refusal() {
            Some(_) if text.is_empty() && self.refusal().is_none() => return Err("must be given".to_owned()),
            Some(Problem { field, what, .. }) if field == slot.path => return Err(what),
            // What else is wrong with the copy is said at its own field.
            _ => *self = changed,
        }
        Ok(())
    }

    /// The first field that cannot be read.
    fn refusal(&self) -> Option<Problem> {
        by_field(&read::unread(self.kind, &self.text())?).into_iter().next()
    }

    /// Everything that is wrong with the copy as a whole.
    pub fn problems(&self) -> Vec<Problem> {
        let text = self.text();
        let wrong = match self.kind {
            Kind::Cluster => read::cluster(&self.id, &text).err(),
            _ => read::model(&self.id, &text).err(),
        };
        wrong.as_ref().map_or_else(Vec::new, by_field)
    }

    /// The exact parameters of a model, in words; none while something is wrong with it.
    pub fn counts(&self) -> Option<String> {
        let model = read::model(&self.id, &self.text()).ok().filter(|_| self.kind == Kind::Model)?;
        Some(model.counts())
    }

    /// The file to write, once nothing is wrong with it.
    pub fn saving(&self) -> Saving {
        let text = self.attributed().text();
        Saving { kind: self.kind, id: self.id.clone(), replaces: self.replaces.clone(), text }
    }

    /// The draft with sources that say of a copy what it is one of and what was changed by hand. A source that was
    /// written by hand itself stays, and so does that of a table in which nothing was changed. A copy is called by its id
    /// unless it got a name of its own: reports would take it for the original.
    fn attributed(&self) -> Self {
        let mut copy = self.clone();
        let Some(origin) = &self.origin else { return copy };
        let paths: Vec<String> = self.slots().into_iter().map(|slot| slot.path).collect();
        let is_changed = |path: &str| self.text_at(path) != origin.text_at(path);
        if !is_changed(NAME) {
            let _ = copy.put(NAME, Some(self.id.as_str().into()));
        }
        // A source is that of its table, and of the tables inside that have none.
        let tables: Vec<&str> = paths.iter().filter_map(|path| path.strip_suffix(SOURCE)).collect();
        let table_of =
            |path: &str| tables.iter().filter(|table| path.starts_with(**table)).max_by_key(|table| table.len());
        for table in &tables {
            let source = format!("{table}{SOURCE}");
            let own = |path: &&String| table_of(path) == Some(table) && !path.ends_with(SOURCE) && *path != NAME;
            let changed: Vec<&str> =
                paths.iter().filter(own).filter(|path| is_changed(path)).map(|path| &path[table.len()..]).collect();
            if is_changed(&source) || changed.is_empty() && !table.is_empty() {
                continue;
            }
            let what = if changed.is_empty() { String::new() } else { format!(", changed: {}", changed.join(", ")) };
            let there = origin.text_at(&source);
            let there = if there.is_empty() { there } else { format!("; there: {there}") };
            // A path of the file leads to its place.
            let _ = copy.put(&source, Some(format!("copied from {}{what}{there}", origin.id).into()));
        }
        copy
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
        let lost = || "is in no table of the file".to_owned();
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

/// The mistakes of a file, by their fields.
fn by_field(error: &FileError) -> Vec<Problem> {
    let split = |message: &str| match message.split_once(": ") {
        Some((path, must)) => Problem::must(path, must),
        None => Problem::must("", message),
    };
    error.mistakes.iter().map(|mistake| split(&mistake.message)).collect()
}

impl KeyType {
    /// A text as a file holds it; whether a quantity can be read shows where the file is.
    fn value(&self, text: &str) -> Result<Value, String> {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Self::Text => Ok(text.into()),
            Self::Count => field::count(text).map(|count| i64::from(count).into()),
            Self::Number => number.map(Value::from).ok_or_else(|| "write a number, like 0.5".to_owned()),
            Self::Switch => field::switch(text).map(Value::from),
            Self::Word(words) if words.contains(&text) => Ok(text.into()),
            Self::Word(words) => Err(format!("write one of {}", words.join(", "))),
            Self::Quantity(_) => Ok(number.map_or_else(|| text.into(), Value::from)),
        }
    }
}

#[cfg(test)]
mod tests;
