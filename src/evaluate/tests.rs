//! Whole evaluations: closed forms, conservation, the trace against the summary.

mod host;
mod idle;
mod stages;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::bounds::fsdp::Limits;
use crate::hardware::MAX_LEVELS;
use crate::model::Model;
use crate::plan::{
    Accumulation, Extent, Extents, Format, Layers, Offload, Operator, Placement, Recompute, Reduction, Schedule,
    Secondary, Size,
};
use crate::presets::Library;
use crate::stack::{Overlap, Runtime};
use crate::testing;
use crate::units::BytesPerSecond;

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
fn hidden_transfers_leave_the_first_gather_and_the_last_reduction() {
    let mut scenario = testing::scenario();
    scenario.plan.micro_batch = 16;
    let (forward, backward, pass) = hand_worked(16.0);
    assert!(pass < forward && 2.0 * pass < backward, "compute hides everything here");
    let summary = evaluate(&scenario);
    close(summary.step_time.get(), pass + 8.0 * (forward + backward) + pass);
    close(summary.time.exposed.get(), 2.0 * pass);
    close(summary.time.compute.get(), 8.0 * (forward + backward));
    assert_eq!(summary.bottleneck, Resource::Compute);
}

#[test]
fn a_slow_wire_sets_the_pace_of_forward() {
    // One sequence: a gather takes longer than the layer's forward, and so do gather and reduction
    // together (on one wire, side by side) than its backward. Forward: 8 gathers, one more for the
    // backward of the last layer. Backward: gather and reduction share the wire, 2 passes per layer,
    // from the second layer on; its first gather runs alone beside the first backward.
    let (forward, backward, pass) = hand_worked(1.0);
    assert!(pass > forward && 2.0 * pass > backward);
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::model(3, 1024));
    // Gathers 0, 1, 2 and 2 again: 4 passes; backward 2 hides gather 1 (pass < backward);
    // then reduction 2 with gather 0: 2 passes, beside backward 1; then reduction 1 beside backward 0, and
    // reduction 0 alone.
    assert!(pass < backward);
    let expected = 4.0 * pass + backward + 2.0 * pass + backward.max(pass) + pass;
    let summary = evaluate(&scenario);
    close(summary.step_time.get(), expected);
}

#[test]
fn without_overlap_everything_adds_up() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.stack).overlap = Overlap::None;
    let (forward, backward, pass) = hand_worked(1.0);
    let summary = evaluate(&scenario);
    close(summary.step_time.get(), 8.0 * (forward + backward + 3.0 * pass));
    close(summary.time.exposed.get(), 8.0 * 3.0 * pass);
    close(summary.phases.forward.get(), 8.0 * (forward + pass));
    close(summary.phases.backward.get(), 8.0 * (backward + 2.0 * pass));
    assert_eq!(summary.bottleneck, Resource::Level(1));
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

#[test]
fn memory_is_state_checkpoints_and_what_backward_works_in() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Full;
    let memory = evaluate(&scenario).memory;
    let parameters = 8.0 * 12.0 * 1_048_576.0;
    close(memory.parts.weights.get(), 2.0 * parameters / 8.0);
    close(memory.parts.optimizer.get(), 12.0 * parameters / 8.0);
    // At the peak, in the backward of the last layer but one, while the last one's gradients still travel:
    // 7 checkpoints of 2 h bytes per token, the layer's other 30 h bytes computed again [fsdp A2: 34 h
    // less two mask bytes and the checkpoint], and gradients of width h + 4 h: 10 h bytes.
    close(memory.parts.activations.get(), (7.0 * 2.0 + 30.0 + 10.0) * 1024.0 * 1024.0);
    // Two gathered layers, and two layers' gradients beside the shard.
    close(memory.parts.gathered.get(), 2.0 * 2.0 * parameters / 8.0);
    close(memory.parts.gradients.get(), 2.0 * parameters / 8.0 + 2.0 * 2.0 * parameters / 8.0);
    assert_eq!((memory.during.kind, memory.during.layer), (Kind::Backward, 6));
}

#[test]
fn the_host_keeps_what_is_offloaded() {
    let mut scenario = testing::scenario();
    let before = evaluate(&scenario);
    scenario.plan.offload = Offload::Optimizer;
    let optimizer = evaluate(&scenario);
    assert_eq!(optimizer.memory.parts.optimizer, Bytes::ZERO);
    // The gradients' shard goes out and the weights' comes back: 2 x 2 P/8 bytes at 10 GB/s.
    let copies = 2.0 * 2.0 * 12.0 * 1_048_576.0 / 10e9;
    close((optimizer.step_time - before.step_time).get(), copies);
    scenario.plan.offload = Offload::All;
    scenario.plan.recompute = Recompute::Full;
    let all = evaluate(&scenario);
    assert_eq!((all.memory.parts.weights, all.memory.parts.optimizer), (Bytes::ZERO, Bytes::ZERO));
    assert!(all.memory.peak < optimizer.memory.peak);
}

#[test]
fn the_second_copy_lives_between_forward_and_backward() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Bf16 });
    // hpZ over 4 ranks: 2 P / 4 bytes at the turn from forward to backward [frontier D6].
    let memory = evaluate(&scenario).memory;
    close(memory.parts.secondary_weights.get(), 2.0 * 8.0 * 12.0 * 1_048_576.0 / 4.0);
}

fn extents() -> impl Strategy<Value = Extent> {
    proptest::sample::select(vec![Extent::Device, Extent::Ranks(2), Extent::Node, Extent::System])
}

/// Any operators of the first layers, placed apart.
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

/// Any valid small scenario, half of them with operators placed apart.
fn scenarios() -> impl Strategy<Value = Scenario> {
    let apart = prop_oneof![Just(Vec::new()), proptest::collection::vec(placements(), 1..4)];
    (uniform_scenarios(), apart).prop_map(|(mut scenario, operators)| {
        let layers = scenario.model.layers;
        let there = |placement: &Placement| placement.layers.is_none_or(|range| range.last < layers);
        scenario.plan.operators = operators.into_iter().filter(there).collect();
        scenario
    })
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

/// Any valid small scenario whose operators are all placed alike.
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

/// The toy scenario with these operators placed apart.
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

/// Bytes out of the node in ring passes over a layer's `12 h^2` bf16 weights, 7/8 of them a device's, two
/// of eight ring edges.
fn passes(scenario: &Scenario) -> f64 {
    let pass = 8.0 * 12.0 * 1_048_576.0 * 2.0 * 7.0 / 8.0 * 2.0 / 8.0;
    evaluate(scenario).traffic[1].bytes_per_device.get() / pass
}

/// Attention is a third of a layer's weights: replicated it passes twice, sharded three times.
#[test]
fn each_operator_has_its_own_passes() {
    let replicated = |operator| apart([(operator, Extent::Device, 1)]);
    close(passes(&replicated(Operator::Attention)), (2.0 + 2.0 * 3.0) / 3.0);
    close(passes(&replicated(Operator::Mlp)), (3.0 + 2.0 * 2.0) / 3.0);
    close(passes(&replicated(Operator::Layer)), 2.0);
    let mut first_half = replicated(Operator::Layer);
    first_half.plan.operators[0].layers = Some(Layers { first: 0, last: 3 });
    close(passes(&first_half), 2.5);
}

/// The first half of the layers is sharded and slow to gather; the copies of the second half, which is on each device,
/// come sooner and let none of the first begin.
#[test]
fn no_layer_begins_before_its_own_gather() {
    let mut scenario = apart([(Operator::Layer, Extent::Device, 1)]);
    scenario.plan.operators[0].layers = Some(Layers { first: 4, last: 7 });
    (scenario.plan.offload, scenario.plan.prefetch) = (Offload::State, 2);
    Arc::make_mut(&mut scenario.cluster).levels[1].bandwidth = BytesPerSecond::new(1e8);
    let (_, trace) = traced(&scenario, &mut Workspace::default()).expect("a valid scenario");
    let first = |lane: Lane, layer: u32| {
        let here = |span: &&Span| span.activity.part == Part::Layer && span.activity.layer == layer;
        *trace.spans_on(0, lane).iter().find(here).expect("each layer is visited")
    };
    for layer in 0..4 {
        let (gather, compute) = (first(Lane::Gather, layer), first(Lane::Compute, layer));
        assert!(compute.start >= gather.end, "layer {layer}: {} before {}", compute.start, gather.end);
    }
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
    assert!(refused[0].what.contains("days") && refused[0].mend.contains("accumulate"), "{}", refused[0]);
}

/// A scale for every zero elements would be infinitely many bytes.
#[test]
fn a_block_of_no_elements_is_refused() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding.wire.block = 0;
    let refused = summary(&scenario, &mut Workspace::default()).expect_err("no block");
    assert_eq!(refused[0].field, "plan.sharding.wire.block");
}

/// However far ahead the copies may begin, a checkpoint is read from the host after it was written there.
#[test]
fn no_checkpoint_is_read_before_it_is_written() {
    for prefetch in [1, 3, 5, 16] {
        let mut scenario = testing::scenario();
        scenario.plan.recompute = Recompute::Full;
        (scenario.plan.offload, scenario.plan.prefetch, scenario.plan.accumulate) = (Offload::Checkpoints, prefetch, 2);
        Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e9);
        let (_, trace) = traced(&scenario, &mut Workspace::default()).expect("a valid scenario");
        let copies = |lane: Lane| trace.spans_on(0, lane).iter().map(|span| (span.activity, span.start, span.end));
        let mut read = 0;
        for (activity, start, _) in copies(Lane::HostIn) {
            let same = |(other, ..): &(Activity, _, _)| {
                (other.layer, other.micro_batch) == (activity.layer, activity.micro_batch)
            };
            let (.., written) = copies(Lane::HostOut).find(same).expect("each checkpoint is written");
            assert!(start >= written, "prefetch {prefetch}: {activity:?} read at {start}, written at {written}");
            read += 1;
        }
        assert!(read > 0, "nothing was read");
    }
}

/// [osdp C3]: what is computed again is gathered once more, unless backward follows on the same weights, as
/// it does for an MLP in one piece, and for a layer in one unit.
#[test]
fn units_inside_a_recomputed_layer_are_gathered_again() {
    let with = |operators: Vec<(Operator, Extent, u32)>| {
        let mut scenario = apart(operators);
        scenario.plan.recompute = Recompute::Full;
        passes(&scenario)
    };
    close(with(vec![]), 3.0);
    // The MLP replicated: the attention's third passes four times.
    close(with(vec![(Operator::Mlp, Extent::Device, 1)]), (4.0 + 2.0 * 2.0) / 3.0);
    close(with(vec![(Operator::Attention, Extent::Device, 1)]), (2.0 + 2.0 * 3.0) / 3.0);
    close(with(vec![(Operator::Layer, Extent::System, 2)]), 4.0);
}

/// [osdp C5]: slices move the same bytes and hold fewer of them.
#[test]
fn slices_hold_less_and_move_the_same() {
    let with = |slices: u32| {
        let mut scenario = apart([(Operator::Layer, Extent::System, slices)]);
        scenario.plan.prefetch = 0;
        scenario
    };
    for slices in [2, 4, 8] {
        close(passes(&with(slices)), 3.0);
    }
    // One slice of the MLP, 2/3 of a layer's weights, at a time; its gradients beside the shard of all.
    let layer = 12.0 * 1_048_576.0 * 2.0;
    for slices in [2_u32, 4] {
        let memory = evaluate(&with(slices)).memory.parts;
        close(memory.gathered.get(), layer * 2.0 / 3.0 / f64::from(slices));
    }
}

/// Every slice's collectives pay their latency: 7 hops of 1 us each.
#[test]
fn slices_pay_latency() {
    let time = |slices: u32| {
        let mut scenario = apart([(Operator::Layer, Extent::System, slices)]);
        let calibration = Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("there");
        (calibration.latency, calibration.latency_between) = (1.0, 1.0);
        let stack = Arc::make_mut(&mut scenario.stack);
        stack.overlap = Overlap::None;
        // The additions of slices are too fast to count.
        Arc::make_mut(&mut scenario.cluster).device.memory_bandwidth = BytesPerSecond::new(1e30);
        evaluate(&scenario).step_time.get()
    };
    // Each of 8 layers has 2 x 4 slices instead of 2 x 2, with three passes each.
    let more = time(4) - time(2);
    assert!((more / (8.0 * 4.0 * 3.0 * 7e-6) - 1.0).abs() < 1e-3, "{more}");
}

/// `K P / N` for what is sharded, `K P` for what is not [osdp C3]: attention 1/3 of the weights, 16 bytes.
#[test]
fn each_operator_has_its_own_state() {
    let memory = evaluate(&apart([(Operator::Attention, Extent::Device, 1)])).memory.parts;
    let parameters = 8.0 * 12.0 * 1_048_576.0;
    let share = (1.0 + 2.0 / 8.0) / 3.0;
    close(memory.weights.get(), 2.0 * parameters * share);
    close(memory.optimizer.get(), 12.0 * parameters * share);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_sum_and_bounds_hold(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        let Ok((summary, trace)) = traced(&scenario, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let TimeParts { compute, communication, exposed, bubble, optimizer, other } = summary.time;
        let step = summary.step_time.get();
        let parts = compute + exposed + bubble + optimizer + other;
        prop_assert!((parts.get() - step).abs() <= 1e-9 * step, "{parts} is not {step}");
        prop_assert!(exposed <= communication);
        prop_assert!((summary.memory.parts.total() - summary.memory.peak).get().abs() < 1.0);
        for (name, part) in summary.memory.parts.named() {
            prop_assert!(part.get() >= 0.0, "{name} is {part}");
        }
        // What the trace shows is what the summary counts.
        for lane in Lane::ALL {
            let busy: f64 = trace.spans.iter().filter(|span| span.lane == lane).map(|span| span.alone.get()).sum();
            prop_assert!(busy <= step * (1.0 + 1e-9));
        }
        let end = trace.spans.iter().map(|span| span.end).fold(Seconds::ZERO, Seconds::max);
        prop_assert!((end - summary.step_time).get().abs() < 1e-11);
        let left = trace.memory.last().map_or(0.0, |point| point.in_use.get());
        let most = trace.memory.iter().map(|point| point.in_use.get()).fold(0.0, f64::max);
        prop_assert!(left <= most);
        if !trace.memory.is_empty() {
            prop_assert!((most - summary.memory.peak.get()).abs() < 16.0, "the trace's peak is the summary's");
        }
        // All that was taken during the step was given back by its end.
        let kept = scenario.calibration.allocator.reserve + summary.memory.parts.weights + summary.memory.parts.optimizer;
        prop_assert!(left >= kept.get() - 16.0);
    }

    #[test]
    fn operators_placed_as_the_rest_change_nothing(scenario in uniform_scenarios()) {
        let mut workspace = Workspace::default();
        let uniform = super::summary(&scenario, &mut workspace);
        let apart = all_named(scenario);
        if let Ok(uniform) = uniform {
            prop_assert_eq!(Ok(uniform), super::summary(&apart, &mut workspace));
        }
    }

    #[test]
    fn folded_equals_unfolded(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok(folded) = super::summary(&scenario, &mut workspace) {
            let unfolded = summary::run(&scenario, &Factors::default(), &mut workspace, false);
            prop_assert_eq!(Ok(folded), unfolded);
        }
    }

    #[test]
    fn the_step_ends_with_the_memory_it_began_with(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok((_, trace)) = traced(&scenario, &mut workspace) {
            let first = workspace.state_bytes().sum::<f64>();
            let last = trace.memory.last().map_or(first, |point| point.in_use.get());
            prop_assert!((last - first).abs() < 1.0, "{first} at the start, {last} at the end");
        }
    }
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

/// Step over the time that the busiest rank computes, and the most stages' checkpoints on rank 0.
fn makespan(scenario: &Scenario) -> (f64, f64) {
    let mut workspace = Workspace::default();
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let summary = summary_with(scenario, &free, &mut workspace).expect("a valid scenario");
    let layers = f64::from(scenario.plan.stages_per_rank);
    let ideal = f64::from(scenario.plan.accumulate) * layers * layer_time();
    let memory = stages(scenario, &workspace)[0];
    // Less what backward works in: 30 h + 10 h bytes per token beside the checkpoints of 2 h bytes.
    let token = 1024.0 * 512.0;
    (summary.step_time.get() / ideal, (memory.parts.activations.get() - 40.0 * token) / (2.0 * token))
}

/// [layered B8]: `T = (M + P - 1) K (tf + tb)` contiguous, `((K-1) max(M, P) + M + P - 1)(tf + tb)`
/// breadth first, exact to the rounding of a layer to picoseconds.
#[test]
fn the_bubble_laws() {
    let mut workspace = Workspace::default();
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let layer = layer_time();
    for (ranks, stages) in (2..=8).flat_map(|ranks| (1..=32).map(move |stages| (ranks, stages))) {
        let mut scenario = pipeline(Schedule::GPipe, ranks, stages, 1);
        scenario.plan.size = Size::Nodes(ranks);
        let (p, k) = (f64::from(ranks), f64::from(stages));
        for micro_batches in 1..=16 {
            let m = f64::from(micro_batches);
            scenario.plan.accumulate = micro_batches;
            let mut holds = |schedule: Schedule, slots: f64| {
                scenario.plan.schedule = schedule;
                let summary = summary_with(&scenario, &free, &mut workspace).expect("a valid scenario");
                close(summary.step_time.get() / layer, slots);
            };
            holds(Schedule::GPipe, (m + p - 1.0) * k);
            holds(Schedule::OneForwardOneBackward, (m + p - 1.0) * k);
            holds(Schedule::BreadthFirst, (k - 1.0) * m.max(p) + m + p - 1.0);
            // Depth first takes as many micro-batches at once as there are ranks [layered C3].
            if micro_batches % ranks == 0 {
                holds(Schedule::Interleaved, m * k + p - 1.0);
            }
        }
    }
}

/// A trace too long to be listed: 4 ranks, one layer each, 20,000 micro-batches, more than 160,000 tasks.
#[test]
fn a_folded_trace_keeps_time_and_order() {
    let scenario = pipeline(Schedule::GPipe, 4, 1, 20_000);
    let (summary, trace) = traced(&scenario, &mut Workspace::default()).expect("a valid scenario");
    assert!(!trace.folded.is_empty() && trace.spans.len() < 20_000, "{} spans", trace.spans.len());
    let last = (0..trace.ranks()).max_by(|a, b| {
        let end = |rank: u32| trace.spans_on(rank, Lane::Compute).last().map_or(Seconds::ZERO, |span| span.end);
        end(*a).get().total_cmp(&end(*b).get())
    });
    let bubble = trace.still(last.expect("a rank"), IdleCause::Bubble);
    assert!((bubble - summary.time.bubble).get().abs() < 1e-6, "{bubble} is not {}", summary.time.bubble);
    for rank in 0..trace.ranks() {
        for lane in Lane::ALL {
            for pair in trace.spans_on(rank, lane).windows(2) {
                assert!(pair[0].start <= pair[0].end && pair[0].end <= pair[1].start, "{:?} {:?}", pair[0], pair[1]);
            }
        }
    }
}

/// [layered C4], the table: makespan over ideal and the most checkpoints on rank 0, for P, K, M.
#[test]
fn the_table_of_schedules() {
    let rows = [
        ((4, 4, 8), (1.3750, 32.0), (1.3750, 16.0), (1.09375, 19.0), (1.09375, 32.0)),
        ((4, 2, 8), (1.3750, 16.0), (1.3750, 8.0), (1.1875, 11.0), (1.1875, 16.0)),
        ((8, 4, 16), (1.4375, 64.0), (1.4375, 32.0), (1.109_375, 39.0), (1.109_375, 64.0)),
        ((8, 8, 8), (1.8750, 64.0), (1.8750, 64.0), (1.109_375, 64.0), (1.109_375, 64.0)),
        ((8, 8, 64), (1.109_375, 512.0), (1.109_375, 64.0), (1.013_672, 71.0), (1.013_672, 512.0)),
    ];
    for ((ranks, stages, micro_batches), gpipe, one, depth, breadth) in rows {
        for (schedule, (time, peak)) in [
            (Schedule::GPipe, gpipe),
            (Schedule::OneForwardOneBackward, one),
            (Schedule::Interleaved, depth),
            (Schedule::BreadthFirst, breadth),
        ] {
            let (found_time, found_peak) = makespan(&pipeline(schedule, ranks, stages, micro_batches));
            assert!((found_time - time).abs() < 5e-6, "{schedule} {ranks},{stages},{micro_batches}: {found_time}");
            assert!((found_peak - peak).abs() < 0.01, "{schedule} {ranks},{stages},{micro_batches}: {found_peak}");
        }
    }
}

/// [layered B8]: five ranks, 160 layers, five micro-batches: overhead 0.8 contiguous, 0.025 modular.
#[test]
fn the_bubble_of_a_hundred_and_sixty_layers() {
    let mut contiguous = pipeline(Schedule::OneForwardOneBackward, 5, 32, 5);
    contiguous.plan.size = Size::Devices(5);
    Arc::make_mut(&mut contiguous.cluster).levels[0].members = Some(5);
    let mut modular = contiguous.clone();
    modular.plan.schedule = Schedule::BreadthFirst;
    close(makespan(&contiguous).0, 1.8);
    close(makespan(&modular).0, 1.025);
}

/// 5000 x 512 gradients of two bytes in a ring of two at 100 GB/s: 2 x 1/2 x 5.12 MB / 100 GB/s = 51.2 us, once the
/// backward of the first rank, the last of all, is over.
#[test]
fn copies_of_tied_weights_are_summed() {
    let [apart, tied] = [false, true].map(|tied| {
        let mut scenario = pipeline(Schedule::OneForwardOneBackward, 2, 1, 3);
        let model = Arc::make_mut(&mut scenario.model);
        (model.vocab, model.tied) = (5000, tied);
        evaluate(&scenario)
    });
    close((tied.step_time - apart.step_time).get(), 51.2e-6);
    close((tied.traffic[0].bytes_per_device - apart.traffic[0].bytes_per_device).get(), 5.12e6);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn stages_keep_the_books(scenario in staged()) {
        let mut workspace = Workspace::default();
        let Ok((summary, trace)) = traced(&scenario, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let TimeParts { compute, communication, exposed, bubble, optimizer, other } = summary.time;
        let parts = compute + exposed + bubble + optimizer + other;
        prop_assert!((parts - summary.step_time).get().abs() <= 1e-9 * summary.step_time.get());
        prop_assert!(exposed <= communication);
        let kept: Vec<f64> = workspace.state_bytes().collect();
        for (rank, kept) in kept.iter().enumerate() {
            let last = trace.memory.iter().rfind(|point| point.rank as usize == rank);
            let last = last.map_or(*kept, |point| point.in_use.get());
            prop_assert!((last - kept).abs() < 64.0, "rank {rank}: {kept} at the start, {last} at the end");
        }
        let fullest = stages(&scenario, &workspace).iter().map(|memory| memory.peak.get()).fold(0.0, f64::max);
        prop_assert!((fullest - summary.memory.peak.get()).abs() < 1.0);
        let folded = super::summary(&scenario, &mut workspace);
        prop_assert_eq!(folded, Ok(summary), "folded is unfolded");
    }

    /// With transfers a step is never shorter than the law of its schedule without them.
    #[test]
    fn transfers_only_add_to_the_law(
        (ranks, stages, groups) in (2..9_u32, 1..6_u32, 1..9_u32),
        schedule in proptest::sample::select(Schedule::ALL.to_vec()),
        bandwidth in 0.01..100.0_f64,
    ) {
        // Depth first takes as many micro-batches at once as there are ranks.
        let micro_batches = if schedule == Schedule::Interleaved { ranks * groups } else { groups };
        let mut scenario = pipeline(schedule, ranks, stages, micro_batches);
        (scenario.plan.size, scenario.plan.bandwidth_factor) = (Size::Nodes(ranks), bandwidth);
        let step = evaluate(&scenario).step_time.get();
        // [layered B8, C3], less the rounding of each slot.
        let (p, k, m) = (f64::from(ranks), f64::from(stages), f64::from(micro_batches));
        let law = match schedule {
            Schedule::GPipe | Schedule::OneForwardOneBackward => (m + p - 1.0) * k,
            Schedule::Interleaved | Schedule::BreadthFirst => (k - 1.0) * m.max(p) + m + p - 1.0,
        };
        prop_assert!(step >= law * layer_time() * (1.0 - 1e-6), "{step} is less than {law} layers");
    }
}

/// Any pipeline of many micro-batches: embedding and head, uneven stages, tensor ranks, transfers that are
/// hidden, half hidden or slower than what hides them.
fn long_pipelines() -> impl Strategy<Value = Scenario> {
    let shape = (prop_oneof![Just(2_u32), Just(4), Just(8)], 1..5_u32, 1..40_u32, 0..30_u32);
    let schedule = proptest::sample::select(Schedule::ALL.to_vec());
    (scenarios(), shape, schedule, -2.0..2.0_f64).prop_map(
        |(mut scenario, (ranks, stages, groups, layers), schedule, speed)| {
            Arc::make_mut(&mut scenario.model).layers = ranks * stages + layers;
            let plan = &mut scenario.plan;
            plan.size = Size::Nodes(8);
            plan.bandwidth_factor = libm::pow(10.0, speed);
            (plan.pipeline, plan.stages_per_rank, plan.schedule) = (ranks, stages, schedule);
            plan.accumulate = if schedule == Schedule::Interleaved { (ranks * groups).min(96) } else { 3 * groups };
            scenario
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn long_pipelines_fold_to_the_picosecond(scenario in long_pipelines()) {
        let mut workspace = Workspace::default();
        let Ok(folded) = super::summary(&scenario, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let memory = stages(&scenario, &workspace);
        let unfolded = summary::run(&scenario, &Factors::default(), &mut workspace, false);
        prop_assert_eq!(Ok(folded), unfolded);
        prop_assert_eq!(memory, stages(&scenario, &workspace));
    }
}

/// What FSDP sends, in the FSDP limits of a scenario whose weights and gradients travel over all devices: two
/// transfers in backward, all parameters, (N - 1) / N.
fn sent(scenario: &Scenario) -> Limits {
    let parameters = scenario.model.parameters() as f64;
    Limits { parameters, ring: true, n_bwd: 2.0, ..Limits::of(scenario) }
}

/// Their network floor [fsdp A4 (b)] for one micro-batch.
fn network_floor(scenario: &Scenario) -> f64 {
    let limits = sent(scenario);
    let tokens = f64::from(scenario.plan.micro_batch) * f64::from(scenario.plan.sequence);
    limits.network_floor().tokens_per_s * tokens / limits.token_capacity()
}

proptest! {
    /// [fsdp A4 (b)]: no schedule of a ZeRO-3 plan that gathers every unit twice and reduces at each
    /// micro-batch beats the network floor, or the limit that a map shows.
    #[test]
    fn no_zero3_plan_exceeds_its_limit(
        nodes in 1_u32..40,
        micro_batch in 1_u32..6,
        accumulate in 1_u32..4,
        layers in 1_u32..12,
        prefetch in 0_u32..4,
        bandwidth in 0.01_f64..20.0,
        full: bool,
        vocab in prop::sample::select(vec![0_u32, 1000, 50_000]),
        tied: bool,
    ) {
        let mut scenario = testing::scenario();
        scenario.model = Arc::new(Model { vocab, tied, ..testing::model(layers, 1024) });
        scenario.plan.size = Size::Nodes(nodes);
        scenario.plan.micro_batch = micro_batch;
        scenario.plan.accumulate = accumulate;
        scenario.plan.prefetch = prefetch;
        scenario.plan.bandwidth_factor = bandwidth;
        scenario.plan.reduction = Reduction::MicroBatch;
        scenario.plan.recompute = if full { Recompute::Full } else { Recompute::None };
        let summary = summary(&scenario, &mut Workspace::default()).expect("a valid scenario");
        let (floor, reached) = (network_floor(&scenario), summary.tokens_per_s_per_device);
        // Each task is rounded to whole picoseconds, of steps as short as some hundred microseconds.
        prop_assert!(reached <= floor * (1.0 + 1e-8), "{reached} tokens/s beat the floor's {floor}");
        prop_assert!(summary.model_flops <= summary.limit * (1.0 + 1e-8));
        // Two ways to the same limit: the closed form, and the bytes that the program counts.
        let limit = reached * (summary.limit / summary.model_flops);
        prop_assert!(limit <= floor * (1.0 + 1e-9), "the limit {limit} is above the floor {floor}");
        if summary.time.exposed > summary.time.compute {
            prop_assert!((limit / floor - 1.0).abs() < 1e-9, "{limit} is not {floor}");
        }
    }

    /// The same of published machines, whose nodes share ports or have links that are not all alike: a step of
    /// three transfers takes at least their time, and what fits is no faster than the floor of full memory.
    #[test]
    fn no_zero3_plan_of_a_preset_machine_exceeds_its_limits(
        cluster in prop::sample::select(vec!["v100-32gb-dgx1", "titan-rtx-pcie", "mi250x-frontier", "h100-80gb-dgx"]),
        model in prop::sample::select(vec!["fsdp-1.3b", "fsdp-13b", "fsdp-175b"]),
        power in 0_u32..7,
        micro_batch in 1_u32..9,
    ) {
        let ids = format!("cluster = \"{cluster}\"\nstack = \"ideal\"\nmodel = \"{model}\"\nstrategy = \"zero3\"");
        let plan = format!("nodes = {}\nmicro_batch = {micro_batch}\nrecompute = \"full\"", 1 << power);
        let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
        let scenario = Library::embedded().resolve(&file).expect("presets");
        let (limits, summary) = (sent(&scenario), evaluate(&scenario));
        let (transfers, step) = (limits.transfer() * 3.0, summary.step_time);
        prop_assert!(step >= transfers * (1.0 - 1e-8), "{step} is less than the {transfers} of its transfers");
        let (floor, reached) = (limits.network_floor().tokens_per_s, summary.tokens_per_s_per_device);
        prop_assert!(!summary.fits || reached <= floor, "{reached} tokens/s beat the floor's {floor}");
    }
}
