//! What tasks move and need, in sum. Not for when.

use crate::cost::{CollectiveAlgorithms, TransferParts};
use crate::hardware::MAX_LEVELS;
use crate::units::{Bytes, Seconds};

use super::stream::Stream;
use super::task::Picos;

/// What the tasks of a step move and need, repeats counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Volume {
    /// What one device sends into each level.
    pub bytes: [Bytes; MAX_LEVELS],
    /// The same by the line of the timeline that sends them, in the order of [`Stream::ALL`].
    pub sent: [[Bytes; MAX_LEVELS]; Stream::ALL.len()],
    /// The algorithms of the collectives that do, by the same line.
    pub algorithms: [CollectiveAlgorithms; Stream::ALL.len()],
    /// How long each level would be busy.
    pub busy: [Seconds; MAX_LEVELS],
    /// Where the time of the transfers between devices goes, each alone.
    pub parts: TransferParts,
    /// What is copied to the host and from it.
    pub host_copies: HostCopies,
    /// Time added to compute because the host launches it too slowly.
    pub host: Picos,
    /// What all tasks would take one after the other.
    pub serial: Seconds,
    /// Compute that the memory's bandwidth sets.
    pub memory_bound: Seconds,
}

impl Volume {
    /// Adds another, so many times over.
    pub(super) fn add(&mut self, other: &Self, repeats: u64) {
        let times = repeats as f64;
        for level in 0..MAX_LEVELS {
            self.bytes[level] += other.bytes[level] * times;
            self.busy[level] += other.busy[level] * times;
        }
        self.parts.add(other.parts, times);
        for (sent, other) in self.sent.as_flattened_mut().iter_mut().zip(other.sent.as_flattened()) {
            *sent += *other * times;
        }
        for (forms, other) in self.algorithms.iter_mut().zip(other.algorithms) {
            forms.join(other);
        }
        self.host_copies.to.add(other.host_copies.to, times);
        self.host_copies.from.add(other.host_copies.from, times);
        self.host = self.host.saturating_add(other.host.saturating_mul(repeats));
        self.serial += other.serial * times;
        self.memory_bound += other.memory_bound * times;
    }
}

/// A way of the link to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostDirection {
    /// To the host.
    Out,
    /// From the host.
    In,
}

impl HostDirection {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Out, Self::In];

    /// The stream on which its copies run.
    pub const fn stream(self) -> Stream {
        match self {
            Self::Out => Stream::HostOut,
            Self::In => Stream::HostIn,
        }
    }

    /// The way of what runs on a stream, if that copies to or from the host.
    pub const fn on(stream: Stream) -> Option<Self> {
        match stream {
            Stream::HostOut => Some(Self::Out),
            Stream::HostIn => Some(Self::In),
            _ => None,
        }
    }
}

/// What one device copies one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Copies {
    /// Bytes.
    pub bytes: Bytes,
    /// Time during which that way would be busy if each copy ran alone.
    pub busy: Seconds,
}

impl Copies {
    /// Adds others, so many times over.
    pub(super) fn add(&mut self, other: Self, times: f64) {
        self.bytes += other.bytes * times;
        self.busy += other.busy * times;
    }
}

/// What one device copies each way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostCopies {
    /// To the host.
    pub to: Copies,
    /// From the host.
    pub from: Copies,
}

impl HostCopies {
    /// One way, to add to it.
    pub(super) const fn way_mut(&mut self, way: HostDirection) -> &mut Copies {
        match way {
            HostDirection::Out => &mut self.to,
            HostDirection::In => &mut self.from,
        }
    }
}
