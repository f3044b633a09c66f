//! The snapshots and sets that lie in some directories, with enough of each to choose by. Not for opening them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::figures::Figures;
use shardscope_engine::disk;
use shardscope_engine::scenario::Field;
use shardscope_engine::scenario::file::{Source, printable};
use shardscope_engine::units::devices;

use super::content::{KIND, Snapshot};
use super::set::Set;
use super::{open, set};

/// The most files that are looked into.
const MOST: usize = 500;

/// A file that can be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub path: PathBuf,
    /// Its file name, without what could command a terminal.
    pub name: String,
    /// Its summary, or why it cannot be opened.
    pub holds: Result<Vec<HeldSnapshot>, String>,
    pub is_set: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HeldSnapshot {
    pub name: String,
    /// The scenario in short.
    pub what: String,
    /// The version of shardscope that wrote it.
    pub version: String,
    pub figures: Figures,
}

/// The most folders that are remembered, and the most bytes that their list takes.
const MOST_FOLDERS: usize = 50;
const MOST_BYTES: u64 = 1 << 18;

/// Where snapshots are kept: the working directory, the data directory, and the folders that a file remembers.
pub fn places(remembered: Option<&Path>) -> Vec<PathBuf> {
    let data = disk::own_folders().map(|folders| folders.data_dir().to_owned());
    let mut places = vec![PathBuf::from(".")];
    let mut seen = vec![absolute(Path::new("."))];
    for place in data.into_iter().chain(remembered.map(folders).unwrap_or_default()) {
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
    let _ = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| disk::replace(file, &text));
}

/// The folders that a file remembers, the latest first.
fn folders(file: &Path) -> Vec<PathBuf> {
    let text = disk::read_text(file, MOST_BYTES).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|folder| folder.is_absolute()).take(MOST_FOLDERS).collect()
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
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
mod tests {
    use super::*;
    use crate::figures::report::tests::{evaluation, scenario};
    use std::time::{Duration, SystemTime};

    #[test]
    fn snapshots_and_sets_are_listed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let (scenario, evaluation) = (scenario(), evaluation(&scenario()));
        let snapshot = Snapshot::new(&scenario, &evaluation).to_toml().unwrap();
        write("one.toml", &snapshot);
        write(
            "pair.toml",
            &Set::new([("A", &scenario, &evaluation), ("B", &scenario, &evaluation)]).to_toml().unwrap(),
        );
        write("broken.toml", &snapshot.replace("compute_units = ", "compute_units = 0 # "));
        write("scenario.toml", "format = 1\n");
        write("Cargo.toml", "[package]\nname = \"x\"\n");
        write("notes.txt", &snapshot);
        fs::create_dir(directory.path().join("folder.toml")).unwrap();
        let mut found = list(&[directory.path().to_owned(), directory.path().join("none")]);
        found.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<(&str, bool)> = found.iter().map(|listed| (listed.name.as_str(), listed.is_set)).collect();
        assert_eq!(names, [("broken.toml", false), ("one.toml", false), ("pair.toml", true)]);
        assert!(found[0].holds.as_ref().unwrap_err().contains("broken.toml:"), "{:?}", found[0].holds);
        let one = &found[1].holds.as_ref().unwrap()[0];
        assert_eq!(one.what, "MPT-7B, DGX H100, fsdp, 8 nodes");
        assert_eq!(one.figures, Figures::new(&scenario, &evaluation));
        let pair: Vec<&str> = found[2].holds.as_ref().unwrap().iter().map(|held| held.name.as_str()).collect();
        assert_eq!(pair, ["A", "B"]);
    }

    #[test]
    fn the_latest_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        let snapshot = Snapshot::new(&scenario(), &evaluation(&scenario())).to_toml().unwrap();
        for (name, seconds) in [("old", 1), ("new", 3), ("middle", 2)] {
            let path = directory.path().join(format!("{name}.toml"));
            fs::write(&path, &snapshot).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        let names: Vec<String> = list(&[directory.path().to_owned()]).into_iter().map(|listed| listed.name).collect();
        assert_eq!(names, ["new.toml", "middle.toml", "old.toml"]);
    }

    #[test]
    fn what_cannot_be_deleted_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one.toml");
        fs::write(&path, "").unwrap();
        assert_eq!(delete(&path), Ok(()));
        assert!(!path.exists());
        assert!(delete(&path).unwrap_err().starts_with("cannot delete "));
    }

    #[test]
    fn folders_are_remembered_the_latest_first_and_each_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("state/folders.txt");
        let folders: Vec<_> = ["a", "b"].map(|name| home.path().join(name)).into();
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
        }
        for at in [0, 1, 0, 0] {
            remember(&file, &folders[at].join("one.toml"));
        }
        let known = places(Some(&file));
        let found: Vec<_> =
            known.iter().filter(|place| place.starts_with(home.path().canonicalize().unwrap())).collect();
        assert_eq!(found.len(), 2, "{known:?}");
        assert!(found[0].ends_with("a") && found[1].ends_with("b"), "{found:?}");
        assert_eq!(known[0], Path::new("."));
        // The folder one is in is not looked into twice.
        remember(&file, &std::env::current_dir().unwrap().join("here.toml"));
        assert_eq!(places(Some(&file)).len(), known.len());
        // What is no list of folders remembers none.
        std::fs::write(&file, "\u{1}\nrelative\n").unwrap();
        assert_eq!(places(Some(&file)), places(None));
    }
}
