//! Collectives, exchanges between tensor ranks, and sends to neighbours.

use super::*;

fn payload(elements: f64, format: Format) -> Payload {
    Payload::plain(Count::new(elements), format)
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

#[test]
fn a_flat_ring_is_as_slow_as_its_slowest_level() {
    let scenario = with_latency();
    let rates = rates(&scenario);
    // 8 ranks on 2 nodes, 80 MB: each receives 70 MB. All four devices of a node share the ring's way
    // out: 4 x 10 GB/s. 70 MB / 40 GB/s = 1.75 ms; 7 hops of 1 us, one of them between the nodes.
    let transfer = rates.gather(payload(40e6, Format::Bf16), Group::new(1, 8));
    close(transfer.received, 70e6);
    close(transfer.time, 70e6 / 40e9 + 7e-6);
    close(transfer.parts().steps, 7e-6);
    // A pass over memory of 2 ms before it leaves the wire and the hops as they are.
    let TransferParts { wire, steps, passes } = transfer.with_passes(Seconds::new(2e-3)).parts();
    close(wire, 70e6 / 40e9);
    close(steps, 7e-6);
    close(passes, 2e-3);
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
    let transfer = rates(&scenario).gather(payload(40e6, Format::Bf16), Group::new(4, 2));
    close(transfer.time, 40e6 / 10e9);
    assert_eq!(transfer.busy[0], Seconds::ZERO);
}

/// Nodes of 4, a loss of 0.1 for each doubling. Of a job of 16 nodes 8 neighbours lie on 2, one doubling: 40 GB/s / 1.1. Of every fourth
/// device 16 lie on all 16, four: 10 GB/s / 1.4. A send to the next node passes 2.
#[test]
fn the_wire_loses_by_the_nodes_that_a_group_spans() {
    let mut scenario = testing::scenario();
    scenario.plan.size = Size::Nodes(16);
    for efficiency in Arc::make_mut(&mut scenario.calibration).architectures.values_mut() {
        efficiency.wire_loss = 0.1;
    }
    let rates = rates(&scenario);
    let time = |group| rates.gather(payload(40e6, Format::Bf16), group).time;
    close(time(Group::new(1, 8)), 70e6 / (40e9 / 1.1));
    close(time(Group::new(4, 16)), 75e6 / (10e9 / 1.4));
    close(rates.send(Bytes::new(10e6), Group::new(4, 16), 1).time, 10e6 / (10e9 / 1.1));
}

#[test]
fn an_all_reduce_is_two_passes_or_a_tree() {
    let mut scenario = with_latency();
    let group = Group::new(1, 8);
    let ring = rates(&scenario).all_reduce(payload(40e6, Format::Bf16), group);
    close(ring.time, 2.0 * (70e6 / 40e9 + 7e-6));
    // A small one: the tree's 2 (3 + log2 2) hops beat the ring's 14.
    Arc::make_mut(&mut scenario.stack).collectives.all_reduce =
        vec![AllReduceAlgorithm::Ring, AllReduceAlgorithm::Tree];
    let rates = rates(&scenario);
    let tree = rates.all_reduce(payload(10.0, Format::Bf16), group);
    assert_eq!(tree.algorithm, CollectiveAlgorithm::Tree);
    // Between two nodes each byte passes once each way.
    close(tree.time, 8e-6 + 20.0 / 40e9);
    close(rates.all_reduce(payload(40e6, Format::Bf16), group).time, 8e-6 + 80e6 / 40e9);
    // Among four, the ring's 2 x 15 / 16 beat the trees' 2.
    let large = rates.all_reduce(payload(40e6, Format::Bf16), Group::new(1, 16));
    assert_eq!(large.algorithm, CollectiveAlgorithm::Ring);
}

/// A gather over the 4 devices of a node, 3 hops of 1 us, three quarters of it at 100 GB/s. Of 40 kB the wire takes 0.3 us:
/// LL is fastest, at 3 x 0.6 / 3.4 us and twice the bytes. Of 400 kB it takes 3 us: LL128, at 3 x 1.9 / 3.4 us and 128
/// bytes for 120. Of 40 MB it takes 300 us: Simple. Two nodes always take Simple.
#[test]
fn small_messages_take_the_protocols_of_low_latency_inside_a_node() {
    let mut scenario = with_latency();
    Arc::make_mut(&mut scenario.stack).collectives.protocols = vec![Protocol::Simple, Protocol::Ll128, Protocol::Ll];
    let rates = rates(&scenario);
    let gather = |bytes: f64, size: u32| rates.gather(payload(bytes / 2.0, Format::Bf16), Group::new(1, size));
    let [small, middling, large] = [40e3, 400e3, 40e6].map(|bytes| gather(bytes, 4));
    assert_eq!([small, middling, large].map(|it| it.protocol), [Protocol::Ll, Protocol::Ll128, Protocol::Simple]);
    close(small.time, 3e-6 * 0.6 / 3.4 + 2.0 * 30e3 / 100e9);
    close(middling.time, 3e-6 * 1.9 / 3.4 + 128.0 / 120.0 * 300e3 / 100e9);
    close(large.time, 3e-6 + 30e6 / 100e9);
    close(small.bytes[0], 60e3);
    assert_eq!(gather(40.0, 8).protocol, Protocol::Simple);
}

/// 80 MB over 4 nodes of 4. Inside a node 60 MB at 100 GB/s each way: 1.2 ms and 6 hops of 1 us. Between them each rank
/// sends its 20 MB up at 10 GB/s while the sum comes down: 2 ms and 2 hops, where rings take 2 x 75 / 40 = 3.75 ms in all.
#[test]
fn switches_that_add_up_take_each_byte_once() {
    let mut scenario = with_latency();
    let (payload, group) = (payload(40e6, Format::Bf16), Group::new(1, 16));
    let algorithm = |scenario: &Scenario| rates(scenario).all_reduce(payload, group).algorithm;
    assert_eq!(algorithm(&scenario), CollectiveAlgorithm::Ring);
    Arc::make_mut(&mut scenario.cluster).levels[1].sharp = true;
    let summed = rates(&scenario).all_reduce(payload, group);
    assert_eq!(summed.algorithm, CollectiveAlgorithm::Sharp);
    close(summed.time, 1.2e-3 + 6e-6 + 2e-3 + 2e-6);
    close(summed.bytes[1], 20e6);
    // A group inside a node has nothing to do with the switches between nodes.
    let inside = rates(&scenario).all_reduce(payload, Group::new(1, 4));
    assert_eq!(inside.algorithm, CollectiveAlgorithm::Ring);
    // A node whose switches add up reaches more than rings do: 1.25 for 1.
    Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("default").wire_all_reduce =
        Some(1.25);
    assert_eq!(rates(&scenario).all_reduce(payload, Group::new(1, 4)).algorithm, CollectiveAlgorithm::NodeSwitches);
}

/// Trees over two nodes of 4 send 20 MB of 20 out of a node in 20 / 40 = 0.5 ms; at a quarter of the rings' rate that is 2 ms,
/// and rings are faster: 2 x 17.5 / 40 = 0.875 ms, and two passes of 7 hops.
#[test]
fn trees_that_reach_less_than_rings_are_slower() {
    let mut scenario = with_latency();
    let (payload, group) = (payload(10e6, Format::Bf16), Group::new(1, 8));
    Arc::make_mut(&mut scenario.stack).collectives.all_reduce =
        vec![AllReduceAlgorithm::Ring, AllReduceAlgorithm::Tree];
    assert_eq!(rates(&scenario).all_reduce(payload, group).algorithm, CollectiveAlgorithm::Tree);
    Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("default").wire_trees = Some(0.25);
    let rings = rates(&scenario).all_reduce(payload, group);
    assert_eq!(rings.algorithm, CollectiveAlgorithm::Ring);
    close(rings.time, 0.875e-3 + 14e-6);
}

/// NCCL's PAT serves groups with one rank per node: 64 of them take log2(64) = 6 hops of 1 us, not 63. Two ranks of each
/// node go around the ring, however small the message is.
#[test]
fn aggregated_trees_serve_one_rank_of_each_node() {
    let mut scenario = with_latency();
    scenario.plan.size = Size::Nodes(64);
    Arc::make_mut(&mut scenario.stack).collectives.gather = vec![GatherAlgorithm::Ring, GatherAlgorithm::Pat];
    let rates = rates(&scenario);
    let [alone, paired] = [(4, 64), (2, 128)].map(|(stride, size)| {
        let small = rates.gather(payload(10.0, Format::Bf16), Group::new(stride, size));
        (small.algorithm, small.time)
    });
    assert_eq!((alone.0, paired.0), (CollectiveAlgorithm::Pat, CollectiveAlgorithm::Ring));
    close(alone.1, 6e-6 + 20.0 * 63.0 / 64.0 / 10e9);
}

#[test]
fn a_hierarchical_gather_crosses_nodes_once() {
    let mut scenario = with_latency();
    Arc::make_mut(&mut scenario.stack).collectives.hierarchical = true;
    // 8 bytes: flat 7 hops; level by level 1 hop between nodes and 3 inside.
    let transfer = rates(&scenario).gather(payload(4.0, Format::Bf16), Group::new(1, 8));
    assert_eq!(transfer.algorithm, CollectiveAlgorithm::Hierarchical);
    // Across: 2 bytes of payload per column, half received, 10 GB/s. Inside: 8 bytes, 6 received, 100 GB/s.
    close(transfer.time, 4e-6 + 1.0 / 10e9 + 6.0 / 100e9);
}

#[test]
fn two_hops_send_each_byte_across_once() {
    let scenario = testing::scenario();
    let rates = rates(&scenario);
    let group = Group::new(1, 8);
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
    let group = Group::new(1, 8);
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
    let group = Group::new(1, 8);
    let transfer = rates(&scenario).broadcast(payload(40e6, Format::Bf16), group);
    // 80 MB past the nodes' way out at 40 GB/s, and 7 hops.
    close(transfer.time, 80e6 / 40e9 + 7e-6);
    close(transfer.received, 80e6);
    let alone = rates(&scenario).broadcast(payload(40e6, Format::Bf16), Group::new(1, 1));
    assert_eq!(alone, Transfer::default());
}

#[test]
fn a_neighbour_in_another_node_is_reached_through_one_port() {
    let scenario = with_latency();
    // Device 0 to device 4: 10 MB at 10 GB/s and one hop; device 0 to device 1: at 100 GB/s.
    let (nodes, devices) = (Group::new(4, 2), Group::new(1, 4));
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
    let (rates, pipeline) = (rates(&scenario), Group::new(1, 4));
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
        rates(&scenario).gather(payload, Group::new(1, 4)).time
    };
    // Four more of 3 hops of 1 us.
    assert!(((time(true, Format::Int8) - time(false, Format::Int8)).get() - 4.0 * 3e-6).abs() < 1e-12);
    close(time(true, Format::Bf16), time(false, Format::Bf16));
}

#[test]
fn tensor_ranks_exchange_by_all_reduce_or_in_two_halves() {
    let mut scenario = with(|efficiency| efficiency.wire_all_reduce = Some(1.25));
    let group = Group::new(1, 4);
    // 8 MB, 6 MB received in each of two passes at 100 GB/s; switches add up at 1.25 times the rate.
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 2.0 * 6e6 / 100e9);
    Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 2.0 * 6e6 / 125e9);
    Arc::make_mut(&mut scenario.calibration)
        .runtimes
        .insert("none".to_owned(), Runtime { tensor_collective: Seconds::new(1e-3), ..Runtime::IDEAL });
    close(rates(&scenario).tensor_transfers(Count::new(4e6), group).forward.time, 1e-3 + 2.0 * 6e6 / 125e9);
    // Across nodes nothing adds up.
    close(rates(&scenario).all_reduce(payload(40e6, Format::Bf16), Group::new(1, 8)).time, 140e6 / 40e9);
}

/// Four ranks cut a product into four pieces: three can have a transfer beside them, of which 0.66 is hidden, 0.495 in all.
#[test]
fn products_cut_into_pieces_hide_part_of_their_transfers_and_move_the_same() {
    let mut scenario = testing::scenario();
    scenario.plan.tensor = 4;
    let group = Group::new(1, 4);
    scenario.plan.tensor_overlap = true;
    // 8 MB as above: 120 us of reduce-scatter and all-gather.
    let cut = rates(&scenario).tensor_transfers(Count::new(4e6), group);
    close(cut.overlapped_forward.time, 0.495 * 120e-6);
    close(cut.forward.time, 0.505 * 120e-6);
    close(cut.forward.received + cut.overlapped_forward.received, 12e6);
    close(cut.backward.time, 0.505 * 120e-6);
    close(cut.overlapped_backward.time, 0.495 * 120e-6);
    // Megatron's backward has its own overlap: of the gradients' gather the same share is hidden too.
    Arc::make_mut(&mut scenario.stack).tensor_overlap = true;
    let cut = rates(&scenario).tensor_transfers(Count::new(4e6), group);
    close(cut.backward.time, 0.505 * 60e-6);
    close(cut.overlapped_backward.time, 0.495 * 60e-6 + 2.0 * 60e-6);
    scenario.plan.tensor = 1;
    close(1.0 + overlapped_share(&scenario.plan), 1.0);
}

#[test]
fn copies_may_be_slower_than_the_wire() {
    let mut scenario = testing::scenario();
    let group = Group::new(1, 8);
    let runtime = Runtime { most_received: Some(BytesPerSecond::new(16e9)), ..Runtime::IDEAL };
    Arc::make_mut(&mut scenario.calibration).runtimes.insert("none".to_owned(), runtime);
    // 70 MB at 16 GB/s instead of 40; inside a node as ever: 30 MB of 40 at 100 GB/s.
    close(rates(&scenario).gather(payload(40e6, Format::Bf16), group).time, 70e6 / 16e9);
    close(rates(&scenario).gather(payload(20e6, Format::Bf16), Group::new(1, 4)).time, 30e6 / 100e9);
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
    let (group, payload) = (Group::new(1, 4), payload(4e6, Format::Bf16));
    close(rates(&scenario).gather(payload, group).time, 9e-6 + 100e-6 + 10e-6 * 6.0 / 13.0);
    // One after the other: a bucket in two parts passes 3 MB each time.
    let parts = Payload { parts: Count::new(2.0), ..payload };
    close(rates(&scenario).gather(parts, group).time, 2.0 * (9e-6 + 10e-6 * 3.0 / 10.0) + 100e-6);
    let ideal = testing::scenario();
    let same = Scenario { cluster: scenario.cluster.clone(), ..ideal.clone() };
    assert_eq!(rates(&same).gather(payload, group), rates(&ideal).gather(payload, group));
}
