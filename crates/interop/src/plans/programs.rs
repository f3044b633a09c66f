//! Programs that run a tool with their own defaults: LLaMA-Factory, ms-swift, TRL and others.
//!
//! Each tool's module interprets its settings; [`super::adapters`] reads those of adapters.

mod list;

use std::path::Path;

use shardscope_engine::plan::Precision;
use shardscope_engine::scenario::Field;

use super::draft::PlanDraft;
use super::post_training::{self, STAGE};
use super::settings::{Setting, ToolSettings};
use super::table;
use super::target::PlanTarget;
use super::words::{CONFIG, is_python, position};

use list::{OTHER_STAGE_WORDS, OTHER_STAGES, PROGRAMS, QUERIES_AND_VALUES, TRAINED_WORDS, UNTRAINED_WORDS};

pub(super) use list::{KnownProgram, MEGATRON, MasterWeightRule, OTHER, TORCHTUNE, TRAINER};

/// Internal setting: the word that tells that a program does not train. No tool's settings have a space.
const UNTRAINED: &str = "started to";

/// Megatron-LM's degrees; a Trainer's file that has them runs on Megatron-LM.
const DEGREES: [&str; 3] = ["tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"];

/// The program whose files have both tools' settings.
const ON_MEGATRON: &str = "LLaMA-Factory on Megatron";

/// Internal setting: the words by which a script starts a program. No tool's settings have a space.
const STARTED: &str = "started by";

/// The program that a command starts, the words that start it, and the index after them.
pub fn start(words: &[String]) -> Option<(&'static KnownProgram, String, usize)> {
    PROGRAMS.iter().find_map(|program| {
        let found = program.commands.iter().find_map(|command| Some((command.join(" "), position(words, command)?)));
        found.map(|(command, at)| (program, command, at))
    })
}

/// The words that start a stage other than plain training, and the index after them.
pub fn other_stage(words: &[String]) -> Option<(PlanTarget, String, usize)> {
    let at = words.windows(2).position(|pair| {
        OTHER_STAGES.iter().any(|(program, stages)| pair[0] == *program && stages.contains(&pair[1].as_str()))
    })?;
    let tool = if words[at] == "megatron" { PlanTarget::MEGATRON } else { PlanTarget::TRAINER };
    Some((tool, words[at..at + 2].join(" "), at + 2))
}

/// The program that a Python module starts.
pub fn start_of_module(module: &str, at: usize) -> Option<(PlanTarget, String, usize)> {
    (module == "axolotl.cli.train").then(|| (PlanTarget::TRAINER, "axolotl train".to_owned(), at))
}

/// A program by its name, or by the words that start it.
fn called(name: &str) -> Option<&'static KnownProgram> {
    let is_called = |program: &&KnownProgram| {
        program.name == name || program.commands.iter().any(|command| name.split(' ').eq(command.iter().copied()))
    };
    PROGRAMS.iter().find(is_called)
}

/// True if a program takes only `name=value` after its file: LLaMA-Factory passes those words to `OmegaConf`
/// (`read_args` of its `hparams/parser.py`).
pub fn assigns(program: &str) -> bool {
    program == "llamafactory-cli train"
}

/// Notes the program that is started, and its stage.
pub fn note_start(settings: &mut ToolSettings, program: &str, words: &[String]) {
    if let Some((_, stage, _)) = other_stage(words) {
        settings.put(STAGE, stage.rsplit(' ').next().unwrap_or_default(), &stage);
    } else if let Some(word) = word_of(program, OTHER_STAGE_WORDS) {
        settings.put(STAGE, &word, program);
    } else if let Some(word) = word_of(program, UNTRAINED_WORDS).filter(|_| word_of(program, TRAINED_WORDS).is_none()) {
        settings.put(UNTRAINED, &word, program);
    }
    if called(program).is_some() {
        note_program(settings, program);
    }
}

/// The first part of a Python file's or module's name that is one of some words.
fn word_of(program: &str, words: &[&str]) -> Option<String> {
    let is_module = program.contains('.') && program.chars().all(|it| it.is_ascii_alphanumeric() || "._".contains(it));
    let stem = match Path::new(program).file_stem() {
        Some(stem) if is_python(program) => stem.to_str()?,
        _ if is_module && Path::new(program).extension().is_none_or(|end| end != "sh") => program,
        _ => return None,
    };
    let stem = stem.to_ascii_lowercase();
    stem.split(['_', '-', '.']).find(|part| words.contains(part)).map(str::to_owned)
}

/// Notes the program that is started.
pub fn note_program(settings: &mut ToolSettings, program: &str) {
    settings.put(STARTED, program, program);
}

/// True if a Trainer's file also has Megatron-LM's degrees, as in LLaMA-Factory on Megatron.
pub fn has_degrees(settings: &mut ToolSettings) -> bool {
    let has = DEGREES.iter().any(|degree| settings.has(degree));
    if has {
        note_program(settings, ON_MEGATRON);
    }
    has
}

/// True if a file is Megatron-SWIFT's, which has Megatron-LM's settings of the batch and ms-swift's of adapters.
pub fn is_megatron_swift(settings: &mut ToolSettings) -> bool {
    let is_swift = ["tuner_type", "train_type", "rlhf_type"].iter().any(|name| settings.has(name));
    let is_megatron = DEGREES.iter().chain(&["micro_batch_size"]).any(|name| settings.has(name));
    let found = is_swift && is_megatron && !settings.has("per_device_train_batch_size");
    if found {
        note_program(settings, "megatron sft");
    }
    found
}

/// True if a file is of LLaMA-Factory on Megatron, which its script does not tell.
pub fn is_on_megatron(settings: &ToolSettings) -> bool {
    settings.text(STARTED) == Some(ON_MEGATRON)
}

/// Drops the reference to a settings file that was given.
pub fn take_file(settings: &mut ToolSettings) {
    settings.take(CONFIG);
}

/// Refuses a reference to a settings file that was not given.
pub fn refuse_file(settings: &mut ToolSettings, fix: &str, draft: &mut PlanDraft) {
    settings.take(STARTED);
    if let Some(file) = settings.take(CONFIG) {
        draft.cannot(&file, "is a file that says more of the plan", fix);
    }
}

/// True if the settings are of a script that starts a program with a file.
pub fn names_file(settings: &ToolSettings) -> bool {
    settings.has(STARTED) && settings.has(CONFIG)
}

/// The program that a script starts, if the settings are a script's.
pub fn started(settings: &ToolSettings) -> Option<&str> {
    settings.text(STARTED)
}

/// True if a script starts this program.
pub fn is_started(settings: &ToolSettings, name: &str) -> bool {
    started(settings).is_some_and(|started| started.starts_with(name))
}

/// Finds the program whose arguments these are, else `usual`; renames its settings and assumes its defaults.
pub fn take_defaults(
    settings: &mut ToolSettings,
    usual: &'static KnownProgram,
    draft: &mut PlanDraft,
) -> &'static KnownProgram {
    let started = settings.take(STARTED);
    let has_key =
        |program: &&KnownProgram| program.tool == usual.tool && program.keys.iter().any(|key| settings.has(key));
    let known = started.and_then(|started| called(&started.text)).filter(|program| program.tool == usual.tool);
    let program = known.or_else(|| PROGRAMS.iter().find(has_key)).unwrap_or(usual);
    for (own, name) in program.names {
        settings.call(own, name);
    }
    post_training::read(program.name, settings, draft);
    let is_on = |name: &str| settings.text(name).is_some_and(|text| table::switched(text) == "true");
    if is_on("do_predict") && !is_on("do_train") {
        settings.call("do_predict", UNTRAINED);
    }
    if let Some(untrained) = settings.take(UNTRAINED) {
        draft.cannot(
            &untrained,
            "is what the program does by its name, and no training",
            "give the command that trains",
        );
    }
    // Settings of expert ranks apply only to models with experts.
    let of_experts = settings.rest().any(|(name, _)| name.starts_with("expert") || name.starts_with("moe_"));
    for (name, value) in program.settings {
        if !settings.has(name) && (of_experts || !name.starts_with("expert")) {
            settings.put(name, value, &program.default());
        }
    }
    program.assume_defaults(draft);
    program
}

impl KnownProgram {
    /// The source of the program's defaults, for reports.
    pub fn default(&self) -> String {
        format!("{}'s default", self.name)
    }

    /// Assumes the program's defaults for fields.
    pub fn assume_defaults(&self, draft: &mut PlanDraft) {
        for (field, value) in self.defaults {
            draft.assume(*field, value.clone(), self.default());
        }
    }

    /// Sets the format of products from the weights', if the program computes in it.
    pub fn read_format(&self, weights: Option<&Setting>, draft: &mut PlanDraft) {
        if let Some(weights) = weights.filter(|_| self.computes_as_stored) {
            let halves = ["bf16", "bfloat16"].contains(&weights.text.as_str());
            draft.take(Field::Precision, if halves { Precision::Bf16 } else { Precision::Fp16 }, &weights.place);
        }
    }

    /// Assumes the program's defaults for adapters.
    pub fn assume_adapters(&self, draft: &mut PlanDraft) {
        let (rank, targets) = self.adapters;
        draft.assume(Field::LoraRank, rank, self.default());
        let whose = if targets == QUERIES_AND_VALUES { "PEFT's default of Llama".to_owned() } else { self.default() };
        draft.assume(Field::LoraTargets, targets, whose);
        if self.dropout > 0.0 {
            draft.assume(Field::LoraDropout, self.dropout, self.default());
        }
    }

    /// Assumes enough micro-batches for the fewest sequences of a step.
    pub fn assume_micro_batches(&self, draft: &mut PlanDraft) {
        if let (Some(fewest), Some(devices)) = (self.fewest_sequences, draft.devices()) {
            let at_once = draft.ranks(Field::MicroBatch).saturating_mul(devices).max(1);
            let why = format!("{}, at least {fewest} sequences a step", self.default());
            draft.assume(Field::Accumulate, fewest.div_ceil(at_once), why);
        }
    }
}

/// The sequence of `qlora.py`: source and target, each cut to its own length.
pub fn read_two_lengths(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [source, target] = ["source_max_len", "target_max_len"].map(|name| settings.take(name));
    let Some(place) = source.as_ref().or(target.as_ref()).map(|either| either.place.clone()) else { return };
    let length = |said: Option<Setting>, default: u32| said.map_or(Some(default), |said| said.text.parse().ok());
    match length(source, 1024).zip(length(target, 256)).and_then(|(source, target)| source.checked_add(target)) {
        Some(both) => draft.take(Field::Sequence, both, &format!("{place} + target_max_len")),
        None => draft.refuse(&place, "the two lengths are no numbers of tokens", Field::Sequence),
    }
}

/// A program's built-in DeepSpeed configuration, by its name (`zero2`) or by the program's arguments.
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
    let stage = named?.text.strip_prefix("zero")?;
    let place = format!("deepspeed {}", named?.text);
    let (stage, offloads) = stage.strip_suffix("_offload").map_or((stage, false), |stage| (stage, true));
    if !["0", "1", "2", "3"].contains(&stage) {
        return None;
    }
    config.put("zero_optimization.stage", stage, &place);
    // swift/config/zero2_offload.json and zero3_offload.json of modelscope/ms-swift 4.
    for part in ["offload_optimizer", "offload_param"].into_iter().take(if stage == "3" { 2 } else { 1 }) {
        if offloads {
            config.put(&format!("zero_optimization.{part}.device"), "cpu", &place);
            config.put(&format!("zero_optimization.{part}.pin_memory"), "true", &place);
        }
    }
    Some(config)
}

/// TRL's named configurations of Accelerate. Returns the setting if it stands for one of DeepSpeed; FSDP's goes into
/// the settings, and a file's name stays there.
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
