//! The form by keys, with a folder of the user's behind it.

use crate::app::App;
use crate::app::action::Action;
use crate::app::action::Command;
use crate::app::layer::Layer;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use shardscope_library::folders::with_folders;

use super::*;
use crate::app::action::JobReport;
use crate::app::jobs::files::FileJob;
use crate::app::jobs::unwritten::Unwritten;
use crate::app::tests::{explorer, press, to_field};

/// The explorer with a folder of the user's.
fn at_home(home: &Path) -> App {
    let mut app = explorer();
    app.library = Arc::new(with_folders(shardscope_presets::library(), Some(home.to_owned()), &[]).0);
    app
}

fn form(app: &App) -> &Form {
    match &app.layer {
        Some(Layer::Form(form)) => form,
        other => panic!("no form but {other:?}"),
    }
}

/// Moves to a field of the form and types a value.
fn enter(app: &mut App, label: &str, value: &str) {
    press(app, "g");
    let at = form(app).rows.iter().position(|row| row.label == label).unwrap_or_else(|| panic!("no field {label}"));
    press(app, &format!("{}<ret>{value}<ret>", "j".repeat(at)));
}

fn receive(app: &mut App, file_job: FileJob) {
    let commands = app.receive(file_job.run(None, &Unwritten::default()));
    crate::app::tests::obey(app, commands);
}

/// Saves the form as the thread of the files would.
fn save(app: &mut App) {
    let commands = app.update(Action::Save);
    let [Command::SavePreset(saving)] = &commands[..] else { panic!("not saved: {:?}, {commands:?}", app.notice) };
    let file_job = FileJob::SavePreset(saving.clone(), Arc::clone(&app.library));
    receive(app, file_job);
}

fn reload(app: &mut App) {
    assert_eq!(app.update(Action::Reload), [Command::Reload]);
    let file_job = FileJob::Reload(Arc::clone(&app.library));
    receive(app, file_job);
}

#[test]
fn a_copy_of_the_cluster_is_saved_taken_and_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let mut app = at_home(home.path());
    let before = app.answer.clone().unwrap().evaluation.summary;
    press(&mut app, "1gjjjja");
    assert_eq!(form(&app).rows[0].value, "h100-80gb-dgx-2");
    // Half the wire between nodes.
    enter(&mut app, "levels[1].bandwidth", "25");
    enter(&mut app, "price_per_device_hour", "2.5");
    save(&mut app);
    assert!(app.layer.is_none());
    assert!(app.notice.as_ref().unwrap().contains("clusters/h100-80gb-dgx-2.toml"), "{:?}", app.notice);
    assert_eq!(app.scenario.cluster.id, "h100-80gb-dgx-2");
    assert_eq!(app.scenario.cluster.price_per_device_hour.unwrap().to_string(), "2.50 EUR");
    let after = app.answer.clone().unwrap().evaluation.summary;
    assert!(after.step_time > before.step_time, "a slower wire");
    let text = fs::read_to_string(home.path().join("clusters/h100-80gb-dgx-2.toml")).unwrap();
    assert!(text.contains("bandwidth = \"25 GB/s\""), "{text}");
    press(&mut app, "u");
    assert_eq!(app.scenario.cluster.id, "h100-80gb-dgx");
    assert_eq!(app.answer.clone().unwrap().evaluation.summary, before);
    press(&mut app, "U");
    assert_eq!(app.answer.clone().unwrap().evaluation.summary, after);
}

#[test]
fn a_users_own_model_is_changed_in_its_file_and_undo_gives_the_scenario_its_old_one() {
    let home = tempfile::tempdir().unwrap();
    let mut app = at_home(home.path());
    to_field(&mut app, "model");
    press(&mut app, "a");
    enter(&mut app, "id", "mine");
    enter(&mut app, "layers", "20");
    save(&mut app);
    assert_eq!((app.scenario.model.id.as_str(), app.scenario.model.layers), ("mine", 20));
    press(&mut app, "a");
    assert!(form(&app).rows.iter().all(|row| row.label != "id"), "the file keeps its name");
    enter(&mut app, "layers", "10");
    save(&mut app);
    assert_eq!(app.scenario.model.layers, 10);
    assert_eq!(fs::read_dir(home.path().join("models")).unwrap().count(), 1);
    press(&mut app, "u");
    assert_eq!((app.scenario.model.id.as_str(), app.scenario.model.layers), ("mine", 20));
}

#[test]
fn a_wrong_value_stays_with_its_reason_and_is_not_saved() {
    let home = tempfile::tempdir().unwrap();
    let mut app = at_home(home.path());
    press(&mut app, "1gjjjja");
    enter(&mut app, "watts_per_device", "-700");
    let row = form(&app).rows[form(&app).row()].clone();
    assert_eq!(row.value, "-700");
    assert!(row.wrong.as_ref().unwrap().contains("not negative"), "{row:?}");
    press(&mut app, "g");
    assert_eq!(app.update(Action::Save), []);
    assert_eq!(form(&app).rows[form(&app).row()].label, "watts_per_device", "the cursor goes to it");
    // A field that is right by itself, but not beside the others.
    enter(&mut app, "watts_per_device", "700");
    enter(&mut app, "levels[0].members", "0");
    let wrong: Vec<&str> =
        form(&app).rows.iter().filter(|row| row.wrong.is_some()).map(|row| row.label.as_str()).collect();
    assert_eq!(wrong, ["levels[0].members"]);
    enter(&mut app, "id", "h100-80gb-dgx");
    assert_eq!(form(&app).rows[0].wrong.as_deref(), Some("is taken; choose another id"));
    press(&mut app, "<esc>");
    assert!(app.layer.is_some() && app.notice.as_ref().unwrap().contains("not saved"), "{:?}", app.notice);
    press(&mut app, "<esc>");
    assert!(app.layer.is_none());
    assert!(!home.path().join("clusters").exists());
}

#[test]
fn presets_changed_on_disk_are_read_again_and_wrong_ones_leave_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let mut app = at_home(home.path());
    press(&mut app, "1gjjjja");
    enter(&mut app, "id", "mine");
    save(&mut app);
    let path = home.path().join("clusters/mine.toml");
    let text = fs::read_to_string(&path).unwrap();
    reload(&mut app);
    assert_eq!(app.notice.as_deref(), Some("presets reloaded: nothing has changed"));
    fs::write(&path, text.replace("memory = \"79.65 GiB\"", "memory = \"39.825 GiB\"")).unwrap();
    let before = app.scenario.cluster.device.memory;
    reload(&mut app);
    assert_eq!(app.notice.as_deref(), Some("presets reloaded: 1 changed"));
    assert_eq!(app.scenario.cluster.device.memory, before * 0.5);
    assert_eq!(app.answer.clone().unwrap().evaluation.summary.memory.capacity, app.scenario.cluster.device.memory);
    fs::write(&path, "format = 1\nnodes = \"many\"\n").unwrap();
    reload(&mut app);
    let said = app.notice.clone().unwrap();
    assert!(said.contains("mine.toml") && said.contains("line 2") && said.contains("stays"), "{}", &*said);
    assert_eq!(app.scenario.cluster.device.memory, before * 0.5, "what was there stays");
    press(&mut app, "u");
    assert_eq!(app.scenario.cluster.device.memory, before, "reading again can be undone");
}

#[test]
fn a_file_that_cannot_be_written_loses_nothing_that_was_typed() {
    let mut app = explorer();
    press(&mut app, "1gjjjja");
    enter(&mut app, "device.memory", "96");
    let commands = app.update(Action::Save);
    let [Command::SavePreset(saving)] = &commands[..] else { panic!("not asked for") };
    let report = FileJob::SavePreset(saving.clone(), Arc::clone(&app.library)).run(None, &Unwritten::default());
    assert!(matches!(&report, JobReport::Said(why) if why.contains("no home")), "{report:?}");
    app.receive(report);
    assert!(form(&app).is_changed());
}
