//! The whole search: sizes of the job, uniform plans, then a choice for each operator.

use crate::plan::Size;
use crate::scenario::{Field, Problem, Scenario};
use crate::search::evaluator::Cancel;
use crate::search::plans::{EvaluatedPlan, Objective, PlanSearch, SearchSpace};
use crate::stack::Feature;

use super::found::{FoundPlan, PlanAnswer, Uniform};
use super::judge::{Judge, PlanMemo};
use super::request::{CostModel, PlanRequest, PlannerObjective};
use super::space::{Space, StatePlacement};
use super::{climb, paper};

/// Searches plans for a scenario that can be laid out; where it is cancelled, what it found so far.
pub fn plan(request: &PlanRequest, cancel: &Cancel) -> Result<PlanAnswer, Vec<Problem>> {
    planned(request, &PlanMemo::default(), cancel)
}

/// The same with what another search of the same job knows already.
pub(super) fn planned(request: &PlanRequest, known: &PlanMemo, cancel: &Cancel) -> Result<PlanAnswer, Vec<Problem>> {
    request.scenario.layout()?;
    let judge = Judge::new(request.objective, known, cancel).within(request.limits());
    let mut found = PlanAnswer::default();
    for size in sizes(request) {
        let mut scenario = request.scenario.clone();
        scenario.plan.size = size;
        scenario.settle_batch();
        let Ok(mut space) = Space::new(&scenario, request.objective) else { continue };
        if let Some(runs) = request.runs() {
            space.keep_to(runs);
        }
        if request.objective != PlannerObjective::Devices || judge.can_fit(&space) {
            found = search(request, &space, &judge);
            with_whole(request, &scenario, cancel, &mut found, &judge);
        }
        if !found.plans.is_empty() {
            break;
        }
    }
    Ok(PlanAnswer { searched: judge.searched(), ..found })
}

/// Adds the best plan that the search over whole plans finds where the mesh stays, and what is better for its operators.
fn with_whole(request: &PlanRequest, scenario: &Scenario, cancel: &Cancel, found: &mut PlanAnswer, judge: &Judge<'_>) {
    if request.cost_model == CostModel::Paper || cancel.is_cancelled() {
        return;
    }
    let objective =
        if request.objective == PlannerObjective::Memory { Objective::Memory } else { Objective::Throughput };
    let state = [Field::WeightsOver, Field::GradientsOver, Field::OptimizerOver];
    let space = SearchSpace::only(&[&state[..], &[Field::MicroBatch, Field::Recompute]].concat());
    let (base, limits) = (scenario.clone(), request.limits());
    let search = PlanSearch::new(base, space, objective, limits, 1);
    let answer = judge.whole(&search);
    let sequences = |scenario: &Scenario| scenario.plan.micro_batch.saturating_mul(scenario.plan.accumulate);
    let bound = matches!(request.objective, PlannerObjective::StepTime | PlannerObjective::Memory);
    let same = |whole: &EvaluatedPlan| !bound || sequences(&whole.scenario) == sequences(scenario);
    for whole in answer.plans.iter().filter(|whole| same(whole)) {
        found.plans.extend(climbed(whole, request, cancel));
    }
    found.plans.sort_by(|one, other| judge.order(&one.summary, &other.summary));
    found.plans.dedup_by(|one, other| one.summary == other.summary);
    found.plans.truncate(request.top);
}

/// The best that a climb from a whole plan finds, with its batch and recompute.
fn climbed(whole: &EvaluatedPlan, request: &PlanRequest, cancel: &Cancel) -> Option<FoundPlan> {
    let mut space = Space::around(&whole.scenario, request.objective).ok()?;
    space.batches.truncate(1);
    if let Some(runs) = request.runs() {
        space.keep_to(runs);
    }
    let memo = PlanMemo::default();
    let judge = Judge::new(request.objective, &memo, cancel).within(request.limits());
    let uniform = judge.uniform(&space);
    let found =
        choices(request, &space).into_iter().flat_map(|ways| climb::search(&space, &ways, &uniform, &judge, 1, 0.0));
    let found: Vec<_> = found.collect();
    let best =
        found.into_iter().reduce(|best, one| if judge.better(&one.summary, &best.summary) { one } else { best })?;
    Some(judge.explained(&space, &best))
}

/// The ways among which each operator may choose: all that the stack runs at once, or, where it treats all operators alike,
/// each by itself.
fn choices(request: &PlanRequest, space: &Space<'_>) -> Vec<Vec<usize>> {
    let runs = request.runs();
    let ways = space.runnable(runs);
    let apart = runs.is_none_or(|runs| runs.has(Feature::Operators));
    if apart && !ways.is_empty() { vec![ways] } else { ways.into_iter().map(|way| vec![way]).collect() }
}

/// The sizes that a job may have, the smallest first: its own, or, where devices are to be few, parts of a node that
/// are powers of two and whole nodes up to it.
fn sizes(request: &PlanRequest) -> Vec<Size> {
    let Scenario { plan, cluster, .. } = &request.scenario;
    if request.objective != PlannerObjective::Devices {
        return vec![plan.size];
    }
    let (most, node) = (request.scenario.devices(), cluster.devices_per_node().max(1));
    let parts = (0..31).map(|power| 1 << power).take_while(|part| *part < node.min(most)).map(Size::Devices);
    parts.chain((1..=most / node).map(Size::Nodes)).chain((most < node).then_some(plan.size)).collect()
}

fn search(request: &PlanRequest, space: &Space<'_>, judge: &Judge<'_>) -> PlanAnswer {
    let uniform = judge.uniform(space);
    let best_of = |way: usize, judge: &Judge<'_>| {
        let kept = uniform.iter().filter(|one| one.summary.fits && one.candidate.uniform_way() == Some(way));
        kept.map(|one| one.summary).reduce(|best, one| if judge.better(&one, &best) { one } else { best })
    };
    let (device, widest) = (0, space.ways.len() - 1);
    let choose = |ways: &[usize]| match request.cost_model {
        CostModel::Paper => paper::search(space, ways, judge),
        CostModel::Simulator => climb::search(space, ways, &uniform, judge, request.top, 0.0),
    };
    let choices = choices(request, space);
    let both = choices.iter().any(|ways| ways.contains(&device) && ways.contains(&widest));
    let two_way = if both { choose(&[device, widest]) } else { Vec::new() };
    let mut plans: Vec<_> = choices.iter().flat_map(|ways| choose(ways)).collect();
    if request.cost_model == CostModel::Simulator {
        // A climb may end below one that had less to choose from.
        plans.extend(two_way.iter().cloned());
        plans.sort_by(|a, b| judge.order(&a.summary, &b.summary));
        plans.dedup_by(|a, b| a.summary == b.summary);
    }
    let of_way =
        |(way, of): (usize, &StatePlacement)| Uniform { extents: of.extents.clone(), best: best_of(way, judge) };
    let runnable = choices.concat();
    let ways = space.ways.iter().enumerate().filter(|(way, _)| runnable.contains(way));
    let mut ways: Vec<Uniform> = ways.map(of_way).collect();
    let order = |a: &Uniform, b: &Uniform| match (&a.best, &b.best) {
        (Some(a), Some(b)) => judge.order(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    ways.sort_by(order);
    PlanAnswer {
        fsdp: best_of(widest, judge),
        ddp: best_of(device, judge),
        uniform: ways,
        two_way: two_way.first().map(|best| best.summary),
        plans: plans.iter().take(request.top).map(|one| judge.explained(space, one)).collect(),
        searched: judge.searched(),
    }
}
