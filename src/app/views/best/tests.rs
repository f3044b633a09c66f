//! What is asked, the live table, its order, taking, pinning and ranges.

use crate::app::action::{Action, Command, JobReport};
use crate::app::answers::work::{Found, JobContext, SoFar, ViewJob};
use crate::app::tests::{H100, explorer_on, press, question};
use crate::app::{App, Panel};
use shardscope_engine::plan::{Recompute, Size};
use shardscope_engine::scenario::Field;
use shardscope_engine::search::plans::{EvaluatedPlan, PlanSearch, PlanSearchAnswer};
use shardscope_report::figures::RecipePlan;

use super::{PlanColumn, PlanQuestion, SPEC};

/// The view with three invented plans, each 10 % slower than the one before and 10 % smaller.
fn explorer() -> App {
    let mut app = explorer_on(H100);
    press(&mut app, "B");
    let answer = app.answer.as_ref().expect("an answer");
    let found = |index: u32| {
        let (mut scenario, mut summary) = (app.scenario.clone(), answer.evaluation.summary);
        scenario.plan.recompute = [Recompute::None, Recompute::Selective, Recompute::Full][index as usize];
        summary.tokens_per_s_per_device *= 2.0 - 0.1 * f64::from(index);
        summary.memory.peak = summary.memory.peak * (1.0 - 0.1 * f64::from(index));
        EvaluatedPlan::new(scenario, summary).expect("a plan that can be laid out")
    };
    let plans = (0..3).map(found).collect();
    let answer = PlanSearchAnswer { plans, exact: true, ..PlanSearchAnswer::default() };
    let generation = app.work;
    app.receive(JobReport::Found {
        generation,
        found: Found::new(SoFar { answer, complete: true, elapsed: std::time::Duration::ZERO }),
    });
    app
}

fn recomputes(app: &App) -> Vec<Recompute> {
    app.views.best.plans().iter().map(|row| row.found.scenario.plan.recompute).collect()
}

#[test]
fn the_search_is_of_the_current_scenario_and_finds_a_plan() {
    let mut app = explorer_on(H100);
    press(&mut app, "B");
    let search = app.views.best.asked().expect("a search");
    assert_eq!((&search.base, search.front.is_empty()), (&app.scenario, true));
    let found = &app.views.best.answer().plans;
    assert!(found.first().is_some_and(|plan| plan.summary.fits), "the first plan is there as soon as one is found");
    assert!(!app.views.best.is_complete() && app.view == SPEC.id && app.focus == Panel::Map);
}

#[test]
fn columns_sort_the_rows_and_keep_the_ranks() {
    let mut app = explorer();
    assert_eq!(recomputes(&app), [Recompute::None, Recompute::Selective, Recompute::Full]);
    while app.views.best.sort != PlanColumn::Spare {
        press(&mut app, "l");
    }
    // The smallest leaves most.
    assert_eq!(recomputes(&app), [Recompute::Full, Recompute::Selective, Recompute::None]);
    assert_eq!(app.views.best.plans()[0].rank, 3, "its rank is that of the objective");
}

#[test]
fn a_plan_that_is_taken_is_the_scenario_and_nothing_is_searched_anew() {
    let mut app = explorer();
    press(&mut app, "jj");
    let commands = app.update(crate::app::action::Action::Take);
    assert_eq!(app.scenario.plan.recompute, Recompute::Full);
    assert!(!commands.iter().any(|command| matches!(command, Command::Work { .. })), "{commands:?}");
    assert!(app.views.best.is_complete() && app.views.best.plans().len() == 3);
}

#[test]
fn a_range_is_pinned_and_compared_at_once() {
    let mut app = explorer();
    press(&mut app, "j jp");
    assert_eq!(app.pins.all().len(), 2);
    assert_eq!(app.pins.all()[1].scenario.plan.recompute, Recompute::Full);
    assert_eq!(app.view, crate::app::views::compare::SPEC.id);
}

#[test]
fn keys_change_the_question_and_the_search_begins_anew() {
    let mut app = explorer();
    let Size::Nodes(nodes) = app.scenario.plan.size else { panic!("a size in nodes") };
    let commands = app.update(crate::app::action::Action::Filter(crate::app::action::Facet::Devices));
    let [search] = &commands.iter().filter_map(question::<PlanSearch>).collect::<Vec<_>>()[..] else {
        panic!("{commands:?}")
    };
    assert!(!search.front.is_empty(), "several sizes have a front");
    assert!(nodes >= 1 && !app.views.best.is_complete() && app.views.best.plans().is_empty());
    press(&mut app, "+");
    let margin = app.views.best.asked().expect("a search").limits.margin;
    assert_eq!(margin, shardscope_engine::search::plans::Margin::Share(0.05));
}

/// 100 tokens within 365 days are 365 x 86,400 s / 100 for one; a cluster without a price has no budget.
#[test]
fn a_deadline_needs_tokens_and_a_budget_a_price() {
    let app = explorer();
    let mut scenario = app.scenario.clone();
    scenario.plan.tokens = None;
    assert!(PlanQuestion::lacks(Action::Deadline, &scenario).is_some_and(|why| why.contains("no length")));
    scenario.plan.tokens = Some(100.0);
    let mut question = app.views.best.question;
    assert!(PlanQuestion::lacks(Action::Deadline, &scenario).is_none());
    assert!(question.change(Action::Deadline));
    let limits = question.search(&scenario, &app.file).limits;
    assert!((limits.per_token - 315_360.0).abs() < 1e-6, "{}", limits.per_token);
    assert!(question.words(&app.scenario).contains(&"within 365 days".to_owned()));
    std::sync::Arc::make_mut(&mut scenario.cluster).price_per_device_hour = None;
    assert!(PlanQuestion::lacks(Action::Budget, &scenario).is_some_and(|why| why.contains("no price")));
    scenario.plan.price = "2 EUR".parse().ok();
    assert_eq!(PlanQuestion::lacks(Action::Budget, &scenario), None, "the scenario's own price");
    scenario.plan.price = None;
    let price = shardscope_engine::units::Money { amount: 2.0, currency: None };
    std::sync::Arc::make_mut(&mut scenario.cluster).price_per_device_hour = Some(price);
    assert!(PlanQuestion::lacks(Action::Budget, &scenario).is_none() && question.change(Action::Budget));
    // 1e8 USD for 100 tokens.
    let limits = question.search(&scenario, &app.file).limits;
    assert!((limits.cost_per_token / 1e6 - 1.0).abs() < 1e-12, "{}", limits.cost_per_token);
}

/// 44 layers on 64 devices, where stages that are not alike are the best: from the best plan no single change of what was
/// searched is better by 0.1 %.
#[test]
fn advice_on_the_best_plan_has_no_change_of_what_was_searched() {
    let text = "format = 1\ncluster = \"a100-80gb-dgx\"\nstack = \"default\"\nmodel = \"gpt-neox-20b\"\n\
                strategy = \"fsdp\"\n[plan]\nnodes = 8\nglobal_batch = 1024\n";
    let app = explorer_on(text);
    let mut search = app.views.best.question.search(&app.scenario, &app.file);
    // Advice takes what fits, with whatever chance.
    search.limits.margin = shardscope_engine::search::plans::Margin::NONE;
    // Values that advice steps to too.
    for axis in ["recompute=none,selective,0.25,0.5,0.75,full", "tp=1,2,4,8", "cp=1,2"] {
        search.space.vary(axis.parse().expect(axis));
    }
    let pool = shardscope_engine::search::pool(Some(2)).expect("threads");
    let best = search.run(&shardscope_engine::search::Evaluator::on(&pool), &mut |_| {}).plans.swap_remove(0);
    let mut app = explorer_on(&app.library.file(&best.scenario).to_toml().expect("a file"));
    assert_eq!(app.answer.as_ref().expect("an answer").evaluation.summary.step_time, best.summary.step_time);
    press(&mut app, "W");
    let searched =
        |field| shardscope_engine::search::plans::SearchSpace::default().is_free(field) && field != Field::Strategy;
    for change in &app.views.advice.advice().expect("advice").suggestions {
        let all = change.candidate.edits.iter().all(|edit| searched(edit.field));
        assert!(!all || change.gain < 1e-3, "{} gains {}", change.candidate, change.gain);
    }
}

#[test]
fn the_question_is_a_command_line_too() {
    let mut app = explorer_on(H100);
    press(&mut app, "B");
    let line = |app: &App| app.command_lines().unwrap().lines[1].clone();
    let (what, command) = line(&app);
    assert_eq!(what, "the best plans");
    assert!(command.starts_with("shardscope search --hardware "), "{command}");
    // What a flag says stays as it is: what is searched is not said.
    assert!(!["--strategy", "--tp", "--micro-batch"].iter().any(|flag| command.contains(flag)), "{command}");
    assert!(command.ends_with("--objective throughput"), "{command}");
    press(&mut app, "fnd+");
    let (_, command) = line(&app);
    assert!(command.contains("--strategy "), "the sharding is kept: {command}");
    assert!(command.contains(" --over nodes="), "{command}");
    assert_eq!(command.contains(" --pareto days,devices"), app.scenario.plan.tokens.is_some(), "{command}");
    assert!(command.ends_with("--allow quantised --margin 5%"), "{command}");
    press(&mut app, "o");
    assert_eq!(line(&app).0, "the map", "no price: no flag counts device-hours");
}

/// What keeps all plans out is named, with the key that changes it.
#[test]
fn what_plans_are_held_to_is_named_with_its_key() {
    let mut app = explorer();
    press(&mut app, "1");
    let scenario = app.scenario.clone();
    assert!(app.views.best.question.held_to(&scenario).is_empty());
    let mut question = app.views.best.question;
    assert!(question.change(Action::Deadline) && question.change(Action::More));
    assert_eq!(question.held_to(&scenario), ["within 365 days", "5 % of memory free"]);
    let ways = question.ways_out(&scenario);
    assert!(ways[0].starts_with("t ") && ways[1].starts_with("- "), "{ways:?}");
}

/// 1.3 billion parameters in 11.9 GiB a device, where some layers can stay whole and not all: once whole plans are
/// proven, the one placed operator by operator comes first, and Enter takes it.
#[test]
fn a_plan_placed_by_operator_comes_last_and_is_taken_like_others() {
    let text = "format = 1\ncluster = \"a100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-1b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 2\nglobal_batch = 64\nmemory_factor = 0.13\n";
    let mut app = explorer_on(text);
    press(&mut app, "B");
    let mut search = app.views.best.asked().expect("a search").clone();
    for axis in ["tp=1", "cp=1", "pp=1", "micro-batch=1,2", "recompute=none,full"] {
        search.space.vary(axis.parse().expect(axis));
    }
    let (pool, cancel) =
        (shardscope_engine::search::pool(Some(2)).expect("threads"), shardscope_engine::search::Cancel::default());
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |found| told.lock().expect("a lock").push(found);
    let job = JobContext { pool: &pool, cancel: &cancel, pause: std::time::Duration::ZERO, tell: &tell };
    search.work(&job);
    let mut told = told.into_inner().expect("a lock");
    let all: SoFar<PlanSearchAnswer> = told.pop().and_then(|found| found.take().ok()).expect("an end");
    assert!(all.complete);
    let whole: SoFar<PlanSearchAnswer> = told.pop().and_then(|found| found.take().ok()).expect("plans before the end");
    assert!(!whole.complete);
    let whole = whole.answer;
    let by_operator = |found: &EvaluatedPlan| !found.scenario.plan.operators.is_empty();
    assert!(whole.exact && !whole.plans.iter().any(by_operator));
    let (placed, best) = (all.answer.plans[0].clone(), &whole.plans[0]);
    assert!(by_operator(&placed) && placed.summary.tokens_per_s() > 1.001 * best.summary.tokens_per_s());
    assert_eq!(all.answer.plans[1].summary, best.summary);
    let generation = app.work;
    app.receive(JobReport::Found { generation, found: Found::new(all) });
    press(&mut app, "g<ret>");
    assert_eq!(app.scenario.plan.operators, placed.scenario.plan.operators);
    assert!(app.notice.as_ref().is_some_and(|said| said.contains("by operator")), "{:?}", app.notice);
}

/// Qwen3-30B-A3B on 64 B200: the first plan keeps all experts on each rank. What it would be with the experts of a layer divided over
/// the 8 devices of a node, as recipes of Megatron-Bridge have it, is told before the end, and forgotten with its search.
#[test]
fn what_a_vendor_s_recipe_comes_to_stands_beside_the_plans() {
    let text = "format = 1\ncluster = \"b200-dgx\"\nstack = \"megatron-bridge-2025\"\nmodel = \"qwen3-30b-a3b\"\n\
                strategy = \"zero1\"\n[plan]\nnodes = 8\nglobal_batch = 512\n";
    let mut app = explorer_on(text);
    press(&mut app, "B");
    let mut search = app.views.best.asked().expect("a search").clone();
    for axis in ["tp=1", "cp=1", "pp=1", "ep=1,8", "micro-batch=1,2", "recompute=none,full"] {
        search.space.vary(axis.parse().expect(axis));
    }
    let (pool, cancel) =
        (shardscope_engine::search::pool(Some(2)).expect("threads"), shardscope_engine::search::Cancel::default());
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |found| told.lock().expect("a lock").push(found);
    let job = JobContext { pool: &pool, cancel: &cancel, pause: std::time::Duration::ZERO, tell: &tell };
    search.work(&job);
    let mut told = told.into_inner().expect("a lock");
    let all: SoFar<PlanSearchAnswer> = told.pop().and_then(|found| found.take().ok()).expect("an end");
    assert!(all.complete);
    let recipe: RecipePlan = told.pop().and_then(|found| found.take().ok()).expect("a recipe");
    assert_eq!([all.answer.plans[0].scenario.plan.experts.ranks, recipe.found.scenario.plan.experts.ranks], [1, 8]);
    assert!(recipe.found.summary.tokens_per_s() <= all.answer.plans[0].summary.tokens_per_s());
    assert!(recipe.why.starts_with("it is ") && recipe.why.contains("slower: "), "{}", recipe.why);
    let generation = app.work;
    app.receive(JobReport::Found { generation, found: Found::new(recipe) });
    assert!(app.views.best.recipe().is_some());
    press(&mut app, "o");
    assert!(app.views.best.recipe().is_none(), "of another question");
}
