//! A place for one waiting job: a new one takes the place of the one that waits.

// From there and not from `std`, so that `tests/interleavings.rs` can put threads of its own in their place.
use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shared by who asks and by the thread that works.
#[derive(Debug)]
pub(super) struct JobSlot<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: Option<T>,
    closed: bool,
}

impl<T> Default for JobSlot<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { waiting: None, closed: false }), changed: Condvar::new() }
    }
}

impl<T> JobSlot<T> {
    /// Lets a job wait, instead of any that does.
    pub(super) fn put(&self, job: T) {
        // Three edits while one evaluation runs: the second takes the place of nothing, the third that of the second,
        // so that only the third is run. The lock is let go before the thread wakes.
        self.lock().waiting = Some(job);
        self.changed.notify_one();
    }

    /// No more jobs.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The next job, once there is one; `None` when no more will come.
    pub(super) fn take(&self) -> Option<T> {
        let idle = |state: &mut State<T>| state.waiting.is_none() && !state.closed;
        let mut state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        // What waits when the end comes is not begun: nobody would hear of it.
        if state.closed { None } else { state.waiting.take() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
