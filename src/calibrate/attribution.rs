//! What one measured step says: how far off the prediction is, which constants may be the cause, and how sure the step
//! time is afterwards. Not for moving constants ([`super::fit`]).

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use crate::evaluate::{self, COVERAGE_SIGMA, ErrorBand};
use crate::scenario::Scenario;
use crate::stack::constants::{CONSTANTS, Constant};
use crate::stack::{Band, Calibration, Likeness, Posterior};
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
    /// The 80 % band of such a step before the measurement; none where no measured rows stood behind it.
    pub band_before: Option<ErrorBand>,
    /// The same after it.
    pub band_after: ErrorBand,
    /// The calibration of one's own runs: each constant what it most probably is, and as sure as it is now.
    pub calibration: Calibration,
}

/// Asks a step that took `measured` seconds for its causes; `None` where the calibration has no posterior or the
/// scenario no step time.
pub fn attribute(scenario: &Scenario, measured: f64, evaluate: &Evaluate<'_>) -> Option<Attribution> {
    let posterior = scenario.calibration.posterior()?;
    let (predicted, slopes) = step(scenario, evaluate)?;
    let band_before = ErrorBand::around(scenario, Seconds::new(predicted), Some(slopes.as_slice()));
    let covariance = posterior.covariance() + posterior.spread();
    let told = PosteriorUpdate::new(&slopes, &covariance, posterior.noise, libm::log(measured / predicted));
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
    let calibration = learned(scenario, posterior, &told, &slopes, measured);
    // What is shown from now on counts with what was learned: its band is that of any step.
    let after = Scenario { calibration: Arc::new(calibration.clone()), ..scenario.clone() };
    let (now, slopes) = step(&after, evaluate)?;
    Some(Attribution {
        step_time: measured,
        gap: measured / predicted - 1.0,
        causes,
        unexplained: told.unexplained,
        band_before,
        band_after: ErrorBand::around(&after, Seconds::new(now), Some(slopes.as_slice()))?,
        calibration,
    })
}

/// The seconds of a scenario's step, and how their logarithm changes with each constant.
fn step(scenario: &Scenario, evaluate: &Evaluate<'_>) -> Option<(f64, DVector<f64>)> {
    let nudges = evaluate::nudges(scenario);
    let own = std::iter::once(scenario.clone());
    let scenarios: Vec<Scenario> = own.chain(nudges.iter().map(|nudge| nudge.scenario.clone())).collect();
    let times: Option<Vec<f64>> =
        evaluate(&scenarios).iter().map(|one| Some(one.as_ref().ok()?.step_time.get())).collect();
    let times = times?;
    let (own, moved) = times.split_first()?;
    Some((*own, DVector::from_vec(evaluate::slopes(*own, nudges.into_iter().zip(moved.iter().copied())))))
}

/// What a scenario's calibration becomes with the row: it began at `posterior`, and moves as the row told.
fn learned(
    scenario: &Scenario,
    posterior: &Posterior,
    told: &PosteriorUpdate,
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
    let spread = narrowed(posterior.spread());
    let among = (&spread * slopes).dot(slopes).max(0.0) + posterior.noise * posterior.noise;
    calibration.bands.insert(0, own_band(scenario, COVERAGE_SIGMA * libm::sqrt(among)));
    let spread: Vec<f64> = spread.diagonal().iter().map(|variance| variance.max(0.0)).collect();
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

/// The band of runs like one's own: as wide as they differ from one another, or as the rows behind the calibration do where
/// these are nearer to each other.
fn own_band(scenario: &Scenario, half_width: f64) -> Band {
    let Likeness { stack, architecture, division, across_nodes } = evaluate::likeness(scenario);
    let evidence = evaluate::evidence(scenario);
    Band {
        stacks: vec![stack.to_owned()],
        architecture: architecture.to_owned(),
        division: Some(division),
        across_nodes: Some(across_nodes),
        half_width: rounded(evidence.map_or(half_width, |band| band.half_width.min(half_width))),
        groups: 1 + evidence.map_or(0, |band| band.groups),
        rows: 1 + evidence.map_or(0, |band| band.rows),
    }
}

/// The posterior of a linear model after one row.
#[derive(Debug, Clone, PartialEq)]
struct PosteriorUpdate {
    /// By how much each constant moves, in shares of its range; its standard deviation before; its share of the gap.
    shifts: Vec<f64>,
    sigmas: Vec<f64>,
    shares: Vec<f64>,
    unexplained: f64,
    /// Variance of the row, by what is unsure of the constants and by itself.
    all: f64,
}

impl PosteriorUpdate {
    /// A row that is off by `error`, in the logarithm.
    fn new(slopes: &DVector<f64>, covariance: &DMatrix<f64>, noise: f64, error: f64) -> Self {
        // With slopes g, covariance C and noise s: each constant moves by C g / (g' C g + s^2) of the error.
        let along = covariance * slopes;
        let noise = OWN_NOISE * OWN_NOISE * noise * noise;
        let all = slopes.dot(&along) + noise;
        Self {
            shifts: along.iter().map(|along| along * error / all).collect(),
            sigmas: covariance.diagonal().iter().map(|variance| libm::sqrt(*variance)).collect(),
            shares: along.iter().zip(slopes).map(|(along, slope)| along * slope / all).collect(),
            unexplained: noise / all,
            all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Workspace;
    use crate::presets::Library;
    use crate::scenario::file;

    fn told(slopes: [f64; 2], error: f64) -> PosteriorUpdate {
        // Standard deviations 0.2 and 0.1, independent; noise 1/15, which one's own row counts with 1.5 times.
        let covariance = DMatrix::from_row_slice(2, 2, &[0.04, 0.0, 0.0, 0.01]);
        PosteriorUpdate::new(&DVector::from_column_slice(&slopes), &covariance, 1.0 / 15.0, error)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    /// Slopes 1 and 1: 0.04 + 0.01 + 0.01 of noise make 0.06. Of an error of 0.3 the constants take 0.2 and 0.05, one and
    /// half a standard deviation, and 0.05 is left to the run.
    #[test]
    fn a_row_moves_each_constant_by_how_unsure_it_is() {
        let told = told([1.0, 1.0], 0.3);
        near(told.shifts[0], 0.2);
        near(told.shifts[1], 0.05);
        near(told.shifts[0] / told.sigmas[0], 1.0);
        near(told.shifts[1] / told.sigmas[1], 0.5);
        near(told.shares[0] + told.shares[1] + told.unexplained, 1.0);
        near(told.shares[0], 2.0 / 3.0);
        near(told.all, 0.06);
    }

    #[test]
    fn a_row_moves_nothing_that_it_is_not_sensitive_to() {
        let told = told([0.0, 1.0], 0.3);
        assert!(told.shifts[0].abs() < 1e-15 && told.shares[0].abs() < 1e-15);
        near(told.shifts[1], 0.15);
    }

    /// What a step of one's own says of the next is what any band is made of: how far like steps differ, and what the
    /// constants leave open. Both by the formula of a linear model, whose row takes (C g)(C g)' / all from a covariance C.
    #[test]
    fn the_band_after_a_row_is_that_of_the_calibration_that_it_gives() {
        let library = Library::embedded();
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
        let square = |covariance: &DMatrix<f64>| (covariance * &slopes).dot(&slopes);
        let (open, spread) = (square(&posterior.covariance()), square(&posterior.spread()));
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
