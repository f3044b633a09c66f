//! The transformer of a row.

use shardscope_engine::model::{Model, Norm, Positions};
use shardscope_engine::presets::Library;
use shardscope_engine::problem::Problem;

use super::Cells;
use crate::measured::words;

/// Families whose MLP has a gate, RMS norms and no biases.
const GATED: [&str; 6] = ["llama", "internlm", "mistral", "qwen", "gemma", "ministral"];

/// Families without biases and learned positions whose MLP has no gate.
const WITHOUT_BIAS: [&str; 2] = ["mpt", "mosaicgpt"];

/// Rows of the embedding where neither a row nor its stack says: Megatron's GPT-2 vocabulary after padding
/// (arXiv 2104.04473).
const VOCABULARY: u32 = 51200;

/// The model that `tensor` ranks share: a preset where it has experts, whose sizes no row says; else that of the row.
pub(super) fn read(cells: &mut Cells<'_>, library: &Library, tensor: u32, sequence: u32) -> Result<Model, String> {
    let name = cells.row.text("model").to_lowercase();
    if let Some(mut model) = with_experts(&name, library) {
        let notes = cells.row.text("notes");
        if let (Some(experts), Some(dense)) = (&mut model.experts, words::dense_layers(notes)) {
            experts.dense_layers = Some(dense.min(model.layers));
        }
        return Ok(Model { sequence, mtp_layers: words::further_layers(notes), ..model });
    }
    let family = |names: &[&str]| names.iter().any(|family| name.contains(family));
    let gated = family(&GATED);
    let (layers, hidden) = (cells.row.needed("layers")?, cells.row.needed("hidden")?);
    let heads = cells.count_or(
        "heads",
        || usual_heads(hidden, tensor),
        "the count that divides the width over the tensor ranks with heads nearest to 128",
    )?;
    let kv_heads = cells.row.count("kv_heads")?.unwrap_or(heads);
    let ffn_hidden = cells.count_or("ffn_hidden", || 4 * hidden, "four times the width")?;
    let mut model = Model {
        id: cells.row.id(),
        name: cells.row.text("model").to_owned(),
        source: cells.row.text("source").to_owned(),
        kv_heads,
        ffn_hidden,
        gated,
        vocab: vocabulary(cells, tensor)?,
        tied: !gated,
        positions: if gated || family(&WITHOUT_BIAS) { Positions::Computed } else { Positions::Learned },
        norm: if gated { Norm::RmsNorm } else { Norm::LayerNorm },
        bias: !gated && !family(&WITHOUT_BIAS),
        sequence,
        ..Model::dense(layers, hidden, heads)
    };
    model.head_size = cells.row.count("head_dim")?.unwrap_or(model.head_size);
    if let Some(Problem { field, what, .. }) = model.problems().first() {
        return Err(format!("'{field}' {what}"));
    }
    model.tied = tied(&model, cells.row.number("params_b")?);
    Ok(model)
}

/// The preset with experts that has this name; `name-l4` has its first four layers alone.
fn with_experts(name: &str, library: &Library) -> Option<Model> {
    let id = name.replace(' ', "-");
    let first = id.rsplit_once("-l").and_then(|(id, layers)| Some((id, layers.parse().ok()?)));
    let (id, layers) = first.map_or((id.as_str(), None), |(id, layers)| (id, Some(layers)));
    let preset = library.model(id).ok().filter(|model| model.experts.is_some())?;
    let layers = layers.filter(|layers| (1..=preset.layers).contains(layers)).unwrap_or(preset.layers);
    Some(Model { layers, ..(*preset).clone() })
}

/// A count of heads that divides the width into heads of nearly 128, and that the tensor ranks divide.
fn usual_heads(hidden: u32, tensor: u32) -> u32 {
    let wanted = (f64::from(hidden) / 128.0).max(1.0);
    let away = |heads: &u32| (f64::from(*heads) / wanted).max(wanted / f64::from(*heads));
    let fitting = (tensor..=hidden).step_by(tensor.max(1) as usize).filter(|heads| hidden.is_multiple_of(*heads));
    fitting.min_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(1)
}

/// The vocabulary, padded so that the tensor ranks share it evenly: to a multiple of 128 for each, as
/// Megatron does.
fn vocabulary(cells: &mut Cells<'_>, tensor: u32) -> Result<u32, String> {
    let own = cells.conventions().vocabulary.as_ref();
    let (usual, why) = own.map_or((VOCABULARY, "GPT-2's after Megatron's padding"), |own| (own.size, own.why.as_str()));
    let vocab = cells.count_or("vocab", || usual, why)?;
    Ok(if tensor > 1 || own.is_some() { vocab.next_multiple_of(128 * tensor) } else { vocab })
}

/// Whether the logits share the embedding's weights: whichever comes nearer to the stated parameters,
/// else the family's habit.
fn tied(model: &Model, billions: Option<f64>) -> bool {
    let Some(stated) = billions.filter(|billions| *billions > 0.0) else { return model.tied };
    let away = |tied: bool| {
        let count = Model { tied, ..model.clone() }.parameters() as f64;
        (count / (stated * 1e9) - 1.0).abs()
    };
    away(true) < away(false)
}
