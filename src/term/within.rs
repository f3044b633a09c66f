//! Waiting for what may never end: a terminal that takes no bytes, a network folder that does not answer.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Does a task on a thread of its own, and waits for it at most so long; it is not done where there is no thread for it.
pub fn within<T: Send + 'static>(
    patience: Duration,
    name: &str,
    task: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, wait) = mpsc::channel();
    let run = move || drop(done.send(task()));
    thread::Builder::new().name(name.to_owned()).spawn(run).ok()?;
    wait.recv_timeout(patience).ok()
}
