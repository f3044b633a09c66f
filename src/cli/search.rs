//! `search`: the best whole plans, with a clean end on SIGINT.

use std::time::Instant;

use crate::evaluate::Workspace;
use crate::figures::{Figure, SearchReport};
use crate::scenario::{Field, Scenario};
use crate::search::planner;
use crate::search::plans::{Aim, Allowed, Freedom, PlanSearch, SearchLimits, SearchShare, WholeAnswer};
use crate::search::{self, Axis, Cancel, Evaluator};
use crate::units::Seconds;

use super::args::{Allow, ScenarioArgs, SearchArgs, TableForm};
use super::exit::{Exit, Failure, Refusals};
use super::parts::search::SearchPart;
use super::session::{Session, refused};
use super::{files, interrupt, log, output, progress, sweep};

pub(super) fn run(session: &Session, arguments: &SearchArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::vacant(out, arguments.force, &session.inputs)?;
    }
    let search = question(session, arguments)?;
    let start = Instant::now();
    let cancel = Cancel::default();
    interrupt::cancels(&cancel)?;
    let share = share(&search, arguments)?;
    let answer = answer(session, &search, &share, &cancel)?;
    let time = Seconds::new(start.elapsed().as_secs_f64());
    if !answer.exact {
        output::warning(&"interrupted: these are the best plans so far");
    }
    let mut workspace = Workspace::default();
    let evaluations = answer.plans.iter().map(|found| search::full(&found.scenario, &mut workspace));
    let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
    let commands: Vec<Option<String>> =
        answer.plans.iter().map(|found| session.library.command(&found.scenario)).collect();
    let best = answer.plans.first().filter(|_| answer.exact);
    let per_operator = best.and_then(|best| planner::refined(best, &cancel));
    let report = SearchReport {
        search: &search,
        answer: &answer,
        evaluations: &evaluations,
        commands: &commands,
        per_operator: per_operator.as_ref(),
        time,
    };
    match arguments.part {
        Some(part) => output::json(&SearchPart::json(part, &report))?,
        None => output::table(arguments.format, || report.text(), || report.csv(), || report.json())?,
    }
    if let Some((file, best)) = arguments.out.as_ref().zip(answer.plans.first()) {
        let text = session.library.file(&best.scenario).to_toml().map_err(Failure::unwritten)?;
        files::write(&[(file.clone(), &text)], arguments.force)?;
    }
    interrupt::ends(&cancel)?;
    // Another part may have found some.
    Ok(if answer.plans.is_empty() && arguments.part.is_none() { Exit::DoesNotFit } else { Exit::Done })
}

/// The search that the arguments ask for.
fn question(session: &Session, arguments: &SearchArgs) -> Result<PlanSearch, Failure> {
    let mut input = arguments.input.clone();
    let nodes = input.flags.take_range(Field::Nodes);
    let nodes = nodes.map(|text| Axis::parse(Field::Nodes, &text)).transpose();
    let nodes = nodes.map_err(|why| Failure::input(format!("--nodes: {why}")))?;
    let opened = session.open(&input)?;
    let base = opened.scenario.clone();
    let mut freedom = Freedom::default();
    let given = input.flags.given().map(|(field, _)| field);
    given.chain(arguments.fix.iter().copied()).for_each(|field| freedom.hold(field));
    for axis in arguments.over.iter().chain(&nodes) {
        freedom.over(sweep::looked_up(session, axis, &opened, &input)?);
    }
    let allows = |what: Allow| arguments.allow.contains(&what);
    let allowed =
        Allowed { quantised: allows(Allow::Quantised), offload: allows(Allow::Offload), fp8: allows(Allow::Fp8) };
    freedom.allow(allowed, &base);
    let limits = limits(&base, arguments)?;
    let front = !arguments.pareto.is_empty();
    Ok(PlanSearch { base, freedom, aim: arguments.objective, limits, top: arguments.top as usize, front })
}

/// What plans must keep to; refused where what that needs is missing.
fn limits(base: &Scenario, arguments: &SearchArgs) -> Result<SearchLimits, Failure> {
    lacking(base, arguments.objective, &arguments.input)?;
    let mut refusals = Refusals::default();
    let timed = arguments.deadline.is_some() || arguments.budget.is_some() || arguments.objective == Aim::Days;
    let Some(tokens) = base.plan.tokens.or((!timed).then_some(1.0)) else {
        return Err(Failure::input("--tokens: is missing; say how many tokens the training has, like 300B"));
    };
    let price = base.cluster.price_per_device_hour;
    if let Some(budget) = arguments.budget {
        let Some(price) = price else {
            return Err(Figure::Cost.lacks(base).map_or_else(|| Failure::input("--budget"), |lack| vec![lack].into()));
        };
        let other = budget.currency != price.currency;
        refusals
            .refuse(other, format!("--budget: the price is {price} a device-hour; give the budget in that currency"));
    }
    refusals.end()?;
    let (devices, margin) = (arguments.devices_max.unwrap_or(u32::MAX), arguments.margin);
    let mut limits = SearchLimits { devices, margin, ..SearchLimits::default() };
    if let Some(deadline) = arguments.deadline {
        limits = limits.within(deadline, tokens);
    }
    if let (Some(budget), Some(price)) = (arguments.budget, price) {
        limits = limits.for_at_most(budget.amount, &price, tokens);
    }
    Ok(limits)
}

/// Refuses an objective whose figure the cluster does not have.
fn lacking(base: &Scenario, aim: Aim, input: &ScenarioArgs) -> Result<(), Failure> {
    let figure = match aim {
        Aim::Cost => Figure::Cost,
        Aim::Energy => Figure::Energy,
        _ => return Ok(()),
    };
    figure.lacks(base).map_or(Ok(()), |lack| Err(refused(&[lack], input)))
}

/// What this process does of the search.
fn share(search: &PlanSearch, arguments: &SearchArgs) -> Result<SearchShare, Failure> {
    let Some(part) = arguments.part else { return Ok(SearchShare::default()) };
    if arguments.format != TableForm::Json {
        return Err(Failure::input("--part: a part is JSON; add --format json"));
    }
    let known = SearchPart::known(&arguments.known, &SearchPart::seal(part, search))?;
    Ok(SearchShare { part: Some(part), known })
}

fn answer(
    session: &Session,
    search: &PlanSearch,
    share: &SearchShare,
    cancel: &Cancel,
) -> Result<WholeAnswer, Failure> {
    let pool = session.pool()?;
    log::line(&format!("searching whole plans on {} threads", pool.current_num_threads()));
    let waiting = progress::waiting("searching plans; Ctrl-C prints the best so far", &session.options);
    let answer = search.run_share(share, &Evaluator::new(&pool, cancel), &mut |so_far| {
        let proven = 100.0 * so_far.proven;
        let looked = so_far.counts.simulated;
        waiting
            .set_message(format!("{looked} plans simulated; no plan takes less than {proven:.1} % of the best's time"));
    });
    waiting.finish_and_clear();
    Ok(answer)
}
