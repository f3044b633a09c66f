//! How context ranks share attention. Not for how many they are ([`super::Plan`]), nor for what they send
//! ([`crate::cost`]).

use super::choice::choice;

choice!(
    /// What context ranks send one another, so that each query meets the keys of its whole sequence.
    ContextKind, "a kind of context parallelism" {
        /// As the stack does it.
        Stack = "stack",
        /// Keys and values pass around a ring, beside attention to those that have come (arXiv 2310.01889). Each rank has a
        /// piece of the sequence in one, so that under a causal mask the last one has most work.
        Ring = "ring",
        /// The same, where each rank has an early and a late piece, which makes the work even (`zhuzilin/ring-flash-attention`;
        /// `p2p` of TransformerEngine's `cp_comm_type`).
        Zigzag = "zigzag",
        /// Keys and values are gathered before attention, and their gradients reduced behind it (Llama 3, arXiv 2407.21783,
        /// section 3.3.2; `all_gather` of `cp_comm_type`).
        AllGather = "all-gather",
        /// Queries, keys and values go to ranks that have some of the heads for the whole sequence, and outputs come back
        /// (DeepSpeed-Ulysses, arXiv 2309.14509; `a2a` of `cp_comm_type`).
        Ulysses = "ulysses",
        /// Heads are exchanged in groups of ranks, and keys and values pass around a balanced ring of such groups (arXiv
        /// 2405.07719; `a2a+p2p` of `cp_comm_type`).
        Usp = "usp",
    }
);

/// The context ranks of a job, by what they share: `heads x others` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextMesh {
    /// Ranks that exchange heads; neighbours.
    pub heads: u32,
    /// Ranks that each have some of the queries in attention, and meet all keys.
    pub others: u32,
    /// Whether keys are gathered before attention, and do not pass around beside it.
    pub gathers: bool,
    /// Whether all ranks have the same work under a causal mask.
    pub balanced: bool,
}

impl ContextMesh {
    /// The mesh of so many ranks, of which a plan of both kinds lets `heads` exchange heads. `Stack` stands for no kind of
    /// its own, and passes keys around.
    pub const fn new(kind: ContextKind, ranks: u32, heads: u32) -> Self {
        let heads = match kind {
            ContextKind::Ulysses => ranks,
            ContextKind::Usp => heads,
            ContextKind::Stack | ContextKind::Ring | ContextKind::Zigzag | ContextKind::AllGather => 1,
        };
        Self {
            heads,
            others: ranks / heads,
            gathers: matches!(kind, ContextKind::AllGather),
            balanced: !matches!(kind, ContextKind::Ring),
        }
    }
}
