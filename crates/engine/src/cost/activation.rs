//! Bytes of activations: what forward keeps for backward, what backward works in.

use derive_more::Add;

use crate::model::{LayerKind, LayerPart, MatrixRole};
use crate::plan::{Extent, Format, HostModule};
use crate::scenario::{Differentiated, Layout};
use crate::units::Bytes;

use super::operator::KeptBytes;
use super::piece::{PerPiece, Piece};
use super::rates::Rates;

/// Activation bytes of a layer, on one rank, for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Activations {
    /// Bytes that the layer keeps for backward where backward computes it again from its input.
    pub checkpoint: Bytes,
    /// Bytes that it keeps otherwise.
    pub layer: Bytes,
    /// Of those the bytes that the host keeps, where it keeps inputs of modules.
    pub on_host: Bytes,
    /// Bytes that its backward reads, kept since forward or computed again.
    pub whole: Bytes,
    /// Working memory of its backward: gradients of the widest intermediates.
    pub working: Bytes,
    /// Each piece of the layer alone.
    pub pieces: PerPiece<PieceActivations>,
}

/// Activation bytes of a piece of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add)]
pub struct PieceActivations {
    /// Kept by a piece that is not computed again from the layer's input.
    pub kept: Bytes,
    /// Of that what the host keeps, where it keeps inputs of modules.
    pub on_host: Bytes,
    /// Everything that its backward reads.
    pub whole: Bytes,
    /// Working memory of its backward.
    pub working: Bytes,
}

impl Activations {
    /// Activations of a layer of which autograd records nothing: forward frees them all.
    fn unrecorded(self) -> Self {
        let whole = |own: PieceActivations| PieceActivations { whole: own.whole, ..PieceActivations::default() };
        Self { whole: self.whole, pieces: self.pieces.map(whole), ..Self::default() }
    }
}

impl Rates<'_> {
    /// Activations of a layer of a kind; what backward does not reach keeps none.
    pub fn activations(&self, kind: LayerKind) -> Activations {
        let own = self.recorded(kind);
        if self.scenario.differentiated(kind) == Differentiated::Nothing { own.unrecorded() } else { own }
    }

    /// Activations of a layer of a kind that autograd records, operator by operator: in units of the storage format, per
    /// token, norm inputs `2 h`, attention input `h`, query, key and value, attention output, MLP input `h`,
    /// MLP intermediates (`2 f`, with a gate `3 f`, or `4 f` where its activation is kept), with dropout one
    /// byte each for two masks of width `h` ([fsdp A2]: 34 h bytes for `f = 4 h`, 16 h elements and
    /// 2 h mask bytes), and for plain attention the scores: two elements and a mask byte each, the
    /// `5 a s` of Korthikanti et al. (arXiv 2205.05198, eq. 1). Tensor parallelism divides it; norm and matrix
    /// inputs and the masks only with sequence parallelism (ibid., eq. 2 and 4). Selective recompute drops its
    /// shares of the scores, of norm outputs and the MLP's product, of the matrix products' outputs, and of tokens that
    /// experts received. A frozen matrix without an adapter needs its input for nothing; an adapter keeps it, or a cast of its
    /// own, and the `r` channels between its matrices. Norms in fp32 keep 4 bytes of their input, and 2 of what a trained
    /// weight multiplies; repeated keys and values have the width of the queries. Another mixer keeps what its kernels hand to
    /// backward (`Recurrence::kept`) in place of attention's output, and an indexer what it scores with beside it. Inputs that
    /// linear layers keep cast have the bytes of their format; attention keeps its output in the storage format beside.
    fn recorded(&self, kind: LayerKind) -> Activations {
        let mut pieces = PerPiece::<PieceActivations>::default();
        let modules = self.scenario.plan.host_modules();
        let on_host = |of: Option<HostModule>| if of.is_some_and(|module| modules.has(module)) { 1.0 } else { 0.0 };
        self.operators(kind, |one| {
            let KeptBytes { always, unless_repeated, working, inputs_of } = one.keeps;
            let piece = &mut pieces[self.piece_of(kind, one.part)];
            let unrepeated = unless_repeated * (1.0 - one.repeated.get());
            piece.kept += always + unrepeated;
            piece.on_host += always * on_host(inputs_of.always) + unrepeated * on_host(inputs_of.unless_repeated);
            piece.whole += always + unless_repeated;
            piece.working += working;
        });
        // The widest are the MLP's, unless another mixer than attention computes its states again.
        let mixes = self.scenario.model.recurrence(kind).is_some() || !kind.has_mlp();
        let mixing = if mixes { pieces[Piece::Mixer].working } else { Bytes::ZERO };
        let widest = |most: Bytes, piece: Piece| most.max(pieces[piece].working);
        Activations {
            pieces,
            checkpoint: self.stream(),
            layer: pieces.map(|piece| piece.kept).sum(),
            on_host: pieces.map(|piece| piece.on_host).sum(),
            whole: pieces.map(|piece| piece.whole).sum(),
            working: [Piece::Mlp, Piece::Router, Piece::Experts].into_iter().fold(mixing, widest),
        }
    }

    /// Bytes from which the gradients of weights are computed, by piece: the inputs of their matrices,
    /// and the gradients of the outputs. 16 h elements per token for `f = 4 h`, the `32 s b h` bytes of a pass for
    /// weights (Qi et al., arXiv 2401.10241, table 1). The first matrices read the residual stream, and the last ones add to
    /// it; what is between them lies on the tensor ranks.
    pub(crate) fn weight_gradient_inputs(&self, kind: LayerKind) -> PerPiece<Bytes> {
        let mut pieces = PerPiece::<Bytes>::default();
        if kind.frozen {
            return pieces;
        }
        for one in self.scenario.model.matrices(kind) {
            let between = match one.role {
                MatrixRole::Last if one.narrows() => 0,
                MatrixRole::Last => one.matrix.input,
                MatrixRole::First | MatrixRole::Expansion => one.matrix.output,
            };
            let divided = (one.active * between) as f64 / f64::from(self.scenario.plan.tensor);
            pieces[self.piece_of(kind, one.part)] +=
                self.tokens() * divided * self.storage() * self.load(one.part).get();
        }
        let copies = self.dispatched(kind) * f64::from(self.scenario.model.routed_hidden()) * self.storage();
        for (part, has, each) in [
            (LayerPart::Mixer, kind.has_mixer(), self.stream()),
            (LayerPart::Plain, kind.has_mlp(), self.stream()),
            (LayerPart::Routed, kind.has_experts(), copies),
        ] {
            pieces[self.piece_of(kind, part)] += if has { each * 2.0 * self.load(part).get() } else { Bytes::ZERO };
        }
        pieces
    }

    /// Bytes of the embedding's output that stay for backward: none where this does not reach the first layer.
    pub fn embedded(&self) -> Bytes {
        let first = self.scenario.differentiated(self.scenario.model.kind(0));
        if first == Differentiated::Nothing { Bytes::ZERO } else { self.stream() }
    }

    /// Bytes of the residual stream on a rank: what the embedding puts out, and every layer.
    pub fn stream(&self) -> Bytes {
        self.tokens() * f64::from(self.scenario.model.hidden) * self.storage() / f64::from(self.sequence_ranks())
    }

    /// Bytes of a gradient while it is kept.
    pub fn gradient(&self) -> Bytes {
        Bytes::new(self.scenario.gradient_format().bytes())
    }

    /// Bytes of a gradient of a whole unit that is to be reduced into shards, once it has been added up over
    /// micro-batches; that of a single one is reduced as backward leaves it.
    pub(crate) fn unreduced_gradient(&self) -> Bytes {
        let added_up = self.scenario.plan.accumulate > 1;
        if added_up { Bytes::new(self.scenario.unreduced_format().bytes()) } else { self.gradient() }
    }

    /// Bytes per parameter of the gradients that a rank keeps: with their copies where it keeps them whole.
    pub(crate) fn gradient_bytes(&self, whole: bool, layout: &Layout) -> Bytes {
        let (stack, plan) = (&self.scenario.stack, &self.scenario.plan);
        // Experts whose mesh leaves nothing to shard over are units of FSDP all the same, which has no such buffers.
        let in_units = layout.sees_experts && plan.sharding.optimizer != Extent::Device;
        let replicated = layout.optimizer == 1 && layout.data * layout.context > 1 && !in_units;
        if let Some(each) = stack.replicated_gradient.filter(|_| replicated) {
            // Stated of gradients in fp32, whose buffers are as large.
            return Bytes::new(each * plan.gradients.map_or(1.0, |own| own.format().bytes() / 4.0));
        }
        let copies = match plan.precision.storage() {
            Format::Bf16 => stack.gradient_copies.bf16,
            Format::Fp16 => stack.gradient_copies.fp16,
            _ => 0.0,
        };
        let kept = if whole && layout.gradients > 1 { self.unreduced_gradient() } else { self.gradient() };
        kept + Bytes::new(if whole { copies } else { 0.0 })
    }
}
