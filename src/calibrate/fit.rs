//! Least squares over the constants: robust, bounded, by the Levenberg-Marquardt method of MINPACK.

use std::cell::Cell;
use std::collections::BTreeSet;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

use crate::stack::constants::{CONSTANTS, Constant};

use super::model::Model;
use super::{Determined, Found, rounded};

/// Error, in the logarithm, beyond which a row counts less than by its square: `2 (sqrt(1 + z^2) - 1)` of
/// `z = error / SCALE`, the soft l1 norm.
const SCALE: f64 = 0.08;

/// Error of one group that weighs as much as a constant which is its whole range away from what is usual.
const PRIOR: f64 = 0.06;

/// How often a fit to all rows takes the slopes, its costly part.
const ROUNDS: usize = 3;

/// The most steps that keep the same slopes.
const STEPS: u32 = 5;

/// The same of steps that cost no simulation.
const FREE_STEPS: u32 = 50;

/// Relative change of the loss, and of the constants, at which steps end.
const TOLERANCE: f64 = 1e-3;

/// A constant nearer to a bound than this share of its range is at it.
const AT_BOUND: f64 = 0.005;

/// The best values for all rows, from these on; what no row depends on stays.
pub(super) fn solve(model: &Model<'_>, start: &[f64]) -> Known {
    let all: Vec<usize> = (0..model.len()).collect();
    let mut known = Known::at(model, start.to_vec());
    for _ in 0..ROUNDS {
        let best = Fit::new(model, &all, &known.values, &known, true).solve();
        let told = |column: usize| known.told(column, all.iter().copied());
        let of = |column: usize| if told(column) { rounded(best[column]) } else { start[column] };
        known = Known::at(model, (0..CONSTANTS.len()).map(of).collect());
    }
    known
}

/// Where slopes are known.
pub(super) struct Known {
    pub values: Vec<f64>,
    /// Of all rows, per share of each constant's range.
    slopes: DMatrix<f64>,
    logs: Vec<f64>,
}

impl Known {
    fn at(model: &Model<'_>, values: Vec<f64>) -> Self {
        let all: Vec<usize> = (0..model.len()).collect();
        Self { logs: model.logs(&values, &all), slopes: model.slopes(&values), values }
    }

    /// Logarithms of the predicted seconds near the known ones, by the slopes alone.
    fn linear(&self, values: &[f64], rows: &[usize]) -> Vec<f64> {
        let moved = CONSTANTS.iter().zip(values).zip(&self.values);
        let moved =
            DVector::from_iterator(CONSTANTS.len(), moved.map(|((c, to), from)| share(c, *to) - share(c, *from)));
        rows.iter().map(|row| self.logs[*row] + self.slopes.row(*row).transpose().dot(&moved)).collect()
    }

    /// Whether any of some rows depends on a constant.
    pub fn told(&self, column: usize, mut rows: impl Iterator<Item = usize>) -> bool {
        rows.any(|row| self.slopes[(row, column)] != 0.0)
    }
}

/// One fit to some rows that keeps known slopes. Each value is `low + (high - low) (1 + sin u) / 2` of a free `u`.
pub(super) struct Fit<'a> {
    model: &'a Model<'a>,
    rows: &'a [usize],
    known: &'a Known,
    /// Whether each step is simulated, or follows the slopes.
    simulated: bool,
    free: DVector<f64>,
    logs: Vec<f64>,
    steps: Cell<u32>,
}

impl<'a> Fit<'a> {
    /// Of some rows, from these values.
    pub fn new(model: &'a Model<'a>, rows: &'a [usize], values: &[f64], known: &'a Known, simulated: bool) -> Self {
        let free = CONSTANTS.iter().zip(values).map(|(constant, value)| {
            // At a bound the sine is flat, and nothing would move the constant away from it.
            let share = share(constant, *value).clamp(AT_BOUND / 2.0, 1.0 - AT_BOUND / 2.0);
            libm::asin(2.0 * share - 1.0)
        });
        let free = DVector::from_iterator(CONSTANTS.len(), free);
        let mut fit = Self { model, rows, known, simulated, free, logs: Vec::new(), steps: Cell::new(0) };
        fit.logs = fit.predicted();
        fit
    }

    fn predicted(&self) -> Vec<f64> {
        let values = self.values();
        if self.simulated { self.model.logs(&values, self.rows) } else { self.known.linear(&values, self.rows) }
    }

    /// The best values.
    pub fn solve(self) -> Vec<f64> {
        let (fit, _) = LevenbergMarquardt::new().with_ftol(TOLERANCE).with_xtol(TOLERANCE).minimize(self);
        fit.values()
    }

    fn values(&self) -> Vec<f64> {
        let value = |(constant, free): (&Constant, &f64)| {
            constant.low + (constant.high - constant.low) * f64::midpoint(1.0, libm::sin(*free))
        };
        CONSTANTS.iter().zip(self.free.iter()).map(value).collect()
    }

    /// A row's error in the logarithm, in units of [`SCALE`].
    fn error(&self, place: usize) -> f64 {
        let row = self.rows[place];
        let error = (self.logs[place] - self.model.measured[row]) / SCALE;
        if error.is_finite() { error } else { 0.0 }
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Fit<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, free: &DVector<f64>) {
        if self.free != *free {
            self.free.copy_from(free);
            self.logs = self.predicted();
        }
    }

    fn params(&self) -> DVector<f64> {
        self.free.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let rows = (0..self.rows.len()).map(|place| {
            let error = self.error(place);
            libm::sqrt(self.model.weights[self.rows[place]]) * SCALE * soft(error) * error.signum()
        });
        let values = self.values();
        let prior = CONSTANTS.iter().zip(&values).map(|(c, value)| PRIOR * (share(c, *value) - share(c, c.usual)));
        Some(DVector::from_iterator(self.rows.len() + CONSTANTS.len(), rows.chain(prior)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        if self.steps.replace(self.steps.get() + 1) >= if self.simulated { STEPS } else { FREE_STEPS } {
            return None;
        }
        let slopes = &self.known.slopes;
        let rows = self.rows.len();
        let inner: Vec<f64> = self.free.iter().map(|free| libm::cos(*free) / 2.0).collect();
        Some(DMatrix::from_fn(rows + CONSTANTS.len(), CONSTANTS.len(), |place, column| {
            if place >= rows {
                return if place - rows == column { PRIOR * inner[column] } else { 0.0 };
            }
            let (row, error) = (self.rows[place], self.error(place));
            libm::sqrt(self.model.weights[row]) * soft_slope(error) * slopes[(row, column)] * inner[column]
        }))
    }
}

/// Place of a value in its constant's range.
fn share(constant: &Constant, value: f64) -> f64 {
    (value - constant.low) / (constant.high - constant.low)
}

/// Root of the soft l1 loss.
fn soft(error: f64) -> f64 {
    libm::sqrt(2.0 * (libm::sqrt(1.0 + error * error) - 1.0))
}

/// Slope of [`soft`] by the error's amount: 1 at 0, and less for larger ones.
fn soft_slope(error: f64) -> f64 {
    let error = error.abs();
    if error < 1e-6 { 1.0 } else { error / (libm::sqrt(1.0 + error * error) * soft(error)) }
}

/// What the rows say of each constant at the solution. Standard errors are those of the weighted least squares
/// there, groups and what is usual counting as one observation each.
pub(super) fn found(model: &Model<'_>, known: &Known, start: &[f64]) -> Vec<Found> {
    let errors: Vec<f64> = (0..model.len()).map(|row| (known.logs[row] - model.measured[row]) / SCALE).collect();
    let weight = |row: usize| model.weights[row] / libm::sqrt(1.0 + errors[row] * errors[row]);
    let depends = |column: usize| known.slopes.column(column).iter().any(|slope| *slope != 0.0);
    let at_bound = |column: usize| {
        let share = share(&CONSTANTS[column], known.values[column]);
        !(AT_BOUND..=1.0 - AT_BOUND).contains(&share)
    };
    let free: Vec<usize> = (0..CONSTANTS.len()).filter(|column| depends(*column) && !at_bound(*column)).collect();
    let normal = DMatrix::from_fn(free.len(), free.len(), |one, other| {
        let product = |row: usize| weight(row) * known.slopes[(row, free[one])] * known.slopes[(row, free[other])];
        let prior = if one == other { PRIOR * PRIOR } else { 0.0 };
        prior + (0..model.len()).map(product).sum::<f64>()
    });
    let groups: f64 = model.weights.iter().sum();
    let squares: f64 = (0..model.len()).map(|row| weight(row) * errors[row] * errors[row] * SCALE * SCALE).sum();
    let variance = squares / (groups - free.len() as f64).max(1.0);
    let inverse = normal.try_inverse();
    let error = |column: usize| {
        let place = free.iter().position(|free| *free == column)?;
        let spread = inverse.as_ref().map_or(f64::INFINITY, |inverse| inverse[(place, place)]);
        Some(libm::sqrt((spread * variance).max(0.0)))
    };
    let one = |(column, constant): (usize, &'static Constant)| {
        let error = error(column);
        let determined = match error {
            _ if !depends(column) => Determined::Without,
            None => Determined::AtBound,
            Some(share) if share <= 1.0 / 20.0 => Determined::Well,
            Some(share) if share <= 1.0 / 6.0 => Determined::Fairly,
            Some(_) => Determined::Weakly,
        };
        let rows = (0..model.len()).filter(|row| known.slopes[(*row, column)] != 0.0);
        let cases: Vec<_> = rows.map(|row| &model.case(row).row).collect();
        let set =
            |of: &dyn Fn(&crate::measured::Row) -> String| cases.iter().map(|row| of(row)).collect::<BTreeSet<_>>();
        Found {
            constant,
            before: start[column],
            value: known.values[column],
            error: error.map(|share| share * (constant.high - constant.low)),
            determined,
            groups: set(&|row| row.group()).len(),
            stacks: set(&|row| row.text("stack").to_owned()).into_iter().collect(),
        }
    };
    CONSTANTS.iter().enumerate().map(one).collect()
}
