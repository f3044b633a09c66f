use super::*;
use crate::app::tests::explorer;
use shardscope_engine::plan::Size;

fn answer(nodes: u32) -> Answer {
    let mut answer = explorer().answer.unwrap();
    answer.scenario.plan.size = Size::Nodes(nodes);
    answer
}

fn names(pins: &Pins) -> Vec<&str> {
    pins.all().iter().map(|pin| pin.name.as_str()).collect()
}

#[test]
fn pins_are_named_after_what_tells_them_from_the_first() {
    let mut pins = Pins::default();
    let mut hsdp = answer(8);
    hsdp.scenario.strategy = "hsdp".into();
    for answer in [answer(16), answer(8), hsdp, answer(16)] {
        pins.pin(answer.scenario.clone(), Some(answer.evaluation));
    }
    assert_eq!(names(&pins), ["fsdp", "nodes 8", "hsdp", "fsdp"]);
}

/// Six timelines of 60,000 spans are 360,000: the sixth keeps when its step stalls, and how long it takes.
#[test]
fn timelines_beyond_what_is_kept_are_thinned() {
    let mut pins = Pins::default();
    for nodes in 1..=6 {
        let Answer { scenario, evaluation } = answer(nodes);
        let mut evaluation = Evaluation::clone(&evaluation);
        let last = evaluation.trace.spans.iter().rposition(|span| span.end == evaluation.summary.step_time).unwrap();
        let span = evaluation.trace.spans[last];
        evaluation.trace.spans = vec![span; 60_000];
        pins.pin(scenario, Some(Arc::new(evaluation)));
    }
    let traces: Vec<_> = pins.all().iter().map(|pin| &pin.evaluation.as_ref().unwrap().trace).collect();
    assert_eq!(
        traces.iter().map(|trace| trace.spans.len()).collect::<Vec<_>>(),
        [60_000, 60_000, 60_000, 60_000, 60_000, 1]
    );
    let last = traces[0].last_rank();
    assert_eq!((traces[5].last_rank(), traces[5].idle_of(last)), (last, traces[0].idle_of(last)));
}

#[test]
fn pins_are_reordered_renamed_and_removed() {
    let mut pins = Pins::default();
    for nodes in [1, 2, 4] {
        let Answer { scenario, evaluation } = answer(nodes);
        pins.pin(scenario, Some(evaluation));
    }
    pins.rename(0, "  small ");
    assert_eq!(pins.shift(0, 1), 1);
    assert_eq!(names(&pins), ["nodes 2", "small", "nodes 4"]);
    assert_eq!((pins.shift(0, -1), pins.shift(2, 1)), (0, 2), "the ends are the ends");
    pins.remove(1);
    pins.remove(7);
    pins.rename(7, "nobody");
    assert_eq!(names(&pins), ["nodes 2", "nodes 4"]);
    assert_eq!(pins.position(&answer(4).scenario), Some(1));
    assert_eq!(pins.reference().map(|(pin, _)| pin.name.as_str()), Some("nodes 2"));
}

#[test]
fn an_evaluation_finds_its_pin_wherever_that_is_by_now() {
    let mut pins = Pins::default();
    let (one, two) = (answer(1), answer(2));
    pins.add("one".to_owned(), one.scenario.clone(), None);
    pins.add("two".to_owned(), two.scenario, None);
    assert_eq!(pins.missing().len(), 2);
    assert!(pins.reference().is_none());
    let id = pins.missing()[0].0;
    pins.shift(0, 1);
    assert!(pins.evaluated(id, Some(Arc::clone(&one.evaluation))).is_none());
    assert!(pins.all()[1].evaluation.is_some());
    let (two, _) = pins.missing().remove(0);
    assert_eq!(pins.evaluated(two, None).map(|pin| pin.name).as_deref(), Some("two"), "it cannot be evaluated");
    assert!(!pins.are_waiting() && names(&pins) == ["one"]);
}

#[test]
fn there_is_a_letter_for_each_and_no_place_for_more() {
    let mut pins = Pins::default();
    for nodes in 1..=MOST as u32 + 3 {
        pins.pin(answer(nodes).scenario, None);
    }
    assert_eq!((pins.all().len(), letter(0), letter(MOST - 1)), (26, "A".to_owned(), "Z".to_owned()));
    assert!(pins.are_full());
    pins.remove(3);
    assert!(!pins.are_full());
}
