//! shardscope for Python: the module behind `import shardscope`.
//!
//! Says in Python's words what the engine does, and computes nothing itself. Every figure is the same number that the program
//! prints; only [`sweep`] hands over so many of them that they go as arrays. What users call, and its types, stand in
//! `python/shardscope`.

#![allow(clippy::needless_pass_by_value, reason = "Python hands arguments over by value")]

mod check;
mod evidence;
mod export;
mod raised;
mod running;
mod scenario;
mod search;
mod shelf;
mod sweep;

use pyo3::prelude::*;

use shardscope_engine::evaluate::SAFE_CHANCE;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // The least chance of fitting that counts as safe.
    module.add("SAFE_CHANCE", SAFE_CHANCE)?;
    module.add_class::<scenario::PyScenario>()?;
    module.add_class::<search::PySearch>()?;
    module.add_class::<sweep::PySweep>()?;
    module.add_function(wrap_pyfunction!(scenario::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(export::export, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::fields, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(search::search, module)?)?;
    module.add_function(wrap_pyfunction!(search::lengths, module)?)?;
    module.add_function(wrap_pyfunction!(shelf::presets, module)?)?;
    module.add_function(wrap_pyfunction!(shelf::add_presets, module)?)?;
    module.add_function(wrap_pyfunction!(check::read, module)?)?;
    module.add_function(wrap_pyfunction!(check::would_fit, module)?)?;
    module.add_function(wrap_pyfunction!(evidence::validate, module)?)?;
    module.add_function(wrap_pyfunction!(evidence::calibrate, module)?)
}
