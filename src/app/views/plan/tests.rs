//! Limits, operators, and taking a plan: keys in, scenario out; the plans are given, not searched.

use super::*;
use crate::app::App;
use crate::app::action::Command;
use crate::app::action::JobReport;
use crate::app::tests::{explained, explorer_on, figures, press_obeying, question, question_of, value};
use crate::app::views;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::plan::{Extent, Extents, Operator, Placement, Recompute};
use shardscope_engine::scenario::file::parse;
use shardscope_report::figures::Figure;

/// A small model on one node of a slow network.
const SLOW: &str = r#"
format = 1
cluster = "titan-rtx-pcie"
stack = "ideal"
model = "mpt-125m"
strategy = "fsdp"
[plan]
nodes = 1
sequence = 512
precision = "fp32"
"#;

/// Presses keys; what the view has computed is left to the tests.
fn press(app: &mut App, keys: &str) -> Vec<Command> {
    press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }))
}

/// Attention replicated, the rest sharded, and as many sequences as the limit has a place: what was found there.
fn planned(curve: &MemoryCurve, place: usize) -> PlanAnswer {
    let mut scenario = curve.request.scenario.clone();
    (scenario.plan.micro_batch, scenario.plan.recompute) = (place as u32, Recompute::Full);
    scenario.plan.memory_factor = curve.limits[place];
    let all = |extent: Extent| Extents {
        weights: Some(extent.clone()),
        gradients: Some(extent.clone()),
        optimizer: Some(extent),
    };
    let placed = |operator, extent| Placement { layers: None, operator, extents: all(extent), split: 1 };
    let operators = vec![placed(Operator::Attention, Extent::Device), placed(Operator::Mlp, Extent::System)];
    scenario.plan.operators.clone_from(&operators);
    let summary = summary(&scenario, &mut Workspace::default()).unwrap();
    let found = FoundPlan { scenario, summary, paper_s: None, operators, why: Vec::new() };
    PlanAnswer { plans: vec![found], ..PlanAnswer::default() }
}

/// The view with a plan for each limit but the first.
fn filled(text: &str) -> App {
    let mut app = explorer_on(text);
    let commands = press(&mut app, "P");
    let [Command::Work { generation, .. }] = &commands[..] else { panic!("{commands:?}") };
    let CurveFill { curve, .. } = question(&commands[0]).expect("a curve");
    assert!(app.is_waiting());
    for place in 0..curve.limits.len() {
        let planned = if place == 0 { PlanAnswer::default() } else { planned(curve, place) };
        let found = Found::new((place, planned));
        app.receive(JobReport::Found { generation: *generation, found });
    }
    assert_eq!((app.view, app.is_waiting()), (views::plan::SPEC.id, false));
    app
}

fn place(app: &App) -> (usize, Option<u32>) {
    let planning = &app.views.plan;
    (planning.place(), planning.chosen().map(|found| found.scenario.plan.micro_batch))
}

#[test]
fn brackets_move_the_limit_and_the_plan_changes() {
    let mut app = filled(SLOW);
    assert_eq!(place(&app), (11, Some(11)), "the scenario's own limit is all of the memory");
    assert_eq!(press(&mut app, "[[["), [], "nothing has to be searched again");
    assert_eq!(place(&app), (8, Some(8)));
    press(&mut app, "]l<right>]");
    assert_eq!(place(&app), (11, Some(11)));
    press(&mut app, "[[[[[[[[[[[[[");
    assert_eq!(place(&app), (0, None));
}

#[test]
fn arrows_move_over_the_operators() {
    let mut app = filled(SLOW);
    press(&mut app, "j");
    assert_eq!(app.views.plan.operator(), 1);
    press(&mut app, "jjkk");
    assert_eq!(app.views.plan.operator(), 0);
    press(&mut app, "G");
    assert_eq!(app.views.plan.operator(), 1);
}

/// What Enter takes evaluates to what the plan promised, and `u` gives back what was there.
#[test]
fn enter_takes_the_plan_and_u_takes_it_back() {
    let mut app = filled(SLOW);
    let before = (app.file.clone(), app.scenario.clone(), figures(&app));
    press(&mut app, "[[[");
    let plan = app.views.plan.chosen().unwrap().clone();
    press(&mut app, "<ret>");
    let taken = app.file.clone();
    let (now, planned) = (&app.scenario.plan, &plan.scenario.plan);
    assert_eq!((&now.operators, &now.sharding), (&planned.operators, &planned.sharding));
    assert_eq!((now.micro_batch, value(&app, "micro")), (8, "8".to_owned()));
    assert_eq!(value(&app, "recompute"), "full");
    // A limit below the device's memory is a question, and no property of the job.
    assert!((now.memory_factor - 1.0).abs() < 1e-12);
    let promised = plan.summary;
    assert_eq!((figures(&app).step_time, figures(&app).memory.parts), (promised.step_time, promised.memory.parts));
    assert!(app.notice.as_deref().is_some_and(|notice| notice.starts_with("applied the plan: micro 8")));
    press(&mut app, "u");
    assert_eq!((app.file.clone(), app.scenario.clone(), figures(&app)), before);
    press(&mut app, "U");
    assert_eq!(app.file, taken);
}

/// The scenario may use a sixth of the memory; a plan that needs more brings its limit along.
#[test]
fn a_plan_beyond_the_limit_brings_it_along() {
    // 1e-3 of 24 GiB holds no plan of 125M parameters.
    let mut app = filled(&format!("{SLOW}memory_factor = 0.001"));
    assert_eq!(place(&app), (0, None));
    press(&mut app, "]]<ret>");
    let limit = app.scenario.plan.memory_factor;
    assert!((limit - 1.0 / 6.0).abs() < 1e-12, "{limit}");
}

#[test]
fn m_asks_for_the_time_of_a_step_instead() {
    let mut app = filled(SLOW);
    let commands = press(&mut app, "m");
    let CurveFill { curve, .. } = commands.iter().find_map(question).expect("a curve");
    assert_eq!(curve.request.objective, PlannerObjective::StepTime);
    assert_eq!(press(&mut app, "m").len(), 1);
    assert_eq!(app.views.plan.objective(), PlannerObjective::Throughput);
}

#[test]
fn nothing_is_taken_before_it_is_there() {
    let mut app = explorer_on(SLOW);
    press(&mut app, "P");
    let before = app.file.clone();
    press(&mut app, "<ret>");
    assert_eq!(app.file, before);
    assert!(app.notice.as_deref().is_some_and(|notice| notice.contains("computing")));
}

/// An edit asks again, and what is known of limits that both have stays until then.
#[test]
fn an_edit_searches_again_and_keeps_the_picture() {
    let app = filled(SLOW);
    let mut file = parse(SLOW).unwrap();
    file.set("seq", "1024").unwrap();
    let longer = app.library.resolve(&file).unwrap();
    let (mut planning, context) = (app.views.plan.clone(), app.context());
    assert!(planning.follow(&context).is_none(), "the same is not searched again");
    let context = Context { shown: &longer, ..context };
    let job = planning.follow(&context).expect("a curve");
    let CurveFill { curve, from } = question_of(&*job).expect("a curve");
    assert!(*from == 11 && curve.request.scenario == longer);
    assert!(planning.is_waiting(&context) && planning.chosen().is_some());
    assert!(!planning.picture.as_ref().unwrap().is_fresh(11));
}

/// Not of the scenario in hand: of the plan within the limit under the cursor, in what it is the best in.
#[test]
fn i_explains_the_plan_within_the_limit() {
    let mut app = filled(SLOW);
    press(&mut app, "[[[");
    let summary = app.views.plan.chosen().unwrap().summary;
    assert_ne!(summary.step_time, figures(&app).step_time);
    press(&mut app, "i");
    let name = format!("model flop per second and device, within {}", summary.memory.capacity);
    assert_eq!(explained(&app), (name, Figure::ModelFlops, summary.model_flops.get()));
    press(&mut app, "<esc>gggg[[[[[[[[[[i");
    assert_eq!(app.notice.as_deref(), Some("no plan fits within this limit: there is nothing to explain"));
    press(&mut app, "mi");
    assert_eq!(app.notice.as_deref(), Some("still computing: there is no figure yet"), "another objective");
}

#[test]
fn an_answer_ends_the_waiting_for_it() {
    let mut app = explorer_on(SLOW);
    press(&mut app, "P<ret>");
    let waits = |app: &App| app.notice.as_deref() == Some("still computing: apply the plan when it is there");
    assert!(waits(&app));
    let curve = Arc::clone(&app.views.plan.picture.as_ref().unwrap().curve);
    app.take_found(Found::new((3_usize, planned(&curve, 3))));
    assert!(waits(&app), "that was another limit");
    app.take_found(Found::new((app.views.plan.place(), planned(&curve, 11))));
    assert_eq!(app.notice, None);
}
