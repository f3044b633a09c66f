//! The snapshots and sets that lie in some directories, with enough of each to choose by. Not for opening them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::figures::Figures;
use shardscope_engine::scenario::Field;
use shardscope_engine::scenario::file::{Source, printable};
use shardscope_engine::units::devices;
use shardscope_library::disk::{self, InputKind};

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
    /// Snapshots that the file holds, or why it cannot be opened.
    pub holds: Result<Vec<HeldSnapshot>, String>,
    /// Whether it is a set.
    pub is_set: bool,
}

/// One snapshot in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldSnapshot {
    /// Name of the snapshot.
    pub name: String,
    /// Short description of what the snapshot is of.
    pub what: String,
    /// The version of shardscope that wrote it.
    pub version: String,
    /// Figures that came out, if the snapshot says so.
    pub figures: Option<Figures>,
}

/// The most folders that are remembered.
const MOST_FOLDERS: usize = 50;

/// Where snapshots are kept: the working directory, the data directory, the folder with what sessions left, and the
/// folders that a file in it remembers.
pub fn places(remembered: Option<&Path>) -> Vec<PathBuf> {
    let data = disk::own_folders().map(|folders| folders.data_dir().to_owned());
    let mut places = vec![PathBuf::from(".")];
    let mut seen = vec![absolute(Path::new("."))];
    let sessions = remembered.and_then(Path::parent).map(Path::to_owned);
    for place in data.into_iter().chain(sessions).chain(remembered.map(folders).unwrap_or_default()) {
        if !seen.contains(&absolute(&place)) {
            seen.push(absolute(&place));
            places.push(place);
        }
    }
    places
}

/// Has a file remember the folder in which something was written, so that it is found from anywhere. Where that cannot
/// be, it is found in its folder.
pub fn remember(file: &Path, written: &Path) {
    let Some(folder) = written.parent().map(absolute) else { return };
    let mut known = folders(file);
    if known.first() == Some(&folder) {
        return;
    }
    known.retain(|other| *other != folder);
    known.insert(0, folder);
    known.truncate(MOST_FOLDERS);
    // A line each: a name with an end of a line in it, or one that is no text, is not kept.
    let lines = known.iter().filter_map(|folder| folder.to_str()).filter(|line| !line.contains('\n'));
    let text = lines.flat_map(|line| [line, "\n"]).collect::<String>();
    let _ = file.parent().map_or(Ok(()), disk::create_private_folder).and_then(|()| disk::replace_private(file, &text));
}

/// The folders that a file remembers, the latest first.
fn folders(file: &Path) -> Vec<PathBuf> {
    let text = disk::read_text(file, InputKind::Folders).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|folder| folder.is_absolute()).take(MOST_FOLDERS).collect()
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The snapshots and sets in some directories, the latest first, as long as `goes_on`. Files of other kinds are passed
/// over; a directory that cannot be read has none.
pub fn list(places: &[PathBuf], goes_on: &dyn Fn() -> bool) -> Vec<Listed> {
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
    files.into_iter().take_while(|_| goes_on()).filter_map(|(_, path)| look_into(path)).collect()
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
