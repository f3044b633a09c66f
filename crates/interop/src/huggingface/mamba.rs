//! Layers that are a Mamba block, attention, an MLP or experts alone.

use serde_json::Value;

use shardscope_engine::model::{LayerPattern, Mamba};

use super::family::Family;
use super::keys::Keys;
use shardscope_engine::problem::Problem;

/// The kind of each layer, for a class of such layers: listed in `layers_block_type`, or a letter each in
/// `hybrid_override_pattern`.
pub(super) fn pattern(keys: &mut Keys<'_>, family: &Family) -> Result<Option<LayerPattern>, Problem> {
    if !family.mamba {
        return Ok(None);
    }
    let (key, letters) = if let Some(types) = keys.list("layers_block_type")? {
        ("layers_block_type", types.iter().map(letter).collect())
    } else {
        let written = keys.value("hybrid_override_pattern").and_then(Value::as_str);
        ("hybrid_override_pattern", written.unwrap_or_default().to_owned())
    };
    let pattern = LayerPattern::try_from(letters.clone());
    let pattern = pattern.map_err(|what| keys.error(key, what, "write a letter or a type for each layer"))?;
    let place = keys.place(key);
    keys.report.take("pattern", letters, place);
    // The class takes the number of layers from the pattern alone.
    if let Some(layers) = keys.count("layers", &["num_hidden_layers"])?.filter(|layers| *layers != pattern.layers()) {
        let what = format!("is {layers}, and {key} has {}", pattern.layers());
        return Err(keys.error("num_hidden_layers", what, "keep the right one"));
    }
    Ok(Some(pattern))
}

/// The pattern's letter for a type of layer; `?`, which no pattern has, for an unknown type.
fn letter(kind: &Value) -> char {
    match kind.as_str() {
        Some("mamba" | "linear_attention") => 'M',
        Some("attention" | "full_attention") => '*',
        Some("mlp") => '-',
        Some("moe") => 'E',
        _ => '?',
    }
}

/// The shape of the pattern's Mamba layers, if it has any.
pub(super) fn read(keys: &mut Keys<'_>, pattern: Option<&LayerPattern>) -> Result<Option<Mamba>, Problem> {
    if !pattern.is_some_and(LayerPattern::has_recurrence) {
        return Ok(None);
    }
    for (key, usual) in [("use_conv_bias", true), ("mamba_proj_bias", false)] {
        if keys.switch_or(&format!("mamba: {key}"), key, usual)? != usual {
            return Err(keys.error(key, format!("is {}", !usual), "the model format cannot express that"));
        }
    }
    Ok(Some(Mamba {
        heads: keys.needed("mamba.heads", &["mamba_num_heads"])?,
        head: keys.needed("mamba.head", &["mamba_head_dim"])?,
        state: keys.needed("mamba.state", &["ssm_state_size"])?,
        groups: keys.needed("mamba.groups", &["n_groups"])?,
        conv: keys.needed("mamba.conv", &["conv_kernel"])?,
        chunk: keys.needed("mamba.chunk", &["chunk_size"])?,
    }))
}
