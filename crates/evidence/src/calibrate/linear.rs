//! Rows near a solution, where their logarithms are as good as linear in the constants: a fit there costs no evaluation,
//! so that many can be compared. Not for the solution itself ([`super::fit`]).
//!
//! Constants are counted in shares of their ranges. Behind them stand the factors of stacks, each as its logarithm
//! plus a half, so that a factor of 1 is in the middle too.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{DMatrix, DVector};

use shardscope_engine::stack::{ConstantId, ConstantValues};

use super::fit::{self, Solution};
use super::model::relative_weight;
use super::prior::FROM_SCRATCH;
use super::stacks::{self, FittedStacks};

/// The most times that rows are weighed again by how far off they are.
const ROUNDS: usize = 30;

/// A move, in shares of a range, below which a fit has settled.
const SETTLED: f64 = 1e-4;

/// All rows of a model around some values of the constants.
pub(super) struct LinearModel {
    at: DVector<f64>,
    /// Each row's logarithm there, less what was measured.
    errors: Vec<f64>,
    /// Each row's slopes that are not zero, by the constant's place.
    slopes: Vec<Vec<(usize, f64)>>,
    /// The share of its group that each row has.
    weights: Vec<f64>,
    /// Stacks whose factors stand behind the constants, and the spread between them, in the logarithm.
    stacks: Vec<String>,
    spread: f64,
}

/// A fit that is asked of a linear model.
#[derive(Debug, Clone)]
pub(super) struct LinearFit {
    /// The prior's weight.
    pub weight: f64,
    /// Constants that stay at their usual values.
    pub held: BTreeSet<ConstantId>,
}

impl LinearModel {
    pub fn new(Solution { model, stacks: FittedStacks { factors, spread }, values }: &Solution<'_>) -> Self {
        let rows: Vec<usize> = (0..model.len()).collect();
        let slopes = model.slopes(values, &rows);
        let stacks: Vec<String> = factors.iter().map(|stack| stack.id.clone()).collect();
        let own = |row: usize| {
            let place = stacks.iter().position(|id| stacks::is_told(model, row) == Some(id))?;
            Some((ConstantId::COUNT + place, stacks::slope(&slopes, row)))
        };
        let told = |row: usize| {
            slopes.row(row).iter().copied().enumerate().filter(|(_, slope)| *slope != 0.0).chain(own(row)).collect()
        };
        let at = shares(values).as_slice().to_vec();
        let at: Vec<f64> = at.into_iter().chain(factors.iter().map(|stack| 0.5 + libm::log(stack.factor))).collect();
        Self {
            at: DVector::from_vec(at),
            spread: *spread,
            errors: model.logs(values, &rows).iter().zip(&model.measured).map(|(log, told)| log - told).collect(),
            slopes: rows.iter().map(|row| told(*row)).collect(),
            weights: model.weights.clone(),
            stacks,
        }
    }

    /// The factors of stacks in a solution.
    pub fn factors(&self, solved: &DVector<f64>) -> BTreeMap<String, f64> {
        let place = |(at, id): (usize, &String)| (id.clone(), libm::exp(solved[ConstantId::COUNT + at] - 0.5));
        self.stacks.iter().enumerate().map(place).collect()
    }

    /// The first row that depends on a constant.
    pub fn first_that_depends(&self, id: ConstantId) -> Option<usize> {
        self.slopes.iter().position(|slopes| slopes.iter().any(|(at, _)| *at == id.index()))
    }

    /// How far off a row is with other values, in the logarithm.
    pub fn error(&self, row: usize, values: &DVector<f64>) -> f64 {
        self.errors[row] + self.slopes[row].iter().map(|(at, slope)| slope * (values[*at] - self.at[*at])).sum::<f64>()
    }

    /// The best values for some rows, by the loss that [`super::fit`] minimises: squares whose weights shrink with the
    /// rows' errors are solved again and again.
    pub fn solve(&self, rows: &[usize], asked: &LinearFit) -> DVector<f64> {
        let usual = shares(&ConstantValues::from_fn(|id| id.constant().usual));
        let usual: Vec<f64> = usual.iter().copied().chain(self.stacks.iter().map(|_| 0.5)).collect();
        let usual = DVector::from_vec(usual);
        // A factor that is off by its spread costs as much as a constant that is off by its range.
        let prior = |at: usize| if at < ConstantId::COUNT { asked.weight } else { FROM_SCRATCH / self.spread };
        let prior = DVector::from_fn(usual.len(), |at, _| prior(at) * prior(at));
        let held: BTreeSet<usize> = asked.held.iter().map(|id| id.index()).collect();
        let mut values =
            DVector::from_fn(usual.len(), |at, _| if held.contains(&at) { usual[at] } else { self.at[at] });
        for _ in 0..ROUNDS {
            let mut normal = DMatrix::from_diagonal(&prior);
            let mut toward = (&usual - &values).component_mul(&prior);
            for row in rows {
                let error = self.error(*row, &values);
                let weight = self.weights[*row] * relative_weight(error);
                for (at, slope) in &self.slopes[*row] {
                    toward[*at] -= weight * slope * error;
                    self.slopes[*row].iter().for_each(|(other, by)| normal[(*at, *other)] += weight * slope * by);
                }
            }
            let next = bounded(&normal, &(&normal * &values + toward), held.clone(), &values);
            let moved = (&next - &values).amax();
            values = next;
            if moved < SETTLED {
                break;
            }
        }
        values
    }
}

/// Solves `normal x = right` with every `x` from 0 to 1 and some as they are: what would leave its range stays at the
/// end of it, and the others are solved for again.
fn bounded(
    normal: &DMatrix<f64>,
    right: &DVector<f64>,
    mut kept: BTreeSet<usize>,
    values: &DVector<f64>,
) -> DVector<f64> {
    let mut values = values.clone();
    loop {
        let free: Vec<usize> = (0..values.len()).filter(|at| !kept.contains(at)).collect();
        let of_kept =
            |at: &usize| right[*at] - kept.iter().map(|other| normal[(*at, *other)] * values[*other]).sum::<f64>();
        let right = DVector::from_iterator(free.len(), free.iter().map(of_kept));
        // The prior's weight is on the diagonal, so that the matrix has an inverse.
        let Some(factors) = normal.select_rows(&free).select_columns(&free).cholesky() else { return values };
        let solved = factors.solve(&right);
        let beyond = free.iter().zip(&solved).filter(|(_, value)| !(0.0..=1.0).contains(*value)).map(|(at, _)| *at);
        let beyond: Vec<usize> = beyond.collect();
        free.iter().zip(&solved).for_each(|(at, value)| values[*at] = value.clamp(0.0, 1.0));
        if beyond.is_empty() {
            return values;
        }
        kept.extend(beyond);
    }
}

/// Places of values in their constants' ranges; a constant that the calibration lacks is at its usual one.
fn shares(values: &ConstantValues) -> DVector<f64> {
    let share = |(id, value): (ConstantId, f64)| {
        fit::share(id.constant(), if value.is_finite() { value } else { id.constant().usual })
    };
    DVector::from_iterator(ConstantId::COUNT, values.iter().map(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows that one constant moves with slope 1 and that are off alike, around the constants' usual values.
    fn two_rows(error: f64) -> LinearModel {
        let at = shares(&ConstantValues::from_fn(|id| id.constant().usual));
        let (slopes, weights) = (vec![vec![(0, 1.0)]; 2], vec![1.0; 2]);
        LinearModel { at, errors: vec![error; 2], slopes, weights, stacks: Vec::new(), spread: 0.05 }
    }

    fn moved(error: f64, held: &[ConstantId]) -> f64 {
        let model = two_rows(error);
        let values = model.solve(&[0, 1], &LinearFit { weight: 0.06, held: held.iter().copied().collect() });
        assert!((1..ConstantId::COUNT).all(|at| (values[at] - model.at[at]).abs() < 1e-12), "no row tells the others");
        values[0] - model.at[0]
    }

    /// The best move `d` of two rows that are 0.1 off has `2 w (0.1 + d) = -0.06^2 d`. The rest of the error is so small that
    /// the weight `w` is 1: `d = -0.2 / 2.0036`.
    #[test]
    fn rows_move_a_constant_against_its_prior() {
        assert!((moved(0.1, &[]) + 0.2 / 2.0036).abs() < 1e-6, "{}", moved(0.1, &[]));
    }

    /// The first constant, `matmul-cdna2`, is usually at 0.6, from 0.38 to 0.77: it can fall by 0.22 of 0.39.
    #[test]
    fn no_constant_leaves_its_bounds_and_held_ones_stay() {
        assert!((moved(2.0, &[]) + 0.22 / 0.39).abs() < 1e-12);
        let first: Vec<ConstantId> = ConstantId::all().take(1).collect();
        assert!(moved(2.0, &first).abs() < 1e-12);
    }
}
