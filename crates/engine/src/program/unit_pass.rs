//! One pass over one unit: the gather of its weights, compute with its exchanges, memory, and the reduction of its
//! gradients. Not for the costs ([`super::unit_costs`]).

use crate::cost::{Parameters, Piece, Rates, Transfer};
use crate::model::{LayerKind, Mixer};
use crate::plan::pass::{Direction, Pass};
use crate::units::{Bytes, Count, Seconds, Share};

use super::build::LaunchedWork;
use super::label::{ModelPart, Phase, TaskKind};
use super::memory::{MemoryKind, PerMemoryKind};
use super::network_transfer::{ExchangeId, TransferSource};
use super::stream::Stream;
use super::task::{TaskEvent, bytes, memory_of};

/// Whether gradients are sums over some micro-batches of a step or over all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gradients {
    /// Sums over some micro-batches: others follow.
    Partial,
    /// Sums over all micro-batches: the optimizer can use them.
    Complete,
}

impl Gradients {
    /// `Complete` if no micro-batch is left to add.
    pub const fn new(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::Partial }
    }
}

/// A value for each kind of gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PerGradients<T> {
    /// The value for partial gradients.
    pub partial: T,
    /// The value for complete gradients.
    pub complete: T,
}

impl<T> PerGradients<T> {
    /// Makes the value of each kind.
    pub fn from_fn(mut make: impl FnMut(Gradients) -> T) -> Self {
        Self { partial: make(Gradients::Partial), complete: make(Gradients::Complete) }
    }

    /// The value of a kind.
    pub const fn get(&self, gradients: Gradients) -> &T {
        match gradients {
            Gradients::Partial => &self.partial,
            Gradients::Complete => &self.complete,
        }
    }

    /// Applies a function to each value.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> PerGradients<U> {
        PerGradients { partial: make(self.partial), complete: make(self.complete) }
    }
}

/// A unit: parameters that are gathered and reduced together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitParameters {
    pub part: ModelPart,
    /// Weights on one tensor rank that this pass gathers, in elements of the storage format.
    pub gathered: Count,
    /// Parameters whose gradients are complete after this unit's backward.
    pub reduced: Parameters,
}

/// A micro-batch's way over a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traversal {
    Pass(Pass),
    /// Forward once more, just before backward.
    Recompute,
}

impl Traversal {
    /// The pass that contains it.
    pub const fn pass(self) -> Pass {
        match self {
            Self::Pass(pass) => pass,
            Self::Recompute => Pass::Backward,
        }
    }

    /// Whether it completes the unit's gradients.
    pub(crate) fn completes_gradients(self) -> bool {
        matches!(self, Self::Pass(pass) if pass.completes_gradients())
    }
}

/// A transfer between the ranks that share a layer's work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exchange {
    pub source: TransferSource,
    pub stream: Stream,
    pub kind: TaskKind,
    /// Raised at its end.
    pub event: TaskEvent,
    pub transfer: Transfer,
    /// The share of the device that it takes from compute while it runs.
    pub contention: Share,
}

/// The exchanges around a piece of compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exchanges {
    /// The piece waits for it, and nothing computes meanwhile.
    pub before: Option<ExchangeId>,
    /// The next piece waits for it, and nothing computes meanwhile.
    pub after: Option<ExchangeId>,
    /// One of the context ranks, one of the tensor ranks and one of the experts' ranks run beside the piece.
    pub beside: [Option<ExchangeId>; 3],
}

impl Exchanges {
    pub const NONE: Self = Self { before: None, after: None, beside: [None; 3] };

    /// The exchanges around a pass over a mixer or an MLP. Gradients of weights need nothing from other ranks: the pass for
    /// inputs has all exchanges of backward. A piece that the layer lacks has none.
    pub fn around(kind: LayerKind, piece: Piece, pass: Pass) -> Self {
        let (there, mixer) = match piece {
            Piece::Mixer => (kind.has_mixer(), kind.mixer),
            _ => (kind.has_mlp(), Mixer::None),
        };
        if !there {
            return Self::NONE;
        }
        let (after, beside) = match pass {
            Pass::Forward => (ExchangeId::Forward, ExchangeId::ForwardBeside),
            Pass::Backward | Pass::BackwardInputs => (ExchangeId::Backward, ExchangeId::BackwardBeside),
            Pass::BackwardWeights => return Self::NONE,
        };
        let [before, keys_values] = Self::of_context(mixer, pass.into());
        Self { before, after: Some(after), beside: [keys_values, Some(beside), None] }
    }

    /// The exchanges of context ranks: around a mixer, and beside it.
    pub fn of_context(mixer: Mixer, direction: Direction) -> [Option<ExchangeId>; 2] {
        let of = |exchange: ExchangeId| (mixer != Mixer::None).then_some(exchange);
        [of(ExchangeId::ContextAround(mixer, direction)), of(ExchangeId::ContextBeside(mixer, direction))]
    }

    /// The exchanges around forward of a whole layer in one piece.
    pub fn around_layer(kind: LayerKind) -> Self {
        let [attention, mlp] = [Piece::Mixer, Piece::Mlp].map(|half| Self::around(kind, half, Pass::Forward));
        match kind.halves() {
            2 => Self {
                before: attention.before,
                after: Some(ExchangeId::LayerForward),
                beside: [attention.beside[0], Some(ExchangeId::LayerForwardBeside), None],
            },
            _ if kind.has_mixer() => attention,
            _ => mlp,
        }
    }

    /// The exchanges around the experts of a layer: tokens come in before them and go out behind; or, where both are hidden
    /// behind other micro-batches, one of the two beside them.
    pub fn around_experts(pass: Pass, hidden: bool) -> Self {
        let combine = ExchangeId::Combine(pass.into());
        match pass {
            Pass::BackwardWeights => Self::NONE,
            _ if hidden => Self::NONE.with_experts_beside(combine),
            // Tokens came in behind the router.
            Pass::Forward => Self { after: Some(combine), ..Self::NONE },
            Pass::Backward | Pass::BackwardInputs => {
                let dispatch = ExchangeId::Dispatch(Direction::Backward);
                Self { before: Some(combine), after: Some(dispatch), ..Self::NONE }
            }
        }
    }

    /// Adds an exchange of tokens beside the piece.
    #[must_use]
    pub fn with_experts_beside(self, exchange: ExchangeId) -> Self {
        let [context, tensor, _] = self.beside;
        Self { beside: [context, tensor, Some(exchange)], ..self }
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
    /// Whether nothing of it comes back: forward of a model beside the trained one.
    pub alone: bool,
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
    /// Gradients of the unit that stay until the update.
    pub left_gradients: Bytes,
    /// Checkpoint bytes offloaded after forward.
    pub to_host: Bytes,
    /// Reductions of its gradients.
    pub reduce: PerGradients<GradientReduction>,
    /// Bytes of gradients that go to the host.
    pub store: PerGradients<Bytes>,
    /// Bytes of complete gradients that go to an optimizer on the host.
    pub early: Bytes,
    /// Host-accumulated gradients fetched for the final reduction, bytes.
    pub sums: Bytes,
}

/// A collective of a unit: what it is, its transfer, kind and buffers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitCollective {
    pub source: TransferSource,
    pub transfer: Transfer,
    pub kind: TaskKind,
    /// Bytes of buffers while it runs.
    pub buffer: Bytes,
}

/// The reduction of a unit's gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct GradientReduction {
    /// The collective on the stream of reductions.
    pub reduce: Option<UnitCollective>,
    /// The collective after it, on the stream of replicas.
    pub replicas: Option<UnitCollective>,
}

impl GradientReduction {
    /// Both reductions as one, in sequence.
    pub(crate) fn in_turn(self) -> Option<UnitCollective> {
        let (Some(first), Some(second)) = (self.reduce, self.replicas) else { return self.reduce };
        Some(UnitCollective { transfer: first.transfer + second.transfer, ..first })
    }
}

/// Bytes that a pass keeps for the gradients of weights, where they are put off: the pass for inputs keeps all, the
/// pass for weights gives all back.
pub(super) fn deferred_bytes(pass: Pass, all: impl FnOnce() -> Bytes) -> Bytes {
    match pass {
        Pass::Forward | Pass::Backward => Bytes::ZERO,
        Pass::BackwardInputs => all(),
        Pass::BackwardWeights => -all(),
    }
}

impl UnitPass {
    /// Time of its copies from the host.
    pub(crate) fn fetch_time(&self, rates: &Rates<'_>) -> Seconds {
        rates.weights_copy(self.from_host - self.checkpoint) + rates.host_copy(self.checkpoint)
    }

    /// The phase of the step that needs it.
    pub(crate) fn phase(&self) -> Phase {
        if self.alone { Phase::Beside } else { Phase::from(self.pass) }
    }

    /// What its compute is on a timeline.
    pub(crate) fn kind(&self) -> TaskKind {
        if self.alone { TaskKind::ForwardAlone } else { TaskKind::from(self.pass) }
    }

    /// Whether it computes on weights that may have been gathered. Waits for copies from the host are apart.
    pub(crate) fn fetches_weights(&self) -> bool {
        self.freed > Bytes::ZERO || self.gathered > Bytes::ZERO || self.gather.is_some()
    }

    pub(crate) fn allocates(&self) -> PerMemoryKind<i64> {
        let mut allocates = memory_of(MemoryKind::Activations, self.working);
        allocates[MemoryKind::Gathered] = bytes(self.gather_left);
        allocates[MemoryKind::Gradients] = bytes(self.gradients) + bytes(self.left_gradients);
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
