//! Whole evaluations: closed forms, conservation, the trace against the summary.

mod adapters;
mod conservation;
mod experts;
mod frozen;
mod host;
mod idle;
mod kept;
mod kinds;
mod limits;
mod memory;
mod mtp;
mod operators;
mod pipelines;
mod post_training;
mod retimed;
mod rollouts;
mod stages;
mod transfers;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::bounds::fsdp::FsdpLimits;
use crate::hardware::{Host, MAX_LEVELS};
use crate::model::Model;
use crate::plan::{
    Accumulation, Ema, Extent, Extents, Format, Layers, Offload, Operator, Optimizer, Placement, Recompute, Reduction,
    Schedule, Secondary, Size,
};
use crate::presets::Library;
use crate::scenario::HostThreads;
use crate::stack::{AllReduceAlgorithm, Overlap, ProcessLauncher, Protocol, Runtime};
use crate::testing;
use crate::testing::random::{self, Draws};
use crate::units::{Bytes, BytesPerSecond, Seconds, Share};

fn evaluate(scenario: &Scenario) -> Summary {
    summary(scenario, &mut Workspace::default()).expect("a valid scenario")
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value} is not {expected}");
}

/// Per layer of the toy scenario with `batch` sequences: forward and backward seconds, and one ring pass.
fn hand_worked(batch: f64) -> (f64, f64, f64) {
    let parameters = 12.0 * 1024.0 * 1024.0;
    let weights = 2.0 * batch * 1024.0 * parameters / 100e12;
    let attention = 2.0 * batch * 1024.0 * 1024.0 * 1024.0 / 100e12;
    // 7/8 of the bytes through four ports of 10 GB/s.
    let pass = parameters * 2.0 * 7.0 / 8.0 / 40e9;
    (weights + attention, 2.0 * weights + 2.5 * attention, pass)
}

#[test]
fn mfu_counts_six_flop_per_weight_and_twelve_for_attention() {
    // 6 x 8 x 12 x 1024^2 + 12 x 8 x 1024 x 1024 flop per token [interface: MFU].
    let flop = 6.0 * 8.0 * 12.0 * 1_048_576.0 + 12.0 * 8.0 * 1024.0 * 1024.0;
    let mut scenario = testing::scenario();
    let summary = evaluate(&scenario);
    close(summary.mfu, flop * 1024.0 / summary.step_time.get() / 100e12);
    close(summary.hfu, summary.mfu);
    // Recompute in full makes 4 passes of 3 [fsdp A3]: HFU / MFU = 4/3.
    scenario.plan.recompute = Recompute::Full;
    let summary = evaluate(&scenario);
    close(summary.hfu / summary.mfu, 4.0 / 3.0);
    // Half of the layers kept, gamma = 0.5: (4 - gamma) / 3.
    scenario.plan.recompute = Recompute::Share(0.5);
    let summary = evaluate(&scenario);
    close(summary.hfu / summary.mfu, 3.5 / 3.0);
}

/// Any scenario that can be laid out: as [`random`] draws it, so that it shrinks with its numbers.
fn any_scenario() -> impl Strategy<Value = Scenario> {
    proptest::collection::vec(any::<u32>(), 400).prop_map(|numbers| random::scenario(&mut Draws::given(numbers)))
}

fn extents() -> impl Strategy<Value = Extent> {
    proptest::sample::select(vec![Extent::Device, Extent::Ranks(2), Extent::Node, Extent::System])
}

/// Any operators of the first layers, with shards of their own.
fn placements() -> impl Strategy<Value = Placement> {
    let operator = proptest::sample::select(vec![Operator::Attention, Operator::Mlp, Operator::Layer, Operator::All]);
    let one = || proptest::option::of(extents());
    let layers = proptest::option::of((0..3_u32, 0..3_u32));
    (operator, (one(), one(), one()), layers, proptest::sample::select(vec![1_u32, 1, 2, 4])).prop_map(
        |(operator, (weights, gradients, optimizer), layers, split)| Placement {
            layers: layers.map(|(first, more)| Layers { first, last: first + more }),
            operator,
            extents: Extents { weights, gradients, optimizer },
            split,
        },
    )
}

/// Any small scenario of layers that are alike and trained in full, half of them with operators with shards of their own.
fn scenarios() -> impl Strategy<Value = Scenario> {
    let apart = prop_oneof![Just(Vec::new()), proptest::collection::vec(placements(), 1..4)];
    (uniform_scenarios(), apart).prop_map(|(mut scenario, operators)| {
        let layers = scenario.model.layers;
        let there = |placement: &Placement| placement.layers.is_none_or(|range| range.last < layers);
        scenario.plan.operators = operators.into_iter().filter(there).collect();
        scenario
    })
}

/// Any valid small scenario whose operators are all sharded alike.
fn uniform_scenarios() -> impl Strategy<Value = Scenario> {
    let pick = extents;
    let mesh = (1..4_u32, prop_oneof![Just(1_u32), Just(2)], prop_oneof![Just(1_u32), Just(2)]);
    let batch = (1..4_u32, 1..6_u32, 1..20_u32);
    let overlap =
        proptest::sample::select(vec![Overlap::None, Overlap::Reductions, Overlap::OneStream, Overlap::Independent]);
    let recompute =
        proptest::sample::select(vec![Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Share(0.3)]);
    let reduction = proptest::sample::select(Reduction::ALL.to_vec());
    let offload = proptest::sample::select(Offload::ALL.to_vec());
    let software = (overlap, recompute, reduction, offload, 0..3_u32, any::<(bool, bool, bool, bool)>());
    let format = proptest::sample::select(vec![Format::Bf16, Format::Int8]);
    let secondary = proptest::option::of((pick(), format));
    ((pick(), pick(), pick(), secondary), mesh, batch, software).prop_map(
        |(sharded, (nodes, tensor, context), (micro_batch, accumulate, layers), software)| {
            let (weights, gradients, optimizer, secondary) = sharded;
            let (overlap, recompute, reduction, offload, prefetch, (reshard, during, vocab, tied)) = software;
            let mut scenario = testing::scenario();
            let model = Arc::make_mut(&mut scenario.model);
            model.layers = layers;
            (model.vocab, model.tied) = (if vocab { 5000 } else { 0 }, tied);
            let stack = Arc::make_mut(&mut scenario.stack);
            (stack.overlap, stack.reduce_during_backward) = (overlap, during);
            let calibration = Arc::make_mut(&mut scenario.calibration);
            calibration.software.optimizer_traffic = 1.0;
            calibration.element_wise.insert(stack.element_wise.clone(), 1.0);
            let runtime = Runtime { contention: 0.3, layer: Seconds::new(1e-4), ..Runtime::IDEAL };
            calibration.runtimes.insert(stack.runtime.clone(), runtime);
            let plan = &mut scenario.plan;
            plan.sharding = testing::sharding(weights, gradients, optimizer);
            plan.sharding.reshard_after_forward = reshard;
            plan.sharding.secondary = secondary.map(|(extent, format)| Secondary { extent, format });
            plan.size = Size::Nodes(1 << nodes);
            (plan.tensor, plan.context) = (tensor, context);
            (plan.micro_batch, plan.accumulate) = (micro_batch, accumulate);
            (plan.recompute, plan.reduction, plan.offload, plan.prefetch) = (recompute, reduction, offload, prefetch);
            scenario
        },
    )
}

/// The toy scenario with these operators with shards of their own.
fn apart(operators: impl IntoIterator<Item = (Operator, Extent, u32)>) -> Scenario {
    let mut scenario = testing::scenario();
    let placement = |(operator, extent, split): (Operator, Extent, u32)| Placement {
        layers: None,
        operator,
        extents: Extents { weights: Some(extent.clone()), gradients: Some(extent.clone()), optimizer: Some(extent) },
        split,
    };
    scenario.plan.operators = operators.into_iter().map(placement).collect();
    scenario
}

/// The same plan, all of whose operators an entry places; the plan's own sharding is another one that it overrules.
fn all_named(mut scenario: Scenario) -> Scenario {
    let sharding = scenario.plan.sharding.clone();
    scenario.plan.sharding.weights = Extent::Ranks(2);
    (scenario.plan.sharding.gradients, scenario.plan.sharding.optimizer) = (Extent::System, Extent::System);
    let extents = Extents {
        weights: Some(sharding.weights),
        gradients: Some(sharding.gradients),
        optimizer: Some(sharding.optimizer),
    };
    scenario.plan.operators = vec![Placement { layers: None, operator: Operator::All, extents, split: 1 }];
    scenario
}

/// Bytes out of the node in ring passes over a layer's `12 h^2` bf16 weights, 7/8 of them a device's, two
/// of eight ring edges.
fn passes(scenario: &Scenario) -> f64 {
    let pass = 8.0 * 12.0 * 1_048_576.0 * 2.0 * 7.0 / 8.0 * 2.0 / 8.0;
    evaluate(scenario).traffic[1].bytes_per_device.get() / pass
}

/// Blocks on one device per pipeline rank, with transfers that take no time.
fn pipeline(schedule: Schedule, ranks: u32, stages: u32, micro_batches: u32) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::model(ranks * stages, 512));
    scenario.plan.sharding = testing::ddp();
    scenario.plan.size = Size::Devices(ranks);
    if ranks > 4 {
        scenario.plan.size = Size::Nodes(ranks.div_ceil(4));
    }
    let plan = &mut scenario.plan;
    plan.recompute = Recompute::Full;
    (plan.pipeline, plan.stages_per_rank, plan.accumulate, plan.schedule) = (ranks, stages, micro_batches, schedule);
    scenario
}

/// Forward, recompute and backward of one layer for one micro-batch.
fn layer_time() -> f64 {
    let mut one = testing::scenario();
    one.model = Arc::new(testing::model(1, 512));
    (one.plan.sharding, one.plan.size) = (testing::ddp(), Size::Devices(1));
    one.plan.recompute = Recompute::Full;
    evaluate(&one).step_time.get()
}

/// The clock counts 2^64 ps, 213 days: a step that could come near is refused, not counted round.
#[test]
fn a_step_beyond_the_clock_is_refused() {
    let mut scenario = testing::scenario();
    let step = |scenario: &Scenario| summary(scenario, &mut Workspace::default());
    let alone = step(&scenario).expect("a valid scenario").step_time.get();
    // As many micro-batches as keep the step near 20 days, less than an eighth of 213; then ten times as many.
    scenario.plan.micro_batch = 1 << 16;
    scenario.plan.accumulate = (20.0 * 86_400.0 / (alone * 65_536.0)) as u32;
    let long = step(&scenario).expect("a long step").step_time.get();
    assert!((10.0..26.0).contains(&(long / 86_400.0)), "{long} s");
    scenario.plan.accumulate *= 10;
    let refused = step(&scenario).expect_err("too long");
    assert!(refused[0].what.contains("days") && refused[0].fix.contains("accumulate"), "{}", refused[0]);
}

/// A scale for every zero elements would be infinitely many bytes.
#[test]
fn a_block_of_no_elements_is_refused() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding.wire.block = 0;
    let refused = summary(&scenario, &mut Workspace::default()).expect_err("no block");
    assert_eq!(refused[0].field, "plan.sharding.wire.block");
}

/// Any pipeline or layered plan.
fn staged() -> impl Strategy<Value = Scenario> {
    let shape = (prop_oneof![Just(1_u32), Just(2), Just(4)], 1..4_u32, 1..8_u32, 0..5_u32, any::<bool>());
    let schedule = proptest::sample::select(Schedule::ALL.to_vec());
    (scenarios(), shape, schedule).prop_map(|(mut scenario, (ranks, stages, groups, layers, layered), schedule)| {
        let model = Arc::make_mut(&mut scenario.model);
        model.layers = ranks * stages + layers;
        scenario.plan.size = Size::Nodes(4);
        scenario.plan.accumulation = if layered { Accumulation::Layered } else { Accumulation::Standard };
        let plan = &mut scenario.plan;
        (plan.pipeline, plan.stages_per_rank, plan.accumulate, plan.schedule) =
            (ranks, stages, ranks * groups, schedule);
        scenario
    })
}
