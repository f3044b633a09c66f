//! The cost model of OSDP (IJCAI 2023, arXiv 2209.13258): alpha, beta and gamma of one operator, and the
//! memory of its state [osdp C3].
//!
//! Time adds up: nothing runs beside anything else, so a schedule that overlaps is faster than this and
//! one that waits is slower. Replicated means summed by an all-reduce (the paper's DP), sharded means
//! ZeRO-3 (its ZDP). Not for choosing between them, which is [`crate::search::planner`]'s.

use crate::cost::{Payload, Rates};
use crate::hardware::Group;
use crate::plan::Format;
use crate::plan::pass::Pass;
use crate::units::{Bytes, BytesPerSecond, Count, Seconds};

/// A ring of devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ring {
    /// Devices (N).
    pub ranks: u32,
    /// Time of one step, whatever it carries (alpha).
    pub step: Seconds,
    /// Rate of each device's port (1 / beta).
    pub bandwidth: BytesPerSecond,
}

/// How an operator's state is placed on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each device has all of it.
    Replicated,
    /// Each device has a share, and gathers the rest where it is needed.
    Sharded {
        /// Whether forward is computed again, on weights that are gathered once more for it.
        recomputed: bool,
    },
}

/// An operator: what the model needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operator {
    /// Its weights, or its gradients, as they travel (S).
    pub bytes: Bytes,
    /// Collectives that carry them: one per matrix where they are not flattened together.
    pub collectives: f64,
    /// Arithmetic of a step (gamma b).
    pub compute: Seconds,
}

impl Ring {
    /// The ring of a group of ranks at the rates of a stack: the time of a collective without bytes, spread over its
    /// steps, and the rate of its slowest level.
    pub fn new(rates: &Rates<'_>, group: Group) -> Self {
        let time = |elements: f64| rates.gather(Payload::plain(Count::new(elements), Format::Int8), group).time;
        // Two probes, without bytes and with many, tell latency and rate apart whatever form the library takes.
        let (ranks, latency) = (f64::from(group.size), time(0.0));
        let per_byte = (time(PROBE) - latency) / PROBE * ranks / (ranks - 1.0);
        Self { ranks: group.size, step: latency / (ranks - 1.0), bandwidth: BytesPerSecond::new(1.0 / per_byte.get()) }
    }

    /// An all-gather, or a reduce-scatter: `(N - 1) (alpha + S beta / N)`, with one alpha per collective.
    pub fn pass(&self, bytes: Bytes, collectives: f64) -> Seconds {
        if self.ranks < 2 {
            return Seconds::ZERO;
        }
        let others = f64::from(self.ranks - 1);
        self.step * (others * collectives) + bytes * (others / f64::from(self.ranks)) / self.bandwidth
    }
}

/// Bytes by which the rate of a ring is asked.
const PROBE: f64 = 1e9;

impl Mode {
    /// Passes of the ring in a step: an all-reduce is two; sharded weights are gathered for forward and for
    /// backward and their gradients reduced into shards; recompute gathers a fourth time.
    pub const fn passes(self) -> f64 {
        match self {
            Self::Replicated => 2.0,
            Self::Sharded { recomputed: false } => 3.0,
            Self::Sharded { recomputed: true } => 4.0,
        }
    }

    /// State of `parameters`, `each` bytes of it per parameter (K): `K P`, or `K P / N`.
    pub fn state(self, parameters: f64, each: Bytes, ring: &Ring) -> Bytes {
        match self {
            Self::Replicated => each * parameters,
            Self::Sharded { .. } => each * (parameters / f64::from(ring.ranks)),
        }
    }
}

impl Operator {
    /// Time of a step: the passes of its mode, and its arithmetic.
    pub fn time(&self, mode: Mode, ring: &Ring) -> Seconds {
        ring.pass(self.bytes, self.collectives) * mode.passes() + self.compute
    }

    /// Bytes held beside its state while it computes: none where it is replicated, else its weights, and their gradients
    /// in a pass that computes these.
    pub fn held(&self, mode: Mode, pass: Pass) -> Bytes {
        match mode {
            Mode::Replicated => Bytes::ZERO,
            Mode::Sharded { .. } => self.bytes * if pass.completes_gradients() { 2.0 } else { 1.0 },
        }
    }

    /// One of the `slices` that it is cut into along what its matrices sum over, run one after the other
    /// [osdp C5]. `compute` is the arithmetic of a slice, whose matrices are thinner.
    #[must_use]
    pub fn slice(&self, slices: u32, compute: Seconds) -> Self {
        Self { bytes: self.bytes / f64::from(slices), collectives: self.collectives, compute }
    }
}

#[cfg(test)]
mod tests;
