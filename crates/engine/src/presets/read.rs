//! From a file's text to a checked preset, or to one line that says what is wrong with it.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::Strategy;
use crate::problem::Problem;
use crate::scenario::file::{self, FileError, Mistake, Source, printable};
use crate::stack::{Calibration, Stack};
use crate::text::no_name;

use super::{Kind, Library};

/// The version of the preset formats.
const FORMAT: u32 = 1;

/// A preset of any kind.
pub(super) trait Preset: DeserializeOwned + Serialize {
    /// Takes the id that its file's name gives it.
    fn set_id(&mut self, id: &str);
    /// Its name for people.
    fn name(&self) -> &str;
    /// Everything that is wrong with it.
    fn problems(&self) -> Vec<Problem>;
}

macro_rules! preset {
    ($kind:ty, $name:ident, $problems:expr) => {
        impl Preset for $kind {
            fn set_id(&mut self, id: &str) {
                id.clone_into(&mut self.id);
            }

            fn name(&self) -> &str {
                &self.$name
            }

            fn problems(&self) -> Vec<Problem> {
                $problems(self)
            }
        }
    };
}

preset!(Cluster, name, Cluster::problems);
preset!(Stack, name, Stack::problems);
preset!(Calibration, id, Calibration::problems);
preset!(Model, name, Model::problems);
// What a sharding may be depends on the job: the scenario checks it.
preset!(Strategy, name, |_| Vec::new());

/// Why a text is no id; `None` where it is one.
pub fn no_id(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    if text.is_empty() || !text.chars().all(plain) {
        return Some("its name is not an id; use letters, digits, '.', '-', '_' and '+' before .toml".to_owned());
    }
    no_name(text).map(|why| format!("its name {why}"))
}

/// A preset with nothing wrong in it, over the keys of the one that it is like.
pub(super) fn preset<P: Preset>(id: &str, text: &str, find: impl FnOnce(&str) -> Option<Arc<P>>) -> Result<P, String> {
    match like(text)? {
        None => checked(id, text).map_err(|error| one_line(&error)),
        Some((like, own)) => {
            let base = find(&like).ok_or_else(|| format!("like: there is no '{like}' to be like"))?;
            over(id, own, &*base)
        }
    }
}

/// Reads a preset, with each mistake at its place.
fn checked<P: Preset>(id: &str, text: &str) -> Result<P, FileError> {
    let (mut preset, source) = file::read::<P>(text, FORMAT)?;
    preset.set_id(id);
    let problems = preset.problems();
    if problems.is_empty() { Ok(preset) } else { Err(source.mistakes(&problems)) }
}

/// The preset that a file is like, and the keys of its own; `None` where it is like none.
pub fn like(text: &str) -> Result<Option<(String, Table)>, String> {
    // Most files are like none, and are read once. What is wrong with one is said where it is.
    if !text.contains("\nlike") {
        return Ok(None);
    }
    let Ok((mut own, _)) = file::read::<Table>(text, FORMAT) else { return Ok(None) };
    match own.remove("like") {
        None => Ok(None),
        Some(Value::String(like)) => Ok(Some((like, own))),
        Some(_) => Err("like: must be the id of another preset".to_owned()),
    }
}

/// A preset with nothing wrong in it, of a file's own keys over those of another one. Mistakes have no place: what they are
/// in may stand in either file.
fn over<P: Preset>(id: &str, own: Table, base: &P) -> Result<P, String> {
    let base = Table::try_from(base).map_err(|error| error.to_string())?;
    let mut preset: P = merged(own, base).try_into().map_err(|error| printable(error.message()))?;
    preset.set_id(id);
    let problems: Vec<String> = preset.problems().iter().map(Problem::to_string).collect();
    if problems.is_empty() { Ok(preset) } else { Err(problems.join("; ")) }
}

/// A table with the keys of another one where it has none of its own, in the tables inside it too, but for those that are
/// themselves like something.
fn merged(own: Table, base: Table) -> Table {
    let mut all = base;
    for (key, value) in own {
        let value = match (all.remove(&key), value) {
            (Some(Value::Table(base)), Value::Table(own)) if !own.contains_key("like") => {
                Value::Table(merged(own, base))
            }
            (_, own) => own,
        };
        all.insert(key, value);
    }
    all
}

/// What keeps the text of a preset from being read, whatever else is wrong with it.
pub fn unread(kind: Kind, text: &str) -> Option<FileError> {
    match kind {
        Kind::Cluster => file::read::<Cluster>(text, FORMAT).err(),
        Kind::Stack => file::read::<Stack>(text, FORMAT).err(),
        Kind::Calibration => file::read::<Calibration>(text, FORMAT).err(),
        Kind::Model => file::read::<Model>(text, FORMAT).err(),
        Kind::Strategy => file::read::<Strategy>(text, FORMAT).err(),
        Kind::Scenario => Source::new(text).err(),
    }
}

/// A cluster with nothing wrong in it, or each mistake at its place.
pub fn cluster(id: &str, text: &str) -> Result<Cluster, FileError> {
    checked(id, text)
}

/// A model with nothing wrong in it, or each mistake at its place.
pub fn model(id: &str, text: &str) -> Result<Model, FileError> {
    checked(id, text)
}

/// The name that a preset's text gives it.
pub(super) fn name(text: &str) -> Option<String> {
    // Tables stand behind the fields at the top: the rest need not be read, unless what looks like one is none.
    let top = text.split("\n[").next()?;
    [top, text].into_iter().find_map(|text| Source::new(text).ok()?.text("name").map(str::to_owned))
}

/// The name of a scenario; the rest of the file is not read here.
pub(super) fn scenario_name(id: &str, text: &str) -> Result<String, String> {
    let source = Source::new(text).map_err(|error| one_line(&error))?;
    Ok(source.text("name").unwrap_or(id).to_owned())
}

impl Library {
    /// The cluster that a text outside the folders of presets describes. It gets an id that no preset has.
    pub fn cluster_from(&self, text: &str) -> Result<Cluster, FileError> {
        self.described(text, Kind::Cluster)
    }

    /// The model that a text outside the folders of presets describes. It gets an id that no preset has.
    pub fn model_from(&self, text: &str) -> Result<Model, FileError> {
        self.described(text, Kind::Model)
    }

    fn described<T: Preset>(&self, text: &str, kind: Kind) -> Result<T, FileError> {
        let (mut preset, source) = file::read::<T>(text, FORMAT)?;
        let problems = preset.problems();
        if !problems.is_empty() {
            return Err(source.mistakes(&problems));
        }
        let id = self.new_id(kind, preset.name());
        preset.set_id(&id);
        Ok(preset)
    }
}

/// The mistakes of a file in one line: where each is, then what.
fn one_line(error: &FileError) -> String {
    let line = |Mistake { line, column, message }: &Mistake| format!("line {line}, column {column}: {message}");
    error.mistakes.iter().map(line).collect::<Vec<_>>().join("; ")
}
