//! Transfers between devices by what they follow from, by which they are asked for once more where the network is another one
//! ([`super::retime`]). Not for what they cost ([`super::unit_costs`]).

use crate::cost::Transfer;
use crate::model::Mixer;
use crate::plan::pass::{Direction, Pass};
use crate::units::{Count, Share};

use super::stream::Stream;

/// A transfer between devices, as [`UnitCosts`](super::unit_costs::UnitCosts) costs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NetworkTransfer {
    /// `UnitCosts::exchange`.
    Exchange(ExchangeId),
    /// `UnitCosts::gather`.
    Gather { elements: Count, parts: Count, pass: Pass },
    /// One of `UnitCosts::reduction`.
    Reduction { elements: Count, scope: ReductionScope, parts: Count, part: ReductionPart },
    /// `UnitCosts::whole_matrices`.
    WholeMatrices(Count),
    /// A gather of updated weights, by its place among `boundary::weight_gathers`.
    UpdatedWeights { trained: Count, place: usize },
    /// `UnitCosts::tied_gradient_sum`.
    TiedGradients,
    /// `UnitCosts::send`.
    Send { level: usize },
}

/// The source of a transfer between devices, from which it is costed anew: the index of its layout of operators, and what it
/// transfers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TransferSource {
    pub layout: usize,
    pub of: NetworkTransfer,
}

/// A part of a reduction of gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReductionPart {
    /// The collective on the stream of reductions: into shards, or of everything.
    Reduce,
    /// The collective that follows on the stream of replicas.
    Replicas,
    /// Both, one after the other.
    InTurn,
}

/// A transfer of a graph, and all that its task and the graph's totals take from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphTransfer {
    /// `None` for what crosses no network.
    pub source: Option<TransferSource>,
    pub transfer: Transfer,
    /// The share of the device that it takes.
    pub contention: Share,
    pub lane: Stream,
    /// The graph, by index, and how often it runs there.
    pub graph: usize,
    pub repeat: u32,
}

/// An exchange between tensor ranks, context ranks or the ranks of experts, as
/// [`UnitCosts::exchange`](super::unit_costs::UnitCosts::exchange) costs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeId {
    /// Before a mixer and behind it, between context ranks: heads, from ranks that have all of them for their part of the sequence
    /// to ranks that have some for all of it, and back; or keys and values, gathered.
    ContextAround(Mixer, Direction),
    /// Beside a mixer, between context ranks: keys and values, and in backward their gradients with them.
    ContextBeside(Mixer, Direction),
    /// After forward of a sublayer.
    Forward,
    /// Beside forward of a sublayer.
    ForwardBeside,
    /// After forward of both sublayers in one piece.
    LayerForward,
    /// Beside forward of both sublayers in one piece.
    LayerForwardBeside,
    /// After backward of a sublayer.
    Backward,
    /// Beside backward of a sublayer.
    BackwardBeside,
    /// After a pass over the embedding.
    Embedding(Pass),
    /// After a pass over the head.
    Head(Pass),
    /// Beside backward of the head.
    HeadBeside,
    /// Tokens to their experts; in backward the gradients of experts' inputs back.
    Dispatch(Direction),
    /// Experts' outputs back to their tokens; in backward the gradients of outputs to the experts.
    Combine(Direction),
}

/// The sums over ranks that a reduction of gradients makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReductionScope {
    /// A sum into shards over the gradients' extent.
    pub shards: bool,
    /// The remaining sums: up to the optimizer's extent, and over its replicas.
    pub replicas: bool,
}
