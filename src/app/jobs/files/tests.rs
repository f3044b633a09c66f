use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::*;
use crate::app::action::Command;
use crate::app::tests::{explorer, press};
use shardscope_report::snapshot::{SessionFile, SessionState};

const PATIENCE: Duration = Duration::from_secs(20);

fn start() -> (Files, Receiver<JobReport>) {
    let (reports, queue) = mpsc::channel();
    (Files::start(&(Arc::new(move |report| drop(reports.send(report))) as Tell), None).unwrap(), queue)
}

#[test]
fn errands_are_run_in_order_and_none_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..20).map(|index| directory.path().join(format!("{index}.toml"))).collect();
    for path in &paths {
        std::fs::write(path, "").unwrap();
    }
    let (files, queue) = start();
    for path in paths.iter().chain([&paths[0]]) {
        files.run(FileJob::Delete(path.clone()));
    }
    for path in &paths {
        let JobReport::Said(said) = queue.recv_timeout(PATIENCE).unwrap() else { panic!("no word") };
        assert_eq!(said, format!("deleted {}", path.display()));
    }
    let JobReport::Said(said) = queue.recv_timeout(PATIENCE).unwrap() else { panic!("no word") };
    assert!(said.starts_with("cannot delete "), "{said}");
}

#[test]
fn what_is_to_be_written_is_written_before_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one.toml");
    std::fs::write(&path, "").unwrap();
    let (files, _queue) = start();
    files.run(FileJob::Delete(path.clone()));
    files.unwritten().close();
    assert_eq!(files.unwritten().wait(PATIENCE), Vec::<String>::new());
    assert!(!path.exists());
}

/// The end waits for what is written, as long as it is told to, and for nothing that is only read.
#[test]
fn what_is_not_written_in_time_is_named_and_lists_hold_nothing_up() {
    let (files, _queue) = start();
    let unwritten = Unwritten::default();
    unwritten.put(None);
    assert_eq!(unwritten.wait(PATIENCE), Vec::<String>::new(), "a list");
    unwritten.put(FileJob::SaveSet("pair".to_owned(), Vec::new()).writes());
    assert_eq!(unwritten.wait(Duration::ZERO), ["the set pair"]);
    unwritten.done();
    unwritten.done();
    assert_eq!(unwritten.wait(PATIENCE), Vec::<String>::new());
    // Nobody sees a list at the end: no file is looked into for it.
    let directory = tempfile::tempdir().unwrap();
    let answer = explorer().answer.unwrap();
    let text = Snapshot::new(&answer.scenario, &answer.evaluation).to_toml().unwrap();
    snapshot::write(directory.path(), &answer.scenario, &text).unwrap();
    let remembered = directory.path().join("folders.txt");
    let listed = |unwritten: &Unwritten| match FileJob::List.run(Some(&remembered), unwritten) {
        JobReport::Listed(listed) => listed.iter().filter(|one| one.path.starts_with(directory.path())).count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(listed(&files.unwritten()), 1);
    files.unwritten().close();
    assert_eq!(listed(&files.unwritten()), 0);
}

#[test]
fn a_snapshot_is_opened_and_what_cannot_be_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let answer = explorer().answer.unwrap();
    let text = Snapshot::new(&answer.scenario, &answer.evaluation).to_toml().unwrap();
    let path = snapshot::write(directory.path(), &answer.scenario, &text).unwrap();
    let library = Arc::new(shardscope_presets::library());
    let (mut files, queue) = start();
    files.transfer(1, FileTransfer::Open(path), Arc::clone(&library));
    files.transfer(2, FileTransfer::Open(directory.path().join("none.toml")), library);
    let end = |number| match queue.recv_timeout(PATIENCE).unwrap() {
        JobReport::Transferred { number: found, report } if found == number => *report,
        other => panic!("{other:?}"),
    };
    let JobReport::Opened(opened, _) = end(1) else { panic!("not opened") };
    assert_eq!(opened.scenario, answer.scenario);
    let JobReport::Said(said) = end(2) else { panic!("no word") };
    assert!(said.contains("none.toml: No such file"), "{said}");
}

/// For who waits to the end.
pub(in crate::app) fn patient() -> Watch {
    Rc::new(|_| true)
}

/// A pipe that nobody writes to is waited for ten seconds, which nobody has to wait for: the next file comes at once.
#[test]
fn what_is_stopped_is_told_of_no_more_and_holds_nothing_up() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (mut files, queue) = start();
    let library = Arc::new(shardscope_presets::library());
    let begun = Instant::now();
    files.transfer(1, FileTransfer::Open(pipe), Arc::clone(&library));
    // It says that it waits, and how far it is.
    let first = queue.recv_timeout(PATIENCE).unwrap();
    let JobReport::Transferring { number: 1, so_far } = first else { panic!("{first:?}") };
    assert_eq!(so_far.bytes, Bytes::new(0.0));
    files.stop();
    files.transfer(2, FileTransfer::Open(directory.path().join("none.toml")), library);
    let ended = queue.iter().find(|report| matches!(report, JobReport::Transferred { number: 2, .. }));
    assert!(ended.is_some() && begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// A transfer that Esc stopped says nothing more, even if it ended at that moment.
#[test]
fn one_file_at_a_time_is_waited_for_and_escape_stops_it() {
    let mut app = explorer();
    let [Command::Transfer { number: 1, .. }] = app.paste("/tmp/one.json")[..] else { panic!("{:?}", app.notice) };
    assert_eq!(app.status().unwrap(), "reading /tmp/one.json; Esc stops it");
    app.receive(JobReport::Transferring { number: 1, so_far: Transferred { seconds: 3, bytes: Bytes::new(2e6) } });
    assert!(app.status().unwrap().contains("after 3 s"), "{:?}", app.status());
    assert_eq!(app.paste("/tmp/two.json"), []);
    assert!(app.notice.as_ref().unwrap().contains("still reading /tmp/one.json"), "{:?}", app.notice);
    assert_eq!(press(&mut app, "<esc>"), [Command::StopTransfer]);
    assert_eq!(app.notice.as_deref(), Some("stopped reading /tmp/one.json"));
    let late = || Box::new(JobReport::Said("cannot be".to_owned()));
    assert_eq!(app.receive(JobReport::Transferred { number: 1, report: late() }), []);
    assert_eq!(app.notice.as_deref(), Some("stopped reading /tmp/one.json"));
    assert!(matches!(app.paste("/tmp/two.json")[..], [Command::Transfer { number: 2, .. }]));
    app.receive(JobReport::Transferred { number: 2, report: late() });
    assert_eq!(app.status().as_deref(), Some("cannot be"));
}

#[test]
fn who_leaves_at_once_keeps_what_was_changed_last() {
    let directory = tempfile::tempdir().unwrap();
    let mut app = explorer();
    // No answer of this is there yet, and none ever is of tensor ranks that do not divide the heads.
    let mut left = |prefetch: u32, tensor: u32| {
        app.scenario.plan.prefetch = prefetch;
        app.scenario.plan.tensor = tensor;
        let mut file = SessionFile::at(directory.path().join("last.toml"));
        file.keep(&SessionState { has_changed: true, ..app.left_off().unwrap() }).unwrap();
        let opened = file.resume(&app.library).unwrap().unwrap().opened;
        (opened.scenario.plan.prefetch, opened.scenario.plan.tensor)
    };
    assert_eq!(left(3, 1), (3, 1));
    assert_eq!(left(3, 7), (1, 1), "what is shown meanwhile");
}
