//! Files of the living, the stopped and the dead.

use std::time::SystemTime;

use tempfile::tempdir;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_nobody_has_locked_is_swept_at_once_and_what_someone_has_never() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (living, _own) = create(folder.path(), 0o666).unwrap();
    let long_ago = SystemTime::now() - 3 * UNLOCKED;
    // Its age is no sign of death: a stopped process may go on tomorrow.
    living.as_file().set_modified(long_ago).unwrap();
    let dead = format!(".shardscope-{}-dead01.tmp", machine());
    let elsewhere = ".shardscope-another_machine-abc123.tmp";
    for name in [&dead, elsewhere, ".shardscope-new020.tmp"] {
        File::create(at(name)).unwrap();
    }
    for name in [".shardscope-old020.tmp", "mine.tmp"] {
        File::create(at(name)).unwrap().set_modified(long_ago).unwrap();
    }
    sweep(folder.path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut kept =
        vec![elsewhere.to_owned(), ".shardscope-new020.tmp".to_owned(), name(living.path()), "mine.tmp".to_owned()];
    kept.sort();
    assert_eq!(names(folder.path()), kept);
    // Its writer has died.
    let path = living.into_temp_path().keep().unwrap();
    assert!(path.exists());
    sweep(folder.path());
    assert!(!path.exists());
}

#[test]
fn a_dying_process_takes_its_own_files_away_and_none_that_has_its_name() {
    let folder = tempdir().unwrap();
    let (named, own_file) = create(folder.path(), 0o666).unwrap();
    named.persist(folder.path().join("named")).unwrap();
    drop(own_file);
    let (_staged, _own) = create(folder.path(), 0o666).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    // The files of other tests in this process, for which this is no time to go, lie elsewhere.
    let own: Vec<PathBuf> = own().paths.iter().filter(|path| path.starts_with(folder.path())).cloned().collect();
    assert_eq!(own.len(), 1);
    fs::remove_file(&own[0]).unwrap();
    assert_eq!(names(folder.path()), ["named"]);
}
