//! The table of fields: an entry each, which is all that a new field of a plan needs beside its place and its default in
//! `plan`. The entry also says what the field needs of a stack, and when it changes nothing.
//!
//! Its order is that of files, of helps and of screens. Where several fields set the same thing, later ones refine
//! earlier ones: `shard` moves the strategy's extents, `weights_over` then sets one of them.

mod entry;

use crate::plan::{
    Accumulation, AttentionKernel, BesideModel, Compile, ContextKind, CudaGraphs, Dispatcher, Ema, Extent, FlopCount,
    Format, FrozenEnds, FrozenFormat, GradientFormat, Logits, LossFormat, LossKind, MasterWeights, Moments, Offload,
    Optimizer, Padding, Plan, PostMethod, Precision, Recompute, Reduction, RolloutLayout, Rollouts, Schedule, Size,
    TrainMethod, TrainerOffload, Tuning,
};
use crate::scenario::Checked;
use crate::stack::{Feature, listed};

use super::lenses::{
    accumulate, adapters, copy_weights, devices, of_engine, put_cache_format, put_context_heads, put_dispatch_formats,
    put_examples, put_expert_tensor, put_frozen_ends, put_frozen_format, put_gradient_format, put_host_threads,
    put_lora_dropout, put_loss_chunk, put_loss_format, put_offload_ratio, put_packing, put_post, put_price,
    put_rollout_format, put_rollout_share, put_size, put_tokens, quantise_gradients, quantise_weights, reward_model,
    second_copy, shard, some, teacher, whole_nodes,
};
use super::{FieldSpec, Lack, PresetField, Steps, Type, Value};

use entry::{id, plan, sharding, word};

/// The most that a count may be: far above any machine. What several large ones come to in time is looked at once
/// the step is built.
pub(in crate::scenario) const MOST: u32 = 1 << 22;

/// The most tokens of a sequence: four times the longest that was published, 15 million (arXiv 2506.13996), in powers of two.
const MOST_TOKENS: u32 = 1 << 26;

/// A whole number from 1.
const COUNT: Type = Type::Count(1, MOST);

/// What a key makes of the outermost level's bandwidth and of a device's memory; 1 leaves the machine unchanged.
const SHARES: Steps = Steps::Numbers(&[0.25, 0.5, 0.75, 1.0]);
const FACTORS: Steps = Steps::Numbers(&[0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);

/// Lengths of a training run, in tokens.
const LENGTHS: Steps = Steps::Numbers(&[1e9, 1e10, 1e11, 3e11, 1e12, 2e12, 5e12, 1.5e13]);

const NO_PIPELINE: &str = "there is no pipeline";
const PIPELINE: &str = "choose 2 or more pipeline ranks";
const NO_CONTEXT: &str = "there is one context rank";
const CONTEXT: &str = "choose 2 or more context ranks";
const NO_ADAPTERS: &str = "all parameters are trained, so that there are no adapters";
const ADAPTERS: &str = "choose train lora or qlora";
const WRITES: &str = "choose method grpo or ppo";
const SHARDS: &str = "choose a strategy that shards them";

/// Whether each rank holds a part of the state whole.
fn is_whole(plan: &Plan, extent: &Extent) -> bool {
    plan.operators.is_empty() && matches!(extent, Extent::Device | Extent::Ranks(1))
}

/// Whether weights are gathered unit by unit.
fn gathers(job: &Checked<'_>) -> bool {
    job.layout().weights > 1 && !job.plan.staged()
}

/// Whether a value of the engine that writes answers stands where none are written.
fn is_unwritten(plan: &Plan, is_said: fn(&Rollouts) -> bool) -> bool {
    !plan.post_training.method.writes() && is_said(&plan.post_training.rollouts)
}

fn nothing_written(plan: &Plan) -> String {
    format!("{} trains on given answers", plan.post_training.method)
}

/// What a program lacks whose list does not have a value.
fn unlisted<T: ToString>(has: bool, what: String, known: Option<&Vec<T>>) -> Option<Lack> {
    (!has).then(|| Lack { what: what.into(), known: listed(known) })
}

/// Names the fields, and makes the table of their entries. `cargo fmt` leaves a table alone that has a line of more than 120
/// characters.
macro_rules! fields {
    ($($field:ident = $entry:expr),+ $(,)?) => {
        /// A field of a scenario; [`Field::spec`] says what it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the table says what each of them is")]
        pub enum Field {
            $($field),+
        }

        /// All fields.
        pub(super) static ALL: &[Field] = &[$(Field::$field),+];

        /// Their entries, in the same order.
        pub(super) static TABLE: &[FieldSpec] = &[$($entry),+];
    };
}

fields![
    Cluster = id(PresetField::Cluster, "cluster", "hardware").help("ID", "Cluster (`shardscope presets clusters`)"),
    Stack = id(PresetField::Stack, "stack", "stack").help("ID", "Software stack (`shardscope presets stacks`)"),
    Model = id(PresetField::Model, "model", "model")
        .help("ID", "Model (`shardscope presets models`); sets the default sequence length"),
    Strategy = id(PresetField::Strategy, "strategy", "strategy")
        .help("ID", "Sharding strategy (`shardscope presets strategies`)")
        .advised(64, 64)
        .left_open(),
    Nodes = plan("plan.nodes", "nodes", COUNT, "1")
        .help("N", "Number of nodes")
        .steps(Steps::Nodes)
        .range(1, 512)
        .searched_on_request()
        .advised(6, 2)
        .suspected(0, 0)
        .lens(|plan| whole_nodes(plan.size), |plan, nodes| put_size(plan, nodes, Size::Nodes)),
    Devices = plan("plan.devices", "devices", COUNT, "those of the nodes")
        .help("N", "Number of devices, instead of whole nodes")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 1 << 16))
        .range(1, 4096)
        .rare()
        .searched_on_request()
        .lens(|plan| devices(plan.size), |plan, count| put_size(plan, count, Size::Devices)),
    Bandwidth = plan("plan.bandwidth_factor", "bandwidth", Type::Factor, "1")
        .label("network")
        .help("FACTOR", "What-if factor on the bandwidth of the network, the outermost level")
        .steps(FACTORS)
        .lens(|plan| some(plan.bandwidth_factor), |plan, factor| factor.put(&mut plan.bandwidth_factor)),
    Memory = plan("plan.memory_factor", "memory-factor", Type::Factor, "1")
        .label("memory")
        .axis("memory")
        .help("FACTOR", "What-if factor on the device's memory")
        .steps(FACTORS)
        .lens(|plan| some(plan.memory_factor), |plan, factor| factor.put(&mut plan.memory_factor)),
    Price = plan("plan.price", "price", Type::Money, "the cluster's, if it states one")
        .help("PRICE", "Price of a device-hour, for the cost of the training: \"2.50 EUR\"")
        .lens(|plan| plan.price.map(Value::Money), put_price),
    Shard = sharding("plan.shard", "shard", Type::Extent)
        .help(
            "EXTENT",
            "Extent of sharding for the first part of the state that is sharded: device, innermost, node, system, \
             another level of the cluster, or a count of ranks",
        )
        .steps(Steps::Extents)
        .advised(8, 8)
        .state(|sharding| some(sharding.first_extent().cloned().unwrap_or(Extent::Device)), shard),
    WeightsOver = sharding("plan.weights_over", "weights-over", Type::Extent)
        .in_full("plan.sharding.weights")
        .label("weights")
        .help("EXTENT", "Extent over which weights are sharded, overriding the strategy")
        .steps(Steps::Extents)
        .rare()
        .searched()
        .state(|sharding| some(sharding.weights.clone()), |sharding, extent| extent.put(&mut sharding.weights)),
    GradientsOver = sharding("plan.gradients_over", "gradients-over", Type::Extent)
        .in_full("plan.sharding.gradients")
        .label("gradients")
        .help("EXTENT", "Extent over which gradients are sharded; at least that of the weights")
        .steps(Steps::Extents)
        .rare()
        .searched()
        .state(|sharding| some(sharding.gradients.clone()), |sharding, extent| extent.put(&mut sharding.gradients)),
    OptimizerOver = sharding("plan.optimizer_over", "optimizer-over", Type::Extent)
        .in_full("plan.sharding.optimizer")
        .label("opt shard")
        .help("EXTENT", "Extent over which optimizer state is sharded; at least that of the gradients")
        .steps(Steps::Extents)
        .rare()
        .searched()
        .state(|sharding| some(sharding.optimizer.clone()), |sharding, extent| extent.put(&mut sharding.optimizer)),
    MicroBatch = plan("plan.micro_batch", "micro-batch", COUNT, "1")
        .label("micro")
        .help("B", "Sequences per device and micro-batch")
        .unit("sequence", "sequences")
        .steps(Steps::Counts(4096))
        .range(1, 128)
        .searched()
        .advised(3, 6)
        .left_open()
        .lens(|plan| some(plan.micro_batch), |plan, count| count.put(&mut plan.micro_batch)),
    Accumulate = plan("plan.accumulate", "accumulate", COUNT, "1")
        .label("accum")
        .help("G", "Micro-batches per optimizer step")
        .unit("micro-batch", "micro-batches")
        .steps(Steps::Counts(4096))
        .range(1, 128)
        .searched_on_request()
        .advised(3, 2)
        .lens(|plan| some(plan.accumulate), accumulate),
    GlobalBatch = plan("plan.global_batch", "global-batch", Type::Batch, "free")
        .label("batch")
        .help(
            "BATCH",
            "Sequences of a step, all devices together, from which accumulation follows: 1024, \"4M tokens\", or free",
        )
        .steps(Steps::Batches)
        .searched_on_request()
        .lens(|plan| some(plan.global_batch), |plan, batch| batch.put(&mut plan.global_batch)),
    Sequence = plan("plan.sequence", "seq", Type::Count(1, MOST_TOKENS), "the model's")
        .help("S", "Tokens per sequence")
        .unit("token", "tokens")
        .steps(Steps::Powers(256, 1 << 20))
        .range(512, 131_072)
        .advised(0, 8)
        .suspected(0, 0)
        .left_open()
        .lens(|plan| some(plan.sequence), |plan, count| count.put(&mut plan.sequence)),
    MtpLayers = plan("plan.mtp_layers", "mtp-layers", Type::Count(0, 16), "0")
        .label("mtp")
        .help(
            "N",
            "Layers behind the last one that are trained to predict a further token each (multi-token prediction)",
        )
        .unit("layer", "layers")
        .steps(Steps::Powers(0, 4))
        .rare()
        .of_model(|model| some(model.mtp_layers), |model, count| count.put(&mut model.mtp_layers)),
    Recompute = plan("plan.recompute", "recompute", Type::Recompute, "none")
        .help("WHAT", "Activation checkpointing: none, selective, full, or the share of layers to recompute")
        .axis("recompute")
        .searched()
        .advised(8, 8)
        .left_open()
        .needs_listed(|plan, runs| {
            unlisted(runs.recomputes(plan.recompute), format!("recompute {}", plan.recompute), runs.recompute.as_ref())
        })
        .lens(|plan| some(plan.recompute), |plan, what| what.put(&mut plan.recompute)),
    RecomputeModules = plan("plan.recompute_modules", "recompute-modules", Type::RecomputeModules, "stack")
        .label("modules")
        .help(
            "MODULES",
            "Modules that selective recompute repeats, by Megatron's names: moe_act+layernorm, or stack for the \
             stack's own",
        )
        .rare()
        .searched_on_request()
        .needs_listed(|plan, runs| {
            let modules = plan.repeated_modules();
            let has = modules.is_of_stack() || runs.repeats_modules();
            unlisted(has, format!("recompute of {modules}"), runs.recompute.as_ref())
        })
        .idle_if(|plan| !plan.recompute_modules.is_of_stack() && plan.recompute != Recompute::Selective)
        .because_of(|plan| format!("recompute {} takes no modules", plan.recompute), "choose recompute selective")
        .lens(|plan| some(plan.recompute_modules), |plan, modules| modules.put(&mut plan.recompute_modules)),
    MlpTiles = plan("plan.mlp_tiles", "mlp-tiles", Type::Count(1, 1024), "1")
        .label("mlp tiles")
        .help("N", "Parts of a micro-batch's tokens whose MLP is computed one after the other, and again in backward")
        .unit("tile", "tiles")
        .steps(Steps::Powers(1, 256))
        .range(1, 64)
        .rare()
        .searched_on_request()
        .lens(|plan| some(plan.mlp_tiles), |plan, count| count.put(&mut plan.mlp_tiles)),
    Precision = word::<Precision>("plan.precision", "precision", "bf16, or fp16 on a device without it")
        .help("PRECISION", "Number formats of weights and arithmetic")
        .suspected(8, 8)
        .searched_on_request()
        .left_open()
        .needs_listed(|plan, runs| {
            unlisted(
                runs.trains_in(plan.precision),
                format!("training in {}", plan.precision),
                runs.precisions.as_ref(),
            )
        })
        .lens(|plan| some(plan.precision), |plan, format| format.put(&mut plan.precision)),
    Tensor = plan("plan.tensor", "tp", COUNT, "1")
        .help("N", "Tensor-parallel ranks")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 256))
        .range(1, 64)
        .searched()
        .advised(3, 3)
        .suspected(0, 0)
        .needs(Feature::Tensor, "tensor parallelism")
        .lens(|plan| some(plan.tensor), |plan, count| count.put(&mut plan.tensor)),
    Context = plan("plan.context", "cp", COUNT, "1")
        .help("N", "Context-parallel ranks, which share each sequence")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 256))
        .range(1, 64)
        .searched()
        .advised(2, 2)
        .suspected(0, 0)
        .needs(Feature::Context, "context parallelism")
        .lens(|plan| some(plan.context), |plan, count| count.put(&mut plan.context)),
    ContextKind = word::<ContextKind>("plan.context_kind", "cp-kind", "stack")
        .help(
            "KIND",
            "What context ranks send one another: keys and values around a ring (zigzag: with even work) or gathered              (all-gather), heads (ulysses), or both (usp)",
        )
        .rare()
        .searched_on_request()
        .suspected(2, 2)
        .needs_listed(|plan, runs| {
            let kind = plan.context_kind;
            let has = kind == ContextKind::Stack || plan.context == 1 || runs.shares_context(kind);
            unlisted(has, format!("context parallelism of kind {kind}"), runs.context_kinds.as_ref())
        })
        .idle_if(|plan| plan.context_kind != ContextKind::Stack && plan.context == 1)
        .because(NO_CONTEXT, CONTEXT)
        .lens(|plan| some(plan.context_kind), |plan, kind| kind.put(&mut plan.context_kind)),
    ContextHeads = plan("plan.context_heads", "cp-heads", COUNT, "as many as keys allow")
        .help("N", "Context ranks that exchange heads under --cp-kind usp; groups of them pass keys around")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 64))
        .range(1, 16)
        .rare()
        .searched_on_request()
        .idle_if(|plan| plan.context_heads.is_some() && plan.context == 1)
        .because(NO_CONTEXT, CONTEXT)
        .idle_if(|plan| plan.context_heads.is_some() && plan.context_kind != ContextKind::Usp)
        .because_of(|plan| format!("kind {} does not say who exchanges heads", plan.context_kind), "choose cp-kind usp")
        .lens(|plan| plan.context_heads.map(Value::Count), put_context_heads),
    AttentionKernel = word::<AttentionKernel>("plan.attention_kernel", "attention-kernel", "stack")
        .label("attention")
        .help("KERNEL", "Kernel of attention; stack: the stack's on the device")
        .rare()
        .searched_on_request()
        .suspected(5, 5)
        .lens(|plan| some(plan.attention_kernel), |plan, kernel| kernel.put(&mut plan.attention_kernel)),
    Pipeline = plan("plan.pipeline", "pp", COUNT, "1")
        .help("N", "Pipeline ranks")
        .steps(Steps::Powers(1, 128))
        .range(1, 64)
        .searched()
        .advised(3, 3)
        .suspected(0, 0)
        .needs(Feature::Pipeline, "pipeline parallelism")
        .lens(|plan| some(plan.pipeline), |plan, count| count.put(&mut plan.pipeline)),
    Experts = plan("plan.experts", "ep", COUNT, "1")
        .help("N", "Expert-parallel ranks, among which a layer's experts are divided")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 256))
        .range(1, 64)
        .searched()
        .advised(3, 3)
        .needs(Feature::Expert, "expert parallelism")
        .lens(|plan| some(plan.experts.ranks), |plan, count| count.put(&mut plan.experts.ranks)),
    ExpertTensor = plan("plan.expert_tensor", "etp", COUNT, "as the stack has it")
        .help("N", "Tensor-parallel ranks that share each expert")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 64))
        .range(1, 8)
        .rare()
        .lens(|plan| plan.experts.tensor.map(Value::Count), put_expert_tensor),
    Imbalance = plan("plan.imbalance", "imbalance", Type::Imbalance, "usual")
        .help(
            "FACTOR",
            "Tokens of the busiest rank's experts over the mean: a factor, balanced (1), or usual, which grows with \
             --ep",
        )
        .rare()
        .lens(|plan| some(plan.experts.imbalance), |plan, factor| factor.put(&mut plan.experts.imbalance)),
    Capacity = plan("plan.capacity", "capacity", Type::Capacity, "none")
        .help("FACTOR", "Tokens that each expert takes over the mean, filled up or dropped; none: all that come")
        .rare()
        .lens(|plan| some(plan.experts.capacity), |plan, factor| factor.put(&mut plan.experts.capacity)),
    Dispatcher = word::<Dispatcher>("plan.dispatcher", "dispatcher", "alltoall")
        .label("dispatch")
        .help("LIBRARY", "What carries tokens to experts and back")
        .rare()
        .lens(|plan| some(plan.experts.dispatcher), |plan, library| library.put(&mut plan.experts.dispatcher)),
    ExpertOverlap = plan("plan.ep_overlap", "ep-overlap", Type::Switch, "off")
        .label("ep hidden")
        .help("SWITCH", "Run the experts' all-to-alls beside another micro-batch's compute")
        .rare()
        .lens(|plan| some(plan.experts.overlap), |plan, on| on.put(&mut plan.experts.overlap)),
    SharedOverlap = plan("plan.shared_expert_overlap", "shared-expert-overlap", Type::Switch, "off")
        .label("shared")
        .help("SWITCH", "Compute the shared expert beside the all-to-all that sends tokens to the others")
        .rare()
        .lens(|plan| some(plan.experts.shared_overlap), |plan, on| on.put(&mut plan.experts.shared_overlap)),
    DispatchFormat = plan("plan.dispatch_format", "dispatch-format", Type::DispatchFormats, "as the stack has it")
        .label("exchange")
        .help(
            "FORMATS",
            "Format of the experts' all-to-alls; or four: to experts, back, and in backward to experts, back \
             (fp8+bf16+fp8+bf16)",
        )
        .rare()
        .lens(|plan| plan.experts.formats.map(Value::from), put_dispatch_formats),
    Schedule = word::<Schedule>("plan.schedule", "schedule", "1f1b")
        .help("SCHEDULE", "Pipeline schedule")
        .searched()
        .advised(8, 8)
        .needs_listed(|plan, runs| {
            let schedule = plan.effective_schedule();
            let counts = plan.pipeline > 1 && plan.accumulation == Accumulation::Standard;
            unlisted(!counts || runs.schedules(schedule), format!("schedule {schedule}"), runs.schedules.as_ref())
        })
        .idle_if(|plan| plan.pipeline == 1)
        .because(NO_PIPELINE, PIPELINE)
        .idle_if(|plan| plan.accumulation == Accumulation::Layered && plan.schedule != Schedule::LAYERED)
        .because_of(
            |_| format!("layer by layer, a pipeline runs {}", Schedule::LAYERED),
            "choose accumulation standard",
        )
        .idle_if(|plan| plan.schedule != plan.effective_schedule())
        .because_of(
            |plan| format!("{} with one stage on each rank is {}", plan.schedule, plan.effective_schedule()),
            "choose 2 or more stages per rank",
        )
        .lens(|plan| some(plan.schedule), |plan, schedule| schedule.put(&mut plan.schedule)),
    StagesPerRank = plan("plan.stages_per_rank", "stages-per-rank", COUNT, "1")
        .label("stages")
        .help("K", "Virtual stages per pipeline rank, under schedules that have several")
        .steps(Steps::Powers(1, 128))
        .range(1, 64)
        .searched()
        .advised(2, 2)
        .idle_if(|plan| plan.stages_per_rank > 1 && plan.pipeline == 1)
        .because(NO_PIPELINE, PIPELINE)
        .idle_if(|plan| plan.stages_per_rank > 1 && plan.virtual_stages() == 1)
        .because_of(
            |plan| format!("{} has one stage on each rank", plan.effective_schedule()),
            "choose schedule interleaved or breadth-first",
        )
        .lens(|plan| some(plan.stages_per_rank), |plan, count| count.put(&mut plan.stages_per_rank)),
    StageLayers = plan("plan.stage_layers", "stage-layers", Type::StageSizes, "balanced")
        .label("layers")
        .help("LAYERS", "Layers of each pipeline stage in the order of forward: 7,8,8,7, or balanced by the stack")
        .rare()
        .lens(|plan| some(plan.stage_layers.clone()), |plan, sizes| sizes.put(&mut plan.stage_layers)),
    Accumulation = word::<Accumulation>("plan.accumulation", "accumulation", "standard")
        .label("acc order")
        .help("ORDER", "Order of gradient accumulation: one micro-batch after the other, or layer by layer")
        .searched()
        .advised(2, 2)
        .needs(Feature::Layered, "layered accumulation")
        .lens(|plan| some(plan.accumulation), |plan, order| order.put(&mut plan.accumulation)),
    Optimizer = word::<Optimizer>("plan.optimizer", "optimizer", "adam")
        .help("OPTIMIZER", "Optimizer, which sets how much state there is")
        .suspected(8, 8)
        .left_open()
        .lens(|plan| some(plan.optimizer), |plan, optimizer| optimizer.put(&mut plan.optimizer)),
    Moments = word::<Moments>("plan.moments", "moments", "fp32")
        .help("FORMAT", "Format of the optimizer's moments; adam8bit has its own")
        .rare()
        .searched_for_launchers()
        .idle_if(|plan| plan.moments != Moments::Fp32 && plan.optimizer == Optimizer::Adam8bit)
        .because("adam8bit has moments of 8 bits", "choose optimizer adam")
        .lens(|plan| some(plan.moments), |plan, format| format.put(&mut plan.moments)),
    MasterWeights = word::<MasterWeights>("plan.master_weights", "master-weights", "fp32")
        .label("masters")
        .help("FORMAT", "Format of the copy of weights that the optimizer updates; none: the weights themselves")
        .rare()
        .searched_for_launchers()
        .idle_if(|plan| plan.master_weights != MasterWeights::Fp32 && plan.precision.storage() == Format::Fp32)
        .because_of(
            |plan| format!("precision {} has no master weights beside its fp32 weights", plan.precision),
            "choose precision bf16",
        )
        .lens(|plan| some(plan.master_weights), |plan, format| format.put(&mut plan.master_weights)),
    GradientFormat = word::<GradientFormat>("plan.gradient_format", "gradient-format", "as the stack has it")
        .label("grads")
        .help("FORMAT", "Format in which gradients are added up and reduced")
        .rare()
        .lens(|plan| plan.gradients.map(Value::from), put_gradient_format),
    ClipNorm = plan("plan.clip_norm", "clip-norm", Type::Switch, "on")
        .label("clipping")
        .help("SWITCH", "Clip gradients by their norm, as measured steps do: off spares the update a read of them")
        .rare()
        .idle_if(|plan| !plan.clip_norm && plan.optimizer_on_host() >= 1.0)
        .because("the host updates, and the norm is taken where gradients are reduced", "choose offload none")
        .lens(|plan| some(plan.clip_norm), |plan, on| on.put(&mut plan.clip_norm)),
    Ema = word::<Ema>("plan.ema", "ema", "none")
        .help("PLACE", "Place of a moving average of the weights: beside the optimizer's state (device), or the host")
        .rare()
        .lens(|plan| some(plan.ema), |plan, place| place.put(&mut plan.ema)),
    Train = word::<TrainMethod>("plan.train", "train", "full")
        .help("METHOD", "Train all parameters, or adapters beside frozen ones (LoRA, QLoRA)")
        .needs(Feature::Adapters, "training of adapters")
        .advised(2, 0)
        .suspected(0, 0)
        .lens(|plan| some(plan.tuning.method), |plan, method| method.put(&mut plan.tuning.method)),
    LoraRank = plan("plan.lora_rank", "lora-rank", Type::Count(1, 4096), "16")
        .help("R", "Rank of the adapters")
        .steps(Steps::Powers(1, 1024))
        .range(1, 512)
        .rare()
        .idle_if(|plan| plan.tuning.rank != Tuning::default().rank && !plan.tuning.freezes())
        .because(NO_ADAPTERS, ADAPTERS)
        .lens(|plan| adapters(plan, plan.tuning.rank), |plan, rank| rank.put(&mut plan.tuning.rank)),
    LoraTargets = plan("plan.lora_targets", "lora-targets", Type::LoraTargets, "all")
        .label("adapters")
        .help(
            "MATRICES",
            "Matrices of each layer that have adapters: all, attention, mlp, or a list of q, k, v, qkv, o, gate, up, \
             gate_up, down",
        )
        .rare()
        .idle_if(|plan| plan.tuning.targets != Tuning::default().targets && !plan.tuning.freezes())
        .because(NO_ADAPTERS, ADAPTERS)
        .lens(|plan| adapters(plan, plan.tuning.targets), |plan, targets| targets.put(&mut plan.tuning.targets)),
    LoraDropout = plan("plan.lora_dropout", "lora-dropout", Type::Share, "0")
        .label("dropout")
        .help("SHARE", "Share of its input that an adapter drops; above 0 each keeps an input of its own, and a mask")
        .steps(Steps::Numbers(&[0.0, 0.05, 0.1]))
        .rare()
        .idle_if(|plan| plan.tuning.dropout != Tuning::default().dropout && !plan.tuning.freezes())
        .because(NO_ADAPTERS, ADAPTERS)
        .lens(|plan| adapters(plan, plan.tuning.dropout.get()), put_lora_dropout),
    FrozenFormat = word::<FrozenFormat>("plan.frozen_format", "frozen-format", "bf16, under qlora nf4")
        .label("frozen")
        .help("FORMAT", "Format in which frozen matrices are kept, and gathered where they are sharded")
        .rare()
        .idle_if(|plan| plan.tuning.frozen.is_some() && !plan.tuning.freezes())
        .because(NO_ADAPTERS, ADAPTERS)
        .lens(|plan| adapters(plan, plan.tuning.frozen_format()), put_frozen_format),
    FrozenLayers = plan("plan.frozen_layers", "frozen-layers", Type::Count(0, MOST), "0")
        .label("freeze")
        .help("N", "First layers that stay as they are; backward stops behind them where the embedding does too")
        .unit("layer", "layers")
        .steps(Steps::Powers(0, 128))
        .range(1, 64)
        .rare()
        .needs(Feature::Adapters, "training of a part of a model")
        .used_if(|job| job.trains_part() && !job.plan.tuning.freezes())
        .of_model(|model| some(model.frozen_layers), |model, count| count.put(&mut model.frozen_layers)),
    FrozenEnds = word::<FrozenEnds>("plan.frozen_ends", "frozen-ends", "none; below frozen layers embedding")
        .label("ends")
        .help("ENDS", "Embedding, or last norm and logits (head), that stay as they are")
        .rare()
        .lens(|plan| plan.tuning.ends.map(Value::from), put_frozen_ends),
    Loss = word::<LossKind>("plan.loss", "loss", "stack")
        .help(
            "KIND",
            "How logits and loss are computed: of all tokens by operators (whole), divided over tensor ranks, by one \
             kernel (fused), or of some tokens at a time (chunked); stack for the stack's own",
        )
        .rare()
        .searched_on_request()
        .needs_listed(|plan, runs| {
            unlisted(runs.computes(plan.loss), format!("loss that is {}", plan.loss), runs.losses.as_ref())
        })
        .idle_if(|plan| plan.loss == LossKind::VocabParallel && plan.tensor == 1)
        .because("one tensor rank has the whole vocabulary", "choose 2 or more tensor ranks")
        .lens(|plan| some(plan.loss), |plan, loss| loss.put(&mut plan.loss)),
    LossChunk = plan("plan.loss_chunk", "loss-chunk", COUNT, "the stack's")
        .label("chunk")
        .help("TOKENS", "Tokens that a loss in chunks takes at a time")
        .unit("token", "tokens")
        .steps(Steps::Powers(64, 1 << 16))
        .range(128, 16_384)
        .rare()
        .searched_on_request()
        .lens(|plan| plan.loss_chunk.map(Value::Count), put_loss_chunk),
    LossFormat = word::<LossFormat>("plan.loss_format", "loss-format", "as the stack has it")
        .label("loss in")
        .help("FORMAT", "Format of the head's product and of the loss")
        .rare()
        .lens(|plan| plan.loss_format.map(Value::from), put_loss_format),
    Method = word::<PostMethod>("post_training.method", "method", "sft")
        .help("METHOD", "What a step computes of an example, after pre-training")
        .rare()
        .lens(|plan| some(plan.post_training.method), |plan, method| method.put(&mut plan.post_training.method)),
    Reference = plan("post_training.reference", "reference", Type::Beside, "resident, beside adapters adapters-off")
        .help(
            "MODEL",
            "Model that dpo, kto, grpo and ppo compare with: resident (a copy), host, adapters-off, precomputed, none, \
             or a model's id",
        )
        .rare()
        .searched_on_request()
        .idle_if(|plan| plan.post_training.reference.is_some() && plan.post_training.method.of_reference() == 0)
        .because_of(
            |plan| format!("{} compares with no reference", plan.post_training.method),
            "choose method dpo, kto, grpo or ppo"
        )
        .lens(
            |plan| plan.post_training.reference.clone().map(Value::Beside),
            |plan, model| put_post(plan, model, |post| &mut post.reference),
        ),
    ReferenceOver =
        plan("post_training.reference_over", "reference-over", Type::Extent, "as the trained model's weights")
            .label("ref shard")
            .help("EXTENT", "Extent over which a reference's weights are sharded")
            .steps(Steps::Extents)
            .rare()
            .idle_if(|plan| {
                plan.post_training.reference_over.is_some()
                    && (!plan.reference().is_passed() || plan.reference() == BesideModel::AdaptersOff)
            })
            .because("no reference has weights of its own", "choose method dpo and reference resident")
            .lens(
                |plan| plan.post_training.reference_over.clone().map(Value::Extent),
                |plan, extent| put_post(plan, extent, |post| &mut post.reference_over),
            ),
    Teacher = plan("post_training.teacher", "teacher", Type::Beside, "none")
        .help("MODEL", "Model that distill learns from: its id, resident (a copy), host, adapters-off or precomputed")
        .rare()
        .idle_if(|plan| {
            plan.post_training.teacher != BesideModel::None && plan.post_training.method.of_teacher() == 0
        })
        .because_of(|plan| format!("{} has no teacher", plan.post_training.method), "choose method distill")
        .lens(teacher, |plan, model| model.put(&mut plan.post_training.teacher)),
    TeacherOver = plan("post_training.teacher_over", "teacher-over", Type::Extent, "as the trained model's weights")
        .label("tea shard")
        .help("EXTENT", "Extent over which a teacher's weights are sharded")
        .steps(Steps::Extents)
        .rare()
        .idle_if(|plan| {
            let teacher = &plan.post_training.teacher;
            let owns = teacher.is_passed() && *teacher != BesideModel::AdaptersOff;
            plan.post_training.teacher_over.is_some() && (plan.post_training.method.of_teacher() == 0 || !owns)
        })
        .because("no teacher has weights of its own", "choose method distill, and a model as teacher")
        .lens(
            |plan| plan.post_training.teacher_over.clone().map(Value::Extent),
            |plan, extent| put_post(plan, extent, |post| &mut post.teacher_over),
        ),
    TopK = plan("post_training.top_k", "top-k", Type::Count(1, 1 << 16), "all logits")
        .help("K", "Logits of a token that a teacher hands on, the largest ones")
        .steps(Steps::Powers(8, 1024))
        .range(8, 1024)
        .rare()
        .idle_if(|plan| plan.post_training.top_k.is_some() && plan.post_training.method.of_teacher() == 0)
        .because_of(|plan| format!("{} has no teacher", plan.post_training.method), "choose method distill")
        .lens(
            |plan| plan.post_training.top_k.map(Value::Count),
            |plan, count| put_post(plan, count, |post| &mut post.top_k),
        ),
    Padding = word::<Padding>("post_training.padding", "padding", "fixed, with packing packed")
        .help(
            "PADDING",
            "Whether each answer has a sequence of its own (fixed), one as long as the longest of its batch (longest), or \
             shares one with others (packed)",
        )
        .rare()
        .idle_if(|plan| {
            let said = plan.post_training.padding.filter(|padding| *padding != Padding::Longest);
            said.is_some() && plan.post_training.method.sequences() == 1
        })
        .because_of(
            |plan| format!(
                "{} has one sequence an example: packing says how long those are",
                plan.post_training.method
            ),
            "choose method dpo, orpo or reward",
        )
        .lens(
            |plan| plan.post_training.padding.map(Value::from),
            |plan, padding| put_post(plan, padding, |post| &mut post.padding),
        ),
    Logits = word::<Logits>("post_training.logits", "logits", "all")
        .help("TOKENS", "Tokens that have logits: all, or those of the answers alone (completions)")
        .rare()
        .searched_on_request()
        .idle_if(|plan| plan.post_training.logits == Logits::Completions && plan.post_training.response_max.is_none())
        .because("an answer may be as long as its sequence where nobody says how long it is", "say response-max")
        .lens(|plan| some(plan.post_training.logits), |plan, logits| logits.put(&mut plan.post_training.logits)),
    ResponseMax = plan("post_training.response_max", "response-max", Type::Count(1, MOST_TOKENS), "as long as the sequence")
        .label("answer")
        .help("TOKENS", "Tokens of the longest answer; --seq counts those of its prompt too")
        .unit("token", "tokens")
        .steps(Steps::Powers(64, 1 << 17))
        .range(128, 1 << 15)
        .rare()
        .idle_if(|plan| plan.post_training.response_max.is_some() && plan.post_training.logits == Logits::All)
        .because("all tokens have logits, those of prompts too", "choose logits completions")
        .lens(
            |plan| plan.post_training.response_max.map(Value::Count),
            |plan, count| put_post(plan, count, |post| &mut post.response_max),
        ),
    Critic = plan("post_training.critic", "critic", Type::Beside, "resident, of the trained model's shape")
        .help("MODEL", "Model that ppo trains to tell an answer's worth: resident, or a model's id")
        .rare()
        .idle_if(|plan| plan.post_training.critic.is_some() && !plan.post_training.method.has_critic())
        .because_of(|plan| format!("{} has no critic", plan.post_training.method), "choose method ppo")
        .lens(
            |plan| plan.post_training.critic.clone().map(Value::Beside),
            |plan, model| put_post(plan, model, |post| &mut post.critic),
        ),
    RewardModel = plan("post_training.reward_model", "reward-model", Type::Beside, "none")
        .label("rewards")
        .help("MODEL", "Model that scores answers as they come: none where code does, resident, host, or a model's id")
        .rare()
        .searched_on_request()
        .idle_if(|plan| plan.post_training.reward_model != BesideModel::None && !plan.post_training.method.writes())
        .because_of(nothing_written, WRITES)
        .lens(reward_model, |plan, model| model.put(&mut plan.post_training.reward_model)),
    Group = plan("post_training.group", "group", COUNT, "8")
        .help("N", "Answers that the model writes to a prompt")
        .unit("answer", "answers")
        .steps(Steps::Powers(1, 64))
        .rare()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.group != Rollouts::USUAL.group))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.group.into()), |plan, value| value.put(&mut plan.post_training.rollouts.group)),
    Updates = plan("post_training.updates", "updates", COUNT, "1")
        .help("N", "Optimizer steps that divide the answers of a rollout among them")
        .unit("update", "updates")
        .steps(Steps::Powers(1, 64))
        .rare()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.updates != 1))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.updates.into()), |plan, value| value.put(&mut plan.post_training.rollouts.updates)),
    UpdateEpochs = plan("post_training.update_epochs", "update-epochs", COUNT, "1")
        .label("passes")
        .help("N", "Times that the updates pass over the answers of a rollout")
        .steps(Steps::Powers(1, 8))
        .rare()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.epochs != 1))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.epochs.into()), |plan, value| value.put(&mut plan.post_training.rollouts.epochs)),
    RolloutLayout = word::<RolloutLayout>("post_training.layout", "layout", "colocated")
        .help(
            "LAYOUT",
            "Whether the engine that writes answers has the trainer's devices in turn (colocated) or others (split)",
        )
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.layout != RolloutLayout::Colocated))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.layout.into()), |plan, value| value.put(&mut plan.post_training.rollouts.layout)),
    RolloutDevices = plan("post_training.rollout_devices", "rollout-devices", COUNT, "1")
        .label("engines")
        .help("N", "Devices that engines have beside those of the trainer, where the layout is split")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 1 << 12))
        .range(1, 256)
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.devices != 1))
        .because_of(nothing_written, WRITES)
        .idle_if(|plan| {
            let engine = &plan.post_training.rollouts;
            engine.devices != 1 && engine.layout == RolloutLayout::Colocated
        })
        .because("engines have the devices of the trainer", "choose layout split")
        .lens(|plan| of_engine(plan, |engine| engine.devices.into()), |plan, value| {
            value.put(&mut plan.post_training.rollouts.devices)
        }),
    RolloutTensor = plan("post_training.rollout_tp", "rollout-tp", COUNT, "1")
        .label("eng tp")
        .help("N", "Devices of an engine, which share its matrices")
        .unit("device", "devices")
        .steps(Steps::Powers(1, 64))
        .range(1, 8)
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.tensor != 1))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.tensor.into()), |plan, value| value.put(&mut plan.post_training.rollouts.tensor)),
    RolloutShare = plan("post_training.rollout_share", "rollout-share", Type::Share, "0.5, split 0.9")
        .label("eng mem")
        .help("SHARE", "Share of a device's memory that an engine takes")
        .steps(Steps::Numbers(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]))
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.share.is_some()))
        .because_of(nothing_written, WRITES)
        .lens(|plan| plan.post_training.rollouts.share.map(|share| Value::Number(share.get())), put_rollout_share),
    RolloutSlots = plan("post_training.rollout_slots", "rollout-slots", COUNT, "256")
        .label("slots")
        .help("N", "Sequences that an engine writes at once, at most")
        .unit("sequence", "sequences")
        .steps(Steps::Powers(16, 2048))
        .range(16, 1024)
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.slots != Rollouts::USUAL.slots))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.slots.into()), |plan, value| value.put(&mut plan.post_training.rollouts.slots)),
    RolloutFormat = word::<Format>("post_training.rollout_format", "rollout-format", "as the trainer has it")
        .label("engine in")
        .help("FORMAT", "Format of an engine's matrices; embedding and logits stay as they are")
        .rare()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.format.is_some()))
        .because_of(nothing_written, WRITES)
        .lens(|plan| plan.post_training.rollouts.format.map(Value::from), put_rollout_format),
    CacheFormat = word::<Format>("post_training.cache_format", "cache-format", "as the trainer has it")
        .label("cache in")
        .help("FORMAT", "Format of an engine's cache of keys and values")
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.cache.is_some()))
        .because_of(nothing_written, WRITES)
        .lens(|plan| plan.post_training.rollouts.cache.map(Value::from), put_cache_format),
    Sleep = plan("post_training.sleep", "sleep", Type::Count(0, 2), "1")
        .help(
            "LEVEL",
            "How deep an engine sleeps while the trainer has its devices: 0 keeps all, 1 moves weights to the host, 2 \
             drops them",
        )
        .steps(Steps::Powers(0, 2))
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.sleep != 1))
        .because_of(nothing_written, WRITES)
        .idle_if(|plan| plan.post_training.rollouts.sleep != 1 && plan.post_training.rollouts.layout == RolloutLayout::Split)
        .because("an engine with devices of its own need not sleep", "choose layout colocated")
        .lens(|plan| of_engine(plan, |engine| engine.sleep.into()), |plan, value| {
            value.put(&mut plan.post_training.rollouts.sleep)
        }),
    TrainerOffload = word::<TrainerOffload>("post_training.trainer_offload", "trainer-offload", "none")
        .label("trainer")
        .help("PART", "What of the trainer waits in the hosts' memory while it is not in use: none, optimizer, or all")
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.offload != TrainerOffload::None))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.offload.into()), |plan, value| value.put(&mut plan.post_training.rollouts.offload)),
    Entropy = plan("post_training.entropy", "entropy", Type::Switch, "off")
        .help("SWITCH", "Compute the entropy of each token beside its log-probability, in two more tensors of the logits' size")
        .rare()
        .searched_on_request()
        .idle_if(|plan| is_unwritten(plan, |engine| engine.entropy))
        .because_of(nothing_written, WRITES)
        .lens(|plan| of_engine(plan, |engine| engine.entropy.into()), |plan, value| value.put(&mut plan.post_training.rollouts.entropy)),
    Offload = word::<Offload>("plan.offload", "offload", "none")
        .help("OFFLOAD", "What is offloaded to host memory, or to a node's drives (nvme)")
        .searched_on_request()
        .advised(8, 8)
        .needs_listed(|plan, runs| {
            unlisted(runs.offloads(plan.offload), format!("offload of {}", plan.offload), runs.offload.as_ref())
        })
        // A checkpoint is the input of a layer that backward computes again.
        .idle_if(|plan| plan.offload.checkpoints() && !plan.offload.activations() && plan.recompute.layers() <= 0.0)
        .because_of(
            |plan| {
                let left = if plan.offload.state() { "; only the state is on the host" } else { "" };
                format!("recompute {} keeps no checkpoints{left}", plan.recompute)
            },
            "choose recompute full, or a share of the layers",
        )
        .lens(|plan| some(plan.offload), |plan, offload| offload.put(&mut plan.offload)),
    OffloadModules = plan("plan.offload_modules", "offload-modules", Type::HostModules, "none")
        .label("inputs of")
        .help(
            "MODULES",
            "Modules whose inputs the host keeps until backward, by Megatron's names: core_attn+attn_proj, layernorm, mlp or moe",
        )
        .rare()
        .searched_on_request()
        .needs_named(Feature::HostModules, |plan| format!("inputs of {} on the host", plan.offload_modules))
        .used_if(|job| !job.plan.host_modules().is_empty())
        .idle_if(|plan| !plan.offload_modules.is_empty() && plan.offload.activations())
        .because("all that layers keep is on the host", "choose offload none")
        .idle_if(|plan| !plan.offload_modules.is_empty() && plan.host_modules().is_empty())
        .because("layers that are computed again keep their own inputs alone", "choose recompute selective, or offload checkpoints")
        .lens(|plan| some(plan.offload_modules), |plan, modules| modules.put(&mut plan.offload_modules)),
    OffloadRatio = plan("plan.offload_ratio", "offload-ratio", Type::Share, "1")
        .label("on host")
        .help("SHARE", "Share of an offloaded optimizer that the host keeps and updates; the device has the rest")
        .steps(SHARES)
        .rare()
        .idle_if(|plan| plan.offload_ratio.get() < 1.0 && !plan.offload.optimizer())
        .because_of(
            |plan| format!("offload {} leaves the optimizer on the device", plan.offload),
            "choose offload optimizer",
        )
        .lens(|plan| some(plan.offload_ratio.get()), put_offload_ratio),
    OffloadOverlap = plan("plan.offload_overlap", "offload-overlap", Type::Switch, "off")
        .label("copies")
        .help("SWITCH", "Copy gradients and weights of an offloaded optimizer while the host updates, tensor by tensor")
        .rare()
        .idle_if(|plan| plan.offload_overlap && (!plan.offload.optimizer() || plan.offload.state()))
        .because_of(
            |plan| format!("offload {} copies nothing around an update", plan.offload),
            "choose offload optimizer",
        )
        .lens(|plan| some(plan.offload_overlap), |plan, on| on.put(&mut plan.offload_overlap)),
    HostThreads = plan("plan.host_threads", "host-threads", Type::Count(1, 1024), "as the launcher has it")
        .label("threads")
        .help("N", "Threads of the host with which each rank updates an offloaded state (OMP_NUM_THREADS)")
        .unit("thread", "threads")
        .steps(Steps::Powers(1, 128))
        .range(1, 16)
        .rare()
        .lens(|plan| plan.host_threads.map(Value::Count), put_host_threads),
    HostPinned = plan("plan.host_pinned", "host-pinned", Type::Switch, "on")
        .label("pinned")
        .help(
            "SWITCH",
            "Page-lock memory of the host that is copied: off makes copies slower, and compute wait for them",
        )
        .rare()
        .idle_if(|plan| !plan.host_pinned && !plan.offloads() && plan.ema != Ema::Host)
        .because("nothing is copied to the host or from it", "choose offload optimizer")
        .lens(|plan| some(plan.host_pinned), |plan, on| on.put(&mut plan.host_pinned)),
    PagedOptimizer = plan("plan.paged_optimizer", "paged-optimizer", Type::Switch, "off")
        .label("paged")
        .help("SWITCH", "Keep moments in pages that go to the host and back where a device has no room for all of them")
        .rare()
        .needs(Feature::PagedOptimizer, "optimizer whose state is in pages")
        .idle_if(|plan| plan.paged_optimizer && plan.optimizer_on_host() >= 1.0)
        .because("the optimizer's state is on the host all the time", "choose offload none")
        .lens(|plan| some(plan.paged_optimizer), |plan, on| on.put(&mut plan.paged_optimizer)),
    Qwz = sharding("plan.qwz", "qwz", Type::Switch)
        .label("qwZ")
        .help("SWITCH", "All-gather weights in int8 (ZeRO++ qwZ)")
        .suspected(1, 1)
        .searched_on_request()
        .needs_named(Feature::Quantised, |plan| format!("transfers in {}", plan.sharding.wire.weights))
        .used_if(|job| job.plan.sharding.wire.weights.quantised() && job.layout().weights > 1)
        .idle_if(|plan| plan.sharding.wire.weights.quantised() && is_whole(plan, &plan.sharding.weights))
        .because("weights are not sharded", SHARDS)
        .state(|sharding| some(sharding.wire.weights.quantised()), quantise_weights),
    Hpz = sharding("plan.hpz", "hpz", Type::Extent)
        .in_full("plan.sharding.secondary")
        .label("hpZ")
        .help("EXTENT", "Extent of the second copy of the weights that backward gathers (ZeRO++ hpZ); device: none")
        .suspected(8, 8)
        .steps(Steps::Levels)
        .searched()
        .needs(Feature::Hpz, "second copy of the weights (hpZ)")
        .used_if(|job| job.layout().secondary.is_some_and(|ranks| ranks > 1))
        .idle_if(|plan| plan.sharding.secondary.is_some() && is_whole(plan, &plan.sharding.weights))
        .because("weights are not sharded", SHARDS)
        .state(|sharding| some(second_copy(sharding)), copy_weights),
    Qgz = sharding("plan.qgz", "qgz", Type::Switch)
        .label("qgZ")
        .help("SWITCH", "Reduce gradients in int4 and two hops (ZeRO++ qgZ)")
        .suspected(1, 1)
        .searched_on_request()
        .needs_named(Feature::Quantised, |plan| format!("transfers in {}", plan.sharding.wire.gradients))
        .used_if(|job| job.plan.sharding.wire.gradients.quantised() && job.layout().gradients > 1)
        .idle_if(|plan| plan.sharding.two_hop_gradients && is_whole(plan, &plan.sharding.gradients))
        .because("gradients are not sharded", SHARDS)
        .state(|sharding| some(sharding.wire.gradients.quantised()), quantise_gradients),
    Tokens = plan("plan.tokens", "tokens", Type::Tokens, "none")
        .help("T", "Tokens of the whole training run, for days and device-hours")
        .steps(LENGTHS)
        .lens(|plan| plan.tokens.map(Value::Number), put_tokens),
    Examples = plan("plan.examples", "examples", Type::Count(1, u32::MAX), "none")
        .help("N", "Examples of the training data, in place of tokens")
        .steps(Steps::Powers(1 << 10, 1 << 24))
        .rare()
        .lens(|plan| plan.examples.map(Value::Count), put_examples),
    Epochs = plan("plan.epochs", "epochs", Type::Count(1, 10_000), "1")
        .help("N", "Times that the training passes over its examples")
        .steps(Steps::Powers(1, 16))
        .rare()
        .lens(|plan| plan.examples.map(|_| Value::Count(plan.epochs)), |plan, count| count.put(&mut plan.epochs)),
    Packing = plan("plan.packing", "packing", COUNT, "one example for each sequence")
        .help("LENGTH", "Mean tokens of an example where several are packed into a sequence")
        .steps(Steps::Powers(32, 1 << 17))
        .rare()
        .idle_if(|plan| plan.packing.is_some() && plan.padding() != Padding::Packed)
        .because("each example has a sequence of its own", "choose padding packed")
        .lens(|plan| plan.packing.map(Value::Count), put_packing),
    ExamplesApart = plan("plan.examples_apart", "examples-apart", Type::Switch, "off")
        .label("apart")
        .help("SWITCH", "Whether attention keeps to each of the examples packed into a sequence")
        .rare()
        .idle_if(|plan| plan.examples_apart && plan.attended_sequence() == plan.sequence)
        .because("each example has a sequence of its own", "say by --packing how long they are")
        .lens(|plan| some(plan.examples_apart), |plan, on| on.put(&mut plan.examples_apart)),
    Reduction = word::<Reduction>("plan.reduction", "reduction", "default")
        .help(
            "WHEN",
            "When gradients are reduced: as their sharding requires, after each micro-batch, over replicas after the \
             last one, or once per step",
        )
        .suspected(8, 8)
        .searched()
        .rare()
        .needs_listed(|plan, runs| {
            unlisted(runs.reduces(plan.reduction), format!("reduction by {}", plan.reduction), runs.reductions.as_ref())
        })
        .lens(|plan| some(plan.reduction), |plan, when| when.put(&mut plan.reduction)),
    TensorOverlap = plan("plan.tp_overlap", "tp-overlap", Type::Switch, "off")
        .label("overlap")
        .help("SWITCH", "Cut the matrix products of tensor parallelism so that their collectives run beside them")
        .suspected(1, 1)
        .searched()
        .rare()
        .needs(Feature::TensorOverlap, "overlap of tensor parallelism's collectives with the products")
        .used_if(|job| job.plan.tensor_overlap && job.plan.tensor > 1)
        .lens(|plan| some(plan.tensor_overlap), |plan, on| on.put(&mut plan.tensor_overlap)),
    CudaGraphs = word::<CudaGraphs>("plan.cuda_graphs", "cuda-graphs", "none")
        .label("graphs")
        .help("WHAT", "What CUDA graphs replay, which spares the host its launches: none, each layer, or the full step")
        .rare()
        .lens(|plan| some(plan.cuda_graphs), |plan, what| what.put(&mut plan.cuda_graphs)),
    Compile = word::<Compile>("plan.compile", "compile", "off")
        .help("WHAT", "What torch.compile fuses: nothing, each layer, or (on) layers and the loss")
        .suspected(2, 2)
        .rare()
        .lens(|plan| some(plan.compile), |plan, what| what.put(&mut plan.compile)),
    Prefetch = plan("plan.prefetch", "prefetch", Type::Count(0, 16), "1")
        .help("N", "Units whose all-gather may run ahead of the unit that computes")
        .suspected(3, 3)
        .steps(Steps::Powers(1, 16))
        .range(1, 16)
        .searched()
        .rare()
        .needs_named(Feature::Prefetch, |plan| format!("prefetch of {} units", plan.prefetch))
        .used_if(|job| job.plan.prefetch != Plan::USUAL_PREFETCH && gathers(job))
        .lens(|plan| some(plan.prefetch), |plan, count| count.put(&mut plan.prefetch)),
    Reshard = sharding("plan.reshard_after_forward", "reshard", Type::Switch)
        .help("SWITCH", "Whether gathered weights are freed after forward and gathered again for backward")
        .suspected(1, 1)
        .searched()
        .rare()
        .needs(Feature::KeptGathered, "way to keep gathered weights for backward")
        .used_if(|job| !job.plan.sharding.reshard_after_forward && gathers(job))
        .state(
            |sharding| some(sharding.reshard_after_forward),
            |sharding, on| on.put(&mut sharding.reshard_after_forward),
        ),
    FlopCount = word::<FlopCount>("plan.flop_count", "flop-count", "parameters")
        .label("MFU flop")
        .help(
            "CONVENTION",
            "How MFU counts model flop: by trained parameters, by weights of matrix products, or by these and half of \
             causal attention",
        )
        .rare()
        .lens(|plan| some(plan.flop_count), |plan, count| count.put(&mut plan.flop_count)),
];
