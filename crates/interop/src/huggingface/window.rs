//! Sliding-window attention in a configuration: its layers and its size.

use serde_json::Value;

use shardscope_engine::model::AttentionWindow;

use super::family::{Family, WindowRule};
use super::keys::{Keys, shown};
use shardscope_engine::problem::Problem;

/// The window of a model with `layers` layers.
pub(super) fn read(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<AttentionWindow>, Problem> {
    let listed = listed(keys, family, layers)?;
    let (size, usual) = match family.window {
        WindowRule::None => return Ok(None),
        WindowRule::All { usual } => (size(keys, usual)?, Windows::all_but_every(layers, None)),
        WindowRule::AllBut(period, usual) => {
            let key = "sliding_window_pattern";
            // A list of layers overrides it: EXAONE's files write `LLLG` beside theirs.
            let said = match listed {
                Some(_) => None,
                None => keys.count("layers to each one without window", &[key])?,
            };
            keys.skip(&[key]);
            (size(keys, Some(usual))?, Windows::all_but_every(layers, Some(said.unwrap_or(period).max(1))))
        }
        WindowRule::Qwen => qwen(keys, layers)?,
        WindowRule::Llama4 => (llama4(keys)?, Windows::all_but_every(layers, Some(4))),
        WindowRule::Gemma4 => (size(keys, Some(512))?, Windows::all_but_every(layers, Some(6))),
        WindowRule::Mimo => {
            // Other names of `sliding_window`.
            keys.skip(&["sliding_window_size", "attention_chunk_size"]);
            (size(keys, None)?, Windows::all_but_every(layers, None))
        }
    };
    let Windows { layers: window, any } = listed.unwrap_or(usual);
    let chunked = matches!(family.window, WindowRule::Llama4);
    let Some(size) = size.filter(|size| *size > 0 && any) else { return Ok(None) };
    own_heads(keys, family, AttentionWindow { size, chunked, ..window }).map(Some)
}

/// Adds the heads of layers with a window, if they differ from the others'.
fn own_heads(keys: &mut Keys<'_>, family: &Family, window: AttentionWindow) -> Result<AttentionWindow, Problem> {
    Ok(match family.window {
        WindowRule::Gemma4 => AttentionWindow {
            kv_heads: Some(keys.needed("window.kv_heads", &["num_key_value_heads"])?),
            head_size: Some(keys.needed_or(family, "window.head_size", &["head_dim"])?),
            ..window
        },
        WindowRule::Mimo => AttentionWindow {
            heads: keys.count("window.heads", &["swa_num_attention_heads"])?,
            kv_heads: keys.count("window.kv_heads", &["swa_num_key_value_heads"])?,
            head_size: keys.count("window.head_size", &["swa_head_dim"])?,
            value_head: keys.count("window.value_head", &["swa_v_head_dim"])?,
            ..window
        },
        _ => window,
    })
}

/// The layers that have a window, in the model format.
struct Windows {
    /// The window, still without its size.
    layers: AttentionWindow,
    any: bool,
}

impl Windows {
    /// All layers but the last of every `full_every`.
    fn all_but_every(layers: u32, full_every: Option<u32>) -> Self {
        let full_every = full_every.filter(|every| *every <= layers);
        Self { layers: AttentionWindow { full_every, ..AttentionWindow::default() }, any: full_every != Some(1) }
    }

    /// The first `count` layers.
    fn first(count: u32, layers: u32) -> Self {
        let layers = Some(count).filter(|count| *count < layers);
        Self { layers: AttentionWindow { layers, ..AttentionWindow::default() }, any: count > 0 }
    }
}

/// The layers to which a list gives a window; layers other than attention are refused.
fn listed(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<Windows>, Problem> {
    let key = if matches!(family.window, WindowRule::Mimo) { "hybrid_layer_pattern" } else { "layer_types" };
    let Some(types) = keys.list(key)? else { return Ok(None) };
    let mut with = Vec::new();
    for kind in types {
        match (kind.as_str(), kind.as_u64()) {
            (Some("full_attention"), _) | (_, Some(0)) => with.push(false),
            (Some("sliding_attention" | "chunked_attention"), _) | (_, Some(1)) => with.push(true),
            _ => {
                let what = format!("has a layer of {}, which is no attention: a hybrid", shown(kind));
                return Err(keys.error(key, what, "only plain decoders can be imported"));
            }
        }
    }
    with.resize(layers as usize, false);
    let place = keys.place(key);
    let number = with.iter().filter(|with| **with).count() as u32;
    let found = AttentionWindow::default().placed(&with).filter(|_| number > 0);
    match found.and_then(|window| window.full_every) {
        Some(every) => keys.report.take("window.full_every", every, place),
        None => keys.report.take("window.layers", number, place),
    }
    if let Some(layers) = found {
        return Ok(Some(Windows { layers, any: true }));
    }
    if number > 0 {
        keys.report.assume("window.layers", number, "the layers with a window are taken to be the first ones");
    }
    Ok(Some(Windows::first(number, layers)))
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

/// Qwen's window needs a switch, and applies from layer `max_window_layers` on.
fn qwen(keys: &mut Keys<'_>, layers: u32) -> Result<(Option<u32>, Windows), Problem> {
    /// Default first layer with a window.
    const FIRST: u32 = 28;
    if !keys.switch_or("window", "use_sliding_window", false)? {
        keys.skip(&["sliding_window", "max_window_layers"]);
        return Ok((None, Windows::first(0, layers)));
    }
    let first = keys.count("layers without window", &["max_window_layers"])?;
    if first.is_none() {
        keys.assume("layers without window", FIRST, "max_window_layers");
    }
    // The format gives the first layers the window: only their number affects time and memory.
    Ok((size(keys, Some(4096))?, Windows::first(layers - first.unwrap_or(FIRST).min(layers), layers)))
}

/// Llama 4 has chunked attention in layers with rotary positions, full attention in every fourth layer.
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
