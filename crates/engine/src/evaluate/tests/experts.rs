//! Experts that have a mesh of their own.

use super::*;
use crate::cost::{Factors, Parameters, Piece, Rates, Transfer};
use crate::model::{Biases, Experts, LayerPart};
use crate::plan::{Capacity, DispatchFormats, Dispatcher, Extent, Format, Imbalance, Precision};
use crate::program::ModelState;
use crate::scenario::{Field, Layout};
use crate::stack::DispatcherKernels;
use crate::units::{Bytes, Count};

/// Six layers of width 1024, each with 4 experts of which a token visits 2, on a node of 4 devices: whole tokens are spread
/// evenly, and everything but the experts is on every device.
fn spread(ranks: u32) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::of_kinds(testing::model(6, 1024), 1));
    let plan = &mut scenario.plan;
    (plan.size, plan.sharding) = (Size::Devices(4), testing::ddp());
    (plan.experts.ranks, plan.experts.imbalance) = (ranks, Imbalance::Factor(1.0));
    // Gradients are summed behind backward, where they share no link with exchanges.
    Arc::make_mut(&mut scenario.stack).reduce_during_backward = false;
    scenario
}

/// A token of 1024 channels in bf16 goes to two experts. Of a rank's 1024 tokens 1024 x 2 x 1024 x 2 B = 4.19 MB, three
/// quarters leave it, over links of 100 GB/s: 31.46 us each way, there and back in forward and in backward, for each of
/// six layers. Arithmetic is what it was: each rank has a fourth of the experts, and four times the tokens come to each.
#[test]
fn tokens_go_to_their_experts_and_back_twice() {
    let exchange = 1024.0 * 2.0 * 1024.0 * 2.0 * 0.75 / 100e9;
    let [alone, apart] = [1, 4].map(|ranks| evaluate(&spread(ranks)));
    close(apart.time.compute.get(), alone.time.compute.get());
    assert_eq!(alone.time.dispatch, Seconds::ZERO);
    close(apart.time.dispatch.get(), 4.0 * 6.0 * exchange);
    close(
        apart.traffic[0].bytes_per_device.get() - alone.traffic[0].bytes_per_device.get() * shared(),
        24.0 * exchange * 100e9,
    );
}

/// The share of the gradients that is summed over all ranks where experts are divided: attention's 4 squares of the width
/// and a router of 4 columns, of 4 + 8 squares and the router.
fn shared() -> f64 {
    let (square, router) = (1024.0 * 1024.0, 4.0 * 1024.0);
    (4.0 * square + router) / (12.0 * square + router)
}

/// A layer's time for its router, in units of as many flop as there are tokens and squares of the width: three products of 1024
/// tokens, 1024 channels and 4 experts, each as long as its 2 x (1024 x 1024 + 2 x 4 x 1024) bytes take at 1 TB/s.
fn router() -> f64 {
    let product = 2.0 * (1024.0 * 1024.0 + 2.0 * 4.0 * 1024.0) / 1e12;
    3.0 * product / (1024.0 * 1024.0 * 1024.0 / 100e12)
}

/// Of 1,024 tokens 2 copies each come out of experts with biases, 1024 numbers of 2 B, and go in through a gate of 2048. Kernels of their
/// own pass 28 B and 40 for each number that comes out, and with bounds 16 and 20 for each of the gate's: at 1 TB/s. Each of the 4 experts'
/// biases is 12 launches of 5 us more for the host, of which forward makes 1 in 2.5.
#[test]
fn biases_and_bounds_of_experts_pass_memory_by_themselves() {
    let mut scenario = spread(1);
    let model = Arc::make_mut(&mut scenario.model);
    model.gated = true;
    model.biases = Some(Biases { mlp: true, ..Biases::default() });
    let width = f64::from(model.experts.and_then(|experts| experts.ffn_hidden).expect("a width"));
    let time = |unfused: bool, limit: Option<f64>| {
        let mut scenario = scenario.clone();
        Arc::make_mut(&mut scenario.stack).unfused_expert_biases = unfused;
        Arc::make_mut(&mut scenario.model).activation_limit = limit;
        let rates = Rates::new(&scenario, &Factors::default());
        let kind = scenario.model.kind(0);
        let work = rates.layer(kind);
        let kept = rates.activations(kind).layer.get();
        let host = rates.host_piece(Piece::Mlp, kind).get();
        ([work.forward, work.backward].map(|work| work.sum().memory.get()), kept, host)
    };
    let (fused, biases, bounds) = (time(false, Some(7.0)), time(true, None), time(true, Some(7.0)));
    let copies = 1024.0 * 2.0;
    for (pass, each, of_width) in [(0, 28.0, 16.0), (1, 40.0, 20.0)] {
        close(biases.0[pass] - fused.0[pass], copies * 1024.0 * each / 1e12);
        close(bounds.0[pass] - biases.0[pass], copies * width * of_width / 1e12);
    }
    // Bounded copies of both halves are kept beside what they were made from.
    close(bounds.1 - biases.1, copies * 2.0 * width * 2.0);
    close(biases.2 - fused.2, 4.0 * 12.0 * 5e-6 / 2.5);
}

/// Twice the imbalance: twice the tokens, arithmetic and bytes, on the busiest rank.
#[test]
fn the_busiest_rank_sets_the_pace() {
    let mut scenario = spread(4);
    let even = evaluate(&scenario);
    scenario.plan.experts.imbalance = Imbalance::Factor(2.0);
    let uneven = evaluate(&scenario);
    close(uneven.time.dispatch.get(), 2.0 * even.time.dispatch.get());
    // Of 6 x 8 + 7 units of a layer's time beside the router, experts have 6 x 4.
    let layer = 55.0 + router();
    close(uneven.time.compute.get() / even.time.compute.get(), (layer + 24.0) / layer);
}

/// Experts that are filled up to 1.5 times the mean have half as much again of tokens, arithmetic, bytes and activations,
/// wherever the tokens would go; on one rank too.
#[test]
fn a_capacity_fills_experts_up() {
    let with = |ranks: u32, capacity: Capacity, imbalance: f64| {
        let mut scenario = spread(ranks);
        (scenario.plan.experts.capacity, scenario.plan.experts.imbalance) = (capacity, Imbalance::Factor(imbalance));
        evaluate(&scenario)
    };
    let (all, filled) = (with(4, Capacity::None, 1.0), with(4, Capacity::Factor(1.5), 1.0));
    close(filled.time.dispatch.get(), 1.5 * all.time.dispatch.get());
    // Of 6 x 8 + 7 units of a layer's time beside the router, experts have 6 x 4.
    let layer = 55.0 + router();
    close(filled.time.compute.get() / all.time.compute.get(), (layer + 12.0) / layer);
    assert_eq!(with(4, Capacity::Factor(1.5), 3.0), filled);
    let alone = with(1, Capacity::None, 1.0).time.compute.get();
    close(with(1, Capacity::Factor(1.5), 1.0).time.compute.get() / alone, (layer + 12.0) / layer);
}

/// Experts that are computed again fetch their tokens again, and send them back: six exchanges for each of six layers instead
/// of four. Their activation function alone exchanges nothing.
#[test]
fn experts_that_run_again_exchange_again() {
    let exchange = 1024.0 * 2.0 * 1024.0 * 2.0 * 0.75 / 100e9;
    for (modules, exchanges) in [("moe_act+layernorm", 4.0), ("moe", 6.0), ("moe+layernorm", 6.0)] {
        let mut scenario = spread(4);
        scenario.plan.recompute = Recompute::Selective;
        scenario.plan.recompute_modules = modules.parse().expect(modules);
        close(evaluate(&scenario).time.dispatch.get(), exchanges * 6.0 * exchange);
    }
}

/// Modules that no layer has, and those that would run beside what they repeat, are refused by name.
#[test]
fn modules_that_cannot_run_again_are_refused() {
    let refused = |change: fn(&mut Scenario), modules: &str| {
        let mut scenario = spread(4);
        change(&mut scenario);
        scenario.plan.recompute_modules = modules.parse().expect(modules);
        let problems = scenario.checked().err().unwrap_or_default();
        problems.into_iter().any(|problem| problem.field == Field::RecomputeModules.path())
    };
    let selective: fn(&mut Scenario) = |scenario| scenario.plan.recompute = Recompute::Selective;
    let hidden: fn(&mut Scenario) = |scenario| {
        (scenario.plan.recompute, scenario.plan.experts.overlap) = (Recompute::Selective, true);
    };
    assert!(refused(selective, "mla_up_proj") && refused(selective, "moe+mhc") && refused(hidden, "moe"));
    assert!(!refused(selective, "moe+layernorm") && !refused(hidden, "moe_act") && !refused(|_| {}, "mla_up_proj"));
}

/// Beside another micro-batch's compute nothing of the exchanges is seen where they are shorter.
#[test]
fn exchanges_can_run_beside_compute() {
    let mut scenario = spread(4);
    scenario.plan.experts.overlap = true;
    let hidden = evaluate(&scenario);
    assert_eq!(hidden.time.dispatch, Seconds::ZERO);
    scenario.plan.experts.overlap = false;
    let seen = evaluate(&scenario);
    close((seen.step_time - hidden.step_time).get(), seen.time.dispatch.get());
}

/// An exchange whose kernels take a sixth of the device leaves five sixths: compute beside it takes a fifth longer. Of the 24
/// exchanges of a step 24/5 of their time is seen.
#[test]
fn exchanges_slow_the_compute_beside_them() {
    let mut scenario = spread(4);
    scenario.plan.experts.overlap = true;
    let free = evaluate(&scenario).step_time.get();
    let device = &mut Arc::make_mut(&mut scenario.cluster).device;
    device.compute_units = 120;
    let kernels = DispatcherKernels { compute_units: 20, source: String::new() };
    Arc::make_mut(&mut scenario.calibration).dispatchers.insert(Dispatcher::AllToAll, kernels);
    let exchange = 1024.0 * 2.0 * 1024.0 * 2.0 * 0.75 / 100e9;
    let slowed = evaluate(&scenario).step_time.get() - free;
    assert!((slowed / (0.2 * 24.0 * exchange) - 1.0).abs() < 1e-3, "{slowed}");
    // Where nothing computes beside them there is nothing to slow down.
    scenario.plan.experts.overlap = false;
    let seen = evaluate(&scenario).step_time;
    Arc::make_mut(&mut scenario.calibration).dispatchers.clear();
    assert_eq!(seen, evaluate(&scenario).step_time);
}

/// Parameters of all experts that routers choose from.
fn routed_parameters(scenario: &Scenario) -> u64 {
    let of_kind = |kind| scenario.model.part_parameters(kind, LayerPart::Routed).all;
    scenario.model.kinds().map(|(kind, count)| u64::from(count) * of_kind(kind)).sum()
}

/// `DeepSeek-V3` with its experts on so many ranks of a cluster, which have 4,096 tokens each.
fn on_cluster(cluster: &str, calibration: &str, ranks: u32) -> Scenario {
    let library = crate::presets::Library::embedded();
    let mut scenario = spread(1);
    scenario.model = library.model("deepseek-v3").expect("a preset");
    scenario.cluster = library.cluster(cluster).expect("a preset");
    scenario.calibration = library.calibration(calibration).expect("a preset");
    let plan = &mut scenario.plan;
    (plan.size, plan.sequence, plan.experts.ranks) = (Size::Devices(ranks), 4096, ranks);
    scenario
}

/// An exchange of tokens with their experts in a format.
fn exchange(scenario: &Scenario, format: Format) -> Transfer {
    let layout = scenario.layout().expect("it is possible");
    let experts = scenario.model.experts.expect("experts");
    Rates::new(scenario, &Factors::default()).dispatch(&layout, &experts, format)
}

/// A router that may choose any experts.
fn unlimited(scenario: &mut Scenario) {
    let model = Arc::make_mut(&mut scenario.model);
    model.experts = model.experts.map(|experts| Experts { active_groups: None, ..experts });
}

/// Measured exchanges of 4,096 tokens of 7,168 channels in bf16 with 8 of 256 experts, which are drawn at random, means of both
/// ways in microseconds (arXiv 2603.07685, table 7; `DeepEP`, `tests/test_hybrid_ep.py`): `HybridEP` on GB200, of which a rack is
/// one domain of links, and the collective library's all-to-all on H100, which has a message for each of 63 peers and does not
/// take them one after the other.
#[test]
fn exchanges_take_what_was_measured() {
    for (cluster, dispatcher, measured) in [
        ("gb200-nvl72", Dispatcher::HybridEp, [372.0, 552.0, 629.0, 710.0]),
        ("h100-80gb-dgx", Dispatcher::AllToAll, [1265.0, 5774.0, 8059.0, 9164.0]),
    ] {
        for (ranks, measured) in [8, 16, 32, 64].into_iter().zip(measured) {
            let mut scenario = on_cluster(cluster, "measured", ranks);
            scenario.plan.experts.dispatcher = dispatcher;
            unlimited(&mut scenario);
            let off = exchange(&scenario, Format::Bf16).time.get() * 1e6 / measured - 1.0;
            assert!(off.abs() < 0.18, "{cluster} {ranks}: {off:+.2}");
        }
    }
}

/// `DeepEP` on 64 H800, four of eight groups for each token: 109.9 MB dispatched at 51 GB/s, 213.1 MB combined at 50, which
/// count a rank's own node too: 2.15 and 4.26 ms (`DeepEP`, `README.md` of its first version).
#[test]
fn deepep_takes_what_its_authors_print() {
    let mut scenario = on_cluster("h800-80gb", "measured", 64);
    scenario.plan.experts.dispatcher = Dispatcher::DeepEp;
    for (format, printed) in [(Format::Fp8, 2.15e-3), (Format::Bf16, 4.26e-3)] {
        let off = exchange(&scenario, format).time.get() / printed - 1.0;
        assert!(off.abs() < 0.14, "{format}: {off:+.2}");
    }
}

/// The same four exchanges of a layer, for the network: 4,096 x 3.175 x 7,168 = 93.2e6 numbers each, of 1 + 4 / 128 bytes in fp8
/// and 2 in bf16. As `DeepSeek-V3` sends them 2 x (96.1 + 186.5) = 565.2 MB, in bf16 alone 4 x 186.5 = 745.8 MB.
#[test]
fn each_direction_has_a_format() {
    let mut scenario = on_cluster("h800-80gb", "measured", 64);
    scenario.plan.experts.dispatcher = Dispatcher::DeepEp;
    let sent = |scenario: &Scenario| {
        let transfers =
            Rates::new(scenario, &Factors::default()).expert_transfers(&scenario.layout().expect("possible"));
        let (dispatch, combine) = (transfers.dispatch, transfers.combine);
        [dispatch.forward, combine.forward, combine.backward, dispatch.backward].map(|way| way.bytes[1].get() / 1e6)
    };
    let near = |sent: [f64; 4], expected: [f64; 4]| {
        for (sent, expected) in sent.into_iter().zip(expected) {
            assert!((sent - expected).abs() < 0.01, "{sent} for {expected}");
        }
    };
    near(sent(&scenario), [186.46; 4]);
    scenario.plan.experts.formats = Some("fp8+bf16+fp8+bf16".parse().expect("four formats"));
    near(sent(&scenario), [96.14, 186.46, 96.14, 186.46]);
    scenario.plan.experts.formats = Some("fp8".parse().expect("one for all"));
    near(sent(&scenario), [96.14; 4]);
    // A stack's own formats are those of products in 8 bits.
    Arc::make_mut(&mut scenario.stack).dispatch_format = Some(DispatchFormats::TO_EXPERTS_IN_FP8);
    scenario.plan.experts.formats = None;
    near(sent(&scenario), [186.46; 4]);
    scenario.plan.precision = Precision::Fp8;
    near(sent(&scenario), [96.14, 186.46, 96.14, 186.46]);
}

/// A number that is cast to 8 bits is read in 2 bytes and written in 1 + 1/32, or the other way round. To its 8 experts each of
/// 4,096 tokens of 7,168 numbers is cast once, and each of 8 copies where it arrives: 9 x 4,096 x 7,168 x 3.03125 B = 800,980,992
/// B. Back each copy is cast on both sides, 16 rows instead of 9. Products in 8 bits take the copies as they come.
#[test]
fn exchanges_of_fewer_bits_have_casts_around_them() {
    let mut scenario = on_cluster("h800-80gb", "measured", 64);
    let experts = scenario.model.kind(60);
    let mut time = |precision: Precision, formats: &str| {
        scenario.plan.precision = precision;
        scenario.plan.experts.formats = Some(formats.parse().expect("formats"));
        let rates = Rates::new(&scenario, &Factors::default());
        let work = rates.layer(experts);
        let row = rates.memory_pass(Bytes::new(4096.0 * 7168.0 * 3.03125)).get();
        [work.forward, work.backward].map(|work| work.sum().memory.get() / row)
    };
    for (precision, formats, [forward, backward]) in [
        (Precision::Bf16, "fp8+bf16+bf16+bf16", [9.0, 0.0]),
        (Precision::Bf16, "fp8+bf16+fp8+bf16", [9.0, 9.0]),
        (Precision::Bf16, "fp8", [25.0, 25.0]),
        (Precision::Fp8, "fp8+bf16+fp8+bf16", [0.0, 0.0]),
        (Precision::Fp8, "fp8", [16.0, 16.0]),
    ] {
        let [[plain, plain_back], [cast, cast_back]] = ["bf16", formats].map(|formats| time(precision, formats));
        assert!((cast - plain - forward).abs() < 1e-6, "{precision} {formats}: {cast}, {plain}");
        assert!((cast_back - plain_back - backward).abs() < 1e-6, "{precision} {formats}: {cast_back}, {plain_back}");
    }
}

/// 64 ranks of a rack of 72 GB200 exchange over its `NVLink` alone, at the 900 GB/s of a device's port, whichever tray they are in:
/// copies for 64 (1 - C(252, 8) / C(256, 8)) = 7.676 ranks, 63 of 64 of which are others: 7.556 x 4,096 x 7,168 x 2 B take 493 us.
/// A copy for each of 8 experts takes 514. 128 ranks need a second rack, and its network.
#[test]
fn a_rack_of_links_is_one_node_of_experts() {
    let mut scenario = on_cluster("gb200-nvl72", "ideal", 64);
    unlimited(&mut scenario);
    for (dispatcher, time) in [(Dispatcher::HybridEp, 492.98e-6), (Dispatcher::AllToAll, 513.80e-6)] {
        scenario.plan.experts.dispatcher = dispatcher;
        let sent = exchange(&scenario, Format::Bf16);
        assert!((sent.time.get() / time - 1.0).abs() < 1e-4, "{dispatcher}: {}", sent.time);
        assert_eq!(sent.bytes[2], Bytes::ZERO, "{dispatcher}");
    }
    let mut wide = on_cluster("gb200-nvl72", "ideal", 128);
    wide.plan.experts.dispatcher = Dispatcher::HybridEp;
    assert!(exchange(&wide, Format::Bf16).bytes[2].get() > 0.0);
}

/// 64 devices at tensor 4 and context 2 have 8 data ranks. 16 expert ranks of one device each leave 4: their holders of one
/// shard are 16 devices apart. With experts cut over the tensor ranks 16 leave one.
#[test]
fn the_mesh_of_experts_folds_over_data_context_and_tensor_ranks() {
    let mut scenario = spread(4);
    scenario.plan.size = Size::Nodes(16);
    Arc::make_mut(&mut scenario.model).experts = scenario.model.experts.map(|experts| Experts { count: 16, ..experts });
    let plan = &mut scenario.plan;
    (plan.tensor, plan.context, plan.experts.ranks, plan.experts.tensor) = (4, 2, 16, Some(1));
    plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
    let folded = scenario.layout().expect("it is possible").of_experts();
    assert_eq!((folded.tensor, folded.group(), folded.weights, folded.optimizer), (1, 4, 1, 4));
    let group = folded.shard_group(folded.optimizer);
    assert_eq!((group.stride, group.size, folded.expert_group().stride), (16, 4, 1));
    scenario.plan.experts.tensor = None;
    let cut = scenario.layout().expect("it is possible").of_experts();
    assert_eq!((cut.tensor, cut.group(), cut.optimizer, cut.expert_group().stride), (4, 1, 1, 4));
    scenario.plan.experts.ranks = 3;
    let problems = scenario.layout().expect_err("3 do not divide 16 experts");
    assert!(problems.iter().all(|problem| problem.field == "plan.experts"), "{problems:?}");
}

/// Without experts there is nothing to divide.
#[test]
fn a_dense_model_has_no_experts_to_divide() {
    let mut scenario = testing::scenario();
    scenario.plan.experts.ranks = 2;
    let problems = scenario.layout().expect_err("dense");
    assert_eq!(problems[0].to_string(), "plan.experts: Blocks has no experts; choose 1");
}

/// `DeepSeek-V3` over 2,048 devices, 16 pipeline ranks and 64 expert ranks. Of a pipeline rank's 653.909e9 / 16 parameters
/// of routed experts each device has a 64th, 638.58e6; optimizer state of 12 bytes over the two that are left. Of the rest,
/// 17.118e9 / 16, each has all, and a 128th of the state. In bytes for each parameter, with gradients in fp32:
/// 2 + 4 + 12 / 2 and 6 + 12 / 128: 7.663 and 6.519 GB.
#[test]
fn the_state_of_experts_is_sharded_by_what_their_mesh_leaves() {
    let library = crate::presets::Library::embedded();
    let mut scenario = spread(1);
    scenario.model = library.model("deepseek-v3").expect("a preset");
    let stack = Arc::make_mut(&mut scenario.stack);
    stack.gradient_format = Some(crate::plan::Format::Fp32);
    let plan = &mut scenario.plan;
    (plan.size, plan.pipeline, plan.accumulate, plan.experts.ranks) = (Size::Nodes(512), 16, 16, 64);
    plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
    let layout = scenario.layout().expect("it is possible");
    let rates = Rates::new(&scenario, &Factors::default());
    let state = |layout: &Layout, parameters| {
        let all = Parameters { weights: Count::new(parameters), trained: Count::new(parameters), ..Parameters::NONE };
        ModelState::new(&rates, layout, all).total().get()
    };
    let routed = routed_parameters(&scenario);
    assert_eq!(routed, 58 * 256 * 3 * 7168 * 2048);
    close(state(&layout.of_experts(), routed as f64 / 16.0 / 64.0), 638_582_784.0 * (2.0 + 4.0 + 6.0));
    close(state(&layout, 1_069.85e6), 1_069.85e6 * (6.0 + 12.0 / 128.0));
}

/// Two ranks of two stages of two layers warm up with 2 + 2 forwards and hold 5 of 8 when they begin backward; where exchanges hide
/// in passes that are forward of one micro-batch and backward of another, 6: two layers' activations more. 64 H100 that ran 14
/// layers of `DeepSeek-V3` in stages of two peaked at 70,279 MB in place of 68,704 (NVIDIA/Megatron-LM, pull requests 6429 and 6311):
/// 1,575 MB more, where two layers keep 2 x 2,048 x 454,784 B = 1,863 MB.
#[test]
fn combined_passes_hold_a_stage_more() {
    let mut scenario = spread(4);
    scenario.model = Arc::new(testing::of_kinds(testing::model(8, 1024), 1));
    let plan = &mut scenario.plan;
    (plan.size, plan.pipeline, plan.accumulate) = (Size::Nodes(2), 2, 4);
    (plan.schedule, plan.stages_per_rank) = (Schedule::Interleaved, 2);
    let [seen, hidden] = [false, true].map(|hidden| {
        scenario.plan.experts.overlap = hidden;
        evaluate(&scenario).memory.peak.get()
    });
    let layer = Rates::new(&scenario, &Factors::default()).activations(scenario.model.kind(0)).layer.get();
    close(hidden - seen, 2.0 * layer);
}

/// A change to a scenario.
type Change = fn(&mut Scenario);

/// Megatron-LM combines a forward and a backward pass, and asserts against what it cannot combine (`transformer_config.py`).
#[test]
fn what_no_combined_pass_has_is_refused() {
    let library = crate::presets::Library::embedded();
    let problems = |stack: &str, change: fn(&mut Scenario)| {
        let mut scenario = on_cluster("h100-80gb-dgx", "ideal", 64);
        scenario.stack = library.stack(stack).expect("a preset");
        let plan = &mut scenario.plan;
        (plan.size, plan.experts.ranks, plan.experts.overlap, plan.accumulate) = (Size::Devices(128), 64, true, 4);
        (plan.pipeline, plan.schedule, plan.stages_per_rank) = (2, Schedule::Interleaved, 2);
        change(&mut scenario);
        let problems = scenario.checked().err().unwrap_or_default();
        problems.into_iter().map(|problem| problem.to_string()).collect::<Vec<_>>()
    };
    let refused: [(Change, &str); 3] = [
        (|scenario| scenario.plan.recompute = Recompute::Full, "recompute selective"),
        (|scenario| scenario.plan.experts.shared_overlap = true, "shared-expert-overlap off"),
        (|scenario| scenario.plan.stages_per_rank = 1, "interleaved with 2 or more"),
    ];
    for (change, fix) in refused {
        for stack in ["megatron-2024", "megatron-bridge-2025", "megatron-core-2026", "nemo-2025"] {
            let found = problems(stack, change);
            let named = found.len() == 1 && found[0].starts_with("plan.ep_overlap: ") && found[0].contains(fix);
            assert!(named, "{stack}: {found:?} for {fix}");
        }
        assert_eq!(problems("hai-llm-2024", change), [""; 0], "DualPipe is another way");
        let without: Change = |scenario| scenario.plan.experts.overlap = false;
        assert_eq!(problems("megatron-2024", without), [""; 0]);
    }
    assert_eq!(problems("megatron-bridge-2025", |_| {}), [""; 0]);
    assert_eq!(problems("megatron-bridge-2025", |scenario| scenario.plan.recompute = Recompute::Selective), [""; 0]);
}

/// Of 64 ranks with 4 experts each a token of `DeepSeek-V3` reaches 64 x 4/8 (1 - C(124, 8) / C(128, 8)) = 32 x 0.229980 = 7.3594, where
/// C(124, 8) / C(128, 8) = 120 x 119 x 118 x 117 / (128 x 127 x 126 x 125) = 0.770020. To 7 of 8 its copy comes over links of a node: the
/// network, or the token itself, is at the eighth. 6.4394 x 4,096 x 7,168 x 2 B = 378.1 MB.
#[test]
fn no_link_carries_what_the_network_brought_where_it_belongs() {
    let mut scenario = on_cluster("h100-80gb-dgx", "ideal", 64);
    for dispatcher in [Dispatcher::DeepEp, Dispatcher::HybridEp] {
        scenario.plan.experts.dispatcher = dispatcher;
        let copies = exchange(&scenario, Format::Bf16).bytes[0].get() / (4096.0 * 7168.0 * 2.0);
        assert!((copies - 6.4394).abs() < 5e-5, "{dispatcher}: {copies}");
    }
}

/// Two nodes of 4, and experts on the 4 ranks of each: HSDP over a node leaves one holder of each expert in it, and two in all. These
/// are units of FSDP2 as others are, 4 bytes a gradient in fp32, where plain data parallelism has DDP's buckets beside it, 8. Qwen3-30B on
/// 64 devices at 8 expert ranks: 48 x 128 x 3 x 2048 x 768 = 28.99e9 parameters of experts, 3.624e9 on a rank, 14.50 GB.
#[test]
fn gradients_of_experts_in_fsdp_have_no_buckets_of_ddp() {
    let mut scenario = spread(4);
    scenario.plan.size = Size::Nodes(2);
    let stack = Arc::make_mut(&mut scenario.stack);
    (stack.gradient_format, stack.replicated_gradient) = (Some(Format::Fp32), Some(8.0));
    let mut each = |sharding| {
        scenario.plan.sharding = sharding;
        let experts = scenario.layout().expect("possible").of_experts();
        assert_eq!((experts.optimizer, experts.data), (1, 2));
        Rates::new(&scenario, &Factors::default()).gradient_bytes(true, &experts).get()
    };
    let in_node = || testing::sharding(Extent::Node, Extent::Node, Extent::Node);
    close(each(testing::ddp()), 8.0);
    close(each(in_node()), 4.0);
    let library = crate::presets::Library::embedded();
    let qwen = library.model("qwen3-30b-a3b").expect("a preset");
    scenario.model = qwen;
    (scenario.plan.size, scenario.plan.experts.ranks) = (Size::Devices(64), 8);
    scenario.cluster = library.cluster("h100-80gb-dgx").expect("a preset");
    scenario.plan.sharding = in_node();
    let layout = scenario.layout().expect("possible").of_experts();
    let rates = Rates::new(&scenario, &Factors::default());
    let routed = routed_parameters(&scenario);
    let own = Parameters { trained: Count::new(routed as f64 / 8.0), ..Parameters::NONE };
    close(
        ModelState::new(&rates, &layout, own).device.gradients.get(),
        48.0 * 128.0 * 3.0 * 2048.0 * 768.0 / 8.0 * 4.0,
    );
}

/// A token of `DeepSeek-V3` visits 8 of 256 experts. On 8 nodes of 8 devices these lie on 5.295 of the nodes, 4.633 of them
/// others than its own; where the router keeps to 4 groups of experts, one to a node, on 3.629, and 3.175 of them others. On 2
/// nodes of four groups each it reaches 1.926 (hand computation: `distinct` in `cost::experts`), half of them others. On 16 nodes a
/// group lies on two: 16 x 4/8 (1 - C(112, 8) / C(128, 8)) = 5.339, of which 15/16 are others.
#[test]
fn forwarding_inside_nodes_sends_a_token_once_to_each() {
    let copies = |nodes: u32, dispatcher: Dispatcher, limited: bool| {
        let mut scenario = on_cluster("h100-80gb-dgx", "ideal", 8 * nodes);
        scenario.plan.experts.dispatcher = dispatcher;
        if !limited {
            unlimited(&mut scenario);
        }
        exchange(&scenario, Format::Bf16).bytes[1].get() / 4096.0 / 7168.0 / 2.0
    };
    // A copy for each expert: 8 x 56 / 64.
    close(copies(8, Dispatcher::AllToAll, true), 7.0);
    for (nodes, limited, expected) in [(8, true, 3.1754), (8, false, 4.6328), (2, true, 0.9629), (16, true, 5.0056)] {
        let sent = copies(nodes, Dispatcher::DeepEp, limited);
        assert!((sent - expected).abs() < 5e-5, "{nodes} nodes: {sent}");
    }
}
