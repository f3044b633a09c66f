//! The work behind the screen: one thread for the scenario in hand, one that drives sweeps on a private pool, so that
//! an edit never queues behind a map.
//!
//! The latest question wins: each thread has one running and one waiting job, and a new one takes the waiting one's
//! place. A panic ends its job, not the thread. Not for what is computed ([`crate::search`]).

mod batch;
mod slot;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::evaluate::Workspace;
use crate::scenario::Scenario;
use crate::search::{self, Cancel, Sweep};

use super::action::Report;
use batch::Batch;
use slot::Slot;

/// Where reports go; called from several threads.
pub type Tell = Arc<dyn Fn(Report) + Send + Sync>;

struct Question {
    generation: u64,
    scenario: Box<Scenario>,
}

struct Filling {
    generation: u64,
    sweep: Arc<Sweep>,
    from: usize,
    cancel: Cancel,
}

/// The threads that work. They end when this is dropped.
pub struct Jobs {
    questions: Arc<Slot<Question>>,
    fillings: Arc<Slot<Filling>>,
    filling: Cancel,
}

impl Jobs {
    /// Starts the threads; a sweep runs on so many `threads` and reports at most once per `pause`.
    pub fn start(threads: Option<usize>, pause: Duration, tell: &Tell) -> io::Result<Self> {
        let pool = search::pool(threads).map_err(io::Error::other)?;
        let (questions, fillings) = (Arc::<Slot<Question>>::default(), Arc::<Slot<Filling>>::default());
        spawn("evaluation", &questions, tell, move |job: &Question, tell| {
            let mut workspace = Workspace::default();
            let result = search::full(&job.scenario, &mut workspace).map(Arc::new);
            let too_big = result.as_ref().is_ok_and(|evaluation| !evaluation.summary.fits);
            tell(Report::Evaluated { generation: job.generation, result });
            if let Some(mend) = too_big.then(|| search::mend(&job.scenario, &mut workspace)).flatten() {
                tell(Report::Mended { generation: job.generation, mend });
            }
        })?;
        spawn("map", &fillings, tell, move |job: &Filling, tell| {
            let batch = Batch::new(job.generation, pause, tell);
            job.sweep.run(&pool, job.from, &job.cancel, &|index, cell| batch.add(index, cell));
            batch.send();
        })?;
        Ok(Self { questions, fillings, filling: Cancel::default() })
    }

    /// Evaluates a scenario in full, instead of any that waits.
    pub fn evaluate(&self, generation: u64, scenario: Box<Scenario>) {
        self.questions.put(Question { generation, scenario });
    }

    /// Fills a map, instead of the one that is being filled.
    pub fn sweep(&mut self, generation: u64, sweep: Arc<Sweep>, from: usize) {
        self.filling.cancel();
        self.filling = Cancel::default();
        self.fillings.put(Filling { generation, sweep, from, cancel: self.filling.clone() });
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.filling.cancel();
        self.questions.close();
        self.fillings.close();
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

impl Job for Filling {
    fn generation(&self) -> u64 {
        self.generation
    }
}

/// A thread that does one job after another; a panic is reported and survived.
fn spawn<J: Job>(
    name: &'static str,
    slot: &Arc<Slot<J>>,
    tell: &Tell,
    work: impl Fn(&J, &Tell) + Send + 'static,
) -> io::Result<()> {
    let (slot, tell) = (Arc::clone(slot), Arc::clone(tell));
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        while let Some(job) = slot.take() {
            // Nothing of a job outlives it, so nothing half-done is ever seen.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&job, &tell))) {
                tell(Report::Failed { generation: job.generation(), job: name, message: message(&*panic) });
            }
        }
    })?;
    Ok(())
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
