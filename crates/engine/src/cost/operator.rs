//! The operators of a layer, each once: what it works on, which share of it selective recompute repeats, and what it keeps for
//! backward. Time by piece, kernels and kept activations are sums over them, so that a new mixer or MLP is what it adds here. Not
//! for how long an operator takes ([`super::layer`]), nor for exchanges between ranks, which wait for one another and
//! have a place between pieces ([`crate::program`]).

use crate::model::{LayerKind, LayerMatrix, LayerPart, MatrixRole, Recurrence};
use crate::plan::Format;
use crate::plan::pass::PerDirection;
use crate::scenario::{Differentiated, Scenario};
use crate::units::{Bytes, Count, Share};

use super::adapters::{KeptInputs, adapters};
use super::device_time::DeviceTime;
use super::matmul::MatrixProduct;
use super::piece::Piece;
use super::rates::Rates;
use super::repeats::Repeats;

/// An operator of a layer, for one micro-batch on one rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerOperator {
    /// What it does: `output projection`. Operators of one name are one kernel to who reads of them.
    pub name: &'static str,
    /// The part of the layer in which it lies.
    pub part: LayerPart,
    /// What takes its time.
    pub work: OperatorWork,
    /// The share of it that selective recompute repeats.
    pub repeated: Share,
    /// What it leaves for backward.
    pub keeps: KeptBytes,
}

/// What an operator works on.
#[derive(Debug, Clone, Copy)]
pub(super) enum OperatorWork {
    /// Activations, multiplied by the weights of a matrix.
    Product(MatrixProduct),
    /// The frozen weights of such a product, brought into the storage format in every pass.
    Dequantisation(MatrixProduct),
    /// Activations, multiplied by an adapter beside such a product.
    Adapter(MatrixProduct),
    /// Tokens, scored for each expert.
    Scores(MatrixProduct),
    /// Tokens that meet: the mixer's core.
    Core,
    /// Tokens, scored by an indexer.
    Indexer,
    /// Intermediates that forward reads or writes in such a time.
    Stream(DeviceTime),
    /// Tokens that change their format in such times.
    Casts(PerDirection<DeviceTime>),
}

/// Bytes that an operator leaves for backward.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeptBytes {
    /// Kept whether or not the operator runs again.
    pub always: Bytes,
    /// Kept unless backward runs it again.
    pub unless_repeated: Bytes,
    /// Gradients that its backward works on, and what this computes for itself.
    pub working: Bytes,
}

/// Intermediates of the residual stream's width that element-wise operators read or write per
/// sublayer: norm in and out, residual in and out, projection in and out, cast. Seven each, 14 per
/// layer, from the step-time prototype; `element_wise` of the stack scales them.
const STREAM_PASSES: f64 = 7.0;

/// Those of a norm, in and out.
const NORM_PASSES: f64 = 2.0;

/// Copies of tokens that putting them into another order reads and writes.
const PERMUTE_PASSES: f64 = 2.0;

/// Intermediates of the MLP's width: activation in and out twice.
const FFN_PASSES: f64 = 4.0;

/// Intermediates of the MLP's width with a gate.
const GATED_FFN_PASSES: f64 = 6.0;

impl Rates<'_> {
    /// Hands each operator of a layer of a kind to `each`, in the order of forward but for those that only move data.
    pub(super) fn operators(&self, kind: LayerKind, mut each: impl FnMut(&LayerOperator)) {
        let layer = LayerOperators::new(self, kind);
        layer.products(&mut each);
        layer.adapters(&mut each);
        if kind.has_mixer() {
            layer.norm_and_residual(LayerPart::Mixer, &mut each);
        }
        if kind.has_mlp() {
            layer.norm_and_residual(LayerPart::Plain, &mut each);
        }
        if kind.has_experts() {
            layer.router(&mut each);
            layer.exchanged_tokens(&mut each);
        }
    }

    /// Tokens of the busiest rank in a part of a layer over the mean of all.
    pub(super) fn load(&self, part: LayerPart) -> Count {
        Count::new(if part == LayerPart::Routed { self.experts.load } else { 1.0 })
    }

    /// The piece to which a part of a layer belongs.
    pub(super) fn piece_of(&self, kind: LayerKind, part: LayerPart) -> Piece {
        match part {
            LayerPart::Mixer => Piece::Mixer,
            _ if !self.has_expert_mesh(kind) => Piece::Mlp,
            LayerPart::Plain => Piece::Router,
            LayerPart::Routed => Piece::Experts,
        }
    }
}

/// What the operators of a layer have in common.
struct LayerOperators<'a> {
    rates: &'a Rates<'a>,
    kind: LayerKind,
    repeats: Repeats,
    /// Whether operators run one by one: what a compiler fuses it computes again from what its kernel reads.
    eager: bool,
}

impl<'a> LayerOperators<'a> {
    fn new(rates: &'a Rates<'a>, kind: LayerKind) -> Self {
        Self { rates, kind, repeats: rates.repeats(kind), eager: !rates.scenario.is_compiled() }
    }

    /// The products by matrices, with the mixer's core before its last one and the activation function before an MLP's.
    fn products(&self, each: &mut impl FnMut(&LayerOperator)) {
        let rates = self.rates;
        for one in rates.scenario.model.matrices(self.kind) {
            match (one.role, one.part) {
                (MatrixRole::Last, LayerPart::Mixer) => self.core(each),
                (MatrixRole::Last, _) if !one.narrows() => self.activation_function(&one, each),
                _ => {}
            }
            let product = rates.matrix_product(&one);
            let left = Count::from(one.active * one.left) * rates.load(one.part).get();
            let format = if one.part == LayerPart::Mixer { rates.storage() } else { self.activation_input() };
            let keeps = KeptBytes {
                always: Bytes::ZERO,
                unless_repeated: self.divided(left, format),
                working: self.divided(left, rates.storage()),
            };
            let repeated = self.repeats.share(&one);
            let work = OperatorWork::Product(product);
            each(&LayerOperator { name: one.name, part: one.part, work, repeated, keeps });
            if rates.dequantised().is_some() {
                let (work, keeps) = (OperatorWork::Dequantisation(product), KeptBytes::default());
                each(&LayerOperator { name: "frozen weights dequantised", part: one.part, work, repeated, keeps });
            }
        }
    }

    /// What mixes tokens between the products by matrices.
    fn core(&self, each: &mut impl FnMut(&LayerOperator)) {
        let rates = self.rates;
        match rates.scenario.model.recurrence(self.kind) {
            Some(recurrence) => self.recurrence(recurrence, each),
            None => self.attention(each),
        }
    }

    /// A mixer with a state, which keeps what its kernels hand to backward, and works in states that it computes again.
    fn recurrence(&self, recurrence: Recurrence, each: &mut impl FnMut(&LayerOperator)) {
        let keeps = KeptBytes {
            always: self.divided(recurrence.kept(), self.mixed()),
            working: self.divided(recurrence.worked_in(), self.rates.storage()),
            ..KeptBytes::default()
        };
        let (part, repeated) = (LayerPart::Mixer, self.repeats.core);
        each(&LayerOperator { name: recurrence.core_name(), part, work: OperatorWork::Core, repeated, keeps });
    }

    /// Attention, with its indexer where it has one. It keeps its output, beside that of a gate, what sparse attention makes
    /// of compressed values before they are expanded, and copies of keys and values.
    fn attention(&self, each: &mut impl FnMut(&LayerOperator)) {
        let (rates, kind) = (self.rates, self.kind);
        let Scenario { model, plan, .. } = rates.scenario;
        let (indexer, storage) = (model.indexer(kind), rates.storage());
        let gates = if model.output_gate { 2.0 } else { 1.0 };
        let narrow = indexer.map_or(0.0, |(_, latent)| f64::from(model.heads) * f64::from(latent.key_value));
        let kept = Count::new(gates * model.value_width(kind) as f64 + narrow);
        let copied = if self.eager { self.copied_heads() } else { Count::ZERO };
        let keeps = KeptBytes {
            always: self.divided(kept, self.mixed()) + self.divided(copied, storage),
            unless_repeated: self.scores(),
            working: self.divided(copied, storage),
        };
        let (part, repeated) = (LayerPart::Mixer, self.repeats.core);
        each(&LayerOperator { name: rates.attention_name(), part, work: OperatorWork::Core, repeated, keeps });
        if let Some((indexer, _)) = indexer {
            // Each tensor rank has the whole of it.
            let unless_repeated = rates.tokens() * indexer.kept(plan.sequence).get() * storage;
            let keeps = KeptBytes { unless_repeated, ..KeptBytes::default() };
            each(&LayerOperator { name: "indexer", part, work: OperatorWork::Indexer, repeated, keeps });
        }
    }

    /// Bytes per number of a core's output, which the last product reads: once more where that casts it and keeps the cast.
    fn mixed(&self) -> Bytes {
        let (storage, cast) = (self.rates.storage(), self.rates.kept_input());
        let inputs = self.rates.kept_inputs(self.kind, LayerPart::Mixer);
        storage * (1.0 + inputs.beside_core) + if cast < storage { cast } else { Bytes::ZERO }
    }

    /// Numbers per token of keys and values that are kept more than once: copied to the heads of queries which share them,
    /// or, where none are shared, for rotation.
    fn copied_heads(&self) -> Count {
        let Scenario { model, stack, .. } = self.rates.scenario;
        let (all, own) = (2.0 * model.whole_width(self.kind), model.kv_width(self.kind) as f64);
        Count::new(match model.latent {
            None if stack.repeats_keys => all - own,
            None if stack.copies_keys && own >= all => own,
            _ => 0.0,
        })
    }

    /// Scores that backward reads: none with flash attention, which computes them again tile by tile.
    fn scores(&self) -> Bytes {
        let (rates, Scenario { model, plan, stack, .. }) = (self.rates, self.rates.scenario);
        if rates.attention.flash() {
            return Bytes::ZERO;
        }
        let mask = Bytes::new(if stack.dropout { 1.0 } else { 0.0 });
        let heads = f64::from(model.heads(self.kind.mixer).queries);
        self.divided(Count::from(plan.sequence) * heads, 2.0 * rates.storage() + mask)
    }

    /// What lies between the matrices of an MLP. Its result is the input of the second one; with a gate the activation
    /// function's own may be kept beside it.
    fn activation_function(&self, second: &LayerMatrix, each: &mut impl FnMut(&LayerOperator)) {
        let rates = self.rates;
        let Scenario { model, stack, .. } = rates.scenario;
        let part = second.part;
        let width = Count::from(second.active * second.matrix.input) * rates.load(part).get();
        let passes = if model.gated { GATED_FFN_PASSES } else { FFN_PASSES };
        let gate = if model.gated && stack.keeps_gate && self.eager { rates.storage() } else { Bytes::ZERO };
        let inputs = rates.kept_inputs(self.kind, part);
        let unless_repeated = self.divided(width, gate + inputs.second * rates.kept_input());
        let keeps = KeptBytes { unless_repeated, ..KeptBytes::default() };
        let moved = passes * width.get() / f64::from(rates.scenario.plan.tensor);
        let work = OperatorWork::Stream(self.streamed(moved, rates.tokens()));
        let repeated = self.repeats.of_mlp(part).activation;
        each(&LayerOperator { name: "activation function", part, work, repeated, keeps });
    }

    /// Bytes per number that an MLP keeps of what its activation function reads.
    fn activation_input(&self) -> Bytes {
        let Scenario { plan, stack, .. } = self.rates.scenario;
        let narrow = stack.fp8_activation_input && plan.precision.is_low();
        if narrow { Bytes::new(Format::Fp8.bytes()) } else { self.rates.storage() }
    }

    /// Adapters, which keep the channels between their matrices.
    fn adapters(&self, each: &mut impl FnMut(&LayerOperator)) {
        let rates = self.rates;
        for one in adapters(rates.scenario, self.kind) {
            let channels = f64::from(rates.scenario.plan.tuning.rank) * one.active as f64;
            let always = rates.tokens() * (channels * rates.load(one.part).get()) * rates.adapter_bytes();
            let keeps = KeptBytes { always, ..KeptBytes::default() };
            let (repeated, work) =
                (self.repeats.of_adapters(one.part), OperatorWork::Adapter(rates.matrix_product(&one)));
            each(&LayerOperator { name: "adapters", part: one.part, work, repeated, keeps });
        }
    }

    /// The norm before a half of a layer and the residual behind it. The norm keeps its input and its output, which is that of
    /// the first matrices; the residual a mask of dropout. Tensor ranks need the gradient of the half's output whole, and have
    /// that of its input whole before it is reduced.
    fn norm_and_residual(&self, part: LayerPart, each: &mut impl FnMut(&LayerOperator)) {
        let (rates, name) = (self.rates, "norms and residuals");
        let Scenario { model, plan, stack, .. } = rates.scenario;
        let streams = f64::from(rates.sequence_ranks());
        let numbers = rates.tokens() * f64::from(model.hidden);
        let moved = |passes: f64| self.streamed(passes * f64::from(model.hidden) / streams, rates.tokens());
        let KeptInputs { first, .. } = rates.kept_inputs(self.kind, part);
        let gathered = if stack.keeps_gathered { 1.0 } else { streams };
        let norm = KeptBytes {
            always: numbers * (self.norm_input() / streams),
            unless_repeated: numbers * (rates.kept_input() * first / gathered),
            working: numbers * rates.storage() * if plan.tensor > 1 { 2.0 } else { 1.0 },
        };
        let work = OperatorWork::Stream(moved(NORM_PASSES));
        each(&LayerOperator { name, part, work, repeated: self.repeats.norms, keeps: norm });
        let mask = Bytes::new(if stack.dropout { 1.0 } else { 0.0 });
        let residual = KeptBytes {
            always: numbers * (mask / streams),
            working: rates.dequantised_buffer(self.kind),
            ..KeptBytes::default()
        };
        // Residuals are added again only where the products before them are computed again.
        let repeated = if self.repeats.projections > Share::ZERO { self.repeats.norms } else { Share::ZERO };
        let work = OperatorWork::Stream(moved(STREAM_PASSES - NORM_PASSES));
        each(&LayerOperator { name, part, work, repeated, keeps: residual });
    }

    /// Bytes per number of a norm's input that autograd keeps.
    fn norm_input(&self) -> Bytes {
        let Scenario { stack, .. } = self.rates.scenario;
        if !(stack.norms_in_fp32 && self.eager) {
            return self.rates.storage();
        }
        let fp32 = Bytes::new(Format::Fp32.bytes());
        fp32 + match self.rates.scenario.differentiated(self.kind) {
            Differentiated::All if stack.scales_norms_in_fp32 => fp32,
            Differentiated::All => self.rates.storage(),
            _ => Bytes::ZERO,
        }
    }

    /// The scores of a router, and the choice of experts by them.
    fn router(&self, each: &mut impl FnMut(&LayerOperator)) {
        let Some(product) = self.rates.router_product(self.kind) else { return };
        let (part, repeated, keeps) = (LayerPart::Plain, self.repeats.experts.products, KeptBytes::default());
        let choice = OperatorWork::Stream(self.rates.router_choice(product));
        for (name, work) in
            [("router's scores", OperatorWork::Scores(product)), ("experts chosen by their scores", choice)]
        {
            each(&LayerOperator { name, part, work, repeated, keeps });
        }
    }

    /// Tokens that are put into the order of their experts and back, and cast around their exchanges. Experts keep the copies
    /// that they receive.
    fn exchanged_tokens(&self, each: &mut impl FnMut(&LayerOperator)) {
        let (rates, kind) = (self.rates, self.kind);
        let width = f64::from(rates.scenario.model.routed_hidden());
        let copies = rates.dispatched(kind);
        let permutes = !rates.scenario.plan.experts.dispatcher.permutes();
        let permuted = if permutes { self.streamed(PERMUTE_PASSES * width, copies) } else { DeviceTime::default() };
        let KeptInputs { first, .. } = rates.kept_inputs(kind, LayerPart::Routed);
        let received = copies * width * rates.load(LayerPart::Routed).get();
        let by_experts = KeptBytes {
            unless_repeated: received * (rates.kept_input() * first),
            working: received * rates.storage(),
            ..KeptBytes::default()
        };
        let repeated = Share::new(if self.repeats.experts.whole { 1.0 } else { 0.0 });
        let casts = rates.exchange_casts(kind);
        for (part, casts, keeps) in
            [(LayerPart::Plain, casts.tokens, KeptBytes::default()), (LayerPart::Routed, casts.experts, by_experts)]
        {
            let (name, work) = ("tokens to experts' order and back", OperatorWork::Stream(permuted));
            each(&LayerOperator { name, part, work, repeated, keeps });
            let (name, work) = ("tokens cast for their exchanges and back", OperatorWork::Casts(casts));
            each(&LayerOperator { name, part, work, repeated, keeps: KeptBytes::default() });
        }
    }

    /// Numbers of each token that the tensor ranks share, of so many bytes each.
    fn divided(&self, numbers: Count, each: Bytes) -> Bytes {
        self.rates.tokens() * (numbers.get() / f64::from(self.rates.scenario.plan.tensor)) * each
    }

    /// The time in which element-wise operators pass numbers of so many tokens, by the software's traffic.
    fn streamed(&self, numbers: f64, tokens: Count) -> DeviceTime {
        let rates = self.rates;
        let bytes = tokens * numbers * (rates.calibrated.element_wise * rates.storage());
        DeviceTime::traffic(bytes / rates.memory)
    }
}
