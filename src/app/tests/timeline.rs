//! The timeline: zoom, ranks, and what another schedule makes of it.

use super::*;
use crate::app::timeline;

fn step(app: &App) -> timeline::ShownStep<'_> {
    timeline::ShownStep::new(&app.answer.as_ref().unwrap().evaluation)
}

#[test]
fn the_timeline_zooms_pans_and_chooses() {
    let mut app = explorer();
    let window = |app: &App| app.timeline.window(step(app));
    let first = window(&app);
    press(&mut app, "4+");
    assert!((window(&app).width - first.width / 2.0).abs() < 1e-12);
    press(&mut app, "0");
    assert_eq!(window(&app), timeline::Window::WHOLE);
    press(&mut app, "0");
    assert_eq!(window(&app), first);
    press(&mut app, "g");
    let chosen = |app: &App| app.timeline.chosen(step(app)).unwrap()[0];
    let before = chosen(&app);
    press(&mut app, "l");
    assert!(chosen(&app).start >= before.end && chosen(&app).lane == before.lane);
    press(&mut app, "h");
    assert_eq!(chosen(&app), before);
    press(&mut app, "j");
    let rows = app.timeline.rows(step(&app));
    assert_eq!(chosen(&app).lane, rows[app.timeline.row(step(&app))].lane);
    press(&mut app, "<ret>");
    assert_eq!(app.timeline.rows(step(&app)), rows, "one rank has nothing to fold");
}

#[test]
fn the_timeline_shows_all_ranks_or_the_lanes_of_one() {
    let mut app = explorer_on(PIPELINE);
    let rows = |app: &App| app.timeline.rows(step(app));
    assert_eq!(rows(&app).len(), 8);
    assert!(rows(&app).iter().all(|row| row.lane == shardscope_engine::evaluate::Stream::Compute));
    press(&mut app, "4kkkkkkkkjjl");
    assert_eq!(app.timeline.rank(step(&app)), 2);
    let visit = app.timeline.chosen(step(&app)).unwrap();
    let (first, layers) = (visit[0], visit.iter().map(|span| span.activity.layer));
    // 96 layers over 8 ranks: rank 2 has 24 to 35, and visits them all for one micro-batch.
    assert_eq!((layers.clone().min(), layers.max()), (Some(24), Some(35)));
    assert!(visit.iter().all(|span| span.activity.micro_batch == first.activity.micro_batch && span.rank == 2));
    press(&mut app, "l");
    assert!(app.timeline.chosen(step(&app)).unwrap()[0].start > first.start);

    press(&mut app, "h<ret>");
    assert!(rows(&app).len() > 1 && rows(&app).iter().all(|row| row.rank == 2), "{:?}", rows(&app));
    assert_eq!(app.timeline.chosen(step(&app)).unwrap(), [first], "the visit's first layer stays chosen");
    let (window, moment) = (app.timeline.window(step(&app)), first.start / step(&app).time);
    assert!((window.start..window.start + window.width).contains(&moment), "and in sight");
    press(&mut app, "<ret>");
    assert_eq!(rows(&app).len(), 8);
}

/// [layered C3]: the overhead falls from (P - 1) / M = 7/16 to (P - 1) / (M K) = 7/64 with 4 stages per rank. [layered
/// C4]: rank 0 keeps the checkpoints of all 16 micro-batches instead of those of 8. Weights and gradients are whole, so
/// that no stage's buffer changes what the memory is made of.
#[test]
fn from_1f1b_to_breadth_first_the_bubble_shrinks_and_checkpoints_grow() {
    let mut app = explorer_on(&PIPELINE.replace("fsdp", "zero1"));
    let look = |app: &App| {
        let first = app.answer.as_ref().unwrap().evaluation.stages[0];
        (figures(app).time.bubble / figures(app).step_time, first.parts.activations, first.peak)
    };
    let before = look(&app);
    to_field(&mut app, "schedule");
    press(&mut app, "<ret>/breadth<ret>jll");
    assert_eq!((value(&app, "schedule").as_str(), value(&app, "stages").as_str()), ("breadth-first", "4"));
    let after = look(&app);
    assert!(before.0 > 0.25 && after.0 < 0.5 * before.0, "bubble {before:?}, then {after:?}");
    assert!(after.1 > before.1 && after.2 > before.2, "checkpoints and peak {before:?}, then {after:?}");
}

/// [layered B5]: layered accumulation gathers once per layer and batch, where standard accumulation gathers for each of
/// 8 micro-batches.
#[test]
fn with_layered_accumulation_the_gathers_merge() {
    let mut app = explorer();
    to_field(&mut app, "accum");
    press(&mut app, "<ret>8<ret>");
    let gathers = |app: &App| step(app).trace.spans_on(0, shardscope_engine::evaluate::Stream::Gather).len() as f64;
    let before = gathers(&app);
    to_field(&mut app, "acc order");
    press(&mut app, "l");
    assert_eq!(value(&app, "acc order"), "layered");
    let ratio = before / gathers(&app);
    assert!((7.0..=9.0).contains(&ratio), "{before} gathers, then {}", gathers(&app));
}
