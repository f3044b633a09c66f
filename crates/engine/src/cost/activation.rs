//! Bytes of activations: what forward keeps for backward, what backward works in.

use std::ops::Add;

use crate::model::{LatentAttention, LayerKind, LayerPart};
use crate::plan::{Extent, Format, Recompute};
use crate::scenario::{Differentiated, Layout, Scenario};
use crate::units::{Bytes, Count};

use super::adapters::KeptInputs;
use super::piece::{PerPiece, Piece};
use super::rates::Rates;
use super::repeats::{MlpRepeats, Repeats};

/// Activation bytes of a layer, on one rank, for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Activations {
    /// Bytes that the layer keeps for backward where backward computes it again from its input.
    pub checkpoint: Bytes,
    /// Bytes that it keeps otherwise.
    pub layer: Bytes,
    /// Bytes that its backward reads, kept since forward or computed again.
    pub whole: Bytes,
    /// Working memory of its backward: gradients of the widest intermediates.
    pub working: Bytes,
    /// Each piece of the layer alone.
    pub pieces: PerPiece<PieceActivations>,
}

/// Activation bytes of a piece of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PieceActivations {
    /// Kept by a piece that is not computed again from the layer's input.
    pub kept: Bytes,
    /// Everything that its backward reads.
    pub whole: Bytes,
    /// Working memory of its backward.
    pub working: Bytes,
}

impl Add for PieceActivations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { kept: self.kept + other.kept, whole: self.whole + other.whole, working: self.working + other.working }
    }
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

    /// Activations of a layer of a kind that autograd records: in units of the storage format, per token,
    /// norm inputs `2 h`, attention input `h`, query, key and value, attention output, MLP input `h`,
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
        let (model, plan, stack) = (&self.scenario.model, &self.scenario.plan, &self.scenario.stack);
        let (storage, tensor, streams) = (self.storage(), f64::from(plan.tensor), f64::from(self.sequence_ranks()));
        let (tokens, hidden) = (self.tokens(), f64::from(model.hidden));
        let (recurrence, core) = (model.recurrence(kind), self.kept_by_core(kind));
        let [narrow, expanded] = model.attention_outputs(kind);
        // What a compiler fuses it computes again from what its kernel reads.
        let eager = !self.scenario.is_compiled();
        let norm = self.kept_by_norms(kind, eager);
        let repeats = if recurrence.is_none() && eager { self.repeated_heads(kind) } else { 0.0 };
        let products = if model.gated && stack.keeps_gate && eager { 2.0 } else { 1.0 };
        let inputs = if stack.keeps_gathered { 1.0 } else { streams };
        let cast = self.kept_input();
        let masks = if stack.dropout { Bytes::new(2.0 * hidden) } else { Bytes::ZERO };
        let again = match plan.recompute {
            Recompute::Selective => self.repeats(kind),
            _ => Repeats::default(),
        };
        // The outputs of the sublayer's first matrices, and what else it keeps beside its norm's input and output.
        let sublayer = |[outputs, repeated]: [f64; 2],
                        each: Bytes,
                        core: f64,
                        [product, input, activation]: [f64; 3],
                        scores: Bytes,
                        KeptInputs { first, beside_core, ranks, .. }: KeptInputs| {
            let stream = tokens * (hidden * (norm / streams + cast * first / inputs) + masks / 2.0 / streams);
            let copy = if cast < storage { cast } else { Bytes::ZERO };
            let product = product * storage - input * (storage - cast);
            let core = core * (1.0 + beside_core);
            let whole = stream
                + tokens * (outputs * each + core * storage + product + core * copy) / tensor
                + scores
                + tokens * ranks * storage;
            let element_wise = tokens * (hidden * first / inputs * again.norms * cast + product / tensor * activation);
            let matmul = tokens * repeated * each / tensor;
            // Selective recompute keeps what these are computed from, which is counted above.
            let dropped = scores * again.core + element_wise + matmul;
            // Tensor ranks need the gradient of the sublayer's output whole, and have that of its input whole before it is
            // reduced.
            let whole_gradients = if plan.tensor > 1 { 2.0 } else { 1.0 };
            let working =
                tokens * (hidden * whole_gradients + outputs / tensor) * storage + self.dequantised_buffer(kind);
            PieceActivations { kept: whole - dropped, whole, working }
        };
        let [up, ffn] = model.mlp_widths(kind, false);
        let experts = self.expert_activations(kind, products, again.experts);
        let [of_attention, of_mlp] = [LayerPart::Mixer, LayerPart::Plain].map(|part| self.kept_inputs(kind, part));
        let (products, input) = (products - 1.0 + of_mlp.second, of_mlp.second * ffn);
        let MlpRepeats { products: repeated, activation, .. } = again.mlp;
        let before = self.activation_input();
        let none = PieceActivations::default();
        let mlp =
            || sublayer([up, up * repeated], before, 0.0, [products * ffn, input, activation], Bytes::ZERO, of_mlp);
        let mlp = if kind.has_mlp() { mlp() } else { none };
        let qkv = [narrow + expanded + repeats, narrow * again.projections + expanded * again.expansions];
        let attention = || sublayer(qkv, storage, core, [0.0; 3], self.scores(kind, tokens), of_attention);
        let attention = if kind.has_mixer() { attention() } else { none };
        let attention = attention + self.beside_attention(kind, again.core);
        let pieces = self.pieces(kind, [attention, mlp, experts]);
        // The widest are the MLP's, unless another mixer than attention computes its states again.
        let mixes = recurrence.is_some() || !kind.has_mlp();
        let mixing = if mixes { pieces[Piece::Mixer].working } else { Bytes::ZERO };
        let widest = |most: Bytes, piece: Piece| most.max(pieces[piece].working);
        Activations {
            pieces,
            checkpoint: self.stream(),
            layer: pieces.map(|piece| piece.kept).sum(),
            whole: pieces.map(|piece| piece.whole).sum(),
            working: [Piece::Mlp, Piece::Router, Piece::Experts].into_iter().fold(mixing, widest),
        }
    }

    /// Numbers per token that a mixer's core keeps behind its first products: attention's output, beside that of a gate, and
    /// what sparse attention makes of compressed values before it is expanded; another mixer's own.
    fn kept_by_core(&self, kind: LayerKind) -> f64 {
        let model = &self.scenario.model;
        if let Some(recurrence) = model.recurrence(kind) {
            return recurrence.kept().get();
        }
        let gates = if model.output_gate { 2.0 } else { 1.0 };
        let narrow = |(_, latent): (_, LatentAttention)| f64::from(model.heads) * f64::from(latent.key_value);
        gates * model.value_width(kind) as f64 + model.indexer(kind).map_or(0.0, narrow)
    }

    /// What another mixer's backward works in, and what an indexer keeps, unless attention's core runs again to such a share,
    /// and chooses again. Each tensor rank has the whole of an indexer.
    fn beside_attention(&self, kind: LayerKind, again: f64) -> PieceActivations {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let bytes = |numbers: Count| self.tokens() * numbers.get() * self.storage();
        let working = model.recurrence(kind).map_or(Bytes::ZERO, |own| bytes(own.worked_in()) / f64::from(plan.tensor));
        let whole = model.indexer(kind).map_or(Bytes::ZERO, |(own, _)| bytes(own.kept(plan.sequence)));
        PieceActivations { kept: whole * (1.0 - again), whole, working }
    }

    /// Bytes per number of a norm's input that autograd keeps.
    fn kept_by_norms(&self, kind: LayerKind, eager: bool) -> Bytes {
        if !(self.scenario.stack.norms_in_fp32 && eager) {
            return self.storage();
        }
        let fp32 = Bytes::new(Format::Fp32.bytes());
        fp32 + match self.scenario.differentiated(kind) {
            Differentiated::All if self.scenario.stack.scales_norms_in_fp32 => fp32,
            Differentiated::All => self.storage(),
            _ => Bytes::ZERO,
        }
    }

    /// Numbers per token of keys and values that are kept more than once: copied to the heads of queries which share them,
    /// or, where none are shared, for rotation.
    fn repeated_heads(&self, kind: LayerKind) -> f64 {
        let Scenario { model, stack, .. } = self.scenario;
        let (all, own) = (2.0 * model.whole_width(kind), model.kv_width(kind) as f64);
        match model.latent {
            None if stack.repeats_keys => all - own,
            None if stack.copies_keys && own >= all => own,
            _ => 0.0,
        }
    }

    /// Activations of a layer's routed experts: copies of tokens, outputs of the first matrices and inputs of the second
    /// ones, where `products` are kept for each.
    fn expert_activations(&self, kind: LayerKind, products: f64, again: MlpRepeats) -> PieceActivations {
        let (model, tensor) = (&self.scenario.model, f64::from(self.scenario.plan.tensor));
        let [up, ffn] = model.mlp_widths(kind, true);
        let [each, cast] = [self.storage(), self.kept_input()].map(|each| each * self.experts.load);
        let KeptInputs { first, second, ranks, .. } = self.kept_inputs(kind, LayerPart::Routed);
        let copies = self.dispatched(kind) * f64::from(model.routed_hidden());
        let (products, input) = (products - 1.0 + second, second * ffn);
        let outputs = self.tokens() * up / tensor;
        let before = outputs * (self.activation_input() * self.experts.load);
        let product = self.tokens() * (products * ffn * each - input * (each - cast)) / tensor;
        let received = copies * cast * first;
        let (copies, whole) = (copies * each, received + before + product + self.tokens() * ranks * each);
        let received = if again.whole { received } else { Bytes::ZERO };
        let dropped = product * again.activation + before * again.products + received;
        PieceActivations { kept: whole - dropped, whole, working: copies + outputs * each }
    }

    /// Bytes per number that an MLP keeps of what its activation function reads.
    fn activation_input(&self) -> Bytes {
        let narrow = self.scenario.stack.fp8_activation_input && self.scenario.plan.precision.is_low();
        if narrow { Bytes::new(Format::Fp8.bytes()) } else { self.storage() }
    }

    /// Bytes of logits and loss at their worst moment, with the input of the logits where it is kept gathered. Those of each
    /// further token are beside them, with what leads to its layer: the token's embedding, both halves of the input of the
    /// product that joins it to the layer before, and the last norm's input.
    pub fn logits(&self) -> Bytes {
        let (model, stack, tokens) = (&self.scenario.model, &self.scenario.stack, self.tokens());
        let streams = f64::from(self.sequence_ranks());
        let inputs = if stack.keeps_gathered { 1.0 } else { streams };
        let once = tokens * f64::from(model.vocab) / f64::from(self.scenario.plan.tensor) * self.calibrated.logits_held
            + tokens * f64::from(model.hidden) * self.storage() * (1.0 / inputs - 1.0 / streams);
        once + (once + self.stream() * 4.0) * f64::from(model.mtp_layers)
    }

    /// Values of a layer's pieces from those of the mixer, of what of an MLP is not routed, and of routed experts.
    fn pieces<T: Copy + Default + Add<Output = T>>(
        &self,
        kind: LayerKind,
        [mixer, plain, routed]: [T; 3],
    ) -> PerPiece<T> {
        let own_mesh = self.has_expert_mesh(kind);
        PerPiece::from_fn(|piece| match piece {
            Piece::Mixer => mixer,
            Piece::Mlp if !own_mesh => plain + routed,
            Piece::Router if own_mesh => plain,
            Piece::Experts if own_mesh => routed,
            _ => T::default(),
        })
    }

    /// Bytes from which the gradients of weights are computed, by piece: the inputs of their matrices,
    /// and the gradients of the outputs. 16 h elements per token for `f = 4 h`, the `32 s b h` bytes of a pass for
    /// weights (Qi et al., arXiv 2401.10241, table 1).
    pub(crate) fn weight_gradient_inputs(&self, kind: LayerKind) -> PerPiece<Bytes> {
        if kind.frozen {
            return PerPiece::default();
        }
        let model = &self.scenario.model;
        let outputs: f64 = model.attention_inputs(kind).map(|matrix| matrix.output as f64).sum();
        // The first matrices read the residual stream, and the second add to it; what is between them lies on the tensor
        // ranks.
        let [attention, mlp, experts] =
            [[outputs, model.mixed_width(kind) as f64], model.mlp_widths(kind, false), model.mlp_widths(kind, true)]
                .map(|[outputs, inputs]| {
                    self.tokens() * ((outputs + inputs) / f64::from(self.scenario.plan.tensor)) * self.storage()
                });
        let stream = |there: bool| if there { self.stream() * 2.0 } else { Bytes::ZERO };
        let copies = self.dispatched(kind) * f64::from(model.routed_hidden()) * self.storage() * 2.0;
        let experts = (experts + copies) * self.experts.load;
        let streams = [kind.has_mixer(), kind.has_mlp()].map(stream);
        self.pieces(kind, [attention + streams[0], mlp + streams[1], experts])
    }

    /// Bytes of the inputs to the gradients of the logits' weights.
    pub(crate) fn head_gradient_inputs(&self) -> Bytes {
        let vocab = f64::from(self.scenario.model.vocab) / f64::from(self.scenario.plan.tensor);
        let once = self.tokens() * vocab * self.storage() + self.stream();
        // Both halves of the joining product's input, and the gradient of its output.
        once + (once + self.stream() * 3.0) * f64::from(self.scenario.model.mtp_layers)
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

    /// Scores that backward reads: none with flash attention, which computes them again tile by tile.
    fn scores(&self, kind: LayerKind, tokens: Count) -> Bytes {
        let (model, plan, stack) = (&self.scenario.model, &self.scenario.plan, &self.scenario.stack);
        if self.attention.flash() || !kind.mixer.attends() {
            return Bytes::ZERO;
        }
        let mask = Bytes::new(if stack.dropout { 1.0 } else { 0.0 });
        let heads = f64::from(model.heads(kind.mixer).queries);
        let scores = tokens * f64::from(plan.sequence) * heads / f64::from(plan.tensor);
        scores * (2.0 * self.storage() + mask)
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
