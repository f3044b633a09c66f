//! Predicted step times and peaks of memory as a function of the free constants. Each row is evaluated only for the
//! constants that it depends on. Not for the choice of values ([`super::fit`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::measured::{Case, Metric, Validation, read_peak};
use shardscope_engine::cost::{self, Calibrated};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::stack::{Calibration, ConstantId, ConstantValues};

use super::Evaluate;

/// Error, in the logarithm, beyond which a row counts less than by its square: `2 (sqrt(1 + z^2) - 1)` of
/// `z = error / SCALE`, the soft l1 norm.
pub(super) const SCALE: f64 = 0.08;

/// The rows of a fit and what they are predicted with.
#[derive(Clone)]
pub(super) struct FitModel<'a> {
    cases: &'a [Case],
    /// The case of each row, and what of it is predicted: all step times, then all peaks of memory.
    rows: Vec<(usize, Metric)>,
    base: &'a Calibration,
    evaluate: &'a Evaluate<'a>,
    /// Factors of single stacks.
    pub stacks: BTreeMap<String, f64>,
    /// Logarithm of the measured seconds or bytes, and the share of its group.
    pub measured: Vec<f64>,
    pub weights: Vec<f64>,
}

impl<'a> FitModel<'a> {
    pub fn new(cases: &'a [Case], base: &'a Calibration, before: &Validation, evaluate: &'a Evaluate<'a>) -> Self {
        let compared = before.residuals.iter().filter(|one| one.error().is_finite());
        let compared: BTreeSet<(Metric, &str)> = compared.map(|one| (one.metric, one.id.as_str())).collect();
        let has = |(case, metric): &(usize, Metric)| {
            measured(&cases[*case], *metric).is_some() && compared.contains(&(*metric, cases[*case].row.id().as_str()))
        };
        let all = [Metric::StepTime, Metric::Memory].into_iter();
        let all = all.flat_map(|metric| (0..cases.len()).map(move |case| (case, metric)));
        let rows: Vec<(usize, Metric)> = all.filter(has).collect();
        // A group of 20 rows and a group of one weigh the same: 1/20 for each row of the first.
        let mut sizes: BTreeMap<(Metric, String), f64> = BTreeMap::new();
        let key = |(case, metric): &(usize, Metric)| (*metric, cases[*case].row.group());
        for row in &rows {
            *sizes.entry(key(row)).or_default() += 1.0;
        }
        let weights = rows.iter().map(|row| 1.0 / sizes[&key(row)]).collect();
        let logarithm = |(case, metric): &(usize, Metric)| measured(&cases[*case], *metric).map_or(f64::NAN, libm::log);
        let measured = rows.iter().map(logarithm).collect();
        Self { cases, rows, base, evaluate, stacks: base.stacks.clone(), measured, weights }
    }

    /// A model in which each row counts alike, whatever its group: a row of one's own is one run.
    pub(crate) fn unweighted(&self) -> Self {
        Self { weights: vec![1.0; self.len()], ..self.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn case(&self, row: usize) -> &Case {
        &self.cases[self.rows[row].0]
    }

    /// The figure of its case that a row holds.
    pub fn metric(&self, row: usize) -> Metric {
        self.rows[row].1
    }

    /// The calibration with these values of the constants; those that are not numbers are left as they are.
    pub fn calibration(&self, values: &ConstantValues) -> Calibration {
        let mut calibration = Calibration { stacks: self.stacks.clone(), ..self.base.clone() };
        for (id, value) in values.iter().filter(|(_, value)| value.is_finite()) {
            calibration.set(id.constant(), value);
        }
        calibration
    }

    /// Logarithms of the predicted seconds or bytes of some rows.
    pub fn logs(&self, values: &ConstantValues, rows: &[usize]) -> Vec<f64> {
        let calibration = Arc::new(self.calibration(values));
        self.predict(rows.iter().map(|row| (*row, &calibration)))
    }

    /// How those change with each constant, per share of its range.
    pub fn slopes(&self, values: &ConstantValues, rows: &[usize]) -> DMatrix<f64> {
        let at = Arc::new(self.calibration(values));
        let logs = self.predict(rows.iter().map(|row| (*row, &at)));
        let nudge = |(id, value): (ConstantId, f64)| {
            let (share, nudged) = at.nudged(id.constant(), value);
            (id, share, Arc::new(nudged))
        };
        let nudged: Vec<(ConstantId, f64, Arc<Calibration>)> = values.iter().map(nudge).collect();
        let mut wanted = Vec::new();
        for one @ (_, _, calibration) in &nudged {
            // Most constants touch few rows, those of fp8 kernels only runs in fp8. To ask costs no run, and spares
            // most of them.
            let depends = |place: &usize| self.depends(rows[*place], &at, calibration);
            wanted.extend((0..rows.len()).filter(depends).map(|place| (place, one)));
        }
        let moved = self.predict(wanted.iter().map(|(place, (_, _, calibration))| (rows[*place], calibration)));
        let mut slopes = DMatrix::zeros(rows.len(), ConstantId::COUNT);
        for ((place, (id, share, _)), moved) in wanted.into_iter().zip(moved) {
            slopes[(place, id.index())] = (moved - logs[place]) / share;
        }
        slopes
    }

    fn predict<'b>(&self, wanted: impl Iterator<Item = (usize, &'b Arc<Calibration>)>) -> Vec<f64> {
        let (mut scenarios, mut rows) = (Vec::new(), Vec::new());
        for (row, calibration) in wanted {
            let (case, metric) = (self.case(row), self.metric(row));
            let one = |scenario: &Scenario| Scenario { calibration: Arc::clone(calibration), ..scenario.clone() };
            let first = scenarios.len();
            scenarios.extend(case.scenarios.iter().map(one));
            rows.push((first..scenarios.len(), case, metric));
        }
        let summaries = (self.evaluate)(&scenarios);
        let predicted = |(own, case, metric): (Range<usize>, &Case, Metric)| {
            let answers: Vec<_> = summaries[own.clone()].iter().flatten().copied().collect();
            libm::log(match (metric, case.peak, answers.first()) {
                (Metric::StepTime, ..) => case.between(&answers, |summary| summary.step_time.get()),
                (Metric::Memory, Some(peak), Some(first)) => read_peak(&scenarios[own.start], first, peak).get(),
                _ => f64::NAN,
            })
        };
        rows.into_iter().map(predicted).collect()
    }

    /// Whether a row's prediction can differ between two calibrations.
    fn depends(&self, row: usize, one: &Calibration, other: &Calibration) -> bool {
        let scenarios = &self.case(row).scenarios;
        let same = |own: &Scenario| match self.metric(row) {
            Metric::StepTime => Calibrated::new(own, one).same_time(&Calibrated::new(own, other), own),
            Metric::Memory => cost::same_memory(one, other, own),
        };
        !scenarios.iter().all(same)
    }
}

/// The weight of a row's square by its error in the logarithm, over that of a row that is met: at the solution the soft l1
/// norm is a weighted square.
pub(super) fn relative_weight(error: f64) -> f64 {
    1.0 / libm::hypot(1.0, error / SCALE)
}

/// Seconds or bytes that were measured of a case.
fn measured(case: &Case, metric: Metric) -> Option<f64> {
    match metric {
        Metric::StepTime => case.step_time,
        Metric::Memory => case.peak.map(|peak| peak.bytes.get()),
    }
}
