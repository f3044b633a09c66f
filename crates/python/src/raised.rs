//! Problems as Python's exceptions, whose classes stand in `python/shardscope/_errors.py`.

use pyo3::prelude::*;

use shardscope_engine::problem::Problem;

/// The exception that says these problems.
pub(crate) fn problems(py: Python<'_>, problems: &[Problem]) -> PyErr {
    let said: Vec<_> = problems.iter().map(|problem| (&problem.field, &problem.what, &problem.fix)).collect();
    let raised = || py.import("shardscope._errors")?.getattr("Error")?.call1((said,));
    raised().map_or_else(|error| error, PyErr::from_value)
}

/// The exception that says one thing that is wrong, without a field.
pub(crate) fn wrong(py: Python<'_>, what: impl std::fmt::Display) -> PyErr {
    problems(py, &[Problem::new("", what, "")])
}
