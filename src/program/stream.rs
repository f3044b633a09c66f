//! The streams of a rank, as a runtime has them: each runs its tasks one at a time, in order. A further kind of traffic
//! is a further constant here.

use std::ops::{BitAnd, Not};

use crate::stack::Overlap;

/// Streams per rank.
pub const STREAMS: usize = 9;

/// Compute.
pub const COMPUTE: u8 = 0;
/// Gathers of weights, where they overlap compute.
pub(super) const GATHER: u8 = 1;
/// Reductions of gradients, where they overlap compute.
pub(super) const REDUCE: u8 = 2;
/// Collectives between tensor ranks.
pub const TENSOR: u8 = 3;
/// Exchanges between context ranks.
pub const CONTEXT: u8 = 4;
/// What is sent to other pipeline ranks.
pub(super) const PIPELINE: u8 = 5;
/// Copies to the host.
pub(super) const HOST_OUT: u8 = 6;
/// Copies from the host.
pub(super) const HOST_IN: u8 = 7;
/// Sums of gradients over replicas of a shard, where they overlap gathers and reductions.
pub(super) const REPLICAS: u8 = 8;

const _: () = assert!((REPLICAS as usize) < STREAMS && STREAMS <= u32::BITS as usize);

/// Streams that are serialised with compute: a launch is over when they are.
pub const SERIAL: StreamSet = StreamSet::EMPTY.with(COMPUTE).with(TENSOR).with(CONTEXT);

/// A set of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSet(u32);

impl StreamSet {
    /// No stream.
    pub const EMPTY: Self = Self(0);
    /// Every stream.
    pub const ALL: Self = Self(u32::MAX);

    /// The set and one stream more.
    #[must_use]
    pub const fn with(self, stream: u8) -> Self {
        Self(self.0 | 1 << stream)
    }

    /// Adds a stream.
    pub const fn insert(&mut self, stream: usize) {
        self.0 |= 1 << stream;
    }

    /// Takes a stream out.
    pub const fn remove(&mut self, stream: usize) {
        self.0 &= !(1 << stream);
    }

    /// Whether a stream is in it.
    pub const fn contains(self, stream: usize) -> bool {
        self.0 & 1 << stream != 0
    }

    /// Whether none is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its streams, from the first.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let first = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            // Clears the lowest bit: 0b0110 becomes 0b0100.
            rest &= rest - 1;
            Some(first)
        })
    }
}

impl BitAnd for StreamSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for StreamSet {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// The streams of gathers and reductions.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveStreams {
    pub gather: u8,
    pub reduce: u8,
}

impl CollectiveStreams {
    /// As the stack overlaps: what does not overlap runs on the compute stream.
    pub fn new(overlap: Overlap) -> Self {
        // A collective that overlaps nothing is on the compute stream itself: then its order with compute says all, and
        // no wait has to.
        let (gather, reduce) = match overlap {
            Overlap::None => (COMPUTE, COMPUTE),
            Overlap::Reductions => (COMPUTE, REDUCE),
            Overlap::OneStream => (GATHER, GATHER),
            Overlap::Independent => (GATHER, REDUCE),
        };
        Self { gather, reduce }
    }
}
