//! torchtune's recipe configurations in YAML, for full training or adapters.
//!
//! Keys are read in pytorch/torchtune 0.7.0: `recipes/configs`, `recipes/full_finetune_distributed.py`,
//! `recipes/lora_finetune_distributed.py`.

use shardscope_engine::model::Model;
use shardscope_engine::plan::{
    BesideModel, Compile, Extent, FrozenFormat, LoraTarget, LoraTargets, LossKind, Moments, Optimizer, Plan,
    PostMethod, Precision, Recompute, Sharded, TrainMethod,
};
use shardscope_engine::scenario::{Field, Value};

use super::accelerate::{NO_CHECKPOINTS, is_optimizer_alone, moves_checkpoints, read_offload};
use super::context;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT, SUMS_EACH, WEIGHTS_TOO, WHOLE_CONTEXT};
use super::draft::PlanDraft;
use super::lacks::ToolTable;
use super::settings::ToolSettings;
use super::table::{
    self, CHECKPOINTING, Codec, OFF, SWITCH, ToolKey, codec, compiled, left_to, nothing, number, only, optimizers,
    words,
};
use super::words::assigned;
use super::writer::{Line, PlanWriter};
use super::{adapters, harmless, launcher, loss, programs};

/// Keys that recipes of several methods share.
const KEYS: &[ToolKey] = &[
    codec(&MODEL),
    number("batch_size", Field::MicroBatch),
    number("gradient_accumulation_steps", Field::Accumulate),
    number(SEQUENCE, Field::Sequence),
    number("epochs", Field::Epochs),
    number("tensor_parallel_dim", Field::Tensor),
    number("context_parallel_dim", Field::Context),
    words("context_parallel_rotate_method", Field::ContextKind, context::ROTATED),
    words("enable_activation_checkpointing", Field::Recompute, CHECKPOINTING),
    codec(&RESHARDED),
    words(
        LOSS,
        Field::Loss,
        &[
            ("torchtune.modules.loss.LinearCrossEntropyLoss", loss::IN_CHUNKS),
            ("torchtune.modules.loss.CEWithChunkedOutputLoss", loss::IN_CHUNKS),
            ("torch.nn.CrossEntropyLoss", loss::OF_WHOLE_LOGITS),
        ],
    ),
    optimizers(
        OPTIMIZER,
        &[
            ("torch.optim.AdamW", Optimizer::Adam, false),
            ("torch.optim.Adam", Optimizer::Adam, false),
            ("bitsandbytes.optim.PagedAdamW", Optimizer::Adam, true),
            ("bitsandbytes.optim.PagedAdamW8bit", Optimizer::Adam8bit, true),
            // The first is written: torchao's takes FSDP2's shards (torchao/optim/adam.py), bitsandbytes' whole tensors.
            ("torchao.optim.AdamW8bit", Optimizer::Adam8bit, false),
            ("bitsandbytes.optim.AdamW8bit", Optimizer::Adam8bit, false),
        ],
    ),
    codec(&PRECISION),
    codec(&OFFLOAD),
    codec(&COMPILED),
    codec(&MESH),
    left_to("micro-batch, accumulation and devices say it", &[Field::GlobalBatch]),
    left_to("`tune run --nproc_per_node`", &[Field::Devices]),
];

/// Keys that no plan can express, and keys without effect.
const OTHERS: &[ToolKey] = &[
    only("optimizer_in_bwd", OFF, "a plan updates at the end of the step"),
    only("enable_fp8_training", OFF, "say the recipe by --precision, and switch it off"),
    codec(&SELECTIVE),
    only("ac_mode", &["full", "none"], "say what is computed again by --recompute, and leave it out"),
    only("quantizer*", OFF, ALONE),
    only("teacher_model*", OFF, ALONE),
    only("ref_*", OFF, ALONE),
    only("policy_model*", OFF, ALONE),
    only("tasks", &[], UNTRAINED),
    only("enable_kv_cache", OFF, UNTRAINED),
    only("max_new_tokens", &[], UNTRAINED),
    only("prompt*", &[], UNTRAINED),
    only("reward*", &[], ALONE),
    only("teacher*", &[], ALONE),
    only("ppo*", &[], ALONE),
    only("loss.num_output_chunks", &["8"], "say the tokens of a chunk by --loss-chunk, and leave it out"),
    only("resize_token_embeddings", OFF, "give the model's shape by --model"),
];

/// True if weights are gathered again for backward; those sharded along with the optimizer are gathered once.
const RESHARDED: Codec = Codec::new(
    &[Field::Reshard],
    |settings, draft| table::read(AGAIN, settings, draft),
    |writer| match writer.asked.fsdp2_shards().first {
        Some(Sharded::Gradients | Sharded::Optimizer) => vec![Line::new(RESHARD, false)],
        Some(Sharded::Weights) | None => table::write(AGAIN, writer),
    },
)
.named(&[RESHARD]);

const AGAIN: &[ToolKey] = &[words(RESHARD, Field::Reshard, SWITCH)];

/// Recomputation of every n-th layer (`apply_selective_activation_checkpointing` of
/// `torchtune/training/activation_checkpointing.py`); per-operator recomputation is another mode.
const SELECTIVE: Codec = Codec::new(
    &[],
    |settings, draft| {
        if settings.text("ac_mode") != Some("selective") {
            return;
        }
        let Some(every) = settings.count("ac_option") else { return };
        if let (Some(mode), Some(option)) = (settings.take("ac_mode"), settings.take("ac_option")) {
            let share = if every == 1 { Recompute::Full } else { Recompute::Share(1.0 / f64::from(every)) };
            draft.take(Field::Recompute, share, &format!("{} = {}", mode.place, option.text));
        }
    },
    |_| Vec::new(),
);

/// Losses on pairs of answers (`torchtune/rlhf/loss/dpo.py`), and a plan's method for each.
const PREFERENCES: [(&str, PostMethod); 3] =
    [("DPOLoss", PostMethod::Dpo), ("RSOLoss", PostMethod::Dpo), ("SimPOLoss", PostMethod::Orpo)];

/// Reads the teacher of a distillation recipe, by its builder (`recipes/knowledge_distillation_distributed.py`).
fn read_teacher(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(teacher) = settings.take("teacher_model._component_") else { return };
    let name = teacher.text.rsplit('.').next().unwrap_or_default();
    draft.take(Field::Method, PostMethod::Distill, &teacher.place);
    match MODELS.iter().find(|(_, known, _)| *known == name) {
        Some((.., preset)) => draft.read(Field::Teacher, preset, &teacher.place),
        None => draft.ask(Field::Teacher, &teacher.place, format!("'{name}' is no preset")),
    }
    for setting in settings.take_all("teacher_checkpointer*") {
        draft.report.ignore(&setting.place, "loading is no part of a step");
    }
    for setting in settings.take_all("kd_*") {
        draft.report.ignore(&setting.place, "which losses are added changes no size");
    }
}

/// Reads the method of a recipe with a loss on pairs, from whole logits (`recipes/lora_dpo_distributed.py`); full
/// training has a copy of the model as reference (`recipes/full_dpo_distributed.py`).
fn read_method(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let component = settings.text(LOSS).and_then(|loss| loss.strip_prefix("torchtune.rlhf.loss."));
    let Some(method) = component.and_then(|loss| PREFERENCES.iter().find(|(name, _)| *name == loss)) else { return };
    let Some(loss) = settings.take(LOSS) else { return };
    draft.take(Field::Method, method.1, &loss.place);
    draft.take(Field::Loss, LossKind::Whole, &loss.place);
    for copy in settings.take_all("ref_checkpointer*") {
        if draft.value(Field::Reference).is_some() {
            draft.report.ignore(&copy.place, "loading is no part of a step");
        } else {
            draft.take(Field::Reference, BesideModel::Resident, &copy.place);
        }
    }
}

const LOSS: &str = "loss._component_";

/// Keys beside the component in the model's section.
const OF_MODEL: &[ToolKey] = &[
    nothing("model.lora_alpha", "how adapters are scaled changes no size"),
    only("model.apply_lora_to_output", OFF, "a plan has adapters in layers alone"),
    only("model.decoder_trainable", &[], PICTURES),
    only("model.encoder_trainable", &[], PICTURES),
    only("model.fusion_trainable", &[], PICTURES),
    only("model.use_dora", OFF, ALONE),
    only("model.use_rslora", OFF, ALONE),
];

const ALONE: &str = "a plan trains all weights, or adapters of LoRA alone: give the recipe without it";
const UNTRAINED: &str = "give the configuration of a recipe that trains";
const PICTURES: &str =
    "name the language model with --model, and give its own training: a plan has no model that reads pictures";
const COMPONENT: &str = "model._component_";
const OPTIMIZER: &str = "optimizer._component_";
const SEQUENCE: &str = "tokenizer.max_seq_len";
const RESHARD: &str = "fsdp_reshard_after_forward";
const SHARD: &str = "data_parallel_shard_dim";
const REPLICATE: &str = "data_parallel_replicate_dim";
const CHECKPOINTS: &str = "enable_activation_offloading";
const STATE: &str = "fsdp_cpu_offload";
const RANK: &str = "model.lora_rank";
const DROPOUT: &str = "model.lora_dropout";
const ATTENTION: &str = "model.lora_attn_modules";
const MLP: &str = "model.apply_lora_to_mlp";
const QUANTIZED: &str = "model.quantize_base";
const DTYPE: &str = "dtype";

/// torchtune's modules of models, the builder's name without the method, and the preset of the same shape.
const MODELS: [(&str, &str, &str); 12] = [
    ("llama3_1", "llama3_1_8b", "llama-3.1-8b"),
    ("llama3_1", "llama3_1_70b", "llama-3.1-70b"),
    ("llama3_1", "llama3_1_405b", "llama-3.1-405b"),
    ("llama3_3", "llama3_3_70b", "llama-3.1-70b"),
    ("llama3", "llama3_8b", "llama-3.1-8b"),
    ("llama3", "llama3_70b", "llama-3.1-70b"),
    ("llama2", "llama2_7b", "llama-2-7b"),
    ("llama2", "llama2_13b", "llama-2-13b"),
    ("llama2", "llama2_70b", "llama-2-70b"),
    ("qwen3", "qwen3_8b_instruct", "qwen3-8b"),
    ("qwen3", "qwen3_8b_base", "qwen3-8b"),
    ("qwen3", "qwen3_32b", "qwen3-32b"),
];

/// Prefixes of a builder's name, and the method.
const METHODS: [(&str, TrainMethod); 3] =
    [("qlora_", TrainMethod::Qlora), ("lora_", TrainMethod::Lora), ("", TrainMethod::Full)];

/// torchtune's names of attention's matrices.
const MATRICES: [(LoraTarget, &str); 4] = [
    (LoraTarget::Query, "q_proj"),
    (LoraTarget::Key, "k_proj"),
    (LoraTarget::Value, "v_proj"),
    (LoraTarget::Projection, "output_proj"),
];

/// The MLP's matrices, which all have adapters or none.
const OF_MLP: [LoraTarget; 3] = [LoraTarget::Gate, LoraTarget::Up, LoraTarget::Down];

/// True if a file is a recipe's configuration.
pub fn is_of(settings: &ToolSettings) -> bool {
    [COMPONENT, "checkpointer._component_", "tokenizer._component_"]
        .into_iter()
        .any(|name| settings.text(name).is_some_and(|text| text.starts_with("torchtune.")))
}

/// The words that start a recipe.
pub(super) const START: [&str; 2] = ["tune", "run"];

/// Index of the recipe among the words after [`START`]: torchrun's options precede it, `--config` and overrides follow
/// it (`torchtune/_cli/run.py`).
pub(super) fn recipe(words: &[String]) -> usize {
    let end = words.iter().position(|word| word.starts_with("--config")).unwrap_or(words.len());
    words[..end].iter().rposition(|word| assigned(word).is_none() && !word.starts_with('~')).unwrap_or(0)
}

/// A command's overrides under the file's names: a section's name overrides its component (`_merge_yaml_and_cli_args`
/// of `torchtune/config/_utils.py`).
pub(super) fn named_in(own: ToolSettings, file: &ToolSettings) -> ToolSettings {
    own.renamed(|name| {
        let component = format!("{name}._component_");
        if file.text(&component).is_some() { component } else { name.to_owned() }
    })
}

/// Reads a recipe's configuration.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    draft.stack = Some(("torchtune-2025", "torchtune"));
    programs::refuse_file(settings, "give that file too: `tune cp` copies it", draft);
    if let Some(devices) = settings.take(launcher::DEVICES) {
        draft.read(Field::Devices, &devices.text, &devices.place);
    }
    read_method(settings, draft);
    read_teacher(settings, draft);
    table::read(KEYS, settings, draft);
    table::read(OTHERS, settings, draft);
    programs::TORCHTUNE.assume_defaults(draft);
    let settings = table::without_effect(harmless::TORCHTUNE, std::mem::take(settings), draft);
    table::leave(harmless::LAUNCHER, settings, draft);
}

/// Weights, gradients and moments share one format; in 16 bits there are no master weights.
const PRECISION: Codec = Codec::new(
    &[Field::Precision, Field::MasterWeights, Field::Moments],
    |settings, draft| {
        let Some(dtype) = settings.take(DTYPE) else { return };
        match dtype.text.as_str() {
            "bf16" => {
                draft.take(Field::Precision, Precision::Bf16, &dtype.place);
                draft.keep_16_bits(&dtype.place);
            }
            "fp32" => draft.take(Field::Precision, Precision::Fp32, &dtype.place),
            other => draft.refuse(&dtype.place, format!("'{other}' is neither bf16 nor fp32"), Field::Precision),
        }
    },
    |writer| {
        let format = if writer.plan().precision == Precision::Fp32 { "fp32" } else { "bf16" };
        vec![Line::new(DTYPE, format)]
    },
)
.losing(&[
    Deviation::instead(
        Field::Precision,
        |asked, _| !matches!(asked.plan().precision, Precision::Fp32 | Precision::Bf16),
        "its recipes train in bf16 or fp32",
    )
    .alone(),
    Deviation::sentence(
        Field::MasterWeights,
        |asked, _| asked.plan().copies_weights(),
        |_, _| "master weights in fp32: it updates weights of 16 bits as they are".to_owned(),
    ),
    Deviation::sentence(
        Field::Moments,
        |asked, _| {
            let Plan { moments, precision, optimizer, .. } = *asked.plan();
            let own = if precision == Precision::Fp32 { Moments::Fp32 } else { Moments::Bf16 };
            moments != own && optimizer != Optimizer::Adam8bit
        },
        |asked, _| format!("moments {}: they have the format of the weights", asked.plan().moments),
    ),
]);

/// The model's builder, which tells the method, and the matrices that have adapters.
const MODEL: Codec = Codec::new(&adapters::FIELDS, read_model, write_model).losing(&[
    Deviation::sentence(
        Field::Model,
        |asked, _| builder(&asked.job.model).is_none(),
        |asked, _| format!("torchtune has no model of the shape of '{}'", asked.job.model.id),
    )
    .alone()
    .refused(|| {
        let mut known: Vec<&str> = MODELS.iter().map(|(.., preset)| *preset).collect();
        known.dedup();
        format!("choose one of {}", known.join(", "))
    }),
    Deviation::instead(
        Field::FrozenFormat,
        |asked, _| {
            let tuning = asked.plan().tuning;
            tuning.freezes() && !matches!(tuning.frozen_format(), FrozenFormat::Bf16 | FrozenFormat::Nf4)
        },
        "its weights are frozen in bf16, or in nf4",
    ),
    Deviation::instead(
        Field::LoraTargets,
        |asked, _| {
            let tuning = asked.plan().tuning;
            let mlp = OF_MLP.into_iter().filter(|target| tuning.targets.has(*target)).count();
            let attention = MATRICES.iter().filter(|(target, _)| tuning.targets.has(*target)).count();
            let whole = mlp == 0 || mlp == OF_MLP.len();
            tuning.freezes() && !(whole && attention + mlp == tuning.targets.modules().count())
        },
        "it has adapters at q, k, v and o one by one, and at all of the MLP or none",
    ),
]);

fn read_model(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [rank, dropout, attention, mlp] = [RANK, DROPOUT, ATTENTION, MLP].map(|name| settings.take(name));
    let quantized = settings.take(QUANTIZED).filter(|setting| setting.text == "true");
    table::read(OF_MODEL, settings, draft);
    let Some(component) = settings.take(COMPONENT) else { return };
    let builder = component.text.rsplit('.').next().unwrap_or_default();
    let (prefix, method) = METHODS.into_iter().find(|(prefix, _)| builder.starts_with(prefix)).unwrap_or(METHODS[2]);
    let name = &builder[prefix.len()..];
    match MODELS.iter().find(|(_, known, _)| *known == name) {
        Some((.., preset)) => draft.take(Field::Model, Value::id(preset), &component.place),
        None => draft.ask(Field::Model, &component.place, format!("'{builder}' is no preset")),
    }
    draft.take(Field::Train, method, &component.place);
    if method == TrainMethod::Full {
        return;
    }
    if let Some(quantized) = quantized {
        draft.take(Field::FrozenFormat, FrozenFormat::Nf4, &quantized.place);
    }
    match rank {
        Some(rank) => draft.read(Field::LoraRank, &rank.text, &rank.place),
        None => draft.assume(Field::LoraRank, 8_u32, "torchtune's default"),
    }
    if let Some(dropout) = dropout {
        draft.read(Field::LoraDropout, &dropout.text, &dropout.place);
    }
    let Some(attention) = attention else {
        return draft.ask(
            Field::LoraTargets,
            &component.place,
            "no lora_attn_modules say which matrices have adapters",
        );
    };
    let named = MATRICES.into_iter().filter(|(_, name)| attention.text.contains(name)).map(|(target, _)| target);
    let with_mlp = mlp.is_some_and(|mlp| mlp.text == "true");
    let targets = named.chain(OF_MLP.into_iter().filter(|_| with_mlp)).fold(LoraTargets::NONE, LoraTargets::with);
    if targets == LoraTargets::NONE {
        return draft.refuse(&attention.place, "no matrix has an adapter", Field::LoraTargets);
    }
    draft.take(Field::LoraTargets, targets, &attention.place);
}

fn write_model(writer: &mut PlanWriter) -> Vec<Line> {
    let Some((module, name, _)) = builder(&writer.scenario.model) else { return Vec::new() };
    let tuning = writer.plan().tuning;
    let builder = |prefix: &str| Line::new(COMPONENT, format!("torchtune.models.{module}.{prefix}{name}"));
    if !tuning.freezes() {
        return vec![builder("")];
    }
    let quantized = tuning.frozen_format() == FrozenFormat::Nf4;
    let has = |target: LoraTarget| tuning.targets.has(target);
    let attention: Vec<&str> = MATRICES.iter().filter(|(target, _)| has(*target)).map(|(_, name)| *name).collect();
    let mlp = OF_MLP.into_iter().all(has);
    let mut lines = vec![builder(if quantized { "qlora_" } else { "lora_" })];
    lines.push(Line::new(ATTENTION, attention));
    lines.push(Line::new(MLP, mlp));
    lines.push(Line::new("model.apply_lora_to_output", false));
    lines.extend(writer.line(RANK, Field::LoraRank));
    lines.extend(writer.line(DROPOUT, Field::LoraDropout));
    lines
}

/// Offload of the state and of checkpoints, a key each.
const OFFLOAD: Codec = Codec::new(
    &[Field::Offload],
    |settings, draft| read_offload(&[STATE, "fsdp.cpu_offload"], CHECKPOINTS, settings, draft),
    |writer| {
        let (plan, state) = (writer.plan(), Line::new(STATE, writer.plan().offload.state()));
        vec![state, Line::new(CHECKPOINTS, moves_checkpoints(plan))]
    },
)
.losing(&[
    NO_CHECKPOINTS,
    Deviation::instead(
        Field::Offload,
        |asked, _| is_optimizer_alone(asked.plan().offload),
        "FSDP2 has all of the state on the host, or none",
    )
    .alone(),
]);

/// Compilation; some recipes have a key for each component.
const COMPILED: Codec = Codec::new(
    &[Field::Compile],
    |settings, draft| {
        for part in ["compile.model", "compile.loss"] {
            if let Some(setting) = settings.take(part) {
                settings.put(COMPILE, &setting.text, part);
            }
        }
        table::read(&[compiled(COMPILE, OFF)], settings, draft);
    },
    |writer| vec![Line::new(COMPILE, writer.plan().compile != Compile::Off)],
)
.losing(&[Deviation::instead(
    Field::Compile,
    |asked, _| asked.plan().compile == Compile::Layer,
    "the loss is compiled too",
)
.alone()])
.named(&[COMPILE]);

const COMPILE: &str = "compile";

/// FSDP2's mesh: shards span the devices that replicas, tensor and context ranks leave. Gradients are reduced at each
/// micro-batch, which `recipes/full_finetune_distributed.py` never defers.
const MESH: Codec = Codec::new(&[Field::Reduction], read_mesh, |writer| {
    let shards = writer.asked.fsdp2_shards();
    vec![Line::new(REPLICATE, shards.copies), Line::new(SHARD, shards.over / writer.layout.context)]
})
.losing(&[Deviation::instead(
    Field::Tensor,
    |asked, _| asked.layout().tensor > 1 && asked.plan().tuning.freezes(),
    "its recipe of adapters has no tensor ranks",
)]);

fn read_mesh(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [replicate, shard] = [REPLICATE, SHARD].map(|name| settings.take(name));
    let place = [&replicate, &shard].into_iter().flatten().next().map(|setting| setting.place.clone());
    let place = place.unwrap_or_else(|| format!("{}: no {SHARD}", settings.file));
    let replicas = replicate.and_then(|setting| setting.text.parse().ok()).unwrap_or(1_u32).max(1);
    if replicas == 1 {
        return draft.shard(Some(Sharded::Weights), None, &place);
    }
    let own = shard.and_then(|setting| setting.text.parse::<u32>().ok());
    let rest = draft.data_ranks().filter(|all| all.is_multiple_of(replicas)).map(|all| all / replicas);
    match own.or(rest) {
        Some(over) => {
            let over = over.saturating_mul(draft.ranks(Field::Context));
            draft.shard(Some(Sharded::Weights), Some(Extent::Ranks(over)), &place);
        }
        None => draft.ask(Field::Shard, &place, "the replicas do not divide the ranks"),
    }
}

/// The version that [`write()`] is for.
pub(crate) const VERSIONS: &[&str] = &["0.7.0"];

/// Keys of torchtune's file, and where torchtune deviates from plans.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS],
    others: OTHERS,
    deviations: &[ONE_EXTENT, WEIGHTS_TOO, SUMS_EACH, WHOLE_CONTEXT, ALIKE],
};

/// The builder of a model.
fn builder(model: &Model) -> Option<(&'static str, &'static str, &'static str)> {
    MODELS.into_iter().find(|(.., preset)| *preset == model.id)
}

/// Lines of torchtune's configuration; none if it lacks the model.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    if builder(&writer.scenario.model).is_none() {
        return Vec::new();
    }
    let lines = table::write(KEYS, writer);
    let rest = "tokenizer, checkpointer and data: those of the configuration that `tune cp` copies";
    writer.elsewhere.push(rest.to_owned());
    lines
}
