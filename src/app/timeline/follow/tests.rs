//! Jumps on the timeline of a real step.

use crate::app::tests::{PIPELINE, explorer, explorer_on, press};
use crate::app::{App, Panel};
use shardscope_engine::evaluate::TaskKind;

use super::*;

fn step(app: &App) -> ShownStep<'_> {
    ShownStep::new(&app.answer.as_ref().unwrap().evaluation)
}

fn chosen(app: &App) -> Span {
    app.timeline.chosen(step(app)).unwrap()[0]
}

fn in_sight(app: &App, moment: Seconds) -> bool {
    let window = app.timeline.window(step(app));
    (window.start..=window.start + window.width).contains(&(moment / step(app).time))
}

#[test]
fn a_gather_is_followed_to_its_use_and_back() {
    let mut app = explorer();
    press(&mut app, "4jg");
    let gather = chosen(&app);
    assert_eq!(gather.lane, Stream::Gather);
    press(&mut app, "f");
    let using = chosen(&app);
    assert_eq!(
        (using.lane, using.activity.layer, using.activity.part),
        (Stream::Compute, gather.activity.layer, gather.activity.part)
    );
    assert!(using.start >= gather.end);
    assert!(in_sight(&app, gather.start) && in_sight(&app, using.end), "both are in sight");
    press(&mut app, "f");
    assert_eq!(chosen(&app), gather);
    let rows = app.timeline.rows(step(&app));
    assert_eq!(rows[app.timeline.row(step(&app))].lane, Stream::Gather, "the row follows");
}

#[test]
fn a_reduction_leads_to_the_backward_that_made_its_gradients() {
    let mut app = explorer();
    press(&mut app, "4jjglll");
    let reduce = chosen(&app);
    assert_eq!(reduce.lane, Stream::Reduce);
    press(&mut app, "f");
    assert_eq!((chosen(&app).activity.kind, chosen(&app).activity.layer), (TaskKind::Backward, reduce.activity.layer));
    assert!(chosen(&app).end <= reduce.start);
}

#[test]
fn what_has_no_counterpart_says_so() {
    let mut app = explorer();
    press(&mut app, "4G");
    assert_eq!(chosen(&app).activity.kind, TaskKind::Optimizer);
    press(&mut app, "f");
    assert!(app.notice.is_some());
}

#[test]
fn a_layer_fills_the_window() {
    let mut app = explorer();
    press(&mut app, "4glllll");
    let span = chosen(&app);
    press(&mut app, "z");
    let window = app.timeline.window(step(&app));
    let compute = step(&app).trace.spans_on(0, Stream::Compute);
    let layer = compute
        .iter()
        .filter(|one| one.activity.kind == span.activity.kind && one.activity.layer == span.activity.layer);
    assert!(layer.clone().count() > 0 && layer.clone().all(|one| in_sight(&app, one.start) && in_sight(&app, one.end)));
    let length: Seconds = layer.map(|one| one.end - one.start).sum();
    assert!(window.width * step(&app).time <= 4.0 * length, "and not much else");
}

#[test]
fn exposed_stretches_are_visited_one_after_the_other() {
    let mut app = explorer();
    press(&mut app, "4g");
    let waits: Vec<Seconds> = step(&app)
        .trace
        .idle_of(0)
        .iter()
        .filter(|idle| idle.cause == IdleCause::Communication)
        .map(|idle| idle.start)
        .collect();
    let mut visited = Vec::new();
    for _ in 0..=waits.len() {
        press(&mut app, "n");
        if app.notice.is_some() {
            break;
        }
        assert!(chosen(&app).exposed);
        let last = waits.iter().rfind(|start| in_sight(&app, **start)).copied();
        visited.extend(last);
    }
    assert!(app.notice.as_ref().unwrap().contains("no further"), "{:?}", app.notice);
    assert!(!visited.is_empty() && visited.is_sorted(), "{visited:?}");
    press(&mut app, "N");
    assert!(app.notice.is_none() || visited.len() == 1);
}

#[test]
fn the_peak_of_the_memory_is_shown_on_the_timeline() {
    for open in [explorer as fn() -> App, || explorer_on(PIPELINE)] {
        let mut app = open();
        press(&mut app, "3<ret>");
        assert_eq!(app.focus, Panel::Timeline);
        let rank = app.timeline.rank(step(&app));
        let moment = app.answer.as_ref().unwrap().evaluation.stages[rank as usize].moment;
        assert!(in_sight(&app, moment));
        let span = chosen(&app);
        assert_eq!((span.rank, span.lane), (rank, Stream::Compute));
        assert!((span.start..=span.end).contains(&moment), "{span:?} {moment}");
    }
}
