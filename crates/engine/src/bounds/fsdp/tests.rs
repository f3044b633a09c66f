//! The limits against the figures and laws of the notes on them.

use crate::presets::Library;
use crate::testing;

use super::*;

const MODELS: [&str; 7] = ["1.3b", "7b", "13b", "30b", "66b", "175b", "310b"];

/// [fsdp A6]: Q = 2, 40 GB, no reserve, 25 GB/s, 312 TFLOP/s, sequence 2048, gamma 0.
pub(super) fn limits(name: &str, devices: u32) -> FsdpLimits {
    let mut scenario = testing::scenario();
    scenario.model = Library::embedded().model(&format!("fsdp-{name}")).expect("a preset");
    FsdpLimits {
        devices,
        memory: Bytes::new(40e9),
        link: BytesPerSecond::new(25e9),
        peak: FlopPerSecond::new(312e12),
        sequence: 2048.0,
        ..FsdpLimits::of_family(&scenario)
    }
}

/// Whether `found` is `published` to the digits given; the notes round most figures and cut off one.
fn assert_digits(found: f64, published: &str, what: &str) {
    let decimals = published.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = published.parse().expect("a number");
    let digit = libm::pow(10.0, -(decimals as f64));
    assert!((found - value).abs() < digit, "{what}: {found} is not {published}");
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
}

/// [fsdp A6], table of models: phi in billions.
#[test]
fn the_parameters_of_each_model() {
    let published = ["1.2080", "6.4425", "12.583", "29.595", "65.230", "173.95", "309.24"];
    for (name, published) in MODELS.into_iter().zip(published) {
        assert_digits(limits(name, 1).parameters / 1e9, published, name);
    }
}

/// [fsdp A6], golden values of A2 and A4: free memory in GB, whole tokens, seconds, HFU of (a) before
/// the cap, tokens per second of (a).
#[test]
fn the_golden_values_of_memory_and_bounds() {
    for (name, devices, free, tokens, transfer, hfu, throughput) in [
        ("7b", 64, "38.389", 146_443.0, "0.5154", "12.712", "71034.6"),
        ("13b", 8, "14.834", 36_216.0, "1.0066", "3.0954", "8994.4"),
        ("13b", 512, "39.607", 96_696.0, "1.0066", "8.2646", "24014.8"),
        ("30b", 64, "32.601", 47_376.0, "2.3676", "3.9770", "5002.6"),
        ("66b", 512, "37.962", 32_180.0, "5.2184", "2.6741", "1541.7"),
        ("175b", 512, "34.564", 14_650.0, "13.9157", "1.2065", "263.2"),
        ("310b", 512, "30.336", 9_643.0, "24.739", "0.7888", "97.5"),
    ] {
        let limits = limits(name, devices);
        let what = format!("{name} on {devices}");
        assert_digits(limits.free().get() / 1e9, free, &what);
        assert!((limits.token_capacity() - tokens).abs() < 1.0, "{what}: {} tokens", limits.token_capacity());
        assert_digits(limits.transfer().get(), transfer, &what);
        assert_digits(limits.hidden().hfu, hfu, &what);
        assert_digits(limits.hidden().tokens_per_s, throughput, &what);
    }
}

/// [fsdp A6]: where state alone does not fit, nothing is left to bound.
#[test]
fn no_memory_left_leaves_no_tokens() {
    for (name, devices) in [("13b", 4), ("30b", 8), ("66b", 8), ("175b", 64), ("310b", 64)] {
        let limits = limits(name, devices);
        assert!(limits.free() < Bytes::ZERO, "{name} on {devices}");
        assert_eq!(limits.token_capacity().to_bits(), 0.0_f64.to_bits());
        let none = Utilisation { hfu: 0.0, mfu: 0.0, tokens_per_s: 0.0 };
        assert_eq!((limits.hidden(), limits.network_floor()), (none, none));
        assert_eq!(limits.capped(none), none);
    }
    assert_digits(limits("175b", 64).free().get() / 1e9, "-3.49", "175b on 64");
}

/// [fsdp A5], worked example: 7B on 64, alpha 0.75, `n_bwd` 1, tokens in whole sequences.
#[test]
fn the_worked_example() {
    for (gamma, tokens, [forward, backward, time], [hfu, mfu], throughput) in [
        (0.00, 145_408.0, ["8.6739", "26.0218", "34.6957"], ["0.7500", "0.5625"], "4190.95"),
        (0.25, 28_672.0, ["1.7104", "4.7035", "6.4138"], ["0.7500", "0.6000"], "4470.35"),
        (0.50, 14_336.0, ["0.8552", "2.1379", "2.9931"], ["0.7500", "0.6429"], "4789.66"),
        (0.75, 10_240.0, ["0.6108", "1.3744", "1.9852"], ["0.7500", "0.6923"], "5158.09"),
        (1.00, 8_192.0, ["0.4887", "0.9773", "1.4927"], ["0.7366", "0.7366"], "5487.89"),
    ] {
        let limits = FsdpLimits { gamma, ..limits("7b", 64) };
        let what = format!("gamma {gamma}");
        let whole = libm::floor(limits.token_capacity() / limits.sequence) * limits.sequence;
        assert!((whole - tokens).abs() < 0.5, "{what}: {whole} tokens");
        let step = limits.step(tokens, 0.75);
        assert_digits(limits.transfer().get(), "0.5154", &what);
        assert_digits(step.forward.get(), forward, &what);
        assert_digits(step.backward.get(), backward, &what);
        assert_digits(step.time.get(), time, &what);
        assert_digits(step.reached.hfu, hfu, &what);
        assert_digits(step.reached.mfu, mfu, &what);
        assert_digits(step.reached.tokens_per_s, throughput, &what);
    }
}

/// [fsdp A3]: HFU / MFU = (4 - gamma) / 3.
#[test]
fn hardware_flop_are_model_flop_and_recompute() {
    for gamma in [0.0, 0.3, 1.0] {
        let limits = FsdpLimits { gamma, n_bwd: 2.0, ..limits("13b", 64) };
        let step = limits.step(4096.0, 0.5).reached;
        for bound in [limits.hidden(), limits.network_floor(), limits.capped(limits.hidden()), step] {
            assert_close(bound.hfu / bound.mfu, (4.0 - gamma) / 3.0);
        }
    }
}

/// [fsdp A4 (a), (b), (c)]: the bounds in the shape's own terms.
#[test]
fn the_bounds_in_closed_form() {
    for name in MODELS {
        let limits = limits(name, 512);
        let (width, q) = (limits.layers * limits.hidden, 2.0);
        let rates = limits.free().get() * limits.link.get();
        let share = (2.0 + limits.sequence / (3.0 * limits.hidden)) / (width * q * q);
        assert_close(limits.hidden().hfu, share * rates / limits.peak.get());
        assert_close(limits.hidden().tokens_per_s, rates / (48.0 * width * width * limits.hidden * q * q));
        assert_close(limits.network_floor().tokens_per_s, rates / (24.0 * width * width * limits.hidden * q * q));
        assert_close(limits.token_capacity(), limits.free().get() / (width * q));
    }
}

/// [fsdp A4]: the floor is above (a) by 2 with one transfer in backward, by 4/3 with two.
#[test]
fn the_floor_is_above_what_hides_everything() {
    for (n_bwd, factor) in [(1.0, 2.0), (2.0, 4.0 / 3.0)] {
        let limits = FsdpLimits { n_bwd, ..limits("30b", 64) };
        assert_close(limits.network_floor().hfu / limits.hidden().hfu, factor);
        assert_close(limits.network_floor().tokens_per_s / limits.hidden().tokens_per_s, factor);
    }
}

/// [fsdp A4 (a)]: 13B on 512 at 1.5625 GB/s: bound 0.5165, and by brute force over alpha 0.516.
#[test]
fn brute_force_finds_the_bound() {
    let limits = FsdpLimits { link: BytesPerSecond::new(1.5625e9), ..limits("13b", 512) };
    assert_digits(limits.hidden().hfu, "0.5165", "the bound");
    let hides = |alpha: &f64| limits.overlap(limits.token_capacity(), *alpha).into_iter().all(|ratio| ratio <= 1.0);
    let best = (1..=1000).map(|step| f64::from(step) / 1000.0).filter(hides).fold(0.0, f64::max);
    assert_digits(best, "0.516", "brute force");
    assert_close(limits.step(limits.token_capacity(), best).reached.hfu, best);
}

/// [fsdp A3], lemma: up to `n_bwd = 3 - gamma` backward asks for no more than forward; beyond it does.
#[test]
fn backward_matters_beyond_three_less_gamma() {
    let hfu = |gamma: f64, n_bwd: f64| FsdpLimits { gamma, n_bwd, ..limits("66b", 512) }.hidden().hfu;
    for gamma in [0.0, 0.5, 1.0] {
        assert_close(hfu(gamma, 3.0 - gamma), hfu(gamma, 1.0));
        assert_close(hfu(gamma, 2.0 * (3.0 - gamma)), 0.5 * hfu(gamma, 1.0));
    }
}

/// [fsdp A4], scaling: linear in free memory and bandwidth, inverse in the peak, of the devices only
/// through free memory, falling as 1 / (L H) where the sequence is short.
#[test]
fn how_the_bound_scales() {
    let base = limits("30b", 64);
    let hfu = |limits: FsdpLimits| limits.hidden().hfu;
    let doubled = FsdpLimits { memory: base.memory + base.free(), ..base };
    assert_close(hfu(doubled), 2.0 * hfu(base));
    assert_close(hfu(FsdpLimits { link: base.link * 2.0, ..base }), 2.0 * hfu(base));
    assert_close(hfu(FsdpLimits { peak: base.peak * 2.0, ..base }), 0.5 * hfu(base));
    let wide = FsdpLimits { devices: 512, ..base };
    let same = FsdpLimits { memory: base.memory - (wide.free() - base.free()), ..wide };
    assert_close(hfu(same), hfu(base));
    let deep = FsdpLimits {
        layers: 2.0 * base.layers,
        parameters: 2.0 * base.parameters,
        arithmetic: TokenArithmetic::family(2.0 * base.parameters, base.hidden),
        ..base
    };
    let deep = FsdpLimits { memory: deep.memory + (base.free() - deep.free()), ..deep };
    assert_close(hfu(deep), 0.5 * hfu(base));
}

/// [fsdp A2]: what stages 1 and 2 leave whole: 7B on 64, weights 12.885 GB, gradients as much, optimizer
/// 77.309 / 64 = 1.208 GB.
#[test]
fn the_stages_shard_one_part_after_the_other() {
    let free = |stage: ZeroStage| FsdpLimits { stage, ..limits("7b", 64) }.free().get() / 1e9;
    assert_digits(free(ZeroStage::One), "13.022", "40 - 2 x 12.885 - 1.208");
    assert_digits(free(ZeroStage::Two), "25.706", "40 - 12.885 - (12.885 + 77.309) / 64");
    assert_digits(free(ZeroStage::Three), "38.389", "40 - 103.079 / 64");
    // [fsdp A3]: no gather in forward; a reduction and a gather per step, as many as `n_bwd` = 2 moves.
    let two = FsdpLimits { stage: ZeroStage::Two, ..limits("7b", 64) };
    assert_eq!(two.overlap(4096.0, 1.0)[0].to_bits(), 0.0_f64.to_bits());
    let transfer = two.transfer().get();
    assert_close(two.network_floor().tokens_per_s, two.token_capacity() / (2.0 * transfer));
}

/// [fsdp A3, A7]: `L N epsilon` on top, and (N - 1) / N of the bytes: 7B on 64, 1 us: 32 x 64 us = 2.048 ms.
#[test]
fn latency_and_the_ring_factor() {
    let base = limits("7b", 64);
    let slow = FsdpLimits { latency: Seconds::new(1e-6), ..base };
    assert!(((slow.transfer() - base.transfer()).get() - 2.048e-3).abs() < 1e-12);
    assert_close(FsdpLimits { ring: true, ..base }.transfer() / base.transfer(), 63.0 / 64.0);
    let alone = FsdpLimits { ring: true, devices: 1, memory: Bytes::new(200e9), ..base };
    assert_eq!(alone.capped(alone.network_floor()).hfu.to_bits(), 1.0_f64.to_bits(), "nothing travels");
}

/// Bandwidth is that of a ring on the slowest level crossed: 100 GB/s in a toy node of four; across nodes 4 ports of
/// 10 GB/s each.
#[test]
fn a_scenario_says_the_numbers() {
    let mut scenario = testing::scenario();
    let limits = FsdpLimits::new(&scenario);
    assert_eq!((limits.devices, limits.link), (8, BytesPerSecond::new(40e9)));
    assert_eq!((limits.memory, limits.peak), (Bytes::new(10e9), FlopPerSecond::new(100e12)));
    assert_close(limits.optimizer / limits.element, 6.0);
    scenario.plan.bandwidth_factor = 0.5;
    assert_eq!(FsdpLimits::new(&scenario).link, BytesPerSecond::new(20e9));
    scenario.plan.size = crate::plan::Size::Devices(4);
    assert_eq!(FsdpLimits::new(&scenario).link, BytesPerSecond::new(100e9));
}

/// Mixtral 8x7B has 46.7e9 parameters, of which a token meets 12.9e9 (arXiv 2401.04088); 4 x 32 layers x 4096 wide x
/// 2048 tokens of attention.
#[test]
fn all_experts_travel_and_few_compute() {
    let mut scenario = testing::scenario();
    scenario.model = Library::embedded().model("mixtral-8x7b").expect("a preset");
    let limits = FsdpLimits { sequence: 2048.0, ..FsdpLimits::of_family(&scenario) };
    assert!((limits.parameters / 1e9 - 46.7).abs() < 0.05, "{}", limits.parameters);
    let forward = 2.0 * 12.9e9 + 4.0 * 32.0 * 4096.0 * 2048.0;
    assert!((limits.forward_flop().get() / forward - 1.0).abs() < 0.01, "{}", limits.forward_flop());
}
