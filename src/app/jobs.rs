//! The work behind the screen: one thread for the scenario in hand, one for an explanation of another, one that fills the map and one for the other views,
//! both on a private pool, so that an edit never queues behind a map.
//!
//! The latest question wins: each thread has one running and one waiting job, and a new one takes the waiting one's
//! place. A panic ends its job, not the thread. Not for what is computed ([`crate::search`]).

mod slot;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{self, Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::scenario::Scenario;
use crate::search::{self, Cancel, Evaluator, Pool, Sweep, Workspace};

use super::action::{Command, JobReport};
use super::batch::Batch;
use super::work::{Desk, Work};
use slot::JobSlot;

/// Where reports go; called from several threads.
pub type Tell = Arc<dyn Fn(JobReport) + Send + Sync>;

struct Question {
    generation: u64,
    scenario: Box<Scenario>,
}

impl Question {
    fn answer(&self, workspace: &mut Workspace, tell: &Tell) {
        let result = search::full(&self.scenario, workspace).map(Arc::new);
        let too_big = result.as_ref().is_ok_and(|evaluation| !evaluation.summary.fits);
        tell(JobReport::Evaluated { generation: self.generation, result });
        if let Some(fix) = too_big.then(|| search::fix(&self.scenario, workspace)).flatten() {
            tell(JobReport::Fixed { generation: self.generation, fix });
        }
    }
}

/// Of an explanation of a scenario that is not shown.
struct Asking(Question);

impl Asking {
    fn answer(&self, tell: &Tell) {
        let Question { generation, scenario } = &self.0;
        let result = search::once(scenario, &mut Workspace::default()).map(Box::new);
        tell(JobReport::Explained { generation: *generation, result });
    }
}

struct Filling {
    generation: u64,
    sweep: Arc<Sweep>,
    from: usize,
    cancel: Cancel,
}

impl Filling {
    fn fill(&self, pool: &Pool, pause: Duration, tell: &Tell) {
        let send = |cells| tell(JobReport::Cells { generation: self.generation, cells });
        let batch = Batch::new(pause, &send);
        let evaluator = Evaluator::new(pool, &self.cancel);
        self.sweep.run(&evaluator, self.from, &|index, cell| batch.add(index, cell));
        batch.send();
    }
}

/// What a view has asked for and not heard of yet.
struct Working {
    generation: u64,
    work: Work,
    cancel: Cancel,
}

impl Working {
    fn run(&self, pool: &Pool, pause: Duration, tell: &Tell) {
        let tell = |found| tell(JobReport::Found { generation: self.generation, found });
        self.work.run(Desk { pool, cancel: &self.cancel, pause, tell: &tell });
    }
}

/// The threads that work. They end when this is dropped.
pub struct Jobs {
    questions: Arc<JobSlot<Question>>,
    askings: Arc<JobSlot<Asking>>,
    fillings: Arc<JobSlot<Filling>>,
    works: Arc<JobSlot<Working>>,
    filling: Cancel,
    working: Cancel,
}

impl Jobs {
    /// Starts the threads; sweeps run on so many `threads` and report at most once per `pause`.
    pub fn start(threads: Option<usize>, pause: Duration, tell: &Tell) -> io::Result<Self> {
        let pool = Arc::new(search::polite_pool(threads).map_err(io::Error::other)?);
        let jobs = Self {
            questions: Arc::default(),
            askings: Arc::default(),
            fillings: Arc::default(),
            works: Arc::default(),
            filling: Cancel::default(),
            working: Cancel::default(),
        };
        spawn("evaluation", &jobs.questions, tell, |job, tell| job.answer(&mut Workspace::default(), tell))?;
        spawn("explanation", &jobs.askings, tell, Asking::answer)?;
        let shared = Arc::clone(&pool);
        spawn("map", &jobs.fillings, tell, move |job, tell| job.fill(&shared, pause, tell))?;
        spawn("view", &jobs.works, tell, move |job, tell| job.run(&pool, pause, tell))?;
        Ok(jobs)
    }

    /// Evaluates a scenario in full, instead of any that waits.
    pub fn evaluate(&self, generation: u64, scenario: Box<Scenario>) {
        self.questions.put(Question { generation, scenario });
    }

    /// Runs a scenario for an explanation, instead of any that waits.
    pub fn explain(&self, generation: u64, scenario: Box<Scenario>) {
        self.askings.put(Asking(Question { generation, scenario }));
    }

    /// Fills a map, instead of the one that is being filled.
    pub fn sweep(&mut self, generation: u64, sweep: Arc<Sweep>, from: usize) {
        self.fillings.put(Filling { generation, sweep, from, cancel: renewed(&mut self.filling) });
    }

    /// Stops a view's work.
    pub fn rest(&mut self) {
        renewed(&mut self.working);
    }

    /// Does a view's work, instead of the one that is being done.
    pub fn work(&mut self, generation: u64, work: Work) {
        self.works.put(Working { generation, work, cancel: renewed(&mut self.working) });
    }
}

/// Cancels what runs; gives the flag of what comes next.
fn renewed(running: &mut Cancel) -> Cancel {
    std::mem::take(running).cancel();
    running.clone()
}

/// Does at once what the threads would do, and gives what they would report, files apart: for pictures, measurements
/// and tests.
pub fn in_line(command: Command) -> Vec<JobReport> {
    let (reports, queue) = mpsc::channel();
    let tell: Tell = Arc::new(move |report| drop(reports.send(report)));
    let Ok(pool) = search::pool(Some(1)) else { return Vec::new() };
    let cancel = Cancel::default();
    match command {
        Command::Evaluate { generation, scenario } => {
            Question { generation, scenario }.answer(&mut Workspace::default(), &tell);
        }
        Command::Explain { generation, scenario } => Asking(Question { generation, scenario }).answer(&tell),
        Command::Sweep { generation, sweep, from } => {
            Filling { generation, sweep, from, cancel }.fill(&pool, Duration::ZERO, &tell);
        }
        Command::Work { generation, work } => Working { generation, work, cancel }.run(&pool, Duration::ZERO, &tell),
        Command::Export(_)
        | Command::Rest
        | Command::List
        | Command::SaveSet(_)
        | Command::SaveMap(_)
        | Command::Copy(_)
        | Command::Diagnose
        | Command::Mouse(_)
        | Command::SaveScreen(_)
        | Command::Open(_)
        | Command::Delete(_)
        | Command::SavePreset(_)
        | Command::Reload
        | Command::Suspend
        | Command::Quit => {}
    }
    drop(tell);
    queue.into_iter().collect()
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.filling.cancel();
        self.working.cancel();
        self.questions.close();
        self.askings.close();
        self.fillings.close();
        self.works.close();
    }
}

/// What a thread works on.
trait Job: Send + 'static {
    fn generation(&self) -> u64;
}

impl Job for Question {
    fn generation(&self) -> u64 {
        self.generation
    }
}

impl Job for Asking {
    fn generation(&self) -> u64 {
        self.0.generation
    }
}

impl Job for Filling {
    fn generation(&self) -> u64 {
        self.generation
    }
}

impl Job for Working {
    fn generation(&self) -> u64 {
        self.generation
    }
}

/// A thread that does one job after another; a panic is reported and survived.
fn spawn<J: Job>(
    name: &'static str,
    slot: &Arc<JobSlot<J>>,
    tell: &Tell,
    work: impl Fn(&J, &Tell) + Send + 'static,
) -> io::Result<()> {
    let (slot, tell) = (Arc::clone(slot), Arc::clone(tell));
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        while let Some(job) = slot.take() {
            // Nothing of a job outlives it, so nothing half-done is ever seen.
            let done = catch_unwind(AssertUnwindSafe(|| {
                debug_assert!(!is_to_break(name), "broken by a test");
                work(&job, &tell);
            }));
            if let Err(panic) = done {
                tell(JobReport::Failed { generation: job.generation(), job: name, message: message(&*panic) });
            }
        }
    })?;
    Ok(())
}

/// Whether a test wants a part of the program to panic; nothing does in a release, where no `debug_assert` asks.
pub fn is_to_break(part: &str) -> bool {
    std::env::var_os("SHARDSCOPE_BREAK").is_some_and(|wanted| wanted == part)
}

/// What a panic said.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
