//! Adapters and frozen matrices, beside them or alone: parameters, bytes, time. Not for what a plan trains
//! ([`crate::plan::Tuning`]).
//!
//! An adapter of rank `r` beside a matrix of `in` rows and `out` columns is two matrices, `in x r` and `r x out`, whose
//! product is added to that of the frozen matrix (Hu et al., arXiv 2106.09685, section 4.1).

use derive_more::{Add, Div, Mul, Sub};

use crate::model::{LayerKind, LayerMatrix, LayerPart, Matrix, MatrixRole, PartParameters};
use crate::plan::{Format, FrozenFormat, LoraTarget, Optimizer, OptimizerBytes, Plan};
use crate::scenario::{Differentiated, Scenario};
use crate::units::{Bytes, Count, Flop};

use super::device_time::{DeviceTime, PassTimes};
use super::matmul::MatrixProduct;
use super::piece::Piece;
use super::rates::Rates;

/// Parameters of some operators. Of a part of the model, what each tensor rank has whole counts once for each of them, so that
/// they divide the sum.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Sub, Mul, Div)]
pub struct Parameters {
    /// All weights, in elements of the storage format: frozen ones of fewer bits count by their bytes.
    pub weights: Count,
    /// Trained parameters: they have gradients and optimizer state.
    pub trained: Count,
    /// Parameters of matrices in layers: casts of these may be kept.
    pub linear: Count,
    /// Parameters that Muon updates, trained ones of matrices in layers; none under another optimizer.
    pub muon: Count,
}

impl Parameters {
    /// None.
    pub const NONE: Self = Self { weights: Count::ZERO, trained: Count::ZERO, linear: Count::ZERO, muon: Count::ZERO };

    /// The trained parameters of the whole model, each counted once, however many ranks hold it.
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

    /// Parameters of a piece that a layer has.
    pub fn piece(scenario: &Scenario, kind: LayerKind, piece: Piece) -> Self {
        let part = |part| {
            let adapters = adapters(scenario, kind).filter(|adapter| adapter.part == part);
            Self::new(scenario, !kind.frozen, scenario.model.part_parameters(kind, part), adapters)
        };
        match piece {
            Piece::Mixer => part(LayerPart::Mixer),
            Piece::Mlp => part(LayerPart::Plain) + part(LayerPart::Routed),
            Piece::Router => part(LayerPart::Plain),
            Piece::Experts => part(LayerPart::Routed),
        }
    }

    /// Parameters of the embedding.
    pub fn embedding(scenario: &Scenario) -> Self {
        let (all, whole) = (scenario.model.embedding_parameters(), scenario.model.position_parameters());
        Self::of_end(scenario, PartParameters { all, whole, ..PartParameters::default() }, scenario.trains_embedding())
    }

    /// Parameters of what comes behind the layers.
    pub fn head(scenario: &Scenario) -> Self {
        let (all, whole) = (scenario.model.head_parameters(), scenario.model.head_norm_parameters());
        Self::of_end(
            scenario,
            PartParameters { all, whole, ..PartParameters::default() },
            !scenario.frozen_ends().head(),
        )
    }

    /// Parameters outside the layers that tensor ranks divide, which keep the storage format, trained or not.
    pub fn outside(scenario: &Scenario, all: u64, trained: bool) -> Self {
        Self::of_end(scenario, PartParameters { all, ..PartParameters::default() }, trained)
    }

    fn of_end(scenario: &Scenario, all: PartParameters, trained: bool) -> Self {
        Self::new(scenario, trained, all, std::iter::empty())
    }

    /// Some parameters, trained or not, and the adapters beside them.
    fn new(
        scenario: &Scenario,
        trained: bool,
        PartParameters { all, weights, whole, whole_weights }: PartParameters,
        adapters: impl Iterator<Item = LayerMatrix>,
    ) -> Self {
        let tuning = &scenario.plan.tuning;
        let trained = trained && !scenario.plan.stands_beside;
        let tensor = u64::from(scenario.plan.tensor);
        let [all, matrices] = [all + (tensor - 1) * whole, weights + (tensor - 1) * whole_weights];
        if !tuning.freezes() {
            let [trained, muon] = if trained { [all, matrices] } else { [0, 0] };
            let muon = if scenario.plan.optimizer == Optimizer::Muon { muon } else { 0 };
            return Self { weights: all.into(), trained: trained.into(), linear: matrices.into(), muon: muon.into() };
        }
        let storage = scenario.plan.precision.storage().bytes();
        let copies = |one: &LayerMatrix| one.count * if one.whole { tensor } else { 1 };
        let trained = adapters.map(|one| Count::from(copies(&one) * adapter_parameters(&one, tuning.rank))).sum();
        let frozen = Count::from(matrices) * (tuning.frozen_format().bytes(storage) / storage);
        Self { weights: frozen + Count::from(all - matrices) + trained, trained, ..Self::NONE }
    }
}

/// The matrices of a layer of a kind beside which adapters lie; none where all parameters are trained. What a product joins has
/// an adapter for each target.
pub(super) fn adapters(scenario: &Scenario, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> {
    let (model, tuning) = (&scenario.model, &scenario.plan.tuning);
    let mut found = Vec::new();
    if !tuning.freezes() {
        return found.into_iter();
    }
    for one in model.matrices(kind) {
        let all = one.matrix.output;
        let targets: Vec<(LoraTarget, u64)> = match (one.part, one.role) {
            (LayerPart::Mixer, MatrixRole::Last) => vec![(LoraTarget::Projection, all)],
            // Its matrices have names of their own; a check holds that all of them are meant, or none.
            (LayerPart::Mixer, _) if model.latent.is_some() => vec![(LoraTarget::Query, all)],
            (LayerPart::Mixer, MatrixRole::Expansion) => Vec::new(),
            (LayerPart::Mixer, MatrixRole::First) => {
                let heads = model.heads(kind.mixer);
                let (queries, keys, values) = (heads.query_width(), heads.key_width(), heads.value_weights());
                vec![
                    (LoraTarget::Query, queries),
                    (LoraTarget::Key, keys),
                    (LoraTarget::Value, values),
                    (LoraTarget::QueryKeyValue, queries + keys + values),
                ]
            }
            (_, MatrixRole::Last) => vec![(LoraTarget::Down, all)],
            _ if model.gated => {
                vec![
                    (LoraTarget::Gate, all / one.joined),
                    (LoraTarget::Up, all / one.joined),
                    (LoraTarget::GateUp, all),
                ]
            }
            _ => vec![(LoraTarget::Up, all), (LoraTarget::GateUp, all)],
        };
        let given = targets.into_iter().filter(|(target, width)| tuning.targets.has(*target) && *width > 0);
        found.extend(given.map(|(_, output)| LayerMatrix { matrix: Matrix { output, ..one.matrix }, ..one }));
    }
    found.into_iter()
}

/// Parameters of adapters of a rank, one beside a matrix.
fn adapter_parameters(one: &LayerMatrix, rank: u32) -> u64 {
    u64::from(rank) * (one.matrix.input + one.matrix.output)
}

/// Parameters that a scenario trains; of a tied embedding once.
pub fn trained_parameters(scenario: &Scenario) -> u64 {
    let model = &scenario.model;
    if !scenario.plan.tuning.freezes() {
        return scenario.trained_in_full();
    }
    let rank = scenario.plan.tuning.rank;
    let of_kind = |kind| adapters(scenario, kind).map(|one| one.count * adapter_parameters(&one, rank)).sum::<u64>();
    model.kinds().map(|(kind, layers)| u64::from(layers) * of_kind(kind)).sum()
}

/// Parameters of adapters that take part in one token's arithmetic.
pub(super) fn active_adapters(scenario: &Scenario) -> Count {
    let rank = scenario.plan.tuning.rank;
    let of_kind = |kind| adapters(scenario, kind).map(|one| (one.active * adapter_parameters(&one, rank)) as f64).sum();
    Count::new(scenario.model.over_layers(of_kind))
}

/// Copies of the inputs of a part's matrices that autograd keeps for backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeptInputs {
    /// Copies of the input of the first matrices, in the storage format: a frozen matrix needs none of it for a gradient,
    /// adapters do. A mask of dropout counts by its bytes.
    pub first: f64,
    /// Copies of the input of the second matrix.
    pub second: f64,
    /// Copies of attention's output beside the one that its kernel keeps.
    pub beside_core: f64,
}

/// Elements of an input in backward: both gradients are read, their sum is written.
const INPUT_PASSES: f64 = 3.0;

/// Launches of an adapter over those of a layer: two products, a scaling and a sum, of some forty kernels in an eager
/// Llama layer (seven products, two norms of eight, rotations of ten, attention, activation and sums).
const ADAPTER_LAUNCHES: f64 = 0.1;

/// Launches more where an adapter drops a part of its input: one of the same forty.
const DROPOUT_LAUNCHES: f64 = 0.025;

/// Bytes of a mask of dropout for each number (`native_dropout` of `aten/src/ATen/native/cuda/Dropout.cu` has a mask of booleans).
const DROPOUT_MASK: Bytes = Bytes::new(1.0);

impl Rates<'_> {
    /// The inputs of a part's matrices that autograd keeps; all of them where the matrices are trained.
    pub(super) fn kept_inputs(&self, kind: LayerKind, part: LayerPart) -> KeptInputs {
        if self.scenario.differentiated(kind) == Differentiated::All {
            return KeptInputs { first: 1.0, second: 1.0, beside_core: 0.0 };
        }
        let all: Vec<LayerMatrix> = adapters(self.scenario, kind).filter(|one| one.part == part).collect();
        let [second, first] =
            [true, false].map(|last| all.iter().filter(|one| (one.role == MatrixRole::Last) == last).count() as f64);
        // An input in the storage format serves all adapters, a cast one that which cast it, and what is left after dropout, with
        // its mask, that which dropped the rest.
        let (own, storage, drops) = (self.adapter_bytes(), self.storage(), self.scenario.plan.tuning.drops());
        let mask = if drops { DROPOUT_MASK } else { Bytes::ZERO };
        let (share, is_shared) = ((own + mask) / storage, own == storage && !drops);
        let frozen = if self.keeps_frozen_inputs() { 1.0 } else { 0.0_f64 };
        let copies = |adapters: f64| if is_shared { adapters.min(1.0).max(frozen) } else { adapters * share + frozen };
        // What attention puts out is kept in the storage format already.
        let beside_core = if is_shared { 0.0 } else { copies(second) - frozen };
        KeptInputs { first: copies(first), second: copies(second), beside_core }
    }

    /// Whether products by frozen weights keep their input in the storage format.
    fn keeps_frozen_inputs(&self) -> bool {
        let format = self.scenario.plan.tuning.frozen_format();
        let quantised = format == FrozenFormat::Int8 || format.has_four_bits();
        self.scenario.stack.keeps_frozen_inputs && quantised
    }

    /// Bytes of a frozen weight's cast that a product keeps for backward: of weights in fp32, which autocast casts each time,
    /// keeping the casts of trained weights alone (`cached_cast` of `aten/src/ATen/autocast_mode.cpp`).
    pub(super) fn kept_cast(&self) -> Bytes {
        let whole = self.scenario.plan.tuning.frozen_format() == FrozenFormat::Fp32;
        if whole && self.dequantised().is_some() { self.storage() } else { Bytes::ZERO }
    }

    /// Bytes per element of adapters and of what they compute.
    pub(super) fn adapter_bytes(&self) -> Bytes {
        self.scenario.stack.adapter_format.map_or_else(|| self.storage(), |format| Bytes::new(format.bytes()))
    }

    /// Time of the adapter beside a product: its two products, each with all gradients, and what scales the result and adds it
    /// to the frozen product.
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
        // Dropout reads the input and writes what is left and the mask, and as much of its gradient.
        let dropped = if self.scenario.plan.tuning.drops() { 2.0 * own + DROPOUT_MASK } else { Bytes::ZERO };
        let [outputs, inputs] = [beside.n, beside.k].map(|width| beside.m * width.get() * beside.groups);
        // In forward the product is read and written scaled; then it and the frozen product are read and their sum is
        // written. In backward the gradient is read and written scaled.
        PassTimes {
            forward: products.forward + moved(outputs, 4.0 * own + storage + cast) + moved(inputs, cast + dropped),
            backward: products.backward
                + moved(outputs, 2.0 * own + cast)
                + moved(inputs, INPUT_PASSES * storage + cast + dropped),
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
        let Some(each) = self.dequantised() else { return DeviceTime::default() };
        let has_four_bits = self.scenario.plan.tuning.frozen_format().has_four_bits();
        let share = if has_four_bits { self.calibrated.software.dequantisation } else { 1.0 };
        DeviceTime::traffic(weights * (each + self.storage()) / (self.memory * share))
    }

    /// Bytes of a frozen weight that has to be dequantised before a product takes it.
    pub(super) fn dequantised(&self) -> Option<Bytes> {
        let plan = &self.scenario.plan;
        let format = plan.tuning.frozen_format();
        let in_fp8 = plan.precision.linear().arithmetic == Format::Fp8;
        let whole = format == FrozenFormat::Fp32 && plan.precision.storage() == Format::Fp32;
        let taken = whole || format == FrozenFormat::Bf16 || (format == FrozenFormat::Fp8 && in_fp8);
        (plan.tuning.freezes() && !taken).then(|| Bytes::new(format.bytes(self.storage().get())))
    }

    /// Bytes of the largest dequantised matrix of a layer of a kind on a rank.
    pub(super) fn dequantised_buffer(&self, kind: LayerKind) -> Bytes {
        if self.dequantised().is_none() {
            return Bytes::ZERO;
        }
        let each = |one: LayerMatrix| one.matrix.parameters() / one.joined;
        let largest = self.scenario.model.matrices(kind).map(each).max();
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
        let dropout = if self.scenario.plan.tuning.drops() { DROPOUT_LAUNCHES } else { 0.0 };
        1.0 + (ADAPTER_LAUNCHES + dropout) * most
    }
}
