//! Who simulates plans: the threads of a search, or its caller alone.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::evaluate::Workspace;
use crate::search::{Cancel, Evaluator};

/// Threads with their workspaces, or one workspace in the thread that asks.
#[derive(Debug)]
pub(super) enum Workers<'a> {
    /// Threads, and workspaces that none of them uses just now.
    Many(&'a Evaluator<'a>, Mutex<Vec<Workspace>>),
    /// The caller alone.
    One(&'a mut Workspace, &'a Cancel),
}

impl<'a> Workers<'a> {
    pub fn many(evaluator: &'a Evaluator<'a>) -> Self {
        Self::Many(evaluator, Mutex::default())
    }

    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Many(evaluator, _) => evaluator.cancel().is_cancelled(),
            Self::One(_, cancel) => cancel.is_cancelled(),
        }
    }

    /// Works on each item, a few at a time, and gives what came out in the order of the items: the same on any count of
    /// threads. Nothing for what was not begun before the search was stopped.
    pub fn map<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        few: usize,
        work: impl Fn(&mut Workspace, &T) -> R + Sync,
    ) -> Vec<Option<R>> {
        match self {
            Self::Many(evaluator, spare) => evaluator.pool().install(|| {
                let begin = || BorrowedWorkspace::new(spare);
                let one = |borrowed: &mut BorrowedWorkspace<'_>, item: &T| {
                    (!evaluator.cancel().is_cancelled()).then(|| work(&mut borrowed.workspace, item))
                };
                items.par_iter().with_max_len(few).map_init(begin, one).collect()
            }),
            Self::One(workspace, cancel) => {
                items.iter().map(|item| (!cancel.is_cancelled()).then(|| work(workspace, item))).collect()
            }
        }
    }
}

/// A workspace that goes back to the others: buffers of megabytes are not made anew for each plan.
pub(in crate::search) struct BorrowedWorkspace<'a> {
    pub workspace: Workspace,
    spare: &'a Mutex<Vec<Workspace>>,
}

impl<'a> BorrowedWorkspace<'a> {
    pub fn new(spare: &'a Mutex<Vec<Workspace>>) -> Self {
        // A workspace is built anew for each plan, whoever panicked beside it.
        let workspace = spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        Self { workspace, spare }
    }
}

impl Drop for BorrowedWorkspace<'_> {
    fn drop(&mut self) {
        let workspace = std::mem::take(&mut self.workspace);
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }
}
