//! Throughput of ZeRO-3, ZeRO++ and the three levels on Frontier: 20B on 384 GCDs, weak scaling from 16 and 64
//! [frontier D5, A9, addendum]. `cargo test --test integration frontier::tables -- --nocapture` prints the tables.

use std::sync::Arc;

use shardscope_engine::plan::Size;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{BytesPerSecond, Seconds};

use super::run::{LIBRARY, efficiency, error, scenario, summary, within};

/// ZeRO++ and the three levels over ZeRO-3, and the efficiency [frontier D5].
const PUBLISHED: [f64; 2] = [1.405, 2.398];

/// Sequence length and sequences per micro-batch: 0.5k, 1k, 2k, 4k and 8k tokens.
const MICRO_BATCHES: [(u32, u32); 5] = [(512, 1), (1024, 1), (2048, 1), (2048, 2), (2048, 4)];
const ACCUMULATE: [u32; 5] = [1, 2, 4, 8, 16];

/// A point: what is the same for all strategies.
struct Point<'a> {
    tokens: (u32, u32),
    accumulate: u32,
    /// What else is different from the preset.
    change: &'a dyn Fn(&mut Scenario),
}

/// What comes out at a point.
struct Outcome {
    ratios: [f64; 2],
    fits: bool,
}

impl Point<'_> {
    /// Tokens per second and device, and whether it fits.
    fn throughput(&self, strategy: &str, nodes: u32) -> (f64, bool) {
        let mut scenario = scenario("frontier-20b-384", strategy);
        let plan = &mut scenario.plan;
        (plan.sequence, plan.micro_batch) = self.tokens;
        (plan.size, plan.accumulate) = (Size::Nodes(nodes), self.accumulate);
        (self.change)(&mut scenario);
        let summary = summary(&scenario);
        (summary.tokens_per_s_per_device, summary.fits)
    }

    fn run(&self) -> Outcome {
        let [zero3, zeropp, three] = ["zero3", "zeropp", "zero-topo"].map(|strategy| self.throughput(strategy, 48));
        Outcome { ratios: [zeropp.0 / zero3.0, three.0 / zero3.0], fits: zero3.1 && zeropp.1 && three.1 }
    }

    /// Throughput of the three levels on 48 nodes over that on 2 and on 8: from 16 and from 64 GCDs.
    fn efficiencies(&self) -> [f64; 2] {
        let [few, some, all] = [2, 8, 48].map(|nodes| self.throughput("zero-topo", nodes).0);
        [all / few, all / some]
    }
}

impl Outcome {
    fn in_order(&self) -> bool {
        let [zeropp, three] = self.ratios;
        1.0 < zeropp && zeropp < three
    }

    /// The worse of the two ratios' errors, as a share.
    fn worst(&self) -> f64 {
        let errors = [0, 1].map(|index| error(self.ratios[index], PUBLISHED[index]).abs());
        errors[0].max(errors[1])
    }
}

/// Prints a table over micro-batch and accumulation; the points out of order have a star.
fn table(title: &str, change: &dyn Fn(&mut Scenario)) -> Vec<(u32, Outcome)> {
    let mut points = Vec::new();
    println!("\n{title}: ZeRO-3 : ZeRO++ : three levels at 384 GCDs, efficiency of three levels from 16 and 64 GCDs");
    println!("tokens {}", ACCUMULATE.map(|accumulate| format!("{:^27}", format!("x {accumulate}"))).join(""));
    for tokens in MICRO_BATCHES {
        let row = ACCUMULATE.map(|accumulate| {
            let point = Point { tokens, accumulate, change };
            let (outcome, [from_16, from_64]) = (point.run(), point.efficiencies());
            let [zeropp, three] = outcome.ratios;
            let mark = match (outcome.fits, outcome.in_order()) {
                (false, _) => '-',
                (true, false) => '*',
                (true, true) => ' ',
            };
            points.push((accumulate, outcome));
            format!("  1:{zeropp:.2}:{three:.2}{mark} {from_16:.3} {from_64:.3}")
        });
        println!("{:6} {}", tokens.0 * tokens.1, row.join("  "));
    }
    points
}

/// The data sheet's rate between nodes.
fn data_sheet(scenario: &mut Scenario) {
    scenario.plan.bandwidth_factor = 1.0;
}

/// The stack `default`, one stream of communication beside compute.
fn tuned(scenario: &mut Scenario) {
    scenario.stack = LIBRARY.stack("default").expect("a preset");
}

#[test]
fn tables() {
    let as_it_is = |_: &mut Scenario| ();
    let tuned_data_sheet = |scenario: &mut Scenario| {
        tuned(scenario);
        data_sheet(scenario);
    };
    println!("* out of order, - does not fit");
    for (title, change) in [
        ("No overlap, the rate of the preset between nodes", &as_it_is as &dyn Fn(&mut Scenario)),
        ("No overlap, the data sheet's rate", &data_sheet),
    ] {
        for (accumulate, outcome) in table(title, change) {
            // [frontier D4]: three levels send 2 M per step across nodes, ZeRO++ 0.75 M per micro-batch.
            let due = outcome.fits && accumulate >= 4;
            assert!(!due || outcome.in_order(), "{title}, x {accumulate}: 1 : {:?}", outcome.ratios);
        }
    }
    table("One communication stream, the rate of the preset between nodes", &tuned);
    table("One communication stream, the data sheet's rate", &tuned_data_sheet);
}

/// Everything that the notes call spec-like: 85 of 100 GB/s out of the node, hops of 50 GB/s inside it and 10 us each,
/// one collective per layer and one for its scales, one sequence of 2,048 tokens. It comes to about 1.09 and 1.56
/// [frontier addendum, 1], here within 10 % of both, and misses the paper's ratios by more than that.
#[test]
fn a_spec_like_point_misses() {
    let spec = |scenario: &mut Scenario| {
        data_sheet(scenario);
        // The notes do not say how fast products run: here at 0.6 of the peak, where the calibration's fit begins.
        efficiency(scenario).matmul = 0.6;
        efficiency(scenario).wire_in_node = 1.0;
        efficiency(scenario).wire_between = 0.85;
        let cluster = Arc::make_mut(&mut scenario.cluster);
        cluster.levels.iter_mut().for_each(|level| level.latency = Seconds::new(10e-6));
        // The notes have one ring in the node; two GCDs of a package share its hop.
        cluster.rings = shardscope_engine::hardware::Rings::default();
        cluster.levels[1].links.clear();
        cluster.levels[1].bandwidth = BytesPerSecond::new(25e9);
        Arc::make_mut(&mut scenario.stack).collectives.per_layer = 1;
    };
    let outcome = Point { tokens: (2048, 1), accumulate: 8, change: &spec }.run();
    println!("spec-like: 1 : {:.3} : {:.3}", outcome.ratios[0], outcome.ratios[1]);
    for (ratio, (noted, published)) in outcome.ratios.into_iter().zip([1.09, 1.56].into_iter().zip(PUBLISHED)) {
        within(0.1, "spec-like", ratio, noted);
        assert!(error(ratio, published) < -0.1, "{ratio} of {published}");
    }
}

/// A model of what leaves the nodes, and of nothing else, cannot meet the ratios within 10 %, whatever the rate,
/// the tokens and the accumulation [frontier D5, addendum 4].
#[test]
fn volume_alone_misses() {
    let mut best = f64::INFINITY;
    for tokens in MICRO_BATCHES {
        for accumulate in [4, 16, 64] {
            for step in 0..16 {
                // From the data sheet's rate down to a 32nd of it, in steps of 2^(1/3).
                let rate = 0.5_f64.powf(f64::from(step) / 3.0);
                let outcome = Point { tokens, accumulate, change: &|scenario| volume_only(scenario, rate) }.run();
                best = best.min(outcome.worst());
            }
        }
    }
    println!("volume alone comes within {:.1} % of both ratios", 100.0 * best);
    assert!(best > 0.1, "{best}");
}

/// No latency, nothing in the way inside a node, quantising for free.
fn volume_only(scenario: &mut Scenario, rate: f64) {
    scenario.plan.bandwidth_factor = rate;
    let cluster = Arc::make_mut(&mut scenario.cluster);
    cluster.rings = shardscope_engine::hardware::Rings::default();
    let outermost = cluster.levels.len() - 1;
    for level in &mut cluster.levels[..outermost] {
        level.links.clear();
        level.bandwidth = BytesPerSecond::new(1e18);
    }
    (efficiency(scenario).latency, efficiency(scenario).latency_between) = (0.0, 0.0);
    efficiency(scenario).collective_launch = Seconds::ZERO;
    let calibration = Arc::make_mut(&mut scenario.calibration);
    calibration.element_wise.values_mut().for_each(|traffic| *traffic = 0.0);
    calibration.software.optimizer_traffic = 0.0;
    Arc::make_mut(&mut scenario.cluster).device.memory_bandwidth = BytesPerSecond::new(1e18);
}
