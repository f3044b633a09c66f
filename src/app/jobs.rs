//! The work behind the screen: one thread for the scenario in hand, one for an explanation of another, one that fills
//! the map and one for the other views, both on a private pool, so that an edit never queues behind a map.
//!
//! The latest question wins: each thread has one running and one waiting job, and a new one takes the waiting one's
//! place. A panic ends its job, not the thread. Not for what is computed ([`shardscope_engine::search`]).

pub mod files;
pub mod unwritten;

mod slot;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{self, Arc, mpsc};
use std::thread;
use std::time::Duration;

use shardscope_engine::scenario::{CheckedScenario, Scenario};
use shardscope_engine::search::plans::PlanSearchAnswer;
use shardscope_engine::search::sequences::SequenceAnswer;
use shardscope_engine::search::{self, Cancel, Evaluator, Pool, Sweep, Workspace};
use shardscope_library::threads::give_way;

use crate::app::action::{Command, JobReport};
use crate::app::answers::work::{Batch, JobContext, SoFar, ViewJob};
use slot::JobSlot;

/// Where reports go; called from several threads.
pub type Tell = Arc<dyn Fn(JobReport) + Send + Sync>;

/// A job under the number that it was asked under, which its reports carry.
struct Numbered<J> {
    generation: u64,
    job: J,
}

/// A scenario to be evaluated for the screen.
struct Question(Box<CheckedScenario>);

impl Question {
    fn answer(&self, generation: u64, workspace: &mut Workspace, tell: &Tell) {
        let result = search::full_of_checked(&self.0.checked(), workspace).map(Arc::new);
        // The verdict goes out first: what would make the scenario fit takes many more runs, and nobody should wait for
        // them.
        let too_big = result.as_ref().is_ok_and(|evaluation| !evaluation.summary.fits);
        tell(JobReport::Evaluated { generation, result });
        if let Some(fix) = too_big.then(|| search::fix(&self.0, workspace)).flatten() {
            tell(JobReport::Fixed { generation, fix });
        }
    }
}

/// A scenario that is not shown, to be run for an explanation.
struct Asking(Box<Scenario>);

impl Asking {
    fn answer(&self, generation: u64, tell: &Tell) {
        let result = search::once(&self.0, &mut Workspace::default()).map(Box::new);
        tell(JobReport::Explained { generation, result });
    }
}

struct Filling {
    sweep: Arc<Sweep>,
    from: usize,
    cancel: Cancel,
}

impl Filling {
    fn fill(&self, generation: u64, pool: &Pool, pause: Duration, tell: &Tell) {
        let send = |cells| tell(JobReport::Cells { generation, cells });
        let batch = Batch::new(pause, &send);
        let evaluator = Evaluator::new(pool, &self.cancel);
        self.sweep.run(&evaluator, self.from, &|index, cell| batch.add(index, cell));
        batch.send();
    }
}

/// A view's work under way.
struct Working {
    job: Arc<dyn ViewJob>,
    cancel: Cancel,
}

impl Working {
    fn run(&self, generation: u64, pool: &Pool, pause: Duration, tell: &Tell) {
        let tell = |found| tell(JobReport::Found { generation, found });
        self.job.work(&JobContext { pool, cancel: &self.cancel, pause, tell: &tell });
    }
}

/// The threads that work. They end when this is dropped.
pub struct Jobs {
    questions: Arc<JobSlot<Numbered<Question>>>,
    askings: Arc<JobSlot<Numbered<Asking>>>,
    fillings: Arc<JobSlot<Numbered<Filling>>>,
    works: Arc<JobSlot<Numbered<Working>>>,
    filling: Cancel,
    working: Cancel,
}

impl Jobs {
    /// Starts the threads; sweeps run on so many `threads` and report at most once per `pause`.
    pub fn start(threads: Option<usize>, pause: Duration, tell: &Tell) -> io::Result<Self> {
        let pool = Arc::new(search::pool_beginning_with(threads, give_way).map_err(io::Error::other)?);
        let jobs = Self {
            questions: Arc::default(),
            askings: Arc::default(),
            fillings: Arc::default(),
            works: Arc::default(),
            filling: Cancel::default(),
            working: Cancel::default(),
        };
        // The scenario in hand and an explanation have threads of their own, outside the pool: a map of a thousand
        // cells that fills the pool delays neither.
        spawn("evaluation", &jobs.questions, tell, |number, job, tell| {
            job.answer(number, &mut Workspace::default(), tell);
        })?;
        spawn("explanation", &jobs.askings, tell, |number, job, tell| job.answer(number, tell))?;
        let shared = Arc::clone(&pool);
        spawn("map", &jobs.fillings, tell, move |number, job, tell| job.fill(number, &shared, pause, tell))?;
        spawn("view", &jobs.works, tell, move |number, job, tell| job.run(number, &pool, pause, tell))?;
        Ok(jobs)
    }

    /// Evaluates a scenario in full, instead of any that waits.
    pub fn evaluate(&self, generation: u64, scenario: Box<CheckedScenario>) {
        self.questions.put(Numbered { generation, job: Question(scenario) });
    }

    /// Runs a scenario for an explanation, instead of any that waits.
    pub fn explain(&self, generation: u64, scenario: Box<Scenario>) {
        self.askings.put(Numbered { generation, job: Asking(scenario) });
    }

    /// Fills a map, instead of the one that is being filled.
    pub fn sweep(&mut self, generation: u64, sweep: Arc<Sweep>, from: usize) {
        // The old map stops at its next cell. Cells that it has already sent carry the old number, and are dropped when
        // they arrive.
        let job = Filling { sweep, from, cancel: cancel_and_renew(&mut self.filling) };
        self.fillings.put(Numbered { generation, job });
    }

    /// Stops a view's work.
    pub fn rest(&mut self) {
        cancel_and_renew(&mut self.working);
    }

    /// Does a view's work, instead of the one that is being done.
    pub fn work(&mut self, generation: u64, job: Arc<dyn ViewJob>) {
        let job = Working { job, cancel: cancel_and_renew(&mut self.working) };
        self.works.put(Numbered { generation, job });
    }
}

/// Cancels what runs; gives the flag of what comes next.
fn cancel_and_renew(running: &mut Cancel) -> Cancel {
    // A flag that was raised stays so: whoever holds the old one stops whenever it looks, and the next job has one of
    // its own. One flag for all, raised and lowered, would miss a job that looks late.
    std::mem::take(running).cancel();
    running.clone()
}

/// Does at once what the threads would do, and gives what they would report, files apart: for measurements and tests.
/// A search over whole plans takes minutes: it ends with the first plan that it finds.
pub fn in_line(command: Command) -> Vec<JobReport> {
    in_line_until(command, has_plans)
}

/// Does a command at once and searches to the end: for pictures.
pub fn in_line_to_the_end(command: Command) -> Vec<JobReport> {
    in_line_until(command, |_| false)
}

/// Whether a search over whole plans has found any.
fn has_plans(report: &JobReport) -> bool {
    let JobReport::Found { found, .. } = report else { return false };
    found.get().is_some_and(|plans: &SoFar<PlanSearchAnswer>| !plans.answer.plans.is_empty())
        || found.get().is_some_and(|lengths: &SoFar<SequenceAnswer>| !lengths.answer.lengths.is_empty())
}

fn in_line_until(command: Command, enough: impl Fn(&JobReport) -> bool + Send + Sync + 'static) -> Vec<JobReport> {
    let (reports, queue) = mpsc::channel();
    let Ok(pool) = search::pool(Some(1)) else { return Vec::new() };
    let cancel = Cancel::default();
    let running = cancel.clone();
    let tell: Tell = Arc::new(move |report| {
        if enough(&report) {
            running.cancel();
        }
        drop(reports.send(report));
    });
    match command {
        Command::Evaluate { generation, scenario } => {
            Question(scenario).answer(generation, &mut Workspace::default(), &tell);
        }
        Command::Explain { generation, scenario } => Asking(scenario).answer(generation, &tell),
        Command::Sweep { generation, sweep, from } => {
            Filling { sweep, from, cancel }.fill(generation, &pool, Duration::ZERO, &tell);
        }
        Command::Work { generation, job } => Working { job, cancel }.run(generation, &pool, Duration::ZERO, &tell),
        _ => {}
    }
    drop(tell);
    queue.into_iter().collect()
}

impl Drop for Jobs {
    fn drop(&mut self) {
        // First the flags, then the slots: a thread that comes back from a cancelled job finds its slot closed, and
        // ends.
        self.filling.cancel();
        self.working.cancel();
        self.questions.close();
        self.askings.close();
        self.fillings.close();
        self.works.close();
    }
}

/// A thread that does one job after another; a panic is reported and survived.
fn spawn<J: Send + 'static>(
    name: &'static str,
    slot: &Arc<JobSlot<Numbered<J>>>,
    tell: &Tell,
    work: impl Fn(u64, &J, &Tell) + Send + 'static,
) -> io::Result<()> {
    let (slot, tell) = (Arc::clone(slot), Arc::clone(tell));
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        while let Some(Numbered { generation, job }) = slot.take() {
            // Nothing of a job outlives it, so nothing half-done is ever seen.
            let done = catch_unwind(AssertUnwindSafe(|| {
                debug_assert!(!is_to_break(name), "broken by a test");
                work(generation, &job, &tell);
            }));
            if let Err(panic) = done {
                tell(JobReport::Failed { generation, job: name, message: message(&*panic) });
            }
        }
    })?;
    Ok(())
}

/// Whether a test wants a part of the program to panic; nothing does in a release, where no `debug_assert` asks.
pub fn is_to_break(part: &str) -> bool {
    std::env::var_os("SHARDSCOPE_BREAK").is_some_and(|wanted| wanted == part)
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
