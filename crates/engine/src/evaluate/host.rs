//! The traffic between device and host memory in a step: bytes, busy and exposed time of each direction.

use crate::program::{Copies, HostCopies, HostDirection, Volume};
use crate::units::{Bytes, Seconds};

/// What crosses the link to the host's memory in a step; each way has the link's bandwidth for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostTraffic {
    /// What goes there, of the rank that ends last.
    pub to: Copies,
    /// What comes from there.
    pub from: Copies,
    /// Time during which compute stalls for a copy.
    pub exposed: Seconds,
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
        let HostCopies { to, from } = volume.host_copies;
        Self { to, from, exposed }
    }
}
