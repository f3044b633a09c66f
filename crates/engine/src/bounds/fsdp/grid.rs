//! The best points of a grid over stage, kept activations, sequence and batch, by the closed forms of the
//! limits [fsdp A5]. Not for plans with other parallelism, nor for how a schedule really runs.
//!
//! The published search also steps through the assumed efficiency and through every batch. Neither loop is
//! run here, and nothing is lost: see [`search`].

use std::cmp::Ordering;

use super::{FsdpLimits, Utilisation, ZeroStage};
use crate::units::Seconds;

/// Stages, the least sharded first.
const STAGES: [ZeroStage; 3] = [ZeroStage::One, ZeroStage::Two, ZeroStage::Three];

/// Tenths of the activations that are kept (gamma).
const GAMMAS: u32 = 10;

/// Sequences have `2^9 = 512` tokens or more: powers of two, up to what fits and at most `2^40`.
const EXPONENTS: std::ops::RangeInclusive<u32> = 9..=40;

/// A point of the grid and what it reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridPoint {
    /// How much of the state is sharded.
    pub stage: ZeroStage,
    /// Share of the activations that is kept.
    pub gamma: f64,
    /// Tokens per sequence.
    pub sequence: f64,
    /// Sequences on each device.
    pub batch: f64,
    /// Time of a step.
    pub time: Seconds,
    /// How well it uses the device.
    pub reached: Utilisation,
}

impl GridPoint {
    fn tokens(&self) -> f64 {
        self.sequence * self.batch
    }
}

/// The best points of a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestPoints {
    /// The highest model flop utilisation.
    pub mfu: GridPoint,
    /// The most tokens per second and device.
    pub throughput: GridPoint,
    /// The longest sequence; among its points the highest utilisation.
    pub sequence: GridPoint,
    /// Points of the grid that fit, every batch counted.
    pub searched: f64,
}

/// The best points of a model and machine whose kernels reach at most the share `alpha` of the peak; among
/// equals the one with fewest tokens on a device. `None` where not one sequence fits. The stage, gamma and
/// sequence of `limits` do not matter.
///
/// The highest efficiency is the best one, since a step's time only falls with it. At given stage, gamma and
/// sequence the time per token, `max(a, x / E) + max(b, y / E)`, falls with the tokens `E` of a device until all
/// transfers hide, and then stays: so the best batch is the first one that hides them, or else the largest.
///
/// ```
/// use shardscope_engine::bounds::fsdp::{FsdpLimits, grid};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let best = grid::search(&FsdpLimits::of_family(&scenario), 0.75).expect("a sequence fits");
/// println!("{} tokens a sequence, {:?}", best.throughput.sequence, best.throughput.stage);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search(limits: &FsdpLimits, alpha: f64) -> Option<BestPoints> {
    let mut found: Option<BestPoints> = None;
    for (stage, gamma) in STAGES.iter().flat_map(|stage| (0..=GAMMAS).map(move |gamma| (*stage, gamma))) {
        let limits = FsdpLimits { stage, gamma: f64::from(gamma) / f64::from(GAMMAS), ..*limits };
        let capacity = limits.token_capacity().floor();
        let sequences = EXPONENTS.map(|exponent| libm::exp2(f64::from(exponent)));
        for sequence in sequences.take_while(|sequence| *sequence <= capacity) {
            let limits = FsdpLimits { sequence, ..limits };
            let most = (capacity / sequence).floor();
            let point = limits.point(limits.first_hiding(alpha).clamp(1.0, most), alpha);
            found = Some(match found {
                Some(best) => best.or(point, most),
                None => BestPoints { mfu: point, throughput: point, sequence: point, searched: most },
            });
        }
    }
    found
}

impl FsdpLimits {
    /// The smallest batch whose transfers all hide; it may be more than fits.
    fn first_hiding(&self, alpha: f64) -> f64 {
        let [forward, backward] = self.overlap(self.sequence, alpha);
        forward.max(backward).ceil()
    }

    /// The point of a batch.
    pub(super) fn point(&self, batch: f64, alpha: f64) -> GridPoint {
        let step = self.step(batch * self.sequence, alpha);
        GridPoint {
            stage: self.stage,
            gamma: self.gamma,
            sequence: self.sequence,
            batch,
            time: step.time,
            reached: step.reached,
        }
    }
}

impl BestPoints {
    /// The better of what is known and one more point, which stands for `batches`.
    fn or(self, point: GridPoint, batches: f64) -> Self {
        let mfu = |point: &GridPoint| point.reached.mfu;
        Self {
            mfu: better(self.mfu, point, mfu),
            throughput: better(self.throughput, point, |point| point.reached.tokens_per_s),
            sequence: match point.sequence.total_cmp(&self.sequence.sequence) {
                Ordering::Less => self.sequence,
                Ordering::Equal => better(self.sequence, point, mfu),
                Ordering::Greater => point,
            },
            searched: self.searched + batches,
        }
    }
}

/// The point with the larger figure; of equal ones that with fewer tokens, or the one that is known.
fn better(known: GridPoint, point: GridPoint, figure: impl Fn(&GridPoint) -> f64) -> GridPoint {
    let (best, found) = (figure(&known), figure(&point));
    let equal = (found - best).abs() <= ROUNDING * best;
    // Fewer tokens for the same figure leave memory to spare.
    let wins = if equal { point.tokens() < known.tokens() } else { found > best };
    if wins { point } else { known }
}

/// Figures that differ by less are equal: they would be, were it not for rounding.
const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests;
