//! What words of Megatron-LM's arguments mean, wherever they stand: at the head of a log or in a script.

use shardscope_engine::plan::{Precision, Sharded};

/// Arguments that name a number format, and which; the first that is set counts.
pub(crate) const FORMATS: [(&str, Precision); 6] = [
    ("fp4_format", Precision::Nvfp4),
    ("fp4", Precision::Nvfp4),
    ("fp8_format", Precision::Fp8),
    ("fp8", Precision::Fp8),
    ("bf16", Precision::Bf16),
    ("fp16", Precision::Fp16),
];

/// The argument that says how fp8 is scaled.
pub(crate) const RECIPE: &str = "fp8_recipe";

/// The words of [`RECIPE`] (megatron/core/enums.py, `Fp8Recipe`). Without the argument fp8 is scaled by earlier steps.
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

/// What logs print of the weights' format: `torch.bfloat16`. It follows from the switches, which a log may lack.
pub(crate) const DTYPE: &str = "params_dtype";

/// The format of [`DTYPE`]'s value; none where it is unknown.
pub fn storage(dtype: &str) -> Option<Precision> {
    match dtype {
        "torch.bfloat16" => Some(Precision::Bf16),
        "torch.float16" | "torch.half" => Some(Precision::Fp16),
        "torch.float32" => Some(Precision::Fp32),
        _ => None,
    }
}

/// A word that no version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownWord;

/// Words of Megatron-FSDP, stages of Megatron-DeepSpeed, and what is sharded first with them, if anything.
pub(crate) const SHARDED: [(&str, &str, Option<Sharded>); 4] = [
    ("no_shard", "0", None),
    ("optim", "1", Some(Sharded::Optimizer)),
    ("optim_grads", "2", Some(Sharded::Gradients)),
    ("optim_grads_params", "3", Some(Sharded::Weights)),
];

/// What is sharded first by a word or a stage (`1` or `1.0`), if anything; an error where it is unknown.
pub fn sharded(word: &str) -> Result<Option<Sharded>, UnknownWord> {
    let word = word.trim_end_matches(".0");
    let known = SHARDED.iter().find(|(name, stage, _)| [*name, *stage].contains(&word));
    known.map(|(.., first)| *first).ok_or(UnknownWord)
}

/// What Megatron-DeepSpeed shards first with a stage of ZeRO, if anything; an error where the stage is unknown.
///
/// Without a stage its pipelines in bf16 run `BF16_Optimizer`, which divides the fp32 copies and Adam's state over the data
/// ranks as stage 1 does (`deepspeed/runtime/bf16_optimizer.py`, `fp32_groups_flat_partition`; chosen by
/// `_do_optimizer_sanity_check` of `runtime/engine.py`).
pub(crate) fn sharded_by_deepspeed(stage: &str, pipeline_in_bf16: bool) -> Result<Option<Sharded>, UnknownWord> {
    Ok(sharded(stage)?.or(pipeline_in_bf16.then_some(Sharded::Optimizer)))
}

/// Modules as a plan joins them, of a list of words as the command line, YAML and logs have it: `['moe_act', 'layernorm']`.
pub fn modules_joined(modules: &str) -> String {
    let between = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '"' | '\'');
    modules.split(between).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("+")
}
