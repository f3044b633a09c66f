//! Meanings of Megatron-LM's arguments, in the head of a log or in a script.

use shardscope_engine::plan::{Precision, Sharded};

/// Arguments that select a number format, and the format; the first one set counts.
pub(crate) const FORMATS: [(&str, Precision); 6] = [
    ("fp4_format", Precision::Nvfp4),
    ("fp4", Precision::Nvfp4),
    ("fp8_format", Precision::Fp8),
    ("fp8", Precision::Fp8),
    ("bf16", Precision::Bf16),
    ("fp16", Precision::Fp16),
];

/// The argument for fp8's scaling recipe.
pub(crate) const RECIPE: &str = "fp8_recipe";

/// Values of [`RECIPE`] (megatron/core/enums.py, `Fp8Recipe`). The default is delayed scaling.
pub(crate) const RECIPES: [(&str, Precision); 4] = [
    ("delayed", Precision::Fp8Delayed),
    ("tensorwise", Precision::Fp8Current),
    ("blockwise", Precision::Fp8Block),
    ("mxfp8", Precision::Mxfp8),
];

/// The precision that a word of [`RECIPE`] names.
pub(crate) fn recipe(word: &str) -> Option<Precision> {
    RECIPES.iter().find(|(name, _)| *name == word).map(|(_, precision)| *precision)
}

/// The weights' format in logs, like `torch.bfloat16`. It follows from the switches, which a log may lack.
pub(crate) const DTYPE: &str = "params_dtype";

/// The format of [`DTYPE`]'s value; `None` if unknown.
pub fn storage(dtype: &str) -> Option<Precision> {
    match dtype {
        "torch.bfloat16" => Some(Precision::Bf16),
        "torch.float16" | "torch.half" => Some(Precision::Fp16),
        "torch.float32" => Some(Precision::Fp32),
        _ => None,
    }
}

/// A value that no version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownWord;

/// Values of Megatron-FSDP, ZeRO stages of Megatron-DeepSpeed, and the first sharded part of the state.
pub(crate) const SHARDED: [(&str, &str, Option<Sharded>); 4] = [
    ("no_shard", "0", None),
    ("optim", "1", Some(Sharded::Optimizer)),
    ("optim_grads", "2", Some(Sharded::Gradients)),
    ("optim_grads_params", "3", Some(Sharded::Weights)),
];

/// The first sharded part for a value or a stage (`1` or `1.0`), if any; an error if it is unknown.
pub fn sharded(word: &str) -> Result<Option<Sharded>, UnknownWord> {
    let word = word.trim_end_matches(".0");
    let known = SHARDED.iter().find(|(name, stage, _)| [*name, *stage].contains(&word));
    known.map(|(.., first)| *first).ok_or(UnknownWord)
}

/// The first sharded part for a ZeRO stage of Megatron-DeepSpeed, if any; an error if it is unknown.
///
/// Without a stage, pipelines in bf16 run `BF16_Optimizer`, which shards the fp32 copies and Adam's state over the data
/// ranks as stage 1 does (`deepspeed/runtime/bf16_optimizer.py`, `fp32_groups_flat_partition`; chosen by
/// `_do_optimizer_sanity_check` of `runtime/engine.py`).
pub(crate) fn sharded_by_deepspeed(stage: &str, pipeline_in_bf16: bool) -> Result<Option<Sharded>, UnknownWord> {
    Ok(sharded(stage)?.or(pipeline_in_bf16.then_some(Sharded::Optimizer)))
}

/// Joins a list of modules with `+` as a plan does; command line, YAML and logs write `['moe_act', 'layernorm']`.
pub fn modules_joined(modules: &str) -> String {
    let between = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '"' | '\'');
    modules.split(between).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("+")
}
