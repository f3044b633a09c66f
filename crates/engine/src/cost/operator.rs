//! The operators of a layer, each once: what it works on, which share of it selective recompute repeats, and what it keeps for
//! backward. Time by piece, kernels and kept activations are sums over them, so that a new mixer or MLP is what it adds here. Not
//! for how long an operator takes ([`super::layer`]), nor for exchanges between ranks, which wait for one another and
//! have a place between pieces ([`crate::program`]).

use crate::model::{Heads, LayerAttention, LayerKind, LayerMatrix, LayerMixer, LayerPart, MatrixRole};
use crate::plan::pass::PerDirection;
use crate::plan::{Format, HostModule};
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
    /// Whether backward runs it again even without recompute, as it does an MLP in tiles.
    pub always_repeated: bool,
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
    /// Intermediates that forward and backward read or write in such times.
    Passes(PerDirection<DeviceTime>),
}

/// Bytes that an operator leaves for backward.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptBytes {
    /// Kept whether or not the operator runs again.
    pub always: Bytes,
    /// Kept unless backward runs it again.
    pub unless_repeated: Bytes,
    /// Temporary bytes while its backward runs, freed after it: gradients, and what it computes for itself.
    pub working: Bytes,
    /// The modules whose inputs they are: `offload_modules` keeps these on the host.
    pub inputs_of: InputsOf,
}

/// The modules whose inputs the bytes of an operator are, where the host may keep these.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InputsOf {
    /// Of what is kept always.
    pub always: Option<HostModule>,
    /// Of what is kept unless it is repeated.
    pub unless_repeated: Option<HostModule>,
}

impl InputsOf {
    /// All is the input of one module.
    const fn one(module: Option<HostModule>) -> Self {
        Self { always: module, unless_repeated: module }
    }
}

/// Nothing is kept.
const NOTHING: KeptBytes = KeptBytes {
    always: Bytes::ZERO,
    unless_repeated: Bytes::ZERO,
    working: Bytes::ZERO,
    inputs_of: InputsOf { always: None, unless_repeated: None },
};

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

/// Numbers of 16 bits that an expert's bias reads and writes for each that the expert puts out. In forward 14: the bias times the
/// router's weight is an fp32 number, 2 written; the sum reads 1 and 2 and writes 2, the concatenation of all experts reads and writes 2,
/// and the cast reads 2 and writes 1. In backward 20: that cast, 3; that of the sum's gradient, 3; the gradients of the bias and of
/// the weight, each a product in fp32 that reads 2 and writes 2 and a sum that reads 2, 6 each; the concatenation of what was split, 2.
const BIAS_PASSES: PerDirection<f64> = PerDirection { forward: 14.0, backward: 20.0 };

/// The same of bounds for each number of the activation function's width, a gate and what it multiplies. In forward 8: both halves read
/// and written, and concatenated. In backward 10: each half reads two numbers and writes one, and both are concatenated.
const CLAMP_PASSES: PerDirection<f64> = PerDirection { forward: 8.0, backward: 10.0 };

impl Rates<'_> {
    /// Hands each operator of a layer of a kind to `each`, in the order of forward but for those that only move data.
    pub(super) fn operators(&self, kind: LayerKind, each: impl FnMut(&LayerOperator)) {
        let (scenario, repeats) = (self.scenario, self.repeats(kind));
        let mut layer = LayerOperators { rates: self, scenario, kind, repeats, eager: !scenario.is_compiled(), each };
        layer.products();
        layer.adapters();
        for (part, has) in [(LayerPart::Mixer, kind.has_mixer()), (LayerPart::Plain, kind.has_mlp())] {
            if has {
                layer.norm_and_residual(part);
            }
        }
        if let Some(product) = self.router_product(kind) {
            layer.router(product);
            layer.exchanged_tokens();
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

/// The operators of a layer, handed on one by one.
struct LayerOperators<'a, F> {
    rates: &'a Rates<'a>,
    scenario: &'a Scenario,
    kind: LayerKind,
    repeats: Repeats,
    /// Whether operators run one by one: what a compiler fuses it computes again from what its kernel reads.
    eager: bool,
    each: F,
}

impl<F: FnMut(&LayerOperator)> LayerOperators<'_, F> {
    fn add(&mut self, name: &'static str, part: LayerPart, work: OperatorWork, repeated: Share, keeps: KeptBytes) {
        (self.each)(&LayerOperator { name, part, work, repeated, keeps, always_repeated: false });
    }

    /// Adds what lies between the input and the output of a half. An MLP in tiles keeps nothing but its input: backward runs it
    /// again, and has the intermediates of one tile at a time (`TiledMLP` of
    /// `deepspeed/runtime/sequence_parallel/ulysses_sp.py`; arXiv 2506.13996).
    fn add_inside(
        &mut self,
        name: &'static str,
        part: LayerPart,
        work: OperatorWork,
        repeated: Share,
        keeps: KeptBytes,
    ) {
        let tiles = self.scenario.plan.mlp_tiles_in(self.kind);
        if part == LayerPart::Mixer || tiles == 1 {
            return self.add(name, part, work, repeated, keeps);
        }
        let working = (keeps.unless_repeated + keeps.working) / f64::from(tiles);
        let keeps = KeptBytes { unless_repeated: Bytes::ZERO, working, ..keeps };
        (self.each)(&LayerOperator { name, part, work, repeated: Share::ZERO, keeps, always_repeated: true });
    }

    /// The products by matrices, with the mixer's core before its last one and the activation function before an MLP's.
    fn products(&mut self) {
        let rates = self.rates;
        for one in self.scenario.model.matrices(self.kind) {
            match (one.role, one.part) {
                (MatrixRole::Last, LayerPart::Mixer) => self.core(),
                (MatrixRole::Last, _) if !one.narrows() => self.activation_function(&one),
                _ => {}
            }
            let (product, repeated) = (rates.matrix_product(&one), self.repeats.share(&one));
            let numbers = Count::from(one.active * one.kept_outputs) * rates.load(one.part).get();
            let kept = rates.tokens() * (numbers.get() / f64::from(rates.sharing_ranks(&one)));
            let format = if one.part == LayerPart::Mixer { rates.storage() } else { self.activation_input() };
            let (working, inputs_of) = (kept * rates.storage(), InputsOf::one(self.reader(&one)));
            let keeps = KeptBytes { unless_repeated: kept * format, working, inputs_of, ..NOTHING };
            self.add_inside(one.name, one.part, OperatorWork::Product(product), repeated, keeps);
            if rates.dequantised().is_some() {
                let work = OperatorWork::Dequantisation(product);
                let weights = product.n * product.k.get() * product.groups;
                let keeps = KeptBytes { unless_repeated: weights * rates.kept_cast(), ..NOTHING };
                self.add_inside("frozen weights dequantised", one.part, work, repeated, keeps);
            }
            if one.role == MatrixRole::Last && one.bias > 0 && self.unfused_experts(one.part) {
                let work = self.passes(&one, one.matrix.output, BIAS_PASSES);
                self.add_inside("experts' biases", one.part, work, repeated, NOTHING);
            }
        }
    }

    /// Whether the stack adds experts' biases, and clamps what their activation function reads, in kernels of their own.
    fn unfused_experts(&self, part: LayerPart) -> bool {
        part == LayerPart::Routed && self.scenario.stack.unfused_expert_biases
    }

    /// Kernels that read and write so many numbers in each direction for each of a width behind a matrix.
    fn passes(&self, one: &LayerMatrix, width: u64, numbers: PerDirection<f64>) -> OperatorWork {
        let rates = self.rates;
        let each = Count::from(one.active * width) * rates.load(one.part).get();
        let pass = |numbers: f64| DeviceTime::traffic(rates.memory_pass(self.divided(each * numbers, rates.storage())));
        OperatorWork::Passes(numbers.map(pass))
    }

    /// The module that reads what a product leaves.
    fn reader(&self, one: &LayerMatrix) -> Option<HostModule> {
        match (one.part, one.role) {
            (LayerPart::Mixer, MatrixRole::First) if self.scenario.model.latent.is_some() => {
                self.of_attention(HostModule::LatentExpansion)
            }
            (LayerPart::Mixer, _) => self.of_attention(HostModule::CoreAttention),
            (LayerPart::Plain, _) => self.of_plain(),
            (LayerPart::Routed, _) => Some(HostModule::ExpertActivation),
        }
    }

    /// A module of attention, in layers that attend.
    fn of_attention(&self, module: HostModule) -> Option<HostModule> {
        self.kind.mixer.attends().then_some(module)
    }

    /// The MLP that every token visits; none where experts have no shared one beside them.
    fn of_plain(&self) -> Option<HostModule> {
        match self.scenario.model.experts_in(self.kind) {
            None => Some(HostModule::Mlp),
            Some(experts) => experts.shared_ffn.map(|_| HostModule::SharedExperts),
        }
    }

    /// What mixes tokens between the products by matrices: a mixer with a state, which keeps what its kernels hand to backward
    /// and works in states that it computes again, or attention.
    fn core(&mut self) {
        let recurrence = match self.scenario.model.mixer(self.kind) {
            LayerMixer::Attention(attention) => return self.attention(&attention),
            LayerMixer::Recurrent(recurrence) => recurrence,
            LayerMixer::None => return,
        };
        let keeps = KeptBytes {
            always: self.divided(recurrence.kept(), self.mixed()),
            working: self.divided(recurrence.worked_in(), self.rates.storage()),
            ..NOTHING
        };
        self.add(recurrence.core_name(), LayerPart::Mixer, OperatorWork::Core, self.repeats.core, keeps);
    }

    /// Attention, with its indexer where it has one. It keeps its output, beside that of a gate, what sparse attention makes
    /// of compressed values before they are expanded, copies of keys and values, and what context ranks exchange.
    fn attention(&mut self, attention: &LayerAttention<'_>) {
        let (rates, &LayerAttention { heads, indexer, .. }) = (self.rates, attention);
        let (storage, repeated) = (rates.storage(), self.repeats.core);
        let narrow = indexer.map_or(0.0, |(_, latent)| f64::from(heads.queries) * f64::from(latent.key_value));
        let kept = Count::new((heads.value_width() + attention.gate_width()) as f64 + narrow);
        let copied = self.divided(self.copied_heads(attention), storage);
        let exchanged = rates.exchanged_bytes(self.kind.mixer);
        let always = self.divided(kept, self.mixed()) + copied + exchanged;
        let working = copied + rates.gathered_bytes(self.kind.mixer);
        let inputs_of =
            InputsOf { always: Some(HostModule::AttentionOutput), unless_repeated: Some(HostModule::CoreAttention) };
        let keeps = KeptBytes { always, unless_repeated: self.scores(heads), working, inputs_of };
        self.add(rates.kernel_name(attention), LayerPart::Mixer, OperatorWork::Core, repeated, keeps);
        if let Some((indexer, _)) = indexer {
            // Each tensor rank has the whole of it.
            let unless_repeated = rates.tokens() * indexer.kept(self.scenario.plan.sequence).get() * storage;
            let keeps = KeptBytes { unless_repeated, ..NOTHING };
            self.add("indexer", LayerPart::Mixer, OperatorWork::Indexer, repeated, keeps);
        }
    }

    /// What lies between the matrices of an MLP. Its result is the input of the second one; with a gate the activation
    /// function's own may be kept beside it.
    fn activation_function(&mut self, second: &LayerMatrix) {
        let (rates, part, Scenario { model, plan, stack, .. }) = (self.rates, second.part, self.scenario);
        let width = Count::from(second.active * second.matrix.input) * rates.load(part).get();
        let passes = if model.gated { GATED_FFN_PASSES } else { FFN_PASSES };
        let gate = if model.gated && stack.keeps_gate && self.eager { rates.storage() } else { Bytes::ZERO };
        let each = gate + rates.kept_inputs(self.kind, part).second * rates.kept_input();
        let routed = part == LayerPart::Routed;
        let inputs_of = InputsOf::one(if routed { Some(HostModule::ExpertOutputs) } else { self.of_plain() });
        let keeps = KeptBytes { unless_repeated: self.divided(width, each), inputs_of, ..NOTHING };
        let work = self.streamed(passes * width.get() / f64::from(plan.tensor), rates.tokens());
        let repeated = self.repeats.of_mlp(part).activation;
        self.add_inside("activation function", part, work, repeated, keeps);
        if model.activation_limit.is_some() && model.gated && self.unfused_experts(part) {
            // The function reads bounded copies, and the bounds' backward what they were made from.
            let keeps = KeptBytes { unless_repeated: self.divided(width * 2.0, rates.storage()), inputs_of, ..NOTHING };
            let work = self.passes(second, second.matrix.input, CLAMP_PASSES);
            self.add_inside("activation function's bounds", part, work, repeated, keeps);
        }
    }

    /// Adapters, which keep the channels between their matrices.
    fn adapters(&mut self) {
        let rates = self.rates;
        for one in adapters(self.scenario, self.kind) {
            let channels = f64::from(self.scenario.plan.tuning.rank) * one.active as f64;
            let always = rates.tokens() * (channels * rates.load(one.part).get()) * rates.adapter_bytes();
            let (work, repeated) =
                (OperatorWork::Adapter(rates.matrix_product(&one)), self.repeats.of_adapters(one.part));
            self.add("adapters", one.part, work, repeated, KeptBytes { always, ..NOTHING });
        }
    }

    /// The norm before a half of a layer and the residual behind it. The norm keeps its input and its output, which is that of
    /// the first matrices; the residual a mask of dropout. Tensor ranks need the gradient of the half's output whole, and have
    /// that of its input whole before it is reduced.
    fn norm_and_residual(&mut self, part: LayerPart) {
        let (rates, Scenario { model, plan, stack, .. }) = (self.rates, self.scenario);
        let (hidden, streams) = (f64::from(model.hidden), f64::from(rates.sequence_ranks()));
        let (numbers, share) = (rates.tokens() * hidden, hidden / streams);
        let KeptInputs { first, .. } = rates.kept_inputs(self.kind, part);
        let gathered = if stack.keeps_gathered { 1.0 } else { streams };
        let mixes = part == LayerPart::Mixer;
        let inputs_of = InputsOf {
            always: if mixes { self.of_attention(HostModule::AttentionNorm) } else { Some(HostModule::MlpNorm) },
            unless_repeated: if mixes { self.of_attention(HostModule::AttentionInputs) } else { self.of_plain() },
        };
        let keeps = KeptBytes {
            inputs_of,
            always: numbers * (self.norm_input() / streams),
            unless_repeated: numbers * (rates.kept_input() * first / gathered),
            working: numbers * rates.storage() * if plan.tensor > 1 { 2.0 } else { 1.0 },
        };
        let work = self.streamed(NORM_PASSES * share, rates.tokens());
        self.add("norms and residuals", part, work, self.repeats.norms, keeps);
        let mask = Bytes::new(if stack.dropout { 1.0 } else { 0.0 });
        let (always, working) = (numbers * (mask / streams), rates.dequantised_buffer(self.kind));
        // Residuals are added again only where the products before them are computed again.
        let repeated = if self.repeats.projections > Share::ZERO { self.repeats.norms } else { Share::ZERO };
        let work = self.streamed((STREAM_PASSES - NORM_PASSES) * share, rates.tokens());
        self.add("norms and residuals", part, work, repeated, KeptBytes { always, working, ..NOTHING });
    }

    /// A router, and the choice of experts by its scores.
    fn router(&mut self, scores: MatrixProduct) {
        let (part, repeated) = (LayerPart::Plain, self.repeats.experts.products);
        self.add("router's scores", part, OperatorWork::Scores(scores), repeated, NOTHING);
        let choice = OperatorWork::Stream(self.rates.router_choice(scores));
        self.add("experts chosen by their scores", part, choice, repeated, NOTHING);
    }

    /// Tokens that are put into the order of their experts and back, and cast around their exchanges. Experts keep the copies
    /// that they receive.
    fn exchanged_tokens(&mut self) {
        let (rates, kind, Scenario { model, plan, .. }) = (self.rates, self.kind, self.scenario);
        let (width, copies) = (f64::from(model.routed_hidden()), rates.dispatched(kind));
        let passes = if plan.experts.dispatcher.permutes() { 0.0 } else { PERMUTE_PASSES };
        let permuted = self.streamed(passes * width, copies);
        let KeptInputs { first, .. } = rates.kept_inputs(kind, LayerPart::Routed);
        let received = copies * width * rates.load(LayerPart::Routed).get();
        let (unless_repeated, working) = (received * (rates.kept_input() * first), received * rates.storage());
        let inputs_of = InputsOf::one(Some(HostModule::ExpertInputs));
        let by_experts = KeptBytes { unless_repeated, working, inputs_of, ..NOTHING };
        let repeated = Share::new(if self.repeats.experts.whole { 1.0 } else { 0.0 });
        let casts = rates.exchange_casts(kind);
        for (part, casts, keeps) in
            [(LayerPart::Plain, casts.tokens, NOTHING), (LayerPart::Routed, casts.experts, by_experts)]
        {
            self.add("tokens to experts' order and back", part, permuted, repeated, keeps);
            let casts = OperatorWork::Passes(casts);
            self.add("tokens cast for their exchanges and back", part, casts, repeated, NOTHING);
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
    fn copied_heads(&self, attention: &LayerAttention<'_>) -> Count {
        let stack = &self.scenario.stack;
        let (all, own) = (2.0 * attention.whole_width(), attention.kv_width() as f64);
        Count::new(match attention.latent {
            _ if !self.eager => 0.0,
            None if stack.copies_keys && own >= all => own,
            None if stack.repeats_keys => all - own,
            _ => 0.0,
        })
    }

    /// Scores that backward reads: none with flash attention, which computes them again tile by tile.
    fn scores(&self, heads: Heads) -> Bytes {
        let (rates, Scenario { plan, stack, .. }) = (self.rates, self.scenario);
        if rates.attention.flash() {
            return Bytes::ZERO;
        }
        let mask = Bytes::new(if stack.dropout { 1.0 } else { 0.0 });
        self.divided(Count::from(plan.sequence) * f64::from(heads.queries), 2.0 * rates.storage() + mask)
    }

    /// Bytes per number that an MLP keeps of what its activation function reads.
    fn activation_input(&self) -> Bytes {
        let Scenario { plan, stack, .. } = self.scenario;
        let narrow = stack.fp8_activation_input && plan.precision.is_low();
        if narrow { Bytes::new(Format::Fp8.bytes()) } else { self.rates.storage() }
    }

    /// Bytes per number of a norm's input that autograd keeps.
    fn norm_input(&self) -> Bytes {
        let Scenario { stack, .. } = self.scenario;
        if !(stack.norms_in_fp32 && self.eager) {
            return self.rates.storage();
        }
        let fp32 = Bytes::new(Format::Fp32.bytes());
        fp32 + match self.scenario.differentiated(self.kind) {
            Differentiated::All if stack.scales_norms_in_fp32 => fp32,
            Differentiated::All => self.rates.storage(),
            _ => Bytes::ZERO,
        }
    }

    /// Bytes on one rank of numbers of each token that tensor ranks share evenly.
    fn divided(&self, numbers: Count, each: Bytes) -> Bytes {
        self.rates.tokens() * (numbers.get() / f64::from(self.scenario.plan.tensor)) * each
    }

    /// Element-wise operators that pass numbers of so many tokens, by the software's traffic.
    fn streamed(&self, numbers: f64, tokens: Count) -> OperatorWork {
        let bytes = tokens * numbers * (self.rates.calibrated.element_wise * self.rates.storage());
        OperatorWork::Stream(DeviceTime::traffic(bytes / self.rates.memory))
    }
}
