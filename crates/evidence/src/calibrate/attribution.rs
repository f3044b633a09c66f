//! Attribution of one measured step: how far off the prediction is, which constants may be the cause, and how sure the
//! step time is afterwards. Not for moving constants ([`super::fit`]).

use std::sync::Arc;

use nalgebra::DMatrix;

use shardscope_engine::evaluate::{self, COVERAGE_SIGMA, ErrorBand};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::stack::constants::Constant;
use shardscope_engine::stack::{Band, Calibration, ConstantId, ConstantValues, Likeness, Posterior, Reach};
use shardscope_engine::units::Seconds;

use super::prior::OWN_NOISE;
use super::{Evaluate, matrices, posterior, rounded};

/// Causes that explain less than this share of the gap are not told.
const LEAST_SHARE: f64 = 0.01;

/// A constant that may differ from its value, and how much of the gap that explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cause {
    pub constant: &'static Constant,
    /// The most probable value.
    pub value: f64,
    /// How far that is from the calibration's value, in standard deviations of one source from another.
    pub shift_in_sigma: f64,
    /// Its share of the gap; all shares and what is left to the run itself make 1.
    pub share: f64,
}

/// A measured step time beside the prediction, with its causes.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// Seconds that were measured.
    pub step_time: f64,
    /// Measured over predicted, less 1.
    pub gap: f64,
    /// Possible causes, the greatest share first.
    pub causes: Vec<Cause>,
    /// The share that is left to this run: no constant explains it.
    pub unexplained: f64,
    /// The 80 % band of such a step before the measurement; none where no measured rows stood behind it.
    pub band_before: Option<ErrorBand>,
    pub band_after: ErrorBand,
    /// The calibration of one's own runs: each constant what it most probably is, and as sure as it is now.
    pub calibration: Calibration,
}

/// Asks a step that took `measured` seconds for its causes; `None` where the calibration has no posterior or the
/// scenario no step time.
pub fn attribute(scenario: &Scenario, measured: f64, evaluate: &Evaluate<'_>) -> Option<Attribution> {
    let posterior = scenario.calibration.posterior()?;
    let (predicted, slopes) = step(scenario, evaluate)?;
    let band_before = ErrorBand::around(scenario, Seconds::new(predicted), Some(&slopes));
    let covariance = matrices::covariance(posterior) + matrices::spread(posterior);
    let update = PosteriorUpdate::new(&slopes, &covariance, posterior.noise, libm::log(measured / predicted));
    let cause = |id: ConstantId| {
        let constant = id.constant();
        let value = scenario.calibration.get(constant).unwrap_or(f64::NAN) + update.shifts[id] * constant.range();
        Cause {
            constant,
            value: value.clamp(constant.low, constant.high),
            shift_in_sigma: update.shifts[id] / update.sigmas[id].max(f64::MIN_POSITIVE),
            share: update.shares[id],
        }
    };
    let mut causes: Vec<Cause> =
        ConstantId::all().map(cause).filter(|cause| cause.share.abs() >= LEAST_SHARE).collect();
    causes.sort_by(|one, other| other.share.total_cmp(&one.share));
    let calibration = updated_calibration(scenario, posterior, &update, &slopes, measured);
    // What is shown from now on counts with what was learned: its band is that of any step.
    let after = Scenario { calibration: Arc::new(calibration.clone()), ..scenario.clone() };
    let (now, slopes) = step(&after, evaluate)?;
    Some(Attribution {
        step_time: measured,
        gap: measured / predicted - 1.0,
        causes,
        unexplained: update.unexplained,
        band_before,
        band_after: ErrorBand::around(&after, Seconds::new(now), Some(&slopes))?,
        calibration,
    })
}

/// The seconds of a scenario's step, and how their logarithm changes with each constant.
fn step(scenario: &Scenario, evaluate: &Evaluate<'_>) -> Option<(f64, ConstantValues)> {
    let nudges = evaluate::nudges(scenario);
    let own = std::iter::once(scenario.clone());
    let scenarios: Vec<Scenario> = own.chain(nudges.iter().map(|nudge| nudge.scenario.clone())).collect();
    let times: Option<Vec<f64>> =
        evaluate(&scenarios).iter().map(|one| Some(one.as_ref().ok()?.step_time.get())).collect();
    let times = times?;
    let (own, moved) = times.split_first()?;
    Some((*own, evaluate::slopes(*own, nudges.into_iter().zip(moved.iter().copied()))))
}

/// The calibration after the row: it began at `posterior`, and moves by the update.
fn updated_calibration(
    scenario: &Scenario,
    posterior: &Posterior,
    update: &PosteriorUpdate,
    slopes: &ConstantValues,
    measured: f64,
) -> Calibration {
    let mut calibration = (*scenario.calibration).clone();
    let slopes = &matrices::vector(slopes);
    for (id, shift) in update.shifts.iter().filter(|(_, shift)| *shift != 0.0) {
        let constant = id.constant();
        if let Some(value) = calibration.get(constant) {
            calibration.set(constant, rounded(value + shift * constant.range()));
        }
    }
    // Bands have both apart, what a fit leaves open and how far sources differ, so each is narrowed by itself: together they
    // are then no surer than the row allows.
    let narrowed = |covariance: DMatrix<f64>| {
        let along = &covariance * slopes;
        covariance - &along * along.transpose() / update.variance
    };
    let spread = narrowed(matrices::spread(posterior));
    let among = (&spread * slopes).dot(slopes).max(0.0) + posterior.noise * posterior.noise;
    calibration.bands.insert(0, own_band(scenario, COVERAGE_SIGMA * libm::sqrt(among)));
    let spread = ConstantValues::from_fn(|id| spread[(id.index(), id.index())].max(0.0));
    calibration.posterior =
        Some(posterior::to_posterior(&narrowed(matrices::covariance(posterior)), &spread, posterior.noise));
    let (model, cluster) = (&scenario.model.id, &scenario.cluster.id);
    calibration.source = format!(
        "{}; then a step of {model} on {} devices of {cluster} that took {}",
        calibration.source,
        scenario.devices(),
        Seconds::new(measured)
    );
    calibration
}

/// The band of runs like one's own: as wide as they differ from one another, or as the rows behind the calibration do where
/// these are nearer to each other.
fn own_band(scenario: &Scenario, half_width: f64) -> Band {
    let run = evaluate::likeness(scenario);
    let Likeness { stack, architecture, division, across_nodes, experts, part, .. } = run;
    let evidence = evaluate::evidence(scenario);
    Band {
        stacks: vec![stack.to_owned()],
        architecture: architecture.to_owned(),
        division: Some(division),
        across_nodes: Some(across_nodes),
        experts,
        part,
        own: 1 + evidence.map_or(0, |band| band.own),
        reach: Some(Reach::default().and(&run)),
        half_width: rounded(evidence.map_or(half_width, |band| band.half_width.min(half_width))),
        groups: 1 + evidence.map_or(0, |band| band.groups),
        rows: 1 + evidence.map_or(0, |band| band.rows),
    }
}

/// The posterior of a linear model after one row.
#[derive(Debug, Clone, PartialEq)]
struct PosteriorUpdate {
    /// By how much each constant moves, in shares of its range; its standard deviation before; its share of the gap.
    shifts: ConstantValues,
    sigmas: ConstantValues,
    shares: ConstantValues,
    unexplained: f64,
    /// Variance of the row, by what is unsure of the constants and by itself.
    variance: f64,
}

impl PosteriorUpdate {
    /// A row that is off by `error`, in the logarithm.
    fn new(slopes: &ConstantValues, covariance: &DMatrix<f64>, noise: f64, error: f64) -> Self {
        // With slopes g, covariance C and noise s: each constant moves by C g / (g' C g + s^2) of the error.
        let vector = matrices::vector(slopes);
        let along = covariance * &vector;
        let noise = OWN_NOISE * OWN_NOISE * noise * noise;
        let variance = vector.dot(&along) + noise;
        Self {
            shifts: ConstantValues::from_fn(|id| along[id.index()] * error / variance),
            sigmas: ConstantValues::from_fn(|id| libm::sqrt(covariance[(id.index(), id.index())])),
            shares: ConstantValues::from_fn(|id| along[id.index()] * slopes[id] / variance),
            unexplained: noise / variance,
            variance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::evaluate::Workspace;

    use shardscope_engine::scenario::file;

    /// A number for each of the first two constants, and 0 for all others.
    fn two(numbers: [f64; 2]) -> ConstantValues {
        ConstantValues::from_fn(|id| numbers.get(id.index()).copied().unwrap_or(0.0))
    }

    /// By constant, with what is said of the first two.
    fn updated(slopes: [f64; 2], error: f64) -> (PosteriorUpdate, [ConstantId; 2]) {
        // Standard deviations 0.2 and 0.1, independent; noise 1/15, which one's own row counts with 1.5 times.
        let covariance = DMatrix::from_diagonal(&matrices::vector(&two([0.04, 0.01])));
        let mut ids = ConstantId::all();
        let first = [ids.next(), ids.next()].map(|id| id.expect("there are more than two"));
        (PosteriorUpdate::new(&two(slopes), &covariance, 1.0 / 15.0, error), first)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    /// Slopes 1 and 1: 0.04 + 0.01 + 0.01 of noise make 0.06. Of an error of 0.3 the constants take 0.2 and 0.05, one and
    /// half a standard deviation, and 0.05 is left to the run.
    #[test]
    fn a_row_moves_each_constant_by_how_unsure_it_is() {
        let (update, [first, second]) = updated([1.0, 1.0], 0.3);
        near(update.shifts[first], 0.2);
        near(update.shifts[second], 0.05);
        near(update.shifts[first] / update.sigmas[first], 1.0);
        near(update.shifts[second] / update.sigmas[second], 0.5);
        near(update.shares[first] + update.shares[second] + update.unexplained, 1.0);
        near(update.shares[first], 2.0 / 3.0);
        near(update.variance, 0.06);
    }

    #[test]
    fn a_row_moves_nothing_that_it_is_not_sensitive_to() {
        let (update, [first, second]) = updated([0.0, 1.0], 0.3);
        assert!(update.shifts[first].abs() < 1e-15 && update.shares[first].abs() < 1e-15);
        near(update.shifts[second], 0.15);
    }

    /// A step's band is made of how far like steps differ and of what the
    /// constants leave open. Both by the formula of a linear model, whose row takes (C g)(C g)' / all from a covariance C.
    #[test]
    fn the_band_after_a_row_is_that_of_the_calibration_that_it_gives() {
        let library = shardscope_presets::library();
        let text = &library.scenario_text("default").expect("it is there").text;
        let mut scenario = library.resolve(&file::parse(text).expect("a scenario")).expect("possible");
        // As if no row stood behind it.
        Arc::make_mut(&mut scenario.calibration).bands.clear();
        let evaluate = |scenarios: &[Scenario]| {
            let mut workspace = Workspace::default();
            scenarios.iter().map(|one| evaluate::summary(one, &mut workspace)).collect::<Vec<_>>()
        };
        let (predicted, slopes) = step(&scenario, &evaluate).expect("a step");
        // As predicted, so that no constant moves and the slopes stay what they are.
        let told = attribute(&scenario, predicted, &evaluate).expect("a posterior");
        assert_eq!(told.band_before, None);
        let posterior = scenario.calibration.posterior().expect("fitted");
        let slopes = matrices::vector(&slopes);
        let square = |covariance: &DMatrix<f64>| (covariance * &slopes).dot(&slopes);
        let (open, spread) = (square(&matrices::covariance(posterior)), square(&matrices::spread(posterior)));
        let noise = posterior.noise * posterior.noise;
        let all = open + spread + OWN_NOISE * OWN_NOISE * noise;
        let after = open - open * open / all + spread - spread * spread / all + noise;
        let found = libm::log(told.band_after.high / told.band_after.low) / 2.0;
        let expected = COVERAGE_SIGMA * libm::sqrt(after);
        // A calibration has its correlations with three digits.
        assert!((found / expected - 1.0).abs() < 0.05, "{found} is not {expected}");
        assert_eq!(told.band_after.rows, 1);
    }
}
