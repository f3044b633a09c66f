//! What torchtitan and Hugging Face's Trainer print of model and plan before their first step.
//!
//! Not for the steps of the run.

use super::draft::RowDraft;
use super::lines::{LogLine, after, count};

/// Models that torchtitan names in its log, beside the presets of the same shape.
const MODELS: [(&str, &str); 6] = [
    ("llama3 8B", "llama-3.1-8b"),
    ("llama3 70B", "llama-3.1-70b"),
    ("llama3 405B", "llama-3.1-405b"),
    ("llama2 7B", "llama-2-7b"),
    ("llama2 13B", "llama-2-13b"),
    ("llama2 70B", "llama-2-70b"),
];

/// The degrees of torchtitan's mesh that a row has columns for.
const DEGREES: [(&str, &str); 3] = [("tp", "tp"), ("pp", "pp"), ("cp", "cp")];

/// Fills a row from what torchtitan prints, of the last start in the log.
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
    match (degree("dp_shard"), degree("dp_replicate")) {
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
    let preset = MODELS.iter().find(|(own, _)| own.eq_ignore_ascii_case(&name)).map(|(_, id)| *id);
    let Some(model) = preset.and_then(|id| shardscope_presets::library().model(id).ok()) else {
        row.note(format!("model {name}"), &place);
        return;
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

/// Fills a row from what the Trainer prints when it begins.
pub fn trainer(row: &mut RowDraft, lines: &[LogLine<'_>]) {
    let printed = |key: &'static str| last(lines, move |line| count(after(after(line, key)?, "=")?));
    let micro = printed("Instantaneous batch size per device");
    let accumulate = printed("Gradient Accumulation steps");
    let all = printed("Total train batch size");
    for (column, found) in [("micro_batch", micro), ("grad_accum", accumulate), ("global_batch", all)] {
        if let Some((value, at)) = found.filter(|_| !row.cells.contains_key(column)) {
            row.take(column, value, format!("line {at}"));
        }
    }
    if let (Some((micro, _)), Some((accumulate, _)), Some((all, at))) = (micro, accumulate, all)
        && !row.cells.contains_key("num_gpus")
        && let Some(each) = micro.checked_mul(accumulate).filter(|each| all.is_multiple_of(*each))
    {
        // Were there tensor ranks, they would share a batch: the Trainer prints nothing of them.
        row.take("num_gpus", all / each, format!("line {at}: the total over batch and accumulation of a device"));
    }
}

/// What the last line that says it says, and its number.
fn last<T>(lines: &[LogLine<'_>], read: impl Fn(&str) -> Option<T>) -> Option<(T, u32)> {
    lines.iter().rev().find_map(|LogLine { number, text }| Some((read(text)?, *number)))
}
