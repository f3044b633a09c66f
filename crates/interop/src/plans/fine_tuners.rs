//! Programs of fine-tuning that start the Trainer with defaults of their own: LLaMA-Factory, ms-swift, TRL and others.
//!
//! Not for their names of what the Trainer has too ([`super::trainer`]) nor for those of adapters ([`super::adapters`]).

use shardscope_engine::plan::{LoraTarget, LoraTargets, Optimizer, Precision, Recompute, TrainMethod};
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::settings::{Setting, ToolSettings};
use super::words::{CONFIG, position};

/// A program, known by the words that start it or by a key that it alone has.
#[derive(Debug)]
pub(super) struct FineTuner {
    /// As reports name it.
    name: &'static str,
    /// Words that start it, one behind the other.
    command: &'static [&'static str],
    /// Keys that it alone has.
    keys: &'static [&'static str],
    /// What a plan has where its arguments are silent.
    defaults: &'static [(Field, Value)],
    /// The rank of adapters and the matrices that have them, likewise.
    adapters: (u32, LoraTargets),
    /// Whether products have the format in which weights are loaded.
    computes_as_stored: bool,
    /// The fewest sequences of a step, where the program accumulates as many.
    fewest_sequences: Option<u32>,
}

const QUERIES_AND_VALUES: LoraTargets = LoraTargets::NONE.with(LoraTarget::Query).with(LoraTarget::Value);

/// What the Trainer trains where nobody says more: PEFT's defaults of Llama, and TRL's of a rank.
const OTHER: FineTuner = FineTuner {
    name: "TRL",
    command: &[],
    keys: &[],
    defaults: &[],
    adapters: (16, QUERIES_AND_VALUES),
    computes_as_stored: false,
    fewest_sequences: None,
};

const FINE_TUNERS: &[FineTuner] = &[
    // src/llamafactory/hparams and model/model_utils/checkpointing.py of hiyouga/LLaMA-Factory 0.9.
    FineTuner {
        name: "LLaMA-Factory",
        command: &["llamafactory-cli", "train"],
        keys: &["finetuning_type"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Lora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Sequence, Value::Count(2048)),
        ],
        adapters: (8, LoraTargets::ALL),
        ..OTHER
    },
    // docs/source_en/Instruction/Command-line-parameters.md and swift/trainers/arguments.py of modelscope/ms-swift 3.
    FineTuner {
        name: "ms-swift",
        command: &["swift", "sft"],
        keys: &["train_type", "tuner_type", "sft_type"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Lora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Precision, Value::Word(Precision::Bf16.to_word())),
            (Field::MicroBatch, Value::Count(1)),
        ],
        adapters: (8, LoraTargets::ALL),
        computes_as_stored: true,
        fewest_sequences: Some(16),
    },
    // qlora.py of artidoro/qlora.
    FineTuner {
        name: "qlora.py",
        keys: &["source_max_len", "target_max_len"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Qlora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::MicroBatch, Value::Count(1)),
            (Field::Accumulate, Value::Count(16)),
            (Field::Optimizer, Value::Word(Optimizer::Adam.to_word())),
            (Field::PagedOptimizer, Value::Switch(true)),
        ],
        adapters: (64, LoraTargets::ALL),
        ..OTHER
    },
    // llava/train/train.py of haotian-liu/LLaVA.
    FineTuner {
        name: "LLaVA",
        keys: &["lora_enable"],
        defaults: &[(Field::Sequence, Value::Count(512))],
        adapters: (64, LoraTargets::ALL),
        ..OTHER
    },
    // examples/sft of huggingface/peft.
    FineTuner { name: "PEFT's example", keys: &["use_peft_lora"], adapters: (64, LoraTargets::ALL), ..OTHER },
    FineTuner { name: "axolotl", command: &["axolotl", "train"], ..OTHER },
    // training/step1_supervised_finetuning/main.py of DeepSpeed-Chat in deepspeedai/DeepSpeedExamples.
    FineTuner {
        name: "DeepSpeed-Chat",
        keys: &["zero_stage"],
        defaults: &[
            (Field::Precision, Value::Word(Precision::Fp16.to_word())),
            (Field::MicroBatch, Value::Count(16)),
            (Field::Sequence, Value::Count(512)),
        ],
        computes_as_stored: true,
        ..OTHER
    },
    // trl/trainer/sft_config.py of huggingface/trl since 0.20.
    FineTuner {
        command: &["trl", "sft"],
        keys: &["use_peft", "accelerate_config", "packing_strategy", "assistant_only_loss", "completion_only_loss"],
        defaults: &[
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Precision, Value::Word(Precision::Bf16.to_word())),
            (Field::Sequence, Value::Count(1024)),
        ],
        ..OTHER
    },
];

/// Commands of TRL and ms-swift that run a second model, or a trained judge, beside the one that is trained.
const OTHER_STAGES: &[(&str, &[&str])] =
    &[("trl", &["dpo", "kto", "grpo", "rloo", "reward"]), ("swift", &["rlhf", "dpo", "orpo", "simpo"])];

/// The setting that says what is trained for, which is LLaMA-Factory's.
const STAGE: &str = "stage";

/// The setting that holds the words by which a script starts a program: no tool has one with a space.
const STARTED: &str = "started by";

/// The words that start one of them, and the place behind these.
pub fn start(words: &[String]) -> Option<(String, usize)> {
    let mut commands = FINE_TUNERS.iter().map(|program| program.command).filter(|command| !command.is_empty());
    commands.find_map(|command| Some((command.join(" "), position(words, command)?)))
}

/// The same where a module does.
pub fn start_of_module(module: &str, at: usize) -> Option<(String, usize)> {
    (module == "axolotl.cli.train").then(|| ("axolotl train".to_owned(), at))
}

/// Whether words start one of them.
fn is_command(words: &str) -> bool {
    FINE_TUNERS.iter().any(|program| words.split(' ').eq(program.command.iter().copied()))
}

/// Whether a program reads `name=value` behind its file, and nothing else: LLaMA-Factory hands the words there to `OmegaConf`
/// (`read_args` of its `hparams/parser.py`).
pub fn assigns(program: &str) -> bool {
    program == "llamafactory-cli train"
}

/// Keeps what starts a program, and what it is started for.
pub fn note_start(settings: &mut ToolSettings, program: &str, words: &[String]) {
    let other = words.windows(2).find(|pair| {
        OTHER_STAGES.iter().any(|(program, stages)| pair[0] == *program && stages.contains(&pair[1].as_str()))
    });
    if let Some(pair) = other {
        settings.put(STAGE, &pair[1], &pair.join(" "));
    }
    if is_command(program) {
        note_program(settings, program);
    }
}

/// Keeps what starts a program.
pub fn note_program(settings: &mut ToolSettings, program: &str) {
    settings.put(STARTED, program, program);
}

/// Takes away what starts a program with a file: the file is there.
pub fn take_file(settings: &mut ToolSettings) {
    settings.take(CONFIG);
}

/// Refuses a file that a program is started with, where it is not there.
pub fn refuse_file(settings: &mut ToolSettings, fix: &str, draft: &mut PlanDraft) {
    settings.take(STARTED);
    if let Some(file) = settings.take(CONFIG) {
        draft.cannot(&file, "is a file that says more of the plan", fix);
    }
}

/// Whether settings are a script's that starts a program with a file.
pub fn names_file(settings: &ToolSettings) -> bool {
    settings.has(STARTED) && settings.has(CONFIG)
}

/// Whether settings are of a program that a script starts.
pub fn is_started(settings: &ToolSettings, name: &str) -> bool {
    settings.text(STARTED).is_some_and(|started| started.starts_with(name))
}

/// The program that arguments are of, with its defaults assumed.
pub fn take_defaults(settings: &mut ToolSettings, draft: &mut PlanDraft) -> &'static FineTuner {
    let started = settings.take(STARTED);
    let is_started = |program: &&FineTuner| {
        started.as_ref().is_some_and(|started| started.text.split(' ').eq(program.command.iter().copied()))
    };
    let has_key = |program: &&FineTuner| program.keys.iter().any(|key| settings.has(key));
    let Some(program) = FINE_TUNERS.iter().find(is_started).or_else(|| FINE_TUNERS.iter().find(has_key)) else {
        return &OTHER;
    };
    for (field, value) in program.defaults {
        draft.assume(*field, value.clone(), program.default());
    }
    program
}

impl FineTuner {
    /// What assumptions say of its defaults.
    pub fn default(&self) -> String {
        format!("{}'s default", self.name)
    }

    /// The format of the products, where the weights' says it.
    pub fn read_format(&self, weights: Option<&Setting>, draft: &mut PlanDraft) {
        if let Some(weights) = weights.filter(|_| self.computes_as_stored) {
            let halves = ["bf16", "bfloat16"].contains(&weights.text.as_str());
            draft.take(Field::Precision, if halves { Precision::Bf16 } else { Precision::Fp16 }, &weights.place);
        }
    }

    /// What adapters have where nothing says it.
    pub fn assume_adapters(&self, draft: &mut PlanDraft) {
        let (rank, targets) = self.adapters;
        draft.assume(Field::LoraRank, rank, self.default());
        let whose = if targets == QUERIES_AND_VALUES { "PEFT's default of Llama".to_owned() } else { self.default() };
        draft.assume(Field::LoraTargets, targets, whose);
    }

    /// As many micro-batches as reach the fewest sequences of its steps.
    pub fn assume_micro_batches(&self, draft: &mut PlanDraft) {
        if let (Some(fewest), Some(devices)) = (self.fewest_sequences, draft.devices()) {
            let at_once = draft.ranks(Field::MicroBatch).saturating_mul(devices).max(1);
            let why = format!("{}, at least {fewest} sequences a step", self.default());
            draft.assume(Field::Accumulate, fewest.div_ceil(at_once), why);
        }
    }
}

/// The sequence of `qlora.py`: what is read and what is answered, each cut to a length of its own.
pub fn read_two_lengths(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [source, target] = ["source_max_len", "target_max_len"].map(|name| settings.take(name));
    let Some(place) = source.as_ref().or(target.as_ref()).map(|either| either.place.clone()) else { return };
    let length = |said: Option<Setting>, default: u32| said.map_or(Some(default), |said| said.text.parse().ok());
    match length(source, 1024).zip(length(target, 256)).and_then(|(source, target)| source.checked_add(target)) {
        Some(both) => draft.take(Field::Sequence, both, &format!("{place} + target_max_len")),
        None => draft.refuse(&place, "the two lengths are no numbers of tokens", Field::Sequence),
    }
}

/// DeepSpeed's configuration that a program has built in: named by its stage (`zero2`), or said by its own arguments.
pub fn built_in_deepspeed(named: Option<&Setting>, settings: &mut ToolSettings) -> Option<ToolSettings> {
    let mut config = ToolSettings::new(&settings.file);
    if let Some(stage) = settings.take("zero_stage") {
        config.put("zero_optimization.stage", &stage.text, "zero_stage");
        if settings.take("offload").is_some_and(|offload| offload.text == "true") {
            for part in ["offload_optimizer", "offload_param"] {
                config.put(&format!("zero_optimization.{part}.device"), "cpu", "offload");
            }
        }
        return Some(config);
    }
    let stage = named?.text.strip_prefix("zero").filter(|stage| ["0", "1", "2", "3"].contains(stage))?;
    config.put("zero_optimization.stage", stage, &format!("deepspeed {}", named?.text));
    Some(config)
}

/// TRL's configuration of Accelerate by its name, as the setting of DeepSpeed that it amounts to; one of FSDP goes into the
/// settings, and a file stays in them.
pub fn read_profile(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<Setting> {
    let profile = settings.text("accelerate_config")?.to_owned();
    let is_sharded = match profile.as_str() {
        "single_gpu" | "multi_gpu" | "zero1" | "zero2" | "zero3" => false,
        "fsdp1" | "fsdp2" => true,
        _ => return None,
    };
    let setting = settings.take("accelerate_config")?;
    let devices = if profile == "single_gpu" { 1_u32 } else { 8 };
    draft.assume(Field::Devices, devices, format!("{profile} of TRL has as many processes"));
    if is_sharded {
        settings.put("fsdp", "full_shard", "accelerate_config");
    }
    profile.starts_with("zero").then_some(setting)
}
