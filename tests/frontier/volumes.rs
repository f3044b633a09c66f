//! Bytes through the ports of a node, exactly, with blocks so large that scales do not count [frontier D4, A8]: M is
//! the weights in 16 bits, N devices, n nodes.

use std::sync::Arc;

use shardscope_engine::scenario::Scenario;

use super::run::{scenario, summary};

/// M, N, n, and what a node sends out in a step.
fn sent(mut scenario: Scenario) -> [f64; 4] {
    scenario.plan.sharding.wire.block = u32::MAX;
    let outermost = scenario.cluster.levels.len() - 1;
    let per_node = f64::from(scenario.cluster.devices_per_node());
    let devices = f64::from(scenario.devices());
    let sent = summary(&scenario).traffic[outermost].bytes_per_device.get() * per_node;
    [2.0 * scenario.model.parameters() as f64, devices, devices / per_node, sent]
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value} is not {expected}");
}

/// ZeRO-3: three rings; ZeRO++: half a ring and a quarter of an all-to-all; both once per micro-batch.
#[test]
fn as_rings_carry_them() {
    for id in ["zeropp-18b-v100", "frontier-20b-384"] {
        let micro_batches = f64::from(scenario(id, "zero3").plan.accumulate);
        let [m, devices, _, zero3] = sent(scenario(id, "zero3"));
        close(zero3, micro_batches * 3.0 * m * (devices - 1.0) / devices);
        let [m, devices, nodes, zeropp] = sent(scenario(id, "zeropp"));
        let once = 0.5 * m * (devices - 1.0) / devices + 0.25 * m * (nodes - 1.0) / nodes;
        close(zeropp, micro_batches * once);
    }
}

/// 3 M (n-1)/n and 0.75 M (n-1)/n: what enters a node when collectives go level by level, each byte once.
#[test]
fn as_a_node_must_receive_them() {
    for (strategy, share) in [("zero3", 3.0), ("zeropp", 0.75)] {
        let mut scenario = scenario("zeropp-18b-v100", strategy);
        Arc::make_mut(&mut scenario.stack).collectives.hierarchical = true;
        let [m, _, nodes, sent] = sent(scenario);
        close(sent, share * m * (nodes - 1.0) / nodes);
    }
}

/// Three levels leave the node once per step, whatever the accumulation: gradients out, weights back.
#[test]
fn three_levels_leave_the_node_once_per_step() {
    for accumulate in [1, 8] {
        let mut scenario = scenario("frontier-20b-384", "zero-topo");
        scenario.plan.accumulate = accumulate;
        let [m, _, nodes, sent] = sent(scenario);
        close(sent, 2.0 * m * (nodes - 1.0) / nodes);
    }
}
