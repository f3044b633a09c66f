//! The streams of a rank, as a runtime has them: each runs its tasks one at a time, in order. A further kind of traffic
//! is a further variant here.

use std::ops::{BitAnd, Index, IndexMut, Not};

use crate::stack::Overlap;

/// A stream of a rank, and a lane of the timeline. A collective that overlaps nothing runs on the stream of compute and
/// is drawn on the lane of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Stream {
    /// The device's arithmetic.
    #[default]
    Compute,
    /// Gathers of weights, where they overlap compute.
    Gather,
    /// Reductions of gradients, where they overlap compute.
    Reduce,
    /// Sums of gradients over replicas of a shard, where they do not run in turn with the reductions.
    Replicas,
    /// Collectives of tensor parallelism.
    Tensor,
    /// Exchanges of context parallelism.
    Context,
    /// Tokens to experts on other ranks, and back.
    Experts,
    /// Sends to other pipeline ranks.
    Pipeline,
    /// Copies to the host.
    HostOut,
    /// Copies from the host.
    HostIn,
}

impl Stream {
    /// All streams, in the order in which they are drawn.
    pub const ALL: [Self; 10] = [
        Self::Compute,
        Self::Gather,
        Self::Reduce,
        Self::Replicas,
        Self::Tensor,
        Self::Context,
        Self::Experts,
        Self::Pipeline,
        Self::HostOut,
        Self::HostIn,
    ];

    /// Its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Gather => "gather",
            Self::Reduce => "reduce",
            Self::Replicas => "replicas",
            Self::Tensor => "tensor",
            Self::Context => "context",
            Self::Experts => "experts",
            Self::Pipeline => "pipeline",
            Self::HostOut => "to host",
            Self::HostIn => "from host",
        }
    }
}

/// Streams per rank.
pub(crate) const STREAMS: usize = Stream::ALL.len();

/// [`Stream::ALL`] lists the streams in the order of their numbers, and a [`StreamSet`] has room for all.
const _: () = {
    assert!(STREAMS <= u32::BITS as usize);
    let mut index = 0;
    while index < STREAMS {
        assert!(Stream::ALL[index] as usize == index);
        index += 1;
    }
};

/// Streams that are serialised with compute: a launch is over when they are.
pub(crate) const SERIAL: StreamSet =
    StreamSet::EMPTY.with(Stream::Compute).with(Stream::Tensor).with(Stream::Context).with(Stream::Experts);

/// A value for each stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerStream<T>([T; STREAMS]);

impl<T> PerStream<T> {
    /// One value for all streams.
    pub const fn all(value: T) -> Self
    where
        T: Copy,
    {
        Self([value; STREAMS])
    }

    /// Makes the value of each stream.
    pub fn from_fn(make: impl FnMut(Stream) -> T) -> Self {
        Self(Stream::ALL.map(make))
    }

    /// The values in the order of [`Stream::ALL`].
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<Stream> for PerStream<T> {
    type Output = T;
    fn index(&self, stream: Stream) -> &T {
        &self.0[stream as usize]
    }
}

impl<T> IndexMut<Stream> for PerStream<T> {
    fn index_mut(&mut self, stream: Stream) -> &mut T {
        &mut self.0[stream as usize]
    }
}

/// A set of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSet(u32);

impl StreamSet {
    /// No stream.
    pub const EMPTY: Self = Self(0);
    /// Every stream.
    pub const ALL: Self = Self((1 << STREAMS) - 1);

    /// The set and one stream more.
    #[must_use]
    pub const fn with(self, stream: Stream) -> Self {
        Self(self.0 | 1 << stream as u32)
    }

    /// Adds a stream.
    pub const fn insert(&mut self, stream: Stream) {
        self.0 |= 1 << stream as u32;
    }

    /// Takes a stream out.
    pub const fn remove(&mut self, stream: Stream) {
        self.0 &= !(1 << stream as u32);
    }

    /// Whether a stream is in it.
    pub const fn contains(self, stream: Stream) -> bool {
        self.0 & 1 << stream as u32 != 0
    }

    /// Whether none is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The streams of the set, from the first.
    pub fn iter(self) -> impl Iterator<Item = Stream> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            // Of an empty set this is 32, beyond every stream.
            let first = *Stream::ALL.get(rest.trailing_zeros() as usize)?;
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
        Self(!self.0 & Self::ALL.0)
    }
}

/// The streams of gathers and reductions.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveStreams {
    pub gather: Stream,
    pub reduce: Stream,
}

impl CollectiveStreams {
    /// The streams of a stack's overlap: collectives that do not overlap run on the compute stream.
    pub fn new(overlap: Overlap) -> Self {
        // A collective that overlaps nothing is on the compute stream itself: then its order with compute says all, and
        // no wait has to.
        let (gather, reduce) = match overlap {
            Overlap::None => (Stream::Compute, Stream::Compute),
            Overlap::Reductions => (Stream::Compute, Stream::Reduce),
            Overlap::OneStream => (Stream::Gather, Stream::Gather),
            Overlap::Independent => (Stream::Gather, Stream::Reduce),
        };
        Self { gather, reduce }
    }
}
