//! The presets: clusters, stacks, calibrations, models, strategies and scenarios, read from texts, merged and looked up.
//!
//! A later text of the same kind and name wins. Not for the files that the texts come from, nor for what a scenario
//! means: that is [`crate::scenario`]'s, which takes a preset scenario as text.

mod by_id;
pub mod read;
mod releases;
mod report;
mod resolve;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use strum::IntoStaticStr;

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::Strategy;
use crate::scenario::field::{Field, PresetField};
use crate::scenario::file::ScenarioFile;
use crate::stack::{Calibration, Runs, Stack};

use by_id::ById;
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
#[derive(Debug, Clone)]
pub struct PresetFile {
    /// Its name in flags and scenario files: the file's name without `.toml`.
    pub id: String,
    name: OnceLock<String>,
    /// The folder that it belongs to.
    pub kind: Kind,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether it stands in for an embedded preset of the same id.
    pub overrides_embedded: bool,
    /// The file's text.
    pub text: Arc<str>,
}

/// Its name follows from the rest, whether anyone has asked for it or not.
impl PartialEq for PresetFile {
    fn eq(&self, other: &Self) -> bool {
        let facts = |file: &Self| (file.kind, file.id.clone(), file.overrides_embedded, file.origin.clone());
        self.text == other.text && facts(self) == facts(other)
    }
}

impl PresetFile {
    fn new(kind: Kind, id: &str, text: &str, origin: Origin) -> Self {
        let (id, text) = (id.to_owned(), text.into());
        Self { id, name: OnceLock::new(), kind, origin, overrides_embedded: false, text }
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        self.name.get_or_init(|| read::name(&self.text).unwrap_or_else(|| self.id.clone()))
    }
}

/// Presets that a program carries, as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PresetTexts {
    /// Folder, id and text of each preset, in the order in which lists show them.
    pub presets: &'static [(&'static str, &'static str, &'static str)],
    /// Id of each calibration that was fitted, and the table of the runs behind it.
    pub evidence: &'static [(&'static str, &'static str)],
}

impl PresetTexts {
    fn of<P: Preset>(self, kind: Kind) -> ById<P> {
        let of_kind = self.presets.iter().filter(|(folder, ..)| *folder == kind.folder());
        ById::new(of_kind.map(|(_, id, text)| (*id, *text)))
    }
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

/// All presets, by kind and id.
#[derive(Debug, Clone, Default)]
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

/// Presets follow from their files, whether anyone has asked for them or not.
impl PartialEq for Library {
    fn eq(&self, other: &Self) -> bool {
        self.folders == other.folders && self.texts == other.texts && self.entries == other.entries
    }
}

impl Library {
    /// Gives a file's job the devices with which its cluster begins, where that is less than whole nodes.
    pub fn begin(&self, file: &mut ScenarioFile) {
        if let Some(devices) = self.cluster(&file.cluster).ok().and_then(|cluster| cluster.begins_with) {
            file.put(Field::Devices, Some(devices.into()));
        }
    }

    /// The presets that a program carries.
    pub fn of(texts: PresetTexts) -> Self {
        let entry = |(folder, id, text): &(&str, &str, &'static str)| {
            let kind = Kind::ALL.into_iter().find(|kind| kind.folder() == *folder)?;
            Some(PresetFile::new(kind, id, text, Origin::Embedded))
        };
        Self {
            folders: Folders::default(),
            entries: texts.presets.iter().filter_map(entry).collect(),
            clusters: texts.of(Kind::Cluster),
            stacks: texts.of(Kind::Stack),
            calibrations: texts.of(Kind::Calibration),
            models: texts.of(Kind::Model),
            strategies: texts.of(Kind::Strategy),
            texts,
        }
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
        Some(entry.name())
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
        for _ in self.stacks.ids() {
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

    fn find<P: Preset>(&self, presets: &ById<P>, kind: Kind, id: &str) -> Result<Arc<P>, Unknown> {
        presets.find(id).ok_or_else(|| self.unknown(kind, id))
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
            Kind::Cluster => self.clusters.add(id, text)?,
            Kind::Stack => self.stacks.add(id, text)?,
            Kind::Calibration => self.calibrations.add(id, text)?,
            Kind::Model => self.models.add(id, text)?,
            Kind::Strategy => self.strategies.add(id, text)?,
            Kind::Scenario => read::scenario_name(id, text)?,
        };
        let mut entry = PresetFile { name: name.into(), ..PresetFile::new(kind, id, text, origin) };
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

#[cfg(test)]
mod tests;
