//! Tuned cells, the contour, and the map as CSV.

use crate::app::App;
use crate::app::action::Command;
use crate::app::tests::{explorer, figures, press, value};
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::{Cell, Tuned};

fn choice(app: &App) -> Tuned {
    app.views.map.tuned(app.views.map.cursor).unwrap()
}

#[test]
fn tuned_cells_are_no_slower_and_come_back_plain() {
    let mut app = explorer();
    let plain: Vec<Option<f64>> = (0..app.views.map.progress().1).map(|index| app.views.map.figure(index)).collect();
    let cursor = app.views.map.cursor;
    press(&mut app, "t");
    assert!(app.views.map.sweep.tune && app.views.map.is_complete());
    assert_eq!(app.views.map.cursor, cursor);
    for (index, plain) in plain.iter().enumerate() {
        let tuned = app.views.map.figure(index).unwrap_or(0.0);
        assert!(tuned >= plain.unwrap_or(0.0) * (1.0 - 1e-12), "cell {index}: {tuned} after {plain:?}");
    }
    press(&mut app, "t");
    let again: Vec<Option<f64>> = (0..plain.len()).map(|index| app.views.map.figure(index)).collect();
    assert_eq!(again, plain);
    assert!(app.views.map.tuned(cursor).is_none());
}

#[test]
fn the_panels_show_a_tuned_cell_as_the_map_does_and_enter_takes_what_it_settled_on() {
    let mut app = explorer();
    press(&mut app, "tl");
    let Some(Cell::Possible { summary, .. }) = app.views.map.cell(app.views.map.cursor).cloned() else {
        panic!("no cell")
    };
    assert_eq!(figures(&app), summary);
    let settled = choice(&app);
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "micro"), settled.micro_batch.to_string());
    assert_eq!(value(&app, "recompute"), settled.recompute.to_string());
    assert_eq!(value(&app, "nodes"), "32");
    assert_eq!(figures(&app), summary);
    press(&mut app, "u");
    assert_eq!((value(&app, "nodes"), value(&app, "micro")), ("16".to_owned(), "2".to_owned()), "one edit, one undo");
}

#[test]
fn at_home_the_panels_show_the_scenario_in_hand_whatever_the_cell_settled_on() {
    let mut app = explorer();
    let before = figures(&app);
    press(&mut app, "t");
    assert_eq!((figures(&app), app.looking), (before, false));
    press(&mut app, "l<esc>");
    assert_eq!((figures(&app), app.looking), (before, false));
}

#[test]
fn a_cell_that_settles_while_it_is_looked_at_is_looked_at_again() {
    let mut app = explorer();
    press(&mut app, "l");
    let plain = figures(&app);
    press(&mut app, "t");
    let Some(Cell::Possible { summary, choice }) = app.views.map.cell(app.views.map.cursor).cloned() else {
        panic!("no cell")
    };
    assert_ne!(choice, Tuned::from(&app.scenario), "the test needs a cell that settles on something else");
    assert_ne!(plain, summary);
    assert_eq!(figures(&app), summary);
}

#[test]
fn the_map_is_copied_as_the_command_line_writes_it() {
    let mut app = explorer();
    let commands = press(&mut app, "y");
    let [Command::Copy { text, .. }] = &commands[..] else { panic!("{commands:?}") };
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("x,y,metric,value,fits,reason,micro_batch,recompute,accumulate,global_batch"));
    assert_eq!(lines.count(), app.views.map.progress().1);
    let here = app.views.map.figure(app.views.map.cursor).unwrap();
    assert!(text.contains(&format!("16,system,throughput,{here},true,,2,selective,1")), "{text}");
    assert_eq!(press(&mut app, "Y"), [Command::SaveTable("map", text.clone())]);
}

#[test]
fn the_contour_is_drawn_and_taken_away() {
    let mut app = explorer();
    press(&mut app, "o");
    assert!(app.views.map.contour);
    let full = app.views.map.fullness(app.views.map.cursor).unwrap();
    let memory = figures(&app).memory;
    assert!((full - memory.peak / memory.capacity).abs() < 1e-12);
    press(&mut app, "o");
    assert!(!app.views.map.contour);
}

#[test]
fn any_two_axes_make_a_map_that_the_scenario_is_on() {
    let mut app = explorer();
    let (first, first_scenario) = (app.views.map.clone(), app.scenario.clone());
    let summary = app.answer.as_ref().unwrap().evaluation.summary;
    let mut workspace = Workspace::default();
    // What is as the stack has it is no value of an axis.
    for across in Field::all().filter(|field| field.value(&first_scenario).is_some()) {
        for down in
            [Field::Strategy, Field::Nodes, Field::Shard, Field::Tensor].into_iter().filter(|down| *down != across)
        {
            app.views.map = first.clone();
            let map = &mut app.views.map;
            map.want(0, across, &app.scenario);
            map.want(1, down, &app.scenario);
            map.want(0, across, &app.scenario);
            let base = crate::app::answers::base(&app.library, &app.file, &app.scenario, map.kinds(&app.scenario));
            let scenario = app.scenario.clone();
            app.follow_map(&base, &scenario);
            let map = &app.views.map;
            assert_eq!((map.sweep.x.field, map.sweep.y.field), (across, down));
            let home = map.home.unwrap_or_else(|| panic!("{across:?} {down:?}: the scenario is not on it"));
            let Cell::Possible { summary: cell, .. } = map.sweep.cell(home, &mut workspace) else {
                panic!("{across:?} {down:?}: its own cell cannot be")
            };
            assert_eq!(cell, summary, "{across:?} {down:?}: its cell is the scenario itself");
        }
    }
}

#[test]
fn axes_are_chosen_from_a_list_and_a_cell_of_them_is_taken() {
    let mut app = explorer();
    press(&mut app, "2xseq<ret>Xtp<ret>");
    assert_eq!(app.views.map.kinds(&app.scenario), [Field::Sequence, Field::Tensor]);
    assert!(app.views.map.is_complete() && app.views.map.home.is_some());
    press(&mut app, "lj<ret>");
    // One to the right is twice the 2,048 tokens, one down two tensor ranks.
    assert_eq!((app.scenario.plan.sequence, app.scenario.plan.tensor), (4096, 2));
    press(&mut app, "xtp<ret>");
    assert_eq!(app.views.map.kinds(&app.scenario), [Field::Tensor, Field::Sequence], "they change places");
    press(&mut app, "xband<ret>h<ret>");
    assert!((app.scenario.plan.bandwidth_factor - 0.5).abs() < f64::EPSILON, "{:?}", app.notice);
    press(&mut app, "u");
    assert!((app.scenario.plan.bandwidth_factor - 1.0).abs() < f64::EPSILON);
    assert!(app.views.map.home.is_some());
}

#[test]
fn back_from_a_cell_the_fields_are_as_impossible_as_before() {
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.row().label() != "tp" {
        press(&mut app, "j");
    }
    // MPT-7B has 32 heads: tensor parallelism over 7 is not possible.
    press(&mut app, "<ret><c-u>7<ret>");
    let refused = app.shown.clone();
    assert!(refused.is_err() && !app.inputs.are_possible());
    press(&mut app, "2h");
    assert!(app.looking && app.shown.is_ok(), "the map is of the last possible scenario, and its cells are possible");
    press(&mut app, "<esc>");
    assert!(!app.looking);
    assert_eq!(app.shown, refused);
}

#[test]
fn the_present_scenario_is_not_taken() {
    let nothing = |app: &mut App, keys: &str| {
        let before = (app.file.clone(), app.scenario.clone());
        press(app, keys);
        assert_eq!(app.notice.as_deref(), Some("this is the current scenario: nothing to apply"), "{keys}");
        assert_eq!((&app.file, &app.scenario), (&before.0, &before.1), "{keys}");
    };
    let mut app = explorer();
    nothing(&mut app, "<ret>");
    press(&mut app, "u");
    assert_eq!(app.notice.as_deref(), Some("nothing to undo"));
    // With the best batch of its cell it is another scenario, until that is taken: on the map and in the hardware's
    // view.
    let before = Tuned::from(&app.scenario);
    press(&mut app, "t<ret>");
    assert_ne!(Tuned::from(&app.scenario), before);
    nothing(&mut app, "<ret>");
    press(&mut app, "H<ret>");
    nothing(&mut app, "<ret>");
}
