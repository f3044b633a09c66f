use super::*;
use crate::app::App;
use crate::app::action::Command;
use crate::app::tests::{explorer, figures, press_obeying, question};
use crate::app::views;
use shardscope_engine::plan::Offload;
use shardscope_engine::search::training::TrainingChoice;

/// Presses keys while nobody searches.
fn press(app: &mut App, keys: &str) {
    press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }));
}

/// The view as it opens.
fn open() -> App {
    let mut app = explorer();
    press(&mut app, "D");
    assert_eq!(app.view, views::training::SPEC.id);
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
    assert!(!before.any_plan);
    press(&mut app, "x");
    assert!(search(&app).any_plan);
    assert_eq!(app.notice.as_deref(), Some("any plan: x keeps to what the stack runs"));
    press(&mut app, "x");
    assert_eq!(search(&app), before);
    press(&mut app, "+");
    assert_eq!(search(&app).budgets.last(), Some(&(8 * figures(&app).devices)));
    press(&mut app, "--");
    assert_eq!(search(&app).budgets.last(), Some(&(2 * figures(&app).devices)));
}

#[test]
fn brackets_halve_and_double_the_network_and_can_be_undone() {
    let mut app = open();
    press(&mut app, "[");
    assert_eq!(bandwidth(&app), Some(0.5));
    press(&mut app, "]");
    assert_eq!(bandwidth(&app), None, "as it was");
    press(&mut app, "]");
    assert_eq!(bandwidth(&app), Some(2.0));
    press(&mut app, "u");
    assert_eq!(bandwidth(&app), None);
}

/// The answer that a plan takes so many days; of none, that nothing fits.
fn answer(app: &App, place: usize, days: impl Into<Option<f64>>) -> TrainingAnswer {
    let devices = app.views.training.picture.as_ref().unwrap().search.budgets[place];
    let choice = TrainingChoice {
        devices,
        tensor: 2,
        pipeline: 1,
        data: devices / 2,
        micro_batch: 1,
        accumulate: 3,
        offload: Offload::None,
        assignment: 0,
        strategy: 0,
    };
    let best = days.into().map(|days| BestTraining { days, choice, summary: figures(app) });
    TrainingAnswer { best, needs: None, plans: 1, simulated: 1 }
}

/// Answers a question of the first method.
fn fill(app: &mut App, place: usize, days: impl Into<Option<f64>>) {
    let answer = answer(app, place, days);
    app.views.training.fill(place, answer);
}

#[test]
fn enter_takes_the_plan_under_the_cursor_once_there_is_one() {
    let mut app = open();
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("still computing: apply the plan when it is there"));
    let place = app.views.training.budget();
    fill(&mut app, place, 1.0);
    press(&mut app, "<ret>");
    let (plan, devices) = (&app.scenario.plan, app.scenario.devices());
    assert_eq!((devices, plan.tensor, plan.accumulate), (4 * figures(&open()).devices, 2, 3));
    assert_eq!(&*app.scenario.strategy, METHODS[0].strategies[0]);
    assert_eq!(
        app.notice.as_deref(),
        Some(&*format!("applied the {} plan on {devices} devices: u undoes it", METHODS[0].name))
    );
}

#[test]
fn nothing_fits_only_where_every_smaller_count_of_devices_has_been_tried() {
    let mut app = open();
    let place = app.views.training.budget();
    fill(&mut app, place, None);
    let answered = |app: &App| app.views.training.picture.as_ref().unwrap().is_answered(0, place);
    assert!(!answered(&app), "fewer devices may do");
    (0..place).for_each(|place| fill(&mut app, place, None));
    assert!(answered(&app));
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("no plan of this method fits here"));
}

#[test]
fn a_new_question_takes_nothing_from_the_answers_to_an_earlier_one() {
    let mut app = open();
    let last = app.views.training.budget();
    for (place, days) in [(0, 2.0), (last, 1.0)] {
        fill(&mut app, place, days);
    }
    let before = app.scenario.clone();
    press(&mut app, "m");
    let known = |app: &App, place: usize| {
        let picture = app.views.training.picture.as_ref().unwrap();
        (picture.best(0, place).map(|best| best.days), picture.earlier(0, place))
    };
    assert_eq!(
        [known(&app, 0), known(&app, last)],
        [(None, Some(2.0)), (None, Some(1.0))],
        "to be seen, not to be had"
    );
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("still computing: apply the plan when it is there"));
    assert_eq!(app.scenario, before);
    // Fewer days on one device by the earlier question are no better than more days by this one.
    fill(&mut app, last, 3.0);
    assert_eq!([known(&app, 0), known(&app, last)], [(None, Some(2.0)), (Some(3.0), None)]);
    // What was not answered in between stays in sight.
    press(&mut app, "m");
    assert_eq!([known(&app, 0), known(&app, last)], [(None, Some(2.0)), (None, Some(3.0))]);
}

#[test]
fn a_scenario_that_cannot_be_has_no_plans_to_take() {
    let mut app = open();
    let place = app.views.training.budget();
    fill(&mut app, place, 1.0);
    let file = app.file.clone();
    app.shown = Err(Vec::new());
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("these plans are of the last possible scenario: fix the fields first"));
    assert_eq!(app.file, file);
}

/// The answer that Enter waited for takes the notice away; another one does not, nor does it take another notice.
#[test]
fn an_answer_ends_the_waiting_for_it() {
    let mut app = open();
    let place = app.views.training.budget();
    let waits = |app: &App| app.notice.as_deref() == Some("still computing: apply the plan when it is there");
    press(&mut app, "<ret>");
    let found = answer(&app, 0, None);
    app.take_found(Found::new((0, found)));
    assert!(waits(&app), "nothing fits on the fewest devices, more may do");
    let found = answer(&app, place, 1.0);
    app.take_found(Found::new((place, found.clone())));
    assert_eq!(app.notice, None);
    app.tell("exporting".to_owned());
    app.take_found(Found::new((place, found)));
    assert_eq!(app.notice.as_deref(), Some("exporting"));
}

/// A search is stopped as soon as nobody waits for it, and begun again when somebody does.
#[test]
fn a_search_stops_with_its_view_and_its_question() {
    let is_search = |command: &Command| question::<TrainingSearch>(command).is_some();
    let searches = |commands: &[Command]| commands.iter().any(is_search);
    let unasked = |app: &mut App, keys: &str| press_obeying(app, keys, |command| !is_search(command));
    for leave in ["<esc>", "M", "L"] {
        let mut app = explorer();
        assert!(searches(&unasked(&mut app, "D")));
        assert_eq!(unasked(&mut app, leave), [Command::Rest], "{leave}");
        assert!(!app.is_waiting(), "{leave}");
        assert_eq!(unasked(&mut app, "<esc>"), [], "it stops once");
        assert!(searches(&unasked(&mut app, "D")), "{leave}");
    }
    // Another question is another work, which takes the first one's place; an impossible scenario leaves that of the last
    // possible one.
    let mut app = explorer();
    unasked(&mut app, "D");
    assert!(searches(&unasked(&mut app, "[")));
    assert!(unasked(&mut app, "S").iter().any(|command| matches!(command, Command::Work { .. })), "of another view");
    unasked(&mut app, "D");
    let impossible = app.give(Field::Tensor, "3");
    assert!(app.shown.is_err() && app.is_waiting() && !impossible.contains(&Command::Rest));
    let changed = app.give(Field::Tensor, "1");
    assert!(app.shown.is_ok() && searches(&changed));
}

/// The factor that the file gives the outermost level.
fn bandwidth(app: &App) -> Option<f64> {
    app.file.plan.get(Field::Bandwidth)?.get()
}
