//! The MLPs of a configuration: their widths, experts, and dense layers.

use serde_json::Value;

use shardscope_engine::model::{Experts, LayerKind, LayerMlp, LayerPattern, Model};

use super::family::{ExpertRule, Family};
use super::keys::Keys;
use shardscope_engine::problem::Problem;

/// Keys for the number of experts.
pub(super) const COUNT: [&str; 3] = ["n_routed_experts", "num_local_experts", "num_experts"];

/// Keys for the number of experts per token.
const ACTIVE: [&str; 3] = ["num_experts_per_tok", "num_experts_per_token", "top_k_experts"];

/// Keys for the number of shared experts.
const SHARED: [&str; 2] = ["n_shared_experts", "num_shared_experts"];

/// MLP widths of experts and of dense layers.
#[derive(Clone, Copy)]
struct Widths {
    /// Width of one expert.
    expert: u32,
    /// Width of a dense layer's MLP.
    dense: u32,
    /// Width of all shared experts together.
    shared: Option<u32>,
    /// Number of leading dense layers.
    dense_layers: u32,
    /// Period of expert layers after those: the last of each period has experts.
    every: u32,
}

/// Sets the MLPs of a model.
pub(super) fn put(keys: &mut Keys<'_>, family: &Family, model: &mut Model) -> Result<(), Problem> {
    let widths = match family.experts {
        ExpertRule::None => None,
        ExpertRule::All => Some(all(keys)?),
        ExpertRule::Qwen { shared } => Some(qwen(keys, shared, model.layers)?),
        ExpertRule::DeepSeek(dense) => deepseek(keys, dense, model.layers)?,
        ExpertRule::Llama4 => Some(llama4(keys, model.layers)?),
        ExpertRule::Nemotron => nemotron(keys, model.pattern.as_ref())?,
        ExpertRule::Gemma4 => gemma4(keys)?,
        ExpertRule::Mimo => mimo(keys, model.layers)?,
    };
    let widths = widths.map(|widths| beside(keys, widths)).transpose()?;
    let Some(Widths { expert, dense, shared, dense_layers, every }) = widths else {
        model.ffn_hidden = plain(keys, family, model.hidden)?;
        return Ok(());
    };
    // If there are dense layers, `ffn_hidden` is their width: 18432 in DeepSeek-V3, beside experts of 2048. Qwen's
    // files give a dense width that no layer uses.
    let mixed = dense_layers > 0 || every > 1 || model.pattern.is_some() && dense > 0;
    model.ffn_hidden = if mixed { dense } else { expert };
    let [groups, active_groups] = groups(keys)?;
    model.experts = Some(Experts {
        count: keys.needed("experts.count", &COUNT)?,
        active: keys.needed("experts.active", &ACTIVE)?,
        ffn_hidden: mixed.then_some(expert).filter(|width| *width != dense),
        shared_ffn: shared,
        shared_gate: matches!(family.experts, ExpertRule::Qwen { shared: true }),
        dense_layers: Some(dense_layers).filter(|count| *count > 0),
        groups,
        active_groups,
        latent: match family.experts {
            ExpertRule::Nemotron => keys.count("experts.latent", &["moe_latent_size"])?,
            _ => None,
        },
        every: Some(every).filter(|every| *every > 1),
    });
    Ok(())
}

/// Groups of experts, and groups that a token's experts come from; `None` unless these are fewer.
fn groups(keys: &mut Keys<'_>) -> Result<[Option<u32>; 2], Problem> {
    let all = keys.count("experts.groups", &["n_group", "num_expert_group"])?;
    let active = keys.count("experts.active_groups", &["topk_group"])?;
    let limited = active.zip(all).is_some_and(|(active, all)| active < all);
    Ok([all, active].map(|count| count.filter(|_| limited)))
}

/// The width of the MLP of a model without experts.
fn plain(keys: &mut Keys<'_>, family: &Family, hidden: u32) -> Result<u32, Problem> {
    if family.name == "mpt" {
        let ratio = keys.count("ffn_hidden over hidden", &["expansion_ratio"])?.unwrap_or(4);
        return Ok(hidden.saturating_mul(ratio));
    }
    let names = ["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"];
    if !family.four_times {
        return keys.needed_or(family, "ffn_hidden", &names);
    }
    let said = keys.count("ffn_hidden", &names)?;
    if said.is_none() {
        keys.report.assume("ffn_hidden", 4 * hidden, "no width is said: its class takes 4 x hidden");
    }
    Ok(said.unwrap_or(4 * hidden))
}

/// The width of an expert.
fn own(keys: &mut Keys<'_>) -> Result<u32, Problem> {
    match keys.count("experts.ffn_hidden", &["moe_intermediate_size"])? {
        Some(width) => Ok(width),
        None => keys.needed("experts.ffn_hidden", &["intermediate_size"]),
    }
}

fn all(keys: &mut Keys<'_>) -> Result<Widths, Problem> {
    Ok(Widths { expert: own(keys)?, dense: 0, shared: None, dense_layers: 0, every: 1 })
}

/// Adds shared experts and leading dense layers of a file that is read as a family without them.
fn beside(keys: &mut Keys<'_>, widths: Widths) -> Result<Widths, Problem> {
    let shared = match widths.shared {
        None => keys
            .count("shared experts", &SHARED)?
            .filter(|count| *count > 0)
            .map(|count| count.saturating_mul(widths.expert)),
        shared => shared,
    };
    let first = if widths.dense_layers == 0 && widths.every == 1 {
        keys.count("experts.dense_layers", &["first_k_dense_replace"])?.unwrap_or(0)
    } else {
        0
    };
    if first == 0 {
        return Ok(Widths { shared, ..widths });
    }
    Ok(Widths { shared, dense: keys.needed("ffn_hidden", &["intermediate_size"])?, dense_layers: first, ..widths })
}

/// Dense layers are listed, or lie between expert layers at a fixed step.
fn qwen(keys: &mut Keys<'_>, shared: bool, layers: u32) -> Result<Widths, Problem> {
    let expert = own(keys)?;
    let mut width = || keys.needed("experts.shared_ffn", &["shared_expert_intermediate_size"]);
    let shared = shared.then(&mut width).transpose()?;
    let step = keys.count("layers from experts to experts", &["decoder_sparse_step"])?.unwrap_or(1).max(1);
    let listed = keys.list("mlp_only_layers")?.unwrap_or_default();
    let plain = |layer: &u32| {
        let number = u64::from(*layer);
        !(layer + 1).is_multiple_of(step) || listed.iter().any(|value| value.as_u64() == Some(number))
    };
    let with: Vec<bool> = (0..layers.min(1 << 16)).map(|layer| !plain(&layer)).collect();
    let (dense_layers, every) = pattern(keys, &with, "mlp_only_layers");
    let dense = if with.contains(&false) {
        keys.needed("ffn_hidden", &["intermediate_size"])?
    } else {
        keys.skip(&["intermediate_size"]);
        0
    };
    Ok(Widths { expert, dense, shared, dense_layers, every })
}

/// Converts expert layers to the format: the number of leading dense layers, and the period after them.
fn pattern(keys: &mut Keys<'_>, with: &[bool], key: &'static str) -> (u32, u32) {
    Experts::dense_and_every(with).unwrap_or_else(|| {
        let dense = with.iter().filter(|with| !**with).count() as u32;
        let why = "the layers without experts are taken to be the first ones";
        keys.report.assume("experts.dense_layers", dense, format!("{key}: {why}"));
        (dense, 1)
    })
}

fn deepseek(keys: &mut Keys<'_>, usual: u32, layers: u32) -> Result<Option<Widths>, Problem> {
    if keys.is_null("n_routed_experts") {
        return Ok(None);
    }
    if keys.count("layers from experts to experts", &["moe_layer_freq"])?.is_some_and(|step| step != 1) {
        return Err(keys.error("moe_layer_freq", "is not 1", "transformers' own class has no such layers either"));
    }
    let expert = keys.needed("experts.ffn_hidden", &["moe_intermediate_size"])?;
    let shared = if keys.is_null("n_shared_experts") {
        keys.skip(&["n_shared_experts"]);
        None
    } else {
        Some(keys.needed("shared experts", &SHARED)?)
    };
    let (dense_layers, every) = if let Some(types) = keys.list("mlp_layer_types")? {
        // The list overrides the number of leading dense layers, as in the classes that have it.
        keys.skip(&["first_k_dense_replace"]);
        let has = |layer: u32| types.get(layer as usize).is_some_and(|kind| kind == "sparse");
        let with: Vec<bool> = (0..layers.min(1 << 16)).map(has).collect();
        pattern(keys, &with, "mlp_layer_types")
    } else {
        let said = keys.count("experts.dense_layers", &["first_k_dense_replace"])?;
        if said.is_none() {
            keys.assume("experts.dense_layers", usual, "first_k_dense_replace");
        }
        (said.unwrap_or(usual), 1)
    };
    let shared = shared.filter(|count| *count > 0).map(|count| count.saturating_mul(expert));
    let dense = keys.needed("ffn_hidden", &["intermediate_size"])?;
    Ok(Some(Widths { expert, dense, shared, dense_layers, every }))
}

/// Expert layers are listed, or are the last of every `interleave_moe_layer_step`.
fn llama4(keys: &mut Keys<'_>, layers: u32) -> Result<Widths, Problem> {
    let expert = keys.needed("experts.ffn_hidden", &["intermediate_size"])?;
    let step = keys.count("layers from experts to experts", &["interleave_moe_layer_step"])?;
    if step.is_none() {
        keys.assume("layers from experts to experts", 1, "interleave_moe_layer_step");
    }
    let step = step.unwrap_or(1);
    let listed = keys.list("moe_layers")?;
    let has = |layer: u32| match listed {
        Some(listed) => listed.iter().any(|known| known.as_u64() == Some(layer.into())),
        None => step > 0 && (layer + 1).is_multiple_of(step),
    };
    let with: Vec<bool> = (0..layers.min(1 << 16)).map(has).collect();
    let (dense_layers, every) = pattern(keys, &with, "moe_layers");
    let dense = if with.contains(&false) {
        keys.needed("ffn_hidden", &["intermediate_size_mlp"])?
    } else {
        keys.skip(&["intermediate_size_mlp"]);
        0
    };
    Ok(Widths { expert, dense, shared: Some(expert), dense_layers, every })
}

/// Widths of layers of experts alone, and of layers of an MLP alone (0 without such layers).
fn nemotron(keys: &mut Keys<'_>, pattern: Option<&LayerPattern>) -> Result<Option<Widths>, Problem> {
    let has = |kind: fn(LayerKind) -> bool| pattern.is_some_and(|pattern| pattern.has(kind));
    if !has(LayerKind::has_experts) {
        // The class writes its default counts even without expert layers.
        keys.skip(&COUNT);
        return Ok(None);
    }
    let expert = keys.needed("experts.ffn_hidden", &["moe_intermediate_size"])?;
    let shared = keys.count("shared experts", &["n_shared_experts"])?.unwrap_or(1);
    let mut width = || keys.needed("experts.shared_ffn", &["moe_shared_expert_intermediate_size"]);
    let shared = (shared > 0).then(&mut width).transpose()?;
    let plain = has(|kind| kind.mlp == LayerMlp::Plain);
    let dense = if plain { keys.needed("ffn_hidden", &["intermediate_size"])? } else { 0 };
    keys.skip(&["intermediate_size"]);
    Ok(Some(Widths { expert, dense, shared, dense_layers: 0, every: 1 }))
}

/// The MLP beside the experts counts as a shared expert: every token visits it.
fn gemma4(keys: &mut Keys<'_>) -> Result<Option<Widths>, Problem> {
    if !keys.switch_or("experts", "enable_moe_block", false)? {
        return Ok(None);
    }
    let expert = keys.needed("experts.ffn_hidden", &["moe_intermediate_size"])?;
    let shared = Some(keys.needed("experts.shared_ffn", &["intermediate_size"])?);
    Ok(Some(Widths { expert, dense: 0, shared, dense_layers: 0, every: 1 }))
}

/// `moe_layer_freq` has a switch for each layer.
fn mimo(keys: &mut Keys<'_>, layers: u32) -> Result<Option<Widths>, Problem> {
    let listed = keys.list("moe_layer_freq")?.unwrap_or_default();
    let has = |layer: u32| listed.get(layer as usize).is_none_or(|has| has.as_u64() == Some(1));
    let with: Vec<bool> = (0..layers.min(1 << 16)).map(has).collect();
    let (dense_layers, every) = pattern(keys, &with, "moe_layer_freq");
    let expert = keys.needed("experts.ffn_hidden", &["moe_intermediate_size"])?;
    let dense = keys.needed("ffn_hidden", &["intermediate_size"])?;
    let shared = keys.count("shared experts", &SHARED)?.filter(|count| *count > 0);
    let shared = shared.map(|count| count.saturating_mul(expert));
    Ok(Some(Widths { expert, dense, shared, dense_layers, every }))
}

/// The number of experts that a configuration gives though its class has none.
pub(super) fn misplaced<'a>(key: &str, value: &'a Value) -> Option<&'a Value> {
    COUNT.contains(&key).then_some(value).filter(|value| value.as_u64().is_some_and(|count| count > 1))
}
