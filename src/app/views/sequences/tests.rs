//! The question, the live table, and taking a length.

use std::time::Duration;

use crate::app::App;
use crate::app::action::{Action, Command, JobReport};
use crate::app::answers::work::{Found, SoFar};
use crate::app::tests::{H100, explorer_on, press};
use shardscope_engine::plan::Recompute;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::plans::EvaluatedPlan;
use shardscope_engine::search::sequences::{ContextLength, SequenceAnswer};

/// The view with three invented lengths, each twice the one before and half as fast.
fn explorer() -> App {
    let mut app = explorer_on(H100);
    press(&mut app, "A");
    let answer = app.answer.as_ref().expect("an answer");
    let length = |index: u32| {
        let (mut scenario, mut summary) = (app.scenario.clone(), answer.evaluation.summary);
        scenario.plan.sequence <<= index;
        scenario.plan.recompute = [Recompute::None, Recompute::Selective, Recompute::Full][index as usize];
        summary.tokens_per_s_per_device /= f64::from(1 << index);
        let needs = if index == 2 { vec![Field::Recompute] } else { Vec::new() };
        let found = EvaluatedPlan::new(scenario, summary).expect("a plan that can be laid out");
        ContextLength { sequence: found.scenario.plan.sequence, found, needs }
    };
    let answer = SequenceAnswer { lengths: (0..3).map(length).collect(), exact: true, ..SequenceAnswer::default() };
    let generation = app.work;
    app.receive(JobReport::Found {
        generation,
        found: Found::new(SoFar { answer, complete: true, elapsed: Duration::ZERO }),
    });
    app
}

#[test]
fn the_first_length_is_there_as_soon_as_it_is_found() {
    let mut app = explorer_on(H100);
    press(&mut app, "A");
    let view = &app.views.sequences;
    assert!(view.answer().lengths.first().is_some_and(|length| length.found.summary.fits));
    assert!(!view.is_complete());
}

#[test]
fn a_length_that_is_taken_is_the_scenario_and_nothing_is_searched_anew() {
    let mut app = explorer();
    let own = app.scenario.plan.sequence;
    press(&mut app, "jj");
    let commands = app.update(Action::Take);
    assert_eq!((app.scenario.plan.sequence, app.scenario.plan.recompute), (4 * own, Recompute::Full));
    assert!(!commands.iter().any(|command| matches!(command, Command::Work { .. })), "{commands:?}");
    assert_eq!(app.views.sequences.answer().lengths.len(), 3);
}

#[test]
fn another_question_is_searched_anew_and_has_its_command_line() {
    let mut app = explorer();
    let line = |app: &App| {
        let context = app.context();
        crate::app::views::View::command_line(&app.views.sequences, &context).expect("a command line").1
    };
    assert!(line(&app).ends_with(" --objective sequence"), "{}", line(&app));
    let commands = app.update(Action::AnyPlan);
    assert!(commands.iter().any(|command| matches!(command, Command::Work { .. })), "{commands:?}");
    assert!(line(&app).ends_with(" --objective sequence --any-plan"), "{}", line(&app));
    assert!(app.views.sequences.answer().lengths.is_empty());
}
