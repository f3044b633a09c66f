//! Predicted step times as a function of the free constants. Each row is evaluated only for the constants
//! that it depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::measured::{Case, Metric, Validation};
use crate::plan::Precision;
use crate::scenario::Scenario;
use crate::stack::constants::{CONSTANTS, Constant};
use crate::stack::{Attention, Calibration, Efficiency, Runtime, Software};

use super::Evaluate;

/// Share of a constant's range by which it is moved for a slope.
const NUDGE: f64 = 1e-3;

/// The rows of a fit and what they are predicted with.
pub(super) struct Model<'a> {
    cases: &'a [Case],
    /// The case of each row, and the row of each case that is one.
    rows: Vec<usize>,
    places: BTreeMap<usize, usize>,
    base: &'a Calibration,
    evaluate: &'a Evaluate<'a>,
    /// Logarithm of the measured seconds, and the share of its group.
    pub measured: Vec<f64>,
    pub weights: Vec<f64>,
}

impl<'a> Model<'a> {
    /// Of the cases whose step time could be compared.
    pub fn new(cases: &'a [Case], base: &'a Calibration, before: &Validation, evaluate: &'a Evaluate<'a>) -> Self {
        let timed = before.residuals.iter().filter(|one| one.metric == Metric::StepTime && one.error().is_finite());
        let ids: std::collections::BTreeSet<&str> = timed.map(|one| one.id.as_str()).collect();
        let has = |case: &Case| case.step_time.is_some() && ids.contains(case.row.id().as_str());
        let rows: Vec<usize> = (0..cases.len()).filter(|index| has(&cases[*index])).collect();
        let mut sizes: BTreeMap<String, f64> = BTreeMap::new();
        for row in &rows {
            *sizes.entry(cases[*row].row.group()).or_default() += 1.0;
        }
        let measured = rows.iter().map(|row| libm::log(cases[*row].step_time.unwrap_or(f64::NAN))).collect();
        let weights = rows.iter().map(|row| 1.0 / sizes[&cases[*row].row.group()]).collect();
        let places = rows.iter().enumerate().map(|(row, case)| (*case, row)).collect();
        Self { cases, rows, places, base, evaluate, measured, weights }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn case(&self, row: usize) -> &Case {
        &self.cases[self.rows[row]]
    }

    /// The row that a case is.
    pub fn row_of(&self, case: usize) -> Option<usize> {
        self.places.get(&case).copied()
    }

    /// The calibration with these values of the constants; those that are not numbers are left as they are.
    pub fn calibration(&self, values: &[f64]) -> Calibration {
        let mut calibration = self.base.clone();
        for (constant, value) in CONSTANTS.iter().zip(values).filter(|(_, value)| value.is_finite()) {
            calibration.set(constant.name, *value);
        }
        calibration
    }

    /// Logarithms of the predicted seconds of some rows.
    pub fn logs(&self, values: &[f64], rows: &[usize]) -> Vec<f64> {
        let calibration = Arc::new(self.calibration(values));
        self.predict(rows.iter().map(|row| (*row, &calibration)))
    }

    /// How those change with each constant, per share of its range.
    pub fn slopes(&self, values: &[f64], rows: &[usize]) -> DMatrix<f64> {
        let at = Arc::new(self.calibration(values));
        let logs = self.predict(rows.iter().map(|row| (*row, &at)));
        let nudged: Vec<(f64, Arc<Calibration>)> =
            CONSTANTS.iter().zip(values).map(|(c, v)| nudge(&at, c, *v)).collect();
        let mut wanted = Vec::new();
        for (column, (_, calibration)) in nudged.iter().enumerate() {
            let depends = |place: &usize| self.depends(rows[*place], &at, calibration);
            wanted.extend((0..rows.len()).filter(depends).map(|place| (place, column)));
        }
        let moved = self.predict(wanted.iter().map(|(place, column)| (rows[*place], &nudged[*column].1)));
        let mut slopes = DMatrix::zeros(rows.len(), CONSTANTS.len());
        for ((place, column), moved) in wanted.into_iter().zip(moved) {
            slopes[(place, column)] = (moved - logs[place]) / nudged[column].0;
        }
        slopes
    }

    fn predict<'b>(&self, wanted: impl Iterator<Item = (usize, &'b Arc<Calibration>)>) -> Vec<f64> {
        let (mut scenarios, mut cases) = (Vec::new(), Vec::new());
        for (row, calibration) in wanted {
            let case = self.case(row);
            let one = |scenario: &Scenario| Scenario { calibration: Arc::clone(calibration), ..scenario.clone() };
            scenarios.extend(case.scenarios.iter().map(one));
            cases.push(case);
        }
        let mut summaries = (self.evaluate)(&scenarios).into_iter();
        let seconds = |case: &&Case| {
            let own: Vec<_> = summaries.by_ref().take(case.scenarios.len()).flatten().collect();
            libm::log(case.between(&own, |summary| summary.step_time.get()))
        };
        cases.iter().map(seconds).collect()
    }

    /// Whether a row's prediction can differ between two calibrations.
    fn depends(&self, row: usize, one: &Calibration, other: &Calibration) -> bool {
        self.case(row).scenarios.iter().any(|scenario| Seen::of(scenario, one) != Seen::of(scenario, other))
    }
}

/// A calibration with one constant moved inside its bounds, and the share of its range that it moved.
fn nudge(at: &Calibration, constant: &Constant, value: f64) -> (f64, Arc<Calibration>) {
    let range = constant.high - constant.low;
    let share = if value + NUDGE * range > constant.high { -NUDGE } else { NUDGE };
    let mut calibration = at.clone();
    calibration.set(constant.name, value + share * range);
    (share, Arc::new(calibration))
}

/// What a scenario sees of a calibration.
#[derive(Debug, PartialEq)]
struct Seen<'a> {
    software: Software,
    element_wise: Option<&'a f64>,
    loss: Option<&'a f64>,
    runtime: Option<&'a Runtime>,
    efficiency: Option<Efficiency>,
}

impl<'a> Seen<'a> {
    fn of(scenario: &Scenario, calibration: &'a Calibration) -> Self {
        let stack = &scenario.stack;
        let mut efficiency = calibration.efficiency(&scenario.cluster.device.architecture).copied();
        if let Some(efficiency) = &mut efficiency {
            let version = match scenario.attention() {
                Attention::Plain | Attention::FusedSoftmax => None,
                Attention::Flash1 => Some(0),
                Attention::Flash2 => Some(1),
                Attention::Flash3 => Some(2),
            };
            for (index, share) in efficiency.attention_flash.iter_mut().enumerate() {
                *share = if version == Some(index) { *share } else { 0.0 };
            }
            let unseen: [&mut f64; 2] = if version.is_some() {
                [&mut efficiency.attention_score_bytes, &mut efficiency.attention_misaligned]
            } else {
                [&mut efficiency.attention_backward, &mut efficiency.attention_half_sequence]
            };
            for value in unseen {
                *value = 0.0;
            }
            if scenario.plan.precision != Precision::Fp8 {
                efficiency.matmul_fp8 = 0.0;
            }
            if scenario.devices() <= scenario.cluster.devices_per_node() {
                efficiency.latency_between = 0.0;
            }
        }
        Self {
            software: calibration.software,
            element_wise: calibration.element_wise.get(&stack.element_wise),
            loss: calibration.loss.get(&stack.loss),
            runtime: calibration.runtimes.get(&stack.runtime),
            efficiency,
        }
    }
}
