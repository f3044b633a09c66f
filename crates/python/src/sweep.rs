//! Maps over two axes, whose figures go to Python as the bytes of arrays.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use pythonize::pythonize;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::Field;
use shardscope_engine::search::{self, Cell, Evaluator};
use shardscope_report::figures::{Figure, METRICS, metric};

use crate::raised::{problems, wrong};
use crate::running::interruptible;
use crate::scenario::PyScenario;
use crate::shelf::pool;

/// A map that was computed.
#[pyclass(frozen, name = "Sweep", module = "shardscope")]
pub(crate) struct PySweep {
    base: PyScenario,
    map: search::Sweep,
    metrics: Vec<Figure>,
    cells: SweptCells,
}

/// The figures of all cells, row by row.
#[derive(Default)]
struct SweptCells {
    /// A list for each metric; NaN where there is no such figure.
    values: Vec<Vec<f64>>,
    fits: Vec<bool>,
    /// Why cells cannot be.
    impossible: BTreeMap<usize, String>,
}

/// The metrics of these words, each of which the scenario has.
fn figures(py: Python<'_>, of: &search::Sweep, words: &[String]) -> PyResult<Vec<Figure>> {
    // An axis of prices says what the scenario lacks.
    let priced = [&of.x, &of.y].iter().any(|axis| axis.field == Field::Price);
    let one = |word: &String| {
        let figure = metric(word).map_err(|why| wrong(py, format!("'{word}' is no metric; {why}")))?;
        match figure.lacks(&of.base).filter(|_| !priced) {
            Some(lack) => Err(problems(py, &[lack])),
            None => Ok(figure),
        }
    };
    words.iter().map(one).collect()
}

/// Computes a map, on all cores; an interrupt ends it.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    of: &PyScenario,
    axes: [String; 2],
    metrics: Vec<String>,
    tune: bool,
) -> PyResult<PySweep> {
    let [x, y] = axes;
    let (x, y) = (of.axis(py, &x)?, of.axis(py, &y)?);
    if x.field == y.field {
        return Err(wrong(py, format!("both axes are {}; choose another one", y.word())));
    }
    let map = search::Sweep { base: of.engine().clone(), x, y, tune };
    let metrics = figures(py, &map, &metrics)?;
    let cells = Mutex::new(SweptCells::empty(map.len(), metrics.len()));
    let pool = pool(py)?;
    interruptible(py, |cancel| {
        map.run(&Evaluator::new(pool, cancel), 0, &|index, cell| {
            let values: Vec<f64> = match &cell {
                Cell::Possible { summary, .. } => {
                    let scenario = map.untuned(index).ok();
                    let value = |figure: &Figure| figure.finite(summary, scenario.as_ref()?);
                    metrics.iter().map(|figure| value(figure).unwrap_or(f64::NAN)).collect()
                }
                Cell::Impossible(_) => Vec::new(),
            };
            // A panic elsewhere leaves each entry as whole as it was.
            cells.lock().unwrap_or_else(PoisonError::into_inner).put(index, &cell, &values);
        })
    })?;
    Ok(PySweep { base: of.clone(), map, metrics, cells: cells.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

impl SweptCells {
    fn empty(cells: usize, metrics: usize) -> Self {
        let nothing = vec![f64::NAN; cells];
        Self { values: vec![nothing; metrics], fits: vec![false; cells], impossible: BTreeMap::new() }
    }

    fn put(&mut self, index: usize, cell: &Cell, values: &[f64]) {
        self.fits[index] = cell.fits();
        for (list, value) in self.values.iter_mut().zip(values) {
            list[index] = *value;
        }
        if let Cell::Impossible(problem) = cell {
            self.impossible.insert(index, problem.to_string());
        }
    }
}

#[pymethods]
impl PySweep {
    /// The values of its axes, across and down.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyAny>; 2]> {
        Ok([pythonize(py, &self.map.x.values)?, pythonize(py, &self.map.y.values)?])
    }

    /// The bytes of each metric's array of doubles, row by row.
    fn doubles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arrays = PyDict::new(py);
        for (figure, values) in self.metrics.iter().zip(&self.cells.values) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            arrays.set_item(figure.word(), PyByteArray::new(py, &bytes))?;
        }
        Ok(arrays)
    }

    /// A byte for each cell, 1 where it fits.
    fn fitting<'py>(&self, py: Python<'py>) -> Bound<'py, PyByteArray> {
        let bytes: Vec<u8> = self.cells.fits.iter().map(|fits| u8::from(*fits)).collect();
        PyByteArray::new(py, &bytes)
    }

    /// Why a cell cannot be; `None` where it can.
    fn why_not(&self, index: usize) -> Option<&str> {
        self.cells.impossible.get(&index).map(String::as_str)
    }

    /// The scenario of a cell, tuned where the map is.
    fn scenario(&self, py: Python<'_>, index: usize) -> PyResult<PyScenario> {
        if index >= self.map.len() {
            return Err(pyo3::exceptions::PyIndexError::new_err("the map has no such cell"));
        }
        let cell = |problem| problems(py, &[problem]);
        if !self.map.tune {
            return self.base.found(py, &self.map.scenario(index).map_err(cell)?);
        }
        let mut scenario = self.map.untuned(index).map_err(cell)?;
        match self.map.cell(index, &mut Workspace::default()) {
            Cell::Possible { choice, .. } => choice.apply(&mut scenario),
            Cell::Impossible(problem) => return Err(cell(problem)),
        }
        self.base.found(py, &scenario)
    }
}

/// The metrics that maps can show, each with what it means and its unit.
#[pyfunction]
pub(crate) fn metrics() -> Vec<(&'static str, String)> {
    METRICS.into_iter().map(|figure| (figure.word(), figure.column_unit())).collect()
}
