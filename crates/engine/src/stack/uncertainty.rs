//! How sure a step time is by the posterior of its constants. Not for the posterior itself ([`super::posterior`]).

use nalgebra::{DMatrix, DVector};

use super::constants::{CONSTANTS, Constant};
use super::{Calibration, ConstantId, ConstantValues, Posterior, PosteriorConstant};

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
    /// The covariance of the constants' errors, in shares of their ranges.
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
    /// changes with each constant by so much per share of its range. What only rows of one source move is in the errors of
    /// rows already.
    pub fn uncertainty(&self, slopes: &ConstantValues) -> f64 {
        let shared = |(id, slope): (ConstantId, f64)| if id.constant().is_of_source() { 0.0 } else { slope };
        let slopes = DVector::from_iterator(ConstantId::COUNT, slopes.iter().map(shared));
        libm::sqrt((self.covariance() * &slopes).dot(&slopes).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors 0.3 and 0.4 of ranges, correlated by 0.5, and spreads 0 and 0.3: 0.09, 0.5 x 0.12 and 0.16, and 0.09 between
    /// sources. A step that grows by 2 and 1 per range: 4 x 0.09 + 2 x 2 x 0.06 + 0.16 = 0.76.
    #[test]
    fn a_step_is_as_unsure_as_the_constants_it_depends_on() {
        // All other constants are exact.
        let one = |id: ConstantId| {
            let (index, constant) = (id.index(), id.constant());
            let (error, spread) = [(0.3, 0.0), (0.4, 0.3)].get(index).copied().unwrap_or_default();
            let mut with = vec![0.0; index];
            if index == 1 {
                with[0] = 0.5;
            }
            let [error, spread] = [error, spread].map(|share| share * constant.range());
            PosteriorConstant { name: constant.name.to_owned(), error, spread, with }
        };
        let posterior = Posterior { noise: 0.05, constants: ConstantId::all().map(one).collect() };
        let near = |found: &DMatrix<f64>, expected: [f64; 4]| {
            assert!((found.view((0, 0), (2, 2)) - DMatrix::from_row_slice(2, 2, &expected)).amax() < 1e-12, "{found}");
        };
        near(&posterior.covariance(), [0.09, 0.06, 0.06, 0.16]);
        near(&posterior.spread(), [0.0, 0.0, 0.0, 0.09]);
        let slopes = ConstantValues::from_fn(|id| [2.0, 1.0].get(id.index()).copied().unwrap_or(0.5));
        assert!((posterior.uncertainty(&slopes) - libm::sqrt(0.76)).abs() < 1e-12);
    }
}
