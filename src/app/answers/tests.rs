use super::*;
use crate::app::tests::explorer;
use shardscope_engine::plan::Size;

fn answer(nodes: u32) -> Answer {
    let mut answer = explorer().answer.unwrap();
    answer.scenario.plan.size = Size::Nodes(nodes);
    answer
}

#[test]
fn an_answer_is_found_by_its_scenario() {
    let mut answers = Answers::default();
    let (one, two) = (answer(1), answer(2));
    answers.keep(one.clone());
    let fix = Fixes(vec![shardscope_engine::scenario::Edit::new(shardscope_engine::scenario::Field::Nodes, 4)]);
    answers.fix(&one.scenario, &fix);
    assert_eq!(answers.find(&one.scenario).map(|(_, fix)| fix), Some(Some(fix.clone())));
    assert!(answers.find(&two.scenario).is_none());
    answers.keep(two);
    answers.keep(one.clone());
    assert_eq!(answers.kept.len(), 2);
    assert_eq!(answers.find(&one.scenario).map(|(_, fix)| fix), Some(Some(fix)), "the fix stays with it");
}

#[test]
fn the_oldest_answers_are_forgotten() {
    let mut answers = Answers::default();
    let first = answer(1);
    for nodes in 1..=MOST as u32 + 1 {
        let mut next = first.clone();
        next.scenario.plan.size = Size::Nodes(nodes);
        answers.keep(next);
    }
    assert_eq!(answers.kept.len(), MOST);
    assert!(answers.find(&first.scenario).is_none());
}

#[test]
fn long_timelines_push_others_out_but_never_the_latest() {
    let mut answers = Answers::default();
    let mut long = answer(1);
    let mut evaluation = shardscope_engine::evaluate::Evaluation::clone(&long.evaluation);
    let span = evaluation.trace.spans[0];
    evaluation.trace.spans = vec![span; MOST_SPANS + 1];
    long.evaluation = Arc::new(evaluation);
    answers.keep(answer(2));
    answers.keep(long.clone());
    assert_eq!(answers.kept.len(), 1);
    assert!(answers.find(&long.scenario).is_some());
}
