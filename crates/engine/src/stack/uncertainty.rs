//! How sure a step time is by the posterior of its constants. Not for the posterior itself ([`super::posterior`]).

use super::constants::CONSTANTS;
use super::{Calibration, ConstantId, ConstantValues, Posterior};

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
    /// The covariance of the errors of two constants, in shares of their ranges.
    pub fn covariance(&self, one: ConstantId, other: ConstantId) -> f64 {
        let (before, after) = (one.min(other), one.max(other));
        let error = |of: ConstantId| self.constants[of.index()].error / of.constant().range();
        let with = if before == after { 1.0 } else { self.constants[after.index()].with[before.index()] };
        with * error(before) * error(after)
    }

    /// By how much a constant differs from source to source: a variance, in shares of its range.
    pub fn spread(&self, of: ConstantId) -> f64 {
        let share = self.constants[of.index()].spread / of.constant().range();
        share * share
    }

    /// How far off a step time may be since its constants may: a standard deviation, in the logarithm, of a step that
    /// changes with each constant by so much per share of its range. What only rows of one source move is in the errors of
    /// rows already.
    pub fn uncertainty(&self, slopes: &ConstantValues) -> f64 {
        let shared = || slopes.iter().filter(|(id, _)| !id.constant().is_of_source());
        let of = |(one, slope): (ConstantId, f64)| -> f64 {
            slope * shared().map(|(other, along)| self.covariance(one, other) * along).sum::<f64>()
        };
        libm::sqrt(shared().map(of).sum::<f64>().max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::PosteriorConstant;

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
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        let [first, second] = [0, 1].map(|at| ConstantId::all().nth(at).expect("a constant"));
        for (one, other, expected) in
            [(first, first, 0.09), (first, second, 0.06), (second, first, 0.06), (second, second, 0.16)]
        {
            near(posterior.covariance(one, other), expected);
        }
        near(posterior.spread(first), 0.0);
        near(posterior.spread(second), 0.09);
        let slopes = ConstantValues::from_fn(|id| [2.0, 1.0].get(id.index()).copied().unwrap_or(0.5));
        assert!((posterior.uncertainty(&slopes) - libm::sqrt(0.76)).abs() < 1e-12);
    }
}
