use super::*;
use crate::app::App;
use crate::app::tests::{explained, explorer, figures, press, value};
use crate::app::views;
use shardscope_report::figures::Figure;

fn letters(app: &App) -> Vec<String> {
    columns(&app.context()).iter().map(ComparedColumn::letter).collect()
}

#[test]
fn p_pins_any_number_and_the_same_again_lets_go() {
    let mut app = explorer();
    let before = figures(&app);
    press(&mut app, "pl<ret>");
    assert_eq!(app.pins.reference().unwrap().1, &before);
    press(&mut app, "pl<ret>p");
    assert_eq!(app.pins.all().len(), 3);
    assert!(app.notice.as_ref().unwrap().contains("pinned as C"), "{:?}", app.notice);
    press(&mut app, "p");
    assert_eq!(app.pins.all().len(), 2);
}

#[test]
fn the_scenario_shown_stands_beside_the_pins_unless_it_is_one() {
    let mut app = explorer();
    press(&mut app, "c");
    assert_eq!((app.view, letters(&app)), (views::compare::SPEC.id, vec!["now".to_owned()]));
    press(&mut app, "p");
    assert_eq!(letters(&app), ["A"]);
    press(&mut app, "1gjjjjjjl");
    assert_eq!(letters(&app), ["A", "now"]);
    press(&mut app, "p");
    assert_eq!(letters(&app), ["A", "B"]);
}

#[test]
fn columns_are_chosen_moved_named_and_removed() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlplpc");
    let names = |app: &App| -> Vec<String> { app.pins.all().iter().map(|pin| pin.name.clone()).collect() };
    assert_eq!(names(&app), ["fsdp", "nodes 24", "nodes 32"]);
    press(&mut app, "gl>");
    assert_eq!(names(&app), ["fsdp", "nodes 32", "nodes 24"]);
    press(&mut app, "<lt>");
    assert_eq!(names(&app), ["fsdp", "nodes 24", "nodes 32"]);
    press(&mut app, "n<c-u>twenty-four<ret>x");
    assert_eq!(names(&app), ["fsdp", "nodes 32"]);
    press(&mut app, "gn<c-u>  <ret>");
    assert_eq!(names(&app)[0], "fsdp", "no name is no name");
}

#[test]
fn the_scenario_shown_has_to_be_pinned_before_it_is_named() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlcGn");
    assert!(app.layer.is_none() && app.notice.as_ref().unwrap().contains("p pins it"), "{:?}", app.notice);
    press(&mut app, "x");
    assert_eq!(letters(&app), ["A", "now"]);
}

#[test]
fn enter_takes_a_pinned_scenario_and_undo_gives_back_the_one_before() {
    let mut app = explorer();
    let before = figures(&app);
    press(&mut app, "p1gjjjjjjlcg<ret>");
    assert_eq!((figures(&app), value(&app, "nodes")), (before, "16".to_owned()));
    assert_eq!(app.notice.as_deref(), Some("applied fsdp"));
    press(&mut app, "u");
    assert_eq!(value(&app, "nodes"), "24");
    press(&mut app, "U1gjjjjjjjjjjjl");
    assert_ne!(value(&app, "strategy"), "fsdp", "what was taken can be edited on");
    assert_eq!(*app.scenario.strategy, *value(&app, "strategy"));
    assert_ne!(app.scenario.plan.sharding, app.pins.all()[0].scenario.plan.sharding);
}

#[test]
fn the_cursor_and_the_rows_stay_within_what_there_is() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlclllllll");
    assert_eq!(app.views.compare.column(2), 1);
    press(&mut app, "<pgdn><pgdn><pgdn><pgdn>jjj");
    assert_eq!(app.views.compare.top(2), rows(2) - 1);
    press(&mut app, "<pgup><pgup><pgup><pgup>kkk----");
    assert_eq!((app.views.compare.top(2), app.views.compare.zoom), (0, 0));
    press(&mut app, "++++++++++++++++++++");
    assert_eq!(app.views.compare.zoom, CLOSEST);
}

#[test]
fn pins_without_an_evaluation_get_one() {
    let mut app = explorer();
    let scenario = app.scenario.clone();
    app.pins.add("reopened".to_owned(), scenario, None);
    assert!(columns(&app.context())[0].evaluation.is_none());
    press(&mut app, "c");
    assert!(!app.is_waiting());
    assert_eq!(app.pins.reference().unwrap().1, &figures(&app));
}

/// The map's figure of the column under the cursor, not of the scenario in hand.
#[test]
fn i_explains_the_column_under_the_cursor() {
    let mut app = explorer();
    let before = figures(&app);
    press(&mut app, "pl<ret>cgi");
    let title = "model flop per second and device, fsdp".to_owned();
    assert_eq!(explained(&app), (title, Figure::ModelFlops, before.model_flops.get()));
    assert_ne!(before.model_flops, figures(&app).model_flops);
}

#[test]
fn the_comparison_is_handed_over_as_csv_with_a_line_for_each_scenario() {
    let mut app = explorer();
    press(&mut app, "p1gjjjjjjlc");
    let commands = press(&mut app, "y");
    let [Command::Copy { text, .. }] = &commands[..] else { panic!("{commands:?}") };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("scenario,model,cluster,stack,strategy,step-time,days,"), "{text}");
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns), "{text}");
    let rows = columns_of(&lines, &["scenario", "devices"]);
    // Nodes of 8 devices each: 16, and 24 after a step to the right.
    assert_eq!(rows, [["A fsdp", "128"], ["now fsdp", "192"]]);
    assert_eq!(press(&mut app, "Y"), [Command::SaveTable("comparison", text.clone())]);
}

/// The cells of some columns of lines of CSV without quotes.
fn columns_of<'a, const N: usize>(lines: &[&'a str], names: &[&str; N]) -> Vec<[&'a str; N]> {
    let heads: Vec<&str> = lines[0].split(',').collect();
    let place = |name: &str| heads.iter().position(|head| *head == name).expect("a column");
    lines[1..].iter().map(|line| names.map(|name| line.split(',').nth(place(name)).expect("a cell"))).collect()
}
