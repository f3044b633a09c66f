//! Totals over tasks: bytes, busy times, algorithms. Not for when tasks run.

use crate::cost::{CollectiveAlgorithms, Transfer, TransferParts};
use crate::hardware::MAX_LEVELS;
use crate::units::{Bytes, Seconds};

use super::stream::Stream;
use super::task::Picos;

/// Totals over the tasks of a step, repeats counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Volume {
    /// Bytes that one device sends into each level.
    pub bytes: [Bytes; MAX_LEVELS],
    /// Bytes that each stream sends into each level, in the order of [`Stream::ALL`].
    pub sent: [[Bytes; MAX_LEVELS]; Stream::ALL.len()],
    /// Algorithms of the collectives on each lane.
    pub algorithms: [CollectiveAlgorithms; Stream::ALL.len()],
    /// Busy time of each level.
    pub busy: [Seconds; MAX_LEVELS],
    /// Parts of the transfers' time between devices, each transfer alone.
    pub parts: TransferParts,
    /// Copies to the host and from it.
    pub host_copies: HostCopies,
    /// Time added to compute because the host launches it too slowly.
    pub host: Picos,
    /// Time of all tasks run one after the other.
    pub serial: Seconds,
    /// Time of those of them that are no transfers.
    pub computing: Picos,
    /// Compute time bound by the memory's bandwidth.
    pub memory_bound: Seconds,
}

impl Volume {
    /// Adds a transfer on a lane of the timeline, `repeat` times over.
    pub(super) fn add_transfer(&mut self, transfer: &Transfer, lane: Stream, repeat: u32) {
        let repeat = f64::from(repeat);
        for level in 0..MAX_LEVELS {
            self.bytes[level] += transfer.bytes[level] * repeat;
            self.sent[lane as usize][level] += transfer.bytes[level] * repeat;
            self.busy[level] += transfer.busy[level] * repeat;
        }
        self.algorithms[lane as usize].add(transfer.algorithm, transfer.protocol);
        if let Some(way) = HostDirection::on(lane) {
            self.host_copies.way_mut(way).add(Copies { bytes: transfer.received, busy: transfer.time }, repeat);
        } else {
            self.parts.add(transfer.parts(), repeat);
        }
    }

    /// Takes all transfers out, and the time of all tasks in a row, of which theirs is a part.
    pub(super) fn clear_transfers(&mut self) {
        let Self { host, computing, memory_bound, .. } = *self;
        *self = Self { host, computing, memory_bound, ..Self::default() };
    }

    /// Adds other totals, `repeats` times over.
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
        self.computing = self.computing.saturating_add(other.computing.saturating_mul(repeats));
        self.memory_bound += other.memory_bound * times;
    }
}

/// A direction of the link to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostDirection {
    /// To the host.
    Out,
    /// From the host.
    In,
}

impl HostDirection {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Out, Self::In];

    /// The stream on which its copies run.
    pub const fn stream(self) -> Stream {
        match self {
            Self::Out => Stream::HostOut,
            Self::In => Stream::HostIn,
        }
    }

    /// The direction of a stream's copies; `None` for streams that do not copy to or from the host.
    pub const fn on(stream: Stream) -> Option<Self> {
        match stream {
            Stream::HostOut => Some(Self::Out),
            Stream::HostIn => Some(Self::In),
            _ => None,
        }
    }
}

/// One device's copies in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Copies {
    /// Bytes copied.
    pub bytes: Bytes,
    /// Busy time of that direction, each copy alone.
    pub busy: Seconds,
}

impl Copies {
    /// Adds other copies, `times` over.
    pub(super) fn add(&mut self, other: Self, times: f64) {
        self.bytes += other.bytes * times;
        self.busy += other.busy * times;
    }
}

/// One device's copies in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostCopies {
    /// To the host.
    pub to: Copies,
    /// From the host.
    pub from: Copies,
}

impl HostCopies {
    /// Mutable access to one direction.
    pub(super) const fn way_mut(&mut self, way: HostDirection) -> &mut Copies {
        match way {
            HostDirection::Out => &mut self.to,
            HostDirection::In => &mut self.from,
        }
    }
}
