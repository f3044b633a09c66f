//! Which rank runs next: those that were sent something, first come first served; then the one whose next moment is the
//! earliest.

use crate::program::Picos;

/// Ranks that can run, and when the others have something to do.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    /// Ranks that have been sent something, in order; those before `head` have run since.
    ready: Vec<usize>,
    head: usize,
    /// When each of the others has something to do, whatever is sent to it; `MAX` for never.
    moments: Vec<Picos>,
    /// No rank has anything to do before, and nothing can arrive before.
    now: Picos,
}

impl ReadyQueue {
    /// So many ranks, all of which can begin.
    pub fn reset(&mut self, ranks: usize) {
        self.ready.clear();
        self.ready.extend(0..ranks);
        self.head = 0;
        self.moments.clear();
        self.moments.resize(ranks, Picos::MAX);
        self.now = 0;
    }

    /// The rank that runs next, and the moment that all have reached.
    pub fn next(&mut self) -> Option<(usize, Picos)> {
        let Some(rank) = self.ready.get(self.head) else {
            return self.pop_earliest().map(|rank| (rank, self.now));
        };
        self.head += 1;
        Some((*rank, self.now))
    }

    /// The rank with the earliest moment, the first of several, which it has no longer. Seldom asked for.
    fn pop_earliest(&mut self) -> Option<usize> {
        self.ready.clear();
        self.head = 0;
        // Every rank has run as far as it can without the others, so that nothing is sent before the earliest moment.
        let (rank, moment) = self.moments.iter_mut().enumerate().min_by_key(|(_, moment)| **moment)?;
        self.now = std::mem::replace(moment, Picos::MAX);
        (self.now < Picos::MAX).then_some(rank)
    }

    /// Sets when a rank has something to do.
    pub fn set(&mut self, rank: usize, moment: Picos) {
        self.moments[rank] = moment;
    }

    /// A rank's moment.
    pub fn moment(&self, rank: usize) -> Picos {
        self.moments[rank]
    }

    /// Moves a rank's moment, if it has one.
    pub fn delay(&mut self, rank: usize, by: Picos) {
        let moment = &mut self.moments[rank];
        if *moment < Picos::MAX {
            *moment += by;
        }
    }

    /// Makes a rank that was sent something ready to run.
    pub fn wake(&mut self, rank: usize) {
        self.moments[rank] = Picos::MAX;
        self.ready.push(rank);
    }
}
