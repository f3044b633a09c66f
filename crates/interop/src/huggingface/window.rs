//! Which layers of a configuration look back no further than a window.

use serde_json::Value;

use shardscope_engine::model::AttentionWindow;

use super::family::{Family, WindowRule};
use super::keys::{Keys, shown};
use shardscope_engine::problem::Problem;

/// The window of a model of so many layers.
pub(super) fn read(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<AttentionWindow>, Problem> {
    let listed = listed(keys)?;
    let (size, usual) = match family.window {
        WindowRule::None => return Ok(None),
        WindowRule::All(usual) => (size(keys, usual)?, layers),
        WindowRule::AllBut(period, usual) => {
            let period =
                keys.count("layers to each one without window", &["sliding_window_pattern"])?.unwrap_or(period).max(1);
            (size(keys, Some(usual))?, layers - layers / period)
        }
        WindowRule::Qwen => qwen(keys, layers)?,
        WindowRule::Llama4 => (llama4(keys)?, layers - layers / 4),
    };
    let with = listed.unwrap_or(usual).min(layers);
    let chunked = matches!(family.window, WindowRule::Llama4);
    Ok(size.filter(|size| *size > 0 && with > 0).map(|size| AttentionWindow { size, layers: with, chunked }))
}

/// How many layers `layer_types` gives a window; what else than attention a layer can be is refused.
fn listed(keys: &mut Keys<'_>) -> Result<Option<u32>, Problem> {
    let Some(types) = keys.list("layer_types")? else { return Ok(None) };
    let mut with = 0;
    for kind in types {
        match kind.as_str() {
            Some("full_attention") => {}
            Some("sliding_attention" | "chunked_attention") => with += 1,
            _ => {
                let what = format!("has a layer of {}, which is no attention: a hybrid", shown(kind));
                return Err(keys.error("layer_types", what, "only plain decoders can be imported"));
            }
        }
    }
    let place = keys.place("layer_types");
    keys.report.take("window.layers", with, place);
    Ok(Some(with))
}

fn size(keys: &mut Keys<'_>, usual: Option<u32>) -> Result<Option<u32>, Problem> {
    if keys.is_null("sliding_window") {
        keys.skip(&["sliding_window"]);
        return Ok(None);
    }
    if keys.value("use_sliding_window") == Some(&Value::Bool(false)) {
        keys.skip(&["sliding_window"]);
        return Ok(None);
    }
    let said = keys.count("window.size", &["sliding_window"])?;
    if let (None, Some(usual)) = (said, usual) {
        keys.assume("window.size", usual, "sliding_window");
    }
    Ok(said.or(usual))
}

/// Qwen's window is off unless a switch is on, and then of the layers from a certain one on.
fn qwen(keys: &mut Keys<'_>, layers: u32) -> Result<(Option<u32>, u32), Problem> {
    /// The first layer with a window where a configuration does not say it.
    const FIRST: u32 = 28;
    if !keys.switch_or("window", "use_sliding_window", false)? {
        keys.skip(&["sliding_window", "max_window_layers"]);
        return Ok((None, 0));
    }
    let first = keys.count("layers without window", &["max_window_layers"])?;
    if first.is_none() {
        keys.assume("layers without window", FIRST, "max_window_layers");
    }
    Ok((size(keys, Some(4096))?, layers - first.unwrap_or(FIRST).min(layers)))
}

/// Llama 4 attends in chunks where positions are rotary, and to everything in each fourth layer.
fn llama4(keys: &mut Keys<'_>) -> Result<Option<u32>, Problem> {
    const USUAL: u32 = 8192;
    if keys.is_null("attention_chunk_size") {
        keys.skip(&["attention_chunk_size"]);
        return Ok(None);
    }
    let said = keys.count("window.size", &["attention_chunk_size"])?;
    if said.is_none() {
        keys.assume("window.size", USUAL, "attention_chunk_size");
    }
    Ok(Some(said.unwrap_or(USUAL)))
}
