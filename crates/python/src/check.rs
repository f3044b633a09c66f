//! Files of launchers as scenarios, and what would fit instead of what does not.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pythonize::pythonize;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::search::{Candidate, fix};
use shardscope_interop::content::ForeignKind;
use shardscope_interop::import::{Foreign, ForeignFiles, ImportContext, ImportError};
use shardscope_library::disk::{InputKind, OpenInput};

use crate::raised::{problems, wrong};
use crate::scenario::{PyScenario, keywords};
use crate::shelf::library;

fn open(file: &Path, kind: InputKind) -> std::io::Result<OpenInput> {
    OpenInput::open(file, kind)
}

/// The scenario of a launcher's files, with what they leave open as keywords, and where each part of it comes from.
#[pyfunction]
#[pyo3(signature = (files, **fields))]
pub(crate) fn read<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    fields: Option<&Bound<'py, pyo3::types::PyDict>>,
) -> PyResult<(PyScenario, Bound<'py, PyAny>)> {
    let raised = |error: ImportError| match error {
        ImportError::Refused(found) => problems(py, &found),
        unreadable @ ImportError::Unreadable(..) => wrong(py, unreadable.lines().join("\n")),
    };
    let opened = ForeignFiles::open(Some(ForeignKind::Plan), &files, &open).map_err(raised)?;
    let options = keywords(py, fields)?.into_iter().map(|(field, text)| (field.spec().flag.to_owned(), text));
    let library = library();
    let context = ImportContext { library: &library, current: None, open: &open };
    let imported = opened.import(&options.collect::<Vec<_>>(), context).map_err(raised)?;
    let Foreign::Plan(plan) = &imported.made else { return Err(wrong(py, "it is no launcher's plan")) };
    let report = serde_json::to_value(&imported.report).map_err(|error| wrong(py, error))?;
    Ok((PyScenario::of_file(py, &plan.scenario)?, pythonize(py, &report)?))
}

/// Single changes with each of which a scenario fits safely: in words, and as scenarios.
#[pyfunction]
pub(crate) fn would_fit(py: Python<'_>, of: &PyScenario) -> PyResult<Vec<(String, PyScenario)>> {
    let found = py.detach(|| fix(of.engine(), &mut Workspace::default()));
    let mut ways = Vec::new();
    for edit in found.map(|found| found.0).unwrap_or_default() {
        let (words, edited) = (edit.to_string(), Candidate::new(of.engine(), [edit]));
        let Ok(Candidate { scenario, .. }) = edited else { continue };
        ways.push((words, of.found(py, &scenario)?));
    }
    Ok(ways)
}
