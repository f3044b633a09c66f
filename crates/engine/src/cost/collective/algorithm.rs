//! The algorithms of collectives, as NCCL calls them, and which of them some transfers take. Not for what they cost.

use crate::stack::Protocol;

/// The algorithm that a collective takes.
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

    /// As reports name it.
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

/// Which algorithms and protocols some transfers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectiveAlgorithms {
    algorithms: u8,
    protocols: u8,
}

impl CollectiveAlgorithms {
    /// With those of one more transfer.
    pub fn add(&mut self, algorithm: CollectiveAlgorithm, protocol: Protocol) {
        self.algorithms |= 1 << algorithm as u8;
        self.protocols |= 1 << protocol as u8;
    }

    /// With those of another.
    pub fn join(&mut self, other: Self) {
        self.algorithms |= other.algorithms;
        self.protocols |= other.protocols;
    }

    /// Their names, the same order always; Simple, which all can take, goes without saying.
    pub fn words(self) -> Vec<&'static str> {
        let algorithm = |algorithm: &CollectiveAlgorithm| self.algorithms & (1 << *algorithm as u8) != 0;
        let protocol = |protocol: &Protocol| self.protocols & (1 << *protocol as u8) != 0;
        let algorithms = CollectiveAlgorithm::ALL.into_iter().filter(algorithm).map(CollectiveAlgorithm::word);
        algorithms.chain([Protocol::Ll128, Protocol::Ll].into_iter().filter(protocol).map(Protocol::word)).collect()
    }
}
