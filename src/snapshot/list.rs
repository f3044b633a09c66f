//! The snapshots and sets that lie in some directories, with enough of each to choose by. Not for opening them.

use std::fs;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::figures::Figures;
use crate::scenario::Field;
use crate::scenario::file::{Source, printable};
use crate::units::devices;

use super::content::{KIND, Snapshot};
use super::set::Set;
use super::{open, set};

/// The most files that are looked into.
const MOST: usize = 500;

/// A file that can be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// Its file name, without what could command a terminal.
    pub name: String,
    /// What it holds, or why it cannot be opened.
    pub holds: Result<Vec<HeldSnapshot>, String>,
    /// Whether it is a set.
    pub is_set: bool,
}

/// One snapshot in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldSnapshot {
    /// What it is called.
    pub name: String,
    /// What it is of, in short.
    pub what: String,
    /// The version of shardscope that wrote it.
    pub version: String,
    /// What came out.
    pub figures: Figures,
}

/// Where snapshots are kept: the working directory, and the data directory.
pub fn places() -> Vec<PathBuf> {
    let data = ProjectDirs::from("", "", "shardscope").map(|dirs| dirs.data_dir().to_owned());
    std::iter::once(PathBuf::from(".")).chain(data).collect()
}

/// The snapshots and sets in some directories, the latest first. Files of other kinds are passed over; a directory that
/// cannot be read has none.
pub fn list(places: &[PathBuf]) -> Vec<Listed> {
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let path = entry.path();
        let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        path.extension().is_some_and(|extension| extension == "toml").then(|| (data.modified().ok(), path))
    };
    let mut files: Vec<_> = entries.filter_map(file).collect();
    // The latest first, so that the cut takes the oldest.
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    files.truncate(MOST);
    files.into_iter().filter_map(|(_, path)| look_into(path)).collect()
}

/// `None` for what says that it is something else.
fn look_into(path: PathBuf) -> Option<Listed> {
    let text = open::read(&path).ok()?;
    let kind = Source::new(&text).ok()?.text("kind").map(str::to_owned);
    let holds = match kind.as_deref() {
        Some(KIND) => Snapshot::parse(&text).map(|snapshot| vec![HeldSnapshot::new("", &snapshot)]),
        Some(set::KIND) => Set::parse(&text)
            .map(|set| set.members.iter().map(|member| HeldSnapshot::new(&member.name, &member.snapshot)).collect()),
        _ => return None,
    };
    let name = path.file_name().map_or_else(String::new, |name| printable(&name.to_string_lossy()));
    let is_set = kind.as_deref() == Some(set::KIND);
    let holds = holds.map_err(|error| error.in_file(&name).to_string());
    Some(Listed { path, name, holds, is_set })
}

impl HeldSnapshot {
    fn new(name: &str, snapshot: &Snapshot) -> Self {
        let Snapshot { scenario, model, cluster, .. } = snapshot;
        let count = |field: Field| scenario.plan.get(field)?.get::<u32>();
        let size = match (count(Field::Nodes), count(Field::Devices)) {
            (Some(1), _) | (None, None) => "1 node".to_owned(),
            (Some(nodes), _) => format!("{nodes} nodes"),
            (None, Some(count)) => devices(count),
        };
        Self {
            name: printable(name),
            what: printable(&format!("{}, {}, {}, {size}", model.name, cluster.name, scenario.strategy)),
            version: printable(&snapshot.version),
            figures: snapshot.evaluation.clone(),
        }
    }
}

/// Removes a file.
pub fn delete(path: &Path) -> Result<(), String> {
    let named = || printable(&path.display().to_string());
    fs::remove_file(path).map_err(|error| format!("cannot delete {}: {error}", named()))
}

#[cfg(test)]
mod tests;
