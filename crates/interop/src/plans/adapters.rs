//! Adapter settings of fine-tuning tools: PEFT, TRL, LLaMA-Factory and axolotl. [`super::trainer`] reads the rest of
//! their files.

mod patterns;

use shardscope_engine::plan::{FrozenFormat, LoraTargets, Optimizer, TrainMethod};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Value};

use super::deviation::Deviation;
use super::draft::PlanDraft;
use super::loss;
use super::post_training;
use super::programs::{self, KnownProgram};
use super::settings::{Setting, ToolSettings};
use super::table::{self, Codec, OFF, ToolKey, nothing, only};
use super::writer::Line;

/// Keys whose value is the training method.
const METHODS: [&str; 5] = [LLAMA_FACTORY, "train_type", "tuner_type", "sft_type", AXOLOTL];

/// LLaMA-Factory's key for the method.
pub(super) const LLAMA_FACTORY: &str = "finetuning_type";

/// The Trainer's and axolotl's key for gradient accumulation.
const ACCUMULATION: &str = "gradient_accumulation_steps";

/// axolotl's key for the method.
const AXOLOTL: &str = "adapter";

/// Switches for adapters, and for adapters beside 4-bit weights.
const SWITCHES: [(&str, TrainMethod); 5] = [
    ("use_peft", TrainMethod::Lora),
    ("use_peft_lora", TrainMethod::Lora),
    ("use_lora", TrainMethod::Lora),
    ("lora_enable", TrainMethod::Lora),
    ("q_lora", TrainMethod::Qlora),
];

/// Keys for the rank of adapters; TRL's and axolotl's first.
const RANKS: [&str; 4] = ["lora_r", "lora_rank", "lora_dim", "r"];

/// Key for the adapters' dropout.
pub(super) const DROPOUT: &str = "lora_dropout";

/// Keys for the matrices that have adapters.
const TARGETS: [&str; 4] = ["lora_target_modules", "lora_target", "target_modules", "lora_modules"];

/// Switches for quantised weights, and keys of their bits.
const SWITCHED: [(&str, FrozenFormat); 4] = [
    ("load_in_4bit", FrozenFormat::Nf4),
    ("load_in_8bit", FrozenFormat::Int8),
    ("use_4bit_quantization", FrozenFormat::Nf4),
    ("use_8bit_quantization", FrozenFormat::Int8),
];
const BITS: [&str; 3] = ["quantization_bit", "bits", "quant_bits"];

/// Switches for nested quantisation, which quantises the scales of four bits too.
const NESTED: [&str; 6] = [
    "double_quantization",
    "double_quant",
    "use_nested_quant",
    "use_bnb_nested_quant",
    "bnb_4bit_use_double_quant",
    "bnb_config_kwargs.bnb_4bit_use_double_quant",
];

/// LLaMA-Factory's and ms-swift's switch for Muon.
const MUON: &str = "use_muon";

const IS_OFF: &str = "what it belongs to is off";
const STATE: &str = "say an optimizer with the state of one of --optimizer, and leave it out";
const OF_PICTURES: &str = "the parts that read pictures are no part of a plan";
const SCALED: &str = "how adapters are scaled and initialised changes no size";
const BLOCKS: &str = "it moves neither the bits of a weight nor those of its scales";
pub(super) const FUSED: &str = "choose a --stack whose kernels are fused, and leave it out";
const UNSLOTH: &str = "Unsloth's kernels are no stack's: give the run without it";
pub(super) const ALONE: &str = "a plan trains all weights, or adapters of LoRA alone: give the run without it";

/// The remaining keys, once the method, the rank and the matrices are known.
const KEYS: &[ToolKey] = &[
    nothing("lora_alpha", SCALED),
    nothing(DROPOUT, "no adapter drops its input where all weights are trained"),
    nothing("use_rslora", SCALED),
    nothing("lora_task_type", SCALED),
    nothing("lora_fan_in_fan_out", "which way a matrix lies in memory changes no size"),
    nothing("loraplus*", "rates of learning change no size"),
    only("lora_bias", &["none"], ALONE),
    only("use_dora", OFF, ALONE),
    nothing("merge_lora", "what is done with adapters after training is no part of a step"),
    nothing("adapter_name_or_path", "loading is no part of a step"),
    only("lora*", OFF, ALONE),
    nothing("peft_use_rslora", SCALED),
    only("peft*", OFF, ALONE),
    nothing("pissa*", SCALED),
    only("lisa*", OFF, ALONE),
    only("relora*", OFF, ALONE),
    only("qat*", OFF, ALONE),
    only("gptq*", OFF, ALONE),
    only("modules_to_save", OFF, ALONE),
    only("additional_target", OFF, ALONE),
    nothing("freeze_vit", OF_PICTURES),
    nothing("freeze_aligner", OF_PICTURES),
    nothing("freeze_vision_tower", OF_PICTURES),
    nothing("freeze_multi_modal_projector", OF_PICTURES),
    nothing("freeze_mm_modules", OF_PICTURES),
    nothing("vit_gradient_checkpointing", OF_PICTURES),
    only("freeze*", OFF, ALONE),
    only("tune_mm_mlp_adapter", OFF, ALONE),
    only("use_galore", OFF, ALONE),
    only("use_badam", OFF, ALONE),
    only("use_apollo", OFF, STATE),
    only("use_adam_mini", OFF, STATE),
    nothing("galore_*", IS_OFF),
    nothing("badam_*", IS_OFF),
    nothing("apollo_*", IS_OFF),
    only("use_llama_pro", OFF, ALONE),
    only("mixture_of_depths", OFF, ALONE),
    only("use_kt", OFF, "give the run without it: a plan's experts are on devices"),
    only("fp8", OFF, "say the recipe by --precision, and switch it off"),
    nothing("fp8_*", IS_OFF),
    only("llmcompressor*", OFF, ALONE),
    only("diffusion*", OFF, ALONE),
    only("use_unsloth", OFF, UNSLOTH),
    only("tuner_backend", &["peft", "swift"], UNSLOTH),
    only("use_gradient_checkpointing", &[], UNSLOTH),
    // The other values name formats for llama.cpp.
    only("quantization_method", &["bnb", "bitsandbytes", "f16", "q4_k_m", "q8_0"], ALONE),
    only("quant_method", &["bnb", "bitsandbytes"], ALONE),
    only("quantization_type", &["nf4"], ALONE),
    only("quant_type", &["nf4"], ALONE),
    only("bnb_4bit_quant_type", &["nf4"], ALONE),
    nothing("bnb_4bit_*", BLOCKS),
    only("bnb_config_kwargs.bnb_4bit_quant_type", &["nf4"], ALONE),
    nothing("bnb_config_kwargs.bnb_4bit_*", BLOCKS),
    nothing("double_quant*", BLOCKS),
    nothing("use_nested_quant", BLOCKS),
    nothing("use_bnb_nested_quant", BLOCKS),
    only("use_loftq", OFF, ALONE),
];

/// True if a switch is on.
fn is_on(setting: &Setting) -> bool {
    !OFF.iter().any(|off| off.eq_ignore_ascii_case(&setting.text))
}

/// Reads the switch that replaces the named optimizer by Muon (`create_custom_optimizer` of LLaMA-Factory's
/// `train/trainer_utils.py`; `swift/optimizers` of ms-swift, by its name).
pub(super) fn read_muon(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if settings.text("optimizer") == Some(Optimizer::Muon.word()) {
        settings.call("optimizer", MUON);
    }
    let Some(muon) = settings.take(MUON) else { return };
    if !is_on(&muon) {
        return draft.report.ignore(&muon.place, "another optimizer is named");
    }
    if let Some(other) = settings.take("optim") {
        draft.report.ignore(&other.place, format!("{} says it", muon.place));
    }
    draft.take(Field::Optimizer, Optimizer::Muon, &muon.place);
}

/// Quantised checkpoints whose weights are loaded in 16 bits (`Mxfp4Config(dequantize=True)` of transformers).
fn dequantised(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let kinds = ["model_quantization_config", "quantization_config"];
    for kind in kinds {
        if settings.text(&format!("{kind}_kwargs.dequantize")) == Some("true") {
            let own = [kind.to_owned(), format!("{kind}_kwargs.dequantize")];
            for setting in own.iter().filter_map(|name| settings.take(name)).collect::<Vec<_>>() {
                draft.report.ignore(&setting.place, "weights have 16 bits once they are loaded");
            }
        }
    }
}

/// Takes all settings of these names, and returns the last one.
fn last_of(settings: &mut ToolSettings, names: &[&str]) -> Option<Setting> {
    names.iter().filter_map(|name| settings.take(name)).last()
}

/// Reads the training method, and the format of frozen weights.
pub fn read(settings: &mut ToolSettings, program: &KnownProgram, draft: &mut PlanDraft) {
    dequantised(settings, draft);
    let frozen = quantised(settings, program, draft);
    // If a command overrides the method of a file for adapters, the file's settings stay, unused.
    let says_full = METHODS.iter().any(|name| settings.text(name) == Some(TrainMethod::Full.word()))
        || settings.text("full_finetune").is_some_and(|text| table::switched(text) == "true");
    let method = method(settings, draft);
    let (rank, targets) = (last_of(settings, &RANKS), last_of(settings, &TARGETS));
    let linear = settings.take("lora_target_linear").filter(is_on);
    // A file that gives a rank trains adapters, whatever its switch is called.
    let implied = || rank.as_ref().filter(|rank| is_on(rank)).map(|rank| (TrainMethod::Lora, rank.place.clone()));
    let (method, place) = match method {
        Some(named) => named,
        None => implied().unwrap_or_else(|| {
            let default = draft.value(Field::Train).and_then(Value::get);
            (default.unwrap_or(TrainMethod::Full), String::new())
        }),
    };
    if !place.is_empty() {
        draft.take(Field::Train, method, &place);
    }
    if method == TrainMethod::Full && !draft.is_given(Field::Train) {
        for setting in [&rank, &targets, &linear].into_iter().flatten().filter(|setting| is_on(setting)) {
            if says_full {
                draft.report.ignore(&setting.place, "all weights are trained");
            } else {
                draft.cannot(setting, "is of adapters, which nothing switches on", "say --train lora, or leave it out");
            }
        }
        if let Some((_, place)) = frozen {
            let what = "weights of so few bits are frozen, and nothing says what is trained";
            draft.errors.push(Problem::new(place, what, "say --train qlora with --lora-rank and --lora-targets"));
        }
        return table::read(KEYS, settings, draft);
    }
    if let Some((format, place)) = frozen {
        draft.take(Field::FrozenFormat, format, &place);
    }
    if let Some(rank) = rank {
        draft.read(Field::LoraRank, &rank.text, &rank.place);
    }
    match settings.take(DROPOUT) {
        Some(dropout) if is_on(&dropout) => draft.read(Field::LoraDropout, &dropout.text, &dropout.place),
        Some(none) => draft.take(Field::LoraDropout, 0.0, &none.place),
        None => {}
    }
    match (targets, linear) {
        (Some(targets), _) => draft.read(Field::LoraTargets, &names(&targets.text), &targets.place),
        (None, Some(linear)) => draft.take(Field::LoraTargets, LoraTargets::ALL, &linear.place),
        (None, None) => {}
    }
    program.assume_adapters(draft);
    table::read(KEYS, settings, draft);
}

/// Names of matrices, from a list, `["q_proj", "v_proj"]`, whose entries may include the part of a layer
/// (`self_attn.q_proj`), or from a regular expression, which PEFT takes a string for (`check_target_module_exists` of
/// its `tuners/tuners_utils.py`). A pattern that cannot be read is kept as it is, and refused.
fn names(text: &str) -> String {
    if let Some(names) = patterns::modules(text) {
        return names.join(" ");
    }
    let plain = text.replace(['[', ']', '"', '\'', ','], " ");
    let short = |name: &str| {
        patterns::PARTS.iter().find_map(|part| name.strip_prefix(part)?.strip_prefix('.')).map(str::to_owned)
    };
    plain.split_whitespace().map(|name| short(name).unwrap_or_else(|| name.to_owned())).collect::<Vec<_>>().join(" ")
}

/// The method that a key names, and the key's place.
fn method(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<(TrainMethod, String)> {
    let mut found = None;
    for setting in METHODS.iter().filter_map(|name| settings.take(name)).collect::<Vec<_>>() {
        match setting.text.to_lowercase().parse() {
            Ok(method) => found = Some((method, setting.place)),
            Err(_) if is_on(&setting) => draft.cannot(&setting, "is no way of training that a plan has", ALONE),
            Err(_) => {}
        }
    }
    // `full_finetune` is qlora.py's, and alone trains no adapters.
    if let Some(all) = settings.take("full_finetune") {
        if is_on(&all) {
            found = Some((TrainMethod::Full, all.place));
        } else {
            draft.report.ignore(&all.place, "adapters are trained");
        }
    }
    for (name, method) in SWITCHES {
        if let Some(setting) = settings.take(name) {
            if is_on(&setting) {
                found = Some((method, setting.place));
            } else {
                found.get_or_insert((TrainMethod::Full, setting.place));
            }
        }
    }
    found
}

/// The format of frozen weights, if they are quantised.
fn quantised(
    settings: &mut ToolSettings,
    program: &KnownProgram,
    draft: &mut PlanDraft,
) -> Option<(FrozenFormat, String)> {
    let mut found = None;
    for (name, format) in SWITCHED {
        if let Some(setting) = settings.take(name) {
            if is_on(&setting) {
                found = Some((format, setting.place));
            } else {
                draft.report.ignore(&setting.place, "weights keep their bits");
            }
        }
    }
    for setting in BITS.iter().filter_map(|name| settings.take(name)).collect::<Vec<_>>() {
        match setting.text.as_str() {
            "4" => found = Some((FrozenFormat::Nf4, setting.place)),
            "8" => found = Some((FrozenFormat::Int8, setting.place)),
            "16" | "32" => draft.report.ignore(&setting.place, "weights keep their bits"),
            _ if !is_on(&setting) => draft.report.ignore(&setting.place, "weights keep their bits"),
            _ => draft.cannot(&setting, "is no count of bits that a plan has", "choose 4 or 8"),
        }
    }
    if let Some((format @ FrozenFormat::Nf4, _)) = &mut found
        && !last_of(settings, &NESTED).as_ref().map_or(program.quantises_scales, is_on)
    {
        *format = FrozenFormat::Nf4Single;
    }
    found
}

/// Reads axolotl's plugins, each of which is code; evaluation has no part in a step.
pub fn read_plugins(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let switched = loss::read_cut(settings, draft);
    let Some(plugins) = settings.take("plugins") else { return };
    let names: Vec<&str> = plugins.text.split([',', '[', ']', '"', ' ']).filter(|name| !name.is_empty()).collect();
    for name in names {
        let called = name.rsplit('.').next().unwrap_or(name);
        let one = Setting { text: called.to_owned(), place: plugins.place.clone() };
        match name {
            name if name.contains("lm_eval") => draft.report.ignore(&plugins.place, "evaluation is no part of a step"),
            name if name.contains("swanlab") => draft.report.ignore(&plugins.place, "logs are no part of a step"),
            name if name.contains("cut_cross_entropy") => {
                // The plugin's switch, read before, may turn it off.
                if switched.unwrap_or(true) {
                    loss::cut(draft, &plugins.place);
                }
            }
            name if name.contains("liger") => {
                draft.report.ignore(&plugins.place, "each kernel of Liger's has a switch of its own");
            }
            _ => draft.cannot(&one, "is code that trains as no plan can say", "give the run without it"),
        }
    }
}

/// axolotl's keys for context ranks: the current and the older one.
const CONTEXT: [&str; 2] = ["context_parallel_size", "sequence_parallel_degree"];

/// axolotl's settings under the names of the Trainer and TRL.
pub fn of_axolotl(mut settings: ToolSettings) -> ToolSettings {
    programs::note_program(&mut settings, "axolotl");
    // `auto` turns bf16 on if the device has it.
    if settings.text("bf16") == Some("auto") {
        settings.put("bf16", "true", "bf16");
    }
    // Two names for recomputation with the layers' inputs on the host.
    if settings.text("gradient_checkpointing").is_some_and(|way| ["offload", "unsloth"].contains(&way)) {
        settings.put("gradient_checkpointing", "true", "gradient_checkpointing");
        settings.put("activation_offloading", "legacy", "gradient_checkpointing");
    }
    // Full 16-bit training does without automatic mixed precision (`normalize_config` of axolotl's
    // `utils/config/__init__.py`).
    for (whole, mixed) in [("bfloat16", "bf16"), ("float16", "fp16")] {
        if settings.take_on(whole) {
            settings.put(mixed, "true", whole);
        }
        settings.take(whole);
    }
    // `fsdp_config` alone switches FSDP on; older files list the strategy (`core/builders/base.py`).
    let is_named = settings.text("fsdp").is_some_and(|named| !OFF.contains(&named));
    if settings.has("fsdp_config") && !is_named {
        settings.put("fsdp", "full_shard", "fsdp_config");
    }
    if let Some(version) = settings.take("fsdp_version") {
        settings.put("fsdp_config.version", &version.text, "fsdp_version");
    }
    // A reward model ends in a score head, which TRL's `RewardTrainer` trains.
    if settings.take_on("reward_model") {
        settings.put(post_training::STAGE, "reward", "reward_model");
    }
    // Predictions assume packed sequences. Without packing, axolotl's context ranks use ring attention
    // (`validate_ring_attn_func` of its `utils/schemas/validation.py`).
    let packs = settings.take("sample_packing").is_some_and(|packs| packs.text == "true");
    let shares = CONTEXT.iter().any(|name| settings.count(name).is_some_and(|ranks| ranks > 1));
    if shares && !settings.has("ring_attn_func") {
        let function = if packs { "varlen_llama3" } else { "batch_ring" };
        settings.put("ring_attn_func", function, if packs { "sample_packing" } else { "no sample_packing" });
    }
    accumulate_to_batch(&mut settings);
    settings
}

/// The settings of a whole file of axolotl. Without an adapter it trains all weights, whatever rank the file gives
/// (`load_adapter` of its `loaders/adapter.py`).
pub fn of_axolotls_file(mut settings: ToolSettings) -> ToolSettings {
    if settings.text(AXOLOTL).is_none_or(|way| OFF.iter().any(|off| off.eq_ignore_ascii_case(way))) {
        settings.put(AXOLOTL, TrainMethod::Full.word(), "no adapter");
    }
    of_axolotl(settings)
}

/// Derives accumulation from axolotl's older key for a device's batch, if nothing sets it (`normalize_config` of its
/// `utils/config/__init__.py`).
fn accumulate_to_batch(settings: &mut ToolSettings) {
    let [all, each] = ["batch_size", "micro_batch_size"].map(|name| settings.count(name));
    let Some(steps) = all.zip(each).map(|(all, each)| all / each).filter(|_| !settings.has(ACCUMULATION)) else {
        return;
    };
    settings.take("batch_size");
    settings.put(ACCUMULATION, &steps.max(1).to_string(), "batch_size");
}

/// Fields that a launcher's file leaves to the script, and what sets them there.
pub const FIELDS: [Field; 5] =
    [Field::Train, Field::LoraRank, Field::LoraTargets, Field::LoraDropout, Field::FrozenFormat];
pub const SCRIPT: &str = "the script's LoraConfig, for which `export --to hf-trainer` writes TRL's keys";

/// TRL's keys for adapters, for exports; [`read`] reads them with those of other programs.
pub(super) const PEFT: Codec = Codec::new(
    &FIELDS,
    |_, _| {},
    |writer| {
        let tuning = writer.plan().tuning;
        if !tuning.freezes() {
            return Vec::new();
        }
        let modules: Vec<&str> = tuning.targets.modules().collect();
        let mut lines = vec![Line::new("use_peft", true)];
        lines.extend(writer.line("lora_r", Field::LoraRank));
        lines.extend(writer.line(DROPOUT, Field::LoraDropout));
        lines.push(Line::new("lora_target_modules", modules));
        match tuning.frozen_format() {
            FrozenFormat::Int8 => lines.push(Line::new("load_in_8bit", true)),
            format @ (FrozenFormat::Nf4 | FrozenFormat::Nf4Single) => lines.extend([
                Line::new("load_in_4bit", true),
                Line::new("bnb_4bit_quant_type", "nf4"),
                Line::new("use_bnb_nested_quant", format == FrozenFormat::Nf4),
            ]),
            FrozenFormat::Fp32 => lines.push(Line::new("dtype", "float32")),
            // bitsandbytes has no weights in fp8.
            FrozenFormat::Bf16 | FrozenFormat::Fp8 => {}
        }
        lines
    },
)
.losing(&[Deviation::instead(
    Field::FrozenFormat,
    |asked, _| asked.plan().tuning.freezes() && asked.plan().tuning.frozen_format() == FrozenFormat::Fp8,
    "not supported by transformers: bitsandbytes has nf4 and int8",
)]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_lists_and_of_patterns() {
        for (text, expected) in [
            (r#"["q_proj","v_proj"]"#, Some("q,v")),
            (r".*\.(q_proj|v_proj)$", Some("q,v")),
            ("^.*(gate_proj|up_proj|down_proj)", Some("gate,up,down")),
            // Some layers alone.
            (r"model\.layers\.1\d\.self_attn\.(q_proj|v_proj)", None),
            (r".*\.(?!q_proj)", None),
        ] {
            let read = |text: &str| Field::LoraTargets.read(text).ok().flatten();
            assert_eq!(read(&names(text)), expected.and_then(read), "{text}");
        }
    }
}
