//! ZeRO-3 and ZeRO++ on 384 V100s, 24 nodes of 16, from 100 to 800 Gb/s per node [frontier D6, bars and table], with
//! every constant of the log's preset.
//!
//! Assumed: one sequence of 1,024 or 2,048 tokens per device; layers x width of 40 x 6144 (documented), 60, 112 and 170 x
//! 8192 with heads of 128 [frontier addendum, 6]. That a plan fits is not asked.

use std::sync::Arc;

use shardscope_engine::plan::Size;
use shardscope_engine::scenario::Scenario;

use super::run::{error, scenario, summary};

/// Gb/s per node, tokens per device, layers and width, TFLOP/s per device of ZeRO-3 and of ZeRO++.
type Bar = (u32, u32, Shape, f64, f64);
type Shape = (u32, u32);

const B18: Shape = (40, 6144);
const B49: Shape = (60, 8192);
const B91: Shape = (112, 8192);
const B138: Shape = (170, 8192);

/// The bars as read from the images; with decimals where the paper's table has the same point.
const BARS: [Bar; 26] = [
    (400, 1024, B18, 25.0, 35.0),
    (400, 1024, B49, 23.0, 36.0),
    (400, 1024, B91, 23.0, 36.0),
    (400, 1024, B138, 23.0, 36.0),
    (400, 2048, B18, 40.0, 53.0),
    (400, 2048, B49, 36.0, 51.0),
    (400, 2048, B91, 36.0, 51.0),
    (400, 2048, B138, 36.0, 50.0),
    (100, 1024, B18, 14.15, 30.57),
    (100, 1024, B49, 11.27, 21.94),
    (100, 1024, B91, 11.27, 21.93),
    (100, 1024, B138, 11.25, 21.81),
    (100, 2048, B18, 25.98, 46.40),
    (100, 2048, B49, 20.06, 38.08),
    (100, 2048, B91, 19.99, 38.06),
    (100, 2048, B138, 19.96, 37.90),
    (200, 2048, B18, 37.0, 50.0),
    (200, 2048, B138, 32.0, 48.0),
    (800, 1024, B18, 31.27, 37.87),
    (800, 1024, B49, 34.54, 44.46),
    (800, 1024, B91, 34.49, 44.36),
    (800, 1024, B138, 34.19, 44.38),
    (800, 2048, B18, 47.31, 53.65),
    (800, 2048, B49, 48.05, 56.24),
    (800, 2048, B91, 47.74, 56.26),
    (800, 2048, B138, 47.55, 55.30),
];

fn run(strategy: &str, (gbps, tokens, (layers, hidden), ..): Bar) -> Scenario {
    let mut scenario = scenario("zeropp-18b-v100", strategy);
    let model = Arc::make_mut(&mut scenario.model);
    if hidden != model.hidden {
        (model.hidden, model.ffn_hidden, model.head_size) = (hidden, 4 * hidden, 128);
        (model.heads, model.kv_heads) = (hidden / 128, hidden / 128);
    }
    model.layers = layers;
    let plan = &mut scenario.plan;
    (plan.size, plan.sequence, plan.bandwidth_factor) = (Size::Nodes(24), tokens, f64::from(gbps) / 800.0);
    scenario
}

/// TFLOP/s per device of ZeRO-3 and ZeRO++.
fn pair(bar: Bar) -> [f64; 2] {
    ["zero3", "zeropp"].map(|strategy| summary(&run(strategy, bar)).hardware_flops.get() / 1e12)
}

#[test]
fn speedups_and_baselines() {
    let mut far = 0;
    println!("Gb/s tokens    shape  ZeRO-3: here, published   ZeRO++: here, published   speedup: here, published");
    for bar in BARS {
        let (gbps, tokens, (layers, hidden), zero3, zeropp) = bar;
        let here = pair(bar);
        let (speedup, published) = (here[1] / here[0], zeropp / zero3);
        let errors = [error(here[0], zero3), error(here[1], zeropp), error(speedup, published)].map(|e| 100.0 * e);
        println!(
            "{gbps:4} {tokens:6} {layers:3}x{hidden}  {:6.2} {zero3:6.2} {:+6.1} %   {:6.2} {zeropp:6.2} {:+6.1} %   \
             {speedup:6.2} {published:6.2} {:+6.1} %",
            here[0], errors[0], here[1], errors[1], errors[2]
        );
        assert!(errors[2].abs() <= 20.0, "{bar:?}: a speedup of {speedup}");
        far += u32::from(errors[0].abs() > 25.0);
    }
    assert!(far <= 4, "{far} of 26 baselines are more than 25 % off");
}

/// Two bars of a model that differ in the network alone, or in the tokens alone, stand in the published order.
#[test]
fn the_order_by_network_and_tokens() {
    for (index, one) in BARS.iter().enumerate() {
        for other in &BARS[index + 1..] {
            if one.2 != other.2 || (one.0 != other.0 && one.1 != other.1) {
                continue;
            }
            let (here, there) = (pair(*one), pair(*other));
            assert_eq!(here[0] < there[0], one.3 < other.3, "ZeRO-3: {one:?} {other:?}");
            assert_eq!(here[1] < there[1], one.4 < other.4, "ZeRO++: {one:?} {other:?}");
            let speedup = |[zero3, zeropp]: [f64; 2]| zeropp / zero3;
            let published = |bar: &Bar| bar.4 / bar.3;
            assert_eq!(speedup(here) < speedup(there), published(one) < published(other), "{one:?} {other:?}");
        }
    }
}
