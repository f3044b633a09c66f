use super::*;
use crate::app::tests::{explorer, figures, press_obeying};
use crate::app::view::View;
use crate::plan::Offload;
use crate::search::training::Choice;

/// Presses keys while nobody searches.
fn press(app: &mut App, keys: &str) {
    press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }));
}

/// The view as it opens.
fn open() -> App {
    let mut app = explorer();
    press(&mut app, "D");
    assert_eq!(app.view, View::Training);
    app
}

fn last(app: &App) -> usize {
    app.views.training.picture.as_ref().unwrap().search.budgets.len() - 1
}

#[test]
fn the_cursor_goes_to_methods_and_devices_and_stops_at_their_ends() {
    let mut app = open();
    let last = last(&app);
    let at = |app: &App| (app.views.training.method(), app.views.training.budget());
    assert_eq!(at(&app), (0, last), "it opens on the most devices");
    for (keys, wanted) in [
        ("j", (1, last)),
        ("k", (0, last)),
        ("k", (0, last)),
        ("<pgdn>", (METHODS.len() - 1, last)),
        ("j", (METHODS.len() - 1, last)),
        ("h", (METHODS.len() - 1, last - 1)),
        ("g", (METHODS.len() - 1, 0)),
        ("h", (METHODS.len() - 1, 0)),
        ("<pgup>", (0, 0)),
        ("G", (0, last)),
        ("l", (0, last)),
    ] {
        press(&mut app, keys);
        assert_eq!(at(&app), wanted, "{keys}");
    }
}

#[test]
fn the_law_and_the_most_devices_ask_anew() {
    let mut app = open();
    let search = |app: &App| Arc::clone(&app.views.training.picture.as_ref().unwrap().search);
    // Four times the devices of the scenario at first.
    assert_eq!(search(&app).budgets.last(), Some(&(4 * figures(&app).devices)));
    let before = search(&app);
    press(&mut app, "m");
    assert!(search(&app).goal.critical.to_bits() != before.goal.critical.to_bits());
    press(&mut app, "m");
    assert_eq!(search(&app), before, "there are two laws");
    press(&mut app, "+");
    assert_eq!(search(&app).budgets.last(), Some(&(8 * figures(&app).devices)));
    press(&mut app, "--");
    assert_eq!(search(&app).budgets.last(), Some(&(2 * figures(&app).devices)));
}

#[test]
fn brackets_halve_and_double_the_network_and_can_be_undone() {
    let mut app = open();
    press(&mut app, "[");
    assert_eq!(app.file.plan.bandwidth_factor, Some(0.5));
    press(&mut app, "]");
    assert_eq!(app.file.plan.bandwidth_factor, None, "as it was");
    press(&mut app, "]");
    assert_eq!(app.file.plan.bandwidth_factor, Some(2.0));
    press(&mut app, "u");
    assert_eq!(app.file.plan.bandwidth_factor, None);
}

#[test]
fn enter_takes_the_plan_under_the_cursor_once_there_is_one() {
    let mut app = open();
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("no plan of this method fits here"));
    let training = &app.views.training;
    let search = Arc::clone(&training.picture.as_ref().unwrap().search);
    let devices = search.budgets[training.budget()];
    let choice = Choice {
        devices,
        tensor: 2,
        pipeline: 1,
        data: devices / 2,
        micro_batch: 1,
        accumulate: 3,
        offload: Offload::None,
        dealing: 0,
        strategy: 0,
    };
    let best = Some(Best { days: 1.0, choice, summary: figures(&app) });
    let index = training.method() * search.budgets.len() + training.budget();
    app.views.training.fill(index, Answer { best, plans: 1, simulated: 1 });
    press(&mut app, "<ret>");
    let plan = &app.scenario.plan;
    assert_eq!((app.scenario.devices(), plan.tensor, plan.accumulate), (devices, 2, 3));
    assert_eq!(&*app.scenario.strategy, METHODS[0].strategies[0]);
    assert_eq!(app.notice, Some(format!("took the {} plan on {devices} devices", METHODS[0].name)));
}
