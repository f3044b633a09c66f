use crate::app::App;
use crate::app::action::Command;
use crate::app::layer::Layer;
use std::path::PathBuf;

use super::*;
use crate::app::action::JobReport;
use crate::app::action::keys::KeyPlace;
use crate::app::tests::{H100, explorer, obey, press, start, value};
use crate::app::transfer::FileTransfer;
use crate::app::{Start, views};
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::Seconds;
use shardscope_report::snapshot::{self, HeldSnapshot, Opened, Set, Snapshot};

fn held(name: &str) -> HeldSnapshot {
    let app = explorer();
    let answer = app.answer.unwrap();
    let figures = shardscope_report::figures::Figures::new(&answer.scenario, &answer.evaluation);
    HeldSnapshot {
        name: name.to_owned(),
        what: "MPT-7B".to_owned(),
        version: "0.1.0".to_owned(),
        figures: Some(figures),
    }
}

fn listed(name: &str, holds: Result<Vec<HeldSnapshot>, String>) -> Listed {
    Listed {
        path: PathBuf::from(".").join(name),
        name: name.to_owned(),
        is_set: holds.as_ref().is_ok_and(|held| held.len() > 1),
        holds,
    }
}

/// The list with a snapshot, a set, and a file that is broken.
fn browsing() -> App {
    let mut app = explorer();
    app.update(Action::Snapshots);
    let files = vec![
        listed("one.toml", Ok(vec![held("")])),
        listed("pair.toml", Ok(vec![held("A"), held("B")])),
        listed("broken.toml", Err("broken.toml:3:1: is wrong".to_owned())),
    ];
    app.receive(JobReport::Listed(files));
    app
}

fn browser(app: &App) -> &Browser {
    let Some(Layer::Browser(browser)) = &app.layer else { panic!("no list: {:?}", app.layer) };
    browser
}

#[test]
fn the_list_is_asked_for_and_comes_when_it_comes() {
    let mut app = explorer();
    assert_eq!(app.update(Action::Snapshots), [Command::List]);
    assert!(browser(&app).files.is_none());
    app.receive(JobReport::Listed(Vec::new()));
    assert_eq!(browser(&app).files.as_ref().map(Vec::len), Some(0));
    press(&mut app, "<ret><del>");
    assert!(!browser(&app).asking, "there is nothing to delete");
    press(&mut app, "<esc>");
    app.receive(JobReport::Listed(Vec::new()));
    assert!(app.layer.is_none(), "a list that comes too late opens nothing");
}

/// What opens the first file that anyone waits for.
fn opening(path: &str) -> Command {
    Command::Transfer { number: 1, transfer: FileTransfer::Open(PathBuf::from(path)) }
}

#[test]
fn enter_opens_and_a_broken_file_says_why_not() {
    let mut app = browsing();
    press(&mut app, "<down><down><ret>");
    assert!(app.notice.as_ref().unwrap().contains("cannot be opened"), "{:?}", app.notice);
    assert_eq!(press(&mut app, "<up><ret>"), [opening("./pair.toml")]);
    assert!(app.layer.is_none());
}

#[test]
fn deleting_asks_first() {
    let mut app = browsing();
    press(&mut app, "<del>");
    assert_eq!(app.place(), KeyPlace::Question);
    press(&mut app, "<esc>");
    assert_eq!(app.place(), KeyPlace::Snapshots, "Esc leaves the file, and the list open");
    press(&mut app, "<del>j");
    assert_eq!((app.place(), browser(&app).row()), (KeyPlace::Question, 0), "a key without meaning answers nothing");
    assert_eq!(press(&mut app, "<ret>"), [Command::Delete(PathBuf::from("./one.toml")), Command::List]);
}

#[test]
fn a_set_is_saved_under_a_name() {
    let mut app = browsing();
    press(&mut app, "<c-l>");
    assert!(app.notice.as_ref().unwrap().contains("nothing is pinned"), "{:?}", app.notice);
    let mut app = explorer();
    press(&mut app, "ps");
    app.receive(JobReport::Listed(Vec::new()));
    assert_eq!(press(&mut app, "<c-l><c-u>pair<ret>"), [Command::SaveSet("pair".to_owned())]);
    // Figures that are still computed are no reason to wait: who writes the file computes them.
    let other = Scenario { name: "other".to_owned(), ..app.scenario.clone() };
    app.pins.pin(other, None);
    assert!(app.pins.are_waiting());
    press(&mut app, "s");
    app.receive(JobReport::Listed(Vec::new()));
    assert_eq!(press(&mut app, "<c-l><c-u>both<ret>"), [Command::SaveSet("both".to_owned())]);
}

#[test]
fn saving_a_snapshot_refreshes_the_list() {
    let mut app = browsing();
    assert!(matches!(press(&mut app, "<c-e>")[..], [Command::Export(_), Command::List]));
}

#[test]
fn an_opened_set_is_pinned_and_evaluated_and_can_be_undone() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlp");
    let members =
        app.pins.all().iter().map(|pin| (pin.name.as_str(), &pin.scenario, &**pin.evaluation.as_ref().unwrap()));
    let text = Set::new(members).to_toml().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = snapshot::write_set(directory.path(), "pair", &text).unwrap();
    let opened = snapshot::open(&path.display().to_string(), &shardscope_presets::library()).unwrap();

    let mut again = explorer();
    press(&mut again, "1gjjjjjj<ret><c-u>2<ret>");
    let commands = again.receive(JobReport::Opened(Box::new(opened), "pair.toml".to_owned()));
    for report in commands.into_iter().flat_map(crate::app::jobs::in_line) {
        again.receive(report);
    }
    assert_eq!(value(&again, "nodes"), "16", "the first of the set is in hand");
    assert_eq!(again.pins.all().iter().map(|pin| pin.name.as_str()).collect::<Vec<_>>(), ["fsdp", "nodes 24"]);
    assert!(again.pins.missing().is_empty());
    assert!(again.notice.as_ref().unwrap().contains("2 pinned"), "{:?}", again.notice);
    press(&mut again, "c");
    assert_eq!((again.view, crate::app::views::compare::columns(&again.context()).len()), (views::compare::SPEC.id, 2));
    press(&mut again, "u");
    assert_eq!(value(&again, "nodes"), "2");
}

#[test]
fn an_opened_snapshot_stays_what_it_holds_by_value() {
    let app = explorer();
    let answer = app.answer.as_ref().unwrap();
    let mut scenario = answer.scenario.clone();
    let mut cluster = shardscope_engine::hardware::Cluster::clone(&scenario.cluster);
    cluster.device.memory = shardscope_engine::units::Bytes::new(7e9);
    scenario.cluster = std::sync::Arc::new(cluster);
    let text = Snapshot::new(&scenario, &answer.evaluation).to_toml().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = snapshot::write(directory.path(), &scenario, &text).unwrap();
    let opened = snapshot::open(&path.display().to_string(), &shardscope_presets::library()).unwrap();
    let mut app = explorer();
    app.receive(JobReport::Opened(Box::new(opened), "own.toml".to_owned()));
    assert_eq!(app.scenario.cluster.device.memory, shardscope_engine::units::Bytes::new(7e9));
    press(&mut app, "1gjjjjjjl");
    assert_eq!(app.scenario.cluster.device.memory, shardscope_engine::units::Bytes::new(7e9), "also after an edit");
}

/// An evaluation that says of a step what it does not come to.
fn faster(evaluation: &Evaluation) -> Evaluation {
    let mut faster = evaluation.clone();
    faster.summary.step_time = Seconds::new(1.0);
    faster
}

#[test]
fn a_snapshot_whose_figures_do_not_come_out_again_is_reported() {
    let mut app = explorer();
    let answer = app.answer.clone().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::new(&answer.scenario, &answer.evaluation);
    let open = |snapshot: &Snapshot, name: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, snapshot.to_toml().unwrap()).unwrap();
        snapshot::open(&path.display().to_string(), &shardscope_presets::library()).unwrap()
    };
    let honest = open(&snapshot, "honest.toml");
    let tampered = open(&Snapshot::new(&answer.scenario, &faster(&answer.evaluation)), "tampered.toml");

    let doubts =
        |app: &App| app.notice.as_ref().is_some_and(|notice| notice.contains("differs from what this same version"));
    let commands = app.receive(JobReport::Opened(Box::new(honest), "honest.toml".to_owned()));
    obey(&mut app, commands);
    assert_eq!(app.notice.as_deref(), Some("opened honest.toml"));
    // Its answer is kept, and there at once.
    let commands = app.receive(JobReport::Opened(Box::new(tampered.clone()), "tampered.toml".to_owned()));
    obey(&mut app, commands);
    assert!(doubts(&app), "{:?}", app.notice);
    // Where the explorer opens on it, the answer comes after the first frame.
    let Opened { file, scenario, stored, .. } = tampered;
    let (mut app, commands) = App::new(Start { file, scenario, stored, ..start(H100) });
    assert!(!doubts(&app));
    obey(&mut app, commands);
    assert!(doubts(&app), "{:?}", app.notice);
}

#[test]
fn each_evaluation_of_a_set_that_does_not_come_out_again_is_named() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlp");
    let pins = app.pins.all().iter().map(|pin| (pin, faster(pin.evaluation.as_ref().unwrap())));
    let pins: Vec<_> = pins.collect();
    let set = Set::new(pins.iter().map(|(pin, evaluation)| (pin.name.as_str(), &pin.scenario, evaluation)));
    let directory = tempfile::tempdir().unwrap();
    let path = snapshot::write_set(directory.path(), "pair", &set.to_toml().unwrap()).unwrap();
    let opened = snapshot::open(&path.display().to_string(), &shardscope_presets::library()).unwrap();
    let mut again = explorer();
    let commands = again.receive(JobReport::Opened(Box::new(opened), "pair.toml".to_owned()));
    for report in commands.into_iter().flat_map(crate::app::jobs::in_line) {
        again.receive(report);
    }
    let said = again.notice.unwrap();
    assert!(said.contains("fsdp") && said.contains("nodes 24: the evaluation in the file differs"), "{}", &*said);
}

#[test]
fn typing_filters_files_by_name_and_by_what_they_hold() {
    let mut app = browsing();
    let names = |app: &App| browser(app).found().iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let all = names(&app).len();
    press(&mut app, "PAIR");
    assert_eq!(names(&app), ["pair.toml"]);
    assert_eq!(press(&mut app, "<ret>"), [opening("./pair.toml")]);
    let mut app = browsing();
    press(&mut app, "pair<bs><bs><bs><bs>");
    assert_eq!(names(&app).len(), all);
    press(&mut app, "nothing like it<ret>");
    assert_eq!(names(&app).len(), 0);
    press(&mut app, "<esc>");
    assert!(app.layer.is_none(), "Esc leaves it, whatever is typed");
}
