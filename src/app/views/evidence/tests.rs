//! Runs, filters, cursors, and opening a run: keys in, state out, on a few rows of the program's own table.

use super::*;
use crate::app::App;
use crate::app::action::Command;
use crate::app::action::JobReport;
use crate::app::tests::{explained, explorer, figures, press, question, start};
use crate::app::views;
use shardscope_evidence::measured;
use shardscope_report::figures::Figure;
use std::collections::BTreeMap;

/// The first rows of a table that the program carries.
fn few(name: &str, rows: usize) -> (String, String) {
    let (_, text) = shardscope_presets::MEASURED.iter().find(|(other, _)| *other == name).unwrap();
    (name.to_owned(), text.lines().take(1 + rows).collect::<Vec<_>>().join("\n"))
}

/// The explorer that was given four runs of FSDP and four of Megatron, with the view open.
fn given() -> App {
    opened(vec![few("fsdp.csv", 4), few("megatron.csv", 4)])
}

fn opened(rows: Vec<(String, String)>) -> App {
    let mut start =
        start("format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"ideal\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"");
    start.options.rows = rows;
    let (mut app, _) = App::new(start);
    press(&mut app, "E");
    assert_eq!((app.view, app.views.evidence.picture.is_some()), (views::evidence::SPEC.id, true));
    app
}

fn ids(app: &App) -> Vec<String> {
    app.views.evidence.shown().0.iter().map(|one| one.id.clone()).collect()
}

fn chosen(app: &App) -> String {
    app.views.evidence.chosen().unwrap().0.id.clone()
}

#[test]
fn runs_stand_in_the_order_of_what_was_measured() {
    let app = given();
    let (shown, all) = app.views.evidence.shown();
    assert_eq!((shown.len(), all), (8, 8));
    assert!(shown.is_sorted_by(|a, b| a.measured <= b.measured));
    // Megatron-LM SC21, table 1: 3.52802 s for 1.7B on 32 GPUs.
    let first = shown.iter().find(|one| one.id == "sc21-t1-1.7B").unwrap();
    assert!((first.measured - 3.52802).abs() < 1e-9);
    let picture = app.views.evidence.picture.as_ref().unwrap();
    let run = picture.run(first).unwrap();
    assert_eq!((run.scenario.devices(), run.scenario.plan.micro_batch), (32, 16));
    assert!(run.source.contains("arXiv 2104.04473"));
    assert!((run.summary.step_time.get() / first.predicted - 1.0).abs() < 1e-9);
}

#[test]
fn keys_move_by_what_was_measured_and_by_the_error() {
    let mut app = given();
    let by_measured = ids(&app);
    assert_eq!(chosen(&app), by_measured[0]);
    press(&mut app, "ll");
    assert_eq!(chosen(&app), by_measured[2]);
    press(&mut app, "G<right>");
    assert_eq!(chosen(&app), by_measured[7]);
    press(&mut app, "kkkkkkkk");
    let error = |id: &str| app.views.evidence.shown().0.iter().find(|one| one.id == id).unwrap().error();
    let most = by_measured.iter().map(|id| error(id)).fold(f64::MIN, f64::max);
    assert!((error(&chosen(&app)) - most).abs() < 1e-12);
}

/// `n` goes through 1 to 8, 9 to 64 ... as far as there are runs; 8 Megatron and FSDP runs are on more than 8 devices.
#[test]
fn filters_leave_what_is_wanted_and_end_with_everything() {
    let mut app = given();
    press(&mut app, "n");
    let evidence = &app.views.evidence;
    assert_eq!(evidence.wanted(Facet::Devices), Some("9 to 64"));
    let picture = evidence.picture.as_ref().unwrap();
    let devices = |one: &&Residual| picture.run(one).unwrap().scenario.devices();
    assert!(evidence.shown().0.iter().all(|one| (9..=64).contains(&devices(one))));
    assert_eq!(evidence.quality().unwrap().rows, evidence.shown().0.len());
    press(&mut app, "0");
    assert_eq!(ids(&app).len(), 8);
    press(&mut app, "d");
    let hardware = app.views.evidence.wanted(Facet::Hardware).unwrap().to_owned();
    assert!(app.views.evidence.shown().0.iter().all(|one| one.hardware == hardware));
    for _ in 0..8 {
        if app.views.evidence.wanted(Facet::Hardware).is_some() {
            press(&mut app, "d");
        }
    }
    assert_eq!((app.views.evidence.wanted(Facet::Hardware), ids(&app).len()), (None, 8));
}

#[test]
fn enter_opens_the_run_and_u_goes_back() {
    let mut app = given();
    let before = (app.file.clone(), app.scenario.clone());
    let (predicted, scenario) = {
        let (residual, run) = app.views.evidence.chosen().unwrap();
        (residual.predicted, run.scenario.clone())
    };
    press(&mut app, "<ret>");
    assert_eq!(app.scenario, scenario);
    assert!((figures(&app).step_time.get() / predicted - 1.0).abs() < 1e-9, "what is opened is what was predicted");
    assert_eq!(app.view, views::evidence::SPEC.id);
    press(&mut app, "u");
    assert_eq!((app.file.clone(), app.scenario.clone()), before);
}

#[test]
fn the_other_figure_and_the_ratio_are_a_key_away() {
    let mut app = given();
    press(&mut app, "mr");
    assert_eq!((app.views.evidence.metric, app.views.evidence.ratio), (Metric::Memory, true));
    assert!(app.views.evidence.shown().0.iter().all(|one| one.metric == Metric::Memory));
    press(&mut app, "mr");
    assert_eq!(ids(&app).len(), 8);
}

/// Without tables the program's own are asked for, behind the screen, and once.
#[test]
fn the_programs_own_rows_are_read_behind_the_screen() {
    let mut app = explorer();
    let commands = app.update(Action::View(views::evidence::SPEC.id));
    let [Command::Work { generation, .. }] = &commands[..] else { panic!("{commands:?}") };
    let tables: &Tables = question(&commands[0]).expect("tables");
    assert!(app.is_waiting() && tables.files.is_empty());
    assert_eq!(press(&mut app, "ldtnmr<ret>"), [], "no key needs what is not there yet");
    let empty = ComparedRuns { validation: measured::validate(&[], |_| Vec::new()), runs: BTreeMap::new() };
    app.receive(JobReport::Found { generation: *generation, found: Found::new(empty) });
    assert!(!app.is_waiting());
    assert_eq!(app.update(Action::View(views::evidence::SPEC.id)), []);
}

/// Not of the scenario in hand: of the run under the cursor, its step or its peak.
#[test]
fn i_explains_the_run_under_the_cursor() {
    let mut app = given();
    press(&mut app, "ll");
    let (residual, run) = app.views.evidence.chosen().unwrap();
    let (id, summary) = (residual.id.clone(), run.summary);
    press(&mut app, "i");
    assert_eq!(explained(&app), (format!("step time, {id}"), Figure::StepTime, summary.step_time.get()));
    // The eighth row of this table is the first with a peak.
    let mut app = opened(vec![few("deepspeed.csv", 8)]);
    press(&mut app, "mi");
    let (residual, run) = app.views.evidence.chosen().unwrap();
    let (title, peak) = (format!("peak memory, {}", residual.id), run.summary.memory.peak.get());
    assert_eq!(explained(&app), (title, Figure::Peak, peak));
}
