//! What views have computed behind the screen, and what is found: a variant of each for each view that needs it.

use std::sync::Arc;
use std::time::Duration;

use crate::search::training::{Answer, Training};
use crate::search::{Cancel, Cell, Pool, Sweep};

use super::jobs::Batch;

/// What is to be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Throughput over memory and bandwidth, beginning with a cell.
    Hardware(Arc<Sweep>, usize),
    /// The shortest training of each method.
    Training(Arc<Training>),
}

/// What was found, perhaps a part of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Index and content of some cells.
    Hardware(Vec<(usize, Cell)>),
    /// The answer to a question, by its index.
    Training(usize, Box<Answer>),
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
        match self {
            Self::Hardware(sweep, from) => {
                let found = |cells| (desk.tell)(Found::Hardware(cells));
                let batch = Batch::new(desk.pause, &found);
                sweep.run(desk.pool, *from, desk.cancel, &|index, cell| batch.add(index, cell));
                batch.send();
            }
            Self::Training(training) => {
                let found = |index, answer| (desk.tell)(Found::Training(index, Box::new(answer)));
                training.run(desk.pool, desk.cancel, &found);
            }
        }
    }
}
