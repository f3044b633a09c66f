//! Model and plan from the arguments that Megatron-LM and its forks of `BigScience`, LUMI and Microsoft print.
//!
//! Does not read steps.

use crate::megatron::{
    DTYPE, FORMATS, RECIPE, UnknownWord, modules_joined, recipe, sharded, sharded_by_deepspeed, storage,
};
use shardscope_engine::plan::{Precision, Sharded};
use shardscope_engine::problem::Problem;

use super::arguments::Arguments;
use super::draft::RowDraft;

/// Columns that take an argument's value unchanged; the first argument that is set counts.
const SAME: [(&str, &[&str]); 11] = [
    ("num_gpus", &["world_size"]),
    ("layers", &["num_layers", "encoder_num_layers"]),
    ("hidden", &["hidden_size"]),
    ("heads", &["num_attention_heads"]),
    ("ffn_hidden", &["ffn_hidden_size"]),
    ("vocab", &["padded_vocab_size"]),
    ("seq_len", &["seq_length"]),
    ("micro_batch", &["micro_batch_size"]),
    ("tp", &["tensor_model_parallel_size", "model_parallel_size"]),
    ("pp", &["pipeline_model_parallel_size"]),
    ("cp", &["context_parallel_size"]),
];

/// Arguments that change size, time or memory in a way that no row can state.
const UNSAYABLE: [&str; 16] = [
    "num_experts",
    "multi_latent_attention",
    "mtp_num_layers",
    "window_size",
    "hybrid_override_pattern",
    "hybrid_attention_ratio",
    "ds_sequence_parallel_size",
    "cpu_optimizer",
    "optimizer_cpu_offload",
    "cpu_offloading",
    "checkpoint_in_cpu",
    "partition_activations",
    "distribute_checkpointed_activations",
    "distribute_saved_activations",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
];

const BY_HAND: &str = "leave the log out, or write its row by hand: `shardscope validate --template` prints one";

/// Fills a row from the arguments, or lists those that no row can state.
pub fn fill(row: &mut RowDraft, arguments: &Arguments<'_>) -> Result<(), Vec<Problem>> {
    let errors = arguments_without_column(arguments);
    if !errors.is_empty() {
        return Err(errors);
    }
    for (column, names) in SAME {
        if let Some(name) = names.iter().find(|name| arguments.count(name).is_some()) {
            let (value, line) = arguments.get(name).unwrap_or_default();
            row.take(column, value, place(name, line));
        }
    }
    model(row, arguments);
    precision(row, arguments);
    recompute(row, arguments);
    sharding(row, arguments)?;
    pipeline(row, arguments);
    Ok(())
}

fn place(name: &str, line: usize) -> String {
    format!("line {line}, {name}")
}

fn refusal(arguments: &Arguments<'_>, name: &str) -> Problem {
    let (value, line) = arguments.get(name).unwrap_or_default();
    Problem::new(place(name, line), format!("'{value}' has no column in a table of measured runs"), BY_HAND)
}

fn arguments_without_column(arguments: &Arguments<'_>) -> Vec<Problem> {
    let mut errors: Vec<Problem> =
        UNSAYABLE.into_iter().filter(|name| arguments.is_set(name)).map(|name| refusal(arguments, name)).collect();
    let heads = arguments.count("num_attention_heads").zip(arguments.count("hidden_size"));
    if let (Some((heads, hidden)), Some(size)) = (heads, arguments.count("kv_channels"))
        && heads.checked_mul(size) != Some(hidden)
    {
        errors.push(refusal(arguments, "kv_channels"));
    }
    // Each chunk of several layers keeps one input, which takes less memory than any row can state.
    let uniform = arguments.text("recompute_method") != "block";
    for (count, on) in [
        ("recompute_num_layers", uniform && arguments.text("recompute_granularity") == "full"),
        ("checkpoint_num_layers", uniform && arguments.is_on("checkpoint_activations")),
    ] {
        if on && arguments.count(count).is_some_and(|layers| layers > 1) {
            errors.push(refusal(arguments, count));
        }
    }
    errors
}

fn model(row: &mut RowDraft, arguments: &Arguments<'_>) {
    if arguments.is_on("group_query_attention")
        && let Some((groups, line)) = arguments.get("num_query_groups")
    {
        row.take("kv_heads", groups, place("num_query_groups", line));
    }
    let gate = ["swiglu", "glu_activation"].into_iter().find(|name| arguments.is_set(name));
    let kind = if gate.is_some() { "llama" } else { "GPT" };
    row.take("model", format!("{kind} of the log"), format!("{} of the arguments", gate.unwrap_or("no swiglu")));
    if arguments.text("use_flash_attn") == "False" {
        row.take("attn", "fused softmax", "use_flash_attn of the arguments");
    }
    for name in ["normalization", "position_embedding_type", "untie_embeddings_and_output_weights"] {
        if let Some((value, _)) = arguments.get(name) {
            row.report.ignore(name, format!("'{value}': a row's model is told by its family, llama or GPT"));
        }
    }
}

fn precision(row: &mut RowDraft, arguments: &Arguments<'_>) {
    let set = FORMATS.into_iter().find(|(name, _)| arguments.is_set(name));
    if let Some((name, format)) = set {
        let scaled = recipe(arguments.text(RECIPE)).filter(|_| format == Precision::Fp8);
        if let Some(precision) = scaled {
            return row.take("precision", precision, place(RECIPE, arguments.get(RECIPE).unwrap_or_default().1));
        }
        row.take("precision", format, place(name, arguments.get(name).unwrap_or_default().1));
    } else if let Some(format) = storage(arguments.text(DTYPE)) {
        row.take("precision", format, place(DTYPE, arguments.get(DTYPE).unwrap_or_default().1));
    } else if arguments.get("bf16").is_some() && arguments.get("fp16").is_some() {
        row.take("precision", Precision::Fp32, "neither bf16 nor fp16 of the arguments");
    }
}

fn recompute(row: &mut RowDraft, arguments: &Arguments<'_>) {
    let stages = arguments.count("pipeline_model_parallel_size").unwrap_or(1).saturating_mul(virtual_stages(arguments));
    let block =
        arguments.text("recompute_method") == "block" || arguments.text("activations_checkpoint_method") == "block";
    let each = arguments.count("recompute_num_layers").filter(|_| block);
    let full = arguments.text("recompute_granularity") == "full" || arguments.is_on("checkpoint_activations");
    let (value, from) = match (arguments.text("recompute_granularity"), each, arguments.count("num_layers")) {
        ("selective", ..) => ("selective".to_owned(), "recompute_granularity"),
        // This many layers of each stage.
        (_, Some(each), Some(layers)) if full => {
            (format!("{} of {layers} layers", each.saturating_mul(stages).min(layers)), "recompute_num_layers")
        }
        _ if full => ("full".to_owned(), "recompute_granularity or checkpoint_activations"),
        _ => ("none".to_owned(), "neither recompute_granularity nor checkpoint_activations"),
    };
    if value == "selective" && arguments.get("recompute_modules").is_some() {
        let modules = modules_joined(arguments.text("recompute_modules"));
        row.take("recompute_modules", modules, "recompute_modules of the arguments");
    }
    row.take("act_ckpt", value, format!("{from} of the arguments"));
}

/// Reads the sharding: DeepSpeed's stages, FSDP, or Megatron-LM's distributed optimizer.
fn sharding(row: &mut RowDraft, arguments: &Arguments<'_>) -> Result<(), Vec<Problem>> {
    let class = |first, name: &'static str| match first {
        Ok(None) => Ok(("ddp", name)),
        Ok(Some(Sharded::Optimizer)) => Ok(("zero1", name)),
        Ok(Some(Sharded::Gradients)) => Ok(("zero2", name)),
        Ok(Some(Sharded::Weights)) => Ok(("zero3", name)),
        Err(UnknownWord) => Err(vec![refusal(arguments, name)]),
    };
    let by_word = |name| class(sharded(arguments.text(name)), name);
    let strategy = "data_parallel_sharding_strategy";
    let (strategy_class, name) = if arguments.is_on("use_torch_fsdp2") {
        ("fsdp", "use_torch_fsdp2")
    } else if let Some(own) = ["use_megatron_fsdp", "use_custom_fsdp"].into_iter().find(|name| arguments.is_on(name)) {
        if arguments.text(strategy).is_empty() { ("ddp", own) } else { by_word(strategy)? }
    } else if arguments.is_on("deepspeed") && arguments.get("zero_stage").is_some() {
        let bf16 = arguments.is_set("bf16") || storage(arguments.text(DTYPE)) == Some(Precision::Bf16);
        let pipeline_in_bf16 = bf16 && !arguments.is_on("no_pipeline_parallel");
        class(sharded_by_deepspeed(arguments.text("zero_stage"), pipeline_in_bf16), "zero_stage")?
    } else if arguments.is_on("use_distributed_optimizer") {
        ("zero1", "use_distributed_optimizer")
    } else {
        ("ddp", "no use_distributed_optimizer")
    };
    row.take("strategy_class", strategy_class, format!("{name} of the arguments"));
    let copies = arguments.count("num_distributed_optimizer_instances").filter(|copies| *copies > 1);
    if let (Some(copies), Some(ranks)) = (copies, arguments.count("data_parallel_size")) {
        let from = "data_parallel_size over num_distributed_optimizer_instances";
        row.take("strategy", format!("sharded over {}", (ranks / copies).max(1)), from);
    }
    Ok(())
}

fn virtual_stages(arguments: &Arguments<'_>) -> u64 {
    arguments.count("virtual_pipeline_model_parallel_size").unwrap_or(1)
}

fn pipeline(row: &mut RowDraft, arguments: &Arguments<'_>) {
    if arguments.count("pipeline_model_parallel_size").is_some_and(|stages| stages > 1) {
        row.note(format!("VP={}", virtual_stages(arguments)), "virtual_pipeline_model_parallel_size of the arguments");
    }
    if arguments.count("tensor_model_parallel_size").is_some_and(|ranks| ranks > 1) {
        let on = if arguments.is_on("sequence_parallel") { "yes" } else { "no" };
        row.note(format!("sequence parallel={on}"), "sequence_parallel of the arguments; builds before it have none");
    }
}
