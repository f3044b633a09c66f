//! One pass over one unit: the transfers that bring its weights, the compute, the memory it takes, and the transfers
//! that reduce its gradients. Not for what these cost ([`super::unit_costs`]).

use crate::cost::{Sublayer, Transfer};
use crate::plan::pass::Pass;
use crate::units::{Bytes, Count};

use super::build::LaunchedWork;
use super::label::{ModelPart, TaskKind};
use super::memory::{MemoryKind, PerMemoryKind};
use super::stream::Stream;
use super::task::{TaskEvent, bytes, memory_of};

/// What gradients are the sums of, when backward leaves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gradients {
    /// Some of the step's micro-batches: others follow.
    Partial,
    /// All of them: the optimizer can have them.
    Complete,
}

impl Gradients {
    /// Those that nothing is added to any more, or others.
    pub const fn new(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::Partial }
    }
}

/// One of something for each kind of gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerGradients<T> {
    /// For those of part of the step.
    pub partial: T,
    /// For the whole step's.
    pub complete: T,
}

impl<T> PerGradients<T> {
    /// From what makes it for either.
    pub fn from_fn(mut make: impl FnMut(Gradients) -> T) -> Self {
        Self { partial: make(Gradients::Partial), complete: make(Gradients::Complete) }
    }

    /// The one for either.
    pub const fn get(&self, gradients: Gradients) -> &T {
        match gradients {
            Gradients::Partial => &self.partial,
            Gradients::Complete => &self.complete,
        }
    }

    /// What comes of each.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> PerGradients<U> {
        PerGradients { partial: make(self.partial), complete: make(self.complete) }
    }
}

/// A unit: what is gathered and reduced together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitParameters {
    pub part: ModelPart,
    /// Parameters on one tensor rank that this pass gathers.
    pub gathered: Count,
    /// Parameters whose gradients are complete after this unit's backward.
    pub reduced: Count,
}

/// How a micro-batch goes over a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traversal {
    Pass(Pass),
    /// Forward once more, just before backward.
    Recompute,
}

impl Traversal {
    /// The pass that it is, or is part of.
    pub const fn pass(self) -> Pass {
        match self {
            Self::Pass(pass) => pass,
            Self::Recompute => Pass::Backward,
        }
    }

    /// Whether the unit's gradients are there when it is over.
    pub fn completes_gradients(self) -> bool {
        matches!(self, Self::Pass(pass) if pass.completes_gradients())
    }
}

/// An exchange between tensor or context ranks, priced by [`UnitCosts::exchange`](super::unit_costs::UnitCosts::exchange).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeId {
    /// Keys and values, around the context ranks.
    KeysValues,
    /// Keys and values with their gradients.
    KeysValuesGradients,
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
}

/// A transfer between tensor or context ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exchange {
    pub stream: Stream,
    pub kind: TaskKind,
    /// Raised at its end.
    pub event: TaskEvent,
    pub transfer: Transfer,
}

/// The exchanges around a piece of compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exchanges {
    /// The next piece waits for it, and nothing computes meanwhile.
    pub after: Option<ExchangeId>,
    /// One of the context ranks and one of the tensor ranks run beside the piece.
    pub beside: [Option<ExchangeId>; 2],
}

impl Exchanges {
    pub const NONE: Self = Self { after: None, beside: [None; 2] };

    /// The exchanges of a pass over a sublayer. Gradients of weights need nothing from other ranks: those of inputs take
    /// all of backward's.
    pub fn around(sublayer: Sublayer, pass: Pass) -> Self {
        // Backward passes keys and values around once more, and their gradients with them (arXiv 2310.01889).
        let (keys_values, after, beside) = match pass {
            Pass::Forward => (ExchangeId::KeysValues, ExchangeId::Forward, ExchangeId::ForwardBeside),
            Pass::Backward | Pass::BackwardInputs => {
                (ExchangeId::KeysValuesGradients, ExchangeId::Backward, ExchangeId::BackwardBeside)
            }
            Pass::BackwardWeights => return Self::NONE,
        };
        let keys_values = (sublayer == Sublayer::Attention).then_some(keys_values);
        Self { after: Some(after), beside: [keys_values, Some(beside)] }
    }
}

/// A piece of a pass's compute.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ComputeStep {
    pub piece: LaunchedWork,
    pub exchanges: Exchanges,
}

/// A pass, ready to be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct UnitPass {
    pub part: ModelPart,
    pub pass: Pass,
    /// Bytes from the host: this rank's shard of the weights, and a checkpoint.
    pub from_host: Bytes,
    /// Bytes of that checkpoint.
    pub checkpoint: Bytes,
    /// Gather of the weights, if any.
    pub gather: Option<UnitCollective>,
    /// Bytes of the gathered weights, taken with the gather.
    pub gathered: Bytes,
    /// Bytes that the gather left beside them, held while the pass runs.
    pub gather_left: Bytes,
    /// Bytes of gathered weights that this pass's end frees.
    pub freed: Bytes,
    pub steps: [ComputeStep; 3],
    /// Activations taken while it runs, left behind by forward, and freed by backward.
    pub working: Bytes,
    pub kept: Bytes,
    /// Secondary weights left behind by forward (positive) or freed by backward (negative).
    pub secondary: Bytes,
    /// Gradients of the unit while they are not reduced.
    pub gradients: Bytes,
    /// Checkpoint bytes offloaded after forward.
    pub to_host: Bytes,
    /// How its gradients are reduced.
    pub reduce: PerGradients<GradientReduction>,
    /// Bytes of them that go to the host.
    pub store: PerGradients<Bytes>,
    /// Host-accumulated gradients fetched for the final reduction, bytes.
    pub sums: Bytes,
}

/// A transfer with what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitCollective {
    pub transfer: Transfer,
    pub kind: TaskKind,
    /// Bytes of buffers while it runs.
    pub buffer: Bytes,
}

/// Which sums over ranks a reduction of gradients makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReductionScope {
    /// Into shards over the gradients' extent.
    pub shards: bool,
    /// What is left, up to the optimizer's extent and over its replicas.
    pub replicas: bool,
}

/// How a unit's gradients are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct GradientReduction {
    /// On the stream of reductions.
    pub reduce: Option<UnitCollective>,
    /// After it, on the stream of replicas.
    pub replicas: Option<UnitCollective>,
}

impl GradientReduction {
    /// Both, one after the other.
    pub fn in_turn(self) -> Option<UnitCollective> {
        let (Some(first), Some(second)) = (self.reduce, self.replicas) else { return self.reduce };
        Some(UnitCollective { transfer: first.transfer + second.transfer, ..first })
    }
}

/// Bytes that a pass leaves of what the gradients of weights are computed from, where they are put off: all of it after
/// the pass for inputs, and as much less after that for weights.
pub(super) fn deferred_bytes(pass: Pass, all: impl FnOnce() -> Bytes) -> Bytes {
    match pass {
        Pass::Forward | Pass::Backward => Bytes::ZERO,
        Pass::BackwardInputs => all(),
        Pass::BackwardWeights => -all(),
    }
}

impl UnitPass {
    /// Whether it computes on weights that may have been gathered; copies from the host are waited for apart.
    pub fn fetches_weights(&self) -> bool {
        self.freed > Bytes::ZERO || self.gathered > Bytes::ZERO || self.gather.is_some()
    }

    pub fn allocates(&self) -> PerMemoryKind<i64> {
        let mut allocates = memory_of(MemoryKind::Activations, self.working);
        allocates[MemoryKind::Gathered] = bytes(self.gather_left);
        allocates[MemoryKind::Gradients] = bytes(self.gradients);
        // The second copy is made from the gathered unit: both are there at once.
        allocates[MemoryKind::Secondary] = bytes(self.secondary.max(Bytes::ZERO));
        allocates
    }

    pub fn frees(&self) -> PerMemoryKind<i64> {
        let mut frees = memory_of(MemoryKind::Activations, self.working);
        // What forward keeps is given back less; backward has `kept` negative, and gives back more than it took.
        frees[MemoryKind::Activations] -= bytes(self.kept);
        frees[MemoryKind::Gathered] = bytes(self.gather_left) + bytes(self.freed);
        frees[MemoryKind::Secondary] = bytes((-self.secondary).max(Bytes::ZERO));
        frees
    }
}
