//! The search against exhaustive loops, hand arithmetic and the laws of [fsdp A5].

use proptest::prelude::*;

use crate::bounds::fsdp::tests::limits;
use crate::units::{Bytes, BytesPerSecond};

use super::*;

fn assert_close(found: f64, expected: f64, digits: f64) {
    assert!((found - expected).abs() <= digits, "{found} is not {expected}");
}

/// Every stage, gamma, sequence, batch and efficiency in tenths, as [fsdp A5] has it in hundredths.
fn every_point(limits: &FsdpLimits, alpha_max: u32) -> Vec<GridPoint> {
    let mut points = Vec::new();
    for stage in [ZeroStage::One, ZeroStage::Two, ZeroStage::Three] {
        for tenth in 0..=10 {
            let limits = FsdpLimits { stage, gamma: f64::from(tenth) / 10.0, ..*limits };
            for exponent in 9..30 {
                let limits = FsdpLimits { sequence: f64::from(1 << exponent), ..limits };
                for batch in 1..=(limits.token_capacity() / limits.sequence) as u32 {
                    let point = |alpha: u32| limits.point(f64::from(batch), f64::from(alpha) / 10.0);
                    points.extend((1..=alpha_max).map(point));
                }
            }
        }
    }
    points
}

fn best(points: &[GridPoint], figure: impl Fn(&GridPoint) -> f64) -> f64 {
    points.iter().map(figure).fold(0.0, f64::max)
}

fn fewest(points: &[GridPoint], is: impl Fn(&GridPoint) -> bool) -> f64 {
    points.iter().filter(|point| is(point)).map(GridPoint::tokens).fold(f64::INFINITY, f64::min)
}

fn agrees(limits: &FsdpLimits, alpha: u32) {
    let (points, found) = (every_point(limits, alpha), search(limits, f64::from(alpha) / 10.0));
    let Some(found) = found else { return assert!(points.is_empty()) };
    assert_close(found.searched, points.len() as f64 / f64::from(alpha), 0.0);
    for (point, figure) in [
        (found.mfu, (|point| point.reached.mfu) as fn(&GridPoint) -> f64),
        (found.throughput, |point| point.reached.tokens_per_s),
        (found.sequence, |point| point.sequence),
    ] {
        let most = best(&points, figure);
        assert_close(figure(&point) / most, 1.0, 1e-12);
        // What was chosen is a point of the grid.
        assert!(points.iter().any(|other| (other.time / point.time - 1.0).abs() < 1e-12));
    }
    let most = best(&points, |point| point.reached.mfu);
    let tokens = fewest(&points, |point| point.reached.mfu >= most * (1.0 - 1e-12));
    assert_close(found.mfu.tokens(), tokens, 0.0);
    let longest: Vec<GridPoint> =
        points.iter().filter(|point| point.sequence >= found.sequence.sequence).copied().collect();
    assert_close(found.sequence.reached.mfu / best(&longest, |point| point.reached.mfu), 1.0, 1e-12);
}

/// [fsdp A5]: leaving out the loops over batch and efficiency loses nothing.
#[test]
fn exhaustive_loops_find_the_same() {
    for (model, devices, link, n_bwd) in
        [("13b", 8, 25e9, 1.0), ("13b", 8, 1e9, 2.0), ("30b", 32, 3e9, 2.0), ("66b", 64, 25e9, 1.0)]
    {
        let limits = FsdpLimits { link: BytesPerSecond::new(link), n_bwd, ..limits(model, devices) };
        agrees(&limits, 7);
        agrees(&FsdpLimits { latency: Seconds::new(1e-6), ring: true, ..limits }, 7);
    }
}

/// [fsdp A6]: 175B on 64 devices lacks 3.49 GB for its state alone.
#[test]
fn nothing_fits_where_state_does_not() {
    assert_eq!(search(&limits("175b", 64), 0.75), None);
    // 1.3B on one device: 16 x 1.20796e9 bytes leave nothing of 19.33 GB, and 100,000 bytes hold one token.
    let scarce = FsdpLimits { memory: Bytes::new(16.0 * 1.207_959_552e9 + 1e5), ..limits("1.3b", 1) };
    assert_close(scarce.token_capacity().floor(), 1.0, 0.0);
    assert_eq!(search(&scarce, 0.75), None);
}

/// The machine of the worked example [fsdp A5], 7B on 64 at 0.75 of the peak, by hand. phi = 6.442451e9,
/// a token takes 262,144 bytes where gamma is 0 and 4,456,448 where it is 1, and 38.389 GB are free.
#[test]
fn the_best_points_of_the_worked_example() {
    let found = search(&limits("7b", 64), 0.75).expect("it fits");
    // 146,443 tokens fit at gamma 0: one sequence of 2^17. All hidden, MFU is 0.75 x 3/4.
    let GridPoint { stage, gamma, sequence, batch, reached, .. } = found.sequence;
    assert_eq!(
        (stage, gamma.to_bits(), sequence as u32, batch as u32),
        (ZeroStage::Three, 0.0_f64.to_bits(), 131_072, 1)
    );
    assert_close(reached.mfu, 0.5625, 1e-12);
    // At gamma 1 forward hides its 0.5154 s from 8192 tokens of sequences of 4096 on: phi (2 + 1/3) flop per
    // token, 8192 x 1.50324e10 / 234e12 = 0.5263 s. Then MFU is HFU, 0.75; no smaller batch of any length does.
    let GridPoint { stage, gamma, sequence, batch, reached, .. } = found.mfu;
    assert_eq!((stage, gamma.to_bits(), sequence as u32, batch as u32), (ZeroStage::Three, 1.0_f64.to_bits(), 4096, 2));
    assert_close(reached.mfu, 0.75, 1e-12);
    // At gamma 0.9 4,037,017.6 bytes per token let 18 sequences of 512 in, 9216 tokens: forward 9216 x 6.442451e9 x
    // (2 + 1/24) / 234e12 = 0.51804 s hides the gather, backward is 2.1 x it: 9216 / (3.1 x 0.51804) = 5738.7.
    // With gamma 1, 8192 tokens wait for the gather: 8192 / (0.51540 + 2 x 0.46048) = 5703.4.
    let GridPoint { gamma, sequence, batch, reached, .. } = found.throughput;
    assert_eq!((gamma.to_bits(), sequence as u32, batch as u32), (0.9_f64.to_bits(), 512, 18));
    assert_close(reached.tokens_per_s, 5738.7, 0.1);
}

/// [fsdp A5], the worked example's rows: what the grid holds for 2048 tokens at the largest batch that fits.
#[test]
fn the_rows_of_the_worked_example() {
    for (gamma, batch, mfu, throughput) in
        [(0.0, 71, 0.5625, 4190.95), (0.5, 7, 0.6429, 4789.66), (1.0, 4, 0.7366, 5487.89)]
    {
        let limits = FsdpLimits { gamma, ..limits("7b", 64) };
        assert_eq!((limits.token_capacity() / 2048.0) as u32, batch);
        let row = limits.point(f64::from(batch), 0.75);
        assert_close(row.reached.mfu, mfu, 5e-5);
        assert_close(row.reached.tokens_per_s, throughput, 1e-2);
        // The first batch that hides all reaches as much, or there is none.
        let first = limits.first_hiding(0.75).min(f64::from(batch));
        assert_close(limits.point(first, 0.75).reached.tokens_per_s, throughput, 1e-2);
    }
}

/// [fsdp A5]: with the same tokens on a device, keeping more never costs throughput.
#[test]
fn throughput_never_falls_with_what_is_kept() {
    let base = limits("30b", 64);
    proptest!(|(
        tokens in 512.0..1e6_f64, gamma in 0.0..1.0_f64, more in 0.0..1.0_f64, link in 1e8..1e12_f64,
        alpha in 0.01..1.0_f64, n_bwd in 0.5..3.0_f64,
    )| {
        let limits = FsdpLimits { link: BytesPerSecond::new(link), n_bwd, ..base };
        let throughput = |gamma: f64| FsdpLimits { gamma, ..limits }.step(tokens, alpha).reached.tokens_per_s;
        let kept = gamma + more * (1.0 - gamma);
        prop_assert!(throughput(kept) >= throughput(gamma) * (1.0 - 1e-12));
    });
}

/// What the search rests on: throughput never falls with the assumed efficiency, nor with the batch.
#[test]
fn efficiency_and_batch_never_cost_throughput() {
    let base = FsdpLimits { n_bwd: 2.0, gamma: 0.3, ..limits("13b", 64) };
    proptest!(|(
        tokens in 512.0..1e6_f64, factor in 1.0..10.0_f64, alpha in 0.01..0.5_f64, link in 1e8..1e12_f64,
    )| {
        let limits = FsdpLimits { link: BytesPerSecond::new(link), ..base };
        let throughput = |tokens: f64, alpha: f64| limits.step(tokens, alpha).reached.tokens_per_s;
        let least = throughput(tokens, alpha) * (1.0 - 1e-12);
        prop_assert!(throughput(tokens * factor, alpha) >= least);
        prop_assert!(throughput(tokens, alpha * factor.min(2.0)) >= least);
    });
}
