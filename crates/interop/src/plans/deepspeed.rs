//! DeepSpeed's JSON, alone or under Accelerate or the Trainer.

mod offload;

use shardscope_engine::model::Positions;
use shardscope_engine::plan::{ContextKind, MasterWeights, Moments, Optimizer, Plan, Precision, Recompute, Sharded};
use shardscope_engine::scenario::{Field, Scenario, Value};

use super::adapters;
use super::asked::PlanQuery;
use super::context;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT};
use super::draft::PlanDraft;
use super::frozen;
use super::harmless;
use super::lacks::ToolTable;
use super::loss;
use super::post_training;
use super::settings::{Setting, ToolSettings};
use super::table::{
    self, Codec, FILLED_IN, OFF, SWITCH, ToolKey, clips, codec, compiled, left_to, nothing, number, only, words,
};
use super::writer::Line;

/// Keys of DeepSpeed's configuration.
pub(super) const KEYS: &[ToolKey] = &[
    // First, since the two counts below have to agree with it.
    codec(&BATCH),
    number("train_micro_batch_size_per_gpu", Field::MicroBatch),
    number("gradient_accumulation_steps", Field::Accumulate),
    clips("gradient_clipping"),
    words("zero_optimization.zero_quantized_weights", Field::Qwz, SWITCH),
    codec(&QUANTISED),
    number("zero_optimization.zero_hpz_partition_size", Field::Hpz),
    codec(&HEADS),
    codec(&PRECISION),
    codec(&STAGE),
    codec(&AHEAD),
    codec(&offload::OFFLOAD),
    left_to("the model's code and the training script", &[Field::Recompute, Field::Optimizer, Field::Sequence]),
    left_to("the launcher's", &[Field::Devices]),
    left_to(frozen::SCRIPT, &frozen::FIELDS),
    left_to(adapters::SCRIPT, &adapters::FIELDS),
    left_to(loss::SCRIPT, &loss::FIELDS),
    left_to(post_training::SCRIPT, &post_training::FIELDS),
];

/// Keys that no plan can express, and keys without effect.
const OTHERS: &[ToolKey] = &[
    only("data_types.grad_accum_dtype", HALVES, "leave it out: a plan sums gradients in the format of its weights"),
    only("communication_data_type", HALVES, "leave it out: a plan reduces gradients in the format of its weights"),
    only("torch_autocast.enabled", OFF, "write bf16 or fp16"),
    only("activation_checkpointing.partition_activations", OFF, "a plan keeps checkpoints whole on each rank"),
    only("elasticity.enabled", OFF, "say the batch by --global-batch, and switch elasticity off"),
    only("progressive_layer_drop.enabled", OFF, "a plan runs every layer"),
    only("amp.enabled", OFF, "write bf16 or fp16"),
    only("compile.deepcompile", OFF, "leave it out: no plan gathers as compiled code decides"),
    compiled("compile.enabled", OFF),
    only("sparse_attention*", OFF, "a plan's attention is dense"),
    only("compression_training*", OFF, "a plan trains all weights in full"),
    only("quantize_training*", OFF, "a plan trains all weights in full"),
    only("hybrid_engine.enabled", OFF, "a plan generates no text between its steps"),
    only("eigenvalue.enabled", OFF, "a plan computes gradients alone"),
    only("data_efficiency.enabled", OFF, "every sequence is taken to be as long as the longest"),
    only("curriculum_learning.enabled", OFF, "every sequence is taken to be as long as the longest"),
    only("zero_optimization.zenflow*", OFF, "a plan updates all weights at the end of the step"),
    only("zero_optimization.zero_quantized_nontrainable_weights", OFF, "a plan trains all weights in full"),
];

/// Ranks that share sequences by exchanging heads, DeepSpeed's only way
/// (`deepspeed/runtime/sequence_parallel/ulysses_sp.py`).
const HEADS: Codec = Codec::new(
    &[Field::Context, Field::ContextKind],
    |settings, draft| context::read_heads(SEQUENCES, settings, draft),
    |writer| {
        let ranks = writer.layout.context;
        Some(Line::new(SEQUENCES, ranks)).filter(|_| ranks > 1).into_iter().collect()
    },
)
.losing(&[
    Deviation::instead(
        Field::ContextKind,
        |asked, _| has_other_kind(asked) && can_exchange_heads(asked),
        "context ranks exchange heads, --cp-kind ulysses",
    ),
    Deviation::sentence(
        Field::ContextKind,
        |asked, _| has_other_kind(asked) && !can_exchange_heads(asked),
        |asked, _| format!("context ranks exchange heads, and {} ranks cannot", asked.layout().context),
    )
    .refused(|| "choose --cp 1".to_owned()),
]);

/// True if context ranks exchange anything but heads.
fn has_other_kind(asked: &PlanQuery<'_>) -> bool {
    asked.layout().context > 1 && asked.job.context_kind() != ContextKind::Ulysses
}

/// True if the heads divide evenly among context ranks, and nothing attends to all tokens.
fn can_exchange_heads(asked: &PlanQuery<'_>) -> bool {
    let mut with = Scenario::clone(&asked.job);
    with.plan.context_kind = ContextKind::Ulysses;
    with.checked().is_ok()
}

const SEQUENCES: &str = "sequence_parallel_size";

/// Keys that a file may have and an export leaves to the training script.
const SCRIPT_TOO: &[ToolKey] =
    &[words("optimizer.type", Field::Optimizer, OPTIMIZERS), number("tensor_parallel.autotp_size", Field::Tensor)];

/// Accelerate's names for some of these keys.
const WITH_ACCELERATE: &[ToolKey] = &[
    number("gradient_accumulation_steps", Field::Accumulate),
    nothing("zero3_init_flag", "loading is no part of a step"),
    nothing("zero3_save_16bit_model", "checkpoints are no part of a step"),
    clips("gradient_clipping"),
    nothing("offload_optimizer_nvme_path", DRIVES),
    nothing("offload_param_nvme_path", DRIVES),
    nothing("deepspeed_moe_layer_cls_names", "a plan shards experts like other parameters"),
    nothing("deepspeed_multinode_launcher", "how processes start is no part of a step"),
];

/// Accepted values: the default, and the weights' formats.
const HALVES: &[&str] = &["bf16", "bfloat16", "fp16", "auto"];

const DRIVES: &str = "the cluster says how fast its drives are";

/// Optimizers by the state that each keeps.
const OPTIMIZERS: &[(&str, Value)] = &[
    ("AdamW", Value::Word(Optimizer::Adam.to_word())),
    ("Adam", Value::Word(Optimizer::Adam.to_word())),
    ("FusedAdam", Value::Word(Optimizer::Adam.to_word())),
    ("DeepSpeedCPUAdam", Value::Word(Optimizer::Adam.to_word())),
    ("Lamb", Value::Word(Optimizer::Adam.to_word())),
    ("SGD", Value::Word(Optimizer::SgdMomentum.to_word())),
    ("Muon", Value::Word(Optimizer::Muon.to_word())),
];

/// The first part of the state that each stage shards.
const STAGES: [Option<Sharded>; 4] = [None, Some(Sharded::Optimizer), Some(Sharded::Gradients), Some(Sharded::Weights)];

/// The newest known stack of DeepSpeed.
const STACK: (&str, &str) = ("deepspeed-zeropp-2023", "DeepSpeed");

/// The stack of transformers' models under DeepSpeed.
const WITH_TRANSFORMERS: (&str, &str) = ("hf-deepspeed-2024", "Hugging Face models on DeepSpeed");

/// The stack of a model under DeepSpeed, whose file does not tell the model's library. transformers uses flash
/// attention, but with learned positions eager attention until late 2024, as DeepSpeed's stack does.
pub(super) fn stack_of(stack: (&'static str, &'static str), positions: Positions) -> (&'static str, &'static str) {
    match positions {
        _ if ![STACK, WITH_TRANSFORMERS].contains(&stack) => stack,
        Positions::Learned => STACK,
        Positions::Computed => WITH_TRANSFORMERS,
    }
}

const NUMBER: &str = "zero_optimization.stage";
const MICS: &str = "zero_optimization.mics_shard_size";
const ALL: &str = "train_batch_size";

/// True if the settings are DeepSpeed's.
pub fn is_of(settings: &ToolSettings) -> bool {
    ["zero_optimization", "train_micro_batch_size_per_gpu", ALL].iter().any(|name| settings.has(name))
}

/// Reads DeepSpeed's settings.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    draft.stack.get_or_insert(STACK);
    table::read(KEYS, settings, draft);
    table::read(OTHERS, settings, draft);
    table::read(SCRIPT_TOO, settings, draft);
    table::leave(harmless::DEEPSPEED, std::mem::take(settings), draft);
    draft.assume(Field::Recompute, Recompute::None, "the configuration says how checkpoints are kept, not whether");
}

/// The global batch: with a micro-batch it gives the accumulation.
const BATCH: Codec = Codec::new(
    &[Field::GlobalBatch],
    |settings, draft| {
        if let Some(all) = settings.take(ALL).filter(|all| all.text != FILLED_IN) {
            read_batch(&all, settings, draft);
        }
    },
    |writer| {
        let layout = writer.layout;
        if layout.tensor * layout.context * layout.pipeline == 1 {
            return writer.line(ALL, Field::GlobalBatch).into_iter().collect();
        }
        // DeepSpeed would count tensor, context and pipeline ranks as data-parallel, and refuse the product.
        writer.leave(&[Field::GlobalBatch], "micro-batch, accumulation and devices say it");
        Vec::new()
    },
);

fn read_batch(all: &Setting, settings: &ToolSettings, draft: &mut PlanDraft) {
    let counts = ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps"].map(|name| settings.count(name));
    match counts {
        [Some(micro), Some(steps)] => {
            let wanted = all.text.parse::<u64>().ok();
            let each = u64::from(micro) * u64::from(steps);
            match draft.data_ranks().map(|ranks| each.saturating_mul(ranks.into())) {
                Some(product) if Some(product) != wanted => draft.contradict(
                    &all.place,
                    format!("'{}' is not micro-batch x accumulation x data-parallel ranks, {product}", all.text),
                ),
                _ => draft.report.ignore(&all.place, "micro-batch and accumulation say it"),
            }
        }
        _ => draft.read(Field::GlobalBatch, &all.text, &all.place),
    }
}

/// Quantised gradient communication, which only stage 3 has.
const QUANTISED: Codec = Codec::new(
    &[Field::Qgz],
    |settings, draft| table::read(QUANTISED_SWITCH, settings, draft),
    |writer| {
        let switch = table::write(QUANTISED_SWITCH, writer);
        if stage(writer.asked) == 3 { switch } else { Vec::new() }
    },
)
.losing(&[Deviation::instead(
    Field::Qgz,
    |asked, _| stage(asked) != 3 && asked.value(Field::Qgz).is_some(),
    "gradients are quantised in stage 3 alone",
)])
.named(&["zero_optimization.zero_quantized_gradients"]);

const QUANTISED_SWITCH: &[ToolKey] = &[words("zero_optimization.zero_quantized_gradients", Field::Qgz, SWITCH)];

/// Sections that switch a format on.
const FORMATS: [(&str, Precision); 3] =
    [("bf16", Precision::Bf16), ("bfloat16", Precision::Bf16), ("fp16", Precision::Fp16)];

/// Keys beside a format's switch.
const FORMAT: &[ToolKey] = &[
    words("fp16_master_weights_and_grads", Field::MasterWeights, NO_MASTERS),
    words("bf16_master_weights_and_grads", Field::MasterWeights, NO_MASTERS),
    words("bf16_optimizer_states", Field::Moments, BF16_MOMENTS),
    only("immediate_grad_update", OFF, "a plan keeps gradients until the step's end"),
    nothing("*", "how losses are scaled is no part of a step"),
];

const NO_MASTERS: &[(&str, Value)] =
    &[("true", Value::Word(MasterWeights::None.to_word())), ("false", Value::Word(MasterWeights::Fp32.to_word()))];

const BF16_MOMENTS: &[(&str, Value)] =
    &[("true", Value::Word(Moments::Bf16.to_word())), ("false", Value::Word(Moments::Fp32.to_word()))];

/// The format of products, and whether fp32 master weights are kept beside 16-bit weights.
const PRECISION: Codec = Codec::new(&[Field::Precision, Field::MasterWeights], read_precision, |writer| {
    let (plan, mut lines) = (writer.plan(), Vec::new());
    for own in [Precision::Bf16, Precision::Fp16] {
        let is_on = own.storage() == plan.precision.storage();
        lines.push(Line::new(&format!("{own}.enabled"), is_on));
        if is_on && !plan.copies_weights() {
            lines.push(Line::new(&format!("{own}.{own}_master_weights_and_grads"), true));
        }
    }
    lines
})
.losing(&[Deviation::instead(
    Field::Precision,
    |asked, _| asked.plan().precision.is_low(),
    "DeepSpeed computes in bf16; fp8 is the model's code",
)
.alone()]);

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (mut on, mut filled_in): (Option<(Precision, Setting)>, Option<Setting>) = (None, None);
    for (name, format) in FORMATS {
        let mut inside = settings.take_inside(name);
        match inside.take("enabled").filter(|enabled| enabled.text != "false") {
            Some(enabled) if enabled.text == FILLED_IN => filled_in = Some(enabled),
            Some(enabled) if on.is_some() => draft.cannot(&enabled, "is a second format", "switch one of them off"),
            Some(enabled) => on = Some((format, enabled)),
            None => {}
        }
        table::read(FORMAT, &mut inside, draft);
    }
    match (on, filled_in) {
        (Some((format, enabled)), _) => draft.take(Field::Precision, format, &enabled.place),
        (None, Some(auto)) => table::filled_in(Field::Precision, &auto.place, draft),
        (None, None) => {
            draft.assume(
                Field::Precision,
                Precision::Fp32,
                "neither bf16 nor fp16 is enabled, and DeepSpeed's default is fp32",
            );
        }
    }
}

/// The stage of ZeRO: the first sharded part of the state, over all ranks or some.
const STAGE: Codec = Codec::new(&[], read_stage, |writer| {
    let mics = writer.asked.shards().copies > 1 && has_mics(writer.asked, writer.version);
    let over = mics.then(|| Line::new(MICS, writer.asked.shards().over));
    [Line::new(NUMBER, stage(writer.asked))].into_iter().chain(over).collect()
})
.losing(&[Deviation::sentence(
    Field::Strategy,
    |asked, version| {
        let shards = asked.shards();
        shards.copies > 1 && shards.first.is_some() && !has_mics(asked, version)
    },
    |asked, version| {
        let (over, all) = (asked.shards().over, asked.layout().group());
        format!("shards over {over} ranks: DeepSpeed {version} shards over all {all}")
    },
)]);

fn read_stage(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let stage = settings.take(NUMBER);
    let mics = settings.take(MICS).filter(|mics| mics.text.parse::<u32>().is_ok_and(|ranks| ranks > 0));
    let Some(stage) = stage else {
        let place = settings.file.clone();
        return draft.shard(None, None, &format!("{place}: no {NUMBER}"));
    };
    match (stage.text.parse().ok().and_then(|stage: usize| STAGES.get(stage)), mics) {
        (Some(Some(Sharded::Weights)), Some(mics)) => {
            draft.take(Field::Strategy, Value::id("mics"), &mics.place);
            draft.read(Field::Shard, &mics.text, &mics.place);
        }
        // `zero3` is DeepSpeed's word for `fsdp`.
        (Some(Some(Sharded::Weights)), None) => draft.take(Field::Strategy, Value::id("zero3"), &stage.place),
        (Some(first), _) => draft.shard(*first, None, &stage.place),
        (None, _) => draft.refuse(&stage.place, format!("'{}' is no stage from 0 to 3", stage.text), Field::Strategy),
    }
}

/// Prefetched elements, as layers of the model.
const AHEAD: Codec = Codec::new(
    &[Field::Prefetch],
    |settings, draft| {
        let Some(ahead) = settings.take(ELEMENTS_AHEAD) else { return };
        match ahead.text.parse::<f64>() {
            Ok(elements) if elements.is_finite() => draft.prefetched = Some((elements, ahead.place)),
            _ => draft.report.ignore(&ahead.place, "it is filled in when the tool starts"),
        }
    },
    |writer| {
        let layer = writer.scenario.model.largest_layer_parameters();
        let units = writer.value(Field::Prefetch).and_then(Value::get::<u32>);
        let units = units.filter(|_| stage(writer.asked) == 3);
        units.map(|units| Line::new(ELEMENTS_AHEAD, u64::from(units).saturating_mul(layer))).into_iter().collect()
    },
)
.losing(&[Deviation::unsaid(Field::Prefetch, |asked, _| {
    stage(asked) != 3 && asked.plan().prefetch != Plan::USUAL_PREFETCH
})]);

const ELEMENTS_AHEAD: &str = "zero_optimization.stage3_prefetch_bucket_size";

/// Reads DeepSpeed's settings under the Trainer.
pub(crate) fn read_with_transformers(settings: ToolSettings, draft: &mut PlanDraft) {
    draft.stack = Some(WITH_TRANSFORMERS);
    read(settings, draft);
}

/// Reads DeepSpeed's settings under Accelerate: in Accelerate's file, or in the configuration that it names.
pub(crate) fn read_with_accelerate(mut inside: ToolSettings, named: Option<ToolSettings>, draft: &mut PlanDraft) {
    draft.stack = Some(WITH_TRANSFORMERS);
    if let Some(file) = inside.take("deepspeed_config_file") {
        if let Some(named) = named {
            read(named, draft);
        } else {
            let fix = "give that file too: shardscope import plan CONFIG.yaml DEEPSPEED.json";
            draft.cannot(&file, "says the rest, and was not found", fix);
        }
        table::read(WITH_ACCELERATE, &mut inside, draft);
        return table::leave(harmless::ACCELERATE, inside, draft);
    }
    let mut own = ToolSettings::new(&inside.file);
    for (theirs, name) in [
        ("zero_stage", NUMBER),
        ("offload_optimizer_device", "zero_optimization.offload_optimizer.device"),
        ("offload_param_device", "zero_optimization.offload_param.device"),
    ] {
        if let Some(setting) = inside.take(theirs) {
            own.put(name, &setting.text, &format!("deepspeed_config.{theirs}"));
        }
    }
    if !own.has(NUMBER) {
        // Accelerate's default, in `DeepSpeedPlugin` (`src/accelerate/utils/dataclasses.py`).
        own.put(NUMBER, "2", "no zero_stage, which is 2 then");
    }
    read_stage(&mut own, draft);
    offload::read_offload(&mut own, draft);
    table::read(WITH_ACCELERATE, &mut inside, draft);
    table::leave(harmless::ACCELERATE, inside, draft);
}

/// Versions that plans are written for, newest first.
pub(crate) const VERSIONS: &[&str] = &["0.19.8", "0.18"];

/// Keys of DeepSpeed's file, and where DeepSpeed deviates from plans.
pub(crate) const TABLE: ToolTable = ToolTable { keys: &[KEYS], others: OTHERS, deviations: &[ONE_EXTENT, ALIKE] };

/// The stage of a plan.
fn stage(asked: &PlanQuery<'_>) -> usize {
    STAGES.iter().position(|first| *first == asked.shards().first).unwrap_or_default()
}

/// True if DeepSpeed can shard weights over part of the ranks: 0.19 dropped `MiCS`, and refuses its key.
fn has_mics(asked: &PlanQuery<'_>, version: &str) -> bool {
    stage(asked) == 3 && version == "0.18"
}
