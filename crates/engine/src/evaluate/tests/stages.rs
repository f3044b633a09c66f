//! Pipelines and layered accumulation with state on the host, per-operator sharding and second copies of the weights.

use super::*;

/// Parameters of a layer of the toy model, and their bytes in bf16.
const LAYER: f64 = 12.0 * 1024.0 * 1024.0;
const BYTES: f64 = 2.0 * LAYER;

/// 8 layers of 1024 layer by layer on two nodes of four.
fn layered(sharding: crate::plan::Sharding, micro_batches: u32) -> Scenario {
    let mut scenario = testing::scenario();
    let plan = &mut scenario.plan;
    (plan.sharding, plan.accumulate, plan.accumulation) = (sharding, micro_batches, Accumulation::Layered);
    scenario
}

/// A stage of one layer each, `stages` on each of `ranks` pipeline ranks, four data-parallel ranks.
fn looped(schedule: Schedule, (ranks, stages, micro_batches): (u32, u32, u32)) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::model(ranks * stages, 1024));
    let plan = &mut scenario.plan;
    plan.size = Size::Nodes(ranks);
    (plan.pipeline, plan.stages_per_rank, plan.accumulate, plan.schedule) = (ranks, stages, micro_batches, schedule);
    scenario
}

fn offloaded(mut scenario: Scenario) -> Scenario {
    scenario.plan.offload = Offload::State;
    scenario
}

/// Layers' worth of bf16 that the first rank copies from the host and to it.
fn copied(scenario: &Scenario) -> (f64, f64) {
    let (_, trace) =
        scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())).expect("a valid scenario");
    assert!(trace.folded.is_empty());
    let bytes = |lane: Stream| trace.spans_on(0, lane).iter().map(|span| span.bytes.get()).sum::<f64>() / BYTES;
    (bytes(Stream::HostIn), bytes(Stream::HostOut))
}

/// [layered B5]: per step a rank's shard of the weights comes for forward and for backward, and its shard of the
/// gradients goes, whatever the micro-batches; [layered C5]: the last two layers stay, so that of 8 layers
/// 2 x 8 - 2 shards come. Standard accumulation has all of 2 x 8 come and 8 go for each micro-batch.
#[test]
fn layer_by_layer_the_state_is_copied_once_a_step() {
    for micro_batches in [1, 4] {
        for (sharding, shard) in [(testing::zero3(), 1.0 / 8.0), (testing::ddp(), 1.0)] {
            let (from, to) = copied(&offloaded(layered(sharding, micro_batches)));
            close(from, 14.0 * shard);
            close(to, 8.0 * shard);
        }
    }
}

/// Standard accumulation has 2 x 8 shards come and 8 go for each micro-batch [layered B5]. Sums that replicas are still
/// to add theirs to come back once, for the last one.
#[test]
fn micro_batch_by_micro_batch_the_state_is_copied_for_each() {
    let standard = |sharding: crate::plan::Sharding, micro_batches: u32| {
        let mut scenario = offloaded(layered(sharding, micro_batches));
        scenario.plan.accumulation = Accumulation::Standard;
        scenario
    };
    for micro_batches in [1, 4] {
        let (all, again) = (f64::from(micro_batches), if micro_batches > 1 { 1.0 } else { 0.0 });
        for during in [true, false] {
            let copies = |mut scenario: Scenario| {
                Arc::make_mut(&mut scenario.stack).reduce_during_backward = during;
                copied(&scenario)
            };
            assert_eq!(copies(standard(testing::zero3(), micro_batches)), (all * 16.0 / 8.0, all * 8.0 / 8.0));
            let ddp = standard(testing::ddp(), micro_batches);
            assert_eq!(copies(ddp.clone()), (all * 16.0 + again * 8.0, all * 8.0));
            let mut alone = ddp;
            alone.plan.size = Size::Devices(1);
            assert_eq!(copies(alone), (all * 16.0, all * 8.0));
        }
        // Two layers' gradients at most, and the sums of two.
        let parts = evaluate(&standard(testing::ddp(), micro_batches)).memory.parts;
        assert_eq!((parts.weights, parts.optimizer), (Bytes::ZERO, Bytes::ZERO));
        let most = (2.0 + 2.0 * again) * BYTES;
        assert!(parts.gradients.get() >= BYTES && parts.gradients.get() <= most, "{}", parts.gradients);
    }
}

/// [layered C5], the table: as many shards come as there are gathers, and as many go as there are reductions; each is a
/// quarter of a layer on four data-parallel ranks.
#[test]
fn the_state_is_copied_with_every_gather_and_reduction() {
    let (breadth, depth) = (Schedule::BreadthFirst, Schedule::Interleaved);
    for (schedule, shape, gathers, reductions) in [
        (breadth, (4, 4, 8), 6.0, 4.0),
        (depth, (4, 4, 8), 20.0, 8.0),
        (breadth, (8, 4, 16), 6.0, 4.0),
        (depth, (8, 4, 16), 36.0, 8.0),
        (breadth, (8, 8, 8), 14.0, 8.0),
        (depth, (8, 8, 8), 14.0, 8.0),
        // A rank's only stage stays.
        (Schedule::GPipe, (4, 1, 8), 1.0, 1.0),
        (Schedule::OneForwardOneBackward, (4, 1, 8), 1.0, 1.0),
    ] {
        let (from, to) = copied(&offloaded(looped(schedule, shape)));
        close(from, gathers / 4.0);
        close(to, reductions / 4.0);
    }
}

/// Replicated gradients are summed over replicas once, after a stage's last backward: depth first each of 4 stages has
/// two backwards of 4 micro-batches, so that 8 sums go to the host and 4 come back for that. Without replicas
/// the host adds what it gets.
#[test]
fn sums_come_back_from_the_host_to_be_reduced() {
    let mut scenario = offloaded(looped(Schedule::Interleaved, (4, 4, 8)));
    scenario.plan.sharding = testing::ddp();
    assert_eq!(copied(&scenario), (20.0 + 4.0, 8.0));
    scenario.plan.size = Size::Nodes(1);
    assert_eq!(copied(&scenario), (20.0, 8.0));
}

/// Depth first, of 4 stages of a layer each two have a gradient buffer at most: 4 bytes a parameter where gradients are added up
/// in fp32, and 2 of sums in bf16 that come back where other ranks' are still to be added. After 64 micro-batches as after 8: a
/// buffer is given back whole, though half as many bytes of it go to the host.
#[test]
fn gradients_that_went_to_the_host_leave_the_device() {
    for (nodes, bytes) in [(1, 4.0), (4, 4.0 + 2.0)] {
        for micro_batches in [8, 64] {
            let mut scenario = offloaded(looped(Schedule::Interleaved, (4, 4, micro_batches)));
            Arc::make_mut(&mut scenario.stack).unreduced_format = Some(Format::Fp32);
            (scenario.plan.size, scenario.plan.reduction) = (Size::Nodes(nodes), Reduction::Step);
            let kept = evaluate(&scenario).memory.parts.gradients.get() / LAYER;
            assert!((bytes..=2.0 * bytes).contains(&kept), "{kept} bytes at {micro_batches} on {nodes} nodes");
        }
    }
}

/// What lives on the host moves no other byte between devices.
#[test]
fn offload_sends_the_same_between_devices() {
    for schedule in Schedule::ALL {
        let stages = if schedule.rules().virtual_stages { 4 } else { 1 };
        for sharding in [testing::zero3(), testing::sharding(Extent::Device, Extent::System, Extent::System)] {
            let mut scenario = looped(*schedule, (4, stages, 8));
            scenario.plan.sharding = sharding;
            let before = evaluate(&scenario).traffic;
            let after = evaluate(&offloaded(scenario)).traffic;
            assert_eq!(before.map(|level| level.bytes_per_device), after.map(|level| level.bytes_per_device));
        }
    }
}

/// One device: all 8 layers compute on 16 micro-batches, forward and backward, beside copies of 2 x 12 h^2 bytes at
/// 10 GB/s, 2.5 ms each, which 16 forwards of 0.28 ms hide. What is left is the first layer's weights and its
/// gradients.
#[test]
fn copies_hide_behind_the_other_layers() {
    let mut scenario = offloaded(layered(testing::ddp(), 16));
    scenario.plan.size = Size::Devices(1);
    let (forward, backward, _) = hand_worked(1.0);
    let copy = BYTES / 10e9;
    assert!(copy < 16.0 * forward);
    let summary = evaluate(&scenario);
    close(summary.step_time.get(), copy + 16.0 * 8.0 * (forward + backward) + copy);
    close(summary.time.exposed.get(), 2.0 * copy);
    // With one micro-batch they are what is left of forward: 8 layers come, the last of which computes when it is
    // there.
    scenario.plan.accumulate = 1;
    let (_, trace) =
        scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())).expect("a valid scenario");
    let last = trace.spans_on(0, Stream::Compute).iter().rfind(|span| span.activity.kind == TaskKind::Forward);
    close(last.expect("forward").end.get(), 8.0 * copy + forward);
}

/// Of the state only buffers are left on the device: two layers' weights and at most two layers' gradients.
#[test]
fn only_buffers_of_an_offloaded_state_are_left() {
    for sharding in [testing::zero3(), testing::ddp()] {
        let parts = evaluate(&offloaded(layered(sharding, 4))).memory.parts;
        assert_eq!((parts.weights, parts.optimizer), (Bytes::ZERO, Bytes::ZERO));
        close(parts.gathered.get(), 2.0 * BYTES);
        assert!(parts.gradients.get() >= BYTES && parts.gradients.get() <= 2.0 * BYTES, "{}", parts.gradients);
    }
    // A rank's only stage of 2 layers is never dropped, nor are its gradients before backward is over.
    let mut scenario = offloaded(looped(Schedule::GPipe, (4, 1, 4)));
    Arc::make_mut(&mut scenario.model).layers = 8;
    let parts = evaluate(&scenario).memory.parts;
    assert_eq!((parts.weights, parts.optimizer), (Bytes::ZERO, Bytes::ZERO));
    assert_eq!((parts.gathered.get(), parts.gradients.get()), (2.0 * BYTES, 2.0 * BYTES));
}

/// Attention, a third of a layer's weights, replicated, the MLP sharded: [layered C5] 2 x 8 - 2 gathers instead of
/// 2 x 8, and a reduction that is two passes of what is replicated and one of the rest.
#[test]
fn stages_gather_what_each_operator_needs() {
    let layered = |operators: Vec<(Operator, Extent, u32)>| {
        let mut scenario = apart(operators);
        scenario.plan.accumulation = Accumulation::Layered;
        scenario
    };
    let gathers = 14.0 / 8.0;
    let replicated = |operator| vec![(operator, Extent::Device, 1)];
    close(passes(&layered(replicated(Operator::Attention))), (2.0 + 2.0 * (gathers + 1.0)) / 3.0);
    close(passes(&layered(replicated(Operator::Mlp))), (gathers + 1.0 + 2.0 * 2.0) / 3.0);
    close(passes(&layered(replicated(Operator::Layer))), 2.0);
    for slices in [2, 4] {
        close(passes(&layered(vec![(Operator::Layer, Extent::System, slices)])), gathers + 1.0);
    }
    // A stage's weights stay until its backward is over: computing again gathers nothing.
    let mut again = layered(replicated(Operator::Mlp));
    again.plan.recompute = Recompute::Full;
    close(passes(&again), (gathers + 1.0 + 2.0 * 2.0) / 3.0);
    // `K P / N` for what is sharded, `K P` for what is not [osdp C3]; two of eight layers on each of four ranks.
    let mut scenario = apart([(Operator::Attention, Extent::Device, 1)]);
    (scenario.plan.pipeline, scenario.plan.accumulate) = (4, 4);
    scenario.plan.schedule = Schedule::OneForwardOneBackward;
    let memory = evaluate(&scenario).memory.parts;
    let share = (1.0 + 2.0 / 2.0) / 3.0;
    close(memory.weights.get(), 2.0 * BYTES * share);
    close(memory.optimizer.get(), 2.0 * 12.0 * LAYER * share);
}

/// [frontier D4]: forward gathers from the first copy, over all; backward from the second, in the node, except for the
/// last two layers, which are there still [layered C5]. Over 8 ranks, 2 of 8 ring edges leave the node.
#[test]
fn backward_of_stages_gathers_from_the_second_copy() {
    let mut scenario = layered(testing::zero3(), 4);
    scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Bf16 });
    let summary = evaluate(&scenario);
    let pass = BYTES * 7.0 / 8.0 * 2.0 / 8.0;
    // 8 gathers and 8 reductions.
    close(summary.traffic[1].bytes_per_device.get() / pass, 16.0);
    // In the node 3/4 of each of 6 gathers beside 6/8 of the edges of 16 rings.
    let inside = 16.0 * BYTES * 7.0 / 8.0 * 6.0 / 8.0 + 6.0 * BYTES * 3.0 / 4.0;
    close(summary.traffic[0].bytes_per_device.get(), inside);
    // Six layers' shards over 4 ranks, from their forward to their backward [frontier D6].
    close(summary.memory.parts.secondary_weights.get(), 6.0 * BYTES / 4.0);
    // From the host come weights for forward only: the second copy is on the device.
    let (from, to) = copied(&offloaded(scenario));
    assert_eq!((from, to), (8.0 / 8.0, 8.0 / 8.0));
}

/// Stages that stay in their buffers are not gathered for backward: a second copy would serve nothing.
#[test]
fn a_stage_that_stays_has_no_second_copy() {
    let mut scenario = looped(Schedule::OneForwardOneBackward, (4, 1, 8));
    let without = evaluate(&scenario);
    scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Ranks(2), format: Format::Bf16 });
    assert_eq!(evaluate(&scenario), without);
}

/// [layered B8]: where transfers and copies take no time, the state's place changes no bubble.
#[test]
fn the_bubble_laws_hold_wherever_the_state_is() {
    let mut workspace = Workspace::default();
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let layer = layer_time();
    for (ranks, stages, micro_batches) in [(2, 1, 4), (4, 3, 4), (4, 2, 8), (3, 5, 9)] {
        let mut scenario = pipeline(Schedule::GPipe, ranks, stages, micro_batches);
        scenario.plan.size = Size::Nodes(ranks);
        scenario.plan.sharding = testing::zero3();
        scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Ranks(2), format: Format::Bf16 });
        Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e30);
        scenario.plan.operators = apart([(Operator::Layer, Extent::Device, 1)]).plan.operators;
        scenario.plan.operators[0].layers = Some(Layers { first: 1, last: 1 });
        let (p, k, m) = (f64::from(ranks), f64::from(stages), f64::from(micro_batches));
        for offload in [Offload::None, Offload::State, Offload::All] {
            scenario.plan.offload = offload;
            for (schedule, slots) in [
                (Schedule::GPipe, (m + p - 1.0) * k),
                (Schedule::OneForwardOneBackward, (m + p - 1.0) * k),
                (Schedule::BreadthFirst, (k - 1.0) * m.max(p) + m + p - 1.0),
                (Schedule::Interleaved, m * k + p - 1.0),
            ] {
                if schedule == Schedule::Interleaved && micro_batches % ranks > 0 {
                    continue;
                }
                scenario.plan.schedule = schedule;
                let summary = scenario
                    .checked()
                    .and_then(|checked| summary_with(&checked, &free, &mut workspace))
                    .expect("a valid scenario");
                // Less the update, which is not free on the device.
                close((summary.step_time - summary.time.optimizer).get() / layer, slots);
            }
        }
    }
}

/// Any plan with one micro-batch and no pipeline: standard, and layer by layer.
fn one_micro_batch() -> impl Strategy<Value = [Scenario; 2]> {
    (scenarios(), 2..8_u32).prop_map(|(mut scenario, layers)| {
        let model = Arc::make_mut(&mut scenario.model);
        (model.layers, model.vocab) = (layers, 0);
        scenario.plan.operators.retain(|entry| entry.layers.is_none_or(|range| range.last < layers));
        scenario.plan.accumulate = 1;
        // What a plan reduces after backward, and keeps gathered, stages reduce in it and keep otherwise.
        Arc::make_mut(&mut scenario.stack).reduce_during_backward = true;
        scenario.plan.sharding.reshard_after_forward = true;
        let mut layered = scenario.clone();
        layered.plan.accumulation = Accumulation::Layered;
        [scenario, layered]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Where weights stay on the device and units are layers, the order is the same, and so is every picosecond.
    #[test]
    fn layered_with_one_micro_batch_is_standard([mut standard, mut layered] in one_micro_batch()) {
        for scenario in [&mut standard, &mut layered] {
            scenario.plan.sharding.weights = Extent::Device;
            for entry in &mut scenario.plan.operators {
                (entry.operator, entry.split) = (Operator::Layer, 1);
                entry.extents.weights = Some(Extent::Device);
            }
            // Both orders copy early, but not at the same moment.
            if scenario.plan.offload.state() || scenario.plan.offload.checkpoints() {
                scenario.plan.offload = Offload::Optimizer;
            }
            // Stages let the exchanges of context ranks end before they go on.
            scenario.plan.context = 1;
        }
        let mut workspace = Workspace::default();
        let Ok(standard) = super::super::summary(&standard, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let layered = super::super::summary(&layered, &mut workspace).expect("as valid");
        prop_assert_eq!(layered.step_time, standard.step_time);
        prop_assert!(same_bytes(&layered, &standard));
    }

    /// Else the same bytes travel, except the two stages that stay in their buffers [layered C5].
    #[test]
    fn layered_with_one_micro_batch_moves_what_standard_moves([mut standard, layered] in one_micro_batch()) {
        // Computing halves of a layer again gathers them once more.
        prop_assume!(standard.plan.operators.is_empty() || standard.plan.recompute == Recompute::None);
        let mut workspace = Workspace::default();
        let Ok(moved) = super::super::summary(&layered, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let layers = layered.model.layers;
        let all = super::super::summary(&standard, &mut workspace).expect("as valid");
        // The last two layers without the gathers of backward: as if they stayed gathered.
        standard.model = Arc::new(Model { layers: 2, ..(*standard.model).clone() });
        standard.plan.operators = standard.plan.operators.iter().filter_map(|entry| last_two(entry, layers)).collect();
        let again = super::super::summary(&standard, &mut workspace).expect("as valid");
        standard.plan.sharding.reshard_after_forward = false;
        let once = super::super::summary(&standard, &mut workspace).expect("as valid");
        for level in 0..MAX_LEVELS {
            let bytes = |summary: &Summary| summary.traffic[level].bytes_per_device.get();
            let expected = bytes(&all) - (bytes(&again) - bytes(&once));
            prop_assert!((bytes(&moved) - expected).abs() <= 1e-9 * expected, "{} is not {expected}", bytes(&moved));
        }
    }

    #[test]
    fn operators_placed_as_the_rest_change_nothing_in_stages(mut scenario in staged()) {
        scenario.plan.operators.clear();
        let apart = all_named(scenario.clone());
        let mut workspace = Workspace::default();
        if let Ok(uniform) = super::super::summary(&scenario, &mut workspace) {
            prop_assert_eq!(Ok(uniform), super::super::summary(&apart, &mut workspace));
        }
    }
}

/// The same bytes on every level, however they are summed.
fn same_bytes(one: &Summary, other: &Summary) -> bool {
    let of = |summary: &Summary, level: usize| summary.traffic[level].bytes_per_device.get();
    (0..MAX_LEVELS).all(|level| (of(one, level) - of(other, level)).abs() <= 1e-9 * of(other, level))
}

/// An entry as it is for the last two of some layers, counted from 0.
fn last_two(entry: &Placement, layers: u32) -> Option<Placement> {
    let range = entry.layers.unwrap_or(Layers { first: 0, last: layers - 1 });
    let (first, last) = (range.first.max(layers - 2), range.last);
    let layers = (first <= last).then(|| Layers { first: first + 2 - layers, last: last + 2 - layers });
    layers.map(|layers| Placement { layers: Some(layers), ..entry.clone() })
}

/// Ranks 3 and 4 of a pipeline of eight devices are in different nodes of four: 10 GB/s, and 100 GB/s inside.
#[test]
fn each_hop_of_a_pipeline_has_its_own_level() {
    let scenario = pipeline(Schedule::GPipe, 8, 1, 1);
    let (_, trace) =
        scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())).expect("a valid scenario");
    let bytes = f64::from(scenario.plan.sequence) * 512.0 * 2.0;
    for rank in 0..7 {
        let hop = trace.spans_on(rank, Stream::Pipeline)[0];
        close((hop.end - hop.start).get(), bytes / if rank == 3 { 10e9 } else { 100e9 });
    }
}

/// Half of each stage's two layers is computed again: a stage takes 7 forwards, half way between the 6 where none is
/// and the 8 where both are.
#[test]
fn every_stage_computes_its_share_again() {
    let step = |recompute: Recompute| {
        let mut scenario = pipeline(Schedule::OneForwardOneBackward, 4, 1, 8);
        scenario.model = Arc::new(testing::model(8, 512));
        scenario.plan.recompute = recompute;
        Arc::make_mut(&mut scenario.cluster).levels[0].bandwidth = BytesPerSecond::new(1e30);
        evaluate(&scenario).step_time.get()
    };
    let [none, half, all] = [Recompute::None, Recompute::Share(0.5), Recompute::Full].map(step);
    // Were all of a half on the first ranks, these would set the pace of `all`.
    close(half - none, all - half);
    assert!(half > 1.1 * none, "{half} against {none}");
}

#[test]
fn one_stage_per_rank_leaves_nothing_to_interleave() {
    // Neither does it need groups of as many micro-batches as there are ranks.
    for micro_batches in [8, 6] {
        let [contiguous, interleaved] =
            [Schedule::OneForwardOneBackward, Schedule::Interleaved].map(|one| pipeline(one, 4, 1, micro_batches));
        assert_eq!(evaluate(&interleaved), evaluate(&contiguous), "{micro_batches} micro-batches");
    }
}

/// A stage's backward passes all micro-batches before its gradients are reduced: whole gradients wait, in the format that
/// sums have. FSDP2 casts them to fp32, 4 bytes each beside the shard of 2 bytes over 4 ranks; a single micro-batch has
/// nothing to add up.
#[test]
fn gradients_of_a_stage_wait_in_the_format_of_sums() {
    let held = |micro_batches: u32| {
        let mut scenario = looped(Schedule::OneForwardOneBackward, (2, 1, micro_batches));
        Arc::make_mut(&mut scenario.stack).unreduced_format = Some(Format::Fp32);
        evaluate(&scenario).memory.parts.gradients.get()
    };
    close(held(1), BYTES / 4.0 + 2.0 * LAYER);
    close(held(4), BYTES / 4.0 + 4.0 * LAYER);
}
