//! What one measured step says: how far off the prediction is, which constants may be the cause, and how sure the step
//! time is afterwards. Not for moving constants ([`super::fit`]).

use nalgebra::{DMatrix, DVector};

use crate::evaluate::{self, HELD_SIGMA};
use crate::scenario::Scenario;
use crate::stack::constants::{CONSTANTS, Constant};
use crate::stack::{Calibration, Posterior};
use crate::units::Seconds;

use super::prior::OWN_NOISE;
use super::{Evaluate, posterior, rounded};

/// Causes that explain less than this share of the gap are not told.
const LEAST_SHARE: f64 = 0.01;

/// A constant that may differ from its value, and how much of the gap that explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cause {
    /// Which one.
    pub constant: &'static Constant,
    /// What it most probably is.
    pub value: f64,
    /// How far that is from the calibration's value, in standard deviations of one source from another.
    pub shift_in_sigma: f64,
    /// Its share of the gap; all shares and what is left to the run itself make 1.
    pub share: f64,
}

/// What a measured step time says of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// Seconds that were measured.
    pub step_time: f64,
    /// Measured over predicted, less 1.
    pub gap: f64,
    /// What may explain it, the greatest share first.
    pub causes: Vec<Cause>,
    /// The share that is left to this run: no constant explains it.
    pub unexplained: f64,
    /// The 80 % band of such a step before the measurement: lower and upper end in seconds.
    pub band_before: [f64; 2],
    /// The same after it.
    pub band_after: [f64; 2],
    /// The calibration of one's own runs: each constant what it most probably is, and as sure as it is now.
    pub calibration: Calibration,
}

/// Asks a step that took `measured` seconds for its causes; `None` where the calibration has no posterior or the
/// scenario no step time.
pub fn attribute(scenario: &Scenario, measured: f64, evaluate: &Evaluate<'_>) -> Option<Attribution> {
    let posterior = scenario.calibration.posterior()?;
    let nudges = evaluate::nudges(scenario);
    let own = std::iter::once(scenario.clone());
    let scenarios: Vec<Scenario> = own.chain(nudges.iter().map(|nudge| nudge.scenario.clone())).collect();
    let times: Option<Vec<f64>> =
        evaluate(&scenarios).iter().map(|one| Some(one.as_ref().ok()?.step_time.get())).collect();
    let times = times?;
    let (predicted, moved) = times.split_first()?;
    let slopes = DVector::from_vec(evaluate::slopes(*predicted, nudges.into_iter().zip(moved.iter().copied())));
    let covariance = posterior.covariance() + posterior.spread();
    let told = Told::new(&slopes, &covariance, posterior.noise, libm::log(measured / predicted));
    let value = |constant: &Constant| scenario.calibration.get(constant);
    let causes = CONSTANTS.iter().enumerate().map(|(column, constant)| Cause {
        constant,
        value: (value(constant).unwrap_or(f64::NAN) + told.shifts[column] * constant.range())
            .clamp(constant.low, constant.high),
        shift_in_sigma: told.shifts[column] / told.sigmas[column].max(f64::MIN_POSITIVE),
        share: told.shares[column],
    });
    let mut causes: Vec<Cause> = causes.filter(|cause| cause.share.abs() >= LEAST_SHARE).collect();
    causes.sort_by(|one, other| other.share.total_cmp(&one.share));
    let band = |middle: f64, variance: f64| {
        let half = HELD_SIGMA * libm::sqrt(variance);
        [-half, half].map(|end| predicted * libm::exp(middle + end))
    };
    Some(Attribution {
        step_time: measured,
        gap: measured / predicted - 1.0,
        causes,
        unexplained: told.unexplained,
        band_before: band(0.0, told.before),
        band_after: band(told.middle, told.after),
        calibration: learned(scenario, posterior, &told, &slopes, measured),
    })
}

/// What a scenario's calibration becomes with the row: it began at `posterior`, and moves as the row told.
fn learned(
    scenario: &Scenario,
    posterior: &Posterior,
    told: &Told,
    slopes: &DVector<f64>,
    measured: f64,
) -> Calibration {
    let mut calibration = (*scenario.calibration).clone();
    for (constant, shift) in CONSTANTS.iter().zip(&told.shifts).filter(|(_, shift)| **shift != 0.0) {
        if let Some(value) = calibration.get(constant) {
            calibration.set(constant, rounded(value + shift * constant.range()));
        }
    }
    // Bands have both apart, what a fit leaves open and how far sources differ, so each is narrowed by itself: together they
    // are then no surer than the row allows.
    let narrowed = |covariance: DMatrix<f64>| {
        let along = &covariance * slopes;
        covariance - &along * along.transpose() / told.all
    };
    let spread: Vec<f64> = narrowed(posterior.spread()).diagonal().iter().map(|variance| variance.max(0.0)).collect();
    calibration.posterior = Some(posterior::written(&narrowed(posterior.covariance()), &spread, posterior.noise));
    let (model, cluster) = (&scenario.model.id, &scenario.cluster.id);
    calibration.source = format!(
        "{}; then a step of {model} on {} devices of {cluster} that took {}",
        calibration.source,
        scenario.devices(),
        Seconds::new(measured)
    );
    calibration
}

/// The posterior of a linear model after one row.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    /// By how much each constant moves, in shares of its range; its standard deviation before; its share of the gap.
    shifts: Vec<f64>,
    sigmas: Vec<f64>,
    shares: Vec<f64>,
    unexplained: f64,
    /// Where the logarithm of a like step moves to, and its variance before and after.
    middle: f64,
    before: f64,
    after: f64,
    /// Variance of the row, by what is unsure of the constants and by itself.
    all: f64,
}

impl Told {
    /// A row that is off by `error`, in the logarithm.
    fn new(slopes: &DVector<f64>, covariance: &DMatrix<f64>, noise: f64, error: f64) -> Self {
        // With slopes g, covariance C and noise s: each constant moves by C g / (g' C g + s^2) of the error.
        let along = covariance * slopes;
        let (own, row, noise) = (slopes.dot(&along), noise * noise, OWN_NOISE * OWN_NOISE * noise * noise);
        let all = own + noise;
        Self {
            shifts: along.iter().map(|along| along * error / all).collect(),
            sigmas: covariance.diagonal().iter().map(|variance| libm::sqrt(*variance)).collect(),
            shares: along.iter().zip(slopes).map(|(along, slope)| along * slope / all).collect(),
            unexplained: noise / all,
            middle: error * own / all,
            before: own + row,
            after: own - own * own / all + row,
            all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(slopes: [f64; 2], error: f64) -> Told {
        // Standard deviations 0.2 and 0.1, independent; noise 1/15, which one's own row counts with 1.5 times.
        let covariance = DMatrix::from_row_slice(2, 2, &[0.04, 0.0, 0.0, 0.01]);
        Told::new(&DVector::from_column_slice(&slopes), &covariance, 1.0 / 15.0, error)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    /// Slopes 1 and 1: 0.04 + 0.01 + 0.01 of noise make 0.06. Of an error of 0.3 the constants take 0.2 and 0.05, one and
    /// half a standard deviation, and 0.05 is left to the run. A like step: 0.05 + 1/225 = 0.054444 before it,
    /// and 0.05 - 0.05^2 / 0.06 + 1/225 = 0.012778 after.
    #[test]
    fn a_row_moves_each_constant_by_how_unsure_it_is() {
        let told = told([1.0, 1.0], 0.3);
        near(told.shifts[0], 0.2);
        near(told.shifts[1], 0.05);
        near(told.shifts[0] / told.sigmas[0], 1.0);
        near(told.shifts[1] / told.sigmas[1], 0.5);
        near(told.shares[0] + told.shares[1] + told.unexplained, 1.0);
        near(told.shares[0], 2.0 / 3.0);
        near(told.middle, 0.25);
        near(told.before, 0.05 + 1.0 / 225.0);
        near(told.after, 0.05 + 1.0 / 225.0 - 0.0025 / 0.06);
    }

    #[test]
    fn a_row_moves_nothing_that_it_is_not_sensitive_to() {
        let told = told([0.0, 1.0], 0.3);
        assert!(told.shifts[0].abs() < 1e-15 && told.shares[0].abs() < 1e-15);
        near(told.shifts[1], 0.15);
    }

    /// A plan that leans twice as hard on what is unsure: 4 x 0.04 + 1/225 = 0.164444, against 0.044444.
    #[test]
    fn a_band_is_wider_where_a_plan_leans_on_what_is_unsure() {
        near(told([1.0, 0.0], 0.0).before, 0.04 + 1.0 / 225.0);
        near(told([2.0, 0.0], 0.0).before, 0.16 + 1.0 / 225.0);
    }
}
