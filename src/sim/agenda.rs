//! Which rank goes on: any that can, then the one that has something to do first.

use crate::program::Picos;

/// Ranks that can go on, and moments of those that wait.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Ranks that have not been asked since something was sent to them.
    ready: Vec<usize>,
    /// When each of the others has something to do, whatever is sent to it, `MAX` for never; in a row at the end, up
    /// to a power of two, below the earlier of each pair: the children of `n` are `2n` and `2n + 1`.
    moments: Vec<Picos>,
    /// No rank has anything to do before, and nothing can arrive before.
    now: Picos,
}

impl Agenda {
    /// So many ranks, all of which can begin.
    pub fn reset(&mut self, ranks: usize) {
        self.ready.clear();
        self.ready.extend((0..ranks).rev());
        self.moments.clear();
        self.moments.resize(2 * ranks.next_power_of_two(), Picos::MAX);
        self.now = 0;
    }

    /// The rank that goes on next, and the moment to which all have come.
    pub fn next(&mut self) -> Option<(usize, Picos)> {
        let rank = self.ready.pop().or_else(|| self.first())?;
        Some((rank, self.now))
    }

    /// The rank with the earliest moment, the first of several, which it has no longer.
    fn first(&mut self) -> Option<usize> {
        let moment = *self.moments.get(1).filter(|moment| **moment < Picos::MAX)?;
        let mut pair = 1;
        while pair < self.moments.len() / 2 {
            pair = 2 * pair + usize::from(self.moments[2 * pair] > moment);
        }
        let rank = pair - self.moments.len() / 2;
        self.now = moment;
        self.set(rank, Picos::MAX);
        Some(rank)
    }

    /// Sets when a rank has something to do.
    pub fn set(&mut self, rank: usize, moment: Picos) {
        let mut place = rank + self.moments.len() / 2;
        self.moments[place] = moment;
        while place > 1 {
            let earlier = self.moments[place].min(self.moments[place ^ 1]);
            place /= 2;
            if self.moments[place] == earlier {
                return;
            }
            self.moments[place] = earlier;
        }
    }

    /// A rank's moment.
    pub fn moment(&self, rank: usize) -> Picos {
        self.moments[rank + self.moments.len() / 2]
    }

    /// Moves a rank's moment, if it has one.
    pub fn delay(&mut self, rank: usize, by: Picos) {
        let moment = self.moment(rank);
        if moment < Picos::MAX {
            self.set(rank, moment + by);
        }
    }

    /// Lets a rank go on with what has been sent to it.
    pub fn wake(&mut self, rank: usize) {
        self.set(rank, Picos::MAX);
        self.ready.push(rank);
    }
}
