//! Costs against hand-worked values on the toy cluster: nodes of 4, 100 TFLOP/s, 1 TB/s, 100 GB/s in
//! the node, 10 GB/s per device out of it, hops of 1 us.

use std::sync::Arc;

use super::*;
use crate::hardware::{Group, MeasuredLevel, Ramp};
use crate::plan::{Format, Optimizer, Recompute, Size};
use crate::scenario::Scenario;
use crate::stack::{AllReduceForm, Attention, Efficiency, GatherForm, Runtime, Selective};
use crate::testing;
use crate::units::{Bytes, BytesPerSecond, Count, Seconds};

use super::matmul::Product;

fn close(value: impl Base, expected: impl Base) {
    let (value, expected) = (value.base(), expected.base());
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
}

/// A number, or the number of base units of a quantity.
trait Base {
    fn base(self) -> f64;
}

impl Base for f64 {
    fn base(self) -> f64 {
        self
    }
}

impl Base for Seconds {
    fn base(self) -> f64 {
        self.get()
    }
}

impl Base for Bytes {
    fn base(self) -> f64 {
        self.get()
    }
}

fn payload(elements: f64, format: Format) -> Payload {
    Payload::plain(Count::new(elements), format)
}

/// Time of `m x k` by `k x n` at the peak of the storage format, in elements of two bytes.
fn product(rates: &Rates<'_>, m: f64, n: f64, k: f64) -> DeviceTime {
    let [m, n, k] = [m, n, k].map(Count::new);
    rates.product(Product { m, n, k }, rates.matmul, Bytes::new(2.0))
}

/// The toy scenario with the hardware's latencies.
fn with_latency() -> Scenario {
    let mut scenario = testing::scenario();
    let calibration = Arc::make_mut(&mut scenario.calibration);
    for efficiency in calibration.architectures.values_mut() {
        (efficiency.latency, efficiency.latency_between) = (1.0, 1.0);
    }
    scenario
}

fn rates(scenario: &Scenario) -> Rates<'_> {
    Rates::new(scenario, &Factors::default())
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

#[test]
fn a_flat_ring_is_as_slow_as_its_slowest_level() {
    let scenario = with_latency();
    let rates = rates(&scenario);
    // 8 ranks on 2 nodes, 80 MB: each receives 70 MB. All four devices of a node share the ring's way
    // out: 4 x 10 GB/s. 70 MB / 40 GB/s = 1.75 ms; 7 hops of 1 us, one of them between the nodes.
    let transfer = rates.gather(payload(40e6, Format::Bf16), Group { stride: 1, size: 8 });
    close(transfer.received, 70e6);
    close(transfer.time, 70e6 / 40e9 + 7e-6);
    close(transfer.busy[1], 70e6 / 40e9);
    close(transfer.busy[0], 70e6 / 100e9);
    // 6 of the 8 edges are inside a node, 2 between nodes.
    close(transfer.bytes[0], 70e6 * 6.0 / 8.0);
    close(transfer.bytes[1], 70e6 * 2.0 / 8.0);
}

#[test]
fn one_rank_per_node_has_one_port() {
    let scenario = testing::scenario();
    // Devices 0 and 4: 40 MB of 80 MB over 10 GB/s.
    let transfer = rates(&scenario).gather(payload(40e6, Format::Bf16), Group { stride: 4, size: 2 });
    close(transfer.time, 40e6 / 10e9);
    assert_eq!(transfer.busy[0], Seconds::ZERO);
}

#[test]
fn an_all_reduce_is_two_passes_or_a_tree() {
    let mut scenario = with_latency();
    let group = Group { stride: 1, size: 8 };
    let ring = rates(&scenario).all_reduce(payload(40e6, Format::Bf16), group);
    close(ring.time, 2.0 * (70e6 / 40e9 + 7e-6));
    // A small one: the tree's 2 (log2 4 + log2 2) hops beat the ring's 14.
    Arc::make_mut(&mut scenario.stack).collectives.all_reduce = vec![AllReduceForm::Ring, AllReduceForm::Tree];
    let rates = rates(&scenario);
    let tree = rates.all_reduce(payload(10.0, Format::Bf16), group);
    assert_eq!(tree.form, CollectiveForm::Tree);
    // Between two nodes each byte passes once each way.
    close(tree.time, 6e-6 + 20.0 / 40e9);
    close(rates.all_reduce(payload(40e6, Format::Bf16), group).time, 6e-6 + 80e6 / 40e9);
    // Among four, the ring's 2 x 15 / 16 beat the trees' 2.
    let large = rates.all_reduce(payload(40e6, Format::Bf16), Group { stride: 1, size: 16 });
    assert_eq!(large.form, CollectiveForm::Ring);
}

/// 80 MB over 4 nodes of 4. Inside a node 60 MB at 100 GB/s each way: 1.2 ms and 6 hops of 1 us. Between them each rank
/// sends its 20 MB up at 10 GB/s while the sum comes down: 2 ms and 2 hops, where rings take 2 x 75 / 40 = 3.75 ms in all.
#[test]
fn switches_that_add_up_take_each_byte_once() {
    let mut scenario = with_latency();
    let (payload, group) = (payload(40e6, Format::Bf16), Group { stride: 1, size: 16 });
    let form = |scenario: &Scenario| rates(scenario).all_reduce(payload, group).form;
    assert_eq!(form(&scenario), CollectiveForm::Ring);
    Arc::make_mut(&mut scenario.cluster).levels[1].sharp = true;
    let summed = rates(&scenario).all_reduce(payload, group);
    assert_eq!(summed.form, CollectiveForm::Sharp);
    close(summed.time, 1.2e-3 + 6e-6 + 2e-3 + 2e-6);
    close(summed.bytes[1], 20e6);
    // A group inside a node has nothing to do with the switches between nodes.
    let inside = rates(&scenario).all_reduce(payload, Group { stride: 1, size: 4 });
    assert_eq!(inside.form, CollectiveForm::Ring);
    // A node whose switches add up reaches more than rings do: 1.25 for 1.
    Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("default").wire_all_reduce = 1.25;
    assert_eq!(rates(&scenario).all_reduce(payload, Group { stride: 1, size: 4 }).form, CollectiveForm::NodeSwitches);
}

/// NCCL's PAT serves groups with one rank per node: 64 of them take log2(64) = 6 hops of 1 us, not 63. Two ranks of each
/// node go around the ring, however small the message is.
#[test]
fn aggregated_trees_serve_one_rank_of_each_node() {
    let mut scenario = with_latency();
    scenario.plan.size = Size::Nodes(64);
    Arc::make_mut(&mut scenario.stack).collectives.gather = vec![GatherForm::Ring, GatherForm::Pat];
    let rates = rates(&scenario);
    let [alone, paired] = [(4, 64), (2, 128)].map(|(stride, size)| {
        let small = rates.gather(payload(10.0, Format::Bf16), Group { stride, size });
        (small.form, small.time)
    });
    assert_eq!((alone.0, paired.0), (CollectiveForm::Pat, CollectiveForm::Ring));
    close(alone.1, 6e-6 + 20.0 * 63.0 / 64.0 / 10e9);
}

#[test]
fn a_hierarchical_gather_crosses_nodes_once() {
    let mut scenario = with_latency();
    Arc::make_mut(&mut scenario.stack).collectives.hierarchical = true;
    // 8 bytes: flat 7 hops; level by level 1 hop between nodes and 3 inside.
    let transfer = rates(&scenario).gather(payload(4.0, Format::Bf16), Group { stride: 1, size: 8 });
    assert_eq!(transfer.form, CollectiveForm::Hierarchical);
    // Across: 2 bytes of payload per column, half received, 10 GB/s. Inside: 8 bytes, 6 received, 100 GB/s.
    close(transfer.time, 4e-6 + 1.0 / 10e9 + 6.0 / 100e9);
}

#[test]
fn two_hops_send_each_byte_across_once() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    let group = Group { stride: 1, size: 8 };
    // int4, 80 MB. One hop: each device sends 10 MB to each of 4 devices of the other node.
    let one = rates.all_to_all(payload(160e6, Format::Int4), group, false);
    close(one.bytes[1], 40e6);
    close(one.time, 40e6 / 10e9);
    // Two: 20 MB to each of 3 neighbours, then a quarter of the payload, half of it across: 10 MB.
    let two = rates.all_to_all(payload(160e6, Format::Int4), group, true);
    close(two.bytes[0], 60e6);
    close(two.bytes[1], 10e6);
    close(two.time, 60e6 / 100e9 + 10e6 / 10e9);
}

#[test]
fn the_first_hop_stays_in_the_node_whatever_levels_it_has() {
    let mut scenario = testing::scenario();
    let levels = &mut Arc::make_mut(&mut scenario.cluster).levels;
    levels.insert(0, crate::hardware::Level { name: "package".to_owned(), members: Some(2), ..levels[0].clone() });
    levels[1].members = Some(2);
    let group = Group { stride: 1, size: 8 };
    // Nodes of two packages of two; int4, 80 MB: 20 MB to the one neighbour in the package and to each of
    // two beside it, then a quarter of the payload, half of it across.
    let transfer = rates(&scenario).all_to_all(payload(160e6, Format::Int4), group, true);
    close(transfer.bytes[0], 20e6);
    close(transfer.bytes[1], 40e6);
    close(transfer.bytes[2], 10e6);
}

#[test]
fn a_broadcast_sends_the_whole_payload_past_every_rank() {
    let scenario = with_latency();
    let group = Group { stride: 1, size: 8 };
    let transfer = rates(&scenario).broadcast(payload(40e6, Format::Bf16), group);
    // 80 MB past the nodes' way out at 40 GB/s, and 7 hops.
    close(transfer.time, 80e6 / 40e9 + 7e-6);
    close(transfer.received, 80e6);
    let alone = rates(&scenario).broadcast(payload(40e6, Format::Bf16), Group { stride: 1, size: 1 });
    assert_eq!(alone, Transfer::default());
}

#[test]
fn a_neighbour_in_another_node_is_reached_through_one_port() {
    let scenario = with_latency();
    // Device 0 to device 4: 10 MB at 10 GB/s and one hop; device 0 to device 1: at 100 GB/s.
    let (nodes, devices) = (Group { stride: 4, size: 2 }, Group { stride: 1, size: 4 });
    let network = rates(&scenario).network;
    let across = rates(&scenario).send(Bytes::new(10e6), nodes, network.joining(nodes, 0, 1));
    close(across.time, 10e6 / 10e9 + 1e-6);
    let inside = rates(&scenario).send(Bytes::new(10e6), devices, network.joining(devices, 0, 1));
    close(inside.time, 10e6 / 100e9 + 1e-6);
}

/// Frontier: two GCDs of a package are 200 GB/s apart, and 50 GB/s at best from those of the next.
#[test]
fn a_neighbour_in_another_package_is_reached_between_packages() {
    let mut scenario = with_latency();
    scenario.cluster = crate::presets::Library::embedded().cluster("mi250x-frontier").expect("a preset");
    let (rates, pipeline) = (rates(&scenario), Group { stride: 1, size: 4 });
    let busy = |rank: u32| {
        let level = rates.network.joining(pipeline, rank, rank + 1);
        rates.send(Bytes::new(10e6), pipeline, level).busy[level]
    };
    close(busy(1) / busy(0), 200.0 / 50.0);
    close(busy(2), busy(0));
}

#[test]
fn a_quantised_payload_carries_its_scales() {
    // 8000 elements in blocks of 2000: 8000 bytes and four scales of 4 bytes.
    let quantised = Payload { block: Count::new(2000.0), ..payload(8000.0, Format::Int8) };
    close(quantised.bytes(), 8016.0);
    close(payload(8000.0, Format::Bf16).bytes(), 16000.0);
}

/// [frontier addendum]: `k (1 + sc)` collectives for a quantised gather whose scales travel apart, `k` for any other.
#[test]
fn scales_that_travel_apart_start_a_collective_each() {
    let time = |separate: bool, format: Format| {
        let mut scenario = with_latency();
        Arc::make_mut(&mut scenario.stack).collectives.separate_scales = separate;
        let payload = Payload { parts: Count::new(4.0), ..payload(8e6, format) };
        rates(&scenario).gather(payload, Group { stride: 1, size: 4 }).time
    };
    // Four more of 3 hops of 1 us.
    assert!(((time(true, Format::Int8) - time(false, Format::Int8)).get() - 4.0 * 3e-6).abs() < 1e-12);
    close(time(true, Format::Bf16), time(false, Format::Bf16));
}

/// [osdp C5]: cut along what they sum over, products are thinner and each output but the first is added to the sum: read
/// twice and written once.
#[test]
fn slices_are_thinner_and_add_their_outputs() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    let (m, h) = (rates.tokens().get(), f64::from(scenario.model.hidden));
    let more = |slices: u32, half: usize| {
        (rates.sliced_layer([slices; 2]).forward[half].time - rates.layer().forward[half].time).get()
    };
    // By half, the products with h inputs and how many times h outputs: qkv and projection; of the MLP up and down, which
    // has 4 h inputs.
    let products = [[(h, 3.0 * h), (h, h)], [(h, 4.0 * h), (4.0 * h, h)]];
    for (half, products) in products.into_iter().enumerate() {
        let additions =
            |slices: f64| products.iter().map(|(_, n)| 3.0 * (slices - 1.0) * m * n * 2.0 / 1e12).sum::<f64>();
        // Products of 256 run at the peak, so that the additions are all that is new.
        assert!((more(4, half) / additions(4.0) - 1.0).abs() < 1e-6, "{half}: {}", more(4, half));
        // Of 64 inputs, as thin as 16 slices are where h is 1024, memory sets the pace; of 256, the peak.
        let paced = |(k, n): &(f64, f64)| {
            let k = k / 16.0;
            let memory = (m * k + k * n + m * n) * 2.0 / 1e12;
            16.0 * f64::max(memory, 2.0 * m * n * k / 100e12) - 2.0 * m * n * k * 16.0 / 100e12
        };
        let slower: f64 = products.iter().map(paced).sum();
        assert!(slower > 0.0 && (more(16, half) / (additions(16.0) + slower) - 1.0).abs() < 1e-6, "{half}");
    }
}

#[test]
fn a_layer_of_blocks_does_two_flop_per_weight_and_token() {
    let scenario = testing::scenario();
    let layer = rates(&scenario).layer();
    // 1024 tokens x 12 x 1024^2 weights x 2, and causal attention 2 x 1024 x 1024 x 1024, at 100 TFLOP/s.
    let weights = 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12;
    let attention = 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;
    close(layer.forward[0].time + layer.forward[1].time, weights + attention);
    // Backward: twice the weights', and flash attention's 2.5.
    close(layer.backward[0].time + layer.backward[1].time, 2.0 * weights + 2.5 * attention);
}

/// Each product has as many flop in the gradient of its weight as in that of its input; attention and what is
/// element-wise have no weights.
#[test]
fn half_of_the_products_backward_is_the_weights() {
    let scenario = testing::scenario();
    let layer = rates(&scenario).layer();
    close(layer.weights[0].time + layer.weights[1].time, 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12);
    let embedding = rates(&scenario).embedding();
    assert_eq!(embedding.weights, embedding.backward);
    assert_eq!(rates(&scenario).attention(1).weights, DeviceTime::default());
}

#[test]
fn activations_of_a_gelu_layer_are_thirty_four_bytes_per_token_and_channel() {
    // Korthikanti et al. (arXiv 2205.05198), eq. 1: s b h (34 + 5 a s / h); [fsdp A2]: 34 L H with flash.
    let mut scenario = testing::scenario();
    let tokens_hidden = 1024.0 * 1024.0;
    Arc::make_mut(&mut scenario.stack).dropout = true;
    close(rates(&scenario).activations().layer, 34.0 * tokens_hidden);
    close(rates(&scenario).activations().checkpoint, 2.0 * tokens_hidden);
    Arc::make_mut(&mut scenario.stack).attention = Attention::Plain;
    // 16 heads, sequence 1024: 5 x 16 x 1024 / 1024 = 80 more.
    close(rates(&scenario).activations().layer, (34.0 + 80.0) * tokens_hidden);
    scenario.plan.recompute = Recompute::Selective;
    close(rates(&scenario).activations().layer, 34.0 * tokens_hidden);
}

#[test]
fn a_slow_host_and_a_slow_device_make_a_soft_maximum() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).software.host_exponent = 2.0;
    let rates = rates(&scenario);
    close(rates.launched(Seconds::new(3.0), Seconds::new(4.0)), 5.0);
    close(rates.launched(Seconds::new(3.0), Seconds::ZERO), 3.0);
}

#[test]
fn the_optimizer_reads_and_writes_its_state() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).software.optimizer_traffic = 1.0;
    // Per parameter: 12 bytes of state read and written, a gradient read, a weight written: 28 bytes.
    close(rates(&scenario).optimizer(Count::new(1e9)).time, 28e9 / 1e12);
}

/// Five iterations of `4 m^2 n + 2 m^3` flop: on each of four matrices of 1024 x 1024 in attention `5 x 6 x 1024^3`, on each
/// of two of 1024 x 4096 in the MLP `5 x 18 x 1024^3`; 300 x 1024^3 a layer, 1e14 flop/s.
#[test]
fn muon_makes_updates_orthogonal() {
    let mut scenario = testing::scenario();
    let all = Count::from(scenario.model.parameters());
    let time = |scenario: &Scenario, parameters: Count| rates(scenario).optimizer(parameters).time;
    scenario.plan.optimizer = Optimizer::SgdMomentum;
    let plain = time(&scenario, all);
    scenario.plan.optimizer = Optimizer::Muon;
    let flop = 8.0 * 300.0 * 1024.0 * 1024.0 * 1024.0;
    close(time(&scenario, all) - plain, flop / 1e14);
    // Eight ranks have an eighth of the matrices each.
    close(time(&scenario, all / 8.0), (plain.get() + flop / 1e14) / 8.0);
}

/// The toy scenario with what `change` makes of its efficiency.
fn with(change: impl Fn(&mut Efficiency)) -> Scenario {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).architectures.values_mut().for_each(change);
    scenario
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
    close(rates(&scenario).attention(1).forward.time, 4.0 * 1024.0_f64.powi(3) / 100e12);
    Arc::make_mut(&mut scenario.model).head_size = 63;
    close(rates(&scenario).attention(1).forward.time, 3.0 * 4.0 * 1024.0 * 1024.0 * 1008.0 / 100e12);
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
fn without_sequence_parallelism_each_tensor_rank_passes_the_whole_stream() {
    let mut scenario = testing::scenario();
    scenario.plan.tensor = 4;
    Arc::make_mut(&mut scenario.calibration).element_wise.insert("none".to_owned(), 1.0);
    let split = rates(&scenario).layer().forward[0].memory;
    let kept = rates(&scenario).activations().layer;
    Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    // Seven passes of 1024 x 1024 elements of two bytes at 1 TB/s, over four ranks or on each.
    close(split, 7.0 * 2.0 * 1024.0 * 1024.0 / 1e12 / 4.0);
    close(rates(&scenario).layer().forward[0].memory, 4.0 * split);
    // Korthikanti et al. (arXiv 2205.05198), eq. 2 and 4 without masks and scores: 8 + 24 / t against 32 / t bytes.
    close(kept, (32.0 / 4.0) * 1024.0 * 1024.0);
    close(rates(&scenario).activations().layer, (8.0 + 24.0 / 4.0) * 1024.0 * 1024.0);
}

#[test]
fn tensor_ranks_exchange_by_all_reduce_or_in_two_halves() {
    let mut scenario = with(|efficiency| efficiency.wire_all_reduce = 1.25);
    let group = Group { stride: 1, size: 4 };
    // 8 MB, 6 MB received in each of two passes at 100 GB/s; switches add up at 1.25 times the rate.
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 2.0 * 6e6 / 100e9);
    Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 2.0 * 6e6 / 125e9);
    Arc::make_mut(&mut scenario.calibration)
        .runtimes
        .insert("none".to_owned(), Runtime { tensor_collective: Seconds::new(1e-3), ..Runtime::IDEAL });
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 1e-3 + 2.0 * 6e6 / 125e9);
    // Across nodes nothing adds up.
    close(rates(&scenario).all_reduce(payload(40e6, Format::Bf16), Group { stride: 1, size: 8 }).time, 140e6 / 40e9);
}

/// Four ranks cut a product into four pieces: three can have a transfer beside them, of which 0.66 is hidden, 0.495 in all.
#[test]
fn products_cut_into_pieces_hide_part_of_their_transfers_and_move_the_same() {
    let mut scenario = testing::scenario();
    scenario.plan.tensor = 4;
    let group = Group { stride: 1, size: 4 };
    scenario.plan.tensor_overlap = true;
    // 8 MB as above: 120 us of reduce-scatter and all-gather.
    let cut = rates(&scenario).tensor_transfers(Count::new(4e6), group);
    close(cut.beside_forward.time, 0.495 * 120e-6);
    close(cut.forward.time, 0.505 * 120e-6);
    close(cut.forward.received + cut.beside_forward.received, 12e6);
    close(cut.backward.time, 0.505 * 120e-6);
    close(cut.beside_backward.time, 0.495 * 120e-6);
    // Megatron's backward has its own overlap: of the gradients' gather the same share is hidden too.
    Arc::make_mut(&mut scenario.stack).tensor_overlap = true;
    let cut = rates(&scenario).tensor_transfers(Count::new(4e6), group);
    close(cut.backward.time, 0.505 * 60e-6);
    close(cut.beside_backward.time, 0.495 * 60e-6 + 2.0 * 60e-6);
    scenario.plan.tensor = 1;
    close(1.0 + beside_products(&scenario.plan), 1.0);
}

/// torchtitan's Llama 3.1 70B, 16 x 8,192 tokens, tp 8: 131,072 x 16,032 logits of 16 bytes are 33.6 GB, and the gathered
/// input of 8,192 x 2 bytes is seven eighths more than its shard: 1.88 GB.
#[test]
fn a_loss_over_a_divided_vocabulary_holds_its_logits_in_fp32_four_times() {
    let library = crate::presets::Library::embedded();
    let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"torchtitan\"\nmodel = \"llama-3.1-70b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 32\ntensor = 8\nmicro_batch = 16\nsequence = 8192\n";
    let mut scenario =
        library.resolve(&crate::scenario::file::parse(text).expect("a scenario")).expect("it is possible");
    let logits = 131_072.0 * 16_032.0;
    close(rates(&scenario).activations().logits, logits * 16.0 + 131_072.0 * 8192.0 * 2.0 * (1.0 - 1.0 / 8.0));
    // Undivided, another program runs, whose figure is fitted.
    scenario.plan.tensor = 1;
    let held = scenario.calibration.logits_held["torch"];
    close(rates(&scenario).activations().logits, 8.0 * logits * held);
}

#[test]
fn selective_recompute_repeats_its_shares_and_keeps_the_rest() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Selective;
    let stack = Arc::make_mut(&mut scenario.stack);
    stack.selective = Selective { core: 0.0, element_wise: 1.0, matmul: 0.5 };
    // Half of 1024 x 12 x 2^20 weights x 2 at the peak.
    let [attention, mlp] = rates(&scenario).layer().selective;
    close(attention.time + mlp.time, 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12);
    // Of 16 elements per token and channel: 2 norm outputs and the MLP's product (4) go, and half of queries, keys,
    // values and MLP input (3 + 4): 16 - 6 - 3.5 = 6.5 elements of two bytes.
    close(rates(&scenario).activations().layer, 13.0 * 1024.0 * 1024.0);
}

/// Half a layer passes 7 intermediates of 1024 x 1024 elements, 2 of them a norm's; the MLP another 4 of 4096: at two bytes
/// and 1 TB/s, where every intermediate is passed once.
#[test]
fn residuals_are_added_again_only_behind_products_that_are_computed_again() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Selective;
    Arc::make_mut(&mut scenario.calibration).element_wise.insert("none".to_owned(), 1.0);
    let pass = 2.0 * 1024.0 * 1024.0 / 1e12;
    let product = 1024.0 * 2.0 * 4.0 * 1024.0 * 1024.0 / 100e12;
    for (matmul, norms) in [(0.0, 2.0), (1.0, 7.0)] {
        Arc::make_mut(&mut scenario.stack).selective = Selective { core: 0.0, element_wise: 1.0, matmul };
        let [attention, mlp] = rates(&scenario).layer().selective;
        close(attention.time, norms * pass + matmul * product);
        close(mlp.time, (norms + 16.0) * pass + 2.0 * matmul * product);
    }
}

#[test]
fn the_slowest_of_many_nodes_sets_the_pace() {
    let mut scenario = testing::scenario();
    let alone = rates(&scenario).layer().forward[0].time;
    Arc::make_mut(&mut scenario.calibration).software.stragglers = 0.05;
    // Two nodes: one doubling.
    close(rates(&scenario).layer().forward[0].time, 1.05 * alone);
    scenario.plan.size = crate::plan::Size::Nodes(16);
    close(rates(&scenario).layer().forward[0].time, 1.2 * alone);
}

#[test]
fn copies_may_be_slower_than_the_wire() {
    let mut scenario = testing::scenario();
    let group = Group { stride: 1, size: 8 };
    let runtime = Runtime { most_received: Some(BytesPerSecond::new(16e9)), ..Runtime::IDEAL };
    Arc::make_mut(&mut scenario.calibration).runtimes.insert("none".to_owned(), runtime);
    // 70 MB at 16 GB/s instead of 40; inside a node as ever: 30 MB of 40 at 100 GB/s.
    close(rates(&scenario).gather(payload(40e6, Format::Bf16), group).time, 70e6 / 16e9);
    close(rates(&scenario).gather(payload(20e6, Format::Bf16), Group { size: 4, ..group }).time, 30e6 / 100e9);
}

#[test]
fn a_step_costs_the_host_a_time_and_a_broadcast_per_shard() {
    let mut scenario = testing::scenario();
    let runtime = Runtime { step: Seconds::new(0.1), step_per_shard: Seconds::new(1e-3), ..Runtime::IDEAL };
    Arc::make_mut(&mut scenario.calibration).runtimes.insert("none".to_owned(), runtime);
    close(rates(&scenario).host_step(64), 0.164);
    close(rates(&scenario).host_step(1), 0.1);
}

/// A node of four, measured at 60 GB/s with hops of 3 us and a ramp of 10 us, half of it at 7 MB, gathers 8 MB: 3 hops of
/// 3 us, 6 MB that pass a device at 60 GB/s, 100 us, and of the ramp 10 us x 6 / (6 + 7). No share or factor of the
/// calibration applies; `ideal` has no latency, and keeps to what vendors state.
#[test]
fn what_was_measured_of_a_level_takes_the_place_of_the_calibration() {
    let mut scenario = with_latency();
    let ramp = Some(Ramp { time: Seconds::new(10e-6), half: Bytes::new(7e6) });
    let (bandwidth, latency) = (BytesPerSecond::new(60e9), Seconds::new(3e-6));
    let measured = MeasuredLevel { bandwidth, latency, ramp, source: "by hand".to_owned() };
    Arc::make_mut(&mut scenario.cluster).levels[0].measured = Some(measured);
    for efficiency in Arc::make_mut(&mut scenario.calibration).architectures.values_mut() {
        (efficiency.wire_in_node, efficiency.latency) = (0.5, 2.0);
    }
    let (group, payload) = (Group { stride: 1, size: 4 }, payload(4e6, Format::Bf16));
    close(rates(&scenario).gather(payload, group).time, 9e-6 + 100e-6 + 10e-6 * 6.0 / 13.0);
    // One after the other: a bucket in two parts passes 3 MB each time.
    let parts = Payload { parts: Count::new(2.0), ..payload };
    close(rates(&scenario).gather(parts, group).time, 2.0 * (9e-6 + 10e-6 * 3.0 / 10.0) + 100e-6);
    let ideal = testing::scenario();
    let same = Scenario { cluster: scenario.cluster.clone(), ..ideal.clone() };
    assert_eq!(rates(&same).gather(payload, group), rates(&ideal).gather(payload, group));
}
