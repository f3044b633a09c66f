//! Intensities against [layered B4] and [layered B5].

use std::sync::Arc;

use crate::cost::{Factors, Payload, Rates};
use crate::hardware::Group;
use crate::model::LayerKind;
use crate::plan::{Extent, Format, Offload, Recompute, Secondary, Size};
use crate::presets::Library;
use crate::stack::Overlap;
use crate::testing::{self, x_160};
use crate::units::Count;

use super::terms::FORWARD;
use super::*;

fn transfers(scenario: &Scenario) -> Vec<Intensity> {
    super::transfers(&scenario.checked().expect("a valid scenario"))
}

fn row(scenario: &Scenario, kind: TransferKind) -> Intensity {
    let rows = transfers(scenario);
    let found = rows.iter().find(|row| row.kind == kind);
    *found.unwrap_or_else(|| panic!("{kind:?} is not in {rows:?}"))
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
}

/// [layered B4]: 312e12 / 600e9 = 520 on NVLink, / 50e9 = 6240 on InfiniBand, / 31.5e9 = 9904.8 to a host
/// shared by two GPUs; 6240 x 8 = 49,920 on 25 Gb/s.
#[test]
fn thresholds_of_the_links() {
    let scenario = x_160(&[("offload", "checkpoints")]);
    let rows = transfers(&scenario);
    let of = |kind: TransferKind| {
        rows.iter().find(|row| row.kind == kind).map(|row| (row.link.name(&scenario), row.threshold))
    };
    assert_eq!(of(TransferKind::Tensor), Some(("node", 520.0)));
    assert_eq!(of(TransferKind::PartitionedState), Some(("system", 6240.0)));
    assert_eq!(of(TransferKind::Pipeline), Some(("system", 6240.0)));
    let (link, threshold) = of(TransferKind::CheckpointOffload).expect("checkpoints are on the host");
    assert_eq!(link, "host");
    assert_close(threshold, 312e12 / 31.5e9);
    let software = x_160(&[("stack", "default")]);
    assert_close(row(&software, TransferKind::Tensor).threshold, 520.0);
    let mut ethernet = scenario.clone();
    ethernet.plan.bandwidth_factor = 1.0 / 8.0;
    assert_close(row(&ethernet, TransferKind::PartitionedState).threshold, 49_920.0);
    assert_close(row(&ethernet, TransferKind::Tensor).threshold, 520.0);
}

/// [layered B5], values for `X_160`: `2 d_m / (n_a - 1)`, `1 + I_NVLink / I`.
#[test]
fn tensor_parallelism_of_x_160() {
    for (ranks, intensity, slowdown) in
        [("2", 51200.0, 1.0102), ("4", 17066.7, 1.0305), ("8", 7314.3, 1.0711), ("16", 3413.3, 1.1523)]
    {
        let tensor = row(&x_160(&[("tp", ranks)]), TransferKind::Tensor);
        assert!((tensor.flop_per_byte() - intensity).abs() < 0.05, "{ranks}: {}", tensor.flop_per_byte());
        assert!((tensor.slowdown() - slowdown).abs() < 5e-5, "{ranks}: {}", tensor.slowdown());
        assert!(!tensor.overlapped && !tensor.hidden());
    }
    assert!(!transfers(&x_160(&[("tp", "1")])).iter().any(|row| row.kind == TransferKind::Tensor));
}

/// [layered B5]: 12 x 25600 = 307,200 with one layer per stage, times 160 / 5 = 32 where stages are contiguous.
#[test]
fn the_pipeline_of_x_160() {
    let modular = row(&x_160(&[]), TransferKind::Pipeline);
    assert_close(modular.flop_per_byte(), 307_200.0);
    assert!(modular.hidden());
    assert_close(modular.slowdown(), 1.0);
    let breadth_first = x_160(&[("accumulation", "standard"), ("schedule", "breadth-first")]);
    assert_close(row(&breadth_first, TransferKind::Pipeline).flop_per_byte(), 307_200.0);
    // A schedule with one stage per rank has it, whatever the plan says of others.
    for schedule in ["gpipe", "1f1b"] {
        let contiguous = x_160(&[("accumulation", "standard"), ("schedule", schedule)]);
        assert_close(row(&contiguous, TransferKind::Pipeline).flop_per_byte(), 9_830_400.0);
    }
}

/// [layered B5]: forward asks for most, `(1/2) n_mu b_mu d_s`; on 200 Gb/s 6240 / 1280 = 4.875, on 25 Gb/s
/// 49,920 / 1280 = 39.
#[test]
fn micro_batches_that_hide_partitioned_traffic() {
    let mut scenario = x_160(&[]);
    let five = row(&scenario, TransferKind::PartitionedState);
    assert_close(five.flop_per_byte(), 0.5 * 5.0 * 2560.0);
    assert_eq!((five.hidden(), five.micro_batches), (true, Some(5.0)));
    assert_eq!(five.formula.to_string(), "2 flop x 12,800 tokens / 4 B");
    let four = row(&x_160(&[("accumulate", "4")]), TransferKind::PartitionedState);
    assert!(!four.hidden());
    // Time is that of the arithmetic times 6240 / (0.5 x 4 x 2560).
    assert_close(four.slowdown(), 6240.0 / 5120.0);
    scenario.plan.bandwidth_factor = 1.0 / 8.0;
    assert_eq!(row(&scenario, TransferKind::PartitionedState).micro_batches, Some(39.0));
    scenario.plan.accumulate = 39;
    assert!(row(&scenario, TransferKind::PartitionedState).hidden());
}

/// [layered B5]: the average over the step, which counts where nothing overlaps: `(2/3) n_mu b_mu d_s`.
#[test]
fn partitioned_traffic_beside_nothing() {
    let mut scenario = x_160(&[]);
    Arc::make_mut(&mut scenario.stack).overlap = Overlap::None;
    let alone = row(&scenario, TransferKind::PartitionedState);
    assert_close(alone.flop_per_byte(), 2.0 / 3.0 * 5.0 * 2560.0);
    assert_close(alone.slowdown(), 1.0 + 6240.0 / (12_800.0 / 1.5));
    assert_eq!((alone.overlapped, alone.hidden(), alone.micro_batches), (false, false, None));
}

/// [layered B5]: standard accumulation gathers for every micro-batch, layered for all.
#[test]
fn what_shares_a_gather() {
    let intensity =
        |flags: &[(&str, &str)]| row(&x_160(flags), TransferKind::PartitionedState).flop_per_byte() / 1280.0;
    let standard = ("accumulation", "standard");
    assert_close(intensity(&[("pp", "1"), ("stages-per-rank", "1"), standard]), 1.0);
    assert_close(intensity(&[("pp", "1"), ("stages-per-rank", "1")]), 5.0);
    assert_close(intensity(&[standard, ("schedule", "breadth-first")]), 5.0);
    // One group of interleaved micro-batches goes as they do breadth first.
    assert_close(intensity(&[standard, ("schedule", "interleaved")]), 5.0);
}

/// [layered C5]: a rank's only stage is gathered once, before its first pass, and reduced after its last: 8 flop x
/// 5 x 2560 tokens over 2 (2 + 2) bytes. Of 4 interleaved stages on 4 ranks 24 are gathered for 8 micro-batches and 8
/// reduced, 6 and 2 each: 8 flop x 8 x 2560 over 2 (6 x 2 + 2 x 2). The two buffers hold all of 2 stages: each comes
/// once and is reduced for each group, beside the other.
#[test]
fn stages_that_find_no_free_buffer_hide_nothing() {
    let standard = ("accumulation", "standard");
    for schedule in ["1f1b", "gpipe"] {
        let one = row(&x_160(&[standard, ("schedule", schedule)]), TransferKind::PartitionedState);
        assert_close(one.flop_per_byte(), 5.0 * 2560.0);
        assert_close(one.slowdown(), 1.0 + 6240.0 / 12_800.0);
        assert!(!one.overlapped && !one.hidden());
    }
    let interleaved = |stages| {
        let flags = [("pp", "4"), ("nodes", "2416"), ("stages-per-rank", stages), ("accumulate", "8")];
        x_160(&[&flags[..], &[standard, ("schedule", "interleaved")]].concat())
    };
    let four = row(&interleaved("4"), TransferKind::PartitionedState);
    assert_close(four.flop_per_byte(), 8.0 * 8.0 * 2560.0 / 32.0);
    assert!(!four.overlapped);
    let two = row(&interleaved("2"), TransferKind::PartitionedState);
    assert_close(two.flop_per_byte(), 8.0 * 8.0 * 2560.0 / (2.0 * (2.0 + 2.0 * 2.0)));
    assert!(two.hidden());
    // Sums of gradients run beside the last group's backward: 6 flop x 4 x 2560 tokens over 8 bytes.
    let mut replicated = interleaved("4");
    replicated.plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::Device);
    assert_close(row(&replicated, TransferKind::DataParallel).flop_per_byte(), 6.0 * 4.0 * 2560.0 / 8.0);
    // To the host as over the network: weights for 6 passes of a stage, gradients for 2, all of a replica.
    replicated.plan.offload = Offload::State;
    let host = row(&replicated, TransferKind::StateOffload);
    assert_close(host.flop_per_byte(), 8.0 * 8.0 * 2560.0 / (6.0 * 2.0 + 2.0 * 2.0));
    assert!(!host.overlapped);
}

/// [layered B5]: the backward window `(3/4) n_mu b_mu d_s` layer by layer, `(3/4) b_mu d_s` else; the whole
/// step `n_mu b_mu d_s`.
#[test]
fn data_parallelism_of_x_160() {
    let flat = [("strategy", "ddp"), ("pp", "1"), ("stages-per-rank", "1")];
    let with = |more: &[(&str, &str)]| x_160(&[&flat, more].concat());
    let layered = row(&with(&[]), TransferKind::DataParallel);
    assert_close(layered.flop_per_byte(), 0.75 * 5.0 * 2560.0);
    // 6240 / (0.75 x 2560) = 3.25.
    assert_eq!((layered.hidden(), layered.micro_batches), (true, Some(4.0)));
    let standard = with(&[("accumulation", "standard")]);
    assert_close(row(&standard, TransferKind::DataParallel).flop_per_byte(), 0.75 * 2560.0);
    let mut alone = standard;
    Arc::make_mut(&mut alone.stack).overlap = Overlap::None;
    assert_close(row(&alone, TransferKind::DataParallel).flop_per_byte(), 5.0 * 2560.0);
    // Reduced in fp32: 4 + 4 bytes each way; with the optimizer sharded weights come back, in 2.
    Arc::make_mut(&mut alone.stack).reduce_format = Some(Format::Fp32);
    assert_close(row(&alone, TransferKind::DataParallel).flop_per_byte(), 8.0 / 16.0 * 5.0 * 2560.0);
    alone.plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
    assert_close(row(&alone, TransferKind::DataParallel).flop_per_byte(), 8.0 / 12.0 * 5.0 * 2560.0);
    // A rank with one stage reduces after its backward.
    let late = row(&x_160(&[flat[0], ("accumulation", "standard"), ("schedule", "1f1b")]), TransferKind::DataParallel);
    assert!(!late.overlapped);
    assert!(!transfers(&x_160(&[])).iter().any(|row| row.kind == TransferKind::DataParallel), "nothing is replicated");
}

/// [layered B5]: `24 d_m` = 614,400; each tensor rank moves its share.
#[test]
fn checkpoints_of_x_160_on_the_host() {
    let checkpoints = row(&x_160(&[("offload", "checkpoints")]), TransferKind::CheckpointOffload);
    assert_close(checkpoints.flop_per_byte(), 614_400.0);
    // Half of the layers computed again: 7 flop of 8, half of the bytes.
    let half = x_160(&[("offload", "checkpoints"), ("recompute", "0.5")]);
    assert_close(row(&half, TransferKind::CheckpointOffload).flop_per_byte(), 614_400.0 * 7.0 / 8.0 * 2.0);
    let none = x_160(&[("offload", "checkpoints"), ("recompute", "none")]);
    assert!(!transfers(&none).iter().any(|row| row.kind == TransferKind::CheckpointOffload), "nothing is written");
}

/// [layered B5]: `(8/6) n_mu b_mu d_s n_b`, for each micro-batch anew by standard accumulation.
#[test]
fn states_of_x_160_on_the_host() {
    let flat = [("pp", "1"), ("stages-per-rank", "1"), ("accumulation", "standard"), ("nodes", "483")];
    let all = row(&x_160(&[&flat[..], &[("offload", "state")]].concat()), TransferKind::StateOffload);
    assert_close(all.flop_per_byte(), 8.0 / 6.0 * 2560.0 * 483.0);
    assert!(all.hidden());
    let layered = row(&x_160(&[("offload", "state")]), TransferKind::StateOffload);
    assert_close(layered.flop_per_byte(), 8.0 / 6.0 * 5.0 * 2560.0 * 483.0);
    // From a second copy on the device backward needs nothing of the host: 2 + 2 bytes are left of 2 + 2 + 2.
    let second = row(&x_160(&[("offload", "state"), ("strategy", "zeropp"), ("hpz", "7")]), TransferKind::StateOffload);
    assert_close(second.flop_per_byte(), 8.0 / 4.0 * 5.0 * 2560.0 * 483.0);
    // Gradients out and weights back once: 8 flop x 5 x 2560 tokens over (2 + 2) / 483 bytes, after backward.
    let optimizer = row(&x_160(&[&flat[..], &[("offload", "optimizer")]].concat()), TransferKind::StateOffload);
    assert_close(optimizer.flop_per_byte(), 2.0 * 5.0 * 2560.0 * 483.0);
    assert!(!optimizer.overlapped);
}

/// Without recompute 6 flop of 8 are left: four all-reduces of six, `72 d_m^2 / (32 d_m (n_a - 1))`.
#[test]
fn recompute_is_the_plans() {
    let tensor = row(&x_160(&[("recompute", "none")]), TransferKind::Tensor);
    assert_close(tensor.flop_per_byte(), 2.25 * 25600.0 / 15.0);
    // Forward 2 flop over 4 bytes, backward 4 flop over 8: alike.
    let state = row(&x_160(&[("recompute", "none")]), TransferKind::PartitionedState);
    assert_close(state.flop_per_byte(), 0.5 * 12_800.0);
}

/// Formats of the wire and second copies: what is gathered in 8 bits asks for half, what is reduced in fp32
/// makes backward the strictest phase.
#[test]
fn formats_on_the_wire() {
    let mut scenario = testing::scenario();
    let intensity = |scenario: &Scenario| row(scenario, TransferKind::PartitionedState).flop_per_byte() / 1024.0;
    // Nothing computed again: forward 2 / 4, backward 4 / (4 + 4).
    assert_close(intensity(&scenario), 0.5);
    scenario.plan.sharding.wire.weights = Format::Int8;
    // Forward 2 / 2, backward 4 / (2 + 4).
    assert_close(intensity(&scenario), 4.0 / 6.0);
    scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Int8 });
    // Backward gathers from the second copy: 4 / 4.
    assert_close(intensity(&scenario), 1.0);
    Arc::make_mut(&mut scenario.stack).reduce_format = Some(Format::Fp32);
    assert_close(intensity(&scenario), 0.5);
}

/// The ring of a toy node's four devices passes the network through all four ports of 10 GB/s, one rank of
/// each node through its own: 100e12 / (2 x 40e9) = 1250 and 5000. Inside a node 100 GB/s: 500.
#[test]
fn the_link_is_the_one_that_the_program_crosses() {
    let mut scenario = testing::scenario();
    let link = |scenario: &Scenario, kind: TransferKind| {
        let row = row(scenario, kind);
        (row.link, row.threshold)
    };
    assert_eq!(link(&scenario, TransferKind::PartitionedState), (TransferLink::Level(1), 1250.0));
    // Inside the nodes state is sharded, across them its replicas are summed: a quarter of it by each rank.
    scenario.plan.sharding = testing::sharding(Extent::Node, Extent::Node, Extent::Node);
    assert_eq!(link(&scenario, TransferKind::PartitionedState), (TransferLink::Level(0), 500.0));
    assert_eq!(link(&scenario, TransferKind::DataParallel), (TransferLink::Level(1), 5000.0));
    assert_close(row(&scenario, TransferKind::DataParallel).flop_per_byte(), 4.0 * 1024.0 / (8.0 / 4.0));
    // Weights on two ranks, gradients in the node, the optimizer over all: a quarter goes, a quarter comes back.
    scenario.plan.sharding = testing::sharding(Extent::Ranks(2), Extent::Node, Extent::System);
    assert_eq!(link(&scenario, TransferKind::DataParallel), (TransferLink::Level(1), 5000.0));
    assert_close(row(&scenario, TransferKind::DataParallel).flop_per_byte(), 4.0 * 1024.0 / (8.0 / 4.0));
    // ZeRO-2: gradients over all, weights whole.
    scenario.plan.sharding = testing::sharding(Extent::Device, Extent::System, Extent::System);
    assert_eq!(link(&scenario, TransferKind::DataParallel), (TransferLink::Level(1), 1250.0));
    assert_close(row(&scenario, TransferKind::DataParallel).flop_per_byte(), 4.0 * 1024.0 / 8.0);
    scenario.plan.tensor = 4;
    scenario.plan.sharding = testing::zero3();
    assert_eq!(link(&scenario, TransferKind::PartitionedState), (TransferLink::Level(1), 5000.0));
    assert_eq!(link(&scenario, TransferKind::Tensor), (TransferLink::Level(0), 500.0));
}

/// Two ways to the same number: without latency, the program's gather of a layer takes `(n - 1) / n` of
/// what the verdict says, against the arithmetic of the layer's forward.
#[test]
fn the_verdict_is_the_programs_own_gather() {
    let scenario = testing::scenario();
    let (rates, parameters) =
        (Rates::new(&scenario, &Factors::default()), scenario.model.layer_parameters(LayerKind::default()) as f64);
    let payload = Payload::plain(Count::new(parameters), Format::Bf16);
    let gather = rates.gather(payload, Group::new(1, 8)).time.get();
    let forward = FORWARD * parameters * 1024.0 / scenario.cluster.device.peak.bf16.expect("a peak").get();
    assert_close(gather / forward, row(&scenario, TransferKind::PartitionedState).slowdown() * 7.0 / 8.0);
}

/// Of Mixtral's eight experts two work: fewer flop for what travels.
#[test]
fn idle_experts_travel_too() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Full;
    scenario.model = Library::embedded().model("mixtral-8x7b").expect("a preset");
    // Per layer: attention 4096 x (4096 + 2 x 1024) + 4096 x 4096 = 41,943,040 weights, an expert 3 x 4096 x
    // 14,336 = 176,160,768: (41.943 + 2 x 176.161) / (41.943 + 8 x 176.161) = 394.264 / 1451.229.
    let state = row(&scenario, TransferKind::PartitionedState);
    assert_close(state.flop_per_byte(), 0.5 * 1024.0 * 394_264_576.0 / 1_451_229_184.0);
}

#[test]
fn one_device_moves_nothing() {
    let mut scenario = testing::scenario();
    scenario.plan.size = Size::Devices(1);
    assert_eq!(transfers(&scenario), []);
    scenario.plan.offload = Offload::State;
    assert_eq!(transfers(&scenario).len(), 1);
}
