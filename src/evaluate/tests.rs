//! Whole evaluations: closed forms, conservation, the trace against the summary.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::plan::{Extent, Format, Offload, Recompute, Reduction, Secondary, Size};
use crate::stack::Overlap;
use crate::testing;

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

/// Any valid small scenario.
fn scenarios() -> impl Strategy<Value = Scenario> {
    let sharded = [Extent::Device, Extent::Ranks(2), Extent::Node, Extent::System];
    let pick = move || proptest::sample::select(sharded.to_vec());
    let mesh = (1..4_u32, prop_oneof![Just(1_u32), Just(2)], prop_oneof![Just(1_u32), Just(2)]);
    let batch = (1..4_u32, 1..6_u32, 1..20_u32);
    let overlap =
        proptest::sample::select(vec![Overlap::None, Overlap::Reductions, Overlap::OneStream, Overlap::Independent]);
    let recompute =
        proptest::sample::select(vec![Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Share(0.3)]);
    let reduction = proptest::sample::select(Reduction::ALL.to_vec());
    let offload = proptest::sample::select(Offload::ALL.to_vec());
    let software = (overlap, recompute, reduction, offload, 0..3_u32, any::<(bool, bool, bool, bool)>());
    ((pick(), pick(), pick()), mesh, batch, software).prop_map(
        |((weights, gradients, optimizer), (nodes, tensor, context), (micro_batch, accumulate, layers), software)| {
            let (overlap, recompute, reduction, offload, prefetch, (reshard, during, vocab, tied)) = software;
            let mut scenario = testing::scenario();
            let model = Arc::make_mut(&mut scenario.model);
            model.layers = layers;
            (model.vocab, model.tied) = (if vocab { 5000 } else { 0 }, tied);
            let stack = Arc::make_mut(&mut scenario.stack);
            (stack.overlap, stack.reduce_during_backward) = (overlap, during);
            (stack.contention, stack.element_wise, stack.optimizer_traffic) = (0.3, 1.0, 1.0);
            stack.host.layer = Seconds::new(1e-4);
            let plan = &mut scenario.plan;
            plan.sharding = testing::sharding(weights, gradients, optimizer);
            plan.sharding.reshard_after_forward = reshard;
            plan.size = Size::Nodes(1 << nodes);
            (plan.tensor, plan.context) = (tensor, context);
            (plan.micro_batch, plan.accumulate) = (micro_batch, accumulate);
            (plan.recompute, plan.reduction, plan.offload, plan.prefetch) = (recompute, reduction, offload, prefetch);
            scenario
        },
    )
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
        let kept = scenario.stack.reserve + summary.memory.parts.weights + summary.memory.parts.optimizer;
        prop_assert!(left >= kept.get() - 16.0);
    }

    #[test]
    fn folded_equals_unfolded(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok(folded) = super::summary(&scenario, &mut workspace) {
            let unfolded = summary::run(&scenario, &Factors::default(), &mut workspace, false, &mut ());
            prop_assert_eq!(Ok(folded), unfolded);
        }
    }

    #[test]
    fn the_step_ends_with_the_memory_it_began_with(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok((_, trace)) = traced(&scenario, &mut workspace) {
            let first = workspace.state_bytes();
            let last = trace.memory.last().map_or(first, |point| point.in_use.get());
            prop_assert!((last - first).abs() < 1.0, "{first} at the start, {last} at the end");
        }
    }
}
