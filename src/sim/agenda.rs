//! Which rank goes on first: a tournament over the moments at which ranks have something to do.

use crate::program::Picos;

/// One moment per rank, and who is first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Moments of the ranks, `MAX` for none, up to a power of two.
    moments: Vec<Picos>,
    /// Winners of each pairing; the children of `n` are `2n` and `2n + 1`, the last row is the ranks themselves.
    winners: Vec<u32>,
}

impl Agenda {
    /// So many ranks, all at the beginning.
    pub fn reset(&mut self, ranks: usize) {
        let leaves = ranks.next_power_of_two().max(2);
        self.moments.clear();
        self.moments.resize(ranks, 0);
        self.moments.resize(leaves, Picos::MAX);
        self.winners.clear();
        self.winners.resize(leaves, 0);
        self.winners.extend(0..leaves as u32);
        for pairing in (1..leaves).rev() {
            self.play(pairing);
        }
    }

    /// The rank with the earliest moment, the first of several; `None` if none has any.
    pub fn first(&self) -> Option<(usize, Picos)> {
        let rank = *self.winners.get(1)? as usize;
        let moment = self.moments[rank];
        (moment < Picos::MAX).then_some((rank, moment))
    }

    /// Sets a rank's moment.
    pub fn set(&mut self, rank: usize, moment: Picos) {
        self.moments[rank] = moment;
        let leaf = rank + self.moments.len();
        let mut pairing = leaf / 2;
        while pairing > 0 {
            self.play(pairing);
            pairing /= 2;
        }
    }

    /// A rank's moment.
    pub fn moment(&self, rank: usize) -> Picos {
        self.moments[rank]
    }

    /// Moves a rank's moment, if it has one.
    pub fn delay(&mut self, rank: usize, by: Picos) {
        if self.moments[rank] < Picos::MAX {
            self.set(rank, self.moments[rank] + by);
        }
    }

    /// Makes a rank's moment no later than this.
    pub fn hasten(&mut self, rank: usize, moment: Picos) {
        if moment < self.moments[rank] {
            self.set(rank, moment);
        }
    }

    fn play(&mut self, pairing: usize) {
        let (left, right) = (self.winners[2 * pairing], self.winners[2 * pairing + 1]);
        let later = self.moments[right as usize] < self.moments[left as usize];
        self.winners[pairing] = if later { right } else { left };
    }
}
