//! Sliding windows and biases in Megatron-LM's arguments, in both directions.
//!
//! Sizes of heads are in [`super::shape`].

use shardscope_engine::model::{AttentionWindow, Biases, Model};
use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::writer::Line;
use super::on;
use super::parts::{CONFIG, pattern, runs};

/// Tokens visible before a token, and after it: `127,0` and the token itself are 128.
const WINDOW: &str = "window_size";
/// Layers that have the window: a number n gives every n-th layer full attention; a list has a 1 for each layer with
/// the window (`megatron/core/transformer/utils.py`, `is_layer_window_attention`).
const PLACES: &str = "window_attn_skip_freq";

/// Removes the biases of all matrices.
const NO_BIAS: &str = "disable_bias_linear";
/// The opposite switch, as logs have it.
const BIAS: &str = "add_bias_linear";
/// Gives queries, keys and values biases, even if no other matrix has any.
const QKV_BIAS: &str = "add_qkv_bias";
/// The kind of softmax.
const SOFTMAX: &str = "softmax_type";
/// Softmax with a learned sink for each head.
const SINKS: &str = "learnable";

/// All arguments that are read here.
pub(super) const NAMES: [&str; 6] = [WINDOW, PLACES, NO_BIAS, BIAS, QKV_BIAS, SOFTMAX];

/// Reads the window, and the layers that have it.
pub(super) fn window(
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
    layers: u32,
) -> Result<Option<AttentionWindow>, Problem> {
    let [window, places] = [WINDOW, PLACES].map(|name| on(settings, name));
    let Some(window) = window else {
        if let Some(places) = places {
            draft.report.ignore(&places.place, "there is no --window-size");
        }
        return Ok(None);
    };
    let back = window.text.trim_matches(['(', ')']).split([',', ' ']).next().unwrap_or_default();
    let Ok(back) = back.parse::<i64>() else {
        let what = format!("'{}' is no pair of counts", printable(&window.text));
        return Err(Problem::new(&window.place, what, CONFIG));
    };
    // A negative number means no window.
    let Ok(back) = u32::try_from(back) else { return Ok(None) };
    let all = AttentionWindow { size: back.saturating_add(1), ..AttentionWindow::default() };
    draft.report.take("model.window.size", all.size, &window.place);
    let Some(places) = places else { return Ok(Some(all)) };
    let with: Option<Vec<bool>> = match places.text.parse::<u32>() {
        Ok(distance) => Some((1..=layers).map(|layer| distance > 0 && !layer.is_multiple_of(distance)).collect()),
        Err(_) => pattern(&places.text, layers),
    };
    let Some(with) = with else {
        let what = format!("'{}' is no list of {layers} layers", printable(&places.text));
        return Err(Problem::new(&places.place, what, CONFIG));
    };
    if !with.contains(&true) {
        return Ok(None);
    }
    let Some(found) = all.placed(&with) else {
        let what = format!("'{}' gives windows to layers as no model can say", printable(&places.text));
        return Err(Problem::new(&places.place, what, CONFIG));
    };
    draft.report.take("model.window", &places.text, &places.place);
    Ok(Some(found))
}

/// True if all of a layer's matrices have biases; else which ones do.
pub(super) fn biases(settings: &mut ToolSettings, experts: bool) -> (bool, Option<Biases>) {
    let free = on(settings, NO_BIAS).is_some() | settings.take(BIAS).is_some_and(|it| it.text == "False");
    let qkv = on(settings, QKV_BIAS).is_some();
    let sinks = settings.take(SOFTMAX).is_some_and(|it| it.text == SINKS);
    let some =
        Biases { qkv: qkv || !free, projection: !free, mlp: !free, router: !free && experts, head: false, sinks };
    (!free, (sinks || qkv && free).then_some(some))
}

/// A model's biases as arguments; `None` if none express them.
fn of_biases(model: &Model) -> Option<Vec<Line>> {
    let Biases { qkv, projection, mlp, router, head, sinks } = model.biases();
    let own_router = model.biases.is_some() && model.experts.is_some() && router != projection;
    if mlp != projection || head || own_router || projection && !qkv {
        return None;
    }
    let lines = [
        (!projection).then(|| Line::new(NO_BIAS, true)),
        (qkv && !projection).then(|| Line::new(QKV_BIAS, true)),
        sinks.then(|| Line::new(SOFTMAX, SINKS)),
    ];
    Some(lines.into_iter().flatten().collect())
}

/// A model's window as arguments; `None` if none express it.
fn of_window(model: &Model) -> Option<Vec<Line>> {
    let Some(window) = model.window else { return Some(Vec::new()) };
    let AttentionWindow { size, layers, full_every, chunked, full_leads, full_first, .. } = window;
    let own_heads = AttentionWindow { size, layers, full_every, chunked, full_leads, full_first, ..Default::default() };
    if chunked || window != own_heads || size == 0 {
        return None;
    }
    let mut lines = vec![Line::new(WINDOW, format!("{},0", size - 1))];
    let with: Vec<bool> = (0..model.layers).map(|layer| window.places().contains(layer)).collect();
    match full_every.filter(|_| !full_leads && !full_first && layers.is_none()) {
        Some(every) => lines.push(Line::new(PLACES, every)),
        None if with.contains(&false) => lines.push(Line::new(PLACES, runs(&with))),
        None => {}
    }
    Some(lines)
}

/// The arguments of biases and window, if there are any.
pub(super) fn lines(model: &Model) -> Vec<Line> {
    [of_biases(model), of_window(model)].into_iter().flatten().flatten().collect()
}

/// Biases and window, if no arguments express them.
pub(super) fn takes_more(model: &Model) -> [(bool, &'static str); 2] {
    [(of_window(model).is_none(), "the window of its attention"), (of_biases(model).is_none(), "its own set of biases")]
}
