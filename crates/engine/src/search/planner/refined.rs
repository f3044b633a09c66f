//! A choice for each operator on top of the best whole plans: climbs from the best of each mesh, since what is a little
//! behind with all operators alike may be ahead without. Not for the whole plans themselves ([`crate::search::plans`]).

use rayon::prelude::*;

use crate::plan::{Extent, Plan, Recompute, Reduction, Sharding};
use crate::scenario::Scenario;
use crate::search::evaluator::{Cancel, Evaluator};
use crate::search::plans::{EvaluatedPlan, Objective, PlanSearch, PlanSearchAnswer, SearchPhase, least_scores};
use crate::stack::Feature;

use super::climb;
use super::found::FoundPlan;
use super::judge::{Judge, PlanMemo};
use super::request::PlannerObjective;
use super::space::Space;

/// The least gain that is worth a choice for each operator.
const LEAST_GAIN: f64 = 1e-3;

/// How far behind the best a plan may be from which a climb begins: a choice for each operator gains a few percent.
const NEAR: f64 = 1.05;

/// The best plan with a choice for each operator, if climbs from what a search found come to a better one than all that:
/// within the same limits, and with nothing changed that the search holds. The scenario's own mesh is one to climb from.
pub fn refined(search: &PlanSearch, answer: &PlanSearchAnswer, evaluator: &Evaluator) -> Option<FoundPlan> {
    let best = search.objective.of(answer.plans.first()?);
    let lacks = search.space.runs(&search.base).is_some_and(|runs| !runs.has(Feature::Operators));
    let trains_all = search.base.model.mtp_layers == 0 && !search.base.trains_part();
    // Where a launcher takes the best plan, one has to take what is better.
    let taken = answer.launched == Some(true);
    if lacks || !search.space.places_operators() || !trains_all {
        return None;
    }
    let own = own_mesh(search, evaluator);
    let near = answer.plans.iter().filter(|found| search.objective.of(found)[0] <= best[0] * NEAR);
    let mut starts: Vec<&Scenario> = Vec::new();
    for EvaluatedPlan { scenario, .. } in near.chain(&own) {
        // A choice for each operator knows no experts with a mesh of their own.
        if scenario.layout().is_ok_and(|layout| !layout.has_expert_mesh())
            && !starts.iter().any(|other| mesh(other) == mesh(scenario))
        {
            starts.push(scenario);
        }
    }
    let climbed = |start: &&Scenario| {
        let found = climbed(search, start, best, evaluator.cancel())?;
        let whole = EvaluatedPlan::new(found.scenario.clone(), found.summary)?;
        Some((search.objective.of(&whole), found))
    };
    let found: Vec<_> = evaluator.pool().install(|| starts.par_iter().with_max_len(1).filter_map(climbed).collect());
    let order = |(one, _): &([f64; 2], FoundPlan), (other, _): &([f64; 2], FoundPlan)| {
        one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1]))
    };
    let (scores, found) = found.into_iter().min_by(order)?;
    let is_taken = !taken || search.launchers.take(&found.scenario);
    (is_taken && gains(scores, best)).then_some(found)
}

/// Whether scores are better than others by as much as is worth a choice for each operator.
fn gains(scores: [f64; 2], best: [f64; 2]) -> bool {
    let gains = |place: usize| scores[place] < best[place] * (1.0 - LEAST_GAIN);
    // Where devices are to be few, as many are a draw, and speed decides.
    let draw = scores[0].total_cmp(&best[0]).is_eq();
    gains(0) || draw && gains(1)
}

/// The best whole plans, and before them one placed operator by operator where that is better than all. Tells of what is
/// found meanwhile, and of the whole plans when they are proven.
pub fn best_plans(
    search: &PlanSearch,
    evaluator: &Evaluator,
    so_far: &mut dyn FnMut(&PlanSearchAnswer),
) -> PlanSearchAnswer {
    let mut answer = search.run(evaluator, so_far);
    answer.phase = SearchPhase::Operators;
    so_far(&answer);
    let better = refined(search, &answer, evaluator);
    if let Some(better) = better.and_then(|FoundPlan { scenario, summary, .. }| EvaluatedPlan::new(scenario, summary)) {
        answer.plans.insert(0, better);
        answer.plans.truncate(search.top);
    }
    answer
}

/// The best plan on the mesh of the scenario that the search began with, where that is among its plans.
fn own_mesh(search: &PlanSearch, evaluator: &Evaluator) -> Option<EvaluatedPlan> {
    let space = search.space.restricted_to_mesh_of(&search.base)?;
    let own = PlanSearch { space, top: 1, front: Vec::new(), ..search.clone() };
    own.run(evaluator, &mut |_| {}).plans.into_iter().next()
}

/// A plan without what a climb chooses.
fn mesh(scenario: &Scenario) -> Scenario {
    let mut mesh = scenario.clone();
    let plan = &mut mesh.plan;
    (plan.micro_batch, plan.accumulate, plan.recompute) = (1, 1, Recompute::None);
    // Of plans that differ in how transfers run the best is climbed from.
    (plan.reduction, plan.prefetch, plan.tensor_overlap) = (Reduction::Default, Plan::USUAL_PREFETCH, false);
    plan.sharding.reshard_after_forward = true;
    plan.operators.clear();
    let Sharding { weights, gradients, optimizer, .. } = &mut plan.sharding;
    for extent in [weights, gradients, optimizer] {
        *extent = Extent::Device;
    }
    mesh
}

/// The best that a climb from a plan finds, with any micro-batch and recompute that are free, and with which there may be
/// something better than the `best` of whole plans.
fn climbed(search: &PlanSearch, start: &Scenario, best: [f64; 2], cancel: &Cancel) -> Option<FoundPlan> {
    let objective =
        if search.objective == Objective::Memory { PlannerObjective::Memory } else { PlannerObjective::Throughput };
    let mut space = Space::around(start, objective).ok()?;
    space.batches.retain(|tuned| search.space.contains(&search.base, tuned.micro_batch, tuned.recompute));
    if let Some(runs) = search.space.runs(start) {
        space.ways.retain(|way| start.runs_shards(runs, &way.layout));
        space.slices.retain(|slices| *slices == 1 || runs.has(Feature::Slices));
    }
    space.batches.retain(|tuned| {
        let mut scenario = start.clone();
        tuned.apply(&mut scenario);
        gains(least_scores(&scenario, search.objective), best)
    });
    let memo = PlanMemo::default();
    let judge = Judge::new(objective, &memo, cancel).within(search.limits);
    let uniform = judge.uniform(&space);
    let all: Vec<usize> = (0..space.ways.len()).collect();
    let ends = [0, space.ways.len() - 1];
    // What is not hoped to come near the best whole plan is not climbed from.
    let reached =
        if search.objective == Objective::Throughput { 1.0 / best[0] / f64::from(start.devices()) } else { 0.0 };
    // A climb may end below one that had less to choose from.
    let mut found = climb::search(&space, &ends, &uniform, &judge, 1, reached);
    found.extend(climb::search(&space, &all, &uniform, &judge, 1, reached));
    found.sort_by(|one, other| judge.order(&one.summary, &other.summary));
    Some(judge.explained(&space, found.first()?))
}
