use super::*;
use crate::app::App;
use crate::app::action::Action;
use crate::app::action::Command;
use crate::app::jobs;
use crate::app::layer::Layer;
use crate::app::tests::{FRONTIER, explorer, explorer_on, figures, press, value};
use crate::app::views;
use crate::app::views::panels::breakdown;
use shardscope_engine::scenario::{Edit, Idle};
use shardscope_engine::search::WORTHWHILE_GAIN;
use shardscope_report::figures::{Figure, limit as limit_of};

/// What the explanation on the screen is of.
fn explained(app: &App) -> Option<Figure> {
    let Some(Layer::Explain(explaining)) = &app.layer else { return None };
    explaining.page().map(|page| page.explanation.figure)
}

fn advice(app: &App) -> &Advice {
    app.views.advice.advice().expect("advice")
}

fn changes(app: &App) -> Vec<(String, f64)> {
    let suggestions = &advice(app).suggestions;
    suggestions.iter().map(|one| (one.candidate.to_string(), one.gain)).collect()
}

/// A job that does not fit: 20 B parameters replicated on each device.
fn too_big() -> App {
    explorer_on(&FRONTIER.replace("zero-topo", "zero1").replace("nodes = 48", "nodes = 4"))
}

#[test]
fn what_is_promised_is_what_enter_brings() {
    for open in [explorer as fn() -> App, too_big] {
        let mut app = open();
        press(&mut app, "W");
        assert_eq!(app.view, views::advice::SPEC.id);
        let rows = app.views.advice.rows();
        let first = rows.iter().position(|row| matches!(row, AdviceRow::Change(_))).expect("a change");
        let AdviceRow::Change(promised) = rows[first].clone() else { panic!("no change") };
        let (summary, edits) = (promised.summary, promised.candidate.edits.clone());
        press(&mut app, &format!("g{}<ret>", "j".repeat(first)));
        assert_eq!(figures(&app), summary);
        for Edit { field, value: wanted } in &edits {
            let (label, wanted) = (field.spec().label, wanted.to_string());
            assert_eq!(value(&app, label), wanted);
            assert!(app.notice.as_ref().unwrap().contains(&format!("{label} {wanted}")), "{:?}", app.notice);
        }
    }
}

/// The resource of the headline leads the panel of the time and the advice.
#[test]
fn one_ranking_says_what_limits() {
    for open in [explorer as fn() -> App, || explorer_on(FRONTIER)] {
        let mut app = open();
        press(&mut app, "W");
        let answer = app.answer.clone().expect("an answer");
        let (first, limit) = answer.evaluation.ranking().next().expect("a resource");
        let of_panel = breakdown(Some(&answer)).into_iter().find(|figure| matches!(figure, Figure::Elasticity(_)));
        assert_eq!(of_panel, Some(Figure::Elasticity(first)));
        let of_view = app.views.advice.rows().first();
        assert!(matches!(of_view, Some(AdviceRow::Resource(index, ..)) if *index == first), "{of_view:?}");
        let words = limit.property.words(&answer.scenario).replace("arithmetic peak", "compute");
        let headline = limit_of(&answer.scenario, &answer.evaluation);
        assert!(headline.what.ends_with(&words), "{headline}: {words}");
    }
}

#[test]
fn nothing_is_taken_while_the_fields_make_no_scenario() {
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.row().label() != "tp" {
        press(&mut app, "j");
    }
    // MPT-7B has 32 heads: tensor parallelism over 7 is not possible.
    press(&mut app, "W1<ret><c-u>7<ret>2G");
    let rows = app.views.advice.rows();
    assert!(matches!(rows[app.views.advice.row()], AdviceRow::Change(_)), "what was tried before stays in sight");
    let file = app.file.clone();
    press(&mut app, "<ret>");
    assert_eq!(app.notice.as_deref(), Some("these changes are of the last possible scenario: fix the fields first"));
    assert_eq!(app.file, file);
}

#[test]
fn where_it_fits_each_change_gains_and_the_most_comes_first() {
    let mut app = explorer();
    press(&mut app, "W");
    let found = changes(&app);
    assert!(!found.is_empty());
    assert!(found.iter().all(|(_, gain)| *gain >= WORTHWHILE_GAIN), "{found:?}");
    let fields = |edits: &[Edit]| edits.iter().map(|edit| edit.field.spec().flag).collect::<Vec<_>>();
    let suggestions = &advice(&app).suggestions;
    for coarser in [false, true] {
        let same: Vec<_> = suggestions.iter().filter(|one| one.coarser.is_empty() != coarser).collect();
        assert!(same.windows(2).all(|pair| pair[0].gain >= pair[1].gain), "{found:?}");
        let mut changed: Vec<_> = same.iter().map(|one| fields(&one.candidate.edits)).collect();
        changed.sort_unstable();
        changed.dedup();
        assert_eq!(changed.len(), same.len(), "one change of each field, or of two together: {found:?}");
    }
}

/// What `t` finds in a cell, a larger micro-batch with less or more recompute, is among the advice: 70 B parameters on 64
/// devices take micro-batches of 2 only where some layers are computed again.
#[test]
fn a_larger_micro_batch_is_tried_with_the_recompute_that_it_needs() {
    let mut app = explorer_on(
        "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-70b\"\nstrategy = \"fsdp\"\n\
         [plan]\nnodes = 8\nglobal_batch = 1024\n",
    );
    press(&mut app, "W");
    let found = changes(&app);
    assert!(found[0].0.starts_with("micro ") && found[0].0.contains(" + recompute "), "{found:?}");
}

#[test]
fn where_it_does_not_fit_each_change_is_the_nearest_with_which_it_does() {
    let mut app = too_big();
    assert!(!figures(&app).fits);
    press(&mut app, "W");
    assert_eq!(advice(&app).fits, Some(false));
    assert!(matches!(app.views.advice.rows().first(), Some(AdviceRow::Change(_))), "what makes it fit comes first");
    let found = changes(&app);
    assert!(found.iter().any(|(change, _)| change.starts_with("strategy ")), "{found:?}");
    for suggestion in &advice(&app).suggestions {
        assert!(suggestion.summary.fits, "{suggestion:?}");
    }
}

#[test]
fn a_changed_scenario_is_tried_anew_and_the_same_is_not() {
    let mut app = explorer();
    press(&mut app, "W");
    let before = app.work;
    press(&mut app, "MW");
    assert_eq!(app.work, before, "the trials are there");
    press(&mut app, "1gjjjjjjl");
    assert!(app.work > before && app.views.advice.advice().is_some() && !app.is_waiting());
    assert_eq!(app.views.advice.asked.as_ref(), Some(&app.scenario));
}

#[test]
fn it_is_about_the_scenario_in_hand() {
    let mut app = explorer();
    press(&mut app, "llW");
    assert!(!app.looking);
    assert_eq!(app.answer.as_ref().unwrap().scenario, app.scenario);
}

/// Figures of trials that an edit has outrun are dropped, and asked for anew with the view.
#[test]
fn figures_of_an_older_scenario_are_dropped() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjjl");
    let asked = app.update(Action::View(views::advice::SPEC.id));
    let late = asked.into_iter().find(|command| matches!(command, Command::Work { .. })).expect("trials");
    press(&mut app, "M1gjjjjjjl");
    for report in jobs::in_line(late) {
        assert_eq!(app.receive(report), []);
    }
    assert!(app.views.advice.advice().is_none());
    press(&mut app, "W");
    assert_eq!(app.views.advice.asked.as_ref(), Some(&app.scenario));
    assert!(app.views.advice.advice().is_some());
}

#[test]
fn enter_explains_what_hardware_would_give() {
    let mut app = explorer();
    press(&mut app, "Wg<ret>");
    let by_enter = explained(&app);
    assert!(by_enter.is_some(), "{:?}", app.layer);
    press(&mut app, "<esc>i");
    assert_eq!(explained(&app), by_enter);
}

#[test]
fn a_larger_batch_is_said_to_be_one() {
    let mut app = explorer();
    press(&mut app, "W");
    for suggestion in &advice(&app).suggestions {
        let field = suggestion.candidate.edits[0].field.spec().flag;
        assert!(
            suggestion.batch.is_none() || ["micro-batch", "accumulate", "nodes", "tp", "cp", "pp"].contains(&field),
            "{suggestion:?}"
        );
    }
}

/// 64 B parameters, replicated, on 8 devices of 40 GB: sharded, their 16 bytes each would still be 128 GB a device.
const FAR_TOO_BIG: &str = "format = 1\ncluster = \"a100-40gb-perlmutter\"\nstack = \"default\"\nmodel = \"mpt-70b\"\n\
                           strategy = \"ddp\"\n[plan]\nnodes = 2\n";

#[test]
fn where_no_single_change_lets_it_fit_two_together_are_tried() {
    let mut app = explorer_on(FAR_TOO_BIG);
    assert!(!figures(&app).fits);
    press(&mut app, "W");
    let advice = advice(&app);
    assert!(advice.pairs && !app.is_waiting());
    assert_eq!(advice.fits, Some(false));
    let suggestions = &advice.suggestions;
    assert!((1..=6).contains(&suggestions.len()), "{:?}", changes(&app));
    for one in suggestions {
        assert!(one.summary.fits && one.candidate.edits.len() == 2, "{one:?}");
        assert_ne!(one.candidate.edits[0].field, one.candidate.edits[1].field, "{one:?}");
    }
    let (summary, wanted) = (suggestions[0].summary, suggestions[0].candidate.edits.clone());
    let first = app.views.advice.rows().iter().position(|row| matches!(row, AdviceRow::Change(_))).unwrap();
    press(&mut app, &format!("g{}<ret>", "j".repeat(first)));
    assert_eq!(figures(&app), summary);
    assert!(wanted.iter().all(|edit| value(&app, edit.field.spec().label) == edit.value.to_string()), "{wanted:?}");
    press(&mut app, "u");
    assert!(!figures(&app).fits, "one entry for both");
}

/// The guide's 175 B parameters in 8 contiguous stages, 32 micro-batches.
const CONTIGUOUS: &str = "format = 1\ncluster = \"a100-80gb-dgx\"\nstack = \"megatron-2022\"\nmodel = \"gpt3-175b\"\n\
                          strategy = \"zero1\"\n[plan]\nnodes = 16\ntensor = 8\npipeline = 8\naccumulate = 32\n\
                          recompute = \"full\"\nschedule = \"1f1b\"\n";

/// The bubble adds (P - 1) / (v m) of the arithmetic with v stages per rank: 7 / 32 = 21.9 % with one, 7 / (8 x 32) =
/// 2.7 % with eight, so that no stages bring more than 1.219 / 1.027 = 1.186; neither field brings anything alone.
#[test]
fn a_schedule_is_tried_together_with_its_stages() {
    let mut app = explorer_on(CONTIGUOUS);
    press(&mut app, "W");
    let found = changes(&app);
    let alone = |(change, _): &&(String, f64)| change.starts_with("schedule") || change.starts_with("stages");
    let [(change, gain)] = found.iter().filter(alone).collect::<Vec<_>>()[..] else { panic!("{found:?}") };
    assert!(
        change.starts_with("schedule breadth-first + stages ") || change.starts_with("schedule interleaved + stages ")
    );
    assert!((0.1..0.186).contains(gain), "{found:?}");
    let row = app.views.advice.rows().iter().position(|row| row.name() == *change).expect("a row");
    press(&mut app, &format!("g{}<ret>", "j".repeat(row)));
    assert!(app.scenario.plan.stages_per_rank > 1, "{change} is taken whole");
    assert!(Idle::all(&app.scenario.plan).is_empty());
}

/// Frontier's 20B with unquantised shards: its strategies with int8 weights on the wire stand last and say so.
#[test]
fn what_makes_the_numbers_coarser_stands_last_and_says_so() {
    let text = FRONTIER.replace("zero-topo", "fsdp").replace("deepspeed-zero3-2022", "deepspeed-zeropp-2023");
    let mut app = explorer_on(&text);
    press(&mut app, "W");
    let suggestions = &advice(&app).suggestions;
    let first = suggestions.iter().position(|one| !one.coarser.is_empty()).expect("a quantised strategy is faster");
    assert!(first > 0 && suggestions[first..].iter().all(|one| !one.coarser.is_empty()), "{:?}", changes(&app));
    assert!(suggestions[first].candidate.to_string().starts_with("strategy zero"), "{:?}", changes(&app));
    assert_eq!(suggestions[first].coarser, ["int8 weights", "int4 gradients"]);
    assert!(
        suggestions[..first].iter().any(|one| one.candidate.to_string().starts_with("strategy ")),
        "the best strategy of the same numbers stays beside it: {:?}",
        changes(&app)
    );
}

/// More devices shorten any job: among changes of the plan they would always win, and say nothing of it. Fewer devices
/// are faster per device, and the job ends later.
#[test]
fn a_plan_that_fits_is_held_against_others_of_its_devices() {
    let mut app = explorer();
    press(&mut app, "W");
    let now = figures(&app);
    for one in &advice(&app).suggestions {
        assert_eq!(one.summary.devices, now.devices, "{one:?}");
        assert!(one.summary.tokens_per_s() > now.tokens_per_s(), "{one:?}");
    }
}
