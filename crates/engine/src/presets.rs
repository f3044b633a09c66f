//! The presets: clusters, stacks, calibrations, models, strategies and scenarios, read from texts, merged and looked up.
//!
//! A later text of the same kind and name wins. Not for the files that the texts come from, nor for what a scenario
//! means: that is [`crate::scenario`]'s, which takes a preset scenario as text.

pub mod read;
mod releases;
mod report;
mod resolve;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use strum::IntoStaticStr;

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::Strategy;
use crate::scenario::field::{Field, PresetField};
use crate::scenario::file::ScenarioFile;
use crate::stack::{Calibration, Runs, Stack};

use read::Preset;

pub use report::Unknown;

/// The kind of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// A machine.
    Cluster,
    /// A training stack.
    Stack,
    /// Efficiency of software on hardware.
    Calibration,
    /// A transformer.
    Model,
    /// A way of placing the state.
    Strategy,
    /// A cluster, a stack, a model and a strategy together, with a plan.
    Scenario,
}

impl Kind {
    /// All kinds, in the order in which lists show them.
    pub const ALL: [Self; 6] =
        [Self::Cluster, Self::Stack, Self::Calibration, Self::Model, Self::Strategy, Self::Scenario];

    /// The folder that holds presets of this kind.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Cluster => "clusters",
            Self::Stack => "stacks",
            Self::Calibration => "calibration",
            Self::Model => "models",
            Self::Strategy => "strategies",
            Self::Scenario => "scenarios",
        }
    }

    /// The kind of preset that a field names; `None` for a field of the plan.
    pub fn from_field(field: Field) -> Option<Self> {
        Some(match field.preset()? {
            PresetField::Cluster => Self::Cluster,
            PresetField::Stack => Self::Stack,
            PresetField::Model => Self::Model,
            PresetField::Strategy => Self::Strategy,
        })
    }

    /// The flag that takes the id of one; `None` for what no flag takes.
    pub fn flag(self) -> Option<String> {
        let field = Field::all().find(|field| Self::from_field(*field) == Some(self))?;
        Some(format!("--{}", field.spec().flag))
    }

    /// The word for one of them.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Where a preset comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program itself.
    Embedded,
    /// A file of the user.
    File(PathBuf),
}

/// One preset of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetFile {
    /// Its name in flags and scenario files: the file's name without `.toml`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The folder that it belongs to.
    pub kind: Kind,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether it stands in for an embedded preset of the same id.
    pub overrides_embedded: bool,
    /// The file's text.
    pub text: Arc<str>,
}

/// Presets that a program carries, as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PresetTexts {
    /// Folder, id and text of each preset, in the order in which lists show them.
    pub presets: &'static [(&'static str, &'static str, &'static str)],
    /// Id of each calibration that was fitted, and the table of the runs behind it.
    pub evidence: &'static [(&'static str, &'static str)],
}

/// The folders whose files are in a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// The user's own, which need not exist yet.
    pub home: Option<PathBuf>,
    /// Others, of which a later one wins.
    pub others: Vec<PathBuf>,
}

/// The most characters of an id that is made of a name.
const MOST_OF_ID: usize = 60;

type ById<T> = BTreeMap<String, Arc<T>>;

/// All presets, by kind and id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    /// Where its files stand, for whoever reads them again or writes another one.
    pub folders: Folders,
    texts: PresetTexts,
    entries: Vec<PresetFile>,
    clusters: ById<Cluster>,
    stacks: ById<Stack>,
    calibrations: ById<Calibration>,
    models: ById<Model>,
    strategies: ById<Strategy>,
}

impl Library {
    /// Gives a file's job the devices with which its cluster begins, where that is less than whole nodes.
    pub fn begin(&self, file: &mut ScenarioFile) {
        if let Some(devices) = self.cluster(&file.cluster).ok().and_then(|cluster| cluster.begins_with) {
            file.put(Field::Devices, Some(devices.into()));
        }
    }

    /// The presets that a program carries. A text that cannot be used is left out: the tests of whoever carries it read
    /// every one.
    pub fn of(texts: PresetTexts) -> Self {
        let mut library = Self { texts, ..Self::default() };
        for (folder, id, text) in texts.presets {
            if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.folder() == *folder) {
                let _ = library.add(kind, id, text, Origin::Embedded);
            }
        }
        library
    }

    /// The presets that the program carries, without those of any folder.
    #[must_use]
    pub fn carried(&self) -> Self {
        Self::of(self.texts)
    }

    /// The table of the runs behind a calibration that the program carries; empty where there is none.
    pub fn carried_evidence(&self, id: &str) -> &'static str {
        self.texts.evidence.iter().find(|(name, _)| *name == id).map_or("", |(_, text)| text)
    }

    /// The presets of one kind: the embedded ones in the order of their table, then the user's by name.
    pub fn entries(&self, kind: Kind) -> impl Iterator<Item = &PresetFile> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// The name for people of the preset that a field names by its id.
    pub fn title(&self, field: Field, id: &str) -> Option<&str> {
        let entry = self.entries(Kind::from_field(field)?).find(|entry| entry.id == id)?;
        Some(&entry.name)
    }

    /// A cluster.
    pub fn cluster(&self, id: &str) -> Result<Arc<Cluster>, Unknown> {
        self.find(&self.clusters, Kind::Cluster, id)
    }

    /// A stack, with the plans that it runs like others. A release without a file of its own is another one, which a caveat
    /// names.
    pub fn stack(&self, id: &str) -> Result<Arc<Stack>, Unknown> {
        let found = self.find(&self.stacks, Kind::Stack, id);
        let found = found.or_else(|unknown| self.release(id).ok_or(unknown))?;
        let Some(runs) = found.runs.clone().filter(|runs| runs.like.is_some()) else { return Ok(found) };
        Ok(Arc::new(Stack { runs: Some(self.whole(runs)?), ..Stack::clone(&found) }))
    }

    /// The plans that a program can run, with the keys of the stacks that it is like.
    pub fn whole(&self, mut runs: Runs) -> Result<Runs, Unknown> {
        // As many steps as there are stacks: two that name each other end.
        for _ in 0..self.stacks.len() {
            let Some(like) = runs.like.take() else { break };
            runs = runs.over(self.find(&self.stacks, Kind::Stack, &like)?.runs.clone().unwrap_or_default());
        }
        Ok(Runs { like: None, ..runs })
    }

    /// A calibration.
    pub fn calibration(&self, id: &str) -> Result<Arc<Calibration>, Unknown> {
        self.find(&self.calibrations, Kind::Calibration, id)
    }

    /// A model.
    pub fn model(&self, id: &str) -> Result<Arc<Model>, Unknown> {
        self.find(&self.models, Kind::Model, id)
    }

    /// A strategy.
    pub fn strategy(&self, id: &str) -> Result<Arc<Strategy>, Unknown> {
        self.find(&self.strategies, Kind::Strategy, id)
    }

    /// A scenario, as text.
    pub fn scenario_text(&self, id: &str) -> Result<&PresetFile, Unknown> {
        self.entries(Kind::Scenario).find(|entry| entry.id == id).ok_or_else(|| self.unknown(Kind::Scenario, id))
    }

    fn find<T>(&self, facts: &ById<T>, kind: Kind, id: &str) -> Result<Arc<T>, Unknown> {
        let alike = || facts.iter().find(|(known, _)| known.eq_ignore_ascii_case(id)).map(|(_, found)| found);
        facts.get(id).or_else(alike).cloned().ok_or_else(|| self.unknown(kind, id))
    }

    fn unknown(&self, kind: Kind, id: &str) -> Unknown {
        let other = Kind::ALL.into_iter().find(|kind| self.entries(*kind).any(|entry| entry.id == id));
        Unknown::new(kind, id, self.entries(kind).map(|entry| entry.id.as_str()), other)
    }

    /// How many presets are not what they are in another library.
    pub fn difference(&self, other: &Self) -> usize {
        let same = |entry: &&PresetFile| {
            let of = |there: &&PresetFile| there.kind == entry.kind && there.id == entry.id;
            other.entries.iter().find(of).is_some_and(|there| there.text == entry.text)
        };
        let gone = other.entries.len().saturating_sub(self.entries.len());
        self.entries.iter().filter(|entry| !same(entry)).count() + gone
    }

    /// Why a new preset cannot have an id.
    pub fn refusal(&self, kind: Kind, id: &str) -> Option<String> {
        let taken = self.entries(kind).any(|entry| entry.id == id).then(|| "is taken; choose another id".to_owned());
        read::no_id(id).or(taken)
    }

    /// An id for what was imported and has no file of its own: the name in small letters, `mpt-7b`, or where something
    /// has that, `mpt-7b-imported`.
    pub fn new_id(&self, kind: Kind, name: &str) -> String {
        let name: String = name.to_lowercase().chars().take(MOST_OF_ID).collect();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric() && !"._+".contains(c));
        let id = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        let id = if id.is_empty() { kind.word().to_owned() } else { id };
        let is_taken = |id: &str| self.entries(kind).any(|entry| entry.id == id);
        let imported = format!("{id}-imported");
        match (is_taken(&id), is_taken(&imported)) {
            (false, _) => id,
            (true, false) => imported,
            (true, true) => self.free_id(kind, &imported),
        }
    }

    /// An id like this one that nothing has: `mpt-7b-2`.
    pub fn free_id(&self, kind: Kind, id: &str) -> String {
        let taken = |id: &String| self.entries(kind).any(|entry| entry.id == *id);
        (2..u32::MAX).map(|count| format!("{id}-{count}")).find(|id| !taken(id)).unwrap_or_default()
    }

    /// Reads a preset and puts it in the place of one with the same id, or at the end.
    pub fn add(&mut self, kind: Kind, id: &str, text: &str, origin: Origin) -> Result<(), String> {
        let name = match kind {
            Kind::Cluster => keep(&mut self.clusters, id, text)?,
            Kind::Stack => keep(&mut self.stacks, id, text)?,
            Kind::Calibration => keep(&mut self.calibrations, id, text)?,
            Kind::Model => keep(&mut self.models, id, text)?,
            Kind::Strategy => keep(&mut self.strategies, id, text)?,
            Kind::Scenario => read::scenario_name(id, text)?,
        };
        let mut entry =
            PresetFile { id: id.to_owned(), name, kind, origin, overrides_embedded: false, text: text.into() };
        match self.entries.iter_mut().find(|other| other.kind == kind && other.id == id) {
            Some(other) => {
                entry.overrides_embedded = other.overrides_embedded || other.origin == Origin::Embedded;
                *other = entry;
            }
            None => self.entries.push(entry),
        }
        Ok(())
    }
}

/// Reads a preset, over the keys of the one that it is like, keeps it and returns its name.
fn keep<P: Preset>(facts: &mut ById<P>, id: &str, text: &str) -> Result<String, String> {
    let preset: P = match read::like(text)? {
        None => read::preset(id, text)?,
        Some((like, own)) => {
            let base = facts.get(&like).ok_or_else(|| format!("like: there is no '{like}' to be like"))?;
            read::over(id, own, &**base)?
        }
    };
    let name = preset.name().to_owned();
    facts.insert(id.to_owned(), Arc::new(preset));
    Ok(name)
}

#[cfg(test)]
mod tests;
