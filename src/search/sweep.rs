//! A sweep: one evaluation per cell, in parallel, coarse to fine, cancelled at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::{Problem, Scenario};

use super::axis::Axis;
use super::tune::{Tuned, tuned};

/// A flag that stops a sweep between two cells.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One cell of a map.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most cells are possible; a box would be an allocation per cell")]
pub enum Cell {
    /// A scenario that can be; whether it fits is in the summary.
    Possible {
        /// The figures.
        summary: Summary,
        /// The batch and the recompute behind them.
        choice: Tuned,
    },
    /// A scenario that cannot be, and why.
    Impossible(Problem),
}

/// A map to fill: a scenario and two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// What stays the same.
    pub base: Scenario,
    /// Across.
    pub x: Axis,
    /// Down.
    pub y: Axis,
    /// Whether each cell takes its best micro-batch, recompute and accumulation.
    pub tune: bool,
}

impl Sweep {
    /// Cells.
    pub fn len(&self) -> usize {
        self.x.values.len() * self.y.values.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scenario of the cell at `index` (`y * width + x`).
    pub fn scenario(&self, index: usize) -> Result<Scenario, Problem> {
        let width = self.x.values.len();
        let mut scenario = self.base.clone();
        self.x.values[index % width].apply(self.x.kind, &mut scenario)?;
        self.y.values[index / width].apply(self.y.kind, &mut scenario)?;
        Ok(scenario)
    }

    /// Evaluates one cell.
    pub fn cell(&self, index: usize, workspace: &mut Workspace) -> Cell {
        let evaluated = self.scenario(index).and_then(|scenario| {
            let figures = if self.tune {
                tuned(&scenario, workspace)
            } else {
                summary(&scenario, workspace).map(|summary| (Tuned::of(&scenario), summary))
            };
            figures.map_err(first)
        });
        match evaluated {
            Ok((choice, summary)) => Cell::Possible { summary, choice },
            Err(problem) => Cell::Impossible(problem),
        }
    }

    /// Evaluates all cells on `pool`, the cell `from` first and then coarse to fine, and hands over each
    /// with its index as it is done.
    ///
    /// Returns whether all were done: `cancel` stops it between two cells.
    pub fn run(&self, pool: &Pool, from: usize, cancel: &Cancel, done: &(dyn Fn(usize, Cell) + Sync)) -> bool {
        let order = self.order(from);
        pool.install(|| {
            order.par_iter().with_max_len(CHUNK).for_each_init(Workspace::default, |workspace, index| {
                if !cancel.is_cancelled() {
                    done(*index, self.cell(*index, workspace));
                }
            });
        });
        !cancel.is_cancelled()
    }

    /// All cells: `from`, then every eighth row and column, every fourth, every second, the rest.
    fn order(&self, from: usize) -> Vec<usize> {
        let width = self.x.values.len();
        let coarseness = |index: usize| {
            let (x, y) = (index % width, index / width);
            [8, 4, 2].into_iter().position(|step| x.is_multiple_of(step) && y.is_multiple_of(step)).unwrap_or(3)
        };
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|index| (*index != from, coarseness(*index), *index));
        order
    }
}

/// Cells that a thread takes at a time: few, so that a cancel takes effect at once.
const CHUNK: usize = 64;

fn first(problems: Vec<Problem>) -> Problem {
    problems.into_iter().next().unwrap_or_else(|| Problem {
        field: "plan".to_owned(),
        what: "it cannot be laid out".to_owned(),
        fix: "change the plan".to_owned(),
    })
}

/// Threads for searches.
pub type Pool = ThreadPool;

/// A private pool for sweeps: `threads`, else `max(1, min(4, cores - 1))`, since login nodes are shared.
pub fn pool(threads: Option<usize>) -> Result<Pool, rayon::ThreadPoolBuildError> {
    builder(threads).build()
}

/// The same, whose threads give way: to keys on the screen and to everyone else on a shared machine.
pub fn polite_pool(threads: Option<usize>) -> Result<Pool, rayon::ThreadPoolBuildError> {
    builder(threads).start_handler(|_| give_way()).build()
}

fn builder(threads: Option<usize>) -> rayon::ThreadPoolBuilder {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| cores.saturating_sub(1).clamp(1, 4));
    rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("sweep-{index}"))
}

/// Lowers the priority of this thread, where a thread has one of its own.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(5);
}
