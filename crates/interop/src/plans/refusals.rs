//! Configurations that are refused by tool, each with what to give instead.

use shardscope_engine::problem::Problem;

use super::settings::ToolSettings;

/// The fix for a refused configuration.
const LOG: &str = "give the log of a run, or write the plan with `shardscope --help`'s flags";

/// Keys that identify other tools' configurations: all keys of a row must be present.
const KEYS: [(&str, &[&str]); 14] = [
    ("gpt-neox", &["pipe_parallel_size"]),
    ("gpt-neox", &["model_parallel_size", "num_layers"]),
    ("llm-foundry", &["global_train_batch_size"]),
    ("llm-foundry", &["device_train_microbatch_size"]),
    ("nanotron", &["parallelism.dp", "tokens"]),
    ("NeMo", &["trainer", "exp_manager"]),
    ("Megatron-Bridge", &["train.train_iters"]),
    ("LitGPT", &["train.micro_batch_size"]),
    ("TRL's recipes", &["dataset_mixer"]),
    ("Megatron-Bridge", &["model.tensor_model_parallel_size"]),
    ("MaxText", &["base_config"]),
    ("MaxText", &["per_device_batch_size", "ici_fsdp_parallelism"]),
    ("MaxText", &["base_emb_dim"]),
    ("verl", &["data.train_files", "trainer.n_gpus_per_node"]),
];

/// Modules that other tools' Python files import.
const PYTHON: [(&str, &str); 6] = [
    ("megatron.bridge", "Megatron-Bridge"),
    ("nemo", "NeMo"),
    ("nanotron", "nanotron"),
    ("torchtitan", "torchtitan"),
    ("composer", "llm-foundry"),
    ("xtuner", "XTuner v1"),
];

/// The reason why a file is refused, if it belongs to one of these tools.
pub fn foreign(text: &str, settings: &ToolSettings) -> Option<Problem> {
    // verl's files are read for training on generated answers, not for SFT.
    let read = settings.has("actor_rollout_ref");
    let known =
        |(tool, names): &&(&str, &[&str])| !(read && *tool == "verl") && names.iter().all(|name| settings.has(name));
    let keys = KEYS.iter().find(known);
    if let Some((tool, names)) = keys {
        return Some(refusal(format!("is a configuration of {tool} ({}), which is not read", names.join(", "))));
    }
    let python = text.lines().find_map(|line| {
        let module = line.trim_start().strip_prefix("import ").or_else(|| line.trim_start().strip_prefix("from "))?;
        PYTHON.iter().find(|(name, _)| module.starts_with(name)).map(|(_, tool)| *tool)
    })?;
    Some(refusal(format!("is a Python file of {python}, and what it computes is not known")))
}

fn refusal(what: String) -> Problem {
    Problem::new("", what, LOG)
}
