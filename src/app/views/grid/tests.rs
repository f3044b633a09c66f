use super::*;
use crate::app::App;
use crate::app::tests::{explorer, obey, press, to_field, value};
use crate::app::views;
use shardscope_engine::bounds::fsdp::grid::GridPoint;
use shardscope_engine::bounds::fsdp::{self, FsdpLimits, ZeroStage};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::Cancel;

fn open() -> App {
    let mut app = explorer();
    press(&mut app, "F");
    assert_eq!(app.view, views::grid::SPEC.id);
    app
}

/// The rows, and the one that has the keys.
fn grid(app: &App) -> (&[GridRow], usize) {
    (app.views.grid.rows(), app.views.grid.row(app.context().shown))
}

/// What a search of its own finds.
fn searched(app: &App, limits: FsdpLimits, scenario: &Scenario) -> Vec<GridRow> {
    let search = GridSearch { limits, scenario: scenario.clone(), efficiency: app.views.grid.efficiency() };
    search.run(&Cancel::default())
}

#[test]
fn the_palette_leads_to_it() {
    let mut app = explorer();
    press(&mut app, ":grid<ret>");
    assert_eq!(app.view, views::grid::SPEC.id);
}

/// What `plan --grid` finds for the scenario's own size, on the row where the cursor begins.
#[test]
fn each_size_has_its_three_best_points() {
    let app = open();
    let (rows, cursor) = grid(&app);
    let found = fsdp::grid::search(&FsdpLimits::of_family(&app.scenario), 0.75).unwrap();
    let own: Vec<Option<GridPoint>> = rows[cursor..cursor + 3].iter().map(|row| row.point).collect();
    assert_eq!(own, [Some(found.mfu), Some(found.throughput), Some(found.sequence)]);
    // 16 nodes of the scenario, powers of two up to 64.
    assert_eq!(rows.iter().map(|row| row.nodes).step_by(3).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
    assert_eq!(rows[0].devices, 8);
}

#[test]
fn keys_move_the_cursor_and_change_the_efficiency() {
    let mut app = open();
    let (last, cursor) = (grid(&app).0.len() - 1, grid(&app).1);
    press(&mut app, "j");
    assert_eq!(grid(&app).1, cursor + 1);
    press(&mut app, "gk");
    assert_eq!(grid(&app).1, 0);
    press(&mut app, "G");
    assert_eq!(grid(&app).1, last);
    let mfu = |app: &App| grid(app).0[cursor].point.unwrap().reached.mfu;
    let before = mfu(&app);
    press(&mut app, "++");
    assert!((app.views.grid.efficiency() - 0.85).abs() < 1e-12 && mfu(&app) > before);
    press(&mut app, "-----------------------");
    assert!((app.views.grid.efficiency() - 0.05).abs() < 1e-12);
}

#[test]
fn enter_makes_the_point_the_scenarios() {
    let mut app = open();
    let (rows, cursor) = grid(&app);
    let point = rows[cursor].point.unwrap();
    press(&mut app, "<ret>");
    let plan = &app.scenario.plan;
    assert_eq!(value(&app, "strategy"), format!("zero{}", point.stage.number()));
    assert_eq!((f64::from(plan.sequence), f64::from(plan.micro_batch)), (point.sequence, point.batch));
    assert!((1.0 - plan.recompute.layers() - point.gamma).abs() < 1e-9);
    assert_eq!((plan.tensor, plan.pipeline, plan.accumulate, value(&app, "nodes").as_str()), (1, 1, 1, "16"));
    press(&mut app, "u");
    assert_eq!(value(&app, "strategy"), "fsdp");
}

/// 12 nodes are no power of two: once another size is taken they are no longer among the sizes.
#[test]
fn the_cursor_stays_on_the_point_that_was_taken() {
    let mut app = open();
    let mut file = app.file.clone();
    file.set("nodes", "12").unwrap();
    let asked = app.revise(file, &app.scenario.clone());
    obey(&mut app, asked);
    let under = |app: &App| {
        let (rows, cursor) = grid(app);
        (rows[cursor].nodes, rows[cursor].best)
    };
    assert_eq!(under(&app), (12, Best::Mfu));
    press(&mut app, "jjjjj");
    assert_eq!(under(&app), (16, Best::Sequence));
    press(&mut app, "<ret>");
    assert_eq!((under(&app), value(&app, "nodes").as_str()), ((16, Best::Sequence), "16"));
    press(&mut app, "<ret>");
    assert_eq!((under(&app), value(&app, "nodes").as_str()), ((16, Best::Sequence), "16"), "once more is no change");
}

#[test]
fn where_nothing_fits_nothing_is_taken() {
    let mut app = open();
    let limits = FsdpLimits {
        memory: shardscope_engine::units::Bytes::new(1e6),
        stage: ZeroStage::One,
        ..FsdpLimits::of_family(&app.scenario)
    };
    assert!(searched(&app, limits, &app.scenario).iter().all(|row| row.point.is_none()));
    app.file.put(Field::Memory, Some(1e-3.into()));
    let file = app.file.clone();
    press(&mut app, "1");
    let asked = app.revise(file, &app.scenario.clone());
    obey(&mut app, asked);
    press(&mut app, "F<ret>");
    assert_eq!(app.notice.as_deref(), Some("not even one sequence fits on this many devices, at any stage"));
}

/// What is on the screen is what a search finds now, whatever was changed, and where: in a field, by taking and
/// undoing, in the assumptions of the limits, in the efficiency.
#[test]
fn the_rows_are_always_those_of_what_is_shown() {
    let mut app = open();
    let mut before = grid(&app).0.to_vec();
    let mut holds = |app: &App, what: &str| {
        let scenario = app.on_screen();
        let found = searched(app, app.views.limits.assumed.grid_limits(scenario), scenario);
        assert!(grid(app).0 == found, "{what}");
        assert!(before != found, "{what} is no change");
        before = found;
    };
    for (field, key) in [("nodes", "l"), ("network", "h"), ("memory", "h")] {
        to_field(&mut app, field);
        press(&mut app, key);
        holds(&app, field);
    }
    // So slow that no batch hides its transfers.
    let mut file = app.file.clone();
    file.set("bandwidth", "0.001").unwrap();
    let asked = app.revise(file, &app.scenario.clone());
    obey(&mut app, asked);
    holds(&app, "a slow network");
    for keys in ["F+", "F-", "LgjlF", "LgjhF", "1u", "1U"] {
        press(&mut app, keys);
        holds(&app, keys);
    }
    press(&mut app, "Fgjj<ret>");
    holds(&app, "a point of fewer devices is taken");
    // A value that cannot be leaves those of the last scenario that could.
    let last = grid(&app).0.to_vec();
    to_field(&mut app, "tp");
    press(&mut app, "<ret><c-u>7<ret>");
    assert!(app.shown.is_err() && grid(&app).0 == last);
}

/// Not at each key, nor where the view is not seen.
#[test]
fn only_another_question_is_searched() {
    let mut app = explorer();
    assert!(grid(&app).0.is_empty(), "the view was never open");
    press(&mut app, "F");
    // What would be seen if nothing were searched again.
    let mark = app.views.grid.rows.pop().unwrap();
    press(&mut app, "jkgG<pgup>12F");
    assert!(!grid(&app).0.contains(&mark), "searched again");
    press(&mut app, "+");
    assert_eq!(grid(&app).0.len() % 3, 0);
}
