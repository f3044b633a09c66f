//! Measured runs: their predictions, and constants that follow from them.

use pyo3::prelude::*;
use pythonize::pythonize;

use shardscope_engine::problem::Problem;
use shardscope_engine::search::Evaluator;
use shardscope_evidence::calibrate::{FitOptions, FittedRows, Prior, Unfitted};
use shardscope_evidence::measured::{self, MeasuredRow, Skipped};
use shardscope_report::figures::{CalibrateReport, ValidateReport};

use crate::raised::{problems, wrong};
use crate::running::interruptible;
use crate::shelf::{library, pool};

/// The rows of tables, each with its name; what is no row is told.
fn rows(tables: &[(String, String)]) -> (Vec<MeasuredRow>, Vec<Skipped>) {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (name, text) in tables {
        let (more, without) = measured::read(name, text);
        rows.extend(more);
        skipped.extend(without);
    }
    (rows, skipped)
}

fn refused(py: Python<'_>, skipped: &[Skipped]) -> PyErr {
    if skipped.is_empty() {
        return wrong(py, "the tables hold no run; write each as a line under the header");
    }
    let said: Vec<Problem> = skipped.iter().map(|one| Problem::new(&one.id, &one.why, "")).collect();
    problems(py, &said)
}

/// A document that a report printed, as Python's own.
fn document<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| wrong(py, error))?;
    Ok(pythonize(py, &value)?)
}

/// Predictions beside measured rows, as `validate --format json` has them.
#[pyfunction]
pub(crate) fn validate(py: Python<'_>, tables: Vec<(String, String)>) -> PyResult<Bound<'_, PyAny>> {
    let pool = pool(py)?;
    let found = interruptible(py, |cancel| {
        let (rows, mut skipped) = rows(&tables);
        let (cases, unbuilt) = measured::cases(&rows, &library());
        let evaluate = |scenarios: &[_]| Evaluator::new(pool, cancel).summaries(scenarios);
        let mut validation = measured::validate(&cases, evaluate);
        measured::add_bands(&mut validation, &cases, evaluate);
        skipped.extend(unbuilt);
        skipped.append(&mut validation.skipped);
        if validation.residuals.is_empty() {
            return Err(skipped);
        }
        validation.skipped = skipped;
        Ok(ValidateReport { validation: &validation }.json())
    })?;
    document(py, &found.map_err(|skipped| refused(py, &skipped))?)
}

/// Constants fitted to measured rows: the report as `calibrate --format json` has it, and the calibration's file.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    tables: Vec<(String, String)>,
    from_scratch: bool,
) -> PyResult<(Bound<'_, PyAny>, String)> {
    let pool = pool(py)?;
    let prior = if from_scratch { Prior::None } else { Prior::Shipped };
    let found = interruptible(py, |cancel| {
        let (rows, mut skipped) = rows(&tables);
        let evaluate = |scenarios: &[_]| Evaluator::new(pool, cancel).summaries(scenarios);
        let options = FitOptions { prior, own_sets: false, nested: false };
        let library = library();
        match FittedRows::new(&rows, &library, options, &evaluate, &|_| {}) {
            Ok(found) => {
                skipped.extend(found.skipped.iter().cloned());
                let report = CalibrateReport { fitted: &found.fitted, skipped: &skipped }.json();
                found.file(&library).map(|file| (report, file)).map_err(|what| (what, Vec::new()))
            }
            Err(Unfitted::NoCase(more)) => {
                skipped.extend(more);
                Err((String::new(), skipped))
            }
            Err(Unfitted::Untold(what)) => Err((what, Vec::new())),
        }
    })?;
    let (report, file) =
        found.map_err(|(what, skipped)| if what.is_empty() { refused(py, &skipped) } else { wrong(py, what) })?;
    Ok((document(py, &report)?, file))
}
