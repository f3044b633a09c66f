//! The best points of the FSDP limits' grid search for each size of a job, its own among them.
//!
//! Not for the search of one size ([`crate::bounds::fsdp::grid`]).

use crate::bounds::fsdp::FsdpLimits;
use crate::bounds::fsdp::grid::{self, BestPoints, GridPoint};
use crate::plan::Size;
use crate::scenario::Scenario;

use super::Cancel;

/// The figure in which a point is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// Model flop utilisation.
    Mfu,
    /// Tokens per second and device.
    Throughput,
    /// The length of a sequence.
    Sequence,
}

impl Best {
    /// All of them, in the order of the rows of a size.
    pub const ALL: [Self; 3] = [Self::Mfu, Self::Throughput, Self::Sequence];

    /// Its heading in a table of points.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Mfu => "best MFU",
            Self::Throughput => "most tokens/s",
            Self::Sequence => "longest sequence",
        }
    }

    const fn among(self, found: &BestPoints) -> GridPoint {
        match self {
            Self::Mfu => found.mfu,
            Self::Throughput => found.throughput,
            Self::Sequence => found.sequence,
        }
    }
}

/// The best point of a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridRow {
    /// Nodes, the last one perhaps only in part.
    pub nodes: u32,
    /// Devices of them.
    pub devices: u32,
    /// The figure in which it is the best.
    pub best: Best,
    /// The point; `None` where not one sequence fits.
    pub point: Option<GridPoint>,
}

/// How much further than the scenario's nodes the sizes go.
const FURTHER: u32 = 4;

/// A search over the limits of a scenario, with kernels at a share of the peak.
#[derive(Debug, Clone, PartialEq)]
pub struct GridSearch {
    /// The limits of the scenario.
    pub limits: FsdpLimits,
    /// The scenario, of whose nodes the sizes are multiples.
    pub scenario: Scenario,
    /// The share of the peak that kernels reach when nothing waits for the network.
    pub efficiency: f64,
}

impl GridSearch {
    /// The best points of each size: powers of two, and the scenario's own; as many as were found, if it was
    /// cancelled.
    pub fn run(&self, cancel: &Cancel) -> Vec<GridRow> {
        let per_node = self.scenario.cluster.devices_per_node().max(1);
        let own = self.scenario.devices().div_ceil(per_node);
        let most = self.scenario.cluster.nodes.unwrap_or(u32::MAX).min(own.saturating_mul(FURTHER));
        let mut sizes: Vec<u32> = (0..31).map(|power| 1 << power).take_while(|nodes| *nodes <= most).collect();
        sizes.push(own);
        sizes.sort_unstable();
        sizes.dedup();
        let found = |nodes: u32| {
            let devices = if nodes == own { self.scenario.devices() } else { nodes.saturating_mul(per_node) };
            let mut sized = self.scenario.clone();
            sized.plan.size = Size::Devices(devices);
            // A smaller job may stay within a faster level.
            let limits = FsdpLimits { devices, link: FsdpLimits::new(&sized).link, ..self.limits };
            let found = grid::search(&limits, self.efficiency);
            let point = |best: Best| found.as_ref().map(|found| best.among(found));
            Best::ALL.map(|best| GridRow { nodes, devices, best, point: point(best) })
        };
        sizes.into_iter().take_while(|_| !cancel.is_cancelled()).flat_map(found).collect()
    }
}
