//! The whole search: sizes of the job, uniform plans, then a choice for each operator.

use crate::plan::Size;
use crate::scenario::{Problem, Scenario};
use crate::search::evaluator::Cancel;

use super::found::{PlanAnswer, Uniform};
use super::judge::{Judge, PlanMemo};
use super::request::{CostModel, Objective, PlanRequest};
use super::space::{Space, StatePlacement};
use super::{climb, paper};

/// Searches plans for a scenario that can be laid out; where it is cancelled, what it found so far.
pub fn plan(request: &PlanRequest, cancel: &Cancel) -> Result<PlanAnswer, Vec<Problem>> {
    planned(request, &PlanMemo::default(), cancel)
}

/// The same with what another search of the same job knows already.
pub(super) fn planned(request: &PlanRequest, known: &PlanMemo, cancel: &Cancel) -> Result<PlanAnswer, Vec<Problem>> {
    request.scenario.layout()?;
    let mut judge = Judge::new(request.objective, known, cancel);
    let mut found = PlanAnswer::default();
    for size in sizes(request) {
        let mut scenario = request.scenario.clone();
        scenario.plan.size = size;
        scenario.settle_batch();
        let Ok(space) = Space::new(&scenario, request.objective) else { continue };
        if request.objective != Objective::Devices || judge.can_fit(&space) {
            found = search(request, &space, &mut judge);
        }
        if !found.plans.is_empty() {
            break;
        }
    }
    Ok(PlanAnswer { searched: judge.searched, ..found })
}

/// The sizes that a job may have, the smallest first: its own, or, where devices are to be few, parts of a node that
/// are powers of two and whole nodes up to it.
fn sizes(request: &PlanRequest) -> Vec<Size> {
    let Scenario { plan, cluster, .. } = &request.scenario;
    if request.objective != Objective::Devices {
        return vec![plan.size];
    }
    let (most, node) = (request.scenario.devices(), cluster.devices_per_node().max(1));
    let parts = (0..31).map(|power| 1 << power).take_while(|part| *part < node.min(most)).map(Size::Devices);
    parts.chain((1..=most / node).map(Size::Nodes)).chain((most < node).then_some(plan.size)).collect()
}

fn search(request: &PlanRequest, space: &Space<'_>, judge: &mut Judge<'_>) -> PlanAnswer {
    let uniform = judge.uniform(space);
    let best_of = |way: usize, judge: &Judge<'_>| {
        let kept = uniform.iter().filter(|one| one.summary.fits && one.candidate.uniform_way() == Some(way));
        kept.map(|one| one.summary).reduce(|best, one| if judge.better(&one, &best) { one } else { best })
    };
    let (device, widest) = (0, space.ways.len() - 1);
    let mut choose = |ways: &[usize]| match request.cost_model {
        CostModel::Paper => paper::search(space, ways, judge),
        CostModel::Simulator => climb::search(space, ways, &uniform, judge),
    };
    let two_way = choose(&[device, widest]);
    let all: Vec<usize> = (0..space.ways.len()).collect();
    let mut plans = choose(&all);
    if request.cost_model == CostModel::Simulator {
        // A climb may end below one that had less to choose from.
        plans.extend(two_way.iter().cloned());
        plans.sort_by(|a, b| judge.order(&a.summary, &b.summary));
        plans.dedup_by(|a, b| a.summary == b.summary);
    }
    let of_way =
        |(way, of): (usize, &StatePlacement)| Uniform { extents: of.extents.clone(), best: best_of(way, judge) };
    let mut ways: Vec<Uniform> = space.ways.iter().enumerate().map(of_way).collect();
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
        searched: judge.searched,
    }
}
