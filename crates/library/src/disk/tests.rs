//! Floods, silence, and files that are to stay as they are.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use tempfile::tempdir;

use super::*;

#[test]
fn a_file_is_read_up_to_the_limit_of_its_kind() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(read_text(&path, InputKind::Preset).unwrap().len(), 1 << 20);
    fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
    let error = read_text(&path, InputKind::Preset).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("larger than 1 MiB, the most that is read of a preset"), "{error}");
    assert!(read_text(Path::new("/dev/null"), InputKind::Preset).unwrap().is_empty());
    assert!(read_text(folder.path(), InputKind::Preset).unwrap_err().to_string().contains("is a folder"));
}

/// A tree takes some hundred bytes for each value, and the shortest value of a list is two bytes of text.
#[test]
fn what_becomes_a_tree_has_no_more_values_than_there_is_room_for() {
    let list = |values: usize| format!("a = [{}]", "0,".repeat(values));
    assert!(InputKind::Scenario.check(&list(249_998)).is_ok());
    let error = InputKind::Scenario.check(&list(249_999)).unwrap_err();
    assert!(error.to_string().contains("more values than a scenario, a snapshot or a set may have"), "{error}");
    assert!(InputKind::RunLog.check(&list(1 << 20)).is_ok());
}

#[test]
fn a_device_without_an_end_is_refused_at_the_limit() {
    let error = read_text(Path::new("/dev/zero"), InputKind::Rows).unwrap_err();
    assert!(error.to_string().contains("larger than 8 MiB"), "{error}");
}

/// A named pipe.
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn a_pipe_that_nobody_writes_to_is_waited_for_ten_seconds() {
    let folder = tempdir().unwrap();
    let start = Instant::now();
    let error = read_text(&pipe(folder.path()), InputKind::Preset).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!((10..13).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[test]
fn a_pipe_that_drips_is_not_waited_for_much_longer() {
    let folder = tempdir().unwrap();
    let path = pipe(folder.path());
    let slow = path.clone();
    // Until nobody reads any more.
    let writer = std::thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(slow).unwrap();
        while pipe.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_secs(2));
        }
    });
    let start = Instant::now();
    assert_eq!(read_text(&path, InputKind::Preset).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!((10..13).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    writer.join().unwrap();
}

#[test]
fn what_was_looked_into_is_read_whole() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "one two").unwrap();
    let mut input = OpenInput::open(&path, InputKind::Foreign).unwrap();
    assert_eq!(input.head(3).unwrap(), b"one");
    assert_eq!(input.head(2).unwrap(), b"one");
    assert_eq!(input.known_as(InputKind::Rows).text().unwrap(), "one two");
    fs::write(&path, vec![b'x'; (1 << 18) + 1]).unwrap();
    assert!(OpenInput::open(&path, InputKind::Foreign).unwrap().known_as(InputKind::Folders).text().is_err());
}

#[test]
fn a_pipe_is_read_to_its_end_whenever_its_writer_comes() {
    let folder = tempdir().unwrap();
    let path = pipe(folder.path());
    let late = path.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(late).unwrap();
        for part in ["one ", "two"] {
            pipe.write_all(part.as_bytes()).unwrap();
            std::thread::yield_now();
        }
    });
    assert_eq!(read_text(&path, InputKind::Preset).unwrap(), "one two");
    writer.join().unwrap();
}

#[test]
fn only_a_plain_writable_file_of_one_name_is_replaced() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("plain"), "old").unwrap();
    replace(&at("plain"), "new").unwrap();
    assert_eq!(fs::read_to_string(at("plain")).unwrap(), "new");

    fs::hard_link(at("plain"), at("other")).unwrap();
    assert!(is_same(&at("plain"), &at("other")));
    assert!(replace(&at("plain"), "more").unwrap_err().to_string().contains("hard links"));
    fs::remove_file(at("other")).unwrap();
    fs::set_permissions(at("plain"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(replace(&at("plain"), "more").unwrap_err().to_string().contains("read-only"));
    assert_eq!(fs::read_to_string(at("plain")).unwrap(), "new");
    assert!(!is_same(&at("plain"), &at("absent")));
}

#[test]
fn a_private_text_is_for_nobody_else_whatever_was_there_and_whatever_the_mask_is() {
    let folder = tempdir().unwrap();
    let state = folder.path().join("one/two");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    create_private_folder(&state).unwrap();
    assert_eq!([&state, &folder.path().join("one")].map(|path| mode(path)), [0o700; 2]);
    let file = state.join("file");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    replace_private(&file, "new").unwrap();
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o600));
    // A folder that is there is as its owner wants it.
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    create_private_folder(&state).unwrap();
    assert_eq!(mode(&state), 0o755);
}
