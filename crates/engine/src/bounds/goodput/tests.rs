use proptest::prelude::*;

use super::*;

fn minutes(count: f64) -> Seconds {
    Seconds::new(60.0 * count)
}

/// Restarts of 10 minutes and dumps of 5, as in Daly's comparison with simulations.
fn daly(between: f64) -> Interruptions {
    Interruptions { between: minutes(between), restart: minutes(10.0), write: minutes(5.0) }
}

#[test]
fn intervals_are_those_that_daly_printed() {
    // The captions of his figures 3 to 5: 117, 57 and 9.1 minutes at 24 h, 6 h and 15 min between failures.
    // By hand for 6 h: sqrt(2 x 5 x 360) = 60, C / 2M = 5 / 720, sqrt of it 0.0833:
    // 60 (1 + 0.0278 + 0.0008) - 5 = 56.7.
    let printed = [(1440.0, 117.0, 0.5), (360.0, 57.0, 0.5), (15.0, 9.1, 0.05)];
    for (between, interval, rounding) in printed {
        let found = daly(between).interval(IntervalLaw::Daly) / minutes(1.0);
        assert!((found - interval).abs() <= rounding, "{between}: {found}");
    }
}

#[test]
fn the_other_rules_by_hand() {
    // sqrt(2 x 5 x 360) = 60; sqrt(25 + 2 x 5 x 370) = sqrt(3725) = 61.03.
    let job = daly(360.0);
    assert!((job.interval(IntervalLaw::Young) / minutes(1.0) - 60.0).abs() < 1e-9);
    assert!((job.interval(IntervalLaw::Availability) / minutes(1.0) - 61.033).abs() < 1e-3);
    // Who writes for longer than twice the time between failures gets the time between failures.
    let slow = Interruptions { write: minutes(40.0), ..daly(15.0) };
    assert_eq!(slow.interval(IntervalLaw::Daly), minutes(15.0));
}

#[test]
fn shares_by_hand() {
    // M = 360, R = 10, T = 57, C = 5 minutes: e^(10/360) = 1.02817, e^(62/360) - 1 = 0.18793;
    // 360 x 1.02817 x 0.18793 = 69.56 minutes for 57 of work: 81.9 %, and 5 / 69.56 = 7.2 % of writing.
    let shares = daly(360.0).shares(minutes(57.0));
    assert!((shares.useful - 0.8194).abs() < 1e-3, "{shares:?}");
    assert!((shares.writing - 0.0719).abs() < 1e-3, "{shares:?}");
    assert!((shares.useful + shares.writing + shares.failing - 1.0).abs() < 1e-12);
}

/// What the events themselves make of it: work until the first failure or the checkpoint's end, again and again.
fn simulated(job: &Interruptions, interval: Seconds, stretches: u32, seed: u64) -> f64 {
    let mut state = seed;
    // A linear congruential generator (Knuth's MMIX), its upper bits as a number between 0 and 1.
    let mut chance = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let mut lasts = || -job.between.get() * chance().ln();
    let (mut time, mut failure) = (0.0, lasts());
    for _ in 0..stretches {
        let mut needed = (interval + job.write).get();
        while failure < needed {
            time += failure;
            needed = (job.restart + interval + job.write).get();
            failure = lasts();
        }
        time += needed;
        failure -= needed;
    }
    f64::from(stretches) * interval.get() / time
}

#[test]
fn the_closed_form_is_what_comes_out_of_random_failures() {
    for (between, interval) in [(1440.0, 117.0), (360.0, 57.0), (60.0, 20.0), (15.0, 9.1)] {
        let (job, interval) = (daly(between), minutes(interval));
        let (closed, random) = (job.shares(interval).useful, simulated(&job, interval, 200_000, 1));
        assert!((closed / random - 1.0).abs() < 0.01, "{between}: {closed} and {random}");
    }
}

proptest! {
    #[test]
    fn rules_are_near_the_best_interval_and_more_failures_never_help(
        between in 600.0..1e6_f64, share in 1e-5..0.05_f64, restart in 0.0..0.3_f64
    ) {
        let [write, restart] = [share, restart].map(|of| Seconds::new(of * between));
        let job = Interruptions { between: Seconds::new(between), restart, write };
        let useful = |interval: Seconds| job.shares(interval).useful;
        let daly = job.interval(IntervalLaw::Daly);
        let best = (1..400).map(|step| useful(daly * (f64::from(step) / 100.0))).fold(0.0, f64::max);
        for law in IntervalLaw::ALL {
            let found = useful(job.interval(law));
            prop_assert!(found > 0.98 * best, "{law:?}: {found} of {best}");
        }
        prop_assert!(useful(daly) > 0.9999 * best);
        let worse = Interruptions { between: job.between / 2.0, ..job };
        prop_assert!(worse.shares(worse.interval(IntervalLaw::Daly)).useful < useful(daly));
    }
}

/// By hand for M = 100, C = 1, R = 2: `e^(a + 0.01) (1 - a) = 1` near a = 0.1345, where it is 1.1556 x 0.8655 = 1.0002;
/// so e^-(0.02 + 0.1345 + 0.01) = 0.848.
#[test]
fn no_interval_is_of_more_use_than_the_best() {
    let job = Interruptions { between: minutes(100.0), restart: minutes(2.0), write: minutes(1.0) };
    let most = job.max_useful_share();
    assert!((most - 0.848).abs() < 5e-4, "{most}");
    let found = (1..4000).map(|tenth| job.shares(minutes(f64::from(tenth) * 0.1)).useful).fold(0.0, f64::max);
    assert!(found <= most && found > most * (1.0 - 1e-5), "{found} of {most}");
}
