//! How sure the fitted constants of a calibration are, as data. Not for working it out from measured rows, or for what
//! follows from it ([`crate::calibrate`]).

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::Calibration;
use super::constants::{CONSTANTS, Constant};

/// The constants, how far each may be off, and what that says of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Posterior {
    /// How far off a step time is where all constants are right: a standard deviation, in the logarithm.
    pub noise: f64,
    /// In the order of [`super::constants::CONSTANTS`]; a file of another version may have others, and serves as none.
    pub constants: Vec<PosteriorConstant>,
}

/// What rows say of a constant, around its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PosteriorConstant {
    /// As `calibrate` calls it.
    pub name: String,
    /// Its standard error, in its own unit.
    pub error: f64,
    /// By how much it differs from one source of rows, a build of the software on one machine, to another: a standard
    /// deviation, in its own unit.
    pub spread: f64,
    /// Correlation of its error with that of each constant before it.
    pub with: Vec<f64>,
}

impl Calibration {
    /// Its posterior, where it has one of the constants that this version knows.
    pub fn posterior(&self) -> Option<&Posterior> {
        let names = |posterior: &&Posterior| {
            posterior.constants.iter().map(|one| one.name.as_str()).eq(CONSTANTS.iter().map(|constant| constant.name))
        };
        self.posterior.as_ref().filter(names)
    }
}

impl Posterior {
    /// What the fit leaves open of the constants: the covariance of their errors, in shares of their ranges.
    pub fn covariance(&self) -> DMatrix<f64> {
        let known = &self.constants;
        let error = |of: usize| known[of].error / CONSTANTS[of].range();
        DMatrix::from_fn(known.len(), known.len(), |row, column| {
            let (before, after) = (row.min(column), row.max(column));
            let with = if before == after { 1.0 } else { known[after].with[before] };
            with * error(before) * error(after)
        })
    }

    /// By how much each constant differs from source to source: variances on the diagonal, in shares of their ranges.
    pub fn spread(&self) -> DMatrix<f64> {
        let spread = |(one, constant): (&PosteriorConstant, &Constant)| {
            let share = one.spread / constant.range();
            share * share
        };
        let variances = self.constants.iter().zip(CONSTANTS).map(spread);
        DMatrix::from_diagonal(&DVector::from_iterator(self.constants.len(), variances))
    }

    /// How far off a step time may be since its constants may: a standard deviation, in the logarithm, of a step that
    /// changes with each constant by so much per share of its range.
    pub fn uncertainty(&self, slopes: &[f64]) -> f64 {
        let slopes = DVector::from_column_slice(slopes);
        libm::sqrt((self.covariance() * &slopes).dot(&slopes).max(0.0))
    }

    /// What is wrong with it, each with the field's path and how to fix it.
    pub(super) fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut refuse = |wrong: bool, field: String, fix: &str| {
            if wrong {
                found.push((format!("posterior.{field}"), fix.to_owned()));
            }
        };
        refuse(!(self.noise > 0.0 && self.noise <= 1.0), "noise".to_owned(), "must be above 0 and at most 1");
        for (index, one) in self.constants.iter().enumerate() {
            let wrong = |amount: f64| !(amount.is_finite() && amount >= 0.0);
            refuse(wrong(one.error), format!("constants.{index}.error"), "must be at least 0");
            refuse(wrong(one.spread), format!("constants.{index}.spread"), "must be at least 0");
            let known = one.with.len() == index && one.with.iter().all(|with| (-1.0..=1.0).contains(with));
            refuse(
                !known,
                format!("constants.{index}.with"),
                "must be a number from -1 to 1 for each constant before it",
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors 0.3 and 0.4 of ranges, correlated by 0.5, and spreads 0 and 0.3: 0.09, 0.5 x 0.12 and 0.16, and 0.09 between
    /// sources. A step that grows by 2 and 1 per range: 4 x 0.09 + 2 x 2 x 0.06 + 0.16 = 0.76.
    #[test]
    fn a_step_is_as_unsure_as_the_constants_it_depends_on() {
        let one = |of: usize, error: f64, spread: f64, with: &[f64]| PosteriorConstant {
            name: CONSTANTS[of].name.to_owned(),
            error: error * CONSTANTS[of].range(),
            spread: spread * CONSTANTS[of].range(),
            with: with.to_vec(),
        };
        let posterior = Posterior { noise: 0.05, constants: vec![one(0, 0.3, 0.0, &[]), one(1, 0.4, 0.3, &[0.5])] };
        let near = |found: &DMatrix<f64>, expected: [f64; 4]| {
            assert!((found - DMatrix::from_row_slice(2, 2, &expected)).amax() < 1e-12, "{found}");
        };
        near(&posterior.covariance(), [0.09, 0.06, 0.06, 0.16]);
        near(&posterior.spread(), [0.0, 0.0, 0.0, 0.09]);
        assert!((posterior.uncertainty(&[2.0, 1.0]) - libm::sqrt(0.76)).abs() < 1e-12);
    }
}
