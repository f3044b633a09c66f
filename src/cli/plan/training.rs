//! `plan --objective training-time`: the plan of each method that trains in the fewest days.

use std::time::Instant;

use crate::cli::args::PlanArgs;
use crate::cli::exit::{Exit, Failure, Refusals};
use crate::cli::session::{Session, note_chosen, refused};
use crate::cli::{interrupt, log, output, progress};
use shardscope_engine::bounds::layered::CriticalBatch;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::planner::CostModel;
use shardscope_engine::search::training::{
    BestTraining, ClosedForm, Goal, METHODS, Method, StepBreakdown, TrainingSearch,
};
use shardscope_engine::search::{Cancel, Evaluator};
use shardscope_engine::units::Seconds;
use shardscope_report::figures::TrainingReport;

use super::{limit_memory, save_best};

pub fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let law = arguments.training.critical_batch.unwrap_or(CriticalBatch::Layered);
    let training = search(session, arguments, law)?;
    let chosen = training.chosen();
    note_chosen(&arguments.input, |field| chosen.contains(&field));
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    let found = TrainingFindings::search(&training, session, &cancel)?;
    if cancel.is_cancelled() {
        output::warning(&"interrupted: each plan is the best so far");
    }
    let report = TrainingReport {
        training: &training,
        source: law.source(),
        best: &found.best,
        accounts: &found.accounts,
        closed: &found.closed,
        plans: found.plans,
        simulated: found.simulated,
        time: found.time,
    };
    output::report(arguments.format, || report.text(), || report.json())?;
    let shortest = shortest(&training, &found.best);
    save_best(&session.library, arguments, shortest.as_ref())?;
    interrupt::ends(&cancel);
    Ok(if shortest.is_some() { Exit::Done } else { Exit::DoesNotFit })
}

/// The plan of the fewest days, of all methods.
fn shortest(training: &TrainingSearch, best: &[Option<BestTraining>]) -> Option<Scenario> {
    let last = best.chunks(training.budgets.len()).map(|method| method.last()?.as_ref());
    let found = METHODS.iter().zip(last).filter_map(|(method, best)| Some((method, best?)));
    let (method, best) = found.min_by(|(_, one), (_, other)| one.days.total_cmp(&other.days))?;
    Some(training.scenario(method, &best.choice))
}

/// The most devices that a search may use: more than any machine has.
const MOST_DEVICES: u64 = 1 << 22;

/// The search that the arguments ask for.
fn search(session: &Session, arguments: &PlanArgs, law: CriticalBatch) -> Result<TrainingSearch, Failure> {
    let mut base = session.open(&arguments.input)?.scenario;
    limit_memory(&mut base, arguments.memory_limit);
    let critical = law.sequences(&base.model, base.plan.sequence);
    let steps =
        arguments.training.steps.or(base.plan.length().map(|tokens| tokens / critical / f64::from(base.plan.sequence)));
    let mut refusals = Refusals::default();
    let mut refuse = |wrong: bool, line: &str| refusals.refuse(wrong, line);
    let wanted = arguments.training.devices_max;
    refuse(base.plan.tuning.freezes(), "--train: the methods are those of training all parameters; leave it out");
    let part = base.trains_part() && !base.plan.tuning.freezes();
    refuse(part, "--frozen-layers, --frozen-ends: the methods are those of training all parameters; leave them out");
    refuse(wanted.is_none(), "--devices-max: is missing; say how many devices may be used at most");
    refuse(wanted == Some(0), "--devices-max: 0 devices train nothing; choose at least 1");
    refuse(wanted > Some(MOST_DEVICES), "--devices-max: more than any machine has; choose at most 4194304");
    refuse(steps.is_none(), "--steps: is missing; give the steps at the critical batch, or --tokens");
    refuse(
        steps.is_some_and(|steps| !(steps > 0.0 && steps.is_finite())),
        "--steps: the training has no length; choose a number above 0",
    );
    refuse(arguments.top != 1, "--top: each method has one best plan; leave it out");
    refuse(arguments.cost_model == CostModel::Paper, "--cost-model: plans are simulated here; leave it out");
    let (Some(wanted), Some(steps), true) = (wanted, steps, refusals.0.is_empty()) else {
        return Err(Failure::Input(refusals.0));
    };
    let mut training = TrainingSearch::new(base, Goal { critical, steps }, wanted as u32, &session.library)
        .map_err(|unknown| Failure::input(unknown.to_string()))?;
    training.any_plan = arguments.any_plan;
    match training.problems() {
        problems if problems.is_empty() => Ok(training),
        problems => Err(refused(&problems, &arguments.input)),
    }
}

struct TrainingFindings {
    best: Vec<Option<BestTraining>>,
    accounts: Vec<Option<StepBreakdown>>,
    closed: Vec<Option<ClosedForm>>,
    plans: usize,
    simulated: usize,
    time: Seconds,
}

impl TrainingFindings {
    fn search(training: &TrainingSearch, session: &Session, cancel: &Cancel) -> Result<Self, Failure> {
        let (pool, start) = (session.pool()?, Instant::now());
        log::line("searching plans");
        let answers = progress::collect(training.len(), "answers", &session.options, |done| {
            training.run(&Evaluator::new(&pool, cancel), done);
        });
        let (plans, simulated) = answers
            .iter()
            .flatten()
            .fold((0, 0), |(plans, simulated), answer| (plans + answer.plans, simulated + answer.simulated));
        let best = training.settled(answers.into_iter().map(|answer| answer?.best));
        let mut workspace = Workspace::default();
        let last = best.chunks(training.budgets.len()).map(|method| method.last()?.as_ref());
        let account = |(method, best): (&Method, Option<&BestTraining>)| {
            StepBreakdown::from_scenario(&training.scenario(method, &best?.choice), &mut workspace)
        };
        let accounts = METHODS.iter().zip(last).map(account).collect();
        let closed = if cancel.is_cancelled() { Vec::new() } else { training.closed(&pool) };
        let time = Seconds::new(start.elapsed().as_secs_f64());
        log::line(&format!("{plans} plans, {simulated} simulated on {} threads", pool.current_num_threads()));
        Ok(Self { best, accounts, closed, plans, simulated, time })
    }
}
