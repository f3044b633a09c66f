use std::time::{Duration, SystemTime};

use super::*;
use crate::figures::report::tests::{evaluation, scenario};

#[test]
fn snapshots_and_sets_are_listed_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let (scenario, evaluation) = (scenario(), evaluation(&scenario()));
    let snapshot = Snapshot::new(&scenario, &evaluation).to_toml().unwrap();
    write("one.toml", &snapshot);
    write("pair.toml", &Set::new([("A", &scenario, &evaluation), ("B", &scenario, &evaluation)]).to_toml().unwrap());
    write("broken.toml", &snapshot.replace("compute_units = ", "compute_units = 0 # "));
    write("scenario.toml", "format = 1\n");
    write("Cargo.toml", "[package]\nname = \"x\"\n");
    write("notes.txt", &snapshot);
    fs::create_dir(directory.path().join("folder.toml")).unwrap();
    let mut found = list(&[directory.path().to_owned(), directory.path().join("none")], &|| true);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<(&str, bool)> = found.iter().map(|listed| (listed.name.as_str(), listed.is_set)).collect();
    assert_eq!(names, [("broken.toml", false), ("one.toml", false), ("pair.toml", true)]);
    assert!(found[0].holds.as_ref().unwrap_err().contains("broken.toml:"), "{:?}", found[0].holds);
    let one = &found[1].holds.as_ref().unwrap()[0];
    assert_eq!(one.what, "MPT-7B, DGX H100, fsdp, 8 nodes");
    assert_eq!(one.figures, Some(Figures::new(&scenario, &evaluation)));
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
    let names: Vec<String> =
        list(&[directory.path().to_owned()], &|| true).into_iter().map(|listed| listed.name).collect();
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
    let found: Vec<_> = known.iter().filter(|place| place.starts_with(home.path().canonicalize().unwrap())).collect();
    // What sessions left is beside the list.
    assert_eq!(found.len(), 3, "{known:?}");
    assert!(["state", "a", "b"].iter().zip(&found).all(|(name, place)| place.ends_with(name)), "{found:?}");
    assert_eq!(known[0], Path::new("."));
    // The folder one is in is not looked into twice.
    remember(&file, &std::env::current_dir().unwrap().join("here.toml"));
    assert_eq!(places(Some(&file)).len(), known.len());
    // A file that is no list of folders remembers none.
    std::fs::write(&file, "\u{1}\nrelative\n").unwrap();
    assert_eq!(places(Some(&file)), [places(None), vec![home.path().join("state")]].concat());
}
