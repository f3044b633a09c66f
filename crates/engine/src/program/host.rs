//! Copies between the device's memory and the host's.

use crate::units::{Bytes, Seconds};

use super::stream::Stream;

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
