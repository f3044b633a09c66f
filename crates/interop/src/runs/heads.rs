//! Reads what torchtitan and Hugging Face's Trainer print of model and plan before their first step.
//!
//! Does not read steps.

use crate::torchtitan::{MODELS, TitanModel};

use super::draft::RowDraft;
use super::lines::{LogLine, after, count};
use shardscope_engine::problem::Problem;

/// Degrees of torchtitan's mesh that have a column.
const DEGREES: [(&str, &str); 3] = [("tp", "tp"), ("pp", "pp"), ("cp", "cp")];

/// Fills a row from torchtitan's last start in the log.
pub fn torchtitan(row: &mut RowDraft, lines: &[LogLine<'_>]) {
    let Some((mesh, at)) = last(lines, mesh) else { return };
    let place = format!("line {at}, device mesh");
    let degree = |name: &str| mesh.iter().find(|(other, _)| other == name).map_or(1, |(_, degree)| *degree);
    let devices = mesh.iter().try_fold(1_u64, |product, (_, degree)| product.checked_mul(*degree));
    if let Some(devices) = devices {
        row.take("num_gpus", devices, &place);
    }
    for (column, name) in DEGREES {
        if degree(name) > 1 {
            row.take(column, degree(name), &place);
        }
    }
    // In 2024 one dimension, `dp`, stood for any kind of data parallelism.
    let applied = |name: &str| lines.iter().any(|line| line.text.contains(&format!("Applied {name} to the model")));
    let shards = if degree("dp") > 1 && applied("FSDP") { degree("dp") } else { degree("dp_shard") };
    match (shards, degree("dp_replicate")) {
        (shard, copies) if shard > 1 && copies > 1 => {
            row.take("strategy_class", "hsdp", &place);
            row.take("strategy", format!("sharded over {shard}"), &place);
        }
        (1, _) => row.take("strategy_class", "ddp", &place),
        _ => row.take("strategy_class", "fsdp", &place),
    }
    for (column, key) in
        [("micro_batch", "local batch size "), ("global_batch", "global batch size "), ("seq_len", "sequence length ")]
    {
        let line = |line: &str| line.contains("local batch size ").then(|| after(line, key).and_then(count)).flatten();
        if let Some((value, at)) = last(lines, line) {
            row.take(column, value, format!("line {at}"));
        }
    }
    match last(lines, |line| {
        after(line, "Applied ")?.split_once(" activation checkpointing").map(|(mode, _)| mode.to_owned())
    }) {
        Some((mode, at)) if ["full", "selective"].contains(&mode.as_str()) => {
            row.take("act_ckpt", mode, format!("line {at}"));
        }
        Some(_) => {}
        None => row.assume("act_ckpt", "none", "no line says that it was applied"),
    }
    match last(lines, |line| (line.contains("Float8") || line.contains("float8")).then_some(())) {
        Some(((), at)) => row.take("precision", "fp8", format!("line {at}")),
        None => row.assume("precision", "bf16", "torchtitan's default; no line says otherwise"),
    }
    if let Some(((), at)) = last(lines, |line| line.contains("torch.compile").then_some(())) {
        row.take("compiled", "yes", format!("line {at}"));
    }
    model(row, lines);
}

/// `Building 2-D device mesh with ['dp_shard', 'tp'], [8, 8]`, or `mesh with parallelism: pp=1, dp_shard=8, ...`.
fn mesh(line: &str) -> Option<Vec<(String, u64)>> {
    let line = &line[line.find("device mesh with ")?..];
    if let Some(named) = after(line, "parallelism:") {
        let pairs = named.split(',').map(|pair| {
            let (name, degree) = pair.trim().split_once('=')?;
            Some((name.to_owned(), count(degree)?))
        });
        return pairs.collect();
    }
    let (names, degrees) = line.split_once('[')?.1.split_once("], [")?;
    let names = names.split(',').map(|name| name.trim().trim_matches(['\'', '"']).to_owned());
    let degrees: Option<Vec<u64>> = degrees.split(']').next()?.split(',').map(|degree| count(degree.trim())).collect();
    Some(names.zip(degrees?).collect())
}

/// `Model llama3 8B size: 8,030,261,248 total parameters`.
fn model(row: &mut RowDraft, lines: &[LogLine<'_>]) {
    let named = |line: &str| Some(after(line, "Model ")?.split_once(" size: ")?.0.to_owned());
    let Some((name, at)) = last(lines, named) else { return };
    let place = format!("line {at}, {name}");
    let is_own = |model: &&TitanModel| format!("{} {}", model.name, model.flavor).eq_ignore_ascii_case(&name);
    let preset = MODELS.iter().find(is_own).map(|model| model.preset);
    let Some(model) = preset.and_then(|id| shardscope_presets::library().model(id).ok()) else {
        row.take("model", &name, &place);
        return sizes(row, lines);
    };
    row.take("model", &model.name, &place);
    for (column, value) in [
        ("layers", model.layers),
        ("hidden", model.hidden),
        ("heads", model.heads),
        ("kv_heads", model.kv_heads),
        ("ffn_hidden", model.ffn_hidden),
        ("vocab", model.vocab),
    ] {
        row.take(column, value, &place);
    }
}

/// `Building llama3 gpt2 with ModelArgs(dim=768, n_layers=12, n_heads=12, n_kv_heads=None, vocab_size=128256, ...)`.
fn sizes(row: &mut RowDraft, lines: &[LogLine<'_>]) {
    let Some((arguments, at)) = last(lines, |line| Some(after(line, "ModelArgs(")?.to_owned())) else { return };
    let place = format!("line {at}, ModelArgs");
    let said = |name: &str| {
        arguments
            .split([',', '(', ')'])
            .find_map(|one| one.trim().strip_prefix(name)?.strip_prefix('='))
            .and_then(count)
    };
    for (column, name) in [
        ("layers", "n_layers"),
        ("hidden", "dim"),
        ("heads", "n_heads"),
        ("kv_heads", "n_kv_heads"),
        ("vocab", "vocab_size"),
    ] {
        if let Some(value) = said(name) {
            row.take(column, value, &place);
        }
    }
    // Two thirds of four times the width, rounded up to a multiple: 4 x 768 x 2 / 3 = 2048.
    if let (Some(hidden), Some(multiple), None) = (said("dim"), said("multiple_of"), said("ffn_dim_multiplier")) {
        row.take("ffn_hidden", (8 * hidden / 3).next_multiple_of(multiple), &place);
    }
}

/// Refuses a run that trains a small part of its weights, which no column states.
pub fn trained(row: &mut RowDraft, lines: &[LogLine<'_>]) -> Result<(), Vec<Problem>> {
    let refusal = |trained: u64, all: f64, at: u32| {
        let what = format!("{trained} of some {all:.3e} parameters are trained: adapters (LoRA), or frozen weights");
        let fix = "say --set method=lora --set lora_rank=R --set target_modules=q_proj+v_proj, or leave the log out";
        vec![Problem::new(format!("line {at}"), what, fix)]
    };
    if row.cells.contains_key("method") {
        return Ok(());
    }
    // PEFT prints `trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.06`.
    let pair = |line: &str| Some((count(after(line, "trainable params:")?)?, count(after(line, "all params:")?)?));
    if let Some(((trained, all), at)) = last(lines, pair)
        && trained < all / 2
    {
        return Err(refusal(trained, all as f64, at));
    }
    let Some((trained, at)) = printed(lines, "Number of trainable parameters") else { return Ok(()) };
    // Layers alone have 12 x layers x hidden^2 parameters, of which FSDP may print one rank's share.
    let layers = row.number("layers").zip(row.number("hidden")).map(|(layers, hidden)| 12.0 * layers * hidden.powi(2));
    let shared = row.number("num_gpus").unwrap_or(1.0);
    match layers {
        Some(all) if (trained as f64) * shared < all / 2.0 => Err(refusal(trained, all, at)),
        Some(_) => Ok(()),
        None => {
            row.note(format!("{trained} trained parameters"), format!("line {at}"));
            Ok(())
        }
    }
}

/// The number in `  Gradient Accumulation steps = 2`, and its line number.
pub fn printed(lines: &[LogLine<'_>], key: &str) -> Option<(u64, u32)> {
    last(lines, |line| count(after(after(line, key)?, "=")?))
}

/// Fills a row from what the Trainer prints at its start.
pub fn trainer(row: &mut RowDraft, lines: &[LogLine<'_>]) {
    let micro = printed(lines, "Instantaneous batch size per device");
    let accumulate = printed(lines, "Gradient Accumulation steps");
    let all = printed(lines, "Total train batch size");
    for (column, found) in [("micro_batch", micro), ("grad_accum", accumulate), ("global_batch", all)] {
        if let Some((value, at)) = found.filter(|_| !row.cells.contains_key(column)) {
            row.take(column, value, format!("line {at}"));
        }
    }
    if let (Some((micro, _)), Some((accumulate, _)), Some((all, at))) = (micro, accumulate, all)
        && !row.cells.contains_key("num_gpus")
        && let Some(each) = micro.checked_mul(accumulate).filter(|each| all.is_multiple_of(*each))
    {
        // Tensor ranks would share a batch, but the Trainer prints nothing of them.
        row.take("num_gpus", all / each, format!("line {at}: the total over batch and accumulation of a device"));
    }
}

/// The value in the last line that has it, and its line number.
fn last<T>(lines: &[LogLine<'_>], read: impl Fn(&str) -> Option<T>) -> Option<(T, u32)> {
    lines.iter().rev().find_map(|LogLine { number, text }| Some((read(text)?, *number)))
}
