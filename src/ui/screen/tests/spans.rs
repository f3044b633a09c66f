//! What the timeline says of a chosen span where there is little room, and of its window.

use super::*;
use shardscope_engine::evaluate::TaskKind;

#[test]
fn how_long_a_gather_is_held_is_said_before_what_it_is_for() {
    let mut app = engine::explorer();
    engine::press(&mut app, "4jgll");
    let spans = &app.answer.as_ref().unwrap().evaluation.trace.spans;
    let first = |kind: TaskKind| {
        let of_layer =
            |span: &&shardscope_engine::evaluate::Span| (span.activity.kind, span.activity.layer) == (kind, 1);
        spans.iter().find(of_layer).unwrap()
    };
    let held = first(TaskKind::Forward).start - first(TaskKind::AllGather).end;
    let text = crate::ui::export::text(screen(&app, UTF8, (80, 24)).buffer());
    assert!(text.contains("all-gather, layer 1"), "{text}");
    assert!(text.contains(&format!("hidden; used {held} later by forward, layer 1, at ")), "{text}");
}

/// Forward of layer 37 runs from 6.387 s to 6.498 s: zoomed, the window is a part of that.
#[test]
fn a_narrow_window_has_the_digits_that_tell_its_ends_apart() {
    let text = crate::ui::export::text(after("4Ghhz++", (80, 24)).buffer());
    assert!(text.contains(" 6.417 – 6.468 s, exposed 0 s of 410 ms "), "{text}");
    assert!(text.contains("forward, layer 37, micro-batch 0: 111 ms, at 6.387 s"), "{text}");
}

/// The fixture's first rank has the last backwards; the timeline goes to another one.
#[test]
fn where_the_step_goes_is_of_the_rank_that_ends_last() {
    let text = crate::ui::export::text(shown(fixture::pipeline(), "4jj", UTF8, (120, 40)).buffer());
    assert!(text.contains("rank 2 of 4: bubble"), "{text}");
    let title = text.lines().find(|line| line.contains("5 Where the step goes")).unwrap();
    assert!(title.contains(" rank 0 ┐"), "{title}");
}
