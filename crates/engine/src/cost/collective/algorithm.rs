//! The algorithms of collectives, as NCCL calls them, and sets of them. Not for their costs.

use crate::stack::Protocol;

/// The algorithm of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CollectiveAlgorithm {
    /// From one device to another.
    #[default]
    Direct,
    /// One flat ring over all ranks.
    Ring,
    /// A ring inside a node whose switches compute its sums (NVLS).
    NodeSwitches,
    /// A pair of trees.
    Tree,
    /// Parallel aggregated trees.
    Pat,
    /// Sums computed by the network's switches (SHARP).
    Sharp,
    /// Level by level.
    Hierarchical,
    /// Each rank to each other.
    Pairwise,
}

impl CollectiveAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 8] = [
        Self::Direct,
        Self::Ring,
        Self::NodeSwitches,
        Self::Tree,
        Self::Pat,
        Self::Sharp,
        Self::Hierarchical,
        Self::Pairwise,
    ];

    /// Its name in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Ring => "ring",
            Self::NodeSwitches => "NVLS",
            Self::Tree => "double tree",
            Self::Pat => "PAT",
            Self::Sharp => "SHARP",
            Self::Hierarchical => "level by level",
            Self::Pairwise => "pairwise",
        }
    }
}

/// The algorithms and protocols of some transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectiveAlgorithms {
    algorithms: u8,
    protocols: u8,
}

impl CollectiveAlgorithms {
    /// Adds a transfer's algorithm and protocol.
    pub fn add(&mut self, algorithm: CollectiveAlgorithm, protocol: Protocol) {
        self.algorithms |= 1 << algorithm as u8;
        self.protocols |= 1 << protocol as u8;
    }

    /// Adds another set.
    pub fn join(&mut self, other: Self) {
        self.algorithms |= other.algorithms;
        self.protocols |= other.protocols;
    }

    /// Names in a fixed order; Simple, which all can take, goes without saying.
    pub fn words(self) -> Vec<&'static str> {
        let algorithm = |algorithm: &CollectiveAlgorithm| self.algorithms & (1 << *algorithm as u8) != 0;
        let protocol = |protocol: &Protocol| self.protocols & (1 << *protocol as u8) != 0;
        let algorithms = CollectiveAlgorithm::ALL.into_iter().filter(algorithm).map(CollectiveAlgorithm::word);
        algorithms.chain([Protocol::Ll128, Protocol::Ll].into_iter().filter(protocol).map(Protocol::word)).collect()
    }
}
