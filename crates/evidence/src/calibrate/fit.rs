//! Least squares over the constants: robust, bounded, by the Levenberg-Marquardt method of MINPACK. Not for what a row
//! is predicted to be, or its slopes ([`super::model`]).

use std::cell::Cell;
use std::collections::BTreeSet;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

use shardscope_engine::stack::constants::Constant;
use shardscope_engine::stack::{Calibration, ConstantId, ConstantValues};

use super::model::{FitModel, SCALE, relative_weight};
use super::prior::FitPrior;
use super::stacks::{self, FittedStacks};
use super::{FittedConstant, Identifiability, rounded};

/// The most times that a fit computes the slopes, its costly part.
const ROUNDS: usize = 5;

/// Relative change of the loss in a round below which it is the last.
const SETTLED: f64 = 2e-3;

/// The most steps that keep the same slopes.
const STEPS: u32 = 5;

/// Relative change of the loss, and of the constants, at which steps end.
const TOLERANCE: f64 = 1e-3;

/// A constant nearer to a bound than this share of its range is at it.
const AT_BOUND: f64 = 0.005;

/// What a fit has found.
pub(super) struct Solution<'a> {
    /// The model with the factors of stacks that its rows tell.
    pub model: FitModel<'a>,
    pub stacks: FittedStacks,
    pub values: ConstantValues,
}

impl Solution<'_> {
    pub fn calibration(&self) -> Calibration {
        self.model.calibration(&self.values)
    }
}

/// The best values for the rows of `known`, starting from its values; constants on which none of them depends stay. A fit
/// from scratch finds the factors of stacks too.
pub(super) fn solve<'a>(model: &FitModel<'a>, prior: &FitPrior, known: KnownSlopes) -> Solution<'a> {
    let (mut model, mut stacks) = (model.clone(), FittedStacks::default());
    if prior.noise.is_some() {
        let (values, _) = constants(&model, prior, known);
        return Solution { model, stacks, values };
    }
    let mut told = |model: &mut FitModel<'a>, known: &KnownSlopes, values: &ConstantValues| {
        stacks = stacks::fitted(model, &known.rows, &known.slopes, values);
        model.stacks = stacks.by_id();
    };
    told(&mut model, &known, &known.values);
    let (values, known) = constants(&model, prior, known);
    told(&mut model, &known, &values);
    // Factors and constants explain each other's rows: from the first factors on, once more is enough.
    let (values, known) = constants(&model, prior, KnownSlopes { values, ..known });
    told(&mut model, &known, &values);
    Solution { model, stacks, values }
}

/// The best constants beside some factors of stacks, and the last slopes.
fn constants(model: &FitModel<'_>, prior: &FitPrior, mut known: KnownSlopes) -> (ConstantValues, KnownSlopes) {
    for round in 1..=ROUNDS {
        // Slopes cost one evaluation for each row and constant, values one for each row: so a few steps go on the same
        // slopes, and only a round that has moved far pays for new ones.
        let (best, before, after) = Fit::new(model, prior, &known).solve();
        // Rounded in every round, so that the slopes of the next one are those of values that can be written down.
        let value = |id: ConstantId| {
            if known.depends_on(id, |_| true) { rounded(best[id]) } else { known.values[id] }
        };
        let values = ConstantValues::from_fn(value);
        if round == ROUNDS || after >= before * (1.0 - SETTLED) {
            return (values, known);
        }
        known = KnownSlopes::at(model, known.rows, values);
    }
    (known.values.clone(), known)
}

/// Slopes of some rows' predictions, and the values of the constants at which they hold.
pub(super) struct KnownSlopes {
    pub values: ConstantValues,
    rows: Vec<usize>,
    /// Change of each row's logarithm as a constant moves through its whole range: rows by constants.
    slopes: DMatrix<f64>,
}

impl KnownSlopes {
    /// Slopes of some of its rows, which the model has at these places.
    pub fn select(&self, rows: &[usize]) -> DMatrix<f64> {
        let wanted: BTreeSet<usize> = rows.iter().copied().collect();
        let places: Vec<usize> = (0..self.rows.len()).filter(|place| wanted.contains(&self.rows[*place])).collect();
        self.slopes.select_rows(&places)
    }

    pub fn at(model: &FitModel<'_>, rows: Vec<usize>, values: ConstantValues) -> Self {
        Self { slopes: model.slopes(&values, &rows), values, rows }
    }

    /// Solves for some of the rows; constants that only the others depend on stay at the prior.
    pub(crate) fn restricted(&self, prior: &FitPrior, wanted: impl Fn(usize) -> bool) -> Self {
        // Else a row that is left out would still be predicted by a value that only it has determined.
        let lost = |id: ConstantId| self.depends_on(id, |_| true) && !self.depends_on(id, &wanted);
        let value = |id: ConstantId| if lost(id) { prior.centre[id] } else { self.values[id] };
        let places: Vec<usize> = (0..self.rows.len()).filter(|place| wanted(self.rows[*place])).collect();
        Self {
            values: ConstantValues::from_fn(value),
            rows: places.iter().map(|place| self.rows[*place]).collect(),
            slopes: self.slopes.select_rows(&places),
        }
    }

    /// Whether any of the rows that are `wanted` depends on a constant.
    pub(crate) fn depends_on(&self, id: ConstantId, wanted: impl Fn(usize) -> bool) -> bool {
        (0..self.rows.len()).any(|place| self.slopes[(place, id.index())] != 0.0 && wanted(self.rows[place]))
    }
}

/// One fit that keeps known slopes. Each value is `low + (high - low) (1 + sin u) / 2` of a free `u`.
struct Fit<'a> {
    model: &'a FitModel<'a>,
    prior: &'a FitPrior,
    known: &'a KnownSlopes,
    free: DVector<f64>,
    logs: Vec<f64>,
    steps: Cell<u32>,
}

impl<'a> Fit<'a> {
    fn new(model: &'a FitModel<'a>, prior: &'a FitPrior, known: &'a KnownSlopes) -> Self {
        let free = known.values.iter().map(|(id, value)| {
            // At a bound the sine is flat, and nothing would move the constant away from it.
            let share = share(id.constant(), value).clamp(AT_BOUND / 2.0, 1.0 - AT_BOUND / 2.0);
            libm::asin(2.0 * share - 1.0)
        });
        let free = DVector::from_iterator(ConstantId::COUNT, free);
        let mut fit = Self { model, prior, known, free, logs: Vec::new(), steps: Cell::new(0) };
        fit.logs = fit.predicted();
        fit
    }

    fn predicted(&self) -> Vec<f64> {
        self.model.logs(&self.values(), &self.known.rows)
    }

    /// The best values, and the loss before and there.
    fn solve(self) -> (ConstantValues, f64, f64) {
        let before = self.loss();
        let (fit, _) = LevenbergMarquardt::new().with_ftol(TOLERANCE).with_xtol(TOLERANCE).minimize(self);
        (fit.values(), before, fit.loss())
    }

    fn loss(&self) -> f64 {
        self.residuals().map_or(f64::NAN, |residuals| residuals.norm_squared())
    }

    fn values(&self) -> ConstantValues {
        // A range from 0.2 to 1: u = 0 is the middle, 0.6, and no u leaves the range, so the method needs no bounds.
        ConstantValues::from_fn(|id| {
            let constant = id.constant();
            constant.low + constant.range() * f64::midpoint(1.0, libm::sin(self.free[id.index()]))
        })
    }

    /// A row's error in the logarithm, in units of [`SCALE`].
    fn error(&self, place: usize) -> f64 {
        let error = (self.logs[place] - self.model.measured[self.known.rows[place]]) / SCALE;
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
        let rows = self.known.rows.iter().enumerate().map(|(place, row)| {
            let error = self.error(place);
            // Signed root of the soft l1 loss: its square is what the method adds up. A row off by 0.08 counts 0.83 of
            // its square, one off by 0.8 only 0.18.
            libm::sqrt(self.model.weights[*row]) * SCALE * soft(error) * error.signum()
        });
        let values = self.values();
        let distance =
            values.iter().map(|(id, value)| share(id.constant(), value) - share(id.constant(), self.prior.centre[id]));
        let held = &self.prior.roots * DVector::from_iterator(ConstantId::COUNT, distance);
        Some(DVector::from_iterator(self.known.rows.len() + ConstantId::COUNT, rows.chain(held.iter().copied())))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        // Without slopes the method ends: they are known at the start only, and good for a few steps.
        if self.steps.replace(self.steps.get() + 1) >= STEPS {
            return None;
        }
        let KnownSlopes { slopes, rows, .. } = self.known;
        // The chain rule through the sine: a share of the range moves by cos(u) / 2 for each unit of u.
        let inner = |(free, id): (&f64, ConstantId)| {
            if self.prior.held.contains(&id) { 0.0 } else { libm::cos(*free) / 2.0 }
        };
        let inner: Vec<f64> = self.free.iter().zip(ConstantId::all()).map(inner).collect();
        Some(DMatrix::from_fn(rows.len() + ConstantId::COUNT, ConstantId::COUNT, |place, column| {
            let Some(row) = rows.get(place) else {
                return self.prior.roots[(place - rows.len(), column)] * inner[column];
            };
            let weight = libm::sqrt(self.model.weights[*row]);
            weight * soft_slope(self.error(place)) * slopes[(place, column)] * inner[column]
        }))
    }
}

/// Place of a value in its constant's range.
pub(super) fn share(constant: &Constant, value: f64) -> f64 {
    (value - constant.low) / constant.range()
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

/// How far off each row is at the values of `known`, in the logarithm.
fn errors(model: &FitModel<'_>, known: &KnownSlopes) -> Vec<f64> {
    let logs = model.logs(&known.values, &known.rows);
    known.rows.iter().zip(logs).map(|(row, log)| log - model.measured[*row]).collect()
}

fn weight(model: &FitModel<'_>, known: &KnownSlopes, errors: &[f64], place: usize) -> f64 {
    model.weights[known.rows[place]] * relative_weight(errors[place])
}

/// Squares of the rows' slopes, by pairs of constants.
pub(super) fn normal(model: &FitModel<'_>, known: &KnownSlopes) -> DMatrix<f64> {
    let errors = errors(model, known);
    let mut weighted = known.slopes.clone();
    for (place, mut row) in weighted.row_iter_mut().enumerate() {
        row *= weight(model, known, &errors, place);
    }
    known.slopes.transpose() * weighted
}

/// Evidence of each constant at the solution. Standard errors are those of the weighted least squares
/// there, groups and what is usual counting as one observation each.
pub(super) fn fitted_constants(
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    start: &ConstantValues,
) -> Vec<FittedConstant> {
    let KnownSlopes { rows, slopes, .. } = known;
    let places = 0..rows.len();
    let errors = errors(model, known);
    let weight = |place: usize| weight(model, known, &errors, place);
    let at_bound = |id: ConstantId| {
        let share = share(id.constant(), known.values[id]);
        !(AT_BOUND..=1.0 - AT_BOUND).contains(&share)
    };
    let free: Vec<ConstantId> = ConstantId::all()
        .filter(|id| known.depends_on(*id, |_| true) && !at_bound(*id) && !prior.held.contains(id))
        .collect();
    let columns: Vec<usize> = free.iter().map(|id| id.index()).collect();
    // What is usual stands beside the rows as if it had been observed: a constant that few rows tell keeps near it, and
    // its error says so.
    let normal = normal(model, known) + prior.roots.transpose() * &prior.roots;
    let normal = normal.select_rows(&columns).select_columns(&columns);
    let metric = |id: ConstantId| {
        let first = places.clone().find(|place| slopes[(*place, id.index())] != 0.0);
        first.map(|place| model.metric(rows[place]))
    };
    // No constant changes both step times and memory, so each has the variance of its own kind: squared errors over
    // groups less constants. Rows of one group are no independent observations.
    let variance = |id: ConstantId| {
        // One row that is met exactly does not tell how far off rows are; those behind the prior do.
        if let Some(noise) = prior.noise {
            return noise * noise;
        }
        let alike = || places.clone().filter(|place| Some(model.metric(rows[*place])) == metric(id));
        let groups: f64 = alike().map(|place| model.weights[rows[place]]).sum();
        let squares: f64 = alike().map(|place| weight(place) * errors[place] * errors[place]).sum();
        let count = free.iter().filter(|other| metric(**other) == metric(id)).count();
        squares / (groups - count as f64).max(1.0)
    };
    let inverse = normal.try_inverse();
    let error = |id: ConstantId| {
        let place = free.iter().position(|free| *free == id)?;
        let spread = inverse.as_ref().map_or(f64::INFINITY, |inverse| inverse[(place, place)]);
        Some(libm::sqrt((spread * variance(id)).max(0.0)))
    };
    let one = |id: ConstantId| {
        let error = error(id);
        let determined = match error {
            _ if !known.depends_on(id, |_| true) => Identifiability::Without,
            None => Identifiability::AtBound,
            Some(share) if share <= 1.0 / 20.0 => Identifiability::Well,
            Some(share) if share <= 1.0 / 6.0 => Identifiability::Fairly,
            Some(_) => Identifiability::Weakly,
        };
        let told = places.clone().filter(|place| slopes[(*place, id.index())] != 0.0);
        let cases: Vec<_> = told.map(|place| &model.case(rows[place]).row).collect();
        let set = |of: &dyn Fn(&crate::measured::MeasuredRow) -> String| {
            cases.iter().map(|row| of(row)).collect::<BTreeSet<_>>()
        };
        FittedConstant {
            constant: id.constant(),
            before: start[id],
            value: known.values[id],
            error: error.map(|share| share * id.constant().range()),
            determined,
            groups: set(&|row| row.group()).len(),
            stacks: set(&|row| row.text("stack").to_owned()).into_iter().collect(),
        }
    };
    // What the calibration says nothing of has no value before or after, and factors of a source none that many could tell.
    let told = |id: &ConstantId| known.values[*id].is_finite() && !prior.held.contains(id);
    ConstantId::all().filter(told).map(one).collect()
}
