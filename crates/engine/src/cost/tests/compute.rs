//! Products, layers, the optimizer and the host.

use super::*;
use crate::plan::pass::PerDirection;

/// Time of `m x k` by `k x n` at the peak of the storage format, in elements of two bytes.
fn product(rates: &Rates<'_>, m: f64, n: f64, k: f64) -> DeviceTime {
    let [m, n, k] = [m, n, k].map(Count::new);
    rates.product(MatrixProduct::new(m, n, k), rates.matmul, Bytes::new(2.0))
}

#[test]
fn a_large_product_runs_at_the_peak() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    // 2 x 1024 x 3072 x 1024 flop at 100 TFLOP/s.
    let work = product(&rates, 1024.0, 3072.0, 1024.0);
    close(work.time, 2.0 * 1024.0 * 3072.0 * 1024.0 / 100e12);
    assert_eq!(work.memory, Seconds::ZERO);
}

#[test]
fn a_thin_product_runs_at_the_memorys_pace() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    // One row: 1 x 4096 by 4096 x 4096; (4096 + 4096^2 + 4096) x 2 bytes at 1 TB/s = 33.57 us against 0.34 us.
    let work = product(&rates, 1.0, 4096.0, 4096.0);
    close(work.time, (4096.0 + 4096.0 * 4096.0 + 4096.0) * 2.0 / 1e12);
    close(work.memory, work.time);
}

#[test]
fn whole_waves_round_up() {
    let mut scenario = testing::scenario();
    let efficiency = Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("default");
    (efficiency.wave, efficiency.matmul_depth) = (1.0, 0.0);
    let rates = rates(&scenario);
    // 1024 x 3072: tiles of 128 x 256 are 8 x 12 = 96 on 100 units: one wave of 100 instead of 96.
    let quantised = product(&rates, 1024.0, 3072.0, 1024.0).time;
    close(quantised, 100.0 * 128.0 * 256.0 * 2.0 * 1024.0 / 100e12);
}

/// [osdp C5]: cut along what they sum over, products are thinner and each output but the first is added to the sum: read
/// twice and written once.
#[test]
fn slices_are_thinner_and_add_their_outputs() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    let (m, h) = (rates.tokens().get(), f64::from(scenario.model.hidden));
    let more = |slices: u32, piece: Piece| {
        let [sliced, whole] = [rates.sliced_layer(DENSE, PerPiece::all(slices)), rates.layer(DENSE)];
        (sliced.forward[piece].time - whole.forward[piece].time).get()
    };
    // By piece, the products with h inputs and how many times h outputs: qkv and projection; of the MLP up and down,
    // which has 4 h inputs.
    let products = [(Piece::Mixer, [(h, 3.0 * h), (h, h)]), (Piece::Mlp, [(h, 4.0 * h), (4.0 * h, h)])];
    for (piece, products) in products {
        let additions =
            |slices: f64| products.iter().map(|(_, n)| 3.0 * (slices - 1.0) * m * n * 2.0 / 1e12).sum::<f64>();
        // Products of 256 run at the peak, so that the additions are all that is new.
        assert!((more(4, piece) / additions(4.0) - 1.0).abs() < 1e-6, "{piece:?}: {}", more(4, piece));
        // Of 64 inputs, as thin as 16 slices are where h is 1024, memory sets the pace; of 256, the peak.
        let paced = |(k, n): &(f64, f64)| {
            let k = k / 16.0;
            let memory = (m * k + k * n + m * n) * 2.0 / 1e12;
            16.0 * f64::max(memory, 2.0 * m * n * k / 100e12) - 2.0 * m * n * k * 16.0 / 100e12
        };
        let slower: f64 = products.iter().map(paced).sum();
        assert!(slower > 0.0 && (more(16, piece) / (additions(16.0) + slower) - 1.0).abs() < 1e-6, "{piece:?}");
    }
}

#[test]
fn a_layer_of_blocks_does_two_flop_per_weight_and_token() {
    let scenario = testing::scenario();
    let layer = rates(&scenario).layer(DENSE);
    // 1024 tokens x 12 x 1024^2 weights x 2, and causal attention 2 x 1024 x 1024 x 1024, at 100 TFLOP/s.
    let weights = 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12;
    let attention = 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;
    close(layer.forward.sum().time, weights + attention);
    // Backward: twice the weights', and flash attention's 2.5.
    close(layer.backward.sum().time, 2.0 * weights + 2.5 * attention);
}

/// Each product has as many flop in the gradient of its weight as in that of its input; attention and what is
/// element-wise have no weights. The embedding's are not put off.
#[test]
fn half_of_the_products_backward_is_the_weights() {
    let scenario = testing::scenario();
    let layer = rates(&scenario).layer(DENSE);
    close(layer.weights.sum().time, 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12);
    assert_eq!(rates(&scenario).attention(DENSE, 1).weights, DeviceTime::default());
    assert_eq!(rates(&scenario).embedding().weights, DeviceTime::default());
}

#[test]
fn a_slow_host_and_a_slow_device_make_a_soft_maximum() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).software.host_exponent = 2.0;
    let rates = rates(&scenario);
    close(rates.launch_bound(Seconds::new(3.0), Seconds::new(4.0)), 5.0);
    close(rates.launch_bound(Seconds::new(3.0), Seconds::ZERO), 3.0);
}

#[test]
fn the_optimizer_reads_and_writes_its_state() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).software.optimizer_traffic = 1.0;
    // Per parameter: 12 bytes of state read and written, a gradient read, a weight written: 28 bytes.
    close(rates(&scenario).optimizer(Parameters { trained: Count::new(1e9), ..Parameters::NONE }).time, 28e9 / 1e12);
}

/// Five iterations of `4 m^2 n + 2 m^3` flop: on each of four matrices of 1024 x 1024 in attention `5 x 6 x 1024^3`, on each
/// of two of 1024 x 4096 in the MLP `5 x 18 x 1024^3`; 300 x 1024^3 a layer, 1e14 flop/s.
#[test]
fn muon_makes_updates_orthogonal() {
    let mut scenario = testing::scenario();
    let all = Count::from(scenario.model.parameters());
    let time = |scenario: &Scenario, trained: Count| {
        let muon = if scenario.plan.optimizer == Optimizer::Muon { trained } else { Count::ZERO };
        rates(scenario).optimizer(Parameters { trained, muon, ..Parameters::NONE }).time
    };
    scenario.plan.optimizer = Optimizer::SgdMomentum;
    let plain = time(&scenario, all);
    scenario.plan.optimizer = Optimizer::Muon;
    let flop = 8.0 * 300.0 * 1024.0 * 1024.0 * 1024.0;
    close(time(&scenario, all) - plain, flop / 1e14);
    // Eight ranks have an eighth of the matrices each.
    close(time(&scenario, all / 8.0), (plain.get() + flop / 1e14) / 8.0);
}

#[test]
fn odd_widths_and_depths_are_slower() {
    let scenario = with(|efficiency| efficiency.misalignment = 0.1);
    let rates = rates(&scenario);
    let time = |n: f64, k: f64| product(&rates, 4096.0, n, k).time / (n * k);
    // 1800 = 8 x 225 lacks three powers of two to 64: 30 % slower, on either side.
    close(time(1800.0, 1024.0) / time(1024.0, 1024.0), 1.3);
    close(time(1024.0, 1800.0) / time(1024.0, 1024.0), 1.3);
    close(time(1088.0, 1024.0) / time(1024.0, 1024.0), 1.0);
}

#[test]
fn heads_of_an_odd_size_slow_plain_attention() {
    let mut scenario = with(|efficiency| efficiency.attention_misaligned = 3.0);
    Arc::make_mut(&mut scenario.stack).attention = Attention::Plain;
    // Both products over the square: 4 x 1024^3 flop; without the bytes of the scores.
    close(rates(&scenario).attention(DENSE, 1).forward.time, 4.0 * 1024.0_f64.powi(3) / 100e12);
    Arc::make_mut(&mut scenario.model).head_size = 63;
    close(rates(&scenario).attention(DENSE, 1).forward.time, 3.0 * 4.0 * 1024.0 * 1024.0 * 1008.0 / 100e12);
}

#[test]
fn softmax_is_fused_in_fours() {
    let mut scenario = with(|efficiency| efficiency.attention_score_bytes = 10.0);
    Arc::make_mut(&mut scenario.stack).attention = Attention::FusedSoftmax;
    Arc::make_mut(&mut scenario.calibration)
        .runtimes
        .insert("none".to_owned(), Runtime { layer: Seconds::new(1e-3), ..Runtime::IDEAL });
    assert_eq!(rates(&scenario).attention, Attention::FusedSoftmax);
    close(rates(&scenario).host_layer(), 1e-3);
    // 16 heads over 8 ranks, one sequence: 2 are no multiple of 4.
    scenario.plan.tensor = 8;
    assert_eq!(rates(&scenario).attention, Attention::Plain);
    close(rates(&scenario).host_layer(), 1.3e-3);
    scenario.plan.micro_batch = 2;
    assert_eq!(rates(&scenario).attention, Attention::FusedSoftmax);
}

#[test]
fn the_slowest_of_many_nodes_sets_the_pace() {
    let mut scenario = testing::scenario();
    let alone = rates(&scenario).layer(DENSE).forward[Piece::Mixer].time;
    Arc::make_mut(&mut scenario.calibration).software.stragglers = 0.05;
    // Two nodes: one doubling.
    close(rates(&scenario).layer(DENSE).forward[Piece::Mixer].time, 1.05 * alone);
    scenario.plan.size = crate::plan::Size::Nodes(16);
    close(rates(&scenario).layer(DENSE).forward[Piece::Mixer].time, 1.2 * alone);
}

#[test]
fn a_step_costs_the_host_a_time_and_a_broadcast_per_shard() {
    let mut scenario = testing::scenario();
    let runtime = Runtime { step: Seconds::new(0.1), step_per_shard: Seconds::new(1e-3), ..Runtime::IDEAL };
    Arc::make_mut(&mut scenario.calibration).runtimes.insert("none".to_owned(), runtime);
    close(rates(&scenario).host_step(64), 0.164);
    close(rates(&scenario).host_step(1), 0.1);
}

/// A toy layer of 1,024 x 1,024 tokens and channels whose gate is not fused: 7 passes of 2 MiB in its attention half take as
/// long as the gated entry says, half as long without a gate.
#[test]
fn gates_that_are_not_fused_move_more() {
    let attention = |gated: bool| {
        let mut scenario = testing::scenario();
        Arc::make_mut(&mut scenario.model).gated = gated;
        Arc::make_mut(&mut scenario.stack).element_wise_gated = Some("unfused".to_owned());
        let entries = [("none".to_owned(), 0.5), ("unfused".to_owned(), 1.0)];
        Arc::make_mut(&mut scenario.calibration).element_wise.extend(entries);
        rates(&scenario).layer(DENSE).forward[Piece::Mixer].memory
    };
    close(attention(true), 7.0 * 2.0 * 1024.0 * 1024.0 / 1e12);
    close(attention(false), 3.5 * 2.0 * 1024.0 * 1024.0 / 1e12);
}

/// Llama of 1.34 billion parameters on 512 H100s under nanotron (16 layers, tp 2, pp 2, 128 data-parallel ranks): a rank has
/// 8 layers of 6 tensors in 128 slices each, 6,144 of them at four times 5 us.
#[test]
fn the_host_cuts_every_tensor_into_slices() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.model).layers = 16;
    scenario.plan.pipeline = 2;
    let sliced = StateDivision { tensors: TensorDivision::Sliced, per_layer: 6.0 };
    Arc::make_mut(&mut scenario.stack).division = Some(sliced);
    close(rates(&scenario).host_step(128), 6144.0 * 20e-6);
    assert_eq!(rates(&scenario).host_step(1), Seconds::ZERO);
}

/// The kernels of a layer are what its sublayers sum up, whatever the attention, the experts and the ranks.
#[test]
fn the_kernels_of_a_layer_add_up_to_it() {
    let library = Library::embedded();
    for changes in [
        &[][..],
        &[("model", "mixtral-8x7b"), ("nodes", "2"), ("tp", "4")],
        &[("stack", "megatron-2021"), ("hardware", "a100-80gb-dgx")],
        &[("cp", "4"), ("seq", "32768"), ("precision", "fp8"), ("micro-batch", "2")],
    ] {
        let mut file = file::parse(&library.scenario_text("default").unwrap().text).unwrap();
        for (flag, value) in changes {
            file.set(flag, value).unwrap();
        }
        let scenario = library.resolve(&file).unwrap();
        let rates = rates(&scenario);
        for (kind, _) in scenario.model.kinds() {
            let layer = rates.layer(kind);
            let PerDirection { forward, backward } = rates.kernels(kind);
            for (kernels, sublayers) in [(forward, layer.forward), (backward, layer.backward)] {
                close(kernels.iter().map(|kernel| kernel.time.time).sum::<Seconds>(), sublayers.sum().time);
                let bound_by_memory = kernels.iter().map(|kernel| kernel.time.memory).sum::<Seconds>();
                close(bound_by_memory, sublayers.sum().memory);
            }
        }
    }
}

/// 1024 tokens of width 1024, blocks of 4 x 1024: up is 2 x 1024 x 4096 x 1024 flop and moves
/// (1024 x 1024 + 1024 x 4096 + 1024 x 4096) x 2 bytes; backward is twice both. Causal flash attention is half of
/// 4 x 1024 x 1024 x 1024 flop forward and 2.5 times that backward, and moves no scores.
#[test]
fn each_kernel_says_what_it_computes_and_moves() {
    let scenario = testing::scenario();
    let PerDirection { forward, backward } = rates(&scenario).kernels(DENSE);
    let names: Vec<&str> = forward.iter().map(|kernel| kernel.name.as_str()).collect();
    // The ideal stack has no element-wise traffic.
    assert_eq!(names, ["queries, keys and values", "flash attention", "output projection", "MLP's up", "MLP's down"]);
    close(forward[3].flop.get(), 2.0 * 1024.0 * 4096.0 * 1024.0);
    close(forward[3].bytes, Bytes::new((1024.0 * 1024.0 + 2.0 * 1024.0 * 4096.0) * 2.0));
    close(backward[3].flop.get(), 2.0 * forward[3].flop.get());
    close(backward[3].bytes, forward[3].bytes * 2.0);
    close(forward[1].flop.get(), 0.5 * 4.0 * 1024.0 * 1024.0 * 1024.0);
    close(backward[1].flop.get(), 2.5 * forward[1].flop.get());
    assert_eq!(forward[1].bytes, Bytes::ZERO);
    // At the peak of 100 TFLOP/s: all of them are bound by arithmetic.
    close(forward[3].flop / forward[3].time.time / forward[3].peak, 1.0);
}

fn net(full_every: u32) -> GatedDeltaNet {
    GatedDeltaNet {
        key_heads: 2,
        value_heads: 4,
        key_head: 16,
        value_head: 32,
        conv: 4,
        full_every,
        full_last: false,
        gate_rank: None,
    }
}

/// A gated delta net of 2 heads of keys and 4 of values, of 16 and 32 channels. A head's token takes
/// `2 x 64 (3 x 16 + 2 x 32) + 6 x 512 + 64^2 / 3` flop, the convolution of 192 channels `2 x 4 x 192`; backward
/// `2 x 64 (16 + 32) + 4 x 512` more than twice the head's, and the convolution's twice. It moves 7 keys, 6 values, 6 rows of
/// a chunk and 2 / 64 of a state, the channels twice and 128 values 3 times: 3,584 elements of 2 bytes; backward 5,120.
#[test]
fn a_gated_delta_net_takes_what_its_kernels_move() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.model).delta_net = Some(net(2));
    let rates = rates(&scenario);
    let kind = LayerKind::new(Mixer::Recurrent, LayerMlp::Plain);
    let tokens = rates.tokens().get();
    let PerDirection { forward, backward } = rates.attention_work(kind, scenario.plan.micro_batch);
    let head = 14_336.0 + 3072.0 + 4096.0 / 3.0;
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value} for {expected}");
    near(forward.flop.get(), tokens * (4.0 * head + 1536.0));
    near(backward.flop.get(), tokens * (4.0 * (8192.0 + 2.0 * head) + 3072.0));
    near(forward.bytes.get(), tokens * 7168.0);
    near(backward.bytes.get(), tokens * 10_240.0);
    // At 1 TB/s that is ten times the arithmetic at 100 TFLOP/s.
    let passes = rates.attention(kind, scenario.plan.micro_batch);
    near(passes.forward.memory.get(), tokens * 7168.0 / 1e12);
    assert_eq!(passes.forward.time, passes.forward.memory);
    // Half of the rate of memory takes twice the time.
    let mut slow = scenario.clone();
    Arc::make_mut(&mut slow.calibration).architectures.get_mut("default").expect("default").delta_rule = Some(0.5);
    near(self::rates(&slow).attention(kind, slow.plan.micro_batch).forward.time.get(), tokens * 2.0 * 7168.0 / 1e12);
    // The input and output of a norm of 1024, 328 columns in, and 4 x (2 x 16 + 3 x 32 + 64) between: 2 bytes each.
    near(rates.activations(kind).pieces[Piece::Mixer].whole.get(), tokens * 2.0 * (2048.0 + 328.0 + 768.0));
}

/// The same with a decay for each channel, out of 8 numbers. By kernel 17 keys, 6 values, 4 rows of a chunk and 2 / 64 of a
/// state move for a head, backward 55, 15, 11 and 4 / 64: with channels and values as before 3,712 elements of 2 bytes, and
/// 9,600. The arithmetic is the same.
#[test]
fn decays_of_channels_move_more_and_compute_as_much() {
    let mut scenario = testing::scenario();
    let net = GatedDeltaNet { gate_rank: Some(8), ..net(2) };
    Arc::make_mut(&mut scenario.model).delta_net = Some(net);
    let rates = rates(&scenario);
    let kind = LayerKind { mlp: LayerMlp::Plain, mixer: Mixer::Recurrent, frozen: false };
    let tokens = rates.tokens().get();
    let PerDirection { forward, backward } = rates.attention_work(kind, scenario.plan.micro_batch);
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value} for {expected}");
    let head = 14_336.0 + 3072.0 + 4096.0 / 3.0;
    near(forward.flop.get(), tokens * (4.0 * head + 1536.0));
    // 4 x (17 x 16 + 6 x 32 + 4 x 64 + 2 x 8) + 2 x 192 + 3 x 128.
    near(forward.bytes.get(), tokens * 2.0 * 3712.0);
    // 4 x (55 x 16 + 15 x 32 + 11 x 64 + 4 x 8) + 3 x 192 + 5 x 128.
    near(backward.bytes.get(), tokens * 2.0 * 9600.0);
    // A norm of 1024 in and out; 192 channels, 4 numbers and two narrow gates in; 64 decays and a gate of 128; and
    // 4 x (2 x 16 + 3 x 32 + 2 x 64) between.
    let kept = 2048.0 + 212.0 + 192.0 + 1024.0;
    near(rates.activations(kind).pieces[Piece::Mixer].whole.get(), tokens * 2.0 * kept);
}

/// Latent attention of 16 heads over 64 compressed channels, 32 with positions, to 128 of 1024 tokens: 1/8 (2 - 1/8) of the
/// causal half. Its products are 64 + 32 wide and 64; the indexer has 2 heads of 32: 1024 x (64 + 32 + 2) weights.
#[test]
fn an_indexer_scores_all_tokens_and_attention_reads_the_best() {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::of_kinds((*scenario.model).clone(), 8));
    let pairs = 0.5 * 1024.0 * 1024.0;
    let (chosen, weights) = (0.234_375 * pairs, 1024.0 * 100_352.0);
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value} for {expected}");
    for ranks in [1, 2] {
        scenario.plan.tensor = ranks;
        let tensor = f64::from(ranks);
        let rates = rates(&scenario);
        let PerDirection { forward, backward } = rates.attention_work(DENSE, 1);
        // Queries by keys and scores by values, 2 flop each.
        near(forward.flop.get(), 2.0 * chosen * 16.0 * (96.0 + 64.0) / tensor);
        near(backward.flop.get(), 2.5 * forward.flop.get());
        // Tensor ranks share the heads of attention, and what the indexer learns of them, but none of the indexer.
        let PerDirection { forward, backward } = rates.indexer_work(DENSE, 1).expect("an indexer");
        near(forward.flop.get(), 2.0 * weights + pairs * 128.0 + chosen * 2.0 * 16.0 * 96.0 / tensor);
        near(backward.flop.get(), 2.0 * weights + 3.0 * chosen * 128.0);
        near(forward.bytes.get(), 8.0 * pairs);
        near(backward.bytes.get(), 8.0 * chosen);
        let both = rates.core(DENSE, 1) + rates.indexer(DENSE, 1);
        assert_eq!(rates.attention(DENSE, 1).backward, both.backward);
        // A norm of 1024 in and out; queries of 1024, 96 compressed and 64 behind their norm; 16 queries of 96; 1024 and 16 x 64
        // of output; and of the indexer 64 + 2 x 32 + 2, and 128 numbers of 4 bytes.
        let stream = 2048.0 / f64::from(rates.sequence_ranks());
        let (split, whole) = (1024.0 + 96.0 + 64.0 + 1536.0 + 2048.0, 130.0 + 256.0);
        let kept = rates.activations(DENSE).pieces[Piece::Mixer];
        near(kept.whole.get(), rates.tokens().get() * 2.0 * (stream + split / tensor + whole));
    }
}

/// A state space of 4 heads of 32 channels, states of 16, two groups, chunks of 64. Forward takes
/// `2 (64 x 32 + 64 x 128 + 2 x 16 x 128)` flop, and `2 x 4 x 192` in the convolution; backward
/// `2 (3 x 64 x 32 + 3 x 64 x 128 + 5 x 16 x 128)` and three convolutions. Forward moves 2 x 192 channels, 7 x 128 of heads,
/// 4 x 32 of groups, 4 rows of 2 x 64 and 6 x 32 of states: 2,112 elements of 2 bytes; backward
/// 5 x 192 + 20 x 128 + 19 x 32 + 12 x 128 + 17 x 32 = 6,208.
#[test]
fn a_state_space_takes_what_its_kernels_move() {
    let mut scenario = testing::scenario();
    let model = Arc::make_mut(&mut scenario.model);
    model.mamba = Some(Mamba { heads: 4, head: 32, state: 16, groups: 2, conv: 4, chunk: 64 });
    let rates = rates(&scenario);
    let kind = LayerKind::new(Mixer::Recurrent, LayerMlp::None);
    let tokens = rates.tokens().get();
    let PerDirection { forward, backward } = rates.attention_work(kind, scenario.plan.micro_batch);
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value} for {expected}");
    near(forward.flop.get(), tokens * (28_672.0 + 1536.0));
    near(backward.flop.get(), tokens * (81_920.0 + 4608.0));
    near(forward.bytes.get(), tokens * 4224.0);
    near(backward.bytes.get(), tokens * 12_416.0);
    // At 1 TB/s, and at a quarter of it where scans reach no more.
    near(rates.attention(kind, scenario.plan.micro_batch).forward.time.get(), tokens * 4224.0 / 1e12);
    let mut slow = scenario.clone();
    Arc::make_mut(&mut slow.calibration).architectures.get_mut("default").expect("default").scan = Some(0.25);
    near(self::rates(&slow).attention(kind, slow.plan.micro_batch).forward.time.get(), tokens * 4.0 * 4224.0 / 1e12);
    // The input and output of a norm of 1024, 324 columns in, and 3 x 128 between: 2 bytes each. There is no MLP.
    let kept = rates.activations(kind).pieces;
    near(kept[Piece::Mixer].whole.get(), tokens * 2.0 * (2048.0 + 324.0 + 384.0));
    assert_eq!((kept[Piece::Mlp], rates.layer(kind).forward[Piece::Mlp]), Default::default());
}

/// A layer of 1 ms and micro-batches of 2 ms: graphs of layers leave the half of a layer that has experts, those of a whole
/// iteration nothing.
#[test]
fn graphs_spare_the_host_its_launches() {
    let mut scenario = testing::scenario();
    let calibration = Arc::make_mut(&mut scenario.calibration);
    calibration.runtimes.insert("none".to_owned(), Runtime { layer: Seconds::new(1e-3), ..Runtime::IDEAL });
    calibration.software.micro_batch = Seconds::new(2e-3);
    let routed = LayerKind { mlp: LayerMlp::Experts, ..DENSE };
    for (graphs, mlp, experts, micro_batch) in [
        (CudaGraphs::None, 0.5e-3, 0.5e-3, 2e-3),
        (CudaGraphs::Layer, 0.0, 0.5e-3, 2e-3),
        (CudaGraphs::Full, 0.0, 0.0, 0.0),
    ] {
        scenario.plan.cuda_graphs = graphs;
        let rates = rates(&scenario);
        assert_eq!(rates.host_piece(Piece::Mlp, DENSE), Seconds::new(mlp), "{graphs}");
        assert_eq!(rates.host_piece(Piece::Mlp, routed), Seconds::new(experts), "{graphs}");
        assert_eq!(rates.host_micro_batch(), Seconds::new(micro_batch), "{graphs}");
    }
}

/// A layer of 1 ms, experts of 2 ms, and 0.1 ms for each of the 16 experts of a rank, of 64 on 4, in 8 bits: 0.5 + 2 + 1.6 ms.
#[test]
fn the_host_launches_experts() {
    let mut scenario = testing::scenario();
    let runtime = Runtime {
        layer: Seconds::new(1e-3),
        experts: Seconds::new(2e-3),
        each_expert: Seconds::new(1e-4),
        ..Runtime::IDEAL
    };
    Arc::make_mut(&mut scenario.calibration).runtimes.insert("none".to_owned(), runtime);
    let mut model = testing::of_kinds(testing::model(6, 1024), 1);
    model.experts = model.experts.map(|experts| Experts { count: 64, ..experts });
    scenario.model = Arc::new(model);
    scenario.plan.experts.ranks = 4;
    let routed = LayerKind { mlp: LayerMlp::Experts, ..DENSE };
    for (precision, graphs, attention, experts) in [
        (Precision::Bf16, CudaGraphs::None, 0.5e-3, 2.5e-3),
        (Precision::Fp8, CudaGraphs::None, 0.5e-3, 4.1e-3),
        (Precision::Fp8, CudaGraphs::Layer, 0.0, 4.1e-3),
        (Precision::Fp8, CudaGraphs::Full, 0.0, 0.0),
    ] {
        (scenario.plan.precision, scenario.plan.cuda_graphs) = (precision, graphs);
        let rates = rates(&scenario);
        for (piece, wanted) in [(Piece::Mixer, attention), (Piece::Experts, experts)] {
            let host = rates.host_piece(piece, routed).get();
            assert!((host - wanted).abs() < 1e-12, "{precision} {graphs}: {host}");
        }
    }
}

/// Eager passes over 1,024 x 1,024 elements of two bytes at 1 TB/s, seven in each half of a layer, cost a tenth where a compiler
/// fuses them; the loss moves 8 bytes per logit in the place of 30 where it is compiled too.
#[test]
fn compiled_layers_move_less_and_a_compiled_loss_too() {
    let mut scenario = testing::scenario();
    let calibration = Arc::make_mut(&mut scenario.calibration);
    calibration.element_wise.extend([("none".to_owned(), 1.0), ("fused".to_owned(), 0.1)]);
    calibration.loss.extend([("none".to_owned(), 30.0), ("fused".to_owned(), 8.0)]);
    let stack = Arc::make_mut(&mut scenario.stack);
    (stack.element_wise_compiled, stack.loss_compiled) = (Some("fused".to_owned()), Some("fused".to_owned()));
    let pass = 2.0 * 1024.0 * 1024.0 / 1e12;
    for (compile, passes, loss) in [(Compile::Off, 7.0, 30.0), (Compile::Layer, 0.7, 30.0), (Compile::On, 0.7, 8.0)] {
        scenario.plan.compile = compile;
        let rates = rates(&scenario);
        close(rates.layer(DENSE).forward[Piece::Mixer].memory, passes * pass);
        close(rates.calibrated.loss, loss);
    }
}
