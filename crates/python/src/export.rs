//! Plans as launchers take them.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use shardscope_interop::export::{ExportForm, ExportedFiles};
use shardscope_interop::plans::JobWishes;

use crate::raised::{problems, wrong};
use crate::scenario::PyScenario;

/// The files of a plan by the words of `export --to`, by name; what the launcher does otherwise than planned; and the plan that they hold.
#[pyfunction]
pub(crate) fn export<'py>(
    py: Python<'py>,
    of: &PyScenario,
    tool: &str,
    version: Option<&str>,
    nearest: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let forms = || ExportForm::all().filter(|form| *form != ExportForm::Trace);
    let Some(form) = forms().find(|form| form.name() == tool) else {
        let words = forms().map(ExportForm::name).collect::<Vec<_>>().join(", ");
        return Err(wrong(py, format!("'{tool}' is no launcher; choose one of {words}")));
    };
    of.engine().layout().map_err(|found| problems(py, &found))?;
    let lacking = form.lacking(version, of.engine(), nearest).map_err(|found| problems(py, &[found]))?;
    let planned = match lacking {
        Some(lacking) if nearest => match lacking.nearest {
            Some(found) => of.found(py, &found.scenario)?,
            None if lacking.refused.is_empty() => of.clone(),
            None => return Err(problems(py, &lacking.refused)),
        },
        Some(lacking) if !lacking.refused.is_empty() => return Err(problems(py, &lacking.refused)),
        _ => of.clone(),
    };
    let files = form.files(version, planned.engine(), &JobWishes::default());
    let exported = PyDict::new(py);
    match files.map_err(|found| problems(py, &found))? {
        ExportedFiles::Texts(files, notes) => {
            let texts = PyDict::new(py);
            files.iter().try_for_each(|(name, text)| texts.set_item(name, text.as_str()))?;
            exported.set_item("files", texts)?;
            exported.set_item("notes", notes)?;
        }
        ExportedFiles::Traces(_) => {}
    }
    exported.set_item("scenario", planned.into_pyobject(py)?)?;
    Ok(exported)
}
