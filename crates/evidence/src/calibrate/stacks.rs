//! How much faster the kernels of single stacks are than those that all stacks share. Not for the constants
//! ([`super::fit`]).
//!
//! Each stack's factor is drawn around 1 with a spread that the rows tell, so that a stack with three rows leans on all
//! others, and one with a hundred on its own.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::DMatrix;

use shardscope_engine::stack::{ConstantId, ConstantValues};

use crate::measured::Metric;

use super::model::{FitModel, relative_weight};
use super::rounded;

/// Spread between stacks that is assumed of the factor, with the weight of one stack.
const USUAL_SPREAD: f64 = 0.05;

/// How far off a row is assumed to be where its stack's factor is known, with the weight of one row.
const USUAL_NOISE: f64 = 0.06;

/// Rounds in which factors, spread and noise are estimated: beyond them the third digit stays.
const ROUNDS: usize = 50;

/// A stack's factor on the rates of kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedStack {
    /// The stack's id.
    pub id: String,
    /// The factor on the rates of its kernels.
    pub factor: f64,
    /// Its standard error.
    pub error: f64,
    /// Groups of step times that tell it.
    pub groups: usize,
}

/// The factors of all stacks that rows tell of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FittedStacks {
    /// In the order of their ids.
    pub factors: Vec<FittedStack>,
    /// Standard deviation between stacks, in the logarithm.
    pub spread: f64,
}

impl FittedStacks {
    /// The factors by id, as a calibration has them.
    pub(super) fn by_id(&self) -> BTreeMap<String, f64> {
        self.factors.iter().map(|stack| (stack.id.clone(), stack.factor)).collect()
    }
}

/// A row's error at a factor of 1, how much its logarithm grows with the factor's, and its share of its group.
#[derive(Debug, Clone, Copy)]
struct StackRow {
    error: f64,
    slope: f64,
    weight: f64,
}

/// The factors that the step times among some rows tell at some values of the constants.
pub(super) fn fitted(
    model: &FitModel<'_>,
    rows: &[usize],
    slopes: &DMatrix<f64>,
    values: &ConstantValues,
) -> FittedStacks {
    let logs = model.logs(values, rows);
    let mut told: BTreeMap<&str, (Vec<StackRow>, BTreeSet<String>)> = BTreeMap::new();
    for ((place, row), log) in rows.iter().enumerate().zip(logs) {
        let Some(id) = is_told(model, *row) else { continue };
        let slope = slope(slopes, place);
        let now = libm::log(model.stacks.get(id).copied().unwrap_or(1.0));
        let error = log - model.measured[*row] - slope * now;
        if error.is_finite() {
            let (rows, groups) = told.entry(id.as_str()).or_default();
            rows.push(StackRow { error, slope, weight: model.weights[*row] });
            groups.insert(model.case(*row).row.group());
        }
    }
    let rows: Vec<Vec<StackRow>> = told.values().map(|(rows, _)| rows.clone()).collect();
    let (found, spread) = drawn(&rows);
    let mut factors = Vec::new();
    for ((id, (_, groups)), (factor, error)) in told.into_iter().zip(found) {
        let factor = libm::exp(factor);
        let (id, error) = (id.to_owned(), rounded(factor * error));
        factors.push(FittedStack { id, factor: rounded(factor), error, groups: groups.len() });
    }
    FittedStacks { factors, spread: rounded(spread) }
}

/// The stack whose factor a row tells. Software that nobody named is not the stack that stands for it.
pub(super) fn is_told<'a>(model: &'a FitModel<'_>, row: usize) -> Option<&'a String> {
    let case = model.case(row);
    (model.metric(row) == Metric::StepTime && case.is_of_known_stack()).then(|| &case.scenario().stack.id)
}

/// How much the logarithm of a row grows with that of its stack's factor. That stands beside the factor of a source, and
/// does to a step what that does: its slope is known.
pub(super) fn slope(slopes: &DMatrix<f64>, place: usize) -> f64 {
    let own = ConstantId::all().find(|id| id.constant().name == "own-compute");
    own.map_or(0.0, |id| slopes[(place, id.index())] / id.constant().range())
}

/// The logarithm of each stack's factor and its standard error, and the spread between stacks, by expectation and
/// maximisation. Rows that are far off count less, as in the fit of the constants.
fn drawn(stacks: &[Vec<StackRow>]) -> (Vec<(f64, f64)>, f64) {
    let usual = [USUAL_SPREAD, USUAL_NOISE].map(|one| one * one);
    let [mut spread, mut noise] = usual;
    let mut found = vec![(0.0, 0.0); stacks.len()];
    for _ in 0..ROUNDS {
        let (mut between, mut left, mut groups) = (usual[0], usual[1], 1.0);
        for (rows, (factor, error)) in stacks.iter().zip(&mut found) {
            let weight = |row: &StackRow| row.weight * relative_weight(row.error + row.slope * *factor);
            let normal: f64 = rows.iter().map(|row| weight(row) * row.slope * row.slope).sum();
            let toward: f64 = rows.iter().map(|row| -weight(row) * row.slope * row.error).sum();
            let open = 1.0 / (normal / noise + 1.0 / spread);
            let best = toward / noise * open;
            between += best * best + open;
            let missed = |row: &StackRow| weight(row) * (row.error + row.slope * best) * (row.error + row.slope * best);
            left += rows.iter().map(missed).sum::<f64>() + open * normal;
            groups += rows.iter().map(|row| row.weight).sum::<f64>();
            (*factor, *error) = (best, libm::sqrt(open));
        }
        spread = between / (stacks.len() as f64 + 1.0);
        noise = left / groups;
    }
    (found, libm::sqrt(spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are all compute, so that a factor of `1 + x` shortens them by `x`, and that are off alike.
    fn off_by(error: f64, groups: usize) -> Vec<StackRow> {
        vec![StackRow { error, slope: -1.0, weight: 1.0 }; groups]
    }

    /// Steps of the first stack take 4 % less than predicted, those of the second 4 % more, and rows of a stack agree: the
    /// noise is small, and hundred groups tell nearly all of it.
    #[test]
    fn a_stack_with_many_rows_has_its_own_factor() {
        let (found, spread) = drawn(&[off_by(0.04, 100), off_by(-0.04, 100)]);
        assert!((found[0].0 - 0.04).abs() < 1e-3 && (found[1].0 + 0.04).abs() < 1e-3, "{found:?}");
        // One assumed stack of 0.05 beside two of 0.04: sqrt((0.0025 + 2 x 0.0016) / 3) = 0.0436.
        assert!((spread - 0.0436).abs() < 1e-3, "{spread}");
    }

    /// Beside stacks whose rows differ by 10 % either way, one row that is 4 % off tells little of its stack.
    #[test]
    fn a_stack_with_one_row_leans_on_the_others() {
        let scattered: Vec<StackRow> = off_by(0.1, 50).into_iter().chain(off_by(-0.1, 50)).collect();
        let (found, spread) = drawn(&[scattered, off_by(0.04, 1)]);
        // The spread stays near 0.04 and the noise near 0.09: 0.04 x 0.0016 / (0.0016 + 0.0081) = 0.007.
        assert!(found[0].0.abs() < 1e-9 && (0.003..0.012).contains(&found[1].0), "{found:?} {spread}");
        assert!(drawn(&[]).0.is_empty());
    }
}
