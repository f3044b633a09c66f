//! The columns that a stretch of time takes on the screen.

use shardscope_engine::evaluate::Folded;
use shardscope_engine::units::Seconds;

/// A window of time over columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) window: (Seconds, Seconds),
    pub(super) columns: usize,
    columns_per_second: f64,
}

impl Scale {
    /// `None` for a window or a screen without width.
    pub(super) fn new(window: (Seconds, Seconds), columns: usize) -> Option<Self> {
        let length = (window.1 - window.0).get();
        let columns_per_second = columns as f64 / length;
        (window.0.get().is_finite() && length.is_finite() && length > 0.0 && columns > 0).then_some(Self {
            window,
            columns,
            columns_per_second,
        })
    }

    /// Columns from the left end to a moment, cut to the window.
    pub(super) fn at(self, moment: Seconds) -> f64 {
        // A value that is not a number counts as the left end: `max` drops it.
        ((moment - self.window.0).get() * self.columns_per_second).max(0.0).min(self.columns as f64)
    }

    /// The stretch of time that a column shows.
    pub(super) fn stretch(self, column: usize) -> (Seconds, Seconds) {
        let edge = |column: usize| self.window.0 + Seconds::new(column as f64 / self.columns_per_second);
        (edge(column), edge(column + 1))
    }

    /// Whether a stretch of time takes part of a column, and not only what rounding leaves of it.
    pub(super) fn touches(self, from: Seconds, to: Seconds, column: usize) -> bool {
        share(column, self.at(from), self.at(to)) > 1e-9
    }

    /// Shares of each column's time, which `each` counts on any scale; what is folded away counts as often as it
    /// happens, spread over its repeats.
    pub(super) fn shares<const N: usize>(
        self,
        folded: &[Folded],
        each: &dyn Fn(Self) -> Vec<[f64; N]>,
    ) -> Vec<[f64; N]> {
        let mut shares = each(self);
        for (index, repeats) in folded.iter().enumerate() {
            let seen = repeats.end < self.window.1 && repeats.over() > self.window.0;
            let Some(period) = Self::new((repeats.start, repeats.end), 1).filter(|_| seen) else { continue };
            // A stretch that repeats may hold stretches that repeat: these are listed before it.
            let average = period.shares(&folded[..index], each)[0];
            self.cover(repeats.end, repeats.over(), |column, share| {
                shares[column].iter_mut().zip(average).for_each(|(sum, part)| *sum += part * share);
            });
        }
        shares
    }

    /// Hands over each column that a stretch of time touches, with the share of the column that it takes.
    pub(super) fn cover(self, from: Seconds, to: Seconds, each: impl FnMut(usize, f64)) {
        self.cover_columns(self.at(from), self.at(to), each);
    }

    /// Whole columns between two places on the screen.
    fn cover_columns(self, from: f64, to: f64, mut each: impl FnMut(usize, f64)) {
        // The first and the last column are touched in part only.
        for column in from as usize..self.columns {
            if column as f64 >= to {
                break;
            }
            let share = share(column, from, to);
            if share > 0.0 {
                each(column, share);
            }
        }
    }
}

/// The share of a column that lies between two places on the screen.
fn share(column: usize, from: f64, to: f64) -> f64 {
    let left = column as f64;
    to.min(left + 1.0) - from.max(left)
}
