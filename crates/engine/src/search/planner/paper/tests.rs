//! The model against its closed forms, its search against trying everything, and its law of proportion.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::bounds::osdp::{Mode, Operator};
use crate::hardware::Group;
use crate::plan::pass::Pass;
use crate::plan::{Extent, Precision};
use crate::search::planner::classes::depth_first;
use crate::testing;
use crate::units::{BytesPerSecond, Seconds};

/// The toy machine's eight devices in FP32, with latency.
fn scenario() -> Scenario {
    let mut scenario = testing::scenario();
    let calibration = Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("there");
    (calibration.latency, calibration.latency_between) = (1.0, 1.0);
    scenario.plan.precision = Precision::Fp32;
    scenario
}

/// [osdp C3]: on each device two passes, over all ranks three, four with recompute; 16 bytes per parameter, or
/// 16 / 8.
#[test]
fn the_ends_of_the_hierarchy_are_the_papers_modes() {
    for recompute in [Recompute::None, Recompute::Full] {
        let scenario = scenario();
        let space = Space::new(&scenario, PlannerObjective::Throughput).expect("valid");
        let model = PaperModel::new(&space, Tuned { micro_batch: 1, recompute, accumulate: 1 });
        let rates = Rates::new(&model.scenario, &Factors::default());
        let alike = model.operators()[1];
        let ring = Ring::new(&rates, Group::new(1, 8));
        let operator = Operator { bytes: Bytes::new(4.0 * alike.parameters), collectives: 1.0, compute: Seconds::ZERO };
        let recomputed = recompute == Recompute::Full;
        let modes = [(0, Mode::Replicated), (space.ways.len() - 1, Mode::Sharded { recomputed })];
        for (way, mode) in modes {
            let layout = &space.ways[way].layout;
            let found = model.transfers(&WayRings::new(&rates, layout), &alike, layout, 1);
            let expected = operator.time(mode, &ring);
            assert!((found / expected - 1.0).abs() < 1e-9, "{mode:?}: {found} is not {expected}");
            let (state, held) = model.memory(&alike, layout, 1);
            assert!((state / mode.state(alike.parameters, Bytes::new(16.0), &ring).get() - 1.0).abs() < 1e-12);
            // One gather runs ahead.
            assert!((held - 2.0 * operator.held(mode, Pass::Backward).get()).abs() < 1.0);
        }
    }
}

/// Weights over the node, the rest over all 8 ranks of 2 nodes, by hand: two gathers of S over 4, a reduction of
/// S over 8, and the updated weights back over the 2 nodes, S / 4 each.
#[test]
fn a_hierarchy_pays_each_level_by_itself() {
    let scenario = scenario();
    let space = Space::new(&scenario, PlannerObjective::Throughput).expect("valid");
    let model = PaperModel::new(&space, space.batches[0]);
    let rates = Rates::new(&model.scenario, &Factors::default());
    let alike = model.operators()[0];
    let bytes = 4.0 * alike.parameters;
    let way = space.ways.iter().find(|way| way.extents.weights == Some(Extent::Node) && way.layout.gradients == 8);
    let layout = &way.expect("there").layout;
    let found = model.transfers(&WayRings::new(&rates, layout), &alike, layout, 1);
    // 3 steps at 100 GB/s; 7 steps through 4 ports of 10 GB/s; 1 step at 10 GB/s. Each step takes 1 us.
    let node = 3e-6 + bytes * 0.75 / 100e9;
    let all = 7e-6 + bytes * 7.0 / 8.0 / 40e9;
    let back = 1e-6 + bytes / 4.0 * 0.5 / 10e9;
    assert!((found.get() / (2.0 * node + all + back) - 1.0).abs() < 1e-9, "{found}");
}

#[test]
fn the_ways_are_all_that_widen_outwards() {
    let scenario = scenario();
    let space = Space::new(&scenario, PlannerObjective::Throughput).expect("valid");
    // Three of device, node and system, none narrower than the one before: C(3 + 2, 3) = 10.
    assert_eq!(space.ways.len(), 10);
    let ranks = |way: usize| {
        let layout = &space.ways[way].layout;
        [layout.weights, layout.gradients, layout.optimizer]
    };
    assert_eq!((ranks(0), ranks(9)), ([1, 1, 1], [8, 8, 8]));
    // On one node, node and system are the same.
    let mut one = scenario.clone();
    one.plan.size = crate::plan::Size::Nodes(1);
    let space = Space::new(&one, PlannerObjective::Throughput).expect("valid");
    assert_eq!(space.ways.len(), 4);
    assert_eq!(space.ways[3].extents.weights, Some(Extent::System));
}

/// Every assignment of two layers to all ways and slices, by the model's own costs.
fn brute_force(model: &PaperModel<'_>, ways: &[usize]) -> Option<(u64, u64)> {
    let rates = Rates::new(&model.scenario, &Factors::default());
    let unit = (model.room / UNITS).max(1.0);
    let mut sums = vec![(0, 0, 0)];
    for alike in model.operators() {
        let treated = model.treated(&rates, &alike, &model.rings(&rates, ways), unit);
        for _ in 0..alike.copies {
            let with = |(time, memory, held): &(u64, u64, u64), one: &OperatorTreatment| {
                (time + one.cost.time, memory + one.cost.memory, *held.max(&one.held))
            };
            sums = sums.iter().flat_map(|sum| treated.treatments.iter().map(move |one| with(sum, one))).collect();
            sums.sort_unstable();
            sums.dedup();
        }
    }
    let fits = |(_, memory, held): &&(u64, u64, u64)| (memory + held) as f64 <= model.room / unit;
    sums.iter().filter(fits).map(|(time, memory, held)| (*time, memory + held)).min()
}

/// Operators in FP32 without arithmetic, each replicated or sharded over a ring.
fn two_way(ring: &Ring, copies: u32, parameters: f64) -> OperatorClass {
    let operator = Operator { bytes: Bytes::new(4.0 * parameters), collectives: 1.0, compute: Seconds::ZERO };
    let choices = [Mode::Replicated, Mode::Sharded { recomputed: false }].map(|mode| OptionCost {
        time: picos(operator.time(mode, ring)),
        memory: mode.state(parameters, Bytes::new(16.0), ring).get() as u64,
    });
    OperatorClass { copies, choices: choices.into() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// What is gathered at once bounds the plan as the search says.
    #[test]
    fn the_search_is_exact(
        room in 0.05..1.2_f64,
        hidden in prop::sample::select(vec![256_u32, 512]),
        vocab in any::<bool>(),
        kinds in 0..testing::KINDS,
    ) {
        let mut scenario = scenario();
        scenario.model = Arc::new(testing::of_kinds(testing::model(2, hidden), kinds));
        Arc::make_mut(&mut scenario.model).vocab = if vocab { 1000 } else { 0 };
        let space = Space::new(&scenario, PlannerObjective::Throughput).expect("valid");
        let mut model = PaperModel::new(&space, Tuned { micro_batch: 1, recompute: Recompute::None, accumulate: 1 });
        // From too little for anything to enough for everything.
        model.room = room * 16.0 * scenario.model.parameters() as f64;
        let ways = [0, 4, 9];
        let found = model.best(&ways, PlannerObjective::Throughput);
        let expected = brute_force(&model, &ways);
        prop_assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some((time, memory))) = (found, expected) {
            prop_assert!((found.seconds - model.fixed(&Rates::new(&model.scenario, &Factors::default())).get() - time as f64 / PICOS).abs() < 1e-15);
            prop_assert!((found.memory - memory as f64 * (model.room / UNITS).max(1.0)).abs() < 1.0);
        }
    }

    /// [osdp C4]: without latency a byte of state saves the same time in every operator, so that the time of
    /// the best plan falls in proportion to the memory, to within the largest operator.
    #[test]
    fn without_latency_time_falls_in_proportion_to_memory(sizes in prop::collection::vec((1..50_u32, 1..30_u64), 1..4), share in 0.0..1.0_f64) {
        let ring = Ring { ranks: 8, step: Seconds::ZERO, bandwidth: BytesPerSecond::new(1e9) };
        let classes: Vec<OperatorClass> =
            sizes.iter().map(|(copies, size)| two_way(&ring, *copies, (*size * 1_000_000) as f64)).collect();
        let all = |pick: fn(&OperatorClass) -> u64| classes.iter().map(|class| u64::from(class.copies) * pick(class)).sum::<u64>() as f64;
        let (slow, fast) = (all(|class| class.choices[1].time), all(|class| class.choices[0].time));
        let (small, large) = (all(|class| class.choices[1].memory), all(|class| class.choices[0].memory));
        let limit = small + share * (large - small);
        let Ok(Some(best)) = depth_first(&classes, limit as u64) else { return Ok(()) };
        let line = slow - share * (slow - fast);
        let largest = classes.iter().map(|class| class.choices[1].time - class.choices[0].time).max().unwrap_or(0);
        let time = best.time as f64;
        prop_assert!(time >= line * (1.0 - 1e-9) - 1.0 && time <= line + largest as f64 * 1.000_001 + 1.0, "{time}, {line}");
    }
}

/// [osdp C4]: latency is the same for small operators and large ones, so a byte saves more in the small one.
#[test]
fn latency_favours_small_operators() {
    let ring = Ring { ranks: 8, step: Seconds::new(1e-4), bandwidth: BytesPerSecond::new(1e9) };
    let classes = [two_way(&ring, 4, 1e6), two_way(&ring, 4, 4e6)];
    // All sharded take 4 x 2 MB + 4 x 8 MB; 56 MB more hold four small ones (14 MB each) or one large one (56 MB).
    let best = fastest(&classes, 40_000_000 + 56_000_000, &Cancel::default()).expect("fits");
    assert_eq!(best.counts, [[4, 0], [0, 4]]);
}
