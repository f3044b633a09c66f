//! The training software, as data: kernels, fusion, overlap, the algorithms of its collective library, and the
//! calibration that says which share of each peak it reaches.
//!
//! Not for models or plans. The preset `ideal` reaches every peak without latency: bounds and hand-computed values are
//! checked on it.

mod band;
mod calibration;
mod collectives;
mod constant_values;
pub mod constants;
mod posterior;
mod runs;
mod uncertainty;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::plan::{ContextKind, DispatchFormats, Format, KeptOfChunk, LossChunk, LossKind, Precision};
use crate::problem::Problem;
use crate::units::Bytes;

pub use band::{Band, Beyond, Division, Likeness, Reach};
pub use calibration::Runtime;
pub use calibration::{Allocator, Calibration, DispatcherKernels, Efficiency, Software};
pub use collectives::AllReduceAlgorithm;
pub use collectives::Collectives;
pub use collectives::GatherAlgorithm;
pub use collectives::ParameterBuckets;
pub use collectives::Protocol;
pub use constant_values::{ConstantId, ConstantValues};
pub use posterior::{Posterior, PosteriorConstant};
pub(crate) use runs::listed;
pub use runs::{Feature, LevelRanks, PatternExtent, RecomputeKind, Runs, ShardPattern};

/// A training stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the stack's file")]
pub struct Stack {
    /// Version of the file format.
    pub format: u32,
    /// The id that `--stack` takes.
    #[serde(default)]
    pub id: String,
    /// The name that people use.
    pub name: String,
    /// Its description, in a sentence.
    pub about: String,
    /// Where the choices come from.
    pub source: String,
    /// The id of the calibration that it uses.
    pub calibration: String,
    /// Attention kernel.
    pub attention: Attention,
    /// The attention kernel on architectures that run another one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attention_on: BTreeMap<String, Attention>,
    /// Traffic of element-wise operators and norms, by its name in the calibration.
    pub element_wise: String,
    /// Element-wise traffic where a run says that its model was compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_wise_compiled: Option<String>,
    /// Element-wise traffic in fp8 arithmetic, where casts to fp8 are kernels of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_wise_fp8: Option<String>,
    /// Element-wise traffic of models with gated MLPs, where the gate is not fused: those have norms and rotary
    /// embeddings that this program does not fuse either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_wise_gated: Option<String>,
    /// Generation of the library of matrix products, by its name in the calibration, where it is a later one than the
    /// architecture's figures are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<String>,
    /// Bytes that the loss moves and holds per logit, by its name in the calibration.
    pub loss: String,
    /// The loss where a run says that its model was compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_compiled: Option<String>,
    /// The year and month (202501) from which compiled runs compile their loss too, if they have not always done so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_compiled_since: Option<u32>,
    /// The loss where tensor ranks divide the vocabulary, if that runs another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_divided: Option<String>,
    /// The kind of that loss, where it is not of whole logits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_kind: Option<LossKind>,
    /// Tokens that a loss in chunks takes at a time; as many as have no more logits than all have channels where this is not
    /// said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_chunk: Option<LossChunk>,
    /// What forward of each chunk leaves for backward.
    #[serde(default)]
    pub kept_chunks: KeptOfChunk,
    /// The overheads of the runtime, by its name in the calibration.
    pub runtime: String,
    /// The overheads where ranks share no weights, so that nothing wraps the model's modules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_unsharded: Option<String>,
    /// The launchers that start its program, by their words of `export --to`; any where this is not said, as of what is no
    /// program of its own. A plan that is timed as this stack is recommended only where one of them takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<Vec<String>>,
    /// Whether a rank that shares its state with nobody has gradients only from backward to the update: PyTorch's
    /// `zero_grad(set_to_none=True)`, the default since 2.0, gives them back. Those of several micro-batches stay between them.
    #[serde(default)]
    pub frees_gradients: bool,
    /// Whether all micro-batches pass a model beside the trained one ahead of the step, rather than each between its forward and
    /// its backward (NVIDIA-NeMo/RL, `nemo_rl/algorithms/dpo.py`).
    #[serde(default)]
    pub passes_beside_ahead: bool,
    /// Whether tensor parallelism splits norms and residuals along the sequence too.
    pub sequence_parallel: bool,
    /// The work that selective recompute repeats.
    #[serde(default)]
    pub selective: Selective,
    /// How layers are assigned to pipeline stages.
    #[serde(default)]
    pub balance: Balance,
    /// Whether dropout masks are kept: one byte per element of three intermediates.
    pub dropout: bool,
    /// Which communication runs while the device computes.
    pub overlap: Overlap,
    /// The collective library.
    pub collectives: Collectives,
    /// Format in which gradients are reduced, where it is not that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_format: Option<Format>,
    /// The format of reductions when training in bf16 or fp8. Megatron-LM's `--bf16` implies
    /// `--accumulate-allreduce-grads-in-fp32`; in fp16 it reduces what it trains in (megatron/training/arguments.py).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_format_of_bf16: Option<Format>,
    /// Format in which accumulated gradients are kept, where it is not that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_format: Option<Format>,
    /// Format of the whole gradients that micro-batches accumulate before these are reduced into shards, where it
    /// differs. FSDP2 casts them to the format of the reduction (PyTorch, `FSDPParam.to_accumulated_grad_if_needed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreduced_format: Option<Format>,
    /// Bytes per parameter of further copies of whole gradients: 16-bit ones beside fp32 sums, buffers.
    #[serde(default)]
    pub gradient_copies: GradientCopies,
    /// Bytes per parameter of the gradients of data-parallel ranks that share no state, with the buffers of their sum, where
    /// they differ from the plan's: 8 of PyTorch's DDP, fp32 gradients beside buckets as large (`gradient_as_bucket_view` is
    /// off; torch/nn/parallel/distributed.py).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicated_gradient: Option<f64>,
    /// How ranks divide the optimizer's state that they share, where that is not one buffer cut evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<StateDivision>,
    /// Workspace of the optimizer's update, in bytes per parameter of this rank's share.
    #[serde(default)]
    pub update_copies: f64,
    /// Whether a gated MLP keeps its activation function's output beside the product with the gate.
    #[serde(default)]
    pub keeps_gate: bool,
    /// Whether kernels of their own add biases behind experts, each expert's by itself, and keep the inputs of experts' activation
    /// function within bounds: Megatron-LM (`TEGroupedMLP._apply_bias` of megatron/core/transformer/moe/experts.py and
    /// `weighted_bias_quick_geglu_impl` of `megatron/core/fusions/fused_bias_geglu.py`).
    #[serde(default)]
    pub unfused_expert_biases: bool,
    /// Whether norms compute on an fp32 copy of their input, which autograd keeps in the place of it, beside what multiplies
    /// a trained weight: modules of transformers (`LlamaRMSNorm`) and torchtune (`RMSNorm`) that no compiler has fused.
    #[serde(default)]
    pub norms_in_fp32: bool,
    /// Whether the weight of such a norm multiplies in fp32 too, before the product is cast: `LitGPT` (`RMSNorm` of
    /// litgpt/model.py), whose autograd keeps 4 bytes of what is multiplied.
    #[serde(default)]
    pub scales_norms_in_fp32: bool,
    /// Whether attention's kernel gets, and keeps, keys and values repeated for every head: torchtune's `MultiHeadAttention`,
    /// and `sdpa_attention_forward` of transformers where padding needs a mask.
    #[serde(default)]
    pub repeats_keys: bool,
    /// Whether queries, keys and values of as many heads are one tensor, which stays whole as long as a part of it is kept, beside
    /// copies of the two others: nanotron keeps queries, which rotate in place (`CausalSelfAttention.forward` of
    /// src/nanotron/models/llama.py; `flash_attn/layers/rotary.py`), `LitGPT` values (`CausalSelfAttention.forward` of
    /// litgpt/model.py, whose `apply_rope` copies).
    #[serde(default)]
    pub copies_keys: bool,
    /// Whether products of fewer than 16 bits go with 8 bits for the kept input of an MLP's activation function:
    /// `activation_func_fp8_input_store` of Megatron-LM (`megatron/core/transformer/transformer_config.py`).
    #[serde(default)]
    pub fp8_activation_input: bool,
    /// Format of adapters where it is not that of the plan, and in which each of them keeps a cast input of its own: PEFT has
    /// adapters in fp32 beside weights of 16 bits (`autocast_adapter_dtype`; `_cast_input_dtype` of src/peft/tuners).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter_format: Option<Format>,
    /// Whether linear layers of fewer than 16 bits keep what they cast: weights from step to step, inputs from forward to
    /// backward. TransformerEngine does (docs, "Performance considerations" of low precision training); torchao keeps both
    /// in 16 bits and casts them again (`matmul_with_hp_or_float8_args`).
    #[serde(default)]
    pub keeps_casts: bool,
    /// Whether weights of linear layers are kept as casts alone (`fp8_params` of `NeMo`, Megatron's `--fp8-param-gather`), beside
    /// the optimizer's fp32 copies.
    #[serde(default)]
    pub casts_replace_weights: bool,
    /// The way in which `fp8` is scaled; absent: by earlier steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<Precision>,
    /// Whether sequence parallelism keeps the gathered inputs of matrices instead of gathering them again.
    #[serde(default)]
    pub keeps_gathered: bool,
    /// Whether backward overlaps collectives of tensor parallelism with its kernels, gathering with sequence parallelism
    /// the inputs of matrices again rather than keeping them: Megatron-LM since 2022 (arXiv 2205.05198, section 4.2.2;
    /// `megatron/core/tensor_parallel/layers.py`, `LinearWithGradAccumulationAndAsyncCommunication`).
    #[serde(default)]
    pub tensor_overlap: bool,
    /// Memory that its allocator keeps of collectives of tensor parallelism beside the logits, which those blocks are too
    /// small for, or because a collective that the host has launched still reads them (`Tensor.record_stream`): micro-batches
    /// of activations. It is read where there is room; a job does without.
    #[serde(default)]
    pub cached_exchanges: f64,
    /// Parameters up to which it keeps gathered weights, where it gathers a layer matrix by matrix; of a larger layer it has
    /// these or the largest matrix. Where none are said it has all of a layer.
    #[serde(default)]
    pub live_parameters: Option<f64>,
    /// Whether tensor ranks have whole experts each where experts are divided among ranks, unless a plan says otherwise,
    /// and not a part of every expert.
    #[serde(default)]
    pub whole_experts: bool,
    /// Whether experts run one after the other in a loop of Python, as in transformers before 5.0: what is timed are grouped
    /// products, which take a fraction of that.
    #[serde(default)]
    pub loops_experts: bool,
    /// Formats in which products of fewer than 16 bits exchange tokens with experts; absent: the format of the activations,
    /// which is Megatron-LM's way (`megatron/core/transformer/moe/token_dispatcher.py`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch_format: Option<DispatchFormats>,
    /// Format of the router's scores, where it is not that of the activations: fp32 in recipes of Megatron Bridge
    /// (`moe_router_dtype`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router_format: Option<Format>,
    /// What context ranks send one another, where a plan leaves it to the stack. Files of before say by `balanced_context` alone
    /// whether all ranks of its ring have the same work.
    #[serde(default = "unbalanced", alias = "balanced_context", deserialize_with = "context_kind")]
    pub context_kind: ContextKind,
    /// Whether sums over the replicas of a shard have a stream of their own, beside gathers and reductions: hybrid
    /// sharding in PyTorch (`FSDPCommContext.all_reduce_stream`).
    #[serde(default)]
    pub replica_stream: bool,
    /// Whether the head's gathered weights stay from forward to backward, which begins with it; in a pipeline other
    /// passes come between, and they do not.
    #[serde(default)]
    pub keeps_head: bool,
    /// Whether weights are copied out of what a gather leaves, which in forward stays until those of the next unit are:
    /// FSDP2, whose parameters keep their own storage (`foreach_all_gather_copy_out`, `AllGatherState`).
    #[serde(default)]
    pub copies_out: bool,
    /// Whether activations are copied to the host and back in line with compute, which waits for each copy: torch's
    /// `save_on_cpu` copies on the stream of compute. Elsewhere they have a stream of their own, one layer ahead of backward.
    #[serde(default)]
    pub copies_in_line: bool,
    /// Whether gradients of an optimizer on the host go there unit by unit while backward runs: `DeepSpeed` copies each once it is
    /// reduced. Sums of earlier micro-batches then come to the device, which adds to them and sends them back
    /// (`deepspeed/runtime/zero/stage_1_and_2.py`, `async_accumulate_grad_in_cpu_via_gpu`, and `stage3.py`, `partition_grads`).
    /// Elsewhere gradients go when backward is over, and the host adds up those of a state that is there (`foreach_reduce` of
    /// FSDP2, `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`).
    #[serde(default)]
    pub offloads_during_backward: bool,
    /// Whether a pipeline's stages have buffers for what each micro-batch of a step will bring them, and keep their outputs:
    /// PyTorch's `PipelineStage` allocates them all before the first (`_prepare_forward_infra`, `_prepare_backward_infra`,
    /// `fwd_cache`).
    #[serde(default)]
    pub pipeline_buffers: bool,
    /// Whether gradients are reduced while backward still runs, or after it.
    pub reduce_during_backward: bool,
    /// Whether updated weights are gathered during the next step's first forward: only what that does not hide is left
    /// at the end of the step.
    #[serde(default)]
    pub gather_during_forward: bool,
    /// The program that starts its processes, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<ProcessLauncher>,
    /// Bytes of memory that Adam on the host reads and writes for each parameter, where that is not one pass over state,
    /// gradient and weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_adam: Option<f64>,
    /// Whether products by frozen weights of 4 and 8 bits keep their input, though nothing is computed of it: those of
    /// bitsandbytes until 0.43 (bitsandbytes/autograd/_functions.py, `MatMul4Bit`: `ctx.tensors = (A, B)`, later `(None, B)`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_frozen_inputs: bool,
    /// The plans that it can run; any where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
    /// Sentences on what the model cannot say of this stack, each with its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// The ring of a stack that says nothing of context parallelism.
const fn unbalanced() -> ContextKind {
    ContextKind::Ring
}

/// Reads a kind of context parallelism, or whether a ring is balanced.
fn context_kind<'de, D: Deserializer<'de>>(from: D) -> Result<ContextKind, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ContextWord {
        Balanced(bool),
        Kind(ContextKind),
    }
    Ok(match ContextWord::deserialize(from)? {
        ContextWord::Balanced(true) => ContextKind::Zigzag,
        ContextWord::Balanced(false) => unbalanced(),
        ContextWord::Kind(kind) => kind,
    })
}

/// The work that selective recompute repeats in backward: shares of a layer's forward by kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selective {
    /// The share of the attention core.
    #[serde(default)]
    pub core: f64,
    /// The share of norms and activation functions; with matrix products, of residuals too.
    #[serde(default)]
    pub element_wise: f64,
    /// The share of the matrix products.
    #[serde(default)]
    pub matmul: f64,
}

impl Selective {
    /// Keeps everything.
    pub const NOTHING: Self = Self { core: 0.0, element_wise: 0.0, matmul: 0.0 };
}

impl Default for Selective {
    /// The attention core: Korthikanti et al. (arXiv 2205.05198).
    fn default() -> Self {
        Self { core: 1.0, element_wise: 0.0, matmul: 0.0 }
    }
}

/// Bytes per parameter of copies of gradients, by the format of training.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientCopies {
    /// In bf16, fp8 arithmetic included.
    #[serde(default)]
    pub bf16: f64,
    /// In fp16.
    #[serde(default)]
    pub fp16: f64,
}

/// Division of the optimizer's state by the tensors of parameters that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDivision {
    /// One rank's part of a tensor.
    pub tensors: TensorDivision,
    /// Tensors of parameters in a layer.
    pub per_layer: f64,
}

/// One rank's part of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorDivision {
    /// All or nothing: each rank broadcasts the tensors that it has updated.
    Whole,
    /// A slice: the host takes each tensor apart before gradients are reduced, and puts it together after the gather.
    Sliced,
}

/// A program that starts the processes of a job, which leaves each of them threads of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessLauncher {
    /// PyTorch's: one thread for each of several processes of a node, unless `OMP_NUM_THREADS` is set
    /// (torch/distributed/run.py). Accelerate's is alike (accelerate/commands/launch.py, `num_cpu_threads_per_process`).
    Torchrun,
    /// `DeepSpeed`'s: all cores for each process, which they have to share, unless `--bind_cores_to_rank` divides them
    /// (deepspeed/launcher/launch.py).
    Deepspeed,
}

/// How layers are assigned to pipeline stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// By time, with embedding and logits.
    #[default]
    Time,
    /// By count of layers.
    Layers,
    /// By count; where that leaves stages uneven, embedding and logits count as a layer each.
    LayersAndEnds,
    /// By count; what is left over goes to the last stages.
    LayersBehind,
    /// By count; where that leaves stages uneven, embedding and logits count as a layer each, and where this does too, stages
    /// are filled one after the other, and the last has what is left. Megatron-Core builds no other uneven stages unasked:
    /// `account_for_embedding_in_pipeline_split` and `account_for_loss_in_pipeline_split`, as recipes for Qwen3 and Llama 3.1
    /// 405B set them, or the layouts of those for `DeepSeek` and Kimi (NVIDIA-NeMo/Megatron-Bridge, `recipes/qwen/qwen3_moe.py`,
    /// llama/llama3.py, `deepseek/deepseek_v3.py`, `kimi/kimi_k2.py`).
    LayersFilled,
    /// By weights of the matrices, those of the logits too: a stage takes layers until those assigned are past its share.
    Weights,
}

/// The attention kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scores are written, scaled, masked, normalised and read back operator by operator.
    Plain,
    /// Scores are in memory, mask and softmax are one kernel.
    FusedSoftmax,
    /// Flash attention, first version.
    Flash1,
    /// Flash attention, second version.
    Flash2,
    /// Flash attention, third version, or cuDNN's.
    Flash3,
}

impl Attention {
    /// Whether the `heads x sequence^2` scores never reach memory.
    pub const fn flash(self) -> bool {
        self.flash_version().is_some()
    }

    /// The place of its version of flash attention in a list of all versions.
    pub(crate) const fn flash_version(self) -> Option<usize> {
        match self {
            Self::Plain | Self::FusedSoftmax => None,
            Self::Flash1 => Some(0),
            Self::Flash2 => Some(1),
            Self::Flash3 => Some(2),
        }
    }
}

/// Which communication runs while the device computes; all that does shares the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Nothing: every collective stops compute.
    None,
    /// Reductions of gradients only.
    Reductions,
    /// Gathers and reductions, one after the other on one stream.
    OneStream,
    /// Gathers and reductions on streams of their own.
    Independent,
}

impl Stack {
    /// The attention kernel on an architecture.
    pub fn attention_on(&self, architecture: &str) -> Attention {
        self.attention_on.get(architecture).copied().unwrap_or(self.attention)
    }

    /// Whether it runs DeepSpeed's ZeRO, by itself or in Megatron-DeepSpeed.
    pub fn is_deepspeed(&self) -> bool {
        self.runtime.contains("deepspeed")
    }

    /// All entries of the table of element-wise traffic that it names.
    pub(crate) fn element_wise_names(&self) -> impl Iterator<Item = &String> {
        let others = [&self.element_wise_compiled, &self.element_wise_fp8, &self.element_wise_gated];
        std::iter::once(&self.element_wise).chain(others.into_iter().flatten())
    }

    /// The format in which gradients are sent, where a plan asks for `planned` and training stores `storage`.
    pub fn reduction_format(&self, planned: Format, storage: Format) -> Format {
        let own = self.reduce_format_of_bf16.filter(|_| storage == Format::Bf16).or(self.reduce_format);
        // Quantising is the plan's own choice, and overrides the stack's.
        if planned.quantised() { planned } else { own.unwrap_or(planned) }
    }

    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut check = |field: &str, value: f64, most: f64| {
            if !(0.0..=most).contains(&value) {
                found.push(Problem::must(field, format!("must be between 0 and {most}")));
            }
        };
        check("selective.core", self.selective.core, 1.0);
        check("selective.element_wise", self.selective.element_wise, 1.0);
        check("selective.matmul", self.selective.matmul, 1.0);
        check("gradient_copies.bf16", self.gradient_copies.bf16, 100.0);
        check("gradient_copies.fp16", self.gradient_copies.fp16, 100.0);
        check("replicated_gradient", self.replicated_gradient.unwrap_or(0.0), 100.0);
        check("update_copies", self.update_copies, 100.0);
        check("host_adam", self.host_adam.unwrap_or_default(), 1000.0);
        check("division.per_layer", self.division.map_or(0.0, |division| division.per_layer), 1000.0);
        check("cached_exchanges", self.cached_exchanges, 100.0);
        check("live_parameters", self.live_parameters.unwrap_or_default(), 1e15);
        if self.context_kind == ContextKind::Stack {
            found.push(Problem::must("context_kind", "must be ring, zigzag, all-gather, ulysses or usp"));
        }
        if self.fp8.is_some_and(|own| own.linear().arithmetic != Format::Fp8 || own == Precision::Fp8) {
            found.push(Problem::must("fp8", "must be fp8-delayed, fp8-current, fp8-block or mxfp8"));
        }
        if self.loss_kind == Some(LossKind::Stack) {
            found.push(Problem::must("loss_kind", "must be whole, vocab-parallel, fused or chunked"));
        }
        if matches!(self.loss_chunk, Some(LossChunk::Tokens(0) | LossChunk::Parts(0))) {
            found.push(Problem::must("loss_chunk", "must be at least 1"));
        }
        if self.collectives.all_reduce.is_empty() {
            found.push(Problem::must("collectives.all_reduce", "must name at least one form: ring, tree"));
        }
        if !self.collectives.gather.contains(&GatherAlgorithm::Ring) {
            let fix = "must name ring, which serves every group, and may name pat";
            found.push(Problem::must("collectives.gather", fix));
        }
        let filled = |buckets: ParameterBuckets| buckets.least >= 1.0 && (0.0..=1e12).contains(&buckets.per_rank);
        if self.collectives.buckets.is_some_and(|buckets| !filled(buckets) || buckets.least > 1e15) {
            let fix = "must hold at least 1 parameter, and 0 or more for each rank";
            found.push(Problem::must("collectives.buckets", fix));
        }
        if !(1..=64).contains(&self.collectives.per_layer) {
            found.push(Problem::must("collectives.per_layer", "must be between 1 and 64"));
        }
        if self.collectives.bucket < Bytes::new(1.0) {
            found.push(Problem::must("collectives.bucket", "must be at least 1 B"));
        }
        found
    }
}
