//! The search over whole plans, as an iterator of plans each of which is better than the last.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;

use shardscope_engine::scenario::{self as engine, Field};
use shardscope_engine::search::plans::{
    Allowed, EvaluatedPlan, Launchers, Margin, Objective, PlanSearch, PlanSearchAnswer, SearchLimits, SearchSpace,
};
use shardscope_engine::search::sequences::SequenceSearch;
use shardscope_engine::search::{Cancel, Evaluator};
use shardscope_engine::units::Seconds;
use shardscope_interop::runs_in::{self, Launcher};
use shardscope_report::figures::Figure;

use crate::raised::{problems, wrong};
use crate::running::{PATIENCE, interruptible};
use crate::scenario::PyScenario;
use crate::shelf::pool;

/// A search in a thread of its own. Dropped, it ends.
#[pyclass(frozen, name = "Search", module = "shardscope")]
pub(crate) struct PySearch {
    base: PyScenario,
    cancel: Cancel,
    running: Mutex<Running>,
}

struct Running {
    /// Plans as they are found; nothing more when the search has ended.
    found: Receiver<engine::Scenario>,
    thread: Option<JoinHandle<PlanSearchAnswer>>,
    answer: Option<PlanSearchAnswer>,
}

/// What a search asks beside its scenario.
#[derive(FromPyObject)]
pub(crate) struct Wishes {
    #[pyo3(item)]
    objective: String,
    #[pyo3(item)]
    over: Vec<String>,
    #[pyo3(item)]
    fix: Vec<String>,
    #[pyo3(item)]
    allow: Vec<String>,
    #[pyo3(item)]
    devices_max: Option<u32>,
    #[pyo3(item)]
    margin: Option<f64>,
    #[pyo3(item)]
    deadline_days: Option<f64>,
    #[pyo3(item)]
    tokens_per_s_min: Option<f64>,
    #[pyo3(item)]
    runs_in: Option<String>,
    #[pyo3(item)]
    any_plan: bool,
    #[pyo3(item)]
    top: usize,
}

/// What plans may do that they do not by themselves.
const ALLOWED: [&str; 3] = ["quantised", "offload", "fp8"];

/// The search that is asked for.
fn question(py: Python<'_>, of: &PyScenario, wishes: &Wishes) -> PyResult<PlanSearch> {
    let base = of.engine().clone();
    let field = |word: &String| {
        let flag = word.replace('_', "-");
        Field::from_flag(&flag).ok_or_else(|| wrong(py, format!("'{word}' is no field of a scenario")))
    };
    let objective = Objective::ALL.iter().find(|(word, _)| *word == wishes.objective).map(|(_, objective)| *objective);
    let objective = objective.ok_or_else(|| {
        let words = Objective::ALL.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        wrong(py, format!("'{}' is no objective; choose one of {words}", wishes.objective))
    })?;
    let mut space = SearchSpace::of_stack(wishes.any_plan);
    of.given.iter().for_each(|field| space.fix(*field));
    for word in &wishes.fix {
        space.fix(field(word)?);
    }
    space.fix_said(of.said());
    for axis in &wishes.over {
        space.vary(of.axis(py, axis)?);
    }
    if let Some(word) = wishes.allow.iter().find(|word| !ALLOWED.contains(&word.as_str())) {
        return Err(wrong(py, format!("'{word}' cannot be allowed; choose of {}", ALLOWED.join(", "))));
    }
    let [quantised, offload, fp8] = ALLOWED.map(|what| wishes.allow.iter().any(|word| word == what));
    space.allow(Allowed { quantised, offload, fp8 }, &base);
    let needed = [(Objective::Cost, Figure::Cost), (Objective::Energy, Figure::Energy)];
    for (_, figure) in needed.iter().filter(|(one, _)| *one == objective) {
        if let Some(lack) = space.jobs(&base).iter().find_map(|job| figure.lacks(job)) {
            return Err(problems(py, &[lack]));
        }
    }
    let devices = wishes.devices_max.unwrap_or(u32::MAX);
    let margin = match wishes.margin {
        None => Margin::Likely,
        Some(share) if (0.0..1.0).contains(&share) => Margin::Share(share),
        Some(share) => return Err(wrong(py, format!("a margin of {share} is no share of the memory; give 0 to 0.99"))),
    };
    let mut limits = SearchLimits { devices, margin, ..SearchLimits::default() };
    if let Some(days) = wishes.deadline_days {
        let tokens = base
            .plan
            .length()
            .ok_or_else(|| wrong(py, "a deadline needs to know how many tokens are trained; give tokens='300B'"))?;
        limits = limits.within(Seconds::DAY * days, tokens);
    }
    if let Some(least) = wishes.tokens_per_s_min {
        limits.per_token = limits.per_token.min(1.0 / least);
    }
    let launcher = wishes.runs_in.as_deref().filter(|word| *word != "any").map(|word| {
        let words = || Launcher::all().iter().map(Launcher::word).collect::<Vec<_>>().join(", ");
        Launcher::named(word).ok_or_else(|| wrong(py, format!("'{word}' is no launcher; choose one of {}", words())))
    });
    let launcher = launcher.transpose()?;
    let launchers = if wishes.any_plan { Launchers::default() } else { runs_in::searched(launcher) };
    let search = PlanSearch::new(base, space, objective, limits, wishes.top);
    Ok(PlanSearch { launchers, launched_only: launcher.is_some(), ..search })
}

/// Begins a search.
#[pyfunction]
pub(crate) fn search(py: Python<'_>, of: &PyScenario, wishes: Wishes) -> PyResult<PySearch> {
    let search = question(py, of, &wishes)?;
    let (cancel, pool) = (Cancel::default(), pool(py)?);
    let (send, found) = channel();
    let thread = thread::spawn({
        let cancel = cancel.clone();
        move || {
            let mut best = None::<engine::Scenario>;
            let mut tell = |so_far: &PlanSearchAnswer| {
                let Some(EvaluatedPlan { scenario, .. }) = so_far.plans.first() else { return };
                if best.as_ref() != Some(scenario) {
                    best = Some(scenario.clone());
                    // Whoever asked may be gone.
                    let _ = send.send(scenario.clone());
                }
            };
            let answer = search.run(&Evaluator::new(pool, &cancel), &mut tell);
            tell(&answer);
            answer
        }
    });
    let running = Mutex::new(Running { found, thread: Some(thread), answer: None });
    Ok(PySearch { base: of.clone(), cancel, running })
}

/// A length of the sequence, the fastest plan at it, and the fields that it needs for it.
type PyLength = (u32, PyScenario, Vec<&'static str>);

/// The best plan at each length, the shortest first, and the shortest length that does not fit; an interrupt ends the search.
#[pyfunction]
pub(crate) fn lengths(py: Python<'_>, of: &PyScenario, wishes: Wishes) -> PyResult<(Vec<PyLength>, Option<u32>)> {
    let search = SequenceSearch { plans: question(py, of, &wishes)? };
    let pool = pool(py)?;
    let answer = interruptible(py, |cancel| search.run(&Evaluator::new(pool, cancel), &mut |_| ()))?;
    let lengths = answer.lengths.iter().map(|length| {
        let needs = length.needs.iter().map(|field| field.spec().flag).collect();
        Ok((length.sequence, of.found(py, &length.found.scenario)?, needs))
    });
    Ok((lengths.collect::<PyResult<_>>()?, answer.too_long))
}

#[pymethods]
impl PySearch {
    fn __iter__(of: PyRef<'_, Self>) -> PyRef<'_, Self> {
        of
    }

    /// The next plan that is better than all before it; the iterator ends when nothing can be better.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyScenario>> {
        loop {
            let waited = py.detach(|| self.running().found.recv_timeout(PATIENCE));
            match waited {
                Ok(plan) => return self.base.found(py, &plan).map(Some),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| self.cancel.cancel())?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.end(py);
                    return Ok(None);
                }
            }
        }
    }

    /// Ends the search; what was found so far stays.
    fn stop(&self, py: Python<'_>) {
        self.cancel.cancel();
        self.end(py);
    }

    /// The best plans, best first, so many as were asked for; waits for the end of the search.
    fn plans(&self, py: Python<'_>) -> PyResult<Vec<PyScenario>> {
        self.wait(py)?;
        let plans: Vec<_> = self.answer(|answer| answer.plans.iter().map(|plan| plan.scenario.clone()).collect());
        plans.iter().map(|plan| self.base.found(py, plan)).collect()
    }

    /// Better plans than the first, which no launcher takes; waits for the end of the search.
    fn beyond(&self, py: Python<'_>) -> PyResult<Vec<PyScenario>> {
        self.wait(py)?;
        let plans: Vec<_> = self.answer(|answer| answer.beyond.iter().map(|plan| plan.scenario.clone()).collect());
        plans.iter().map(|plan| self.base.found(py, plan)).collect()
    }

    /// Whether every plan was looked at; waits for the end of the search.
    fn exact(&self, py: Python<'_>) -> PyResult<bool> {
        self.wait(py)?;
        Ok(self.answer(|answer| answer.exact))
    }
}

impl PySearch {
    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the search has ended, or a signal ends it.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        while self.running().thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            py.detach(|| thread::sleep(PATIENCE));
            py.check_signals().inspect_err(|_| self.cancel.cancel())?;
        }
        self.end(py);
        Ok(())
    }

    fn end(&self, py: Python<'_>) {
        py.detach(|| {
            let mut running = self.running();
            if let Some(thread) = running.thread.take() {
                running.answer = thread.join().ok();
            }
        });
    }

    fn answer<T: Default>(&self, of: impl FnOnce(&PlanSearchAnswer) -> T) -> T {
        self.running().answer.as_ref().map(of).unwrap_or_default()
    }
}

impl Drop for PySearch {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
