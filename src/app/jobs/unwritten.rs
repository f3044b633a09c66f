//! Files still to be written when the program ends, by name: who ends it waits for them, though not for ever, and says
//! what was not written. Not for the writing ([`crate::app::jobs::files`]).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tasks of a thread that writes, shared between it and those who wait.
#[derive(Debug, Clone, Default)]
pub struct Unwritten(Arc<(Mutex<Tasks>, Condvar)>);

#[derive(Debug, Default)]
struct Tasks {
    /// The file that each task writes, if it writes any; the running task comes first.
    waiting: VecDeque<Option<String>>,
    /// Whether the program ends.
    closed: bool,
}

impl Unwritten {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task is to be done, that writes this.
    pub(crate) fn put(&self, what: Option<String>) {
        self.tasks().waiting.push_back(what);
    }

    /// The first task is done.
    pub(crate) fn done(&self) {
        self.tasks().waiting.pop_front();
        self.0.1.notify_all();
    }

    /// Has what only reads give way.
    pub fn close(&self) {
        self.tasks().closed = true;
    }

    /// Whether the program ends.
    pub(crate) fn is_closed(&self) -> bool {
        self.tasks().closed
    }

    /// Waits until all is written, at most so long; gives what is not.
    pub fn wait(&self, patience: Duration) -> Vec<String> {
        let writes = |tasks: &mut Tasks| tasks.waiting.iter().any(Option::is_some);
        let (tasks, _) =
            self.0.1.wait_timeout_while(self.tasks(), patience, writes).unwrap_or_else(PoisonError::into_inner);
        tasks.waiting.iter().flatten().cloned().collect()
    }
}
