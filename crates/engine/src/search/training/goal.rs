//! How long a training is, in steps at the critical batch.

use crate::bounds::layered::steps;
use crate::units::Seconds;

/// Steps at the critical batch where a scenario has no length: "about 1e5, independent of x" [layered B3].
pub const USUAL_STEPS: f64 = 1e5;

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The critical batch, in sequences.
    pub critical: f64,
    /// Steps that it takes at the critical batch.
    pub steps: f64,
}

impl Goal {
    /// Steps with batches of another size [layered B3].
    pub fn steps(&self, sequences: f64) -> f64 {
        steps(self.steps, self.critical, sequences)
    }

    /// Days of that without failures, where a step takes so many seconds.
    pub fn days(&self, sequences: f64, step: f64) -> f64 {
        self.steps(sequences) * step / Seconds::DAY.get()
    }
}
