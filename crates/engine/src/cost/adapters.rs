//! Adapters and frozen matrices, beside them or alone: parameters, bytes, time. Not for what a plan trains
//! ([`crate::plan::Tuning`]).
//!
//! An adapter of rank `r` beside a matrix of `in` rows and `out` columns is two matrices, `in x r` and `r x out`, whose
//! product is added to that of the frozen matrix (Hu et al., arXiv 2106.09685, section 4.1).

use std::ops::{Add, Div, Mul, Sub};

use crate::model::{LayerKind, Matrix};
use crate::plan::{Format, FrozenFormat, LoraTarget, Optimizer, OptimizerBytes, Plan};
use crate::scenario::{Differentiated, Scenario};
use crate::units::{Bytes, Count, Flop};

use super::device_time::{DeviceTime, PassTimes};
use super::layer::Piece;
use super::matmul::MatrixProduct;
use super::rates::Rates;

/// Parameters of some operators. Of a part of the model, what each tensor rank has whole counts once for each of them, so that
/// they divide the sum.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parameters {
    /// All weights, in elements of the storage format: frozen ones of fewer bits count by their bytes.
    pub weights: Count,
    /// Those that are trained, which have gradients and optimizer state.
    pub trained: Count,
    /// Those of matrices in layers, beside which casts may be kept.
    pub linear: Count,
    /// Those that Muon updates: trained ones of matrices in layers; none where the optimizer is another.
    pub muon: Count,
}

impl Parameters {
    /// None.
    pub const NONE: Self = Self { weights: Count::ZERO, trained: Count::ZERO, linear: Count::ZERO, muon: Count::ZERO };

    /// What of the whole model is trained, each parameter once, however many ranks hold it.
    pub fn trained_in_all(scenario: &Scenario) -> Self {
        let (model, plan) = (&scenario.model, &scenario.plan);
        let muon = plan.optimizer == Optimizer::Muon && !plan.tuning.freezes();
        let trained = model.kinds().filter(|(kind, _)| muon && !kind.frozen);
        let matrices: u64 = trained.map(|(kind, layers)| u64::from(layers) * model.layer_weights(kind)).sum();
        Self { trained: trained_parameters(scenario).into(), muon: matrices.into(), ..Self::NONE }
    }

    /// Bytes of a checkpoint of them: trained weights and all that the optimizer keeps.
    pub fn saved(&self, plan: &Plan) -> Bytes {
        let storage = Bytes::new(plan.precision.storage().bytes());
        let saved = |count: Count, state: OptimizerBytes| count * (storage + state.total());
        saved(self.trained - self.muon, plan.state_beside_matrices()) + saved(self.muon, plan.state_of_matrices())
    }

    /// Parameters of one layer.
    pub fn layer(scenario: &Scenario, kind: LayerKind) -> Self {
        Self::attention(scenario, kind) + Self::mlp(scenario, kind)
    }

    /// Parameters of a layer's attention.
    pub fn attention(scenario: &Scenario, kind: LayerKind) -> Self {
        let model = &scenario.model;
        let adapters = adapters(scenario, kind).filter(|adapter| adapter.place == AdapterPlace::Attention);
        let all = [model.attention_parameters(kind), model.attention_weights(kind)];
        Self::new(scenario, !kind.frozen, all, model.replicated_in_attention(kind), adapters)
    }

    /// Parameters of a layer's MLP, all its experts included.
    pub fn mlp(scenario: &Scenario, kind: LayerKind) -> Self {
        let model = &scenario.model;
        let matrices = model.layer_weights(kind) - model.attention_weights(kind);
        let adapters = adapters(scenario, kind).filter(|adapter| adapter.place != AdapterPlace::Attention);
        let all = [model.mlp_parameters(kind), matrices];
        Self::new(scenario, !kind.frozen, all, model.replicated_in_mlp(kind), adapters)
    }

    /// Parameters of a piece that a layer has.
    pub fn piece(scenario: &Scenario, kind: LayerKind, piece: Piece) -> Self {
        match piece {
            Piece::Mixer => Self::attention(scenario, kind),
            Piece::Mlp => Self::mlp(scenario, kind),
            Piece::Router => Self::mlp(scenario, kind) - Self::routed(scenario, kind),
            Piece::Experts => Self::routed(scenario, kind),
        }
    }

    /// Parameters of a layer's experts that a router chooses from.
    pub fn routed(scenario: &Scenario, kind: LayerKind) -> Self {
        let model = &scenario.model;
        let matrices = model.mlps(kind).filter(|mlps| mlps.routed).map(|mlps| mlps.count * mlps.weights()).sum();
        let adapters = adapters(scenario, kind).filter(|adapter| adapter.place == AdapterPlace::Routed);
        Self::new(scenario, !kind.frozen, [model.routed_parameters(kind), matrices], [0; 2], adapters)
    }

    /// Parameters of the embedding.
    pub fn embedding(scenario: &Scenario) -> Self {
        let (model, trained) = (&scenario.model, scenario.trains_embedding());
        let replicated = [model.position_parameters(), 0];
        Self::new(scenario, trained, [model.embedding_parameters(), 0], replicated, std::iter::empty())
    }

    /// Parameters of what comes behind the layers.
    pub fn head(scenario: &Scenario) -> Self {
        let (model, trained) = (&scenario.model, !scenario.frozen_ends().head());
        let replicated = [model.head_norm_parameters(), 0];
        Self::new(scenario, trained, [model.head_parameters(), 0], replicated, std::iter::empty())
    }

    /// Parameters outside the layers that tensor ranks divide, which keep the storage format, trained or not.
    pub fn outside(scenario: &Scenario, all: u64, trained: bool) -> Self {
        Self::new(scenario, trained, [all, 0], [0; 2], std::iter::empty())
    }

    /// Some parameters, all of them and those of matrices, and what of both each tensor rank has whole; trained or not, and the
    /// adapters beside them.
    fn new(
        scenario: &Scenario,
        trained: bool,
        once: [u64; 2],
        replicated: [u64; 2],
        adapters: impl Iterator<Item = Adapter>,
    ) -> Self {
        let tuning = &scenario.plan.tuning;
        let tensor = u64::from(scenario.plan.tensor);
        let [all, matrices] = std::array::from_fn(|of| once[of] + (tensor - 1) * replicated[of]);
        if !tuning.freezes() {
            let [trained, muon] = if trained { [all, matrices] } else { [0, 0] };
            let muon = if scenario.plan.optimizer == Optimizer::Muon { muon } else { 0 };
            return Self { weights: all.into(), trained: trained.into(), linear: matrices.into(), muon: muon.into() };
        }
        let storage = scenario.plan.precision.storage().bytes();
        let copies = |adapter: &Adapter| if adapter.replicated { tensor } else { 1 };
        let trained = adapters.map(|adapter| Count::from(copies(&adapter) * adapter.parameters(tuning.rank))).sum();
        let frozen = Count::from(matrices) * (tuning.frozen_format().bytes(storage) / storage);
        Self { weights: frozen + Count::from(all - matrices) + trained, trained, ..Self::NONE }
    }
}

impl Add for Parameters {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let Self { weights, trained, linear, muon } = other;
        Self {
            weights: self.weights + weights,
            trained: self.trained + trained,
            linear: self.linear + linear,
            muon: self.muon + muon,
        }
    }
}

impl Sub for Parameters {
    type Output = Self;
    fn sub(self, part: Self) -> Self {
        let Self { weights, trained, linear, muon } = part;
        Self {
            weights: self.weights - weights,
            trained: self.trained - trained,
            linear: self.linear - linear,
            muon: self.muon - muon,
        }
    }
}

impl Mul<f64> for Parameters {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        let Self { weights, trained, linear, muon } = self;
        Self { weights: weights * factor, trained: trained * factor, linear: linear * factor, muon: muon * factor }
    }
}

impl Div<f64> for Parameters {
    type Output = Self;
    fn div(self, ranks: f64) -> Self {
        let Self { weights, trained, linear, muon } = self;
        Self { weights: weights / ranks, trained: trained / ranks, linear: linear / ranks, muon: muon / ranks }
    }
}

/// The part of a layer in which an adapter lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdapterPlace {
    Attention,
    /// An MLP that every token visits.
    Mlp,
    /// Experts that a router chooses from.
    Routed,
}

/// Adapters beside matrices of one shape in a layer.
#[derive(Debug, Clone, Copy)]
struct Adapter {
    matrix: Matrix,
    place: AdapterPlace,
    /// Whether tensor ranks split the matrix by its columns, rather than its rows, if they do.
    by_columns: bool,
    /// Whether each of them has it whole, and so the adapter.
    replicated: bool,
    /// How many the layer has.
    count: u64,
    /// How many of them a token meets.
    active: u64,
}

impl Adapter {
    /// Parameters of all of them, at a rank.
    fn parameters(&self, rank: u32) -> u64 {
        self.count * u64::from(rank) * (self.matrix.input + self.matrix.output)
    }
}

/// The adapters of a layer of a kind; none where all parameters are trained.
fn adapters(scenario: &Scenario, kind: LayerKind) -> impl Iterator<Item = Adapter> {
    let (model, targets) = (&scenario.model, scenario.plan.tuning.targets);
    let of_attention = |matrix: Matrix, by_columns| Adapter {
        matrix,
        place: AdapterPlace::Attention,
        by_columns,
        replicated: false,
        count: 1,
        active: 1,
    };
    let hidden = u64::from(model.hidden);
    let mut found = Vec::new();
    if !scenario.plan.tuning.freezes() {
        return found.into_iter();
    }
    if model.latent.is_some() {
        // Its matrices have names of their own; a check holds that all of them are meant, or none.
        found.extend(model.attention_inputs(kind).enumerate().filter(|_| targets.has(LoraTarget::Query)).map(
            |(place, matrix)| {
                let replicated = place < model.replicated_inputs(kind);
                Adapter { replicated, ..of_attention(matrix, true) }
            },
        ));
    } else {
        let heads = model.heads(kind.mixer);
        let (queries, keys, values) = (heads.query_width(), heads.key_width(), heads.value_weights());
        let widths = [
            (LoraTarget::Query, queries),
            (LoraTarget::Key, keys),
            (LoraTarget::Value, values),
            (LoraTarget::QueryKeyValue, queries + keys + values),
        ];
        let given = widths.into_iter().filter(|(target, width)| targets.has(*target) && *width > 0);
        found.extend(given.map(|(_, output)| of_attention(Matrix { input: hidden, output }, true)));
    }
    if targets.has(LoraTarget::Projection) {
        found.extend(model.projection(kind).map(|matrix| of_attention(matrix, false)));
    }
    for mlps in model.mlps(kind) {
        let place = if mlps.routed { AdapterPlace::Routed } else { AdapterPlace::Mlp };
        let (count, active, replicated) = (mlps.count, mlps.active, mlps.narrows);
        let of_mlp = |matrix, by_columns| Adapter { matrix, place, by_columns, replicated, count, active };
        let one = Matrix { output: mlps.down.input, ..mlps.up };
        let firsts = [(LoraTarget::Gate, one), (LoraTarget::Up, one), (LoraTarget::GateUp, mlps.up)];
        let there = |target: LoraTarget| targets.has(target) && (model.gated || target != LoraTarget::Gate);
        found.extend(firsts.into_iter().filter(|(target, _)| there(*target)).map(|(_, matrix)| of_mlp(matrix, true)));
        if targets.has(LoraTarget::Down) {
            found.push(of_mlp(mlps.down, false));
        }
    }
    found.into_iter()
}

/// Parameters that a scenario trains; of a tied embedding once.
pub fn trained_parameters(scenario: &Scenario) -> u64 {
    let model = &scenario.model;
    if !scenario.plan.tuning.freezes() {
        return scenario.trained_in_full();
    }
    let rank = scenario.plan.tuning.rank;
    let of_kind = |kind| adapters(scenario, kind).map(|adapter| adapter.parameters(rank)).sum::<u64>();
    model.kinds().map(|(kind, layers)| u64::from(layers) * of_kind(kind)).sum()
}

/// Parameters of adapters that take part in one token's arithmetic.
pub(super) fn active_adapters(scenario: &Scenario) -> Count {
    let rank = scenario.plan.tuning.rank;
    let of_kind =
        |kind| adapters(scenario, kind).map(|one| Adapter { count: one.active, ..one }.parameters(rank) as f64).sum();
    Count::new(scenario.model.over_layers(of_kind))
}

/// What of a sublayer's activations autograd keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeptInputs {
    /// Copies of the input of the first matrices, in the storage format: a frozen matrix needs none of it for a gradient,
    /// adapters do.
    pub first: f64,
    /// Copies of the input of the second matrix.
    pub second: f64,
    /// Copies of attention's output beside the one that its kernel keeps.
    pub beside_core: f64,
    /// Channels that adapters put between their matrices, in the storage format.
    pub ranks: f64,
}

/// Elements of an input in backward: both gradients are read, their sum is written.
const INPUT_PASSES: f64 = 3.0;

/// Launches of an adapter over those of a layer: two products, a scaling and a sum, of some forty kernels in an eager
/// Llama layer (seven products, two norms of eight, rotations of ten, attention, activation and sums).
const ADAPTER_LAUNCHES: f64 = 0.1;

impl Rates<'_> {
    /// What autograd keeps of the inputs of a sublayer's matrices; everything where they are trained.
    pub(super) fn kept_inputs(&self, kind: LayerKind, place: AdapterPlace) -> KeptInputs {
        if self.scenario.differentiated(kind) == Differentiated::All {
            return KeptInputs { first: 1.0, second: 1.0, beside_core: 0.0, ranks: 0.0 };
        }
        let all: Vec<Adapter> = adapters(self.scenario, kind).filter(|adapter| adapter.place == place).collect();
        let rank = f64::from(self.scenario.plan.tuning.rank);
        let met: f64 = all.iter().map(|adapter| adapter.active as f64).sum();
        let [first, second] = [true, false]
            .map(|by_columns| all.iter().filter(|adapter| adapter.by_columns == by_columns).count() as f64);
        // An input in the storage format serves all adapters, a cast one that which cast it.
        let (own, storage) = (self.adapter_bytes(), self.storage());
        let (share, is_shared) = (own / storage, own == storage);
        let copies = |adapters: f64| if is_shared { adapters.min(1.0) } else { adapters * share };
        let beside_core = if is_shared { 0.0 } else { copies(second) };
        KeptInputs { first: copies(first), second: copies(second), beside_core, ranks: rank * met * share }
    }

    /// Bytes per element of adapters and of what they compute.
    fn adapter_bytes(&self) -> Bytes {
        self.scenario.stack.adapter_format.map_or_else(|| self.storage(), |format| Bytes::new(format.bytes()))
    }

    /// Time of the adapters in a part of a layer: their two products, each with all gradients, and what scales the result
    /// and adds it to the frozen product.
    pub(super) fn adapter_times(&self, kind: LayerKind, place: AdapterPlace) -> PassTimes {
        let products = self.adapter_products(kind, place);
        products.into_iter().fold(PassTimes::default(), |sum, product| sum + self.adapter_time(product))
    }

    /// For each adapter in a part of a layer, the product of the matrix beside which it lies.
    pub(super) fn adapter_products(&self, kind: LayerKind, place: AdapterPlace) -> Vec<MatrixProduct> {
        if !self.scenario.plan.tuning.freezes() {
            return Vec::new();
        }
        let routed = self.scenario.model.mlps(kind).find(|mlps| mlps.routed).map(|mlps| self.mlp_products(&mlps));
        let product = |adapter: Adapter| match (&routed, place) {
            (Some([first, _]), AdapterPlace::Routed) if adapter.by_columns => {
                MatrixProduct { n: Count::from(adapter.matrix.output) / self.experts.tensor, ..*first }
            }
            (Some([_, second]), AdapterPlace::Routed) => *second,
            _ if adapter.replicated => self.replicated(adapter.matrix),
            _ if adapter.by_columns => self.column_parallel(adapter.matrix, self.tokens()),
            _ => self.row_parallel(adapter.matrix, self.tokens()),
        };
        adapters(self.scenario, kind).filter(|adapter| adapter.place == place).map(product).collect()
    }

    /// Time of the adapter beside a product.
    pub(super) fn adapter_time(&self, beside: MatrixProduct) -> PassTimes {
        let (storage, own) = (self.storage(), self.adapter_bytes());
        let cast = if own == storage { Bytes::ZERO } else { storage + own };
        let rate = match self.scenario.stack.adapter_format {
            Some(format) => format.peak(&self.scenario.cluster.device.peak) * (self.matmul_storage / self.peak_storage),
            None => self.matmul_storage,
        };
        // Libraries have tiles as narrow as a rank: no tile is counted that adapters would leave empty.
        let time = |MatrixProduct { m, n, k, groups }: MatrixProduct| {
            let [m, n, k] = [m, n, k].map(Count::get);
            let bytes = (m * k + k * n + m * n) * groups * own;
            DeviceTime::roofline(Flop::new(2.0 * m * n * k * groups) / rate, bytes / self.memory)
        };
        let [first, second] = self.low_rank(beside).map(|product| PassTimes::trained(product, time));
        let products = first + second;
        // The counts are those of kernels that run one by one; where they are fused, as much less as of all others.
        let fused = self.calibrated.element_wise.min(1.0);
        let moved = |elements: Count, each: Bytes| DeviceTime::traffic(elements * (fused * each) / self.memory);
        let [outputs, inputs] = [beside.n, beside.k].map(|width| beside.m * width.get() * beside.groups);
        // In forward the product is read and written scaled; then it and the frozen product are read and their sum is
        // written. In backward the gradient is read and written scaled.
        PassTimes {
            forward: products.forward + moved(outputs, 4.0 * own + storage + cast) + moved(inputs, cast),
            backward: products.backward
                + moved(outputs, 2.0 * own + cast)
                + moved(inputs, INPUT_PASSES * storage + cast),
            weights: products.weights,
        }
    }

    /// Both products of the adapter beside a product.
    pub(super) fn low_rank(&self, beside: MatrixProduct) -> [MatrixProduct; 2] {
        let rank = Count::from(self.scenario.plan.tuning.rank);
        [MatrixProduct { n: rank, ..beside }, MatrixProduct { k: rank, ..beside }]
    }

    /// Time to bring a product's frozen weights into the storage format, in every pass; none where products take them as
    /// they are.
    pub(super) fn dequantisation(&self, product: MatrixProduct) -> DeviceTime {
        let weights = product.n * product.k.get() * product.groups;
        match self.dequantised() {
            Some(each) => DeviceTime::traffic(weights * (each + self.storage()) / self.memory),
            None => DeviceTime::default(),
        }
    }

    /// Bytes of a frozen weight that has to be dequantised before a product takes it.
    pub(super) fn dequantised(&self) -> Option<Bytes> {
        let plan = &self.scenario.plan;
        let format = plan.tuning.frozen_format();
        let in_fp8 = plan.precision.linear().arithmetic == Format::Fp8;
        let taken = format == FrozenFormat::Bf16 || (format == FrozenFormat::Fp8 && in_fp8);
        (plan.tuning.freezes() && !taken).then(|| Bytes::new(format.bytes(self.storage().get())))
    }

    /// Bytes of the largest dequantised matrix of a layer of a kind on a rank.
    pub(super) fn dequantised_buffer(&self, kind: LayerKind) -> Bytes {
        if self.dequantised().is_none() {
            return Bytes::ZERO;
        }
        let model = &self.scenario.model;
        let of_mlps = model.mlps(kind).flat_map(|mlps| {
            let gates = if model.gated { 2 } else { 1 };
            [mlps.up.parameters() / gates, mlps.down.parameters()]
        });
        let largest =
            model.attention_inputs(kind).chain(model.projection(kind)).map(Matrix::parameters).chain(of_mlps).max();
        Count::from(largest.unwrap_or_default()) / f64::from(self.scenario.plan.tensor) * self.storage()
    }

    /// Launches of a layer over those without adapters.
    pub(super) fn adapter_launches(&self) -> f64 {
        if !self.scenario.plan.tuning.freezes() {
            return 1.0;
        }
        let model = &self.scenario.model;
        let each = |kind| adapters(self.scenario, kind).count() as f64;
        let most = model.kinds().map(|(kind, _)| each(kind)).fold(0.0, f64::max);
        1.0 + ADAPTER_LAUNCHES * most
    }
}
