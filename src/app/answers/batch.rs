//! Cells on their way to the screen, a few at a time.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shardscope_engine::search::Cell;

/// Holds cells back until the pause since the last report is over; the first cell is reported at once.
pub(crate) struct Batch<'a> {
    pause: Duration,
    send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync),
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    cells: Vec<(usize, Cell)>,
    sent: Option<Instant>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(pause: Duration, send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync)) -> Self {
        Self { pause, send, held: Mutex::default() }
    }

    /// Takes a cell, and reports what is held if the pause is over.
    pub(crate) fn add(&self, index: usize, cell: Cell) {
        let mut held = self.lock();
        held.cells.push((index, cell));
        // The first cell goes at once, so that a slow map shows a sign of life; later ones go together, since each
        // report costs a frame.
        if held.sent.is_none_or(|sent| sent.elapsed() >= self.pause) {
            held.sent = Some(Instant::now());
            self.report(&mut held);
        }
    }

    /// Reports what is held.
    pub(crate) fn send(&self) {
        self.report(&mut self.lock());
    }

    fn report(&self, held: &mut Held) {
        let cells = mem::take(&mut held.cells);
        if !cells.is_empty() {
            (self.send)(cells);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
