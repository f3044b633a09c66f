//! What titles say of how old and how far a picture is.

use super::*;
use crate::app::action::{Command, JobReport};
use crate::app::answers::work::Found;
use shardscope_engine::search::training::TrainingAnswer;

/// The row of the frame in which a title begins.
fn title(app: &App, begins: &str) -> String {
    let shown = screen(app, UTF8, (80, 24)).to_string();
    let row = shown.lines().find(|row| row.contains(&format!(" 2 {begins}")));
    row.unwrap_or_else(|| panic!("{begins}: {shown}")).to_owned()
}

/// The fields with 7 ranks of tensor parallelism, which do not divide 384 devices.
fn impossible() -> App {
    let mut app = fixture::explorer();
    engine::press(&mut app, "1:tp 7<ret>");
    assert!(app.shown.is_err());
    app
}

#[test]
fn views_of_fields_that_make_no_scenario_say_of_which_they_are() {
    for (key, begins) in [
        ('M', "Throughput"),
        ('c', "Comparison"),
        ('W', "What would help"),
        ('L', "Limits"),
        ('F', "Best points"),
        ('H', "Hardware"),
        ('I', "Arithmetic intensities"),
        ('S', "Strategies"),
        ('T', "Traffic"),
        ('D', "Training time"),
        ('P', "Operators"),
    ] {
        let mut app = impossible();
        engine::press_obeying(&mut app, &key.to_string(), |_| false);
        let row = title(&app, begins);
        assert!(row.contains(", last possible scenario "), "{row}");
        engine::press_obeying(&mut app, "u", |_| false);
        engine::press_obeying(&mut app, &key.to_string(), |_| false);
        let row = title(&app, begins);
        assert!(!row.contains("last possible scenario"), "{row}");
    }
}

#[test]
fn what_no_scenario_is_there_to_try_for_is_not_tried() {
    let mut app = impossible();
    engine::press(&mut app, "W");
    let shown = screen(&app, UTF8, (80, 24)).to_string();
    assert!(shown.contains("the scenario is not possible: changes are tried once it is"), "{shown}");
    assert!(!shown.contains("trying"), "{shown}");
}

/// On 80 columns 100 answers of a new question leave no room for "in brackets as before" from the tenth on, and beside
/// the word that the scenario is not possible none for more than a ratio.
#[test]
fn how_far_a_search_is_is_said_at_every_answer() {
    let mut app = fixture::training();
    let mut commands = Vec::new();
    while app.views.training.picture.as_ref().is_some_and(|picture| picture.progress().1 < 100) {
        commands = app.update(Action::More);
    }
    let [Command::Work { generation, .. }] = commands[..] else { panic!("{commands:?}") };
    let all = app.views.training.picture.as_ref().unwrap().progress().1;
    let mut short = 0;
    for index in 0..all {
        let row = title(&app, "Training time");
        assert!(row.contains(&format!("computing {index} of {all}")), "{row}");
        short += usize::from(!row.contains(", in brackets as before"));
        let shown = std::mem::replace(&mut app.shown, Err(Vec::new()));
        let row = title(&app, "Training time");
        assert!(row.contains(", last possible scenario ") && row.contains(&format!(" {index}/{all} ")), "{row}");
        app.shown = shown;
        let answer = TrainingAnswer { best: None, needs: None, plans: 0, simulated: 0 };
        app.receive(JobReport::Found { generation, found: Found::new((index, answer)) });
    }
    assert_eq!(short, all - 10);
    let row = title(&app, "Training time");
    assert!(!row.contains("computing"), "{row}");
}

#[test]
fn a_part_of_a_node_is_said_to_be_on_no_cell() {
    let one = engine::H100.replace("nodes = 16", "devices = 1");
    let shown = crate::ui::export::text(screen(&engine::explorer_on(&one), UTF8, (80, 24)).buffer());
    assert!(shown.contains(" 1 device ") && !shown.contains("1 devices"), "{shown}");
    assert!(shown.contains("the current scenario is on no cell: 1 device, a part of a node"), "{shown}");
}

#[test]
fn the_pinned_scenario_alone_is_nothing_to_compare_with() {
    let shown = crate::ui::export::text(after("pc", (80, 24)).buffer());
    assert!(shown.contains("the scenario shown is the pinned one: change it or move on the map"), "{shown}");
}
