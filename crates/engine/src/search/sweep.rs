//! A sweep: one evaluation per cell, in parallel, coarse to fine, cancelled at once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::evaluate::{Summary, Workspace, summary};
use crate::scenario::{Edit, Field, Problem, Scenario};

use super::axis::Axis;
use super::candidate::Candidate;
use super::evaluator::Evaluator;
use super::tune::{Tuned, tuned};

/// One cell of a map.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most cells are possible; a box would be an allocation per cell")]
pub enum Cell {
    /// A scenario that can be; whether it fits is in the summary.
    Possible {
        /// The figures of its step.
        summary: Summary,
        /// The batch and the recompute behind them.
        choice: Tuned,
    },
    /// A scenario that cannot be, and why.
    Impossible(Problem),
}

impl Cell {
    /// Whether it can be and fits into memory.
    pub fn fits(&self) -> bool {
        matches!(self, Self::Possible { summary, .. } if summary.fits)
    }
}

/// A map to fill: a scenario and two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The scenario that cells change.
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

    /// The sequences of the global batch that all cells keep, or come near to, where it is held.
    pub fn held_sequences(&self) -> Option<f64> {
        let freed = [&self.x, &self.y].iter().any(|axis| matches!(axis.field, Field::Accumulate | Field::GlobalBatch));
        self.base.wanted_sequences().filter(|_| !freed)
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edits that make the cell at `index` (`y * width + x`) of the base, in the order of the table of fields, where
    /// later ones refine earlier ones: a strategy, then its extents.
    pub fn edits(&self, index: usize) -> [Edit; 2] {
        let width = self.x.values.len();
        let edit = |axis: &Axis, place: usize| Edit { field: axis.field, value: axis.values[place].clone() };
        let mut edits = [edit(&self.x, index % width), edit(&self.y, index / width)];
        edits.sort_by_key(|edit| edit.field);
        edits
    }

    /// The scenario of the cell at `index`.
    pub fn scenario(&self, index: usize) -> Result<Scenario, Problem> {
        Candidate::new(&self.base, self.edits(index)).map(|cell| cell.scenario)
    }

    /// The scenario of the cell before it is tuned.
    pub fn untuned(&self, index: usize) -> Result<Scenario, Problem> {
        Candidate::nearest(&self.base, self.edits(index)).map(|cell| cell.scenario)
    }

    /// Evaluates one cell.
    pub fn cell(&self, index: usize, workspace: &mut Workspace) -> Cell {
        self.evaluated(index, workspace).0
    }

    /// A cell, and its scenario before it is tuned, where there is one.
    fn evaluated(&self, index: usize, workspace: &mut Workspace) -> (Cell, Option<Scenario>) {
        // Tuning finds a micro-batch that divides the global batch, if any does.
        let made = if self.tune { self.untuned(index) } else { self.scenario(index) };
        let scenario = match made {
            Ok(scenario) => scenario,
            Err(problem) => return (Cell::Impossible(problem), None),
        };
        let figures = if self.tune {
            tuned(&scenario, workspace)
        } else {
            summary(&scenario, workspace).map(|summary| (Tuned::from(&scenario), summary))
        };
        let cell = match figures {
            Ok((choice, summary)) => Cell::Possible { summary, choice },
            Err(problems) => Cell::Impossible(first(problems)),
        };
        (cell, Some(scenario))
    }

    /// Evaluates all cells, the cell `from` first and then coarse to fine, and hands over each with its index as it is
    /// done. Returns whether all were done.
    pub fn run(&self, evaluator: &Evaluator, from: usize, done: &(dyn Fn(usize, Cell) + Sync)) -> bool {
        evaluator.each(&self.order(from), CHUNK, |index, workspace| self.cell(index, workspace), done)
    }

    /// Does `work` for the cells of `rows`, each with its scenario before it is tuned, where there is one: block by block, each
    /// block in parallel. Hands over each block's results in order; `None` for what was not reached before the work was
    /// stopped. Ends after a block for which `next` says so.
    pub fn in_order<T: Send + Clone, E>(
        &self,
        rows: Range<usize>,
        evaluator: &Evaluator,
        work: impl Fn(usize, Cell, Option<&Scenario>) -> T + Sync,
        mut next: impl FnMut(usize, Vec<Option<T>>) -> Result<bool, E>,
    ) -> Result<(), E> {
        for begin in rows.clone().step_by(BLOCK) {
            let mut order: Vec<usize> = (begin..rows.end.min(begin + BLOCK)).collect();
            order.sort_by_key(|index| self.turn(*index));
            let block = Mutex::new(vec![None; order.len()]);
            let one = |index, workspace: &mut Workspace| {
                let (cell, scenario) = self.evaluated(index, workspace);
                work(index, cell, scenario.as_ref())
            };
            let whole = evaluator.each(&order, CHUNK, one, &|index, found| {
                // A panic elsewhere leaves each entry as whole as it was.
                block.lock().unwrap_or_else(PoisonError::into_inner)[index - begin] = Some(found);
            });
            let found = block.into_inner().unwrap_or_else(PoisonError::into_inner);
            if !next(begin, found)? || !whole {
                break;
            }
        }
        Ok(())
    }

    /// All cells: `from`, then every eighth row and column, every fourth, every second, the rest.
    fn order(&self, from: usize) -> Vec<usize> {
        let width = self.x.values.len();
        let coarseness = |index: usize| {
            let (x, y) = (index % width, index / width);
            [8, 4, 2].into_iter().position(|step| x.is_multiple_of(step) && y.is_multiple_of(step)).unwrap_or(3)
        };
        let mut order: Vec<usize> = (0..self.len()).collect();
        // Turns settle ties, so that the order is the same in every run.
        order.sort_by_key(|index| (*index != from, coarseness(*index), self.turn(*index)));
        order
    }

    /// By what cells that are alike take turns: along a row, or along a column of networks, which share a program.
    pub(super) fn turn(&self, index: usize) -> (usize, usize) {
        let width = self.x.values.len();
        let (x, y) = (index % width, index / width);
        if self.y.field == Field::Bandwidth { (x, y) } else { (y, x) }
    }
}

/// Cells of a block: enough that threads seldom wait for the last of them, and few to hold.
const BLOCK: usize = 1 << 14;

/// Cells that a thread takes at a time: few, so that none is left with the last of them while others wait, and enough to
/// reuse its workspace.
const CHUNK: usize = 64;

fn first(problems: Vec<Problem>) -> Problem {
    problems.into_iter().next().unwrap_or_else(|| Problem {
        field: "plan".to_owned(),
        what: "it cannot be laid out".to_owned(),
        fix: "change the plan".to_owned(),
    })
}
