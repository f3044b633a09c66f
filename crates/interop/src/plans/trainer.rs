//! Arguments of Hugging Face's Trainer, as JSON or YAML, with FSDP or DeepSpeed inside them.

use shardscope_engine::plan::{
    Extent, FrozenFormat, Offload, Optimizer, Precision, Recompute, Reduction, Sharded, TrainMethod,
};
use shardscope_engine::scenario::{Field, Value};

use super::accelerate;
use super::accelerate::UNSHARDED_REDUCTION;
use super::adapters::{self, FUSED};
use super::context;
use super::deepspeed;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT, SUMS_EACH, WEIGHTS_TOO};
use super::draft::PlanDraft;
use super::frozen;
use super::harmless;
use super::kernels;
use super::lacks::ToolTable;
use super::loss;
use super::post_training;
use super::programs::{self, KnownProgram, MasterWeightRule};
use super::settings::{Setting, ToolSettings};
use super::table::{
    self, CHECKPOINTING, Codec, OFF, OFFLOADED, SWITCH, ToolKey, clips, codec, compiled, compiles, except, left_to,
    nothing, number, only, optimizers, words,
};
use super::words::{CONFIG, KnownFlags};
use super::writer::{Line, PlanWriter};

/// Keys of the arguments.
pub(super) const KEYS: &[ToolKey] = &[
    number(MICRO_BATCH, Field::MicroBatch),
    number("gradient_accumulation_steps", Field::Accumulate),
    words("gradient_checkpointing", Field::Recompute, CHECKPOINTING),
    clips("max_grad_norm"),
    optimizers(
        "optim",
        &[
            ("adamw_torch_fused", Optimizer::Adam, false),
            ("adamw_torch", Optimizer::Adam, false),
            ("adamw_hf", Optimizer::Adam, false),
            ("adamw_apex_fused", Optimizer::Adam, false),
            ("adamw_bnb_8bit", Optimizer::Adam8bit, false),
            ("adamw_8bit", Optimizer::Adam8bit, false),
            ("adamw_torch_8bit", Optimizer::Adam8bit, false),
            ("paged_adamw_32bit", Optimizer::Adam, true),
            ("paged_adamw", Optimizer::Adam, true),
            ("paged_adamw_8bit", Optimizer::Adam8bit, true),
            ("sgd", Optimizer::SgdMomentum, false),
            // axolotl's word (src/axolotl/utils/schemas/enums.py).
            ("muon", Optimizer::Muon, false),
        ],
    ),
    only("use_cpu", OFF, "shardscope knows training on devices alone"),
    only("no_cuda", OFF, "shardscope knows training on devices alone"),
    only("auto_find_batch_size", OFF, "say the batch by --micro-batch, and switch it off"),
    only("adafactor", OFF, "say the optimizer by --optimizer, and switch it off"),
    only("optim_target_modules", OFF, "a plan projects no gradients"),
    only("torch_empty_cache_steps", OFF, "a plan keeps what the allocator holds"),
    only("use_cache", OFF, "switch it off: training needs no cache of keys and values"),
    only("full_determinism", OFF, "a plan's kernels are the fast ones"),
    only("mp_parameters", OFF, SAGEMAKER),
    only("tpu_*", OFF, "shardscope knows training on GPUs alone"),
    only("use_mps_device", OFF, "shardscope knows training on GPUs alone"),
    only("parallelism_config*", OFF, "give the mesh in the file of Accelerate"),
    compiles("torch_compile", OFF, "true"),
    compiled("torch_compile_backend", OFF),
    compiled("torch_compile_mode", OFF),
    compiled("torchdynamo", OFF),
    nothing("gradient_checkpointing_kwargs*", "how it is computed again changes no size"),
    only("activation_checkpointing_kwargs.every_n_layers", &["1"], "say the share of layers by --recompute"),
    only("activation_checkpointing_kwargs.offload", OFF, "say it by --offload checkpoints, and switch it off"),
    nothing("activation_checkpointing_kwargs*", "how it is computed again changes no size"),
];

/// Key for reducing gradients at each micro-batch.
const SYNCHRONISED: &[ToolKey] = &[words(
    "accelerator_config.gradient_accumulation_kwargs.sync_each_batch",
    Field::Reduction,
    &[("true", Value::Word(Reduction::MicroBatch.to_word())), ("false", Value::Word(Reduction::Step.to_word()))],
)];

const SAGEMAKER: &str = "give the file of Accelerate or DeepSpeed";
const FULL: &str = "every sequence is taken to be as long as the longest";

/// Names in other versions.
const ALIASES: &[ToolKey] = &[
    number("per_gpu_train_batch_size", Field::MicroBatch),
    words("activation_checkpointing", Field::Recompute, CHECKPOINTING),
];
const FSDP_ALIASES: &[ToolKey] = &[
    words("offload_params", Field::Offload, OFFLOADED),
    // axolotl's key, which is passed to FSDP2's `CPUOffloadPolicy`.
    words("cpu_offload_pin_memory", Field::HostPinned, SWITCH),
];

/// Keys of other argument classes: TRL's, fine-tuning tools', and those of transformers' examples.
const OTHERS: &[ToolKey] = &[
    number("max_length", Field::Sequence),
    number("max_seq_length", Field::Sequence),
    number("max_seq_len", Field::Sequence),
    number("model_max_length", Field::Sequence),
    number("cutoff_len", Field::Sequence),
    number("block_size", Field::Sequence),
    number("seq_length", Field::Sequence),
    number("seq_len", Field::Sequence),
    number("sequence_length", Field::Sequence),
    number("context_length", Field::Sequence),
    // LLaMA-Factory v1's key.
    number("global_batch_size", Field::GlobalBatch),
    number("world_size", Field::Devices),
    number("num_processes", Field::Devices),
    number("tensor_parallel_size", Field::Tensor),
    number("context_parallel_size", Field::Context),
    number("sequence_parallel_degree", Field::Context),
    codec(&HEADS),
    words("ring_attn_func", Field::ContextKind, context::RING_FUNCTIONS),
    words(
        "disable_gradient_checkpointing",
        Field::Recompute,
        &[("true", Value::Recompute(Recompute::None)), ("false", Value::Recompute(Recompute::Full))],
    ),
    nothing("packing*", FULL),
    nothing("neat_packing", FULL),
    nothing("padding_free", FULL),
    nothing("pad_to_sequence_len", FULL),
    only("use_fsdp", OFF, ACCELERATE),
    only("use_deepspeed", OFF, ACCELERATE),
    codec(&kernels::ATTENTION),
    nothing("sdp_attention", WHICH_ATTENTION),
    nothing("sdpa_attention", WHICH_ATTENTION),
    nothing("flex_attention", WHICH_ATTENTION),
    nothing("xformers_attention", WHICH_ATTENTION),
    only("flash_attn_rms_norm", OFF, FUSED),
    only("flash_attn_fuse_mlp", OFF, FUSED),
    only("flash_attn_fuse_qkv", OFF, FUSED),
    only("use_kernels", OFF, FUSED),
    only("fused_attn_kernel", OFF, FUSED),
    only("use_sonicmoe", OFF, FUSED),
    only(
        "expert_parallel_size",
        &["1"],
        "give the run without it: a plan's experts are divided as Megatron-LM divides them",
    ),
    // Grouped products for all experts (the default in transformers since 5.0), or one product for each.
    except("experts_implementation", &["scattermoe", "sonicmoe"], FUSED),
    except("experts_impl", &["scattermoe", "sonicmoe"], FUSED),
    nothing("quantize_moe_experts", "frozen weights of experts count with the others' bits"),
    only("use_ipex", OFF, "shardscope knows training on GPUs alone"),
    nothing("use_flash_attention_2", WHICH_ATTENTION),
    nothing("use_flash_attn", WHICH_ATTENTION),
];

/// ms-swift's sequence-parallel ranks, which exchange heads (`swift/trainers/sequence_parallel/ulysses.py`).
const HEADS: Codec =
    Codec::new(&[], |settings, draft| context::read_heads("sequence_parallel_size", settings, draft), |_| Vec::new());

const WHICH_ATTENTION: &str = "the stack says which attention runs";

/// The stack of the Trainer, and of TRL, without FSDP and DeepSpeed.
const ALONE: (&str, &str) = ("hf-trainer-2024", "Hugging Face's Trainer without FSDP");

const ACCELERATE: &str = "give the file of `accelerate config` beside the script";

/// Keys of `fsdp_config`, with and without Accelerate's prefix.
pub(super) const FSDP: &[ToolKey] = &[
    words("reshard_after_forward", Field::Reshard, SWITCH),
    words("activation_checkpointing", Field::Recompute, CHECKPOINTING),
    words("cpu_offload", Field::Offload, OFFLOADED),
    only("activation_checkpointing_offload", OFF, "say it by --offload checkpoints, and switch it off"),
    only("xla", OFF, "give the plan of FSDP on GPUs"),
    nothing("xla_fsdp_*", "it is of TPUs"),
    only(
        "auto_wrap_policy",
        &["TRANSFORMER_BASED_WRAP"],
        "wrap by TRANSFORMER_BASED_WRAP: a plan gathers layer by layer",
    ),
    only("sharding_strategy", &["FULL_SHARD", "1"], "say the strategy by fsdp alone"),
    nothing("version", "both versions of FSDP shard alike"),
    nothing("transformer_layer_cls_to_wrap", "a plan gathers layer by layer"),
    nothing("min_num_params", "a plan gathers layer by layer"),
    nothing("limit_all_gathers", "a plan limits them by --prefetch"),
    nothing("use_orig_params", "the same weights are sharded either way"),
    nothing("sync_module_states", "loading is no part of a step"),
    nothing("cpu_ram_efficient_loading", "loading is no part of a step"),
    nothing("state_dict_type", "checkpoints are no part of a step"),
    nothing("final_state_dict_type", "checkpoints are no part of a step"),
    nothing("forward_prefetch", "the device runs ahead of the program either way"),
];

/// Keys that FSDP1 alone reads.
const FIRST: &[ToolKey] = &[words(
    "backward_prefetch",
    Field::Prefetch,
    &[("backward_pre", Value::Count(1)), ("no_prefetch", Value::Count(0))],
)];

const MICRO_BATCH: &str = "per_device_train_batch_size";

/// Keys for the model's name, which gives no shape.
const MODELS: [&str; 3] = ["model_name_or_path", "model_id_or_path", "model"];

/// Words of `fsdp` that name a strategy, the first sharded part of the state, and over which ranks.
const STRATEGIES: [(&str, Option<Sharded>, Option<Extent>); 7] = [
    ("full_shard", Some(Sharded::Weights), None),
    ("shard_grad_op", Some(Sharded::Gradients), None),
    ("no_shard", None, None),
    ("hybrid_shard", Some(Sharded::Weights), Some(Extent::Node)),
    ("hybrid_shard_zero2", Some(Sharded::Gradients), Some(Extent::Node)),
    ("true", Some(Sharded::Weights), None),
    // ms-swift's named file for FSDP2.
    (SECOND, Some(Sharded::Weights), None),
];

const SECOND: &str = "fsdp2";

/// The key of FSDP's options.
pub(super) const FULLY_SHARDED: &str = "fsdp";

/// Keys that only the Trainer's arguments have; other tools also have a learning rate and an output folder.
const OWN: [&str; 8] = [
    MICRO_BATCH,
    "per_device_eval_batch_size",
    "gradient_checkpointing_kwargs",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_config.transformer_layer_cls_to_wrap",
    "lr_scheduler_type",
    "logging_strategy",
    "save_strategy",
];

/// Flags by which a script that starts the Trainer is recognised.
pub(crate) const FLAGS: KnownFlags = KnownFlags {
    own: &[MICRO_BATCH, "fsdp_transformer_layer_cls_to_wrap"],
    shared: &["gradient_accumulation_steps", "gradient_checkpointing", "model_name_or_path", "fsdp"],
};

/// True if the settings are the Trainer's.
pub fn is_of(settings: &ToolSettings) -> bool {
    OWN.iter().any(|name| settings.has(name))
        || settings.has("output_dir") && (settings.has("fsdp") || settings.has("deepspeed"))
}

/// Reads `--no_bf16` as `--bf16 false`, as the parsers of Hugging Face and axolotl do.
fn switch_off(settings: &mut ToolSettings) {
    let switches =
        KEYS.iter().chain(OTHERS).map(|key| key.name).chain([Precision::Bf16.word(), Precision::Fp16.word()]);
    for (name, off) in switches.map(|name| (name, format!("no_{name}"))) {
        if settings.take_on(&off) {
            settings.put(name, "false", &format!("--{off}"));
        }
    }
}

/// TRL's switch for activations on the host, which Accelerate lacks.
fn read_activations(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(setting) = settings.take("activation_offloading") else { return };
    match setting.text.as_str() {
        off if OFF.contains(&off) => draft.report.ignore(&setting.place, "it is off"),
        // axolotl's older mode, which offloads the inputs of recomputed layers.
        "legacy" => draft.take(Field::Offload, Offload::Checkpoints, &setting.place),
        "true" | "True" => {
            draft.stack = Some(("hf-trainer-2024", "Hugging Face's Trainer, which TRL starts"));
            draft.take(Field::Offload, Offload::Activations, &setting.place);
        }
        _ => draft.cannot(&setting, "is another way to the host than a plan's", "write true or false"),
    }
}

/// Reads the Trainer's settings. `deepspeed` is the configuration that they refer to, if given; `launched` tells that
/// Accelerate's is present too, which then decides the sharding.
pub fn read(mut settings: ToolSettings, deepspeed: Option<ToolSettings>, launched: bool, draft: &mut PlanDraft) {
    let settings = &mut settings;
    switch_off(settings);
    // ms-swift has FSDP's options and section in one object.
    settings.lift(FULLY_SHARDED);
    let configured = programs::names_file(settings);
    let program = programs::take_defaults(settings, &programs::OTHER, draft);
    let dtype = ["torch_dtype", "dtype"].into_iter().find_map(|name| settings.take(name));
    program.read_format(dtype.as_ref(), draft);
    table::read(FIRST_READ, settings, draft);
    for model in MODELS.iter().filter_map(|name| settings.take(name)).collect::<Vec<_>>() {
        draft.ask(
            Field::Model,
            &model.place,
            format!("'{}' is a model's name, and its shape is in no file", model.text),
        );
    }
    let profile = programs::read_profile(settings, draft);
    for name in ["fsdp_config", "config_file", "accelerate_config", CONFIG] {
        let given = launched && ["config_file", "accelerate_config"].contains(&name);
        let other = name == CONFIG && !configured;
        if !other && let Some(file) = settings.take(name).filter(|_| !given) {
            draft.cannot(&file, "is a file that says more of the plan", "give a file with what is in both");
        }
    }
    let named = settings.take("deepspeed").or(profile);
    let inside = settings.take_inside("deepspeed");
    let built_in = programs::built_in_deepspeed(named.as_ref(), settings);
    adapters::read_muon(settings, draft);
    kernels::read(settings, draft);
    kernels::read_tiles(settings, draft);
    table::read(KEYS, settings, draft);
    table::read(ALIASES, settings, draft);
    table::read(loss::KERNELS, settings, draft);
    table::read(OTHERS, settings, draft);
    programs::read_two_lengths(settings, draft);
    read_activations(settings, draft);
    frozen::read(settings, draft);
    adapters::read_plugins(settings, draft);
    adapters::read(settings, program, draft);
    let own = if inside.is_empty() { deepspeed.or(built_in) } else { Some(inside) };
    let mut kept = MasterWeightRule::Nowhere;
    match (own, named) {
        (Some(own), _) => deepspeed::read_with_transformers(own, draft),
        (None, Some(file)) => {
            let fix = "give that file too: shardscope import plan ARGUMENTS.json DEEPSPEED.json";
            draft.cannot(&file, "says how the state is sharded, and was not found", fix);
        }
        (None, None) => {
            (REDUCTION.read)(settings, draft);
            if !launched || settings.has("fsdp") {
                kept = read_fsdp(settings, draft);
            }
            let all = draft.value(Field::Train).and_then(Value::get).unwrap_or(TrainMethod::Full) == TrainMethod::Full;
            draft.stack.get_or_insert(if kept == MasterWeightRule::Unsharded && all {
                ALONE
            } else {
                accelerate::STACK
            });
        }
    }
    read_storage(dtype, kept, program, draft);
    table::leave(harmless::LAUNCHER, table::without_effect(harmless::TRAINER, std::mem::take(settings), draft), draft);
    program.assume_micro_batches(draft);
    programs::TRAINER.assume_defaults(draft);
}

/// Decides if weights loaded in 16 bits are trained without master weights; `kept` tells for which programs that holds
/// with this sharding.
fn read_storage(dtype: Option<Setting>, kept: MasterWeightRule, program: &KnownProgram, draft: &mut PlanDraft) {
    let all = draft.value(Field::Train).and_then(Value::get).unwrap_or(TrainMethod::Full) == TrainMethod::Full;
    let Some(dtype) = dtype else {
        let halves = draft.value(Field::Precision).and_then(Value::get::<Precision>) != Some(Precision::Fp32);
        let own = match kept {
            MasterWeightRule::Nowhere => false,
            MasterWeightRule::Unsharded => program.keeps_loaded != MasterWeightRule::Nowhere,
            MasterWeightRule::UnderFsdp2 => program.keeps_loaded == MasterWeightRule::UnderFsdp2,
        };
        if own && halves && all {
            draft.assume_16_bits(&format!("{} trains weights in the format in which it loads them", program.name));
        }
        return;
    };
    let halves = ["bfloat16", "float16", "bf16", "fp16"].contains(&dtype.text.as_str());
    let whole = ["float32", "fp32"].contains(&dtype.text.as_str());
    match (halves && kept == MasterWeightRule::Unsharded, all) {
        (true, true) => draft.keep_16_bits(&dtype.place),
        (_, false) if whole && kept == MasterWeightRule::Unsharded && draft.value(Field::FrozenFormat).is_none() => {
            draft.take(Field::FrozenFormat, FrozenFormat::Fp32, &dtype.place);
        }
        (_, false) => draft.report.ignore(&dtype.place, "frozen weights have the bits of --frozen-format"),
        _ => draft.report.ignore(&dtype.place, "weights in fp32 are kept all the same"),
    }
}

/// The format of products, with a switch for each 16-bit format.
const PRECISION: Codec = Codec::new(&[Field::Precision], read_precision, |writer| {
    let stored = writer.plan().precision.storage();
    let line = |own: Precision| Line::new(own.word(), own.storage() == stored);
    [Precision::Bf16, Precision::Fp16].map(line).into()
})
.losing(&[Deviation::instead(
    Field::Precision,
    |asked, _| asked.plan().precision.is_low(),
    "the Trainer computes in bf16; fp8 is Accelerate's to switch on",
)
.alone()]);

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if let Some(pure) = settings.take("pure_bf16").filter(|pure| pure.text.eq_ignore_ascii_case("true")) {
        draft.take(Field::Precision, Precision::Bf16, &pure.place);
        return draft.keep_16_bits(&pure.place);
    }
    let [bf16, fp16] = [Precision::Bf16, Precision::Fp16].map(|format| settings.take(format.word()));
    let is_on = |setting: &&Setting| table::switched(&setting.text) == "true";
    let launched = settings.take("mixed_precision").filter(|launched| launched.text != "no");
    if let Some(on) = bf16.as_ref().filter(is_on) {
        draft.take(Field::Precision, Precision::Bf16, &on.place);
    } else if let Some(on) = fp16.as_ref().filter(is_on) {
        draft.take(Field::Precision, Precision::Fp16, &on.place);
    } else if let Some(launched) = launched {
        // An option of `accelerate launch`, if the arguments set no format.
        draft.read(Field::Precision, &launched.text, &launched.place);
    } else if let Some(off) = bf16.filter(|_| draft.value(Field::Precision).is_some()) {
        // The program's default is switched off.
        draft.take(Field::Precision, Precision::Fp32, &off.place);
    } else {
        let why = "neither bf16 nor fp16 is on, and the Trainer's default is fp32";
        draft.assume(Field::Precision, Precision::Fp32, why);
    }
}

/// Reads FSDP's settings; returns for which programs weights loaded in 16 bits have no fp32 copy.
fn read_fsdp(settings: &mut ToolSettings, draft: &mut PlanDraft) -> MasterWeightRule {
    let mut inside = settings.take_inside("fsdp_config");
    // Real files use both spellings.
    let mut config = ToolSettings::new(&inside.file);
    for (name, setting) in inside.rest() {
        let short = name.strip_prefix("fsdp_").unwrap_or(name);
        config.put(short, &setting.text, &format!("fsdp_config.{name}"));
    }
    inside = config;
    let second = inside.text("version") == Some("2") || settings.text("fsdp") == Some(SECOND);
    let setting = settings.take("fsdp").filter(|setting| !OFF.contains(&setting.text.as_str()));
    let Some(setting) = setting else {
        let why = "no fsdp and no deepspeed: the Trainer then runs DDP";
        draft.assume(Field::Strategy, Value::id("ddp"), why);
        inside.rest().for_each(|(_, setting)| draft.report.ignore(&setting.place, "FSDP is off"));
        return MasterWeightRule::Unsharded;
    };
    let mesh = ["dp_replicate_size", "dp_shard_size"].map(|name| settings.take(name));
    // `"full_shard auto_wrap offload"`, or a list of the same words.
    let text = setting.text.to_lowercase();
    let split = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words: Vec<&str> = text.split(split).filter(|word| !word.is_empty()).collect();
    match STRATEGIES.iter().find(|(name, ..)| words.contains(name)) {
        Some((_, first, over)) => {
            if mesh.iter().any(Option::is_some) {
                accelerate::read_mesh(*first, &mesh, &setting.place, draft);
            } else {
                draft.shard(*first, over.clone(), &setting.place);
            }
            draft.reduced = first.is_some().then(|| accelerate::reduced(second, &setting.place));
        }
        None => draft.refuse(&setting.place, format!("'{}' names no strategy of FSDP", setting.text), Field::Strategy),
    }
    if words.contains(&"offload") {
        draft.take(Field::Offload, Offload::State, &setting.place);
    }
    if !second {
        table::read(FIRST, &mut inside, draft);
    }
    table::read(FSDP, &mut inside, draft);
    table::read(FSDP_ALIASES, &mut inside, draft);
    table::leave("", inside, draft);
    if second { MasterWeightRule::UnderFsdp2 } else { MasterWeightRule::Nowhere }
}

/// The version that [`write()`] is for.
pub(crate) const VERSIONS: &[&str] = &["5.24.0"];

/// Keys of the Trainer's file, and where the Trainer deviates from plans.
pub(crate) const TABLE: ToolTable =
    ToolTable { keys: &[FIRST_READ, FSDP, ELSEWHERE, KEYS, LAUNCHED], others: &[], deviations: DEVIATIONS };

/// Deviations of the Trainer as a whole, whichever program starts it.
pub(super) const DEVIATIONS: &[Deviation] = &[
    ONE_EXTENT,
    WEIGHTS_TOO,
    SUMS_EACH,
    ALIKE,
    Deviation::unsaid(Field::Offload, |asked, _| {
        asked.shards().first.is_none() && asked.plan().offload != Offload::None
    }),
    UNSHARDED_REDUCTION,
];

/// Keys read first, since DeepSpeed's `auto` takes their values.
pub(super) const FIRST_READ: &[ToolKey] = &[codec(&PRECISION), left_to(MESH, &[Field::Tensor, Field::Context])];

const MESH: &str = "the mesh stands in the file of `export --to accelerate`: launch with both";

/// Keys of adapters and methods in TRL's file, and fields left to the script.
const ELSEWHERE: &[ToolKey] = &[
    codec(&REDUCTION),
    codec(&adapters::PEFT),
    codec(&loss::TRL),
    codec(&post_training::TRL),
    left_to(frozen::SCRIPT, &frozen::FIELDS),
];

/// When gradients of several micro-batches are reduced; the launcher sets it.
pub(super) const REDUCTION: Codec = Codec::new(
    &[Field::Reduction],
    |settings, draft| table::read(SYNCHRONISED, settings, draft),
    |writer| {
        if writer.asked.shards().first.is_some() {
            accelerate::leave_reduction(writer, "sync_each_batch of accelerator_config");
        }
        Vec::new()
    },
);

/// Fields that are set outside the arguments.
const LAUNCHED: &[ToolKey] = &[
    left_to("micro-batch, accumulation and devices say it", &[Field::GlobalBatch]),
    left_to("the launcher's", &[Field::Devices]),
    left_to("the data's own, or max_length of TRL's SFTConfig", &[Field::Sequence]),
];

/// The lines of the Trainer's file.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    write_beside(writer, ELSEWHERE, LAUNCHED)
}

/// The lines of a file with a program's own keys, and of what is set outside it.
pub(super) fn write_beside(writer: &mut PlanWriter, program: &[ToolKey], launched: &[ToolKey]) -> Vec<Line> {
    let shards = writer.asked.shards();
    let mut lines = vec![Line::new("output_dir", "output")];
    lines.extend(table::write(FIRST_READ, writer));
    if shards.copies > 1 && shards.first.is_some() {
        writer.elsewhere.push(format!("shards over {} ranks: {MESH}", shards.over));
    }
    if let Some(first) = shards.first {
        let inside = |line: Line| Line { name: format!("fsdp_config.{}", line.name), ..line };
        let kept = (first != Sharded::Weights).then(|| Line::new("reshard_after_forward", false));
        lines.extend(kept.map(inside));
        lines.push(Line::new("fsdp", true));
        let version = Line::new("version", 2);
        lines.extend([version].into_iter().chain(table::write(FSDP, writer)).map(inside));
    }
    lines.extend(table::write(program, writer));
    // If both places switched it on, the blocks would be wrapped twice.
    let own = table::write(KEYS, writer);
    lines.extend(own.into_iter().filter(|line| shards.first.is_none() || line.name != "gradient_checkpointing"));
    lines.extend(table::write(launched, writer));
    lines
}
