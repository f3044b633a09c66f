//! Scenarios, and their evaluation.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use pythonize::{depythonize, pythonize};
use serde_json::Value as Json;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{self as engine, Field, Value};
use shardscope_engine::search::{self, Axis, full};
use shardscope_interop::runs_in::runs_in;
use shardscope_library::command;
use shardscope_report::figures::{EvaluationReport, known};
use shardscope_report::snapshot::{self, Opened};

use crate::raised::{problems, wrong};
use crate::shelf::library;

/// A job: model, cluster, software stack and plan. It never changes.
#[pyclass(frozen, name = "Scenario", module = "shardscope")]
#[derive(Clone)]
pub(crate) struct PyScenario {
    opened: Opened,
    /// Fields that keywords said, which searches hold.
    pub(crate) given: Vec<Field>,
}

/// The text of a field's value, as its flag takes it.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_none() {
        return Ok(String::new());
    }
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(if switch.is_true() { "on" } else { "off" }.to_owned());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| text(&item?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(items.join(","));
    }
    Ok(value.str()?.to_string())
}

/// Fields by keywords (`micro_batch=2`), in the order of the table.
pub(crate) fn keywords(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(Field, String)>> {
    let mut fields = Vec::new();
    for (key, value) in given.into_iter().flatten() {
        let key = key.to_string();
        let flag = key.replace('_', "-");
        let field = Field::from_flag(&flag)
            .ok_or_else(|| wrong(py, format!("'{key}' is no field of a scenario; `shardscope.fields()` lists them")))?;
        fields.push((field, text(&value)?));
    }
    fields.sort_by_key(|(field, _)| *field);
    Ok(fields)
}

/// A document of Python's as TOML.
fn toml_of(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<String> {
    let document: Json = depythonize(document)?;
    toml::to_string(&known(document)).map_err(|error| wrong(py, format!("it is no scenario: {error}")))
}

#[pymethods]
impl PyScenario {
    #[new]
    #[pyo3(signature = (base = None, /, **fields))]
    fn new(py: Python<'_>, base: Option<&Bound<'_, PyAny>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let library = library();
        let mut over = keywords(py, fields)?;
        let opened = match base {
            None => snapshot::open("default", &library),
            Some(base) if base.is_instance_of::<PyDict>() => {
                snapshot::open_text("the dict", &toml_of(py, base)?, &library)
            }
            Some(base) => match base.extract::<String>() {
                Ok(name) => snapshot::open(&name, &library),
                // A path without a folder would pass for the name of a preset.
                Err(_) => {
                    snapshot::open(&PathBuf::from("./").join(base.extract::<PathBuf>()?).to_string_lossy(), &library)
                }
            },
        };
        let opened = opened.map_err(|error| wrong(py, error))?;
        if base.is_none() && over.iter().any(|(field, _)| *field == Field::Model) {
            // How long the sample's model trains says nothing of another one.
            over.insert(0, (Field::Tokens, String::new()));
        }
        Self { opened, given: Vec::new() }.over(py, &over)
    }

    /// A scenario from TOML, as `--format toml` and snapshots have it.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str) -> PyResult<Self> {
        let opened = snapshot::open_text("the text", text, &library()).map_err(|error| wrong(py, error))?;
        Ok(Self { opened, given: Vec::new() })
    }

    /// The scenario with other values of fields.
    #[pyo3(signature = (**fields))]
    fn replace(&self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.clone().over(py, &keywords(py, fields)?)
    }

    /// The scenario as files have it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &known(serde_json::to_value(self.file()).map_err(|error| wrong(py, error))?))?)
    }

    /// The text of a file that opens as this scenario.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.file().to_toml().map_err(|error| wrong(py, error))
    }

    /// The command line that evaluates it, where flags can say it.
    fn command(&self) -> Option<String> {
        command::eval(&library(), self.engine())
    }

    /// The value of a field as its flag takes it; `None` where nothing is said.
    fn get(&self, py: Python<'_>, field: &str) -> PyResult<Option<String>> {
        let flag = field.replace('_', "-");
        let field = Field::from_flag(&flag).ok_or_else(|| wrong(py, format!("'{field}' is no field of a scenario")))?;
        Ok(field.value(self.engine()).map(|value: Value| field.spec().takes.show(&value)))
    }

    /// The launchers that run the plan as planned.
    fn runs_in(&self) -> Vec<&'static str> {
        runs_in(self.engine())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.engine() == other.engine()
    }

    fn __repr__(&self) -> String {
        match self.command() {
            Some(line) => format!("<shardscope.Scenario: {line}>"),
            None => format!("<shardscope.Scenario: {}>", self.file().title()),
        }
    }
}

impl PyScenario {
    pub(crate) const fn engine(&self) -> &engine::Scenario {
        &self.opened.scenario
    }

    /// What its file says.
    pub(crate) const fn said(&self) -> &ScenarioFile {
        &self.opened.file
    }

    /// A scenario that was found, beside the one that it began with.
    pub(crate) fn found(&self, py: Python<'_>, scenario: &engine::Scenario) -> PyResult<Self> {
        let library = library();
        let text = library.file(scenario).to_toml().map_err(|error| wrong(py, error))?;
        let opened = snapshot::open_text("a plan", &text, &library).map_err(|error| wrong(py, error))?;
        Ok(Self { opened, given: self.given.clone() })
    }

    pub(crate) fn of_file(py: Python<'_>, file: &ScenarioFile) -> PyResult<Self> {
        let text = file.to_toml().map_err(|error| wrong(py, error))?;
        Self::from_toml(py, &text)
    }

    /// An axis of a map or a search, `nodes=1..16`, with the presets that it names.
    pub(crate) fn axis(&self, py: Python<'_>, text: &str) -> PyResult<Axis> {
        let axis: Axis = text.parse().map_err(|why: String| wrong(py, why))?;
        let given = self.given.iter().map(|field| (*field, field.value(self.engine())));
        self.opened
            .looked_up(&axis, &given.collect::<Vec<_>>(), &library())
            .map_err(|found| problems(py, &named(found)))
    }

    fn file(&self) -> ScenarioFile {
        library().file(self.engine())
    }

    fn over(mut self, py: Python<'_>, fields: &[(Field, String)]) -> PyResult<Self> {
        if fields.is_empty() {
            return Ok(self);
        }
        let found = self.opened.put_over(fields.iter().map(|(field, text)| (*field, text.as_str())), &library());
        if !found.is_empty() {
            return Err(problems(py, &named(found)));
        }
        self.given.extend(fields.iter().filter(|(_, text)| !text.is_empty()).map(|(field, _)| *field));
        Ok(self)
    }
}

/// Problems under the keywords of their fields.
fn named(found: Vec<Problem>) -> Vec<Problem> {
    let keyword = |problem: Problem| match Field::behind(&problem.field).first() {
        Some(field) => Problem { field: field.spec().flag.replace('-', "_"), ..problem },
        None => problem,
    };
    found.into_iter().map(keyword).collect()
}

/// Every figure of a scenario, as `eval --format json` has them.
#[pyfunction]
pub(crate) fn evaluate<'py>(py: Python<'py>, scenario: &PyScenario) -> PyResult<Bound<'py, PyAny>> {
    let figures = py.detach(|| {
        let (job, library) = (scenario.engine(), library());
        let mut workspace = Workspace::default();
        let evaluation = full(job, &mut workspace)?;
        let published = search::compare(&library, &scenario.opened.file, job, &evaluation.summary, &mut workspace)?;
        let report = EvaluationReport::new(job, &evaluation, published.as_ref());
        Ok(report.with_command(command::eval(&library, job).as_deref()).with_runs_in(&runs_in(job)).into_value())
    });
    let figures = figures.map_err(|found: Vec<Problem>| problems(py, &named(found)))?;
    Ok(pythonize(py, &figures)?)
}

/// The fields of a scenario: the keyword of each, what it takes, and what it means.
#[pyfunction]
pub(crate) fn fields() -> Vec<(String, &'static str, &'static str)> {
    Field::all().map(Field::spec).map(|spec| (spec.flag.replace('-', "_"), spec.value_name, spec.help)).collect()
}
