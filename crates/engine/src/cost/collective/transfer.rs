//! The time and traffic of a collective, and its payload. Not for the laws of that time ([`super::timing`]).

use std::ops::{Add, Mul};

use crate::hardware::MAX_LEVELS;
use crate::plan::Format;
use crate::stack::Protocol;
use crate::units::{Bytes, Count, Seconds};

use super::algorithm::CollectiveAlgorithm;

/// Time and traffic of one collective, alone on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Transfer {
    /// From its launch until the last rank is done.
    pub time: Seconds,
    /// Part of that time: hops and launches.
    pub steps: Seconds,
    /// Part of that time: passes over memory that quantise and dequantise.
    pub passes: Seconds,
    /// Busy time of each level's wire.
    pub busy: [Seconds; MAX_LEVELS],
    /// Bytes that one device sends into each level, on average over the group.
    pub bytes: [Bytes; MAX_LEVELS],
    /// Bytes that one device receives.
    pub received: Bytes,
    /// The algorithm taken.
    pub algorithm: CollectiveAlgorithm,
    /// The protocol taken.
    pub protocol: Protocol,
}

/// Parts of the transfers' time, each transfer alone; they sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TransferParts {
    /// Bytes on the wire of the slowest level crossed.
    pub wire: Seconds,
    /// Hops and launches.
    pub steps: Seconds,
    /// Passes over memory that quantise and dequantise.
    pub passes: Seconds,
}

impl TransferParts {
    /// Adds other parts, `times` over.
    pub fn add(&mut self, other: Self, times: f64) {
        self.wire += other.wire * times;
        self.steps += other.steps * times;
        self.passes += other.passes * times;
    }

    /// The parts with their names.
    pub const fn named(&self) -> [(&'static str, Seconds); 3] {
        [("on the wire", self.wire), ("hops and launches", self.steps), ("quantising passes", self.passes)]
    }

    /// The whole time.
    pub fn total(self) -> Seconds {
        self.wire + self.steps + self.passes
    }
}

/// A payload: elements in a format, with a scale per block where the format is quantised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Payload {
    /// Number of elements.
    pub elements: Count,
    /// Format on the wire.
    pub format: Format,
    /// Elements per scale.
    pub block: Count,
    /// Collectives that carry it: one per matrix where they are not flattened together, a part of one where it shares a
    /// bucket.
    pub parts: Count,
}

/// Bytes of one scale of a quantised block: `DeepSpeed` keeps them in fp32 [frontier D4].
const SCALE: Bytes = Bytes::new(4.0);

impl Payload {
    /// Elements that one collective carries, without scales.
    pub const fn plain(elements: Count, format: Format) -> Self {
        Self { elements, format, block: Count::new(f64::INFINITY), parts: Count::new(1.0) }
    }

    /// Bytes on the wire, scales included.
    pub fn bytes(self) -> Bytes {
        let scales = if self.format.quantised() { self.elements / self.block * SCALE } else { Bytes::ZERO };
        self.elements * Bytes::new(self.format.bytes()) + scales
    }
}

impl Transfer {
    /// The parts of its time.
    pub fn parts(&self) -> TransferParts {
        let Self { time, steps, passes, .. } = *self;
        TransferParts { wire: time - steps - passes, steps, passes }
    }

    /// The level that is busiest: where the transfer would gain most from bandwidth.
    pub fn level(&self) -> Option<usize> {
        let busiest = |a: &usize, b: &usize| self.busy[*a].get().total_cmp(&self.busy[*b].get());
        (0..MAX_LEVELS).filter(|level| self.busy[*level] > Seconds::ZERO).max_by(busiest)
    }

    /// Busy time of the busiest level's wire.
    pub fn slowest(&self) -> Seconds {
        self.busy.into_iter().fold(Seconds::ZERO, Seconds::max)
    }

    /// Adds time that is not on the wire: passes over memory that quantise or dequantise.
    #[must_use]
    pub(crate) fn with_passes(mut self, passes: Seconds) -> Self {
        self.time += passes;
        self.passes += passes;
        self
    }

    /// Delays its start.
    #[must_use]
    pub(super) fn after(mut self, start: Seconds) -> Self {
        self.time += start;
        self.steps += start;
        self
    }
}

impl Mul<f64> for Transfer {
    type Output = Self;

    /// Scales its time and traffic.
    fn mul(mut self, share: f64) -> Self {
        self.time = self.time * share;
        self.steps = self.steps * share;
        self.passes = self.passes * share;
        self.received = self.received * share;
        self.busy = self.busy.map(|busy| busy * share);
        self.bytes = self.bytes.map(|bytes| bytes * share);
        self
    }
}

impl Add for Transfer {
    type Output = Self;

    /// One after the other, by the algorithm and protocol of the first that is not nothing.
    fn add(mut self, other: Self) -> Self {
        if self.time == Seconds::ZERO {
            (self.algorithm, self.protocol) = (other.algorithm, other.protocol);
        }
        self.time += other.time;
        self.steps += other.steps;
        self.passes += other.passes;
        self.received += other.received;
        for level in 0..MAX_LEVELS {
            self.busy[level] += other.busy[level];
            self.bytes[level] += other.bytes[level];
        }
        self
    }
}
