//! Undo and redo of every kind of edit.

use crate::app::action::{Action, Command};
use crate::app::tests::{FRONTIER, explorer, explorer_on, figures, press, to_field, value};
use crate::app::{App, Panel};

/// What an undo must bring back.
fn state(app: &App) -> (shardscope_engine::scenario::file::ScenarioFile, shardscope_engine::scenario::Scenario) {
    (app.file.clone(), app.scenario.clone())
}

#[test]
fn every_kind_of_edit_is_undone_and_done_again() {
    for edit in [
        "1gjjjjjjl",                // a step
        "1gjjjjjj<ret><c-u>8<ret>", // a typed number
        "1g<ret>llama-2-13b<ret>",  // an item of a list
        "2l<ret>",                  // a cell of the map
        "1gjjjjjj<ret><c-u>0<ret>", // a value that cannot be
    ] {
        let mut app = explorer();
        let before = state(&app);
        press(&mut app, edit);
        let after = state(&app);
        assert_ne!(before, after, "{edit}");
        press(&mut app, "u");
        assert_eq!(state(&app), before, "{edit} undone");
        assert!(app.inputs.wrong.is_empty() && app.shown.is_ok(), "{edit}: nothing wrong is left");
        press(&mut app, "U");
        assert_eq!(state(&app), after, "{edit} done again");
        press(&mut app, "u");
        assert_eq!(state(&app), before, "{edit} undone again");
    }
}

#[test]
fn a_held_key_is_one_entry_and_so_is_a_typed_number() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjjllllll");
    assert_ne!(value(&app, "nodes"), "16");
    press(&mut app, "u");
    assert_eq!(value(&app, "nodes"), "16", "six steps in a row are one entry");
    press(&mut app, "<ret><c-u>128<ret>");
    press(&mut app, "u");
    assert_eq!(value(&app, "nodes"), "16");
    press(&mut app, "ljjkkl");
    press(&mut app, "u");
    assert_eq!(value(&app, "nodes"), "24", "moving away and back begins another entry");
}

#[test]
fn it_holds_scenarios_and_not_screens() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjjl4++");
    let (timeline, focus, cursor) = (app.timeline, app.focus, app.inputs.place());
    press(&mut app, "u");
    assert_eq!((app.timeline, app.focus, app.inputs.place()), (timeline, focus, cursor));
    assert_eq!(value(&app, "nodes"), "16");
}

#[test]
fn undo_shows_the_answer_at_once_and_asks_for_none() {
    let mut app = explorer();
    let before = figures(&app);
    press(&mut app, "1gjjjjjjl");
    assert_ne!(figures(&app), before);
    let commands = app.update(Action::Undo);
    assert_eq!(figures(&app), before);
    assert!(!app.stale);
    assert!(!commands.iter().any(|command| matches!(command, Command::Evaluate { .. })), "{commands:?}");
}

#[test]
fn the_changed_fields_are_marked_and_named() {
    let mut app = explorer_on(FRONTIER);
    press(&mut app, "jl<ret>u");
    let labels: Vec<&str> = app.inputs.changed.iter().map(|field| field.spec().label).collect();
    assert_eq!(labels, ["nodes", "shard"]);
    assert_eq!(app.notice.as_deref(), Some("undone: nodes 48, shard innermost"));
}

/// Twice the nodes take 64 x 8 x 4 = 2,048 sequences at once, of a batch of 1,024; half the micro-batch takes 1,024. On
/// the map that cell cannot be. 7 tensor ranks do not divide 32 heads.
#[test]
fn one_key_leads_to_the_nearest_possible_scenario() {
    let h100_7b = &shardscope_presets::library().scenario_text("h100-7b").unwrap().text.clone();
    let mut app = explorer_on(h100_7b);
    let of_batch = |app: &App| [value(app, "nodes"), value(app, "micro"), app.scenario.sequences().to_string()];
    press(&mut app, "1gjjjjjj<ret><c-u>64<ret>");
    let told = "the batch becomes 2,048, not 1,024; nearest possible: micro 2 (. applies it)";
    assert_eq!(app.notice.as_deref(), Some(told));
    press(&mut app, ".");
    assert_eq!((of_batch(&app), app.nearest.is_none()), (["64", "2", "1024"].map(str::to_owned), true));
    assert_eq!(app.notice.as_deref(), Some("applied micro 2: u undoes it"));

    let mut app = explorer_on(h100_7b);
    press(&mut app, "2l");
    assert!(app.shown.is_err());
    press(&mut app, ".");
    assert_eq!(of_batch(&app), ["64", "2", "1024"]);

    to_field(&mut app, "tp");
    press(&mut app, "<ret><c-u>7<ret>");
    assert_eq!(app.notice.as_deref(), Some("tp 7 is not possible; nearest possible: tp 4 (. applies it)"));
    press(&mut app, ".");
    assert_eq!((value(&app, "tp").as_str(), app.inputs.wrong.len()), ("4", 0));
    press(&mut app, ".");
    assert_eq!(app.notice.as_deref(), Some("the scenario shown is possible: W tries what else would help"));
}

/// A job that fills the memory does not fit in half of it; the first change that the screen names makes it fit.
#[test]
fn the_same_key_makes_a_job_fit() {
    let h100_7b = &shardscope_presets::library().scenario_text("h100-7b").unwrap().text.clone();
    let mut app = explorer_on(&h100_7b.replace("micro_batch = 4", "micro_batch = 4\nmemory_factor = 0.5"));
    let fix = app.fix.clone().expect("a change with which it fits").0[0].to_string();
    press(&mut app, ".");
    assert!(figures(&app).fits);
    assert_eq!(app.notice.as_deref(), Some(format!("applied {fix}: u undoes it").as_str()));
}

#[test]
fn with_nothing_left_it_says_so() {
    let mut app = explorer();
    press(&mut app, "u");
    assert_eq!(app.notice.as_deref(), Some("nothing to undo"));
    press(&mut app, "U");
    assert_eq!(app.notice.as_deref(), Some("nothing to redo"));
}

#[test]
fn looking_around_is_no_edit() {
    let mut app = explorer();
    press(&mut app, "lljjm4++jl5jj1jj?<esc>v<esc>");
    assert_eq!((app.history.depth(), app.focus), ((0, 0), Panel::Inputs));
}

#[test]
fn a_new_edit_drops_what_was_undone() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjjlujjlU");
    assert_eq!(app.notice.as_deref(), Some("nothing to redo"));
}

#[test]
fn from_a_text_that_is_no_value_steps_go_on_from_the_last_one_that_was() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjj<ret><c-u>abc<ret>");
    assert_eq!((value(&app, "nodes"), app.shown.is_ok()), ("abc".to_owned(), true));
    press(&mut app, "l");
    assert_eq!(value(&app, "nodes"), "24", "after 16, of the last possible scenario");
    press(&mut app, "<ret><c-u>abc<ret>h");
    assert_eq!(value(&app, "nodes"), "16");
}

#[test]
fn pins_come_back_and_go_again_with_their_names() {
    let names = |app: &App| app.pins.all().iter().map(|pin| pin.name.clone()).collect::<Vec<_>>();
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlp");
    assert_eq!(names(&app), ["fsdp", "nodes 24"].map(str::to_owned), "{:?}", names(&app));
    let both = app.pins.all().to_vec();
    press(&mut app, "cx");
    assert_eq!(app.pins.all().len(), 1);
    press(&mut app, "u");
    assert_eq!(names(&app), both.iter().map(|pin| pin.name.clone()).collect::<Vec<_>>(), "the pin that x removed");
    assert_eq!(value(&app, "nodes"), "24", "the edit before it stays");
    assert!(app.notice.as_deref().unwrap().contains("2 pinned"), "{:?}", app.notice);
    press(&mut app, "uu");
    assert_eq!((names(&app).len(), value(&app, "nodes").as_str()), (1, "16"), "the second pin and the edit");
    press(&mut app, "U");
    assert_eq!((names(&app).len(), value(&app, "nodes").as_str()), (1, "24"));
}

#[test]
fn what_is_pinned_still_keeps_its_figures_when_others_come_back() {
    let mut app = explorer();
    press(&mut app, "p");
    let known = app.pins.all()[0].evaluation.clone();
    assert!(known.is_some());
    press(&mut app, "1gjjjjjjlpu");
    assert_eq!(app.pins.all().len(), 1);
    assert_eq!(app.pins.all()[0].evaluation, known);
    assert!(app.pins.remembered().iter().all(|pin| pin.evaluation.is_none()), "undo holds no timelines");
}
