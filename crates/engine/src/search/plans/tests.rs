//! Lower bounds are lower bounds, the search is exact, and its answer is the same on any count of threads.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::evaluate::{StepLimits, Workspace, summary, summary_within};
use crate::plan::{
    ContextKind, Format, FrozenEnds, GlobalBatch, MasterWeights, Moments, Offload, Precision, Recompute, Reduction,
    Size, TrainMethod,
};
use crate::scenario::field::Resolved;
use crate::scenario::{Edit, Field, Scenario, Value};
use crate::search::{Axis, Cancel, Evaluator, WorkPart, pool};
use crate::testing;
use crate::units::{Seconds, Watts};

use super::best_plans::PlanKind;
use super::branch_and_bound::meshes;
use super::extents::StateExtents;
use super::lower_bound::LowerBound;
use super::objective::tokens;
use super::shape::{MeshRun, MeshSizes, Shape};
use super::transfers::StateTransfers;
use super::*;

/// 2 nodes of 4 devices with a batch of 32 sequences.
fn base(layers: u32, memory: f64) -> Scenario {
    let mut scenario = testing::scenario();
    std::sync::Arc::make_mut(&mut scenario.model).layers = layers;
    let plan = &mut scenario.plan;
    (plan.size, plan.global_batch, plan.memory_factor) = (Size::Nodes(2), GlobalBatch::Sequences(32), memory);
    scenario.settle_batch();
    scenario
}

/// The fields that say how transfers run.
const TRANSFERS: [Field; 4] = [Field::Reduction, Field::TensorOverlap, Field::Prefetch, Field::Reshard];

/// How transfers run stays as it is unless an axis says otherwise.
fn search(base: Scenario, objective: Objective, over: &[&str]) -> PlanSearch {
    let mut space = SearchSpace::default();
    for field in TRANSFERS {
        space.fix(field);
    }
    for axis in over {
        space.vary(axis.parse::<Axis>().expect(axis));
    }
    PlanSearch::new(base, space, objective, SearchLimits::default(), 3)
}

fn answer(search: &PlanSearch, threads: usize) -> PlanSearchAnswer {
    let pool = pool(Some(threads)).expect("threads");
    search.run(&Evaluator::new(&pool, &Cancel::default()), &mut |_| {})
}

/// Every plan of the grid with its kind, laid out and simulated without any bound.
fn brute_force(search: &PlanSearch) -> Vec<(PlanKind, EvaluatedPlan)> {
    let PlanSearch { base, space, .. } = search;
    let (mut found, mut workspace, mut shapes) = (Vec::new(), Workspace::default(), 0);
    for mesh in meshes(base, space) {
        shapes += 1;
        let Some(shape) = Shape::new(shapes, base, mesh, space, &mut None) else { continue };
        for run in shape.runs(&space.recomputes(base)) {
            let Some(scenario) = shape.run(run) else { continue };
            for extents in &*shape.extents {
                // Every combination, also of those that come to the same.
                for reduction in space.reductions(base) {
                    for reshards in space.reshards(base) {
                        for prefetch in space.prefetches(base) {
                            let mut scenario = scenario.clone();
                            extents.apply(&mut scenario.plan.sharding);
                            StateTransfers { reduction, reshards, prefetch }.apply(&mut scenario);
                            if let Ok(summary) = summary(&scenario, &mut workspace) {
                                let plan = EvaluatedPlan::new(scenario, summary).expect("a plan that was simulated");
                                found.push((shape.kind(run.order), plan));
                            }
                        }
                    }
                }
            }
        }
    }
    found
}

/// The same with layers of other kinds, or with one more that predicts a further token.
fn of_kinds(mut base: Scenario, kinds: usize) -> Scenario {
    let mut model = testing::of_kinds((*base.model).clone(), kinds);
    if kinds == testing::KINDS {
        (model.vocab, model.mtp_layers) = (20_000, 1);
    }
    base.model = std::sync::Arc::new(model);
    base
}

#[test]
fn the_search_finds_what_brute_force_finds() {
    let over = ["micro-batch=1,2,4", "recompute=none,0.5,full", "cp=1,2", "tp=1,2,4"];
    let few = ["micro-batch=1,2", "recompute=none,0.5,full", "cp=1", "tp=1,2"];
    let dense =
        [(Objective::Throughput, 0.2), (Objective::Throughput, 1.0), (Objective::Memory, 1.0), (Objective::Cost, 0.1)];
    let jobs = dense.map(|(objective, memory)| (objective, memory, base(4, memory), &over[..]));
    let mixed = (1..=testing::KINDS).flat_map(|kinds| {
        let job = move |memory: f64| (Objective::Throughput, memory, of_kinds(base(5, memory), kinds));
        [job(0.3), job(1.0)]
    });
    let adapted = [0.05, 0.3].map(|memory| {
        let mut job = base(5, memory);
        job.plan.tuning.method = TrainMethod::Qlora;
        (Objective::Throughput, memory, job)
    });
    let others = mixed.chain(adapted).map(|(objective, memory, job)| (objective, memory, job, &few[..]));
    for (objective, _, job, over) in jobs.into_iter().chain(others) {
        assert_best(&search(job, objective, over));
    }
}

/// How the transfers of the state run is searched as the rest is.
#[test]
fn the_search_finds_the_best_transfers() {
    let held = ["micro-batch=1", "recompute=none", "cp=1", "tp=1,2", "pp=1,2", "stages-per-rank=1", "hpz=device"];
    let reduced = ["reduction=default,sharded-last,step", "reshard=on,off"];
    let ahead = ["reduction=default,step", "prefetch=1,2,8", "tp-overlap=off,on"];
    for (memory, over) in [(0.3, &reduced[..]), (1.0, &reduced[..]), (0.3, &ahead[..])] {
        let mut job = base(5, memory);
        slowed(&mut job, (0.2, 2, true, 0.3));
        job.plan.sharding.sums_each_micro_batch = true;
        std::sync::Arc::make_mut(&mut job.stack).sequence_parallel = true;
        assert_best(&search(job, Objective::Throughput, &[&held[..], over].concat()));
    }
}

/// Asserts that a search finds the best plan of each kind.
#[track_caller]
fn assert_best(search: &PlanSearch) {
    let (objective, memory) = (search.objective, search.base.plan.memory_factor);
    let found = answer(search, 2);
    let all = brute_force(search);
    let mut best: Vec<&(PlanKind, EvaluatedPlan)> = all.iter().filter(|(_, found)| found.summary.fits).collect();
    best.sort_by(|(_, one), (_, other)| objective.of(one).partial_cmp(&objective.of(other)).expect("numbers"));
    // The best of each kind: the first that is left.
    let mut kinds = Vec::new();
    best.retain(|(kind, _)| {
        !kinds.contains(kind) && {
            kinds.push(*kind);
            true
        }
    });
    let best: Vec<_> = best.iter().map(|(_, found)| objective.of(found)).take(search.top).collect();
    let plans: Vec<_> = found.plans.iter().map(|plan| objective.of(plan)).collect();
    assert_eq!(plans, best, "{objective:?}, memory x {memory}, {:?}", search.base.model);
    assert!(found.exact);
    let PlanCounts { plans, impossible, bounded, simulated } = found.counts;
    assert_eq!(plans, impossible + bounded + simulated, "each plan is counted once");
    assert!(objective == Objective::Memory || simulated < all.len() as u64, "bounds leave plans out");
}

/// A launcher that has no shares of recompute, whatever stands beside them, and takes one sequence at a time.
fn launcher(name: &'static str) -> Launchers {
    fn lacks(name: &'static str, plan: &Scenario) -> Vec<Field> {
        let share = matches!(plan.plan.recompute, Recompute::Share(_)).then_some(Field::Recompute);
        let several = (plan.plan.micro_batch > 1).then_some(Field::MicroBatch);
        let never = (name == "never").then_some(Field::Precision);
        let moments = (name == "bf16" && plan.plan.moments == Moments::Fp32).then_some(Field::Moments);
        share.into_iter().chain(several).chain(never).chain(moments).collect()
    }
    Launchers {
        names: vec![name],
        take: |names, plan| names.iter().any(|name| lacks(name, plan).is_empty()),
        lacks,
        lack_alone: |_, plan, field| field == Field::Recompute && matches!(plan.plan.recompute, Recompute::Share(_)),
    }
}

/// The first plan is the best that a launcher takes; better ones follow, none of which it takes, the best of all among them.
/// Where what is held is taken by none, the search is as if nobody had asked.
#[test]
fn the_first_plan_is_the_best_that_a_launcher_takes() {
    let over = ["micro-batch=1,2", "recompute=none,0.5,full", "cp=1", "tp=1,2,4", "pp=1,2"];
    let mut beyond = 0;
    for memory in [0.1, 0.2, 0.3, 1.0] {
        let plain = search(base(4, memory), Objective::Throughput, &over);
        let asked = PlanSearch { launchers: launcher("some"), ..plain.clone() };
        let (found, all) = (answer(&asked, 2), brute_force(&plain));
        let fitting = || all.iter().map(|(_, found)| found).filter(|found| found.summary.fits);
        let score = |found: &EvaluatedPlan| plain.objective.of(found)[0];
        let least = |taken: bool| {
            let these = fitting().filter(|found| !taken || asked.launchers.take(&found.scenario));
            these.map(score).fold(f64::INFINITY, f64::min)
        };
        let first = found.plans.first().expect("a plan that fits");
        assert_eq!((score(first), found.launched), (least(true), Some(true)), "memory x {memory}");
        assert!(found.plans.iter().all(|found| asked.launchers.take(&found.scenario)));
        assert!(found.beyond.iter().all(|found| score(found) < score(first)));
        assert!(found.beyond.iter().all(|found| !asked.launchers.take(&found.scenario)));
        assert!((found.beyond.first().map_or(score(first), score) - least(false)).abs() == 0.0, "memory x {memory}");
        beyond += found.beyond.len();
        let never = PlanSearch { launchers: launcher("never"), ..plain.clone() };
        let strict = answer(&PlanSearch { launched_only: true, ..never.clone() }, 2);
        assert!(strict.plans.is_empty() && strict.beyond.is_empty(), "memory x {memory}");
        let held = answer(&never, 2);
        assert_eq!((held.plans, held.launched), (answer(&plain, 2).plans, Some(false)));
    }
    assert!(beyond > 0, "no plan is better than what a launcher takes");
}

/// A format that nobody has said is as the launcher has it, and one that is said, by a flag or in a file, stays.
#[test]
fn what_nobody_has_said_is_as_the_launcher_has_it() {
    let over = ["micro-batch=1", "recompute=none", "cp=1", "tp=1", "pp=1"];
    let asked = PlanSearch { launchers: launcher("bf16"), ..search(base(4, 1.0), Objective::Throughput, &over) };
    let first = |search: &PlanSearch| {
        let found = answer(search, 1);
        let first = found.plans.first().expect("a plan that fits");
        (first.scenario.plan.moments, first.scenario.plan.master_weights, found.launched)
    };
    let fp32 = MasterWeights::Fp32;
    assert_eq!(first(&asked), (Moments::Bf16, fp32, Some(true)), "masters, which it has, stay");
    let mut held = asked.clone();
    held.space.fix(Field::Moments);
    assert_eq!(first(&held), (Moments::Fp32, fp32, Some(false)));
    let said = |plan: &str| {
        let ids = "format = 1\ncluster = \"c\"\nstack = \"s\"\nmodel = \"m\"\nstrategy = \"fsdp\"\n";
        let file = crate::scenario::file::parse(&format!("{ids}[plan]\n{plan}\n")).expect("a file");
        let mut said = asked.clone();
        said.space.fix_said(&file);
        said
    };
    assert_eq!(first(&said("micro_batch = 1")), first(&asked));
    assert_eq!(first(&said("moments = \"fp32\"")), first(&held));
}

/// The search keeps to the stack; the reference lays out every plan of all stacks and drops those of which the stack lacks
/// something.
#[test]
fn the_search_finds_the_best_of_what_the_stack_has() {
    use crate::plan::Schedule;
    use crate::stack::{Feature, RecomputeKind, Runs};
    let runs = Runs {
        shards: Some(["device/device/system", "N/N/N"].map(|pattern| pattern.parse().expect("a pattern")).to_vec()),
        pipeline_shards: Some(vec!["device/device/system".parse().expect("a pattern")]),
        features: Some(vec![Feature::Tensor, Feature::Pipeline]),
        schedules: Some(vec![Schedule::OneForwardOneBackward]),
        recompute: Some(vec![RecomputeKind::None, RecomputeKind::Full]),
        ..Runs::default()
    };
    for memory in [0.2, 1.0] {
        let mut base = base(4, memory);
        std::sync::Arc::make_mut(&mut base.stack).runs = Some(runs.clone());
        let mut search = search(base, Objective::Throughput, &["micro-batch=1,2", "tp=1,2"]);
        search.top = 1;
        let best = answer(&search, 2).plans.swap_remove(0);
        assert_eq!(best.scenario.lacks(), []);
        search.space = SearchSpace::of_stack(true);
        for field in TRANSFERS {
            search.space.fix(field);
        }
        for axis in ["micro-batch=1,2", "tp=1,2", "recompute=none,selective,0.5,full"] {
            search.space.vary(axis.parse().expect(axis));
        }
        let all = brute_force(&search);
        let has = |plan: &&EvaluatedPlan| plan.summary.fits && plan.scenario.lacks().is_empty();
        let steps = |plans: &mut dyn Iterator<Item = &EvaluatedPlan>| {
            plans.map(|plan| plan.summary.step_time).reduce(Seconds::min)
        };
        assert_eq!(steps(&mut all.iter().map(|(_, plan)| plan).filter(has)), Some(best.summary.step_time));
        assert!(all.iter().any(|(_, plan)| !plan.scenario.lacks().is_empty()), "the stack limits this search");
    }
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads_and_a_cancelled_one_says_so() {
    let search = search(base(4, 0.2), Objective::Throughput, &["micro-batch=1,2", "recompute=none,full"]);
    assert_eq!(answer(&search, 1), answer(&search, 3));
    let (pool, cancel) = (pool(Some(1)).expect("a thread"), Cancel::default());
    cancel.cancel();
    assert!(!search.run(&Evaluator::new(&pool, &cancel), &mut |_| {}).exact);
}

#[test]
fn held_fields_stay_and_others_take_the_values_they_are_given() {
    let mut search = search(base(4, 1.0), Objective::Devices, &["nodes=1,2", "micro-batch=2"]);
    search.space.fix(Field::Recompute);
    search.space.fix(Field::Strategy);
    search.base.plan.recompute = Recompute::Full;
    let found = answer(&search, 2);
    let best = found.plans.first().expect("a plan");
    assert_eq!(best.summary.devices, 4, "one node is enough");
    for found in &found.plans {
        let plan = &found.scenario.plan;
        assert_eq!((plan.recompute, plan.micro_batch), (Recompute::Full, 2));
        assert_eq!(plan.sharding.weights, search.base.plan.sharding.weights);
    }
}

/// 32 layers of 12 x 1024^2 parameters, 12 B of optimizer state each, an eighth on each of 8 devices: 604 MB do not fit into
/// 450. On the host there are 32 x 12 x 1024^2 x (12 + 4) / 2 = 3.2 GB of each node's share, with weights 3.6 GB; its
/// gathered layers of 25 MB and 32 inputs of 2 MB fit. A job that says what is offloaded, or a stack that cannot, has no
/// such plans.
#[test]
fn plans_offload_where_none_fits_otherwise() {
    let over = ["micro-batch=1", "recompute=full", "tp=1", "cp=1", "pp=1"];
    let mut search = search(base(32, 1.0), Objective::Throughput, &over);
    search.base.plan.memory_factor = 450e6 / search.base.capacity().get();
    assert!(answer(&search, 2).plans.is_empty());
    let offloading = |search: &PlanSearch| {
        let pool = pool(Some(2)).expect("threads");
        search.run_offloading(&Evaluator::new(&pool, &Cancel::default()), &mut |_| {})
    };
    let found = offloading(&search).expect("plans that fit");
    let (best, without) = (&found.plans[0], found.without_offload.as_ref().expect("the plan on the devices"));
    assert!(best.summary.fits && best.scenario.plan.offload.optimizer(), "{}", best.scenario.plan.offload);
    let parameters = 32.0 * 12.0 * 1024.0 * 1024.0;
    let weights = if best.scenario.plan.offload.state() { 2.0 } else { 0.0 };
    assert!((best.summary.host_memory.total().get() / (parameters * (16.0 + weights) / 2.0) - 1.0).abs() < 0.05);
    let mut kept = best.scenario.clone();
    kept.plan.offload = Offload::None;
    assert_eq!(without.scenario, kept);
    assert!(!without.summary.fits && without.summary.step_time < best.summary.step_time);
    let mut held = search.clone();
    held.space.fix(Field::Offload);
    assert_eq!(offloading(&held), None);
    let runs = crate::stack::Runs { offload: Some(Vec::new()), ..Default::default() };
    std::sync::Arc::make_mut(&mut search.base.stack).runs = Some(runs);
    assert_eq!(offloading(&search), None);
}

/// A search with hidden exchanges, in a program that combines passes, leaves out what it refuses, and finds what it takes.
#[test]
fn a_search_keeps_to_combined_passes() {
    let mut job = base(8, 1.0);
    job.model = std::sync::Arc::new(testing::of_kinds(testing::model(8, 1024), 1));
    (job.plan.sharding, job.plan.experts.ranks, job.plan.experts.overlap) = (testing::ddp(), 2, true);
    let runs = crate::stack::Runs { combined_passes: Some(true), ..Default::default() };
    std::sync::Arc::make_mut(&mut job.stack).runs = Some(runs);
    let axes = ["micro-batch=1", "tp=1", "cp=1", "pp=2", "ep=2", "recompute=none,full", "stages-per-rank=1,2"];
    let search = search(job, Objective::Throughput, &axes);
    let found = answer(&search, 1);
    assert!(!found.plans.is_empty());
    for plan in &found.plans {
        let plan = &plan.scenario.plan;
        assert_eq!((plan.recompute, plan.virtual_stages()), (Recompute::None, 2));
    }
}

/// 8 sequences on 4, 8 and 16 devices: 16 data ranks are too many for them, 8 with two tensor ranks are not. So no size is
/// left out for what the job's own mesh takes.
#[test]
fn a_size_stays_where_another_mesh_keeps_the_batch() {
    let mut job = base(4, 1.0);
    job.plan.global_batch = GlobalBatch::Sequences(8);
    job.settle_batch();
    let mut search = search(job, Objective::Throughput, &["nodes=1,2,4", "micro-batch=1", "recompute=none", "pp=1"]);
    search.top = 1;
    let (variants, impossible) = search.space.variants(&search.base);
    assert_eq!((variants.len(), impossible), (3, 0));
    let wide = Shape::new(
        0,
        &variants[2],
        MeshSizes { tensor: 1, context: 1, pipeline: 1, experts: 1, micro_batch: 1 },
        &search.space,
        &mut None,
    );
    assert!(wide.is_none(), "16 data ranks do not keep the batch");
    let best = answer(&search, 2).plans.swap_remove(0);
    assert_eq!(best.summary.devices, 16, "the most devices are the fastest");
    let sequences = best.summary.tokens_per_step / f64::from(best.scenario.plan.sequence);
    assert!((sequences - 8.0).abs() < 1e-9, "{sequences}");
}

#[test]
fn the_front_has_the_fastest_plan_of_each_size() {
    let mut search = search(base(4, 1.0), Objective::Throughput, &["nodes=1,2,4", "micro-batch=1,2", "recompute=none"]);
    (search.front, search.top) = (vec![Objective::Days, Objective::Devices], 1);
    let found = answer(&search, 2);
    for plan in &found.front {
        let mut one = search.clone();
        let nodes = vec![Value::Count(plan.summary.devices / 4)];
        (one.front, one.space) = (Vec::new(), search.space.clone());
        one.space.vary(Axis { field: Field::Nodes, values: nodes });
        let best = answer(&one, 2).plans.swap_remove(0);
        assert_eq!(best.summary.step_time, plan.summary.step_time);
    }
    assert!(found.front.len() > 1 && found.front.is_sorted_by_key(|plan| plan.summary.devices));
}

/// 11 layers without embedding and head on two ranks: 1, 2 or 4 stages on each, none of which makes all alike. The best is
/// the best of what any of them takes.
#[test]
fn stages_need_not_be_alike() {
    let over = ["micro-batch=1", "recompute=none", "cp=1", "tp=1", "pp=2"];
    let search = search(base(11, 1.0), Objective::Throughput, &over);
    let orders = search.space.orders(&search.base, 2);
    let stages: Vec<u32> = orders.iter().map(|order| order.stages_per_rank).collect();
    assert_eq!(BTreeSet::from_iter(stages), BTreeSet::from([1, 2, 4]));
    let best = answer(&search, 2).plans.swap_remove(0);
    let all = brute_force(&search);
    let fastest = all.iter().filter(|(_, found)| found.summary.fits).map(|(_, found)| found.summary.step_time);
    assert_eq!(fastest.reduce(Seconds::min), Some(best.summary.step_time));
}

/// A device-hour for 2.50 on one cluster and for 0.50 on another, four times slower: there a token costs 0.8 times as much.
/// One of 2 kW and one of 250 W: half the energy. What costs less is within a budget that the other exceeds.
#[test]
fn money_and_energy_are_those_of_each_cluster() {
    let on = |id: &str, price: &str, watts: f64, slower: f64| {
        let mut cluster = (*base(4, 1.0).cluster).clone();
        cluster.price_per_device_hour = Some(price.parse().expect(price));
        cluster.watts_per_device = Some(Watts::new(watts));
        let device = &mut cluster.device;
        device.memory_bandwidth = device.memory_bandwidth * (1.0 / slower);
        for peak in [&mut device.peak.bf16, &mut device.peak.fp16].into_iter().flatten() {
            *peak = *peak * (1.0 / slower);
        }
        cluster.id = id.to_owned();
        Value::Preset(Resolved::Cluster(std::sync::Arc::new(cluster), Precision::Bf16))
    };
    let values = vec![on("dear", "2.50 USD", 2000.0, 1.0), on("cheap", "0.50 USD", 250.0, 4.0)];
    let over = ["micro-batch=1", "recompute=none", "cp=1", "tp=1", "pp=1", "nodes=1"];
    let mut search = search(base(4, 1.0), Objective::Cost, &over);
    search.space.vary(Axis { field: Field::Cluster, values });
    for (objective, each) in [(Objective::Cost, 0.5 / 3600.0), (Objective::Energy, 250.0)] {
        search.objective = objective;
        let best = answer(&search, 2).plans.swap_remove(0);
        let cluster = &best.scenario.cluster;
        assert_eq!(cluster.price_per_device_hour.map(|price| price.amount), Some(0.5), "{objective:?}");
        let hand = f64::from(best.summary.devices) / best.summary.tokens_per_s() * each;
        assert!((objective.of(&best)[0] / hand - 1.0).abs() < 1e-9, "{objective:?}");
    }
    search.objective = Objective::Throughput;
    let fastest = answer(&search, 2).plans.swap_remove(0);
    assert_eq!(fastest.scenario.cluster.price_per_device_hour.map(|price| price.amount), Some(2.5));
    search.limits = SearchLimits::default().for_at_most(0.999 * Objective::Cost.of(&fastest)[0], 1.0);
    let kept = answer(&search, 2).plans.swap_remove(0);
    assert!(Objective::Cost.of(&kept)[0] < 0.999 * Objective::Cost.of(&fastest)[0]);
}

/// Days, cost and devices of four plans. The third is beaten by the first in cost and devices, the fourth is as the
/// second; in devices alone nothing beats the first.
#[test]
fn a_front_weighs_what_it_is_asked_for() {
    let plans = [[3.0, 10.0, 8.0], [2.0, 12.0, 16.0], [1.0, 20.0, 32.0], [2.0, 12.0, 16.0]];
    let front = |places: &[usize]| {
        let weighed = |plan: &[f64; 3]| places.iter().map(|place| plan[*place]).collect::<Vec<f64>>();
        pareto_front(plans.iter().enumerate().map(|(index, plan)| (weighed(plan), index)).collect())
    };
    assert_eq!(front(&[0, 1, 2]), [0, 1, 2]);
    assert_eq!(front(&[1, 2]), [0]);
    assert_eq!(front(&[0]), [2]);
    assert_eq!(front(&[2]), [0]);
}

/// Jobs for the property below: 200, or as many as `SHARDSCOPE_JOBS` says.
fn jobs() -> impl Iterator<Item = Scenario> {
    let count = std::env::var("SHARDSCOPE_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_u32);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let of = (
        prop::sample::select(vec![2_u32, 4, 5, 7, 11]),
        0.04..0.6,
        1_u32..5,
        prop::sample::select(vec![8_u32, 16, 24, 32]),
    );
    (0..count).map(move |_| {
        let (layers, memory, nodes, batch) = of.new_tree(&mut runner).expect("a job").current();
        let mut job = base(layers, memory);
        (job.plan.size, job.plan.global_batch) = (Size::Nodes(nodes), GlobalBatch::Sequences(batch));
        job.settle_batch();
        job
    })
}

/// The values of each field that is free in the property below: all that the explorer steps through on such small jobs.
/// The search is given the first ten, and has the others in its grid.
const STEPS: [&str; 17] = [
    "micro-batch=1,2,3,4",
    "tp=1,2,4",
    "cp=1,2",
    "pp=1,2,4",
    "ep=1,2,4",
    "recompute=none,selective,full",
    "reduction=default,micro-batch,sharded-last,step",
    "tp-overlap=off,on",
    "prefetch=1,2,4,8,16",
    "reshard=on,off",
    "schedule=1f1b,gpipe,interleaved,breadth-first",
    "stages-per-rank=1,2,4,8",
    "accumulation=standard,layered",
    "weights-over=device,2,4,8,node,system",
    "gradients-over=device,2,4,8,node,system",
    "optimizer-over=device,2,4,8,node,system",
    "hpz=device,2,4,node",
];

#[test]
fn every_field_that_is_free_is_stepped_through() {
    let stepped: BTreeSet<Field> = STEPS.iter().map(|axis| axis.parse::<Axis>().expect(axis).field).collect();
    assert_eq!(stepped, Field::all().filter(|field| field.is_searched()).collect());
}

/// From the best plan no step of one field within its grid fits and is better by 0.1 %.
#[test]
fn no_single_change_of_the_best_plan_is_better() {
    let mut answered = 0;
    for job in jobs() {
        let search = search(job, Objective::Throughput, &STEPS[..10]);
        let found = answer(&search, 2);
        let Some(best) = found.plans.first() else { continue };
        answered += 1;
        let mut workspace = Workspace::default();
        let steps = STEPS.map(|axis| axis.parse::<Axis>().expect(axis));
        for Axis { field, values } in steps {
            for value in values {
                let edit = Edit { field, value };
                let Ok(other) = crate::search::Candidate::new(&best.scenario, [edit.clone()]) else { continue };
                let Ok(other) = summary(&other.scenario, &mut workspace) else { continue };
                let gain = other.tokens_per_s() / best.summary.tokens_per_s() - 1.0;
                assert!(!other.fits || gain < 1e-3, "{edit} is better by {gain} than {:?}", best.scenario.plan);
            }
        }
    }
    assert!(answered > 0, "no job fits");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Parts look at every plan once, and the best of what they find are the best of the whole; also where each part
    /// knows the best of the parts before.
    #[test]
    fn parts_together_find_what_the_whole_finds(
        (count, informed, front) in (prop::sample::select(vec![1_u32, 2, 3, 7, 40]), any::<bool>(), any::<bool>()),
        memory in prop::sample::select(vec![0.1, 0.2, 1.0]),
        objective in prop::sample::select(Objective::ALL.map(|(_, objective)| objective).to_vec()),
    ) {
        let over = ["micro-batch=1,2", "recompute=none,full", "nodes=1,2", "reduction=default,step", "prefetch=1,2,16"];
        let mut search = search(base(4, memory), objective, &over);
        search.front = if front { vec![Objective::Days, Objective::Devices] } else { Vec::new() };
        let whole = answer(&search, 2);
        let pool = pool(Some(2)).expect("threads");
        let (mut plans, mut looked_at): (Vec<EvaluatedPlan>, u64) = (Vec::new(), 0);
        let mut fastest: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
        for part in WorkPart::all(count) {
            let known = plans.get(search.top - 1).map(|last| objective.of(last));
            let share = SearchShare { part: Some(part), known: known.filter(|_| informed) };
            let found = search.run_share(&share, &Evaluator::new(&pool, &Cancel::default()), &mut |_| {});
            let PlanCounts { plans: all, impossible, bounded, simulated } = found.counts;
            prop_assert_eq!(all, impossible + bounded + simulated);
            looked_at += all;
            for found in found.front {
                let rate = fastest.entry(found.summary.devices).or_insert(0.0);
                *rate = rate.max(found.summary.tokens_per_s());
            }
            plans.extend(found.plans);
            plans.sort_by(|one, other| objective.of(one).partial_cmp(&objective.of(other)).expect("numbers"));
            plans.dedup_by(|one, other| one.summary == other.summary);
            plans.truncate(search.top);
        }
        let scores = |plans: &[EvaluatedPlan]| plans.iter().map(|plan| objective.of(plan)).collect::<Vec<_>>();
        prop_assert_eq!(scores(&plans), scores(&whole.plans));
        prop_assert_eq!(looked_at, whole.counts.plans);
        for found in &whole.front {
            prop_assert_eq!(fastest.get(&found.summary.devices), Some(&found.summary.tokens_per_s()));
        }
    }
}

/// Puts a job on a machine whose transfers slow computing down, run beside it or not, and take time to begin.
fn slowed(job: &mut Scenario, (contention, overlap, latency, bandwidth): (f64, usize, bool, f64)) {
    use crate::stack::{Overlap, Runtime};
    let overlaps = [Overlap::None, Overlap::Reductions, Overlap::OneStream, Overlap::Independent];
    let stack = std::sync::Arc::make_mut(&mut job.stack);
    stack.overlap = overlaps[overlap];
    let calibration = std::sync::Arc::make_mut(&mut job.calibration);
    let layer = Seconds::new(if latency { 2e-5 } else { 0.0 });
    calibration.runtimes.insert(stack.runtime.clone(), Runtime { layer, contention, ..Runtime::IDEAL });
    if latency {
        let efficiency = calibration.architectures.get_mut("default").expect("a default");
        (efficiency.latency, efficiency.collective_launch) = (1.0, Seconds::new(5e-6));
    }
    job.plan.bandwidth_factor = bandwidth;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// No plan takes less time or memory than the lower bounds of its mesh and of its run say.
    #[test]
    fn no_plan_goes_below_its_floors(
        (layers, nodes, batch) in (prop::sample::select(vec![4_u32, 7, 8, 11, 12]), 1_u32..4, prop::sample::select(vec![16_u32, 32, 96])),
        kinds in 0..=testing::KINDS,
        mesh in [0_u32..3, 0..2, 0..3, 0..3, 0..4],
        (machine, state) in ((0.0..0.5, 0..4_usize, any::<bool>(), 0.05..4.0), ((0..Offload::ALL.len(), 0..3_u8), any::<bool>(), (0_u32..3, 0..6_u32))),
        (run, recompute, extents) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        (reduction, reshards, tensor_overlap, context) in (0..Reduction::ALL.len(), any::<bool>(), any::<bool>(), 0..ContextKind::ALL.len()),
    ) {
        let mut job = of_kinds(base(layers, 1.0), kinds);
        job.plan.context_kind = ContextKind::ALL[context];
        (job.plan.size, job.plan.global_batch) = (Size::Nodes(nodes), GlobalBatch::Sequences(batch));
        job.settle_batch();
        slowed(&mut job, machine);
        let ((offload, half), quantised, (prefetch, frozen)) = state;
        let ends = [None, Some(FrozenEnds::None), Some(FrozenEnds::Head)];
        job.plan.tuning.ends = ends[frozen as usize % 3];
        std::sync::Arc::make_mut(&mut job.model).frozen_layers = frozen / 2;
        job.plan.offload_ratio = crate::units::Share::new(f64::from(half) / 2.0);
        (job.plan.offload, job.plan.prefetch) = (Offload::ALL[offload], prefetch);
        job.plan.paged_optimizer = half == 1 && mesh[2] == 0;
        if quantised {
            let wire = &mut job.plan.sharding.wire;
            (wire.weights, wire.gradients) = (Format::Int8, Format::Int4);
        }
        std::sync::Arc::make_mut(&mut job.stack).sequence_parallel |= tensor_overlap;
        let space = SearchSpace::default();
        let [tensor, context, pipeline, micro_batch, experts] = mesh.map(|power| 1 << power);
        let mesh = MeshSizes { tensor, context, pipeline, experts, micro_batch };
        let Some(shape) = Shape::new(0, &job, mesh, &space, &mut None) else { return Ok(()) };
        let (order, recompute) = (*run.get(&shape.orders), *recompute.get(&space.recomputes(&job)));
        let Some(mut scenario) = shape.run(MeshRun { order, recompute, tensor_overlap }) else { return Ok(()) };
        // The work of units is known from another run of the mesh, where that has the same.
        for other in space.recomputes(&job) {
            if let Some(other) = shape.run(MeshRun { order: shape.orders[0], recompute: other, tensor_overlap }) {
                drop(shape.bound(&other));
            }
        }
        let (bound, work) = (shape.bound(&scenario), Arc::clone(shape.work(&scenario)));
        let extents: &StateExtents = extents.get(&shape.extents);
        let memory = bound.memory(&LowerBound::rates(&scenario), &extents.layout);
        extents.apply(&mut scenario.plan.sharding);
        StateTransfers { reduction: Reduction::ALL[reduction], reshards, prefetch }.apply(&mut scenario);
        let mut workspace = Workspace::default();
        let Ok(summary) = summary(&scenario, &mut workspace) else { return Ok(()) };
        // Limits that it just keeps to change nothing; with less memory it is broken off, and with less time it may be.
        let just = StepLimits { time: summary.step_time, memory: summary.memory.needed() };
        let mut within = |limits: StepLimits| summary_within(&scenario, Some(&work), &limits, &mut workspace);
        prop_assert_eq!(within(just), Ok(Some(summary)), "{:?}", scenario.plan);
        prop_assert_eq!(within(StepLimits { memory: just.memory * 0.999, ..just }), Ok(None), "{:?}", scenario.plan);
        let sooner = within(StepLimits { time: just.time * 0.99, ..just });
        prop_assert!([Ok(None), Ok(Some(summary))].contains(&sooner), "{:?}", scenario.plan);
        prop_assert!(summary.step_time >= bound.time, "{} < {} of {:?}", summary.step_time, bound.time, scenario.plan);
        let placed = |bound: &LowerBound| bound.placed(&scenario, &extents.layout, &bound.terms(&scenario, &extents.layout));
        let (placed, anew) = (placed(&bound), placed(&LowerBound::new(&scenario, &extents.layout)));
        prop_assert!(summary.step_time >= placed.time, "{} < {placed:?} of {:?}", summary.step_time, scenario.plan);
        prop_assert!(summary.memory.needed() >= placed.memory, "{} < {placed:?} of {:?}", summary.memory.needed(), scenario.plan);
        prop_assert!(placed.time >= bound.time && placed.memory * (1.0 + 1e-9) >= memory, "{placed:?}");
        prop_assert!((placed.time / anew.time - 1.0).abs() < 1e-9, "{placed:?} is {anew:?} from the start");
        let least = shape.pace(Some(MeshRun { order, recompute, tensor_overlap: scenario.plan.tensor_overlap })).per_token * tokens(&scenario);
        prop_assert!(summary.step_time.get() >= least, "{} < {least} s of {:?}", summary.step_time, scenario.plan);
        prop_assert!(summary.memory.needed() >= memory, "{} < {memory} of {:?}", summary.memory.needed(), scenario.plan);
    }
}

/// How long real questions take: `cargo test --lib how_long -- --ignored --nocapture`.
#[test]
#[ignore = "a report"]
fn how_long_searches_take() {
    let library = crate::presets::Library::embedded();
    let jobs = [
        &[("model", "mpt-30b"), ("nodes", "16"), ("global-batch", "1024")][..],
        &[("hardware", "a100-80gb-dgx"), ("model", "gpt3-175b"), ("nodes", "64"), ("global-batch", "2048")],
    ];
    for flags in jobs {
        let mut file = crate::scenario::file::parse(&library.scenario_text("default").unwrap().text).unwrap();
        for (flag, text) in flags {
            file.set(flag, text).unwrap();
        }
        let search = search(library.resolve(&file).unwrap(), Objective::Throughput, &[]);
        let (pool, cancel) = (pool(Some(2)).expect("threads"), Cancel::default());
        let (start, mut first) = (std::time::Instant::now(), None);
        let found = search.run(&Evaluator::new(&pool, &cancel), &mut |so_far| {
            let best = so_far.plans.first().map(|plan| plan.summary.tokens_per_s());
            first.get_or_insert_with(|| (start.elapsed(), best));
            if start.elapsed().as_secs() > 100 {
                cancel.cancel();
            }
        });
        let best = found.plans.first().map(|plan| (plan.summary.mfu, &plan.scenario.plan));
        println!("{:?} {:?} exact {} first {first:?}: {best:?}", start.elapsed(), found.counts, found.exact);
    }
}
