//! The model against the layers that the authors measured, and its laws.

use std::sync::Arc;

use super::*;
use crate::cost::Factors;
use crate::model::LayerKind;
use crate::plan::Precision;
use crate::plan::pass::Pass;
use crate::search::planner::profile::MeasuredProfile;
use crate::testing;

/// Rows of the authors' own profile; where they are from stands in the file.
const ROWS: &str = include_str!("../../../../../tests/fixtures/osdp_profile.csv");

/// Widths from which the laws hold.
const WIDE: [u32; 6] = [1536, 2048, 3072, 4096, 6144, 8192];

/// Adam in FP32: 4 + 4 + 8 bytes per parameter.
const STATE: Bytes = Bytes::new(16.0);

const RANKS: u32 = 8;

fn seconds(profile: &MeasuredProfile, hidden: u32, batch: u32, strategy: u32) -> f64 {
    profile.measured(hidden, batch, strategy).expect("a row").time_s
}

fn mib(profile: &MeasuredProfile, hidden: u32, batch: u32, strategy: u32) -> f64 {
    profile.measured(hidden, batch, strategy).expect("a row").mem_mib
}

fn profile() -> MeasuredProfile {
    MeasuredProfile::parse(ROWS).expect("valid")
}

/// `12 h^2`: the matrices of a layer.
fn parameters(hidden: u32) -> f64 {
    12.0 * f64::from(hidden) * f64::from(hidden)
}

fn layer(hidden: u32, batch: u32, collectives: f64, flop_per_s: f64) -> Operator {
    // 6 flop per weight and token; 96 samples of 6 tokens per batch index.
    let flop = 6.0 * parameters(hidden) * 576.0 * f64::from(batch);
    Operator { bytes: Bytes::new(4.0 * parameters(hidden)), collectives, compute: Seconds::new(flop / flop_per_s) }
}

fn ring(step: f64, seconds_per_byte: f64) -> Ring {
    Ring { ranks: RANKS, step: Seconds::new(step), bandwidth: BytesPerSecond::new(1.0 / seconds_per_byte) }
}

/// [osdp C6 d]: with the constants of the least squares over batches 1 to 3. The replicated layers lie in the
/// root unit, one collective for all; the sharded ones have six linear maps each, and hide part of their
/// arithmetic, which shows as a higher rate of it.
#[test]
fn the_measured_layers_are_within_seven_percent() {
    let profile = profile();
    let (replicated, sharded) = (ring(5.2e-5, 0.207e-9), ring(4.8e-5, 0.210e-9));
    let within = |found: Seconds, measured: f64, what: &str| {
        let error = found.get() / measured - 1.0;
        assert!(error.abs() < 0.07, "{what}: {error}");
    };
    for batch in 1..=3 {
        for hidden in [1024].into_iter().chain(WIDE) {
            let found = layer(hidden, batch, 1.0, 10.7e12).time(Mode::Replicated, &replicated);
            within(found, seconds(&profile, hidden, batch, 0), &format!("DP {hidden} x {batch}"));
        }
        for hidden in WIDE {
            let found = layer(hidden, batch, 6.0, 24.9e12).time(Mode::Sharded { recomputed: false }, &sharded);
            within(found, seconds(&profile, hidden, batch, 3), &format!("ZDP {hidden} x {batch}"));
        }
    }
}

/// [osdp C6 a]: sharded 16 / 8 bytes per parameter; in the root unit 12 more; attention is a third of the
/// matrices, the MLP two. From width 6144 on, 4 bytes of a transient are gone from the peak of the MLP's rows.
///
/// Beside the matrices a row holds one sample of 6 tokens, 16.5 FP32 values of each and unit of the width [osdp C6 b], and
/// biases and norms, 13 parameters per unit of the width: 396 h bytes, and 13 h times at most the 14 of the root unit. From
/// width 3072 on the law is exact to these 578 h, 0.8 % of the smallest row and less of all others; below, some rows hold
/// up to 6 MiB more, and what the notes give as ranges is all that holds.
#[test]
fn law_a_the_state_per_parameter() {
    let profile = profile();
    let sharded = Mode::Sharded { recomputed: false }.state(1.0, STATE, &ring(0.0, 1.0)).get();
    let root = 12.0 + sharded;
    for hidden in [1024].into_iter().chain(WIDE) {
        let mixed = |attention: f64, mlp: f64| attention / 3.0 + 2.0 * mlp / 3.0;
        let transient = if hidden >= 6144 { 4.0 } else { 0.0 };
        let laws = [root, mixed(sharded, root), mixed(root - transient, sharded), sharded];
        // The notes' ranges beside the law: 13.97-14.03, 10.00-10.11, 6.00-6.20 or 4.667, 2.00-2.22.
        let ranges = [(0.03, 0.03), (0.0, 0.11), (0.0, 0.20), (0.0, 0.22)];
        for ((strategy, law), (below, above)) in (0..).zip(laws).zip(ranges) {
            let bytes = mib(&profile, hidden, 0, strategy) * 1_048_576.0;
            let found = bytes / parameters(hidden);
            // As printed, in hundredths.
            assert!((law - below - 0.005..law + above + 0.005).contains(&found), "{hidden}, {strategy}: {found}");
            let rest = (bytes - law * parameters(hidden)) / f64::from(hidden);
            let most = 6.0 * 16.5 * 4.0 + 13.0 * root;
            assert!(hidden < 3072 || (0.0..most).contains(&rest), "{hidden}, {strategy}: {rest} bytes per unit");
        }
    }
}

/// [osdp C6 b]: 16.5 FP32 values per token and unit of the width: 16 elements and two one-byte masks.
#[test]
fn law_b_the_activations_per_token() {
    let profile = profile();
    for hidden in WIDE.into_iter().filter(|hidden| *hidden >= 2048) {
        let mut scenario = testing::scenario();
        scenario.model = Arc::new(testing::model(1, hidden));
        scenario.plan.precision = Precision::Fp32;
        Arc::make_mut(&mut scenario.stack).dropout = true;
        let rates = Rates::new(&scenario, &Factors::default());
        let expected = rates.activations(LayerKind::default()).whole.get() / rates.tokens().get();
        assert!((expected / (16.5 * 4.0 * f64::from(hidden)) - 1.0).abs() < 1e-12);
        // Batches 3 and 4: what is not sharded no longer hides the activations.
        let more = mib(&profile, hidden, 4, 3) - mib(&profile, hidden, 3, 3);
        let found = more * 1_048_576.0 / 576.0;
        assert!((found / expected - 1.0).abs() < 0.03, "{hidden}: {found} is not {expected}");
    }
}

/// [osdp C6 c]: extrapolated to no samples, sharded layers take half as long again as replicated ones.
#[test]
fn law_c_three_passes_take_half_as_long_again_as_two() {
    let profile = profile();
    let no_samples =
        |hidden, strategy| 2.0 * seconds(&profile, hidden, 1, strategy) - seconds(&profile, hidden, 2, strategy);
    let ratios = WIDE.map(|hidden| no_samples(hidden, 3) / no_samples(hidden, 0));
    let mean = ratios.iter().sum::<f64>() / 6.0;
    assert!(ratios.iter().all(|ratio| (1.46..1.56).contains(ratio)) && (mean - 1.52).abs() < 0.005, "{ratios:?}");
    let idle = Operator { compute: Seconds::ZERO, ..layer(4096, 1, 1.0, 1.0) };
    let ring = ring(0.0, 0.2e-9);
    let time = |mode| idle.time(mode, &ring).get();
    let [two, three, four] =
        [Mode::Replicated, Mode::Sharded { recomputed: false }, Mode::Sharded { recomputed: true }].map(time);
    assert!((three / two - 1.5).abs() < 1e-12 && (four / two - 2.0).abs() < 1e-12);
}

/// Ranks 8 in a node at 100 GB/s, latency 1 us: 7 steps of 1 us, and 7/8 of the bytes.
#[test]
fn a_ring_has_the_rates_of_its_group() {
    let mut scenario = testing::scenario();
    let calibration = Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("there");
    calibration.latency = 1.0;
    let rates = Rates::new(&scenario, &Factors::default());
    let ring = Ring::new(&rates, Group::new(1, 4));
    let pass = ring.pass(Bytes::new(8e8), 2.0).get();
    assert!((pass / (2.0 * 3e-6 + 6e8 / 100e9) - 1.0).abs() < 1e-9, "{pass}");
    assert_eq!(Ring { ranks: 1, ..ring }.pass(Bytes::new(8e8), 1.0), Seconds::ZERO);
}

/// [osdp C7]: OPT-30B cut to 8 layers (h 7168, inner width 28672, vocabulary 50272) in FP32 on 8 devices of
/// 16 GiB. The sequence length is not published; 512 tokens are assumed, flash attention, and the 800 MiB
/// that the released search keeps free. Embedding and logits count with their state, and with 4 bytes per
/// logit kept twice.
#[test]
fn splitting_lets_a_second_sample_into_opt_30b() {
    let (hidden, vocab, tokens) = (7168.0, 50272.0, 512.0);
    let sharded = Mode::Sharded { recomputed: false };
    let parameters = 8.0 * 12.0 * hidden * hidden + (vocab + 2048.0) * hidden;
    let state = sharded.state(parameters, STATE, &ring(0.0, 1.0));
    let activations = Bytes::new(tokens * (8.0 * 16.5 * 4.0 * hidden + 2.0 * 4.0 * vocab));
    let linear = |inputs: f64, outputs: f64| Operator {
        bytes: Bytes::new(4.0 * inputs * outputs),
        collectives: 1.0,
        compute: Seconds::ZERO,
    };
    let (square, fc) = (linear(hidden, hidden), linear(hidden, 4.0 * hidden));
    let peak = |batch: f64, slices: u32| {
        let largest = [square, fc.slice(slices, Seconds::ZERO)].map(|operator| operator.held(sharded, Pass::Backward));
        let held = largest.into_iter().fold(Bytes::ZERO, Bytes::max);
        state + activations * batch + held + Bytes::new(800.0 * 1_048_576.0)
    };
    let limit: Bytes = "16 GiB".parse().expect("a size");
    assert!(peak(1.0, 1) < limit, "{}", peak(1.0, 1));
    assert!(peak(2.0, 1) > limit, "{}", peak(2.0, 1));
    assert!(peak(2.0, 4) < limit, "{}", peak(2.0, 4));
}

#[test]
fn slices_pay_latency() {
    // 4 slices of 1 MB: the same bytes, three times more of the 7 steps of 10 us, in each of three passes.
    let ring = ring(1e-5, 1e-9);
    let whole = Operator { bytes: Bytes::new(4e6), collectives: 1.0, compute: Seconds::new(4e-3) };
    let slice = whole.slice(4, Seconds::new(1e-3));
    let mode = Mode::Sharded { recomputed: false };
    let more = slice.time(mode, &ring) * 4.0 - whole.time(mode, &ring);
    assert!((more.get() / (3.0 * 3.0 * 7.0 * 1e-5) - 1.0).abs() < 1e-9, "{more}");
    assert_eq!(slice.held(mode, Pass::Backward), Bytes::new(2e6));
}
