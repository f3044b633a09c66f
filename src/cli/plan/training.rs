//! `plan --objective training-time`: the plan of each method that trains in the fewest days.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::bounds::layered::CriticalBatch;
use crate::cli::args::{Plan, PlanFormat};
use crate::cli::session::{Session, refused};
use crate::cli::{Exit, Failure, log, output, sweep};
use crate::evaluate::Workspace;
use crate::report::TrainingReport;
use crate::search::training::{Account, Answer, Best, Closed, Goal, METHODS, Training};
use crate::search::{self, Cancel};
use crate::units::Seconds;

pub fn run(session: &Session, arguments: &Plan) -> Result<Exit, Failure> {
    let law = arguments.training.critical_batch.unwrap_or(CriticalBatch::Layered);
    let training = search(session, arguments, law)?;
    let found = Found::of(&training, session)?;
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
    output::result(&match arguments.format {
        PlanFormat::Text => report.text(),
        PlanFormat::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(if found.best.iter().any(Option::is_some) { Exit::Done } else { Exit::DoesNotFit })
}

/// The most devices that a search may use: more than any machine has.
const MOST_DEVICES: u64 = 1 << 22;

/// The search that the arguments ask for.
fn search(session: &Session, arguments: &Plan, law: CriticalBatch) -> Result<Training, Failure> {
    let flags = &arguments.input.flags;
    let mut base = session.open(arguments.input.scenario.as_deref(), flags)?.scenario;
    if let Some(limit) = arguments.memory_limit {
        base.plan.memory_factor = base.plan.memory_factor.min(limit / base.cluster.device.memory);
    }
    let critical = law.sequences(&base.model, base.plan.sequence);
    let steps =
        arguments.training.steps.or(base.plan.tokens.map(|tokens| tokens / critical / f64::from(base.plan.sequence)));
    let mut problems = Vec::new();
    let mut refuse = |wrong: bool, line: &str| {
        if wrong {
            problems.push(line.to_owned());
        }
    };
    let wanted = arguments.training.devices_max;
    refuse(wanted.is_none(), "--devices-max: is missing; say how many devices may be used at most");
    refuse(wanted == Some(0), "--devices-max: 0 devices train nothing; choose at least 1");
    refuse(wanted > Some(MOST_DEVICES), "--devices-max: more than any machine has; choose at most 4194304");
    refuse(steps.is_none(), "--steps: is missing; give the steps at the critical batch, or --tokens");
    refuse(
        steps.is_some_and(|steps| !(steps > 0.0 && steps.is_finite())),
        "--steps: the training has no length; choose a number above 0",
    );
    refuse(arguments.top != 1, "--top: each method has one best plan; leave it out");
    let (Some(wanted), Some(steps), true) = (wanted, steps, problems.is_empty()) else {
        return Err(Failure::Input(problems));
    };
    let training = Training::new(base, Goal { critical, steps }, wanted as u32, &session.library)
        .map_err(|unknown| Failure::Input(vec![unknown.to_string()]))?;
    match training.problems() {
        problems if problems.is_empty() => Ok(training),
        problems => Err(refused(&problems, flags)),
    }
}

/// What was found.
struct Found {
    best: Vec<Option<Best>>,
    accounts: Vec<Option<Account>>,
    closed: Vec<Option<Closed>>,
    plans: usize,
    simulated: usize,
    time: Seconds,
}

impl Found {
    fn of(training: &Training, session: &Session) -> Result<Self, Failure> {
        let options = &session.options;
        let pool = search::pool(options.threads).map_err(|error| Failure::Io(format!("threads: {error}")))?;
        let (start, progress) = (Instant::now(), sweep::progress(training.len(), "answers", options.low_bandwidth));
        let answers: Mutex<Vec<Option<Answer>>> = Mutex::new(vec![None; training.len()]);
        training.run(&pool, &Cancel::default(), &|index, answer| {
            answers.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(answer);
            progress.inc(1);
        });
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (plans, simulated) = answers
            .iter()
            .flatten()
            .fold((0, 0), |(plans, simulated), answer| (plans + answer.plans, simulated + answer.simulated));
        let best = training.settled(answers.into_iter().map(|answer| answer?.best));
        let mut workspace = Workspace::default();
        let last = best.chunks(training.budgets.len()).map(|method| method.last()?.as_ref());
        let accounts = METHODS
            .iter()
            .zip(last)
            .map(|(method, best)| Account::of(&training.scenario(method, &best?.choice), &mut workspace));
        let (accounts, closed) = (accounts.collect(), training.closed(&pool));
        progress.finish_and_clear();
        let time = Seconds::new(start.elapsed().as_secs_f64());
        log::line(&format!("{plans} plans, {simulated} simulated on {} threads", pool.current_num_threads()));
        Ok(Self { best, accounts, closed, plans, simulated, time })
    }
}
