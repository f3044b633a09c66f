//! The traffic between device and host memory in a step: bytes, busy and exposed time of each direction.

use crate::program::{Stream, Volume};
use crate::units::{Bytes, Seconds};

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

    /// The line of the timeline that its copies run on.
    pub const fn lane(self) -> Stream {
        match self {
            Self::Out => Stream::HostOut,
            Self::In => Stream::HostIn,
        }
    }
}

/// What crosses the link to the host's memory in a step; each way has the link's bandwidth for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostTraffic {
    /// What goes there.
    pub to: Copies,
    /// What comes from there.
    pub from: Copies,
    /// Time during which compute stalls for a copy.
    pub exposed: Seconds,
}

/// What one device copies one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Copies {
    /// Bytes, of the rank that ends last.
    pub bytes: Bytes,
    /// Time during which that way would be busy if each copy ran alone.
    pub busy: Seconds,
}

impl HostTraffic {
    /// One way.
    pub const fn way(&self, way: HostDirection) -> Copies {
        match way {
            HostDirection::Out => self.to,
            HostDirection::In => self.from,
        }
    }

    /// Whether anything crosses it.
    pub fn any(&self) -> bool {
        HostDirection::ALL.iter().any(|way| self.way(*way).bytes > Bytes::ZERO)
    }

    /// What one rank copies; `exposed` is how long its compute stalls for that.
    pub(super) fn new(volume: &Volume, exposed: Seconds) -> Self {
        let way = |way: usize| Copies { bytes: volume.copied[way], busy: volume.copying[way] };
        Self { to: way(0), from: way(1), exposed }
    }
}
