use std::sync::Arc;

use super::*;
use crate::app::tests::{explorer, press};
use shardscope_engine::hardware::Reliability;

#[test]
fn the_cursor_begins_at_the_best_interval_and_stays_among_them() {
    let mut app = explorer();
    press(&mut app, "R");
    let best = app.answer.as_ref().unwrap().subject().failures().unwrap().interval.get();
    let place = |app: &crate::app::App| View::place(&app.views.failures, &app.context()).unwrap();
    let away = |at: f64| (at / best).ln().abs();
    let nearest = INTERVALS.iter().map(|at| away(*at)).fold(f64::MAX, f64::min);
    assert!((away(INTERVALS[place(&app)]) - nearest).abs() < 1e-9);
    let first = place(&app);
    press(&mut app, "l");
    assert_eq!(place(&app), first + 1);
    press(&mut app, "gh");
    assert_eq!(place(&app), 0);
    press(&mut app, "Gl");
    assert_eq!(place(&app), INTERVALS.len() - 1);
    // What `i` explains is of the interval under the cursor.
    assert!(matches!(app.views.failures.figure(&app.context()), Ok(Asked::Shown(Figure::GoodputEvery(200_000)))));
}

#[test]
fn a_cluster_that_says_nothing_has_no_chart() {
    let mut app = explorer();
    let answer = app.answer.as_mut().unwrap();
    Arc::make_mut(&mut answer.scenario.cluster).reliability = Reliability::default();
    press(&mut app, "R");
    assert_eq!(View::place(&app.views.failures, &app.context()), None);
    assert!(app.views.failures.figure(&app.context()).is_err());
}
