//! The user's files over those that the program carries, and what is wrong with them.

use std::sync::Arc;

use shardscope_presets::library as embedded;

use super::*;

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The embedded text of a preset.
fn text(kind: Kind, id: &str) -> Arc<str> {
    embedded().entries(kind).find(|entry| entry.id == id).unwrap().text.clone()
}

/// The warnings of a folder with this one file.
fn warning(file: &str, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), file, text);
    let (_, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].to_string().contains(file), "names the file: {}", warnings[0]);
    warnings[0].what.clone()
}

#[test]
fn the_users_file_wins_and_keeps_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mine = text(Kind::Cluster, "h100-80gb-dgx").replace("DGX H100\"", "Ours\"");
    write(folder.path(), "clusters/h100-80gb-dgx.toml", &mine);
    write(folder.path(), "clusters/ours.toml", &mine);
    write(folder.path(), "clusters/notes.txt", "not a preset");
    let (library, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
    assert_eq!(warnings, []);

    let cluster = library.cluster("h100-80gb-dgx").unwrap();
    assert_eq!((cluster.id.as_str(), cluster.name.as_str()), ("h100-80gb-dgx", "Ours"));
    let first = library.entries(Kind::Cluster).next().unwrap();
    assert_eq!((first.id.as_str(), first.name(), first.overrides_embedded), ("h100-80gb-dgx", "Ours", true));
    let last = library.entries(Kind::Cluster).last().unwrap();
    assert_eq!((last.id.as_str(), last.overrides_embedded), ("ours", false));
    assert_eq!(last.origin, Origin::File(folder.path().join("clusters/ours.toml")));
}

#[test]
fn a_later_folder_wins() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let llama = text(Kind::Model, "llama-2-7b");
    write(one.path(), "models/llama-2-7b.toml", &llama.replace("layers = 32", "layers = 33"));
    write(two.path(), "models/llama-2-7b.toml", &llama.replace("layers = 32", "layers = 34"));
    let (library, warnings) = with_folders(embedded(), None, &[one.path().to_owned(), two.path().to_owned()]);
    assert_eq!(warnings, []);
    assert_eq!(library.model("llama-2-7b").unwrap().layers, 34);
    assert!(library.entries(Kind::Model).find(|entry| entry.id == "llama-2-7b").unwrap().overrides_embedded);
}

#[test]
fn a_missing_folder_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let (library, warnings) = with_folders(embedded(), None, &[folder.path().join("nowhere")]);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().contains("nowhere: cannot be read"), "{}", warnings[0]);
    assert_eq!(library.difference(&embedded()), 0);
}

#[test]
fn bad_files_are_warnings_that_say_where_and_what() {
    let good = text(Kind::Model, "llama-2-7b");
    let line = good.lines().position(|line| line.starts_with("layers")).unwrap() + 1;
    for (file, text, parts) in [
        (
            "models/a.toml",
            good.replace("layers", "layres"),
            vec![format!("line {line}, column 1"), "layers".to_owned()],
        ),
        ("models/b.toml", good.replace("layers = 32", "layers = 0"), vec!["layers: must be at least 1".to_owned()]),
        ("models/c.toml", good.replace("format = 1", "format = 2"), vec!["use a shardscope newer than".to_owned()]),
        ("models/d.toml", good.replace("format = 1", ""), vec!["write 'format = 1'".to_owned()]),
        ("models/e.toml", good.replace("Llama 2 7B", r"\u001b[31m"), vec!["control characters".to_owned()]),
        ("models/f.toml", "layers = [".to_owned(), vec!["line 1, column".to_owned()]),
        ("models/g h.toml", good.to_string(), vec!["its name is not an id".to_owned()]),
        (
            "scenarios/h.toml",
            "name = 'x\u{9b}31m'".to_owned(),
            vec!["line 1, column 10: the file holds a control".to_owned()],
        ),
        ("scenarios/i.toml", "name = 'x\u{1b}[31m'".to_owned(), vec!["line 1, column 10".to_owned()]),
    ] {
        let what = warning(file, &text);
        assert!(!what.chars().any(char::is_control), "{what:?}");
        for part in parts {
            assert!(what.contains(&part), "{file}: {what}");
        }
    }
}

#[test]
fn a_bad_file_leaves_the_embedded_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "models/llama-2-7b.toml", "format = 1\n");
    let (library, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
    assert_eq!(warnings.len(), 1);
    assert_eq!(library.model("llama-2-7b").unwrap().layers, 32);
}

#[test]
fn a_folder_in_place_of_a_file_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("models/deep.toml")).unwrap();
    let (_, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
    assert!(warnings[0].what.contains("put a file there"), "{}", warnings[0]);
}

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
    let (library, warnings) = with_folders(embedded(), Some(home.clone()), &[]);
    assert_eq!(warnings, []);
    let (with, path) = save(&library, &saving(&library, None)).unwrap();
    assert_eq!(path, home.join("models/mine.toml"));
    assert_eq!(with.model("mine").unwrap().layers, 33);
    assert_eq!(reload(&library).0.model("mine").unwrap().layers, 33, "and from the disk");
    let left: Vec<_> = fs::read_dir(home.join("models")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing half-written is left: {left:?}");
    let again = save(&library, &saving(&library, None)).unwrap_err();
    assert!(again.contains("already exists; choose another id"), "{again}");
    let mut over = saving(&library, Some(path.clone()));
    over.text = over.text.replace("layers = 33", "layers = 34");
    save(&with, &over).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("layers = 34"), "a user's own file is replaced");
}

#[test]
fn what_cannot_be_written_is_said_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("models"), "a file where the folder should be").unwrap();
    let (library, _) = with_folders(embedded(), Some(folder.path().to_owned()), &[]);
    let said = save(&library, &saving(&library, None)).unwrap_err();
    assert!(said.starts_with("cannot write ") && said.contains("models/mine.toml"), "{said}");
    let homeless = save(&embedded(), &saving(&library, None)).unwrap_err();
    assert!(homeless.contains("--config"), "{homeless}");
    let mut wrong = saving(&library, None);
    wrong.id = "../mine".to_owned();
    assert!(save(&library, &wrong).is_err(), "an id leads out of no folder");
}

#[test]
fn what_is_broken_on_disk_stays_as_it_was_and_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (library, _) = with_folders(embedded(), Some(folder.path().to_owned()), &[]);
    let (library, path) = save(&library, &saving(&library, None)).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let line = good.lines().position(|line| line.starts_with("layers")).unwrap() + 1;
    fs::write(&path, good.replace("layers = 33", "layers = -1")).unwrap();
    let (library, warnings) = reload(&library);
    assert_eq!(library.model("mine").unwrap().layers, 33);
    let said = warnings[0].to_string();
    assert!(
        said.contains("mine.toml: ") && said.contains(&format!("line {line}, ")) && said.contains("layers"),
        "{said}"
    );
    fs::write(&path, good.replace("layers = 33", "layers = 40")).unwrap();
    let (library, warnings) = reload(&library);
    assert_eq!((library.model("mine").unwrap().layers, warnings.len()), (40, 0));
    fs::remove_file(&path).unwrap();
    assert!(reload(&library).0.model("mine").is_err(), "a file that is gone is gone");
}

/// Of 3,000 stacks of which each is like the next, all but the last 33 are refused; each is read once, whatever it is called.
#[test]
fn a_chain_of_presets_is_bounded_and_read_in_one_pass() {
    let folder = tempfile::tempdir().unwrap();
    let head = "format = 1\nname = 'Ours'\nsource = 'made up'\n";
    for number in 0..3000_u32 {
        let like = if number == 2999 { "nemo-2025".to_owned() } else { format!("s{:04}", number + 1) };
        write(folder.path(), &format!("stacks/s{number:04}.toml"), &format!("{head}like = '{like}'\n"));
    }
    let (library, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
    assert_eq!(warnings.len(), 3000 - 33);
    assert!(library.stack("s2967").is_ok() && library.stack("s2966").is_err());
    assert!(warnings.iter().any(|warning| warning.to_string().contains("of which each is like the next")));
    // Two that are each like the other are neither.
    let circle = tempfile::tempdir().unwrap();
    write(circle.path(), "stacks/a.toml", &format!("{head}like = 'b'\n"));
    write(circle.path(), "stacks/b.toml", &format!("{head}like = 'a'\n"));
    assert_eq!(with_folders(embedded(), None, &[circle.path().to_owned()]).1.len(), 2);
}
