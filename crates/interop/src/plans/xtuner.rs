//! XTuner's configurations, Python files for mmengine's runner, converted to the Trainer's settings, with which its
//! model is tuned (`xtuner/model/sft.py` and `xtuner/tools/train.py` of InternLM/xtuner at b934f462). Not those of its
//! `v1`, which compute their values.

use serde_json::Value;

use shardscope_engine::problem::Problem;

use super::programs;
use super::python;
use super::settings::ToolSettings;

/// Names that the runner reads, with the Trainer's names; an empty one has no part in a step. All other names are
/// variables, or concern data, logs and checkpoints.
const NAMES: &[(&str, &str)] = &[
    ("max_length", "max_length"),
    ("sequence_parallel_size", "sequence_parallel_size"),
    ("train_dataloader.batch_size", "per_device_train_batch_size"),
    ("optim_wrapper.accumulative_counts", "gradient_accumulation_steps"),
    ("optim_wrapper.optimizer.type", "optim"),
    ("model.use_activation_checkpointing", "gradient_checkpointing"),
    ("model.use_varlen_attn", "padding_free"),
    ("model.tokenizer", ""),
    ("model.max_position_embeddings", ""),
    ("model.llm.type", ""),
    ("model.llm.trust_remote_code", ""),
    ("model.llm.pretrained_model_name_or_path", "model_name_or_path"),
    ("model.llm.torch_dtype", "torch_dtype"),
    ("model.llm.attn_implementation", "attn_implementation"),
    ("model.llm.load_in_4bit", "load_in_4bit"),
    ("model.llm.load_in_8bit", "load_in_8bit"),
    ("model.llm.quantization_config.type", ""),
    ("model.llm.quantization_config.llm_int8_threshold", ""),
    ("model.llm.quantization_config.llm_int8_has_fp16_weight", ""),
    ("model.llm.quantization_config.load_in_4bit", "load_in_4bit"),
    ("model.llm.quantization_config.load_in_8bit", "load_in_8bit"),
    ("model.llm.quantization_config.bnb_4bit_quant_type", "bnb_4bit_quant_type"),
    ("model.llm.quantization_config.bnb_4bit_use_double_quant", "bnb_4bit_use_double_quant"),
    ("model.llm.quantization_config.bnb_4bit_compute_dtype", "bnb_4bit_compute_dtype"),
    ("model.lora.type", ""),
    ("model.lora.r", "lora_r"),
    ("model.lora.target_modules", "lora_target_modules"),
    ("model.lora.lora_alpha", "lora_alpha"),
    ("model.lora.lora_dropout", "lora_dropout"),
    ("model.lora.bias", "lora_bias"),
    ("model.lora.task_type", "lora_task_type"),
];

/// Classes of XTuner's optimizers, with the Trainer's words.
const OPTIMIZERS: [(&str, &str); 5] = [
    ("AdamW", "adamw_torch"),
    ("AdamW8bit", "adamw_8bit"),
    ("PagedAdamW", "paged_adamw_32bit"),
    ("PagedAdamW32bit", "paged_adamw_32bit"),
    ("PagedAdamW8bit", "paged_adamw_8bit"),
];

/// The settings of a file, if it is XTuner's.
pub(super) fn of_file(name: &str, text: &str) -> Option<Result<ToolSettings, Problem>> {
    if !text.lines().any(|line| line.starts_with("from xtuner") || line.starts_with("import xtuner")) {
        return None;
    }
    let values = python::assigned(text);
    if !["model", "train_dataloader", "optim_wrapper"].iter().all(|section| values.contains_key(*section)) {
        return None;
    }
    let mut said = ToolSettings::from_object(name, &Value::Object(values));
    let model = said.take("model.type");
    if let Some(other) = model.filter(|model| model.text != "SupervisedFinetune") {
        let what = format!("'{}' is another training than SupervisedFinetune, which is read", other.text);
        return Some(Err(Problem::new(
            other.place,
            what,
            "say the plan by flags; `shardscope eval --help` has --method",
        )));
    }
    if said.has("strategy") {
        let what = "strategy says how the state is sharded in classes of mmengine";
        return Some(Err(Problem::new(name, what, "start it with --deepspeed, and give the script that does")));
    }
    let mut settings = in_the_trainers_words(said);
    programs::note_program(&mut settings, "xtuner train");
    Some(Ok(settings))
}

/// Converts the options of a command with a file. With DeepSpeed, XTuner computes in bf16 if the devices have it,
/// whatever the file says (`auto_dtype_of_deepspeed_config`).
pub(super) fn of_command(mut settings: ToolSettings) -> ToolSettings {
    if let Some(deepspeed) = settings.take("deepspeed") {
        // XTuner's own files have this prefix.
        let named = deepspeed.text.strip_prefix("deepspeed_").unwrap_or(&deepspeed.text).to_owned();
        settings.put("deepspeed", &named, "--deepspeed");
        settings.put("bf16", "true", "--deepspeed");
    }
    let Some(options) = settings.take("cfg_options") else { return settings };
    let mut said = ToolSettings::new(&settings.file);
    for (name, value) in options.text.split_whitespace().filter_map(|option| option.split_once('=')) {
        said.put(name, value, &format!("--cfg-options {name}"));
    }
    settings.fall_back(in_the_trainers_words(said));
    settings
}

/// The settings that the runner reads, under the Trainer's names.
fn in_the_trainers_words(mut said: ToolSettings) -> ToolSettings {
    let mut settings = ToolSettings::new(&said.file);
    for (own, name) in NAMES {
        let Some(setting) = said.take(own).filter(|_| !name.is_empty()) else { continue };
        let class = setting.text.rsplit('.').next().unwrap_or_default();
        let text = match *name {
            "optim" => OPTIMIZERS.iter().find(|(theirs, _)| *theirs == class).map_or(class, |(_, word)| word),
            "torch_dtype" | "bnb_4bit_compute_dtype" => class,
            _ => &setting.text,
        };
        settings.put(name, text, own);
    }
    said.take_all("model.tokenizer.*");
    // Automatic mixed precision, unless DeepSpeed runs; its default format is PyTorch's, fp16.
    let mixes = said.text("optim_wrapper.type").is_some_and(|class| class.ends_with("AmpOptimWrapper"));
    if mixes && !said.has("optim_wrapper.dtype") {
        settings.put("fp16", "true", "optim_wrapper.type");
    }
    match said.take("optim_wrapper.dtype").as_ref().map(|dtype| dtype.text.as_str()) {
        Some("float16") => settings.put("fp16", "true", "optim_wrapper.dtype"),
        Some("bfloat16") => settings.put("bf16", "true", "optim_wrapper.dtype"),
        _ => {}
    }
    // Other settings of a model are unknown.
    let others = said.take_inside("model").renamed(|name| format!("model.{name}"));
    settings.fall_back(others);
    settings
}
