//! Bounds worked by hand, and steps whose operators have shards of their own; both searches test that no plan of theirs
//! is below its bound.

use proptest::prelude::*;

use super::*;
use crate::evaluate::{Workspace, summary};
use crate::plan::{Accumulation, Extent, Extents, GlobalBatch, Layers, Operator, Placement, Schedule, Size};
use crate::program::transfer_counts_at_ends;
use crate::testing;
use crate::units::{Bytes, Share};

/// A unit or stage that computes so many seconds in either direction.
fn part(forward: f64, backward: f64) -> StageCost {
    let compute = PerDirection { forward, backward }.map(Seconds::new);
    let computing = compute.forward + compute.backward;
    StageCost { compute, until_next: compute, computing, ..StageCost::default() }
}

/// Gathers of so many seconds.
fn gathers(forward: f64, backward: f64) -> PerDirection<Transfer> {
    PerDirection { forward, backward }.map(|time| Transfer { time: Seconds::new(time), ..Transfer::default() })
}

/// A toy plan, a stage on each of so many ranks; and the terms of its step, which are these parts.
fn plan(ranks: u32, schedule: Schedule, send: f64, parts: &[StageCost]) -> (Scenario, Layout, StepTerms) {
    let mut scenario = testing::scenario();
    (scenario.plan.size, scenario.plan.pipeline, scenario.plan.schedule) = (Size::Nodes(ranks), ranks, schedule);
    let layout = scenario.layout().expect("a plan");
    let mut terms = StepTerms::new(&scenario, &layout);
    (terms.parts, terms.order) = (parts.to_vec(), (0..parts.len() as u16).collect());
    (terms.send, terms.buffered) = (Seconds::new(send), false);
    (scenario, layout, terms)
}

#[track_caller]
fn judge((scenario, layout, terms): &(Scenario, Layout, StepTerms), micro_batches: u32, expected: f64) {
    let bound = StepBound::new(scenario, layout, terms);
    let times = [bound.time(micro_batches, &EndTransferCounts::default()), bound.envelope().time(micro_batches)];
    for time in times {
        assert!((time.get() / expected - 1.0).abs() < 1e-5, "{time} instead of {expected} s");
    }
}

/// Stages of 1 + 2 and of 3 + 4 s, sends of 0.5 s. The second rank waits for a forward and a send, computes 7 s for each
/// of 5 micro-batches, and its last gradient takes a send and a backward: 1.5 + 35 + 2.5. The first rank has but 15 s.
#[test]
fn the_busiest_rank_of_1f1b_waits_for_those_before_it() {
    let stages = [part(1.0, 2.0), part(3.0, 4.0)];
    judge(&plan(2, Schedule::OneForwardOneBackward, 0.5, &stages), 5, 39.0);
}

/// Stages of 1 + 2 s and sends of 3 s: two micro-batches take a round trip of 12 s, of which 10 need five. The first one
/// passes both ranks forward, the last one both backward, and of these 12 s 3 are the last rank's own: 12 + 3 + 4 x 12.
#[test]
fn slow_sends_hold_1f1b_up() {
    judge(&plan(2, Schedule::OneForwardOneBackward, 3.0, &[part(1.0, 2.0); 2]), 10, 63.0);
}

/// Two ranks of two stages of 1 + 2 s, sends of 1 s, 4 micro-batches. The first micro-batch has passed all four stages after
/// 4 + 3 s, when the last rank has passed three forwards; the last one passes them back in 8 + 3 s, of which the rank
/// computes for three backwards. Between lie the other 5 forwards and 5 backwards of its 8: 7 + 15 + 11.
#[test]
fn interleaved_stages_wait_for_their_sends() {
    let mut job = plan(2, Schedule::Interleaved, 1.0, &[part(1.0, 2.0); 4]);
    job.0.plan.stages_per_rank = 2;
    judge(&job, 4, 33.0);
}

/// Forwards of 3 and 1 s, backwards of 2 and 4 s, 5 micro-batches. All forwards pass before all backwards: 5 x 3 + 1, and
/// 5 x 4 + 2. Under 1F1B, which may overlap them, no rank needs more than the second: 3 + 5 x 5 + 2.
#[test]
fn forwards_and_backwards_of_gpipe_add_up() {
    let stages = [part(3.0, 2.0), part(1.0, 4.0)];
    judge(&plan(2, Schedule::GPipe, 0.0, &stages), 5, 38.0);
    judge(&plan(2, Schedule::OneForwardOneBackward, 0.0, &stages), 5, 30.0);
}

/// Three layers of 2 + 4 s, whose weights are gathered for forward alone, in 1, 5 and 9 s, each while the layer before
/// computes. A forward takes the gathers of all layers but its first, and the last layer: 5 + 9 + 2, or 5 + 1 + 2 where
/// the heaviest layer comes first. Three micro-batches begin with the first gather: 1 + 3 (16 + 12), and 9 + 3 (8 + 12).
#[test]
fn layers_that_differ_are_gathered_one_by_one() {
    let layers = [1.0, 5.0, 9.0].map(|gather| StageCost { gather: gathers(gather, 0.0), ..part(2.0, 4.0) });
    judge(&plan(1, Schedule::USUAL, 0.0, &layers), 3, 85.0);
    let [light, middle, heavy] = layers;
    judge(&plan(1, Schedule::USUAL, 0.0, &[heavy, middle, light]), 3, 69.0);
}

/// The same layers where gathers stop compute: each micro-batch takes 18 s of compute and 15 s of gathers.
#[test]
fn gathers_that_stop_compute_pass_in_line_with_it() {
    let layers = [1.0, 5.0, 9.0].map(|gather| StageCost { gather: gathers(gather, 0.0), ..part(2.0, 4.0) });
    let mut job = plan(1, Schedule::USUAL, 0.0, &layers);
    std::sync::Arc::make_mut(&mut job.0.stack).overlap = Overlap::None;
    judge(&job, 3, 99.0);
}

/// Two layers of 10 s, of which 2 s are exchanges, with gathers of 3 s in either direction that take half of the device.
/// All but the first gather are between the first pass and the last, 12 m - 3 s of m micro-batches, and 4 m s of them pass
/// while nothing computes: 3 + 20 m + (8 m - 3) / 2.
#[test]
fn a_stream_hides_no_more_than_passes_while_nothing_computes() {
    let layer = StageCost { gather: gathers(3.0, 3.0), computing: Seconds::new(8.0), ..part(5.0, 5.0) };
    let mut job = plan(1, Schedule::USUAL, 0.0, &[layer; 2]);
    (job.0.plan.prefetch, job.2.contention) = (0, Share::new(0.5));
    judge(&job, 4, 97.5);
}

/// Stages that keep 3 GB of a micro-batch, work in 1 GB and have a state of 2 GB. Of 5 micro-batches the first of two
/// ranks has passed two forward when it begins a backward under 1F1B, and all of them under `GPipe`.
#[test]
fn a_rank_holds_the_micro_batches_in_flight() {
    let giga = |count: f64| Bytes::new(count * 1e9);
    let stage = StageCost { kept: giga(3.0), working: giga(1.0), state: giga(2.0), ..part(1.0, 2.0) };
    for (schedule, expected) in [(Schedule::OneForwardOneBackward, 9.0), (Schedule::GPipe, 18.0)] {
        let (scenario, layout, terms) = plan(2, schedule, 0.0, &[stage; 2]);
        let bound = StepBound::new(&scenario, &layout, &terms);
        let memory: Vec<Bytes> = bound.memory(0).map(|memory| memory.at(5)).collect();
        assert_eq!(memory, [giga(expected)], "{schedule}");
        assert_eq!(bound.envelope().memory(5), giga(expected), "{schedule}");
    }
}

/// Two ranks of two stages that keep 3 and 5 GB of a micro-batch. The first rank passes its stages as 0 0 1 1 0 before its
/// first backward, of stage 1: 3 x 3 + 2 x 5 = 19 GB. Beside them are 1 GB to work in, states of 2 GB each, both buffers of
/// 1 GB for weights, and one of 4 GB for gradients: 19 + 1 + 4 + 2 + 4 = 30. One forward later, 0 0 1 1 0 0, and two
/// backwards of stage 1, backward turns to stage 0 with both buffers for gradients: 22 - 10 + 4 + 2 + 8 = 26. Two
/// micro-batches are all forward before that: 16 + 1 + 4 + 2 + 4 = 27.
///
/// Where exchanges of experts hide in combined passes one forward more is before them: 0 0 1 1 0 0 keep 22, and 33 in all; 0 0 1 1 0 0 1
/// less two of stage 1 keep 17, and 17 + 4 + 2 + 8 = 31.
#[test]
fn an_interleaved_rank_holds_what_its_stages_have_passed() {
    let giga = |count: f64| Bytes::new(count * 1e9);
    let [working, state, gathered, gradients] = [1.0, 2.0, 1.0, 4.0].map(giga);
    let stage = |kept| StageCost { kept: giga(kept), working, state, gathered, gradients, ..part(1.0, 2.0) };
    let parts = [3.0, 3.0, 5.0, 5.0].map(stage);
    let (mut scenario, layout, terms) = plan(2, Schedule::Interleaved, 0.0, &parts);
    scenario.plan.stages_per_rank = 2;
    let bound = StepBound::new(&scenario, &layout, &terms);
    let memory = |micro_batches| bound.memory(0).map(|memory| memory.at(micro_batches)).collect::<Vec<_>>();
    assert_eq!(memory(4), [30.0, 26.0].map(giga));
    assert_eq!(memory(2)[0], giga(27.0));
    (scenario.plan.experts.ranks, scenario.plan.experts.overlap) = (2, true);
    let bound = StepBound::new(&scenario, &layout, &terms);
    assert_eq!(bound.memory(0).map(|memory| memory.at(4)).collect::<Vec<_>>(), [33.0, 31.0].map(giga));
}

/// Exchanges of experts that hide in combined passes: no step is below its bound, nor its memory.
#[test]
fn no_step_is_below_its_bound_where_passes_are_combined() {
    for (pipeline, stages, groups) in [(2, 2, 1), (2, 3, 2), (2, 2, 5), (4, 3, 3), (4, 2, 2)] {
        let mut scenario = testing::scenario();
        let blocks = crate::model::Model { vocab: 20_000, ..testing::of_kinds(testing::model(12, 1024), 1) };
        scenario.model = std::sync::Arc::new(blocks);
        let plan = &mut scenario.plan;
        (plan.size, plan.pipeline, plan.accumulate) = (Size::Nodes(4), pipeline, pipeline * groups);
        (plan.schedule, plan.stages_per_rank, plan.global_batch) = (Schedule::Interleaved, stages, GlobalBatch::Free);
        (plan.experts.ranks, plan.experts.overlap, plan.sharding) = (4, true, testing::ddp());
        let layout = scenario.layout().expect("a plan");
        let terms = StepTerms::new(&scenario, &layout);
        let bound = StepBound::new(&scenario, &layout, &terms);
        let found = summary(&scenario, &mut Workspace::default()).expect("a step");
        let time = bound.time(scenario.plan.accumulate, &transfer_counts_at_ends(&scenario, &layout));
        let memory =
            (0..bound.ranks()).flat_map(|rank| bound.memory(rank)).map(|memory| memory.at(scenario.plan.accumulate));
        let memory = memory.fold(Bytes::ZERO, Bytes::max) * ROUNDING;
        let of = format!("pp {pipeline} x {stages}, {groups} groups");
        assert!(time <= found.step_time, "{of}: {time} is above {}", found.step_time);
        assert!(memory <= found.memory.peak, "{of}: {memory} is above {}", found.memory.peak);
        assert!(memory > found.memory.peak * 0.8, "{of}: {memory} says little of {}", found.memory.peak);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Operators with shards of their own make layers differ.
    #[test]
    fn no_step_is_below_its_bound_where_operators_lie_apart(
        (layers, kinds, nodes, accumulate) in (3_u32..9, 0..testing::KINDS, 1_u32..4, 1_u32..7),
        (pipeline, order, stages) in (0_u32..3, prop::sample::select(Schedule::ALL.to_vec()), 1_u32..3),
        (layered, prefetch, bandwidth) in (any::<bool>(), 0_u32..3, 0.02..2.0),
        (own, apart) in (0..3_usize, 0..3_usize),
        (operator, first, last) in (0..3_usize, 0_u32..9, 0_u32..9),
    ) {
        let extents = [Extent::Device, Extent::Node, Extent::System];
        let mut scenario = testing::scenario();
        scenario.model = std::sync::Arc::new(crate::model::Model {
            vocab: 20_000,
            ..testing::of_kinds(testing::model(layers, 1024), kinds)
        });
        let plan = &mut scenario.plan;
        (plan.size, plan.pipeline, plan.accumulate) = (Size::Nodes(nodes), 1 << pipeline, accumulate);
        (plan.schedule, plan.stages_per_rank, plan.global_batch) = (order, stages, GlobalBatch::Free);
        (plan.prefetch, plan.bandwidth_factor) = (prefetch, bandwidth);
        if layered {
            plan.accumulation = Accumulation::Layered;
        }
        plan.sharding = testing::sharding(extents[own].clone(), extents[own].clone(), extents[own].clone());
        let one = Some(extents[apart].clone());
        plan.operators = vec![Placement {
            layers: Some(Layers { first: first.min(last).min(layers - 1), last: last.min(layers - 1) }),
            operator: [Operator::Attention, Operator::Mlp, Operator::Layer][operator],
            extents: Extents { weights: one.clone(), gradients: one.clone(), optimizer: one },
            split: 1,
        }];
        let (Ok(layout), Ok(summary)) = (scenario.layout(), summary(&scenario, &mut Workspace::default())) else {
            return Ok(());
        };
        let terms = StepTerms::new(&scenario, &layout);
        let bound = StepBound::new(&scenario, &layout, &terms);
        let time = bound.time(accumulate, &transfer_counts_at_ends(&scenario, &layout));
        prop_assert!(time <= summary.step_time, "{time} > {} of {:?}", summary.step_time, scenario.plan);
        for memory in (0..bound.ranks()).flat_map(|rank| bound.memory(rank)) {
            let memory = reserved(&scenario, memory.at(accumulate));
            prop_assert!(memory <= summary.memory.peak, "{memory} > {} of {:?}", summary.memory.peak, scenario.plan);
        }
    }
}
