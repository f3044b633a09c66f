//! What views have computed behind the screen, and what is found: a variant of each for each view that needs it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::calibrate::Attribution;
use crate::evaluate::Evaluation;
use crate::presets::Library;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Field, Problem, Scenario};
use crate::search::planner::{self, FoundPlan, Ladder, PlanAnswer};
use crate::search::plans::{FoundWhole, PlanSearch, WholeAnswer};
use crate::search::training::{TrainingAnswer, TrainingSearch};
use crate::search::{
    self, AdviceRound, Adviser, Cancel, Candidate, Cell, Evaluator, GridRow, GridSearch, Pool, StrategyOutcome, Sweep,
    Workspace,
};

use super::batch::Batch;
use super::options::toward;
use super::own_run::OwnRun;
use super::runs::{self, ComparedRuns, Tables};

/// What is to be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// The best points of the FSDP limits for each size.
    Grid(Arc<GridSearch>),
    /// Throughput over memory and bandwidth, beginning with a cell.
    Hardware(Arc<Sweep>, usize),
    /// The scenario with each strategy.
    Strategies(Vec<(String, Candidate)>),
    /// Which changes would help a scenario.
    Advice(Box<AdviceQuestion>),
    /// Pinned scenarios to evaluate, with their numbers, and what comes after.
    Pins(Vec<(u64, Scenario)>, Option<Box<Work>>),
    /// The shortest training of each method.
    Training(Arc<TrainingSearch>),
    /// The plans within each memory limit, beginning with a place.
    Plan(Arc<Ladder>, usize),
    /// The best whole plans.
    BestPlans(Arc<PlanSearch>),
    /// What a measured run says.
    Measured(Arc<OwnRun>),
    /// The runs of tables beside their predictions.
    Evidence(Tables),
}

/// The scenario that is to be changed, and what its changes go by.
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceQuestion {
    /// What ids mean.
    pub library: Arc<Library>,
    /// The scenario as its file says it.
    pub file: ScenarioFile,
    /// What that means.
    pub scenario: Scenario,
}

impl AdviceQuestion {
    /// Tries single changes; where none of them lets the scenario fit, pairs of those that save memory.
    fn answer(&self, evaluator: &Evaluator) -> AdviceRound {
        self.advised(|adviser| {
            let mut round = AdviceRound::first(adviser);
            loop {
                let figures = evaluator.summaries(&round.scenarios(&self.scenario));
                match round.fill(figures.into_iter().map(Result::ok).collect(), adviser) {
                    Some(next) if !evaluator.cancel().is_cancelled() => round = next,
                    _ => return round,
                }
            }
        })
    }

    /// Asks the adviser of the scenario.
    pub fn advised<T>(&self, ask: impl FnOnce(&Adviser) -> T) -> T {
        let Self { library, file, scenario } = self;
        let toward = |field: Field, forward| toward(field, field.meant(scenario).as_ref(), forward, scenario, library);
        ask(&Adviser { library, file, scenario, toward: &toward })
    }
}

/// What was found, perhaps a part of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The best points of every size.
    Grid(Vec<GridRow>),
    /// Index and content of some cells.
    Hardware(Vec<(usize, Cell)>),
    /// All strategies.
    Strategies(Vec<StrategyOutcome>),
    /// The changes that were tried, with their figures.
    Advice(Box<AdviceRound>),
    /// The evaluation of the pinned scenario with this number, or why there is none.
    Pin(u64, Result<Arc<Evaluation>, Vec<Problem>>),
    /// The answer to a question, by its index.
    Training(usize, Box<TrainingAnswer>),
    /// The plans within a limit, by its place.
    Plan(usize, Box<PlanAnswer>),
    /// The best whole plans so far, and whether that is all.
    BestPlans(Box<WholeAnswer>, bool),
    /// What a measured run says, or why nothing.
    Measured(Box<Result<Attribution, String>>),
    /// Every run that could be compared.
    Evidence(Box<ComparedRuns>),
}

/// What work is done with.
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
            Self::Advice(question) => {
                let round = question.answer(&evaluator);
                if !desk.cancel.is_cancelled() {
                    (desk.tell)(Found::Advice(Box::new(round)));
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
            Self::Plan(ladder, from) => {
                let found = |place, planned| (desk.tell)(Found::Plan(place, Box::new(planned)));
                ladder.run(&evaluator, *from, &found);
            }
            Self::BestPlans(search) => best_plans(search, &evaluator, desk),
            Self::Measured(run) => {
                let told = run.figure.attribute(&run.scenario, &evaluator).map_err(|why| why.to_string());
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

/// Tells of the first plan at once, of how far the search is once a pause is over, and last of a choice for each operator
/// where that is better than all.
fn best_plans(search: &PlanSearch, evaluator: &Evaluator, desk: Desk) {
    let (mut told, mut known) = (None::<Instant>, None);
    let mut answer = search.run(evaluator, &mut |so_far| {
        let best = so_far.plans.first().map(|plan| search.aim.of(plan));
        if told.is_none_or(|told| told.elapsed() >= desk.pause) || (known.is_none() && best.is_some()) {
            (told, known) = (Some(Instant::now()), best);
            (desk.tell)(Found::BestPlans(Box::new(so_far.clone()), false));
        }
    });
    if desk.cancel.is_cancelled() {
        return;
    }
    (desk.tell)(Found::BestPlans(Box::new(answer.clone()), false));
    if let Some(FoundPlan { scenario, summary, .. }) = planner::refined(search, &answer, evaluator) {
        answer.plans.insert(0, FoundWhole { scenario, summary });
        answer.plans.truncate(search.top);
    }
    if !desk.cancel.is_cancelled() {
        (desk.tell)(Found::BestPlans(Box::new(answer), true));
    }
}
