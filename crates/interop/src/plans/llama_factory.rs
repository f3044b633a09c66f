//! Files of LLaMA-Factory's `v1`, which group in sections what older files have side by side
//! (`src/llamafactory/v1/config` of hiyouga/LLaMA-Factory at ff6d4d12). Does not interpret the settings.

use super::programs;
use super::settings::ToolSettings;

/// The name in reports, and in the table of programs.
const NAME: &str = "LLaMA-Factory v1";

/// Names in `v1`, and in older files or the Trainer's.
const NAMES: &[(&str, &str)] = &[
    ("model", "model_name_or_path"),
    ("micro_batch_size", "per_device_train_batch_size"),
    ("enable_activation_checkpointing", "gradient_checkpointing"),
    ("cp_size", "sequence_parallel_size"),
    ("mp_replicate_size", "dp_replicate_size"),
    ("mp_shard_size", "dp_shard_size"),
    ("dist_config.config_file", "deepspeed"),
    ("peft_config.name", "finetuning_type"),
    ("peft_config.r", "lora_rank"),
    ("peft_config.lora_alpha", "lora_alpha"),
    ("peft_config.lora_dropout", "lora_dropout"),
    ("peft_config.target_modules", "lora_target"),
    ("quant_config.quantization_bit", "quantization_bit"),
];

/// Settings of data, files and sample answers, or implied by other settings.
const BESIDE: [&str; 9] = [
    "model_class",
    "quant_config.name",
    "dist_config.dcp_path",
    "batching_strategy",
    "batching_workers",
    "sample_backend",
    "max_new_tokens",
    "dist_timeout",
    "lr_scheduler_config*",
];

/// True if a file is of `v1`.
pub(super) fn is_of(settings: &ToolSettings) -> bool {
    settings.has("model_class")
        && ["dist_config", "peft_config", "micro_batch_size"].iter().any(|name| settings.has(name))
}

/// The file's settings, under the older names.
pub(super) fn of_file(mut settings: ToolSettings) -> ToolSettings {
    for (own, name) in NAMES {
        settings.call(own, name);
    }
    for name in BESIDE {
        settings.take_all(name);
    }
    let is = |settings: &ToolSettings, name: &str, text: &str| settings.text(name) == Some(text);
    if is(&settings, "dist_config.name", "fsdp2") {
        settings.call("dist_config.name", "fsdp");
    } else if is(&settings, "dist_config.name", "deepspeed") {
        settings.take("dist_config.name");
    }
    if is(&settings, "cp_mode", "ulysses") {
        settings.take("cp_mode");
    }
    if is(&settings, "kernel_config.name", "liger_kernel") {
        settings.take("kernel_config.name");
        settings.put("use_liger_kernel", "true", "kernel_config.name");
    }
    if is(&settings, "optim_config.name", "muon") {
        settings.take("optim_config.name");
        settings.put("use_muon", "true", "optim_config.name");
    }
    programs::note_program(&mut settings, NAME);
    settings
}
