//! Work of seconds beside an interpreter that others may use meanwhile, and that an interrupt ends.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use shardscope_engine::search::Cancel;

/// How long an interrupt may wait.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Does `work` without the interpreter's lock. An interrupt, or whatever else a signal raises, cancels it.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Cancel) -> T + Send) -> PyResult<T> {
    let cancel = Cancel::default();
    thread::scope(|scope| {
        let (send, receive) = channel();
        let worker = scope.spawn({
            let cancel = cancel.clone();
            move || {
                let found = work(&cancel);
                // Nobody listens any more where a signal came first.
                let _ = send.send(found);
            }
        });
        let mut receive = receive;
        let found = loop {
            let waited;
            (waited, receive) = py.detach(move || (receive.recv_timeout(PATIENCE), receive));
            match waited {
                Ok(found) => break Ok(found),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = py.check_signals() {
                        cancel.cancel();
                        break Err(raised);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break Err(panicked()),
            }
        };
        py.detach(|| worker.join().map_or_else(|_| Err(panicked()), |()| found))
    })
}

fn panicked() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("this is a bug in shardscope: please report it with the scenario")
}
