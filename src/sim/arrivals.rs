//! What has been sent to a rank and when it arrives, in runs of equal distances.

use std::collections::VecDeque;

use crate::program::{Counter, Picos};

/// Arrivals at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Train {
    pub first: Picos,
    pub period: Picos,
    pub count: u64,
}

impl Train {
    fn nth(&self, index: u64) -> Picos {
        self.first + index * self.period
    }

    /// Appends another where the distances go on.
    fn join(&mut self, other: &Self) -> bool {
        let Some(gap) = other.first.checked_sub(self.nth(self.count - 1)) else { return false };
        let goes_on = (self.count == 1 || self.period == gap) && (other.count == 1 || other.period == gap);
        if goes_on {
            (self.period, self.count) = (gap, self.count + other.count);
        }
        goes_on
    }
}

/// What arrives from one neighbour, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals {
    trains: VecDeque<Train>,
    /// How many came before the first train.
    passed: u64,
}

impl Arrivals {
    pub fn clear(&mut self) {
        self.trains.clear();
        self.passed = 0;
    }

    /// Adds what is sent next.
    pub fn push(&mut self, train: Train) {
        if !self.trains.back_mut().is_some_and(|last| last.join(&train)) {
            self.trains.push_back(train);
        }
    }

    /// When the `nth` one arrives, counted from 1; `None` if it has not been sent.
    pub fn nth(&self, nth: i64) -> Option<Picos> {
        let Some(mut index) = u64::try_from(nth).ok()?.checked_sub(self.passed + 1) else { return Some(0) };
        for train in &self.trains {
            if index < train.count {
                return Some(train.nth(index));
            }
            index -= train.count;
        }
        None
    }
}

/// Both neighbours' arrivals at a rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox {
    forward: Arrivals,
    backward: Arrivals,
}

impl Inbox {
    pub fn clear(&mut self) {
        self.forward.clear();
        self.backward.clear();
    }

    pub fn of(&self, counter: Counter) -> &Arrivals {
        if counter == Counter::ArrivedForward { &self.forward } else { &self.backward }
    }

    pub fn of_mut(&mut self, counter: Counter) -> &mut Arrivals {
        if counter == Counter::ArrivedForward { &mut self.forward } else { &mut self.backward }
    }
}
