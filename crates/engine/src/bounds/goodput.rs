//! The share of its time that an interrupted and restarted training uses, in closed form.
//!
//! Failures come at random, one a mean time between failures (a Poisson process). Every so often a checkpoint is
//! written, which nothing else goes on beside; after a failure the job restarts and repeats what was done since the last
//! checkpoint. Not for how fast a step is, nor for what slows it ([`crate::cost`]): a straggler is in the step time.

use crate::units::Seconds;

/// Halvings of the interval in which the best one lies: to a billionth of the mean time between failures.
const HALVINGS: u32 = 30;

/// Failures and checkpoints, and the time that they cost.
///
/// ```
/// use shardscope_engine::bounds::goodput::{Interruptions, IntervalLaw};
/// use shardscope_engine::units::Seconds;
///
/// let [between, restart, write] = [10_000.0, 600.0, 50.0].map(Seconds::new);
/// let job = Interruptions { between, restart, write };
/// // sqrt(2 x 50 s x 10,000 s)
/// assert_eq!(job.interval(IntervalLaw::Young), Seconds::new(1_000.0));
/// // Of 1,000 s of work, 50 s of writing, and what a failure each 10,000 s costs beside them, somewhat less than nine tenths counts.
/// let useful = job.shares(Seconds::new(1_000.0)).useful;
/// assert!(useful > 0.83 && useful < 0.9, "{useful}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interruptions {
    /// Mean time between two failures of the whole job.
    pub between: Seconds,
    /// From a failure until steps run again, reading the checkpoint included.
    pub restart: Seconds,
    /// For how long the writing of a checkpoint holds the job up.
    pub write: Seconds,
}

/// A rule for the interval between two checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalLaw {
    /// `sqrt(2 C M)`: J. W. Young, Communications of the ACM 17 (1974).
    Young,
    /// The higher-order estimate of J. T. Daly, Future Generation Computer Systems 22 (2006), equation 37.
    Daly,
    /// The most available: `sqrt(C^2 + 2 C (M + R))` of work, then a checkpoint (NVIDIA, arXiv 2410.18124).
    Availability,
}

impl IntervalLaw {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Young, Self::Daly, Self::Availability];

    /// Who it is of.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Young => "Young",
            Self::Daly => "Daly",
            Self::Availability => "availability",
        }
    }
}

/// Where the time of an interrupted job goes; the shares sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeShares {
    /// Steps that count: the goodput.
    pub useful: f64,
    /// Checkpoints that count.
    pub writing: f64,
    /// Failures: what is lost with them, and restarts.
    pub failing: f64,
}

impl Interruptions {
    /// Work between two checkpoints, by a rule; without failures or with free checkpoints there is no best one.
    pub fn interval(&self, law: IntervalLaw) -> Seconds {
        let (write, between) = (self.write.get(), self.between.get());
        let young = libm::sqrt(2.0 * write * between);
        Seconds::new(match law {
            IntervalLaw::Young => young,
            // A checkpoint that takes twice as long to write as the job lasts is worth writing once a failure at most.
            IntervalLaw::Daly if write >= 2.0 * between => between,
            IntervalLaw::Daly => {
                let half = write / (2.0 * between);
                young * (1.0 + libm::sqrt(half) / 3.0 + half / 9.0) - write
            }
            IntervalLaw::Availability => libm::sqrt(write * write + 2.0 * write * (between + self.restart.get())),
        })
    }

    /// The useful share at most, whatever the interval. With `a = T / M` and `c = C / M`, `(e^(a + c) - 1) / a` is least
    /// where its derivative vanishes, `e^(a + c) (1 - a) = 1`, and is `e^(a + c)` there. The left side falls from `e^c`
    /// at 0 to 0 at 1; the lower end of what is halved stays where it is at least 1, so that no share is above this one.
    pub(crate) fn max_useful_share(&self) -> f64 {
        let [restart, write] = [self.restart, self.write].map(|time| time / self.between);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if libm::exp(middle + write) * (1.0 - middle) >= 1.0 { low = middle } else { high = middle }
        }
        libm::exp(-(restart + low + write))
    }

    /// Where the time goes with so much work between two checkpoints: the complete model of Daly (equation 20), in which
    /// failures also strike while the job restarts or writes. Each stretch of work and writing takes
    /// `M e^(R / M) (e^((T + C) / M) - 1)` on average.
    pub fn shares(&self, interval: Seconds) -> TimeShares {
        let stretch = (interval + self.write) / self.between;
        let taken = self.between * (libm::exp(self.restart / self.between) * libm::expm1(stretch));
        let [useful, writing] = [interval / taken, self.write / taken];
        TimeShares { useful, writing, failing: 1.0 - useful - writing }
    }
}

#[cfg(test)]
mod tests;
