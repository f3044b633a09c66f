//! Device time of a layer, of embedding and head, and of the optimizer.

use crate::model::LayerKind;
use crate::plan::pass::{Pass, PerDirection};
use crate::plan::{CudaGraphs, Ema, NumberFormat, Plan, Precision};
use crate::scenario::{Differentiated, Layout};
use crate::stack::{Attention, Software, TensorDivision};
use crate::units::{Bytes, Count, Flop, FlopPerSecond, Seconds};

use super::adapters::Parameters;
use super::device_time::{DeviceTime, PassTimes};
use super::matmul::MatrixProduct;
use super::operator::OperatorWork;
use super::piece::{PerPiece, Piece};
use super::rates::Rates;

/// Device time of one layer for one micro-batch, by piece: tensor parallelism meets between them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LayerWork {
    /// Forward.
    pub forward: PerPiece<DeviceTime>,
    /// Backward, recompute apart.
    pub backward: PerPiece<DeviceTime>,
    /// Part of backward: the gradients of weights, as in [`PassTimes::weights`].
    pub weights: PerPiece<DeviceTime>,
    /// Part of each forward that selective recompute repeats.
    pub selective: PerPiece<DeviceTime>,
}

impl LayerWork {
    /// Device time of one pass over a piece.
    pub fn work(&self, piece: Piece, pass: Pass) -> DeviceTime {
        let [forward, backward, weights] = [&self.forward, &self.backward, &self.weights].map(|each| each[piece]);
        PassTimes { forward, backward, weights }.work(pass)
    }
}

/// Host time of a layer whose softmax falls apart into scale, mask and softmax over that of the fused
/// kernel: from vTrain's rows (MICRO 2024) with tensor 8, which fall behind those with tensor 4 by that much.
const UNFUSED_LAUNCHES: f64 = 1.3;

/// Host time of a tensor's slice that one rank has: it is cut out before the reduction and copied to its buffer, and the
/// same after the gather (`reduce_scatter_coalesced` and `all_gather_coalesced` in nanotron's `distributed.py`). Four
/// operations of PyTorch, of 5 us as launches are.
const SLICE: Seconds = Seconds::new(4.0 * 5e-6);

/// Host time of forward for the bias of each expert of a rank where kernels of their own add them: 12 launches of 5 us in both passes
/// of which backward makes one and a half times as many as forward.
const EXPERT_BIAS: Seconds = Seconds::new(12.0 * 5e-6 / 2.5);

/// Element-wise traffic of backward over that of forward.
const BACKWARD_TRAFFIC: f64 = 1.5;

impl Rates<'_> {
    /// Tokens of one micro-batch on one rank.
    pub fn tokens(&self) -> Count {
        let plan = &self.scenario.plan;
        Count::from(plan.sequences_at_once()) * f64::from(plan.sequence) / f64::from(plan.context)
    }

    /// Those of them that have logits.
    pub(in crate::cost) fn tokens_with_logits(&self) -> Count {
        let plan = &self.scenario.plan;
        self.tokens() * (f64::from(plan.tokens_with_logits()) / f64::from(plan.sequence))
    }

    /// Bytes per element of weights and activations.
    pub fn storage(&self) -> Bytes {
        Bytes::new(self.scenario.plan.precision.storage().bytes())
    }

    /// The numbers that linear layers multiply.
    pub(crate) fn linear_format(&self) -> NumberFormat {
        let own = self.scenario.stack.fp8.unwrap_or(Precision::Fp8Delayed);
        match self.scenario.plan.precision {
            Precision::Fp8 => own.linear(),
            precision => precision.linear(),
        }
    }

    /// Whether casts of linear layers' factors are kept. Frozen matrices have a format of their own, and adapters compute in
    /// the storage format.
    fn keeps_casts(&self) -> bool {
        let Plan { precision, tuning, .. } = &self.scenario.plan;
        precision.is_low() && self.scenario.stack.keeps_casts && !tuning.freezes()
    }

    /// Bytes per number of a linear layer's input that is kept for backward.
    pub(crate) fn kept_input(&self) -> Bytes {
        if self.keeps_casts() { Bytes::new(self.linear_format().activation()) } else { self.storage() }
    }

    /// Bytes per weight of a linear layer's casts beside it, less the weight's own where they replace it. Forward and
    /// backward read it along different dimensions: where blocks share scales each is a cast of its own, and units that do
    /// not scale blocks want a transposed copy. Weights that are gathered are cast anew.
    pub(crate) fn weight_casts(&self, layout: &Layout) -> Bytes {
        if !self.keeps_casts() || layout.weights > 1 || self.scenario.plan.offload.state() {
            return Bytes::ZERO;
        }
        let format = self.linear_format();
        let alike = format.block.is_none() && self.scenario.cluster.device.peak.scale_blocks();
        let casts = Bytes::new(format.weight()) * if alike { 1.0 } else { 2.0 };
        if self.scenario.stack.casts_replace_weights { casts - self.storage() } else { casts }
    }

    /// Tensor ranks that share the residual stream between the matrices: all with sequence parallelism, else 1.
    pub(crate) fn sequence_ranks(&self) -> u32 {
        if self.scenario.stack.sequence_parallel { self.scenario.plan.tensor } else { 1 }
    }

    /// Device time of one layer of a kind, one micro-batch.
    pub fn layer(&self, kind: LayerKind) -> LayerWork {
        self.sliced_layer(kind, PerPiece::all(1))
    }

    /// One layer whose matrices are cut into slices along their inner dimension [osdp C5]: thinner products, and
    /// additions of their outputs in forward.
    pub(crate) fn sliced_layer(&self, kind: LayerKind, slices: PerPiece<u32>) -> LayerWork {
        let of = self.scenario.differentiated(kind);
        let mut all = LayerWork::default();
        self.operators(kind, |one| {
            let piece = self.piece_of(kind, one.part);
            let PassTimes { forward, backward, weights } = self.operator_times(kind, of, &one.work, slices[piece]);
            all.forward[piece] += forward;
            if of != Differentiated::Nothing {
                all.backward[piece] += backward;
                if one.always_repeated {
                    all.backward[piece] += forward;
                }
                all.weights[piece] += weights;
                all.selective[piece] += forward * one.repeated.get();
            }
        });
        all
    }

    /// Forward and backward of an operator of a layer of a kind, its matrix in slices.
    pub(super) fn operator_times(
        &self,
        kind: LayerKind,
        of: Differentiated,
        work: &OperatorWork,
        slices: u32,
    ) -> PassTimes {
        let sequences = self.scenario.plan.sequences_at_once();
        match *work {
            OperatorWork::Product(product) if slices > 1 => self.sliced(of, product, slices.into()),
            OperatorWork::Product(product) => self.passes(of, product, self.matmul),
            OperatorWork::Dequantisation(product) => {
                let weights = self.dequantisation(product);
                PassTimes::of_inputs(weights, weights)
            }
            OperatorWork::Adapter(beside) => self.adapter_time(beside),
            OperatorWork::Scores(product) => self.router_scores(of, product),
            // The core has no weights: its backward is of inputs alone, and nothing of it can be put off.
            OperatorWork::Core => self.core(kind, sequences),
            OperatorWork::Indexer => self.indexer(kind, sequences),
            OperatorWork::Stream(forward) => PassTimes::of_inputs(forward, forward * BACKWARD_TRAFFIC),
            OperatorWork::Passes(PerDirection { forward, backward }) => PassTimes::of_inputs(forward, backward),
        }
    }

    /// A product in slices along `k`: each output but the first is read with the sum and written to it.
    fn sliced(&self, of: Differentiated, product: MatrixProduct, slices: f64) -> PassTimes {
        // A slice has a part of the inner dimension: each gives a whole output, and these have to be added up. Adding
        // one reads two and writes one.
        let slice = self.passes(of, MatrixProduct { k: product.k / slices, ..product }, self.matmul) * slices;
        let outputs = 3.0 * (slices - 1.0) * product.m.get() * product.n.get() * product.groups;
        let additions = DeviceTime::traffic(outputs * self.storage() / self.memory);
        PassTimes { forward: slice.forward + additions, ..slice }
    }

    /// Forward and backward of a product of activations by weights of which backward computes some gradients.
    pub(super) fn passes(&self, of: Differentiated, product: MatrixProduct, rate: FlopPerSecond) -> PassTimes {
        PassTimes::differentiated(of, product, |product| self.product(product, rate, self.storage()))
    }

    /// Forward and backward of the embedding: a row read and written per token, and its gradient added. What puts gradients
    /// of weights off knows linear layers only (`WeightGradStore` of sail-sg/zero-bubble-pipeline-parallelism), so that none
    /// of it is counted as such.
    pub fn embedding(&self) -> PassTimes {
        let bytes = self.tokens() * f64::from(self.scenario.model.hidden) * self.storage();
        // Forward reads rows and writes them; backward reads a gradient, and adds it to a row that is read and written.
        let pass = DeviceTime::traffic(bytes / self.memory);
        let backward = if self.scenario.trains_embedding() { 3.0 } else { 0.0 };
        PassTimes::of_inputs(pass * 2.0, pass * backward)
    }

    /// The update of local parameters, and what Muon computes, ranks that share the state having whole matrices of it each.
    pub fn optimizer(&self, parameters: Parameters) -> DeviceTime {
        let Parameters { trained, muon, .. } = parameters;
        let beside = self.moved_by_update(Bytes::new(self.scenario.plan.state_beside_muon()));
        let bytes = (trained - muon) * beside + muon * self.update_bytes();
        DeviceTime::traffic(bytes * self.calibrated.software.optimizer_traffic / self.memory)
            + DeviceTime::arithmetic(self.orthogonalisation(muon) / self.matmul_storage)
    }

    /// Bytes that an update by the plan's optimizer moves for each parameter.
    pub fn update_bytes(&self) -> Bytes {
        self.moved_by_update(Bytes::new(self.scenario.plan.optimizer_state()))
    }

    /// Bytes that an update moves for a parameter with some bytes of state: these are read and written, a gradient read and a
    /// weight written, which is read too where no copy of it is. Adam on bf16 weights: 2 x 12 + 2 + 2 = 28. Where an average
    /// is among the state, it is taken of the updated weights, read once more; where no norm is taken, gradients are read once
    /// less than in the steps that all constants were fitted to.
    pub fn moved_by_update(&self, state: Bytes) -> Bytes {
        let plan = &self.scenario.plan;
        let passes = if plan.copies_weights() { 2.0 } else { 3.0 };
        let averaged = if plan.ema == Ema::Device { plan.updated_weight() } else { 0.0 };
        state * 2.0 + Bytes::new(passes * plan.precision.storage().bytes() + averaged) - self.read_for_norm()
    }

    /// Bytes of a gradient that an update without clipping does not read.
    pub(crate) fn read_for_norm(&self) -> Bytes {
        if self.scenario.plan.clip_norm { Bytes::ZERO } else { self.gradient() }
    }

    /// Flop with which Muon makes the updates of so many weights of matrices orthogonal.
    pub fn orthogonalisation(&self, muon: Count) -> Flop {
        let model = &self.scenario.model;
        if muon == Count::ZERO {
            return Flop::ZERO;
        }
        let (_, weights) = model.layer_matrices();
        model.orthogonalisation_flop() * (muon / Count::new(weights))
    }

    /// Reading and writing `bytes` of device memory: what quantising and dequantising cost.
    pub(crate) fn memory_pass(&self, bytes: Bytes) -> Seconds {
        bytes / self.memory
    }

    /// Time of the host to launch one layer's forward: more of it where softmax is not fused.
    pub(crate) fn host_layer(&self) -> Seconds {
        let unfused = self.attention == Attention::Plain && self.scenario.attention() == Attention::FusedSoftmax;
        let launches = if unfused { UNFUSED_LAUNCHES } else { 1.0 } * self.adapter_launches();
        self.calibrated.runtime.layer * (launches / self.calibrated.software.host)
    }

    /// Whether layers of a kind have a piece.
    pub(crate) fn has(&self, piece: Piece, kind: LayerKind) -> bool {
        let own_mesh = self.has_expert_mesh(kind);
        match piece {
            Piece::Mixer => kind.has_mixer(),
            Piece::Mlp => kind.has_mlp() && !own_mesh,
            Piece::Router | Piece::Experts => own_mesh,
        }
    }

    /// Time of the host to launch forward of a piece of a layer of a kind, half of the layer's: none where a graph replays it.
    /// A router's launches are among those of its experts.
    pub(crate) fn host_piece(&self, piece: Piece, kind: LayerKind) -> Seconds {
        let replayed = match self.scenario.plan.cuda_graphs {
            CudaGraphs::None => false,
            CudaGraphs::Layer => piece == Piece::Mixer || !kind.has_experts(),
            CudaGraphs::Full => true,
        };
        if replayed || piece == Piece::Router || !self.has(piece, kind) {
            return Seconds::ZERO;
        }
        let has_experts = piece != Piece::Mixer && kind.has_experts();
        self.host_layer() / 2.0 + if has_experts { self.host_experts() } else { Seconds::ZERO }
    }

    /// Time of the host to launch forward of a layer's experts, beside that of the layer.
    fn host_experts(&self) -> Seconds {
        let runtime = self.calibrated.runtime;
        let here = self.scenario.model.experts.map_or(0.0, |experts| f64::from(experts.count) / self.experts.ranks);
        let casts = if self.scenario.plan.precision.is_low() { runtime.each_expert } else { Seconds::ZERO };
        let biases = if self.scenario.stack.unfused_expert_biases && self.scenario.model.biases().mlp {
            EXPERT_BIAS
        } else {
            Seconds::ZERO
        };
        (runtime.experts + (casts + biases) * here) / self.calibrated.software.host
    }

    /// Fixed time of the host for a micro-batch.
    pub(crate) fn host_micro_batch(&self) -> Seconds {
        let replayed = self.scenario.plan.cuda_graphs == CudaGraphs::Full;
        let Software { micro_batch, host, .. } = *self.calibrated.software;
        if replayed { Seconds::ZERO } else { micro_batch / host }
    }

    /// Fixed time of a step for a state that `shards` ranks share.
    pub(crate) fn host_step(&self, shards: u32) -> Seconds {
        let shards = if shards > 1 { f64::from(shards) } else { 0.0 };
        let slices = self.divided_tensors(TensorDivision::Sliced).unwrap_or_default() * shards;
        self.calibrated.runtime.step / self.calibrated.software.host
            + self.calibrated.runtime.step_per_shard * shards
            + SLICE * slices.get()
    }

    /// Tensors of the layers' parameters on a rank, if they are what divides the optimizer's state.
    pub(crate) fn divided_tensors(&self, divided: TensorDivision) -> Option<Count> {
        let division = self.scenario.stack.division.filter(|division| division.tensors == divided)?;
        let layers = f64::from(self.scenario.model.all_layers()) / f64::from(self.scenario.plan.pipeline);
        Some(Count::new(layers * division.per_layer))
    }

    /// How long `device` time takes when the host needs `host` to launch it: the soft maximum
    /// `(device^e + host^e)^(1/e)`.
    pub(crate) fn launch_bound(&self, device: Seconds, host: Seconds) -> Seconds {
        let exponent = self.calibrated.software.host_exponent;
        // Divided by the larger, so that no power overflows.
        let (larger, smaller) = if device > host { (device, host) } else { (host, device) };
        if smaller <= Seconds::ZERO {
            return larger;
        }
        larger * libm::pow(1.0 + libm::pow(smaller / larger, exponent), 1.0 / exponent)
    }
}
