//! Where many evaluations run: threads, a way to stop them, and each result handed over as soon as it is there. Not for
//! which scenarios are worth evaluating.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::{Problem, Scenario};

/// A flag that stops a search between two evaluations.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for a handler of signals.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The most threads that anyone may ask for: more than any node has, and few enough to be started at once.
pub const MOST_THREADS: u16 = 1024;

/// Threads for searches.
pub type Pool = ThreadPool;

/// A private pool for searches: `threads`, else `max(1, min(4, cores - 1))`, since login nodes are shared.
pub fn pool(threads: Option<usize>) -> Result<Pool, rayon::ThreadPoolBuildError> {
    builder(threads).build()
}

/// The same, each of whose threads calls `begin` first: to give way to keys on the screen, say.
pub fn pool_beginning_with(threads: Option<usize>, begin: fn()) -> Result<Pool, rayon::ThreadPoolBuildError> {
    builder(threads).start_handler(move |_| begin()).build()
}

fn builder(threads: Option<usize>) -> rayon::ThreadPoolBuilder {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| cores.saturating_sub(1).clamp(1, 4));
    rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("search-{index}"))
}

/// Threads, and the flag that stops what runs on them.
#[derive(Debug, Clone)]
pub struct Evaluator<'a> {
    pool: &'a Pool,
    cancel: Cancel,
}

impl<'a> Evaluator<'a> {
    /// On `pool`, until `cancel`.
    pub fn new(pool: &'a Pool, cancel: &Cancel) -> Self {
        Self { pool, cancel: cancel.clone() }
    }

    /// On `pool`, with nobody to stop it.
    pub fn on(pool: &'a Pool) -> Self {
        Self::new(pool, &Cancel::default())
    }

    /// The flag that stops it.
    pub const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The threads, for work that keeps a workspace of its own.
    pub const fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// Does `work` for each of `order`, which begins with what is wanted first, and hands over each result with its
    /// index. Returns whether all were done.
    ///
    /// A thread takes at most `chunk` of them at a time. What a cancelled `work` returned may be half done, so it is
    /// dropped.
    pub fn each<T>(
        &self,
        order: &[usize],
        chunk: usize,
        work: impl Fn(usize, &mut Workspace) -> T + Sync,
        done: &(dyn Fn(usize, T) + Sync),
    ) -> bool {
        self.pool.install(|| {
            order.par_iter().with_max_len(chunk).for_each_init(Workspace::default, |workspace, index| {
                if self.cancel.is_cancelled() {
                    return;
                }
                let found = work(*index, workspace);
                if !self.cancel.is_cancelled() {
                    done(*index, found);
                }
            });
        });
        !self.cancel.is_cancelled()
    }

    /// The figures of each scenario, in the order given; no figures and no problem for what was not reached before the
    /// work was stopped.
    pub fn summaries(&self, scenarios: &[Scenario]) -> Vec<Result<Summary, Vec<Problem>>> {
        let one = |workspace: &mut Workspace, scenario: &Scenario| {
            if self.cancel.is_cancelled() { Err(Vec::new()) } else { summary(scenario, workspace) }
        };
        // Collected by index, not as they end: the same list on any count of threads.
        self.pool.install(|| scenarios.par_iter().with_max_len(1).map_init(Workspace::default, one).collect())
    }
}
