//! Work that views have done behind the screen, and its results: a variant of each for each view that needs it.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::app::answers::own_run::OwnRun;
use crate::app::answers::recipe::recipe_plan;
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::planner::{self, MemoryCurve, PlanAnswer};
use shardscope_engine::search::plans::{PlanSearch, PlanSearchAnswer};
use shardscope_engine::search::sequences::{SequenceAnswer, SequenceSearch};
use shardscope_engine::search::training::{TrainingAnswer, TrainingSearch};
use shardscope_engine::search::{
    self, Advice, AdviceSearch, Cancel, Candidate, Cell, Evaluator, GridRow, GridSearch, Pool, StrategyOutcome, Sweep,
    Workspace,
};
use shardscope_evidence::calibrate::RunDiagnosis;
use shardscope_evidence::measured::runs::{self, ComparedRuns, Tables};
use shardscope_report::figures::RecipePlan;

/// Work of a view.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// The best points of the FSDP limits for each size.
    Grid(Arc<GridSearch>),
    /// Throughput over memory and bandwidth, beginning with a cell.
    Hardware(Arc<Sweep>, usize),
    /// The scenario with each strategy.
    Strategies(Vec<(String, Candidate)>),
    /// Which changes would help a scenario.
    Advice(Box<AdviceSearch>),
    /// Pinned scenarios to evaluate, with their numbers, and what comes after.
    Pins(Vec<(u64, Scenario)>, Option<Box<Work>>),
    /// The shortest training of each method.
    Training(Arc<TrainingSearch>),
    /// The plans within each memory limit, beginning with a place.
    Plan(Arc<MemoryCurve>, usize),
    /// The best whole plans.
    BestPlans(Arc<PlanSearch>),
    /// The longest context, and the best plan of each length.
    Lengths(Arc<SequenceSearch>),
    /// The causes of a measured run's gap, with the presets that may have run.
    Measured(Arc<OwnRun>, Arc<Library>),
    /// The runs of tables beside their predictions.
    Evidence(Tables),
}

/// A result of a view's work, perhaps a part of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The best points of every size.
    Grid(Vec<GridRow>),
    /// Index and content of some cells.
    Hardware(Vec<(usize, Cell)>),
    /// All strategies.
    Strategies(Vec<StrategyOutcome>),
    /// The changes that help.
    Advice(Box<Advice>),
    /// The evaluation of the pinned scenario with this number, or why there is none.
    Pin(u64, Result<Arc<Evaluation>, Vec<Problem>>),
    /// The answer to a question, by its index.
    Training(usize, Box<TrainingAnswer>),
    /// The plans within a limit, by its place.
    Plan(usize, Box<PlanAnswer>),
    /// The best whole plans so far, whether that is all, and for how long they have been searched.
    BestPlans(Box<PlanSearchAnswer>, bool, Duration),
    /// The best plan of each length so far, whether that is all, and for how long they have been searched.
    Lengths(Box<SequenceAnswer>, bool, Duration),
    /// The best plan by a vendor's recipe, told before the end.
    ByRecipe(Box<RecipePlan>),
    /// The causes of a measured run's gap, or why none is known.
    Measured(Box<Result<RunDiagnosis, String>>),
    /// Every run that could be compared.
    Evidence(Box<ComparedRuns>),
}

/// Everything that a view's work may use.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// Threads for a search.
    pub pool: &'a Pool,
    /// Whether nobody waits for the work any more.
    pub cancel: &'a Cancel,
    /// Between two parts of what is found.
    pub pause: Duration,
    /// Takes what is found.
    pub tell: &'a (dyn Fn(Found) + Sync),
}

impl Work {
    /// Does it.
    pub fn run(&self, desk: Desk) {
        let evaluator = Evaluator::new(desk.pool, desk.cancel);
        match self {
            Self::Hardware(sweep, from) => {
                let found = |cells| (desk.tell)(Found::Hardware(cells));
                let batch = Batch::new(desk.pause, &found);
                sweep.run(&evaluator, *from, &|index, cell| batch.add(index, cell));
                batch.send();
            }
            Self::Grid(search) => {
                // Half a table would look like a whole one: what was cancelled is not told.
                let rows = search.run(desk.cancel);
                if !desk.cancel.is_cancelled() {
                    (desk.tell)(Found::Grid(rows));
                }
            }
            Self::Strategies(candidates) => (desk.tell)(Found::Strategies(search::outcomes(candidates, &evaluator))),
            Self::Advice(search) => {
                let advice = search.run(&evaluator);
                if !desk.cancel.is_cancelled() {
                    (desk.tell)(Found::Advice(Box::new(advice)));
                }
            }
            Self::Pins(pins, then) => {
                let mut workspace = Workspace::default();
                // Each pin is told when it is there: a comparison fills column by column, and only then the view's own
                // work begins.
                for (id, scenario) in pins.iter().take_while(|_| !desk.cancel.is_cancelled()) {
                    let evaluation = search::full(scenario, &mut workspace).map(Arc::new);
                    (desk.tell)(Found::Pin(*id, evaluation));
                }
                if let Some(work) = then.as_ref().filter(|_| !desk.cancel.is_cancelled()) {
                    work.run(desk);
                }
            }
            Self::Training(training) => {
                let found = |index, answer| (desk.tell)(Found::Training(index, Box::new(answer)));
                training.run(&evaluator, &found);
            }
            Self::Plan(curve, from) => {
                let found = |place, planned| (desk.tell)(Found::Plan(place, Box::new(planned)));
                curve.run(&evaluator, *from, &found);
            }
            Self::BestPlans(search) => best_plans(search, &evaluator, desk),
            Self::Lengths(search) => lengths(search, &evaluator, desk),
            Self::Measured(run, library) => {
                let told =
                    RunDiagnosis::new(library, &run.scenario, run.figure, &evaluator).map_err(|why| why.to_string());
                if !desk.cancel.is_cancelled() {
                    (desk.tell)(Found::Measured(Box::new(told)));
                }
            }
            Self::Evidence(tables) => {
                let compared = runs::compare(tables, &evaluator);
                if !desk.cancel.is_cancelled() {
                    (desk.tell)(Found::Evidence(Box::new(compared)));
                }
            }
        }
    }
}

/// Tells of the first plan at once, of how far the search is once a pause is over, of the whole plans when they are
/// proven, then of what a vendor's recipe would come to, and last of all that was found. Where nothing fits, plans that
/// offload are searched too.
fn best_plans(search: &PlanSearch, evaluator: &Evaluator, desk: Desk) {
    let (begun, mut told, mut known) = (Instant::now(), None::<Instant>, None);
    let mut tell = |so_far: &PlanSearchAnswer| {
        let best = so_far.plans.first().map(|plan| search.objective.of(plan));
        let first = known.is_none() && best.is_some();
        let due = told.is_none_or(|told| told.elapsed() >= desk.pause);
        if !desk.cancel.is_cancelled() && (due || first || so_far.exact) {
            (told, known) = (Some(Instant::now()), best);
            (desk.tell)(Found::BestPlans(Box::new(so_far.clone()), false, begun.elapsed()));
        }
    };
    let mut answer = planner::best_plans(search, evaluator, &mut tell);
    if answer.plans.is_empty() && answer.exact {
        answer = search.run_offloading(evaluator, &mut tell).unwrap_or(answer);
    }
    // A plan that the search has simulated is never refused.
    let recipe = recipe_plan(search, &answer, evaluator).ok().flatten();
    if desk.cancel.is_cancelled() {
        return;
    }
    if let Some(recipe) = recipe {
        (desk.tell)(Found::ByRecipe(Box::new(recipe)));
    }
    (desk.tell)(Found::BestPlans(Box::new(answer), true, begun.elapsed()));
}

/// Tells of each length when its plan is found, and of what is tried once a pause is over.
fn lengths(search: &SequenceSearch, evaluator: &Evaluator, desk: Desk) {
    let (begun, mut told, mut known) = (Instant::now(), None::<Instant>, 0);
    let mut tell = |so_far: &SequenceAnswer| {
        let due = told.is_none_or(|told| told.elapsed() >= desk.pause);
        if !desk.cancel.is_cancelled() && (due || so_far.lengths.len() > known) {
            (told, known) = (Some(Instant::now()), so_far.lengths.len());
            (desk.tell)(Found::Lengths(Box::new(so_far.clone()), false, begun.elapsed()));
        }
    };
    let answer = search.run(evaluator, &mut tell);
    if !desk.cancel.is_cancelled() {
        (desk.tell)(Found::Lengths(Box::new(answer), true, begun.elapsed()));
    }
}

/// Holds cells back until the pause since the last report is over; the first cell is reported at once.
pub(crate) struct Batch<'a> {
    pause: Duration,
    send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync),
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    cells: Vec<(usize, Cell)>,
    sent: Option<Instant>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(pause: Duration, send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync)) -> Self {
        Self { pause, send, held: Mutex::default() }
    }

    /// Takes a cell, and reports what is held if the pause is over.
    pub(crate) fn add(&self, index: usize, cell: Cell) {
        let mut held = self.lock();
        held.cells.push((index, cell));
        // The first cell goes at once, so that a slow map shows a sign of life; later ones go together, since each
        // report costs a frame.
        if held.sent.is_none_or(|sent| sent.elapsed() >= self.pause) {
            held.sent = Some(Instant::now());
            self.report(&mut held);
        }
    }

    /// Reports what is held.
    pub(crate) fn send(&self) {
        self.report(&mut self.lock());
    }

    fn report(&self, held: &mut Held) {
        let cells = mem::take(&mut held.cells);
        if !cells.is_empty() {
            (self.send)(cells);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
