//! Which layers of a configuration look back no further than a window.

use serde_json::Value;

use shardscope_engine::model::AttentionWindow;

use super::family::{Family, WindowRule};
use super::keys::{Keys, shown};
use shardscope_engine::problem::Problem;

/// The window of a model of so many layers.
pub(super) fn read(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<AttentionWindow>, Problem> {
    let listed = listed(keys, layers)?;
    let (size, usual) = match family.window {
        WindowRule::None => return Ok(None),
        WindowRule::All(usual) => (size(keys, usual)?, Windows::all_but_every(layers, None)),
        WindowRule::AllBut(period, usual) => {
            let period =
                keys.count("layers to each one without window", &["sliding_window_pattern"])?.unwrap_or(period).max(1);
            (size(keys, Some(usual))?, Windows::all_but_every(layers, Some(period)))
        }
        WindowRule::Qwen => qwen(keys, layers)?,
        WindowRule::Llama4 => (llama4(keys)?, Windows::all_but_every(layers, Some(4))),
    };
    let Windows { layers, full_every, any } = listed.unwrap_or(usual);
    let chunked = matches!(family.window, WindowRule::Llama4);
    let size = size.filter(|size| *size > 0 && any);
    Ok(size.map(|size| AttentionWindow { size, layers, full_every, chunked }))
}

/// The layers that have a window, as the format says it.
struct Windows {
    layers: Option<u32>,
    full_every: Option<u32>,
    any: bool,
}

impl Windows {
    /// All layers but the last of every so many.
    fn all_but_every(layers: u32, full_every: Option<u32>) -> Self {
        let full_every = full_every.filter(|every| *every <= layers);
        Self { layers: None, full_every, any: full_every != Some(1) }
    }

    /// The first layers.
    fn first(count: u32, layers: u32) -> Self {
        Self { layers: Some(count).filter(|count| *count < layers), full_every: None, any: count > 0 }
    }
}

/// The layers that `layer_types` gives a window; what else than attention a layer can be is refused.
fn listed(keys: &mut Keys<'_>, layers: u32) -> Result<Option<Windows>, Problem> {
    let Some(types) = keys.list("layer_types")? else { return Ok(None) };
    let mut full = Vec::new();
    for kind in types {
        match kind.as_str() {
            Some("full_attention") => full.push(true),
            Some("sliding_attention" | "chunked_attention") => full.push(false),
            _ => {
                let what = format!("has a layer of {}, which is no attention: a hybrid", shown(kind));
                return Err(keys.error("layer_types", what, "only plain decoders can be imported"));
            }
        }
    }
    full.resize(layers as usize, true);
    let place = keys.place("layer_types");
    let with = full.iter().filter(|full| !**full).count() as u32;
    let is_last = |every: &u32| full.iter().zip(1..).all(|(full, count)| *full == u32::is_multiple_of(count, *every));
    if let Some(every) = (2..=layers).find(is_last).filter(|_| with < layers) {
        keys.report.take("window.full_every", every, place);
        return Ok(Some(Windows::all_but_every(layers, Some(every))));
    }
    keys.report.take("window.layers", with, place);
    let first = full.iter().take(with as usize).all(|full| !full);
    if !first {
        keys.report.assume("window.layers", with, "the layers with a window are taken to be the first ones");
    }
    Ok(Some(Windows::first(with, layers)))
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
fn qwen(keys: &mut Keys<'_>, layers: u32) -> Result<(Option<u32>, Windows), Problem> {
    /// The first layer with a window where a configuration does not say it.
    const FIRST: u32 = 28;
    if !keys.switch_or("window", "use_sliding_window", false)? {
        keys.skip(&["sliding_window", "max_window_layers"]);
        return Ok((None, Windows::first(0, layers)));
    }
    let first = keys.count("layers without window", &["max_window_layers"])?;
    if first.is_none() {
        keys.assume("layers without window", FIRST, "max_window_layers");
    }
    // The format's windows are those of the first layers: how many there are is what time and memory follow from.
    Ok((size(keys, Some(4096))?, Windows::first(layers - first.unwrap_or(FIRST).min(layers), layers)))
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
