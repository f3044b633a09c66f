//! Arrivals at a rank and their times, as trains: arrivals at equal distances. A thousand micro-batches that a
//! neighbour sends in its steady state are three numbers.

use crate::plan::pass::{Direction, PerDirection};
use crate::program::Picos;

/// Arrivals at equal distances: at `first`, `first + period` and so on, `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArrivalTrain {
    pub first: Picos,
    pub period: Picos,
    pub count: u64,
}

impl ArrivalTrain {
    /// A single one.
    pub const fn one(at: Picos) -> Self {
        Self { first: at, period: 0, count: 1 }
    }

    fn nth(&self, index: u64) -> Picos {
        self.first + index * self.period
    }

    /// Appends another where it continues this one at the same distance.
    fn join(&mut self, other: &Self) -> bool {
        // Arrivals at 3, 5 and 7 are one train; 10 begins another.
        let Some(gap) = other.first.checked_sub(self.nth(self.count - 1)) else { return false };
        let goes_on = (self.count == 1 || self.period == gap) && (other.count == 1 || other.period == gap);
        if goes_on {
            (self.period, self.count) = (gap, self.count + other.count);
        }
        goes_on
    }
}

/// Arrivals that a rank sends to the next one, or to the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentTrain {
    pub train: ArrivalTrain,
    pub direction: Direction,
}

/// Arrivals from one neighbour, in order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    trains: Vec<ArrivalTrain>,
    /// How many of those trains have been used up, and how many arrivals have been taken in all.
    consumed: usize,
    taken: u64,
}

impl Arrivals {
    pub fn clear(&mut self) {
        self.trains.clear();
        (self.consumed, self.taken) = (0, 0);
    }

    /// Number of arrivals that are not taken yet.
    fn trains(&self) -> &[ArrivalTrain] {
        &self.trains[self.consumed..]
    }

    /// Adds what is sent next.
    pub fn push(&mut self, train: ArrivalTrain) {
        if self.consumed == self.trains.len() {
            self.trains.clear();
            self.consumed = 0;
        } else if self.trains.last_mut().is_some_and(|last| last.join(&train)) {
            return;
        }
        self.trains.push(train);
    }

    /// When the next one arrives; `None` if it has not been sent.
    pub fn next(&self) -> Option<Picos> {
        self.trains().first().map(|train| train.first)
    }

    /// Forgets the next `count`.
    pub fn take(&mut self, mut count: u64) {
        self.taken += count;
        while let Some(first) = self.trains.get_mut(self.consumed) {
            if count < first.count {
                first.first = first.nth(count);
                first.count -= count;
                return;
            }
            count -= first.count;
            self.consumed += 1;
        }
    }

    /// The train with the `nth` one, counted from 1, from that one on; `None` if it has not been sent.
    fn train_from(&self, nth: i64) -> Option<ArrivalTrain> {
        let mut index = u64::try_from(nth).ok()?.checked_sub(self.taken + 1)?;
        for train in self.trains() {
            if index < train.count {
                return Some(ArrivalTrain { first: train.nth(index), count: train.count - index, ..*train });
            }
            index -= train.count;
        }
        None
    }

    /// When the `nth` one arrives, counted from 1; `None` if it has not been sent.
    pub fn nth(&self, nth: i64) -> Option<Picos> {
        match nth - self.taken.cast_signed() {
            // It was taken, so that it has arrived.
            ..1 => Some(0),
            1 => self.next(),
            _ => self.train_from(nth).map(|train| train.first),
        }
    }

    /// How many in a row, from the `nth` on, arrive at `start + period`, `start + 2 period` and so on;
    /// or, unless `exactly`, no later.
    pub(crate) fn count_in_step(&self, nth: i64, start: Picos, period: Picos, exactly: bool) -> u64 {
        let Some(ArrivalTrain { first, period: own, count }) = self.train_from(nth) else { return 0 };
        // The first one decides how early the train is; its distances decide how long that lasts.
        let Some(early) = (start + period).checked_sub(first) else { return 0 };
        match (own.checked_sub(period), exactly) {
            _ if count == 1 => u64::from(early == 0 || !exactly),
            (Some(0), true) => {
                if early == 0 {
                    count
                } else {
                    0
                }
            }
            (_, true) => u64::from(early == 0),
            (None | Some(0), false) => count,
            // The first is 5 early, and they come every 12 where one is taken every 10: 5, 3 and 1 early, then too
            // late. So 5 / 2 + 1 = 3 are in time.
            (Some(slower), false) => count.min(early / slower + 1),
        }
    }

    fn is_shifted(&self, before: &Self, shift: Picos) -> bool {
        let same = |(now, before): (&ArrivalTrain, &ArrivalTrain)| {
            now.first == before.first + shift
                && now.count == before.count
                && (now.count == 1 || now.period == before.period)
        };
        self.trains().len() == before.trains().len() && self.trains().iter().zip(before.trains()).all(same)
    }

    fn skip(&mut self, before: &Self, shift: Picos, times: u64) {
        self.taken += (self.taken - before.taken) * times;
        self.trains[self.consumed..].iter_mut().for_each(|train| train.first += shift * times);
    }
}

impl Clone for Arrivals {
    fn clone(&self) -> Self {
        Self { trains: self.trains().to_vec(), consumed: 0, taken: self.taken }
    }

    fn clone_from(&mut self, other: &Self) {
        self.trains.clear();
        self.trains.extend_from_slice(other.trains());
        (self.consumed, self.taken) = (0, other.taken);
    }
}

/// Arrivals from both neighbours of a rank.
#[derive(Debug, Default)]
pub(super) struct Inbox(PerDirection<Arrivals>);

impl Inbox {
    pub fn clear(&mut self) {
        self.0.forward.clear();
        self.0.backward.clear();
    }

    /// Whether what is left to take is what was left before, later by `shift`.
    pub(crate) fn is_shifted(&self, before: &Self, shift: Picos) -> bool {
        self.0.forward.is_shifted(&before.0.forward, shift) && self.0.backward.is_shifted(&before.0.backward, shift)
    }

    /// Moves on by `times` shifts from an earlier state.
    pub fn skip(&mut self, before: &Self, shift: Picos, times: u64) {
        self.0.forward.skip(&before.0.forward, shift, times);
        self.0.backward.skip(&before.0.backward, shift, times);
    }

    pub(crate) fn arrivals(&self, direction: Direction) -> &Arrivals {
        self.0.get(direction)
    }

    pub(crate) fn arrivals_mut(&mut self, direction: Direction) -> &mut Arrivals {
        self.0.get_mut(direction)
    }
}

impl Clone for Inbox {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        self.0.forward.clone_from(&other.0.forward);
        self.0.backward.clone_from(&other.0.backward);
    }
}
