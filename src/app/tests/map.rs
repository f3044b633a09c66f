//! The map: its cursor, taking a cell, what it shows.

use super::*;
use shardscope_engine::search::Cell;

#[test]
fn moving_on_the_map_shows_the_cell_and_enter_takes_it() {
    let mut app = explorer();
    press(&mut app, "l");
    assert!(app.looking);
    assert_eq!(figures(&app).devices, 32 * 8, "the panels show the cell under the cursor");
    assert_eq!(value(&app, "nodes"), "16", "the scenario stays");
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "nodes"), "32");
    assert!(!app.looking);
}

#[test]
fn escape_goes_back_to_the_scenario_and_never_quits() {
    let mut app = explorer();
    let home = app.views.map.cursor;
    press(&mut app, "<right><up>");
    assert_ne!(app.views.map.cursor, home);
    assert_eq!(press(&mut app, "<esc><esc><esc>"), []);
    assert_eq!(app.views.map.cursor, home);
    assert_eq!(figures(&app).devices, 16 * 8);
}

#[test]
fn a_part_of_a_node_is_no_cell_but_can_be_left_and_come_back_to() {
    let mut app = explorer_on(&H100.replace("nodes = 16", "devices = 4"));
    assert_eq!((app.views.map.home, app.looking), (None, false));
    assert_eq!(value(&app, "nodes"), "4 devices");
    press(&mut app, "l");
    assert!(app.looking);
    press(&mut app, "<esc>");
    assert!(!app.looking);
    assert_eq!(figures(&app).devices, 4);
    press(&mut app, "1gjjjjl");
    assert_eq!(value(&app, "nodes"), "1");
}

#[test]
fn the_cursor_stops_at_the_edges() {
    let mut app = explorer();
    press(&mut app, "gggkkkkkkkkkkk");
    assert_eq!(app.views.map.cursor, 0);
    press(&mut app, "hk");
    assert_eq!(app.views.map.cursor, 0);
    press(&mut app, "G<pgdn>lj");
    assert_eq!(app.views.map.cursor, app.views.map.width() * app.views.map.height() - 1);
}

#[test]
fn taking_a_cell_changes_no_figure_of_the_map() {
    let mut app = explorer_on(FRONTIER);
    let before = app.views.map.generation;
    press(&mut app, "j<ret>h<ret>");
    assert_eq!(app.views.map.generation, before, "the same cells need no new sweep");
    assert_eq!(app.views.map.home, Some(app.views.map.cursor));
}

#[test]
fn a_taken_cell_evaluates_as_it_did_on_the_map() {
    let mut app = explorer_on(FRONTIER);
    for keys in ["k", "jj", "l", "hh"] {
        press(&mut app, keys);
        let Some(Cell::Possible { summary, .. }) = app.views.map.cell(app.views.map.cursor).cloned() else { continue };
        assert_eq!(figures(&app), summary, "the cell under the cursor");
        press(&mut app, "<ret>");
        assert_eq!(figures(&app), summary, "the scenario that it became");
    }
}

#[test]
fn the_metric_changes_and_the_best_cell_follows() {
    let mut app = explorer();
    press(&mut app, "b");
    let best = app.views.map.cursor;
    let all: Vec<f64> = (0..app.views.map.progress().1).filter_map(|index| app.views.map.figure(index)).collect();
    assert_eq!(app.views.map.figure(best), all.iter().copied().reduce(f64::max));
    press(&mut app, "mmb");
    assert_eq!(app.views.map.metric(), shardscope_report::figures::Figure::StepTime);
    let all: Vec<f64> = (0..app.views.map.progress().1).filter_map(|index| app.views.map.figure(index)).collect();
    assert_eq!(app.views.map.figure(app.views.map.cursor), all.iter().copied().reduce(f64::min));
}
