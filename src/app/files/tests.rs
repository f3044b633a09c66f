use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::*;
use crate::app::tests::explorer;

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
        files.run(Errand::Delete(path.clone()));
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
    files.run(Errand::Delete(path.clone()));
    drop(files);
    assert!(!path.exists());
}

#[test]
fn a_snapshot_is_opened_and_what_cannot_be_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let answer = explorer().answer.unwrap();
    let text = Snapshot::new(&answer.scenario, &answer.evaluation).to_toml().unwrap();
    let path = snapshot::write(directory.path(), &answer.scenario, &text).unwrap();
    let library = Arc::new(Library::embedded());
    let (files, queue) = start();
    files.run(Errand::Open(path, Arc::clone(&library)));
    files.run(Errand::Open(directory.path().join("none.toml"), library));
    let JobReport::Opened(opened, _) = queue.recv_timeout(PATIENCE).unwrap() else { panic!("not opened") };
    assert_eq!(opened.scenario, answer.scenario);
    let JobReport::Said(said) = queue.recv_timeout(PATIENCE).unwrap() else { panic!("no word") };
    assert!(said.contains("none.toml: No such file"), "{said}");
}

#[test]
fn who_leaves_at_once_keeps_what_was_changed_last() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("last.toml");
    let mut app = explorer();
    // No answer of this is there yet, and none ever is of tensor ranks that do not divide the heads.
    let mut left = |prefetch: u32, tensor: u32| {
        app.scenario.plan.prefetch = prefetch;
        app.scenario.plan.tensor = tensor;
        let left = app.left_off().unwrap();
        Errand::KeepLast(file.clone(), true, left).run(None);
        let opened = snapshot::open_last(&file, &app.library).unwrap().unwrap().opened;
        (opened.scenario.plan.prefetch, opened.scenario.plan.tensor)
    };
    assert_eq!(left(3, 1), (3, 1));
    assert_eq!(left(3, 7), (1, 1), "what is shown meanwhile");
}
