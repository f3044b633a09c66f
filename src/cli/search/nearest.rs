//! The nearest plan where no plan keeps to all limits of a search, and the limit that it misses.

use shardscope_engine::evaluate::chance_of_fitting;
use shardscope_engine::plan::TrainMethod;
use shardscope_engine::scenario::{Edit, Field};
use shardscope_engine::search::plans::{EvaluatedPlan, Margin, Objective, PlanSearch, SearchLimits};
use shardscope_engine::search::{Cancel, Candidate, Evaluator};
use shardscope_engine::units::{Amount, percent, whole_percent};
use shardscope_interop::runs_in;
use shardscope_report::figures::{Figure, FigureSubject, lacking};

use crate::cli::args::SearchArgs;
use crate::cli::exit::Failure;
use crate::cli::session::Session;

use super::held_launcher;

/// A margin that no plan exceeds, to see by how much the smallest one misses the memory.
const NO_LIMIT: Margin = Margin::Share(-1e9);

/// The best plan with one limit lifted, the first that lets any plan in, and how the plan misses that limit.
pub fn nearest(
    session: &Session,
    search: &PlanSearch,
    arguments: &SearchArgs,
    cancel: &Cancel,
) -> Result<Option<(EvaluatedPlan, String)>, Failure> {
    let pool = session.pool()?;
    let evaluator = Evaluator::new(&pool, cancel);
    let best = |changed: PlanSearch| {
        let one = PlanSearch { top: 1, front: Vec::new(), ..changed };
        one.run(&evaluator, &mut |_| {}).plans.pop()
    };
    let margin = search.limits.margin;
    let unlimited = SearchLimits { margin, ..SearchLimits::default() };
    if search.limits != unlimited {
        let found = best(PlanSearch { objective: Objective::Days, limits: unlimited, ..search.clone() });
        if let Some(found) = found {
            let why = format!("memory fits; {}", missed(&found, arguments));
            return Ok(Some((found, why)));
        }
    }
    if margin != Margin::NONE {
        let limits = SearchLimits { margin: Margin::NONE, ..search.limits };
        if let Some(found) = best(PlanSearch { limits, ..search.clone() }) {
            let free = whole_percent(1.0 - found.summary.memory.peak / found.summary.memory.capacity);
            let chance = chance_of_fitting(&found.scenario, &found.summary.memory);
            let why = format!(
                "leaves {free} of the memory free, fits with a chance of {} (--margin 0 allows it)",
                percent(chance)
            );
            return Ok(Some((found, why)));
        }
    }
    if !arguments.any_plan
        && let Some(found) = best(PlanSearch { space: search.space.lifted(), ..search.clone() })
    {
        let lacks = lacking(&found.scenario).collect::<Vec<_>>().join("; ");
        return Ok(Some((found, format!("{lacks} (--any-plan allows it)"))));
    }
    if let Some(launcher) = held_launcher(arguments)
        && let Some(found) =
            best(PlanSearch { launchers: runs_in::searched(None), launched_only: false, ..search.clone() })
    {
        let lacks = launcher.lacks(&found.scenario).into_iter().map(|lack| lack.what).collect::<Vec<_>>().join("; ");
        return Ok(Some((found, format!("{lacks} (without --runs-in)"))));
    }
    for edits in other_trainings(search, arguments) {
        let said = edits.iter().map(|edit| format!("--{edit}")).collect::<Vec<_>>().join(" ");
        let Ok(Candidate { scenario: base, .. }) = Candidate::nearest(&search.base, edits) else { continue };
        if let Some(found) = best(PlanSearch { base, ..search.clone() }) {
            return Ok(Some((found, format!("nothing fits as it is; with {said} it does"))));
        }
    }
    let limits = SearchLimits { margin: NO_LIMIT, ..search.limits };
    let smallest = best(PlanSearch { objective: Objective::Memory, limits, ..search.clone() });
    Ok(smallest.map(|found| {
        let memory = &found.summary.memory;
        let why = format!("misses memory by {}", memory.peak - memory.capacity);
        (found, why)
    }))
}

/// Adapters, shorter sequences and both, which a person would try before giving up; none of a field that is given.
fn other_trainings(search: &PlanSearch, arguments: &SearchArgs) -> Vec<Vec<Edit>> {
    let is_open = |field: Field| !arguments.input.flags.has(field);
    let plan = &search.base.plan;
    let whole = is_open(Field::Train) && plan.tuning.method == TrainMethod::Full;
    let adapters = [TrainMethod::Lora, TrainMethod::Qlora].map(|method| Edit::new(Field::Train, method));
    let adapters = adapters.into_iter().filter(|_| whole);
    let shorter = (1..=3).map(|power| plan.sequence >> power).filter(|tokens| *tokens > 0 && is_open(Field::Sequence));
    let shorter = shorter.map(|tokens| Edit::new(Field::Sequence, tokens));
    let both = adapters.clone().rev().flat_map(|one| shorter.clone().map(move |other| vec![one.clone(), other]));
    adapters.map(|one| vec![one]).chain(shorter.clone().map(|one| vec![one])).chain(both).collect()
}

/// How far the fastest plan is from the limits: `fastest 29.4 d, deadline 20 d`.
fn missed(found: &EvaluatedPlan, arguments: &SearchArgs) -> String {
    let subject = FigureSubject::new(&found.scenario, &found.summary);
    let shown = |figure: Figure| figure.amount(&subject).map(Amount::in_words);
    let days = shown(Figure::DaysWithFailures).or_else(|| shown(Figure::Days));
    let fastest = days.map(|days| format!("fastest {days}"));
    let deadline = arguments.deadline.map(|deadline| format!("deadline {deadline}"));
    let cost = shown(Figure::CostWithFailures).or_else(|| shown(Figure::Cost)).filter(|_| arguments.budget.is_some());
    let cost = cost.map(|cost| format!("costs {cost}"));
    let budget = arguments.budget.as_ref().map(|budget| format!("budget {budget}"));
    let devices = arguments.devices_max.map(|most| format!("{} devices of at most {most}", found.summary.devices));
    [fastest, deadline, cost, budget, devices].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
