//! How a job is laid out: mesh, sharding extents, batch, formats, recompute. No costs.

mod batch;
mod choice;
mod context;
mod experts;
mod extent;
mod loss;
mod modules;
mod operators;
pub mod pass;
mod post_training;
mod precision;
mod schedule;
mod stages;
mod tuning;

use serde::{Deserialize, Serialize};

use crate::model::LayerKind;
use crate::units::{Bytes, Money, Share};

pub use batch::GlobalBatch;
pub use choice::{
    Accumulation, AttentionKernel, Compile, CudaGraphs, Ema, FlopCount, Format, GradientFormat, MasterWeights, Moments,
    Offload, OneOf, Operator, Optimizer, Recompute, Reduction, Word, Words,
};
pub use context::{ContextKind, ContextMesh};
pub use experts::{Capacity, DispatchFormats, Dispatcher, ExpertMesh, Imbalance};
pub use extent::{Extent, Sharded};
pub use loss::{KeptOfChunk, LossChunk, LossFormat, LossKind};
pub use modules::{HostModule, HostModules, Module, ModuleSet, NamedModule, RecomputeModules};
pub use operators::{Extents, Layers, Placement, Site};
pub use post_training::{
    BesideModel, Logits, OtherModel, Padding, PostMethod, PostTraining, RolloutLayout, Rollouts, TrainerOffload,
};
pub use precision::{Block, NumberFormat, Precision};
pub use schedule::Schedule;
pub use schedule::ScheduleRules;
#[cfg(any(test, feature = "testing"))]
pub(crate) use schedule::zero_bubble;
pub use stages::StageSizes;
pub use tuning::{FrozenEnds, FrozenFormat, LoraTarget, LoraTargets, TrainMethod, Tuning};

/// A way of placing the model's state, as data: DDP, ZeRO, FSDP, HSDP, ZeRO++ and Frontier's three
/// levels differ in nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strategy {
    /// Version of the file format.
    pub format: u32,
    /// The id that `--strategy` takes.
    #[serde(default)]
    pub id: String,
    /// The name that people use.
    pub name: String,
    /// Its effect, in a sentence.
    pub about: String,
    /// Where it was published.
    pub source: String,
    /// The choice itself.
    pub sharding: Sharding,
}

/// Over how many ranks each part of the state is sharded, and in which formats it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sharding {
    /// Extent of the weights' shards.
    pub weights: Extent,
    /// Extent over which gradients are sharded; at least that of the weights.
    pub gradients: Extent,
    /// Extent over which optimizer state is sharded; at least that of the gradients.
    pub optimizer: Extent,
    /// A second copy of the weights from which backward gathers, if any (`hpZ` of ZeRO++).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary: Option<Secondary>,
    /// Formats on the wire.
    pub wire: Wire,
    /// Whether gathered weights are freed after forward and gathered again for backward.
    #[serde(default = "yes")]
    pub reshard_after_forward: bool,
    /// Whether gradients are reduced by all-to-all inside the node and then across nodes (`qgZ` of ZeRO++).
    #[serde(default)]
    pub two_hop_gradients: bool,
    /// Whether the replicas of a shard sum its gradients at each micro-batch, and not once a step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_each_micro_batch: bool,
}

/// A second, closer copy of the weights, alive between a micro-batch's forward and its backward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secondary {
    /// Extent of its shards.
    pub extent: Extent,
    /// Format in which it is kept and gathered.
    pub format: Format,
}

/// Formats on the wire; a quantised one carries one 32-bit scale per `block` elements, a 16-bit one is
/// that of the precision ([`Precision::wire`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// Gathered weights.
    pub weights: Format,
    /// Reduced gradients.
    pub gradients: Format,
    /// Gradients and weights exchanged once per step, at the optimizer's boundary.
    pub boundary: Format,
    /// Elements per scale of a quantised format.
    #[serde(default = "default_block")]
    pub block: u32,
}

fn yes() -> bool {
    true
}

/// `DeepSpeed` quantises weights in blocks of a little under 8,000 elements [frontier D4].
fn default_block() -> u32 {
    8000
}

/// How many devices the job has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Whole nodes.
    Nodes(u32),
    /// Devices, the first ones of the first node first.
    Devices(u32),
}

/// A job: where it runs, how its state is placed and how a step is cut into work.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, free of the others")]
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Devices.
    pub size: Size,
    /// Placement of the state.
    pub sharding: Sharding,
    /// Operators whose state lies elsewhere; the last entry that names one decides.
    pub operators: Vec<Placement>,
    /// Ranks that share each matrix (tensor parallelism with sequence parallelism).
    pub tensor: u32,
    /// Ranks that share each sequence.
    pub context: u32,
    /// What they send one another for attention.
    pub context_kind: ContextKind,
    /// Those of them that exchange heads where others pass keys around; as many as keys allow where it is not said.
    pub context_heads: Option<u32>,
    /// The kernel of attention.
    pub attention_kernel: AttentionKernel,
    /// Pipeline ranks.
    pub pipeline: u32,
    /// How experts are spread over ranks.
    pub experts: ExpertMesh,
    /// Pipeline schedule.
    pub schedule: Schedule,
    /// Stages on each pipeline rank.
    pub stages_per_rank: u32,
    /// Layers of each stage.
    pub stage_layers: StageSizes,
    /// Examples per data-parallel rank and micro-batch: a sequence each, or two where they are pairs
    /// ([`Self::sequences_each`]).
    pub micro_batch: u32,
    /// Micro-batches per optimizer step.
    pub accumulate: u32,
    /// The size of a step's batch; where it is held, `accumulate` follows from it.
    pub global_batch: GlobalBatch,
    /// Order in which micro-batches and layers are visited.
    pub accumulation: Accumulation,
    /// Tokens per sequence.
    pub sequence: u32,
    /// Number formats of weights, activations and arithmetic.
    pub precision: Precision,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// The format of its moments.
    pub moments: Moments,
    /// The format of the copy of weights that it updates.
    pub master_weights: MasterWeights,
    /// The format of gradients; as the stack has it where it is not said.
    pub gradients: Option<GradientFormat>,
    /// Whether gradients are clipped by their norm, as in all steps that constants were fitted to.
    pub clip_norm: bool,
    /// The place of averaged weights.
    pub ema: Ema,
    /// The part of the model that is trained.
    pub tuning: Tuning,
    /// What is trained after pre-training.
    pub post_training: PostTraining,
    /// Whether its model stands beside the one that is trained: it is passed forward alone, and nothing of it is updated
    /// ([`crate::scenario::Scenario::beside`]). No file says it.
    pub stands_beside: bool,
    /// Activation checkpointing: the part of forward that backward computes again.
    pub recompute: Recompute,
    /// Modules that selective recompute repeats.
    pub recompute_modules: RecomputeModules,
    /// Parts of a micro-batch's tokens whose MLP is computed one after the other, and from its input once more in backward; 1
    /// computes it at once.
    pub mlp_tiles: u32,
    /// How the head's product and the loss are computed ([`crate::scenario::Scenario::loss`]).
    pub loss: LossKind,
    /// Tokens that a loss in chunks takes at a time; as the stack has it where it is not said.
    pub loss_chunk: Option<u32>,
    /// The format of the head's product and of the loss; as the stack has it where it is not said.
    pub loss_format: Option<LossFormat>,
    /// State and checkpoints offloaded to host memory.
    pub offload: Offload,
    /// Modules of a layer whose inputs the host keeps until backward.
    pub offload_modules: HostModules,
    /// The share of an offloaded optimizer that is on the host, which updates it there; the device keeps and updates the
    /// rest (Twin-Flow of `DeepSpeed`'s ZeRO-Offload++).
    pub offload_ratio: Share,
    /// Whether gradients and weights cross the link while the host updates, tensor by tensor (Megatron-LM,
    /// `megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py`, `overlap_cpu_optimizer_d2h_h2d`).
    pub offload_overlap: bool,
    /// Threads of the host with which each rank updates an offloaded state (`OMP_NUM_THREADS`), where they are known
    /// ([`crate::scenario::Scenario::host_threads`]).
    pub host_threads: Option<u32>,
    /// Whether the program page-locks what it copies to and from on the host; the host must let it
    /// ([`crate::scenario::Scenario::pins_host`]).
    pub host_pinned: bool,
    /// Whether moments are in pages that leave the device when it is full and come back for the update, all of them where
    /// not all have room.
    pub paged_optimizer: bool,
    /// Whether attention keeps to each of the examples that are packed into a sequence.
    pub examples_apart: bool,
    /// Whether matrix products that tensor ranks share are cut into pieces, so that their collectives run beside them.
    pub tensor_overlap: bool,
    /// The part of a step whose kernels the host does not launch one by one.
    pub cuda_graphs: CudaGraphs,
    /// What `torch.compile` fuses.
    pub compile: Compile,
    /// When gradients are reduced.
    pub reduction: Reduction,
    /// How many gathers may run ahead of the unit that computes.
    pub prefetch: u32,
    /// Training length in tokens, for days and device-hours; [`Self::length`] also takes that of `examples`.
    pub tokens: Option<f64>,
    /// Examples of the training data, which give the length where `tokens` does not.
    pub examples: Option<u32>,
    /// Times that the training passes over them.
    pub epochs: u32,
    /// Mean tokens of an example where several fill a sequence; without it each has a sequence of its own.
    pub packing: Option<u32>,
    /// The convention for model flop.
    pub flop_count: FlopCount,
    /// What-if factor on the outermost level's bandwidth.
    pub bandwidth_factor: f64,
    /// What-if factor on the device's memory.
    pub memory_factor: f64,
    /// Price of a device-hour, where it is not the cluster's ([`crate::scenario::Scenario::price`]).
    pub price: Option<Money>,
}

/// Bytes of what an optimizer keeps of each parameter that it updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimizerBytes {
    /// Master weights, of more bits than the weights.
    pub master: Bytes,
    /// Moments.
    pub moments: Bytes,
    /// An average of the weights, wherever it lies.
    pub average: Bytes,
}

impl OptimizerBytes {
    /// All of it.
    pub const fn total(&self) -> Bytes {
        Bytes::new(self.master.get() + self.moments.get() + self.average.get())
    }
}

impl Plan {
    /// What the optimizer keeps of each weight of a layer's matrices. Adam on bf16 weights: 4 of a master weight and 8 of two
    /// moments.
    pub const fn state_of_matrices(&self) -> OptimizerBytes {
        self.state_with(self.optimizer)
    }

    /// Tiles of the MLP in layers of a kind: routers and their experts take all tokens at once.
    pub const fn mlp_tiles_in(&self, kind: LayerKind) -> u32 {
        if kind.has_mlp() && !kind.has_experts() { self.mlp_tiles } else { 1 }
    }

    /// The same of embedding, logits, norms and biases, which Muon leaves to Adam (KellerJordan/Muon, README: "only the internal
    /// >=2D parameters"). Any other optimizer leaves nothing.
    pub const fn state_beside_matrices(&self) -> OptimizerBytes {
        self.state_with(if matches!(self.optimizer, Optimizer::Muon) { Optimizer::Adam } else { self.optimizer })
    }

    const fn state_with(&self, optimizer: Optimizer) -> OptimizerBytes {
        OptimizerBytes {
            master: Bytes::new(if self.copies_weights() { 4.0 } else { 0.0 }),
            moments: Bytes::new(optimizer.moments(self.moments)),
            average: Bytes::new(if matches!(self.ema, Ema::None) { 0.0 } else { self.updated_weight() }),
        }
    }

    /// Bytes of optimizer state per parameter: moments, fp32 master weights beside weights of fewer bits, and averaged weights
    /// that lie with them. Adam on bf16 weights: 4 + 4 + 4 = 12 [fsdp A2], with moments in bf16 4 + 2 + 2 = 8, without master
    /// weights either 4.
    pub const fn optimizer_state(&self) -> f64 {
        self.together(self.state_of_matrices())
    }

    /// The same for what Muon leaves to Adam.
    pub const fn state_beside_muon(&self) -> f64 {
        self.together(self.state_beside_matrices())
    }

    /// Bytes of what lies with the optimizer: an average on the host does not.
    const fn together(&self, OptimizerBytes { master, moments, average }: OptimizerBytes) -> f64 {
        let average = if matches!(self.ema, Ema::Device) { average.get() } else { 0.0 };
        master.get() + moments.get() + average
    }

    /// Bytes of a weight as the optimizer updates it.
    pub(crate) const fn updated_weight(&self) -> f64 {
        if self.copies_weights() { 4.0 } else { self.precision.storage().bytes() }
    }

    /// Whether the optimizer updates a copy of the weights that has more bits than they have.
    pub const fn copies_weights(&self) -> bool {
        matches!(self.master_weights, MasterWeights::Fp32) && !matches!(self.precision.storage(), Format::Fp32)
    }

    /// The share of the optimizer's state that is on the host.
    pub fn optimizer_on_host(&self) -> f64 {
        if self.offload.optimizer() { self.offload_ratio.get() } else { 0.0 }
    }

    /// Units whose gathers run ahead, unless somebody says otherwise.
    pub const USUAL_PREFETCH: u32 = 1;

    /// The plan that a scenario starts from: one node, one sequence at a time.
    pub fn new(sharding: Sharding, sequence: u32) -> Self {
        Self {
            size: Size::Nodes(1),
            sharding,
            operators: Vec::new(),
            tensor: 1,
            context: 1,
            context_kind: ContextKind::Stack,
            context_heads: None,
            attention_kernel: AttentionKernel::Stack,
            pipeline: 1,
            experts: ExpertMesh::default(),
            schedule: Schedule::USUAL,
            stages_per_rank: 1,
            stage_layers: StageSizes::Balanced,
            micro_batch: 1,
            accumulate: 1,
            global_batch: GlobalBatch::Free,
            accumulation: Accumulation::Standard,
            sequence,
            precision: Precision::Bf16,
            optimizer: Optimizer::Adam,
            moments: Moments::Fp32,
            master_weights: MasterWeights::Fp32,
            gradients: None,
            clip_norm: true,
            ema: Ema::None,
            tuning: Tuning::default(),
            post_training: PostTraining::default(),
            stands_beside: false,
            recompute: Recompute::None,
            recompute_modules: RecomputeModules::OF_STACK,
            mlp_tiles: 1,
            loss: LossKind::Stack,
            loss_chunk: None,
            loss_format: None,
            offload: Offload::None,
            offload_modules: HostModules::NONE,
            offload_ratio: Share::new(1.0),
            offload_overlap: false,
            host_threads: None,
            host_pinned: true,
            paged_optimizer: false,
            examples_apart: false,
            tensor_overlap: false,
            cuda_graphs: CudaGraphs::None,
            compile: Compile::Off,
            reduction: Reduction::Default,
            prefetch: Self::USUAL_PREFETCH,
            tokens: None,
            examples: None,
            epochs: 1,
            packing: None,
            flop_count: FlopCount::Parameters,
            bandwidth_factor: 1.0,
            memory_factor: 1.0,
            price: None,
        }
    }

    /// Length of the training in tokens of sequences, filled or not: `tokens`, or else `examples x epochs` sequences, or
    /// with packing as many of the sequences as `examples x epochs x packing` tokens fill; twice as many where examples are
    /// pairs.
    pub fn length(&self) -> Option<f64> {
        let each = self.packing.filter(|_| self.padding() == Padding::Packed).unwrap_or(self.sequence);
        let of_examples = |examples: u32| {
            let sequences = f64::from(examples) * f64::from(self.post_training.method.sequences());
            sequences * f64::from(self.epochs) * f64::from(each)
        };
        self.tokens.or_else(|| self.examples.map(of_examples))
    }

    /// Tokens that attention has before it as one sequence: those of an example, where it keeps to each of several.
    pub fn attended_sequence(&self) -> u32 {
        let example = self.packing.filter(|_| self.examples_apart && self.padding() == Padding::Packed);
        example.map_or(self.sequence, |example| example.min(self.sequence))
    }

    /// How answers fill sequences: packed where it is known how long they are, unless somebody says otherwise.
    pub fn padding(&self) -> Padding {
        self.post_training.padding.unwrap_or(if self.packing.is_some() { Padding::Packed } else { Padding::Fixed })
    }

    /// Sequences that pass for each one of a micro-batch: both answers of a pair, unless they fill sequences together with
    /// others.
    pub fn sequences_each(&self) -> u32 {
        match self.padding() {
            Padding::Fixed | Padding::Longest => self.post_training.method.sequences(),
            Padding::Packed => 1,
        }
    }

    /// Sequences of a micro-batch on a data-parallel rank.
    pub fn sequences_at_once(&self) -> u32 {
        self.micro_batch.saturating_mul(self.sequences_each())
    }

    /// Tokens of the sequences that pass for each one of a micro-batch.
    pub fn tokens_each(&self) -> f64 {
        f64::from(self.sequence) * f64::from(self.sequences_each())
    }

    /// Tokens of a sequence that have logits: all, or as many as the longest answer has.
    pub fn tokens_with_logits(&self) -> u32 {
        let answer = match self.post_training.logits {
            Logits::All => None,
            Logits::Completions => self.post_training.response_max,
        };
        answer.unwrap_or(self.sequence)
    }

    /// The model against which the method compares: the usual one is a copy, or the frozen weights beside adapters.
    pub fn reference(&self) -> BesideModel {
        let PostTraining { method, reference, .. } = &self.post_training;
        let usual = if self.tuning.freezes() { BesideModel::AdaptersOff } else { BesideModel::Resident };
        if method.of_reference() == 0 { BesideModel::None } else { reference.clone().unwrap_or(usual) }
    }

    /// Whether a step may pass models beside the one that is trained, micro-batch by micro-batch.
    pub fn passes_beside(&self) -> bool {
        let method = self.post_training.method;
        !method.writes() && method.of_reference() + method.of_itself() + method.of_teacher() > 0
    }

    /// Whether the model writes the answers that it is trained on: a rollout, and phases after it.
    pub const fn writes(&self) -> bool {
        self.post_training.method.writes() && !self.stands_beside
    }

    /// The schedule that its pipeline runs: layer by layer it is breadth first whatever was chosen, and with one stage
    /// per rank there is nothing to interleave.
    pub fn effective_schedule(&self) -> Schedule {
        match self.accumulation {
            Accumulation::Layered => Schedule::LAYERED,
            Accumulation::Standard if self.stages_per_rank == 1 => self.schedule.with_one_stage(),
            Accumulation::Standard => self.schedule,
        }
    }

    /// The rules of that schedule: where experts' exchanges run beside another micro-batch's compute, forward and backward of two
    /// micro-batches are one pass.
    pub(crate) fn schedule_rules(&self) -> &'static ScheduleRules {
        let rules = self.effective_schedule().rules();
        rules.combined.filter(|_| self.experts.hides_exchanges()).unwrap_or(rules)
    }

    /// Whether weights are gathered and gradients reduced by stages rather than by units: in a pipeline, and layer by
    /// layer.
    pub fn staged(&self) -> bool {
        self.pipeline > 1 || self.accumulation == Accumulation::Layered
    }

    /// Whether a reduction sums each micro-batch's gradients over all ranks before the next one's.
    pub fn sums_each_micro_batch(&self, reduction: Reduction) -> bool {
        match reduction {
            Reduction::MicroBatch => true,
            Reduction::Default => self.sharding.sums_each_micro_batch,
            Reduction::ShardedLast | Reduction::Step => false,
        }
    }

    /// Virtual stages on each rank, as the schedule runs them.
    pub fn virtual_stages(&self) -> u32 {
        if self.effective_schedule().rules().virtual_stages { self.stages_per_rank } else { 1 }
    }

    /// Settings that make numbers coarser than 16 bits: `fp8`, `int8 weights`, `int4 gradients`.
    pub fn coarse_numbers(&self) -> Vec<String> {
        let wire = &self.sharding.wire;
        let travelling = |format: Format, what: &str| format.quantised().then(|| format!("{format} {what}"));
        let low = self.precision.is_low().then(|| self.precision.to_string());
        let all = [low, travelling(wire.weights, "weights"), travelling(wire.gradients, "gradients")];
        all.into_iter().flatten().collect()
    }

    /// Those settings that another plan lacks.
    pub(crate) fn coarser_than(&self, other: &Self) -> Vec<String> {
        let known = other.coarse_numbers();
        self.coarse_numbers().into_iter().filter(|one| !known.contains(one)).collect()
    }
}
