//! Optional parts of a model in Megatron-LM's arguments, in both directions: experts, latent attention, and variants of
//! attention.
//!
//! [`super::shape`] has what every model has.

use shardscope_engine::model::{Experts, GatedDeltaNet, Indexer, LatentAttention, Model};
use shardscope_engine::problem::Problem;
use shardscope_engine::text::printable;

use super::super::draft::PlanDraft;
use super::super::settings::{Setting, ToolSettings};
use super::super::table::OFF;
use super::super::writer::Line;
use super::on;

/// The fix if arguments do not describe the model.
pub(super) const CONFIG: &str = "name the model by --model ID or --model config.json";

/// Arguments that are read here, except for tables of sizes.
const NAMES: [&str; 11] = [
    "num_experts",
    "moe_router_topk",
    SHARED_GATE,
    PLACES,
    LATENT,
    QUERY,
    KEY_VALUE,
    HEAD,
    ROTARY,
    VALUE_HEAD,
    VARIANT,
];

/// A size of a part: the argument, the field, and access to its value.
pub(super) type Count<T, Size = u32> = (&'static str, &'static str, fn(&mut T) -> &mut Size);

/// Optional sizes of experts.
const SIZES: [Count<Experts, Option<u32>>; 5] = [
    ("moe_ffn_hidden_size", "ffn_hidden", |experts| &mut experts.ffn_hidden),
    ("moe_shared_expert_intermediate_size", "shared_ffn", |experts| &mut experts.shared_ffn),
    ("moe_latent_size", "latent", |experts| &mut experts.latent),
    ("moe_router_num_groups", "groups", |experts| &mut experts.groups),
    ("moe_router_group_topk", "active_groups", |experts| &mut experts.active_groups),
];

const SHARED_GATE: &str = "moe_shared_expert_gate";
/// Layers that have experts: a number n means every n-th, from the first layer on.
const PLACES: &str = "moe_layer_freq";

const LATENT: &str = "multi_latent_attention";
const QUERY: &str = "q_lora_rank";
const KEY_VALUE: &str = "kv_lora_rank";
/// Channels of a query or key head, without rotary ones.
const HEAD: &str = "qk_head_dim";
const ROTARY: &str = "qk_pos_emb_head_dim";
const VALUE_HEAD: &str = "v_head_dim";

/// Argument for the attention variant.
const VARIANT: &str = "experimental_attention_variant";

/// The variant with an indexer, and its sizes.
const SPARSE: &str = "dsa";
const INDEXER: [Count<Indexer>; 3] = [
    ("dsa_indexer_n_heads", "indexer.heads", |indexer| &mut indexer.heads),
    ("dsa_indexer_head_dim", "indexer.head", |indexer| &mut indexer.head),
    ("dsa_indexer_topk", "indexer.top_k", |indexer| &mut indexer.top_k),
];

/// The variant with a gated delta net in most layers, and its sizes.
const DELTA_NET: &str = "gated_delta_net";
const DELTA_NETS: [Count<GatedDeltaNet>; 6] = [
    ("linear_attention_freq", "delta_net.full_every", |net| &mut net.full_every),
    ("linear_conv_kernel_dim", "delta_net.conv", |net| &mut net.conv),
    ("linear_num_key_heads", "delta_net.key_heads", |net| &mut net.key_heads),
    ("linear_num_value_heads", "delta_net.value_heads", |net| &mut net.value_heads),
    ("linear_key_head_dim", "delta_net.key_head", |net| &mut net.key_head),
    ("linear_value_head_dim", "delta_net.value_head", |net| &mut net.value_head),
];

/// All arguments that are read here.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let sizes = SIZES.map(|(name, ..)| name).into_iter().chain(INDEXER.map(|(name, ..)| name));
    NAMES.into_iter().chain(sizes).chain(DELTA_NETS.map(|(name, ..)| name))
}

/// A size of the model; `None` if off or absent.
pub(super) fn count(
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
    name: &str,
    field: &str,
) -> Result<Option<u32>, Problem> {
    let Some(setting) = settings.take(name).filter(|setting| !OFF.contains(&setting.text.as_str())) else {
        return Ok(None);
    };
    // Megatron-DeepSpeed prints a list with an entry per group of layers: `[1]` for one group.
    let text = setting.text.trim_start_matches('[').trim_end_matches(']');
    let Some(count) = text.parse::<u32>().ok().filter(|count| (1..=1 << 24).contains(count)) else {
        return Err(Problem::new(&setting.place, format!("'{}' is no count", setting.text), CONFIG));
    };
    draft.report.take(&format!("model.{field}"), count, &setting.place);
    Ok(Some(count))
}

/// The experts of a model with `layers` layers.
pub(super) fn experts(
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
    layers: u32,
) -> Result<Option<Experts>, Problem> {
    let all = count(settings, draft, "num_experts", "experts.count")?;
    // The parser's default is two experts per token.
    let active = count(settings, draft, "moe_router_topk", "experts.active")?.unwrap_or(2);
    let mut experts = Experts {
        count: all.unwrap_or(1),
        active,
        ffn_hidden: None,
        shared_ffn: None,
        shared_gate: on(settings, SHARED_GATE).is_some(),
        dense_layers: None,
        groups: None,
        active_groups: None,
        latent: None,
        every: None,
    };
    for (name, field, of) in SIZES {
        *of(&mut experts) = count(settings, draft, name, &format!("experts.{field}"))?;
    }
    let places = settings.take(PLACES);
    // One expert is a dense model.
    if experts.count < 2 {
        return Ok(None);
    }
    let Some(places) = places else { return Ok(Some(experts)) };
    let with = match places.text.parse::<u32>() {
        Ok(distance) => (distance > 0).then(|| (0..layers).map(|layer| layer.is_multiple_of(distance)).collect()),
        Err(_) => pattern(&places.text, layers),
    };
    let Some((dense, every)) = with.and_then(|with: Vec<bool>| Experts::dense_and_every(&with)) else {
        let what = format!("'{}' places experts in layers as no model can say", printable(&places.text));
        return Err(Problem::new(&places.place, what, CONFIG));
    };
    draft.report.take("model.experts.dense_layers", dense, &places.place);
    let (dense_layers, every) = (Some(dense).filter(|dense| *dense > 0), Some(every).filter(|every| *every > 1));
    Ok(Some(Experts { dense_layers, every, ..experts }))
}

/// Reads a Python list with a 1 for each layer that has something: `[0]*3+[1]*58`.
pub(super) fn pattern(text: &str, layers: u32) -> Option<Vec<bool>> {
    let text: String = text.chars().filter(|sign| !sign.is_whitespace()).collect();
    let text = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(&text);
    let (mut with, layers) = (Vec::new(), layers as usize);
    for term in text.split('+') {
        let (list, times) = term.split_once('*').unwrap_or((term, "1"));
        let listed = list.strip_prefix('[')?.strip_suffix(']')?.split(',').map(|each| match each {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        });
        let (listed, times) = (listed.collect::<Option<Vec<bool>>>()?, times.parse::<usize>().ok()?);
        if listed.len().checked_mul(times)? > layers - with.len() {
            return None;
        }
        with.extend(listed.repeat(times));
    }
    (with.len() == layers).then_some(with)
}

/// Latent attention, and the size of a query head. Widths of heads default to those of `MLATransformerConfig`; queries
/// without a rank are not compressed.
pub(super) fn latent(
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
) -> Result<Option<(LatentAttention, u32)>, Problem> {
    let Some(switch) = on(settings, LATENT) else {
        for name in [QUERY, KEY_VALUE, HEAD, ROTARY, VALUE_HEAD] {
            if let Some(setting) = settings.take(name) {
                draft.report.ignore(&setting.place, "attention compresses nothing without --multi-latent-attention");
            }
        }
        return Ok(None);
    };
    let mut count = |name: &str, field: &str| count(settings, draft, name, field);
    let query = count(QUERY, "latent.query")?;
    let key_value = count(KEY_VALUE, "latent.key_value")?;
    let plain = count(HEAD, "head_size without positions")?.unwrap_or(128);
    let rotary = count(ROTARY, "latent.rotary")?.unwrap_or(64);
    let value_head = count(VALUE_HEAD, "latent.value_head")?.unwrap_or(128);
    let missing = || {
        let what = "no --kv-lora-rank, so how narrow keys and values are is not known";
        Problem::new(&switch.place, what, "say it beside --multi-latent-attention")
    };
    let latent = LatentAttention { query, key_value: key_value.ok_or_else(missing)?, rotary, value_head };
    Ok(Some((latent, plain + rotary)))
}

/// The variant of attention: an indexer that selects the tokens to read, or gated delta nets.
pub(super) fn variant(
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
) -> Result<(Option<Indexer>, Option<GatedDeltaNet>), Problem> {
    let Some(variant) = on(settings, VARIANT) else {
        for name in INDEXER.map(|(name, ..)| name).into_iter().chain(DELTA_NETS.map(|(name, ..)| name)) {
            if let Some(setting) = settings.take(name) {
                draft.report.ignore(&setting.place, "no --experimental-attention-variant has it");
            }
        }
        return Ok((None, None));
    };
    match variant.text.as_str() {
        SPARSE => Ok((Some(counted(&INDEXER, settings, draft, &variant)?), None)),
        DELTA_NET => Ok((None, Some(counted(&DELTA_NETS, settings, draft, &variant)?))),
        other => {
            let what = format!("attention of the variant '{}' is not known by its arguments", printable(other));
            Err(Problem::new(&variant.place, what, CONFIG))
        }
    }
}

/// Reads a part whose sizes must all be given.
fn counted<T: Default>(
    sizes: &[Count<T>],
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
    variant: &Setting,
) -> Result<T, Problem> {
    let mut part = T::default();
    for (name, field, of) in sizes {
        let size = count(settings, draft, name, field)?;
        *of(&mut part) = size.ok_or_else(|| {
            let what = format!("no --{} beside it", name.replace('_', "-"));
            Problem::new(&variant.place, what, "say it, or name the model by --model")
        })?;
    }
    Ok(part)
}

/// The arguments of all these parts.
pub(super) fn lines(model: &Model) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(mut experts) = model.experts {
        lines.push(Line::new("num_experts", experts.count));
        lines.push(Line::new("moe_router_topk", experts.active));
        experts.ffn_hidden.get_or_insert(model.ffn_hidden);
        let sizes = SIZES.map(|(name, _, of)| of(&mut experts).map(|size| Line::new(name, size)));
        lines.extend(sizes.into_iter().flatten());
        lines.extend(experts.shared_gate.then(|| Line::new(SHARED_GATE, true)));
        if experts.dense_layers.is_some() || experts.every.is_some() {
            let with: Vec<bool> = (0..model.layers).map(|layer| experts.places().contains(layer)).collect();
            lines.push(Line::new(PLACES, runs(&with)));
        }
    }
    if let Some(latent) = model.latent {
        lines.push(Line::new(LATENT, true));
        lines.extend(latent.query.map(|rank| Line::new(QUERY, rank)));
        let plain = model.head_size.saturating_sub(latent.rotary);
        for (name, size) in
            [(KEY_VALUE, latent.key_value), (HEAD, plain), (ROTARY, latent.rotary), (VALUE_HEAD, latent.value_head)]
        {
            lines.push(Line::new(name, size));
        }
    }
    if let Some(mut indexer) = model.indexer {
        lines.push(Line::new(VARIANT, SPARSE));
        lines.extend(INDEXER.map(|(name, _, of)| Line::new(name, *of(&mut indexer))));
    }
    if let Some(mut net) = model.delta_net {
        lines.push(Line::new(VARIANT, DELTA_NET));
        lines.extend(DELTA_NETS.map(|(name, _, of)| Line::new(name, *of(&mut net))));
    }
    lines
}

/// Writes a 0 or 1 for each layer, with runs as products.
pub(super) fn runs(with: &[bool]) -> String {
    let runs = with.chunk_by(|one, next| one == next).map(|run| format!("[{}]*{}", u8::from(run[0]), run.len()));
    runs.collect::<Vec<_>>().join("+")
}
