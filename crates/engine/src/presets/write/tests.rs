//! Files written and read again.

use super::*;

fn saving(library: &Library, replaces: Option<PathBuf>) -> Saving {
    let text = library
        .entries(Kind::Model)
        .find(|entry| entry.id == "mpt-7b")
        .unwrap()
        .text
        .replace("layers = 32", "layers = 33");
    Saving { kind: Kind::Model, id: "mine".to_owned(), replaces, text }
}

#[test]
fn a_copy_is_written_whole_into_the_users_folder_which_need_not_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("new");
    let (library, warnings) = Library::embedded().with_folders(Some(home.clone()), &[]);
    assert_eq!(warnings, []);
    let (with, path) = library.save(&saving(&library, None)).unwrap();
    assert_eq!(path, home.join("models/mine.toml"));
    assert_eq!(with.model("mine").unwrap().layers, 33);
    assert_eq!(library.reload().0.model("mine").unwrap().layers, 33, "and from the disk");
    let left: Vec<_> = fs::read_dir(home.join("models")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing half-written is left: {left:?}");
    let again = library.save(&saving(&library, None)).unwrap_err();
    assert!(again.contains("already exists; choose another id"), "{again}");
    let mut over = saving(&library, Some(path.clone()));
    over.text = over.text.replace("layers = 33", "layers = 34");
    with.save(&over).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("layers = 34"), "a user's own file is replaced");
}

#[test]
fn what_cannot_be_written_is_said_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("models"), "a file where the folder should be").unwrap();
    let (library, _) = Library::embedded().with_folders(Some(folder.path().to_owned()), &[]);
    let said = library.save(&saving(&library, None)).unwrap_err();
    assert!(said.starts_with("cannot write ") && said.contains("models/mine.toml"), "{said}");
    let homeless = Library::embedded().save(&saving(&library, None)).unwrap_err();
    assert!(homeless.contains("--config"), "{homeless}");
    let mut wrong = saving(&library, None);
    wrong.id = "../mine".to_owned();
    assert!(library.save(&wrong).is_err(), "an id leads out of no folder");
}

#[test]
fn what_is_broken_on_disk_stays_as_it_was_and_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (library, _) = Library::embedded().with_folders(Some(folder.path().to_owned()), &[]);
    let (library, path) = library.save(&saving(&library, None)).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let line = good.lines().position(|line| line.starts_with("layers")).unwrap() + 1;
    fs::write(&path, good.replace("layers = 33", "layers = -1")).unwrap();
    let (library, warnings) = library.reload();
    assert_eq!(library.model("mine").unwrap().layers, 33);
    let said = warnings[0].to_string();
    assert!(
        said.contains("mine.toml: ") && said.contains(&format!("line {line}, ")) && said.contains("layers"),
        "{said}"
    );
    fs::write(&path, good.replace("layers = 33", "layers = 40")).unwrap();
    let (library, warnings) = library.reload();
    assert_eq!((library.model("mine").unwrap().layers, warnings.len()), (40, 0));
    fs::remove_file(&path).unwrap();
    assert!(library.reload().0.model("mine").is_err(), "a file that is gone is gone");
}
