//! Adapters as tools of fine-tuning name them: PEFT, TRL, LLaMA-Factory and axolotl. Not for the rest of their files
//! ([`super::trainer`]).

use shardscope_engine::plan::{FrozenFormat, LoraTargets, TrainMethod};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::programs::{self, KnownProgram};
use super::settings::{Setting, ToolSettings};
use super::table::{self, OFF, ToolKey, nothing, only};
use super::writer::{Line, PlanWriter};

/// Keys whose word is the method.
const METHODS: [&str; 5] = [LLAMA_FACTORY, "train_type", "tuner_type", "sft_type", AXOLOTL];

/// LLaMA-Factory's.
pub(super) const LLAMA_FACTORY: &str = "finetuning_type";

/// axolotl's.
const AXOLOTL: &str = "adapter";

/// Switches for adapters, and for adapters beside weights of four bits.
const SWITCHES: [(&str, TrainMethod); 5] = [
    ("use_peft", TrainMethod::Lora),
    ("use_peft_lora", TrainMethod::Lora),
    ("use_lora", TrainMethod::Lora),
    ("lora_enable", TrainMethod::Lora),
    ("q_lora", TrainMethod::Qlora),
];

/// Keys of the rank: TRL's and axolotl's first.
const RANKS: [&str; 4] = ["lora_r", "lora_rank", "lora_dim", "r"];

/// Keys of the matrices.
const TARGETS: [&str; 4] = ["lora_target_modules", "lora_target", "target_modules", "lora_modules"];

/// Switches for weights of few bits, and keys that count the bits.
const SWITCHED: [(&str, FrozenFormat); 4] = [
    ("load_in_4bit", FrozenFormat::Nf4),
    ("load_in_8bit", FrozenFormat::Int8),
    ("use_4bit_quantization", FrozenFormat::Nf4),
    ("use_8bit_quantization", FrozenFormat::Int8),
];
const BITS: [&str; 3] = ["quantization_bit", "bits", "quant_bits"];

const IS_OFF: &str = "what it belongs to is off";
const STATE: &str = "say an optimizer with the state of one of --optimizer, and leave it out";
const OF_PICTURES: &str = "the parts that read pictures are no part of a plan";
const SCALED: &str = "how adapters are scaled and initialised changes no size";
const BLOCKS: &str = "four bits count with scales for blocks of 64 that are quantised too";
pub(super) const FUSED: &str = "choose a --stack whose kernels are fused, and leave it out";
const UNSLOTH: &str = "Unsloth's kernels are no stack's: give the run without it";
pub(super) const ALONE: &str = "a plan trains all weights, or adapters of LoRA alone: give the run without it";

/// What is left once the method, the rank and the matrices are known.
const KEYS: &[ToolKey] = &[
    nothing("lora_alpha", SCALED),
    nothing("lora_dropout", SCALED),
    nothing("use_rslora", SCALED),
    nothing("lora_task_type", SCALED),
    nothing("loraplus*", "rates of learning change no size"),
    only("lora_bias", &["none"], ALONE),
    only("use_dora", OFF, ALONE),
    only("lora_mlp_kernel", OFF, FUSED),
    only("lora_qkv_kernel", OFF, FUSED),
    only("lora_o_kernel", OFF, FUSED),
    nothing("merge_lora", "what is done with adapters after training is no part of a step"),
    nothing("adapter_name_or_path", "loading is no part of a step"),
    only("lora*", OFF, ALONE),
    only("peft*", OFF, ALONE),
    only("pissa*", OFF, ALONE),
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
    only("freeze*", OFF, ALONE),
    only("tune_mm_mlp_adapter", OFF, ALONE),
    only("use_galore", OFF, ALONE),
    only("use_badam", OFF, ALONE),
    only("use_apollo", OFF, STATE),
    only("use_adam_mini", OFF, STATE),
    only("use_muon", OFF, "say it by --optimizer muon, and leave it out"),
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
    only("full_finetune", OFF, "say --train full, and leave it out"),
    // Files for llama.cpp have the others.
    only("quantization_method", &["bnb", "bitsandbytes", "f16", "q4_k_m", "q8_0"], ALONE),
    only("quant_method", &["bnb", "bitsandbytes"], ALONE),
    only("quantization_type", &["nf4"], ALONE),
    only("quant_type", &["nf4"], ALONE),
    only("bnb_4bit_quant_type", &["nf4"], ALONE),
    nothing("bnb_4bit_*", BLOCKS),
    nothing("double_quant*", BLOCKS),
    nothing("use_nested_quant", BLOCKS),
    nothing("use_bnb_nested_quant", BLOCKS),
    only("use_loftq", OFF, ALONE),
];

/// Whether a switch is on.
fn is_on(setting: &Setting) -> bool {
    !OFF.iter().any(|off| off.eq_ignore_ascii_case(&setting.text))
}

/// Takes away the first setting of some names.
fn first(settings: &mut ToolSettings, names: &[&str]) -> Option<Setting> {
    names.iter().filter_map(|name| settings.take(name)).last()
}

/// Reads what is trained, and how the rest is kept.
pub fn read(settings: &mut ToolSettings, program: &KnownProgram, draft: &mut PlanDraft) {
    let frozen = quantised(settings, draft);
    // A file for adapters whose method a command overrides keeps their settings, which nothing reads.
    let says_full = METHODS.iter().any(|name| settings.text(name) == Some(TrainMethod::Full.word()));
    let method = method(settings, draft);
    let (rank, targets) = (first(settings, &RANKS), first(settings, &TARGETS));
    let linear = settings.take("lora_target_linear").filter(is_on);
    // What names a rank trains adapters, whatever switches them on is called.
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
    // A list stands as `["q_proj", "v_proj"]`.
    let plain = |text: &str| text.replace(['[', ']', '"', '\''], " ");
    match (targets, linear) {
        (Some(targets), _) => draft.read(Field::LoraTargets, &plain(&targets.text), &targets.place),
        (None, Some(linear)) => draft.take(Field::LoraTargets, LoraTargets::ALL, &linear.place),
        (None, None) => {}
    }
    program.assume_adapters(draft);
    table::read(KEYS, settings, draft);
}

/// The method that some key names, and which.
fn method(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<(TrainMethod, String)> {
    let mut found = None;
    for setting in METHODS.iter().filter_map(|name| settings.take(name)).collect::<Vec<_>>() {
        match setting.text.to_lowercase().parse() {
            Ok(method) => found = Some((method, setting.place)),
            Err(_) if is_on(&setting) => draft.cannot(&setting, "is no way of training that a plan has", ALONE),
            Err(_) => {}
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

/// The format of frozen weights, where they are kept in fewer bits.
fn quantised(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<(FrozenFormat, String)> {
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
    found
}

/// axolotl's plugins, each of which is code: those of evaluation have no part in a step.
pub fn read_plugins(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(plugins) = settings.take("plugins") else { return };
    let names: Vec<&str> = plugins.text.split([',', '[', ']', '"', ' ']).filter(|name| !name.is_empty()).collect();
    for name in names {
        let called = name.rsplit('.').next().unwrap_or(name);
        let one = Setting { text: called.to_owned(), place: plugins.place.clone() };
        let losses = ["cut_cross_entropy", "liger"];
        match name {
            name if name.contains("lm_eval") => draft.report.ignore(&plugins.place, "evaluation is no part of a step"),
            name if losses.iter().any(|loss| name.contains(loss)) => {
                draft.cannot(&one, "computes the loss without whole logits", LOSS);
            }
            _ => draft.cannot(&one, "is code that trains as no plan can say", "give the run without it"),
        }
    }
}

/// The way out where the loss is computed otherwise than a stack's.
const LOSS: &str = "choose a --stack whose loss is computed so, and leave it out";

/// The settings of axolotl as the Trainer and TRL have them, but for its names of them.
pub fn of_axolotl(mut settings: ToolSettings) -> ToolSettings {
    programs::note_program(&mut settings, "axolotl");
    // It turns bf16 on where the device has it.
    if settings.text("bf16") == Some("auto") {
        settings.put("bf16", "true", "bf16");
    }
    // Layers computed again whose inputs are on the host, under two names.
    if settings.text("gradient_checkpointing").is_some_and(|way| ["offload", "unsloth"].contains(&way)) {
        settings.put("gradient_checkpointing", "true", "gradient_checkpointing");
        settings.put("activation_offloading", "legacy", "gradient_checkpointing");
    }
    // Beside a version of FSDP its section alone switches sharding on; older files name the strategy in a list.
    if let Some(version) = settings.take("fsdp_version") {
        if settings.has("fsdp_config") && !settings.has("fsdp") {
            settings.put("fsdp", "full_shard", "fsdp_config");
        }
        settings.put("fsdp_config.version", &version.text, "fsdp_version");
    }
    // Examples are packed into sequences, which is what is predicted.
    settings.take("sample_packing");
    settings
}

/// The fields that a launcher's own file leaves to the script, and who says them there.
pub const FIELDS: [Field; 4] = [Field::Train, Field::LoraRank, Field::LoraTargets, Field::FrozenFormat];
pub const SCRIPT: &str = "the script's LoraConfig, for which `export --to hf-trainer` writes TRL's keys";

/// The lines of TRL's configuration of a model; none where all weights are trained.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    let tuning = writer.plan().tuning;
    if !tuning.freezes() {
        return Vec::new();
    }
    for field in [Field::Train, Field::LoraTargets] {
        writer.say(field);
    }
    let modules: Vec<&str> = tuning.targets.modules().collect();
    let mut lines = vec![Line::new("use_peft", true)];
    lines.extend(writer.line("lora_r", Field::LoraRank));
    lines.push(Line::new("lora_target_modules", modules));
    match tuning.frozen_format() {
        FrozenFormat::Bf16 => drop(writer.say(Field::FrozenFormat)),
        FrozenFormat::Int8 => {
            writer.say(Field::FrozenFormat);
            lines.push(Line::new("load_in_8bit", true));
        }
        FrozenFormat::Nf4 => {
            writer.say(Field::FrozenFormat);
            lines.extend([
                Line::new("load_in_4bit", true),
                Line::new("bnb_4bit_quant_type", "nf4"),
                Line::new("use_bnb_nested_quant", true),
            ]);
        }
        // bitsandbytes has no such weights.
        FrozenFormat::Fp8 => {}
    }
    lines
}
