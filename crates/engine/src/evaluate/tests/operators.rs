//! Operators whose state lies apart, and operators in slices.

use super::*;

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
    let (_, trace) =
        scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())).expect("a valid scenario");
    let first = |lane: Stream, layer: u32| {
        let here = |span: &&Span| span.activity.part == ModelPart::Layer && span.activity.layer == layer;
        *trace.spans_on(0, lane).iter().find(here).expect("each layer is visited")
    };
    for layer in 0..4 {
        let (gather, compute) = (first(Stream::Gather, layer), first(Stream::Compute, layer));
        assert!(compute.start >= gather.end, "layer {layer}: {} before {}", compute.start, gather.end);
    }
}

/// However far ahead the copies may begin, a checkpoint is read from the host after it was written there.
#[test]
fn no_checkpoint_is_read_before_it_is_written() {
    for prefetch in [1, 3, 5, 16] {
        let mut scenario = testing::scenario();
        scenario.plan.recompute = Recompute::Full;
        (scenario.plan.offload, scenario.plan.prefetch, scenario.plan.accumulate) = (Offload::Checkpoints, prefetch, 2);
        Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e9);
        let (_, trace) = scenario
            .checked()
            .and_then(|checked| traced(&checked, &mut Workspace::default()))
            .expect("a valid scenario");
        let copies = |lane: Stream| trace.spans_on(0, lane).iter().map(|span| (span.activity, span.start, span.end));
        let mut read = 0;
        for (activity, start, _) in copies(Stream::HostIn) {
            let same = |(other, ..): &(Activity, _, _)| {
                (other.layer, other.micro_batch) == (activity.layer, activity.micro_batch)
            };
            let (.., written) = copies(Stream::HostOut).find(same).expect("each checkpoint is written");
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
    fn operators_placed_as_the_rest_change_nothing(scenario in uniform_scenarios()) {
        let mut workspace = Workspace::default();
        let uniform = super::summary(&scenario, &mut workspace);
        let apart = all_named(scenario);
        if let Ok(uniform) = uniform {
            prop_assert_eq!(Ok(uniform), super::summary(&apart, &mut workspace));
        }
    }
}
