//! Cells on their way to the screen, a few at a time.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::app::action::Report;
use crate::search::Cell;

use super::Tell;

/// Holds cells back until the pause since the last report is over; the first cell is reported at once.
pub(super) struct Batch<'a> {
    generation: u64,
    pause: Duration,
    tell: &'a Tell,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    cells: Vec<(usize, Cell)>,
    sent: Option<Instant>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(generation: u64, pause: Duration, tell: &'a Tell) -> Self {
        Self { generation, pause, tell, held: Mutex::default() }
    }

    /// Takes a cell, and reports what is held if the pause is over.
    pub(super) fn add(&self, index: usize, cell: Cell) {
        let mut held = self.lock();
        held.cells.push((index, cell));
        if held.sent.is_none_or(|sent| sent.elapsed() >= self.pause) {
            held.sent = Some(Instant::now());
            self.report(&mut held);
        }
    }

    /// Reports what is held.
    pub(super) fn send(&self) {
        self.report(&mut self.lock());
    }

    fn report(&self, held: &mut Held) {
        let cells = mem::take(&mut held.cells);
        if !cells.is_empty() {
            (self.tell)(Report::Cells { generation: self.generation, cells });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
