//! `search`: the best whole plans, with a clean end on SIGINT.

mod nearest;
mod sequences;

use std::time::Instant;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::planner::{self, FoundPlan};
use shardscope_engine::search::plans::{
    Allowed, Launchers, Margin, Objective, PlanSearch, PlanSearchAnswer, SearchLimits, SearchShare, SearchSpace,
};
use shardscope_engine::search::{self, Axis, Cancel, Evaluator};
use shardscope_engine::units::{Money, Seconds};
use shardscope_interop::runs_in::{self, Launcher};
use shardscope_library::command;
use shardscope_report::figures::{Figure, SearchReport, so_far_words};

use crate::app::answers::launchers::RUNS_IN;
use crate::app::answers::recipe::recipe_plan;

use super::args::{Allow, ScenarioArgs, SearchArgs, Sought, TableForm};
use super::exit::{Exit, Failure, Refusals};
use super::merge::search::SearchPart;
use super::session::{Session, refused};
use super::{files, interrupt, log, output, progress, sweep};

/// Plans that are printed where nobody says how many.
const TOP: u32 = 10;

/// The most combinations of values that are given to fields: each is held with all its meshes, some 60 KiB.
const MOST_COMBINATIONS: usize = 1 << 12;

pub(super) fn run(session: &Session, arguments: &SearchArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::refuse_taken(out, arguments.force, &session.inputs)?;
    }
    refuse_combined(arguments)?;
    let search = question(session, arguments)?;
    if arguments.objective == Sought::Sequence {
        return sequences::run(session, search, arguments);
    }
    let start = Instant::now();
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    let share = share(&search, arguments)?;
    let (answer, per_operator) = answer(session, &search, &share, &cancel)?;
    let time = Seconds::new(start.elapsed().as_secs_f64());
    if !answer.exact {
        output::warning(&"interrupted: these are the best plans so far");
    }
    let is_empty = answer.plans.is_empty() && answer.exact && arguments.part.is_none();
    let nearest = if is_empty { nearest::nearest(session, &search, arguments, &cancel)? } else { None };
    let on_host =
        if is_empty { search.run_offloading(&Evaluator::new(&session.pool()?, &cancel), &mut |_| {}) } else { None };
    let mut workspace = Workspace::default();
    let evaluations = answer.plans.iter().map(|found| search::full(&found.scenario, &mut workspace));
    let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
    let recipe = recipe_plan(&search, &answer, &Evaluator::new(&session.pool()?, &cancel))?;
    let commands: Vec<Option<String>> =
        answer.plans.iter().map(|found| command::eval(&session.library, &found.scenario)).collect();
    let report = SearchReport {
        search: &search,
        answer: &answer,
        evaluations: &evaluations,
        commands: &commands,
        nearest: nearest.as_ref(),
        on_host: on_host.as_ref(),
        per_operator: per_operator.as_ref(),
        runs_in: RUNS_IN,
        recipe: recipe.as_ref(),
        time,
    };
    match arguments.part {
        Some(part) => output::json(&SearchPart::json(part, &report))?,
        None => output::table(arguments.format, || report.text(), || report.csv(), || report.json())?,
    }
    if let Some((file, best)) = arguments.out.as_ref().zip(report.written()) {
        let text = session.library.file(best).to_toml().map_err(Failure::unwritten)?;
        files::write(&[(file.clone(), &text)], arguments.force)?;
    }
    interrupt::ends(&cancel);
    // Another part may have found some.
    Ok(if answer.plans.is_empty() && arguments.part.is_none() { Exit::DoesNotFit } else { Exit::Done })
}

/// Refuses what makes no sense beside the objective.
fn refuse_combined(arguments: &SearchArgs) -> Result<(), Failure> {
    let SearchArgs { objective, tokens_per_s_min, over, pareto, part, known, top, .. } = arguments;
    let mut refusals = Refusals::default();
    let sequence = *objective == Sought::Sequence;
    refusals.refuse(
        !sequence && tokens_per_s_min.is_some(),
        "--tokens-per-s-min: holds for lengths of a sequence; add --objective sequence, or leave it out",
    );
    let lengths = over.iter().any(|axis| axis.field == Field::Sequence);
    refusals.refuse(
        sequence && lengths,
        "--over seq: the objective sequence tries lengths itself; leave it out, or choose --objective throughput",
    );
    refusals.refuse(
        sequence && !pareto.is_empty(),
        "--pareto: each length has one best plan; leave it out, or choose --objective throughput",
    );
    refusals.refuse(
        sequence && (part.is_some() || !known.is_empty()),
        "--part: a search for lengths is not divided; leave it out, or choose --objective throughput",
    );
    refusals.refuse(
        sequence && top.is_some(),
        "--top: each length has one best plan; leave it out, or choose --objective throughput",
    );
    refusals.end()
}

/// The search that the arguments ask for.
fn question(session: &Session, arguments: &SearchArgs) -> Result<PlanSearch, Failure> {
    let mut input = arguments.input.clone();
    let nodes = input.flags.take_range(Field::Nodes);
    let nodes = nodes.map(|text| Axis::parse(Field::Nodes, &text)).transpose();
    let nodes = nodes.map_err(|why| Failure::input(format!("--nodes: {why}")))?;
    let opened = session.open(&input)?;
    let base = opened.scenario.clone();
    let mut space = SearchSpace::of_stack(arguments.any_plan);
    let given = input.flags.given().map(|(field, _)| field);
    given.chain(arguments.fix.iter().copied()).for_each(|field| space.fix(field));
    space.fix_said(&opened.file);
    for axis in arguments.over.iter().chain(&nodes) {
        space.vary(sweep::looked_up(session, axis, &opened, &input)?);
    }
    if space.combinations() > MOST_COMBINATIONS {
        let combinations = space.combinations();
        return Err(Failure::input(format!(
            "--over: {combinations} combinations of values are too many to hold; give at most {MOST_COMBINATIONS}, or search \
             in several runs"
        )));
    }
    let allows = |what: Allow| arguments.allow.contains(&what);
    let allowed =
        Allowed { quantised: allows(Allow::Quantised), offload: allows(Allow::Offload), fp8: allows(Allow::Fp8) };
    space.allow(allowed, &base);
    let limits = limits(&base, &space, arguments)?;
    let (front, top) = (arguments.pareto.clone(), arguments.top.unwrap_or(TOP) as usize);
    let launchers = if arguments.any_plan { Launchers::default() } else { runs_in::searched(held_launcher(arguments)) };
    let launched_only = held_launcher(arguments).is_some();
    let search = PlanSearch::new(base, space, arguments.objective.objective(), limits, top);
    Ok(PlanSearch { front, launchers, launched_only, ..search })
}

/// The launcher that has to take the plans, where one is named.
fn held_launcher(arguments: &SearchArgs) -> Option<&'static Launcher> {
    arguments.runs_in.as_deref().filter(|_| !arguments.any_plan).and_then(Launcher::named)
}

/// The limits that plans must keep; refused where an input that they or another figure need is missing.
fn limits(base: &Scenario, space: &SearchSpace, arguments: &SearchArgs) -> Result<SearchLimits, Failure> {
    let SearchArgs { objective, pareto, deadline, budget, .. } = arguments;
    let weighs = |one: Objective| *objective == Sought::Plans(one) || pareto.contains(&one);
    let jobs = space.jobs(base);
    if weighs(Objective::Cost) || budget.is_some() {
        priced(&jobs, budget.as_ref(), &arguments.input)?;
    }
    if weighs(Objective::Energy) {
        lacking(&jobs, Figure::Energy, &arguments.input)?;
    }
    let paid = pareto.contains(&Objective::Cost) || budget.is_some();
    let timed = weighs(Objective::Days) || paid || deadline.is_some();
    let Some(tokens) = base.plan.length().or((!timed).then_some(1.0)) else {
        return Err(Failure::input("--tokens: is missing; say how many tokens the training has, like 300B"));
    };
    let (devices, margin) =
        (arguments.devices_max.unwrap_or(u32::MAX), arguments.margin.map_or(Margin::Likely, Margin::Share));
    let mut limits = SearchLimits { devices, margin, ..SearchLimits::default() };
    if let Some(deadline) = *deadline {
        limits = limits.within(deadline, tokens);
    }
    if let Some(budget) = budget {
        limits = limits.for_at_most(budget.amount, tokens);
    }
    if let Some(least) = arguments.tokens_per_s_min {
        limits.per_token = limits.per_token.min(1.0 / least);
    }
    Ok(limits)
}

/// Refuses jobs whose costs cannot be compared with one another and with a budget: nothing is converted.
fn priced(jobs: &[Scenario], budget: Option<&Money>, input: &ScenarioArgs) -> Result<(), Failure> {
    lacking(jobs, Figure::Cost, input)?;
    let mut prices = jobs.iter().filter_map(Scenario::price);
    let Some(first) = prices.next() else { return Ok(()) };
    let mut refusals = Refusals::default();
    if let Some(other) = prices.find(|price| price.currency != first.currency) {
        refusals.refuse(true, format!("--over: a device-hour costs {first} or {other}; give both in one currency"));
    }
    let other = budget.is_some_and(|budget| budget.currency != first.currency);
    refusals.refuse(other, format!("--budget: the price is {first} a device-hour; give the budget in that currency"));
    refusals.end()
}

/// Refuses a figure that one of the jobs' clusters does not have.
fn lacking(jobs: &[Scenario], figure: Figure, input: &ScenarioArgs) -> Result<(), Failure> {
    let lack = jobs.iter().find_map(|job| figure.lacks(job));
    lack.map_or(Ok(()), |lack| Err(refused(&[lack], input)))
}

/// The part of the search that this process does.
fn share(search: &PlanSearch, arguments: &SearchArgs) -> Result<SearchShare, Failure> {
    let Some(part) = arguments.part else { return Ok(SearchShare::default()) };
    if arguments.format != TableForm::Json {
        return Err(Failure::input("--part: a part is JSON; add --format json"));
    }
    let known = SearchPart::known(&arguments.known, &SearchPart::seal(part, search))?;
    Ok(SearchShare { part: Some(part), known })
}

/// The plans that the search finds, with a choice for each operator where that is better.
fn answer(
    session: &Session,
    search: &PlanSearch,
    share: &SearchShare,
    cancel: &Cancel,
) -> Result<(PlanSearchAnswer, Option<FoundPlan>), Failure> {
    let pool = session.pool()?;
    log::line(&format!("searching whole plans on {} threads", pool.current_num_threads()));
    let waiting = progress::waiting("searching plans; Ctrl-C prints the best so far", &session.options);
    let evaluator = Evaluator::new(&pool, cancel);
    let mut told = None::<Instant>;
    let mut tell = |so_far: &PlanSearchAnswer| {
        if told.is_none_or(|told| told.elapsed() >= progress::PAUSE) {
            told = Some(Instant::now());
            waiting.set_message(so_far_words(search.objective, so_far));
        }
    };
    let answer = search.run_share(share, &evaluator, &mut tell);
    waiting.set_message("placing operators one by one");
    let per_operator = planner::refined(search, &answer, &evaluator).filter(|_| answer.exact);
    waiting.finish_and_clear();
    Ok((answer, per_operator))
}
