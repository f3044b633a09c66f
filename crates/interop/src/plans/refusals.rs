//! Configurations that are refused by name, each with what to give instead.

use shardscope_engine::problem::Problem;

use super::settings::ToolSettings;

/// How to go on without the configuration.
const LOG: &str = "give the log of a run, or write the plan with `shardscope --help`'s flags";

/// Keys by which configurations of others are known: all of a row must be there.
const KEYS: [(&str, &[&str]); 10] = [
    ("gpt-neox", &["pipe_parallel_size"]),
    ("gpt-neox", &["model_parallel_size", "num_layers"]),
    ("llm-foundry", &["global_train_batch_size"]),
    ("llm-foundry", &["device_train_microbatch_size"]),
    ("nanotron", &["parallelism.dp", "tokens"]),
    ("NeMo", &["trainer", "exp_manager"]),
    ("LitGPT", &["train.micro_batch_size"]),
    ("verl", &["actor_rollout_ref"]),
    ("TRL's recipes", &["dataset_mixer"]),
    ("Megatron-Bridge", &["model.tensor_model_parallel_size"]),
];

/// What Python files import.
const PYTHON: [(&str, &str); 5] = [
    ("megatron.bridge", "Megatron-Bridge"),
    ("nemo", "NeMo"),
    ("nanotron", "nanotron"),
    ("torchtitan", "torchtitan"),
    ("composer", "llm-foundry"),
];

/// Why a file is refused, if it is one of those.
pub fn foreign(text: &str, settings: &ToolSettings) -> Option<Problem> {
    let keys = KEYS.iter().find(|(_, names)| names.iter().all(|name| settings.has(name)));
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
