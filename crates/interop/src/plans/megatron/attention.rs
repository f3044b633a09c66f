//! Which layers look back how far, and which matrices have biases, as Megatron-LM's arguments say them in both directions.
//!
//! Not for sizes of heads, which are in [`super::shape`].

use shardscope_engine::model::{AttentionWindow, Biases, Model};
use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::writer::Line;
use super::on;
use super::parts::{CONFIG, pattern, runs};

/// Tokens behind the one that looks, and before it: `127,0` with the token itself are 128.
const WINDOW: &str = "window_size";
/// Which layers have the window: a number is the distance from one that sees everything to the next, the first of which is
/// the last layer of the first stretch; a list has a 1 for each layer with it
/// (`megatron/core/transformer/utils.py`, `is_layer_window_attention`).
const PLACES: &str = "window_attn_skip_freq";

/// Gives all matrices no bias.
const NO_BIAS: &str = "disable_bias_linear";
/// As a log has it.
const BIAS: &str = "add_bias_linear";
/// Gives queries, keys and values biases, where no matrix else has any.
const QKV_BIAS: &str = "add_qkv_bias";
/// What each row of scores is divided by.
const SOFTMAX: &str = "softmax_type";
/// With a score of each head that attends to nothing, which is learned.
const SINKS: &str = "learnable";

/// All arguments that are read here.
pub(super) const NAMES: [&str; 6] = [WINDOW, PLACES, NO_BIAS, BIAS, QKV_BIAS, SOFTMAX];

/// The window, and the layers of so many that have it.
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
    // Without end.
    let Ok(back) = u32::try_from(back) else { return Ok(None) };
    let all = AttentionWindow { size: back.saturating_add(1), ..AttentionWindow::default() };
    draft.report.take("model.window.size", all.size, &window.place);
    let Some(places) = places else { return Ok(Some(all)) };
    let with = match places.text.parse::<u32>() {
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
    let Some(found) = kinds(all, layers).find(|window| (0..layers).map(|layer| window.is_in(layer)).eq(with.clone()))
    else {
        let what = format!("'{}' gives windows to layers as no model can say", printable(&places.text));
        return Err(Problem::new(&places.place, what, CONFIG));
    };
    draft.report.take("model.window", &places.text, &places.place);
    Ok(Some(found))
}

/// A window of a size in all layers, in all but every so manieth, or in the first ones of so many.
fn kinds(all: AttentionWindow, layers: u32) -> impl Iterator<Item = AttentionWindow> {
    let every = (2..=layers).flat_map(move |every| {
        [false, true].map(|full_leads| AttentionWindow { full_every: Some(every), full_leads, ..all })
    });
    let first = (1..layers).map(move |first| AttentionWindow { layers: Some(first), ..all });
    std::iter::once(all).chain(every).chain(first)
}

/// Whether matrices have biases, and which, where it is not all of a layer's.
pub(super) fn biases(settings: &mut ToolSettings, experts: bool) -> (bool, Option<Biases>) {
    let free = on(settings, NO_BIAS).is_some() | settings.take(BIAS).is_some_and(|it| it.text == "False");
    let qkv = on(settings, QKV_BIAS).is_some();
    let sinks = settings.take(SOFTMAX).is_some_and(|it| it.text == SINKS);
    let some =
        Biases { qkv: qkv || !free, projection: !free, mlp: !free, router: !free && experts, head: false, sinks };
    (!free, (sinks || qkv && free).then_some(some))
}

/// The biases of a model in arguments; `None` where none say them.
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

/// The window of a model in arguments; `None` where none say it.
fn of_window(model: &Model) -> Option<Vec<Line>> {
    let Some(window) = model.window else { return Some(Vec::new()) };
    let AttentionWindow { size, layers, full_every, chunked, full_leads, full_first, .. } = window;
    let own_heads = AttentionWindow { size, layers, full_every, chunked, full_leads, full_first, ..Default::default() };
    if chunked || window != own_heads || size == 0 {
        return None;
    }
    let mut lines = vec![Line::new(WINDOW, format!("{},0", size - 1))];
    let with: Vec<bool> = (0..model.layers).map(|layer| window.is_in(layer)).collect();
    match full_every.filter(|_| !full_leads && !full_first && layers.is_none()) {
        Some(every) => lines.push(Line::new(PLACES, every)),
        None if with.contains(&false) => lines.push(Line::new(PLACES, runs(&with))),
        None => {}
    }
    Some(lines)
}

/// The arguments of both, as far as there are any.
pub(super) fn lines(model: &Model) -> Vec<Line> {
    [of_biases(model), of_window(model)].into_iter().flatten().flatten().collect()
}

/// What of both no argument says.
pub(super) fn takes_more(model: &Model) -> [(bool, &'static str); 2] {
    [(of_window(model).is_none(), "the window of its attention"), (of_biases(model).is_none(), "its own set of biases")]
}
