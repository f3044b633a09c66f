//! Writes plans for fine-tuning programs that take the Trainer's arguments beside their own: LLaMA-Factory's YAML and
//! ms-swift's. [`super::trainer`] reads them.

use shardscope_engine::plan::{FrozenFormat, Logits, MasterWeights, Padding, PostMethod, Recompute, TrainMethod};
use shardscope_engine::scenario::Field;

use super::adapters;
use super::deviation::Deviation;
use super::frozen;
use super::lacks::ToolTable;
use super::post_training::{self, COMPARES, FILLS, STAGE};
use super::table::{Codec, ToolKey, codec, left_to};
use super::trainer;
use super::writer::{Line, PlanWriter};

/// Versions that files are written for, as in `src/llamafactory/extras/env.py` of hiyouga/LLaMA-Factory and
/// `swift/version.py` of modelscope/ms-swift.
pub(crate) const FACTORY_VERSIONS: &[&str] = &["0.9.6"];
pub(crate) const SWIFT_VERSIONS: &[&str] = &["4.6"];

/// Keys of LLaMA-Factory's file, and its deviations.
pub(crate) const FACTORY: ToolTable = ToolTable {
    keys: &[trainer::FIRST_READ, trainer::FSDP, FACTORY_KEYS, trainer::KEYS, LAUNCHED],
    others: &[],
    deviations: trainer::DEVIATIONS,
};

/// Keys of ms-swift's file, and its deviations.
pub(crate) const SWIFT: ToolTable = ToolTable {
    keys: &[trainer::FIRST_READ, trainer::FSDP, SWIFT_KEYS, trainer::KEYS, LAUNCHED],
    others: &[],
    deviations: trainer::DEVIATIONS,
};

/// LLaMA-Factory's own keys (`src/llamafactory/hparams` of its repository).
const FACTORY_KEYS: &[ToolKey] = &[
    codec(&trainer::REDUCTION),
    codec(&FACTORY_STAGE),
    codec(&FACTORY_ADAPTERS),
    left_to(frozen::SCRIPT, &frozen::FIELDS),
];

/// ms-swift's own keys (`swift/arguments` of its repository).
const SWIFT_KEYS: &[ToolKey] =
    &[codec(&trainer::REDUCTION), codec(&SWIFT_TYPE), codec(&SWIFT_ADAPTERS), left_to(frozen::SCRIPT, &frozen::FIELDS)];

/// Fields that are set outside these files.
const LAUNCHED: &[ToolKey] = &[
    left_to("micro-batch, accumulation and devices say it", &[Field::GlobalBatch]),
    left_to("the launcher's", &[Field::Devices]),
];

/// LLaMA-Factory's training stage.
const FACTORY_STAGE: Codec = Codec::new(
    &METHOD_FIELDS,
    |_, _| {},
    |writer| {
        let (stage, loss) = match writer.plan().post_training.method {
            PostMethod::Dpo => ("dpo", None),
            PostMethod::Orpo => ("dpo", Some("orpo")),
            PostMethod::Kto => ("kto", None),
            PostMethod::Reward => ("rm", None),
            _ => ("sft", None),
        };
        post_training::leave_padding(writer);
        let loss = loss.map(|loss| Line::new("pref_loss", loss));
        let whole = [Recompute::None, Recompute::Full].contains(&writer.plan().recompute);
        let kept = writer.plan().recompute == Recompute::None;
        let kept = whole.then(|| Line::new("disable_gradient_checkpointing", kept));
        let length = writer.line("cutoff_len", Field::Sequence);
        let lines = [Line::new(STAGE, stage), Line::new("do_train", true)].into_iter();
        lines.chain(loss).chain(length).chain(kept).collect()
    },
)
.losing(&[
    NO_METHOD,
    Deviation::instead(Field::Reference, |asked, _| post_training::compares_otherwise(asked, false), COMPARES),
    Deviation::instead(Field::Padding, |asked, _| post_training::fills_otherwise(asked, false), FILLS),
]);

/// ms-swift's `rlhf_type`.
const SWIFT_TYPE: Codec = Codec::new(
    &[Field::Method, Field::Reference, Field::Padding, Field::Logits],
    |_, _| {},
    |writer| {
        post_training::leave_padding(writer);
        let plan = writer.plan();
        let method = plan.post_training.method;
        let alone = plan.post_training.logits == Logits::Completions;
        let logits = keeps_logits(method).then(|| Line::new(post_training::LOGITS, alone));
        let word = match method {
            PostMethod::Dpo | PostMethod::Orpo | PostMethod::Kto => method.word(),
            PostMethod::Reward => "rm",
            _ => return writer.line(LENGTH, Field::Sequence).into_iter().chain(logits.filter(|_| alone)).collect(),
        };
        let packed = plan.padding() == Padding::Packed && method.sequences() > 1;
        // Without flash attention ms-swift refuses to pack (`_check_padding_free` of `swift/arguments/sft_args.py`).
        let packed = packed.then(|| [Line::new("packing", true), Line::new("attn_impl", "flash_attention_2")]);
        let length = writer.line(LENGTH, Field::Sequence);
        std::iter::once(Line::new("rlhf_type", word))
            .chain(packed.into_iter().flatten())
            .chain(length)
            .chain(logits)
            .collect()
    },
)
.losing(&[
    NO_METHOD,
    // ms-swift 4.6 refuses to compute the reference ahead of training.
    Deviation::instead(Field::Reference, |asked, _| post_training::compares_otherwise(asked, false), COMPARES),
    Deviation::instead(Field::Padding, |asked, _| post_training::fills_otherwise(asked, true), FILLS),
    Deviation::instead(
        Field::Logits,
        |asked, _| {
            let post = &asked.plan().post_training;
            post.logits == Logits::Completions && !keeps_logits(post.method)
        },
        "ms-swift has TRL's trainer for it, which computes those of all tokens",
    ),
    // Unsharded weights have no fp32 copy, as in `read_storage` of the Trainer's reader.
    Deviation::instead(
        Field::MasterWeights,
        |asked, _| {
            let plan = asked.plan();
            asked.shards().first.is_none() && !plan.tuning.freezes() && plan.master_weights != MasterWeights::None
        },
        "what nothing shards ms-swift trains in the 16 bits in which it loads it",
    ),
]);

/// True if ms-swift has a switch for which tokens have logits, given a method.
fn keeps_logits(method: PostMethod) -> bool {
    matches!(method, PostMethod::Sft | PostMethod::Dpo | PostMethod::Kto)
}

const METHOD_FIELDS: [Field; 3] = [Field::Method, Field::Reference, Field::Padding];

/// A teacher needs a path, which no plan has, and generated answers need their own engine.
const NO_METHOD: Deviation = Deviation::instead(
    Field::Method,
    |asked, _| {
        let method = asked.plan().post_training.method;
        method.writes() || method.of_teacher() > 0
    },
    "its file names models and engines that no plan does",
)
.alone();

/// Adapters under LLaMA-Factory's names.
const FACTORY_ADAPTERS: Codec = Codec::new(
    &adapters::FIELDS,
    |_, _| {},
    |writer| {
        let modules = writer.plan().tuning.targets.modules().collect::<Vec<_>>().join(",");
        let names = [adapters::LLAMA_FACTORY, "quantization_bit", "double_quantization"];
        adapter_lines(writer, names, Line::new("lora_target", modules))
    },
)
.losing(&[NO_FORMAT]);

/// Adapters under ms-swift's names.
const SWIFT_ADAPTERS: Codec = Codec::new(
    &adapters::FIELDS,
    |_, _| {},
    |writer| {
        let modules: Vec<&str> = writer.plan().tuning.targets.modules().collect();
        let names = ["tuner_type", "quant_bits", "bnb_4bit_use_double_quant"];
        let mut lines = adapter_lines(writer, names, Line::new("target_modules", modules));
        let quantised = lines.iter().any(|line| line.name == "quant_bits");
        lines.extend(quantised.then(|| Line::new("quant_method", "bnb")));
        lines
    },
)
.losing(&[NO_FORMAT]);

const NO_FORMAT: Deviation = Deviation::instead(
    Field::FrozenFormat,
    |asked, _| {
        let tuning = asked.plan().tuning;
        tuning.freezes() && matches!(tuning.frozen_format(), FrozenFormat::Fp8 | FrozenFormat::Fp32)
    },
    "weights have 16 bits, or 8 or 4 of bitsandbytes",
);

/// The method, and for adapters the rank, the matrices and the bits of frozen weights.
fn adapter_lines(writer: &mut PlanWriter<'_>, [method, bits, nested]: [&str; 3], targets: Line) -> Vec<Line> {
    let tuning = writer.plan().tuning;
    if !tuning.freezes() {
        return vec![Line::new(method, TrainMethod::Full.word())];
    }
    let mut lines = vec![Line::new(method, TrainMethod::Lora.word())];
    lines.extend(writer.line("lora_rank", Field::LoraRank));
    lines.extend(writer.line(adapters::DROPOUT, Field::LoraDropout));
    lines.push(targets);
    match tuning.frozen_format() {
        FrozenFormat::Int8 => lines.push(Line::new(bits, 8)),
        FrozenFormat::Nf4 => lines.push(Line::new(bits, 4)),
        FrozenFormat::Nf4Single => lines.extend([Line::new(bits, 4), Line::new(nested, false)]),
        FrozenFormat::Bf16 | FrozenFormat::Fp8 | FrozenFormat::Fp32 => {}
    }
    lines
}

/// The lines of LLaMA-Factory's file, whose own switch for recomputation is on by default.
pub fn write_factory(writer: &mut PlanWriter<'_>) -> Vec<Line> {
    let mut lines = sharded(trainer::write_beside(writer, FACTORY_KEYS, LAUNCHED), writer);
    lines.retain(|line| !line.name.ends_with("activation_checkpointing") && line.name != CHECKPOINTING);
    lines
}

/// The lines of ms-swift's file, which recomputes by default. Under FSDP only its section sets that, which forms one
/// object with FSDP's options (`_init_fsdp` of `swift/arguments/sft_args.py`).
pub fn write_swift(writer: &mut PlanWriter<'_>) -> Vec<Line> {
    let mut lines = sharded(trainer::write_beside(writer, SWIFT_KEYS, LAUNCHED), writer);
    if !lines.iter().any(|line| line.name == CHECKPOINTING) {
        lines.push(Line::new(CHECKPOINTING, false));
    }
    for line in lines.iter_mut().filter(|line| line.name.starts_with(trainer::FULLY_SHARDED)) {
        let name = line.name.replace("fsdp_config.version", "fsdp_config.fsdp_version");
        line.name = format!("{}.{name}", trainer::FULLY_SHARDED);
    }
    lines
}

/// Converts FSDP's options for versions of transformers before 5.17, which wrap layers only if told to.
fn sharded(lines: Vec<Line>, writer: &PlanWriter<'_>) -> Vec<Line> {
    let offload = if writer.plan().offload.state() { " offload" } else { "" };
    let kept = lines.into_iter().filter(|line| line.name != "fsdp_config.cpu_offload");
    let options = |line: Line| {
        let is_switch = line.name == trainer::FULLY_SHARDED;
        if is_switch { Line::new(trainer::FULLY_SHARDED, format!("full_shard auto_wrap{offload}")) } else { line }
    };
    kept.map(options).collect()
}

const LENGTH: &str = "max_length";
const CHECKPOINTING: &str = "gradient_checkpointing";
