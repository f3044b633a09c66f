//! The gated delta net of a configuration: its layers and its shape.

use serde_json::Value;

use shardscope_engine::model::GatedDeltaNet;

use super::family::{DeltaNetRule, Family};
use super::keys::Keys;
use shardscope_engine::problem::Problem;

/// The gated delta net of a model with `layers` layers, if its class has one.
pub(super) fn read(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<GatedDeltaNet>, Problem> {
    match family.delta_net {
        DeltaNetRule::None => return Ok(None),
        DeltaNetRule::Kimi => return kimi(keys, layers).map(Some),
        DeltaNetRule::Gated => {}
    }
    Ok(Some(GatedDeltaNet {
        key_heads: keys.needed("delta_net.key_heads", &["linear_num_key_heads"])?,
        value_heads: keys.needed("delta_net.value_heads", &["linear_num_value_heads"])?,
        key_head: keys.needed("delta_net.key_head", &["linear_key_head_dim"])?,
        value_head: keys.needed("delta_net.value_head", &["linear_value_head_dim"])?,
        conv: keys.needed("delta_net.conv", &["linear_conv_kernel_dim"])?,
        full_every: full_every(keys, layers)?,
        ..GatedDeltaNet::default()
    }))
}

/// Reads Kimi Delta Attention from `linear_attn_config`. Its gates have the rank of a head (`KimiDeltaAttention` in the
/// model's own code and in fla-org/flash-linear-attention).
fn kimi(keys: &mut Keys<'_>, layers: u32) -> Result<GatedDeltaNet, Problem> {
    const KEY: &str = "linear_attn_config";
    let place = |key: &str| format!("{KEY}.{key}");
    let inside = keys.value(KEY).and_then(Value::as_object);
    let inside = inside.ok_or_else(|| keys.error(KEY, "is missing, or no object", "add it"))?;
    if inside.get("use_full_rank_gate").is_some_and(|on| *on == true) {
        let what = "is true: its output's gate is not narrow, which the model format cannot express";
        return Err(keys.error(&place("use_full_rank_gate"), what, "describe a like model in models/*.toml"));
    }
    let mut count = |field: &str, key: &str| {
        let value = inside.get(key).ok_or_else(|| keys.error(&place(key), "is missing", "add it"))?;
        let count = keys.number(&place(key), value)?;
        let from = keys.place(&place(key));
        keys.report.take(&format!("delta_net.{field}"), count, from);
        Ok(count)
    };
    let [heads, head, conv] =
        [count("key_heads", "num_heads")?, count("key_head", "head_dim")?, count("conv", "short_conv_kernel_size")?];
    // `full_attn_layers` counts layers from 1.
    let full = inside.get("full_attn_layers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let listed = full.iter().map(Value::as_u64);
    let is = |every: u32, last: bool| {
        let attends = move |layer: &u32| layer.is_multiple_of(every) || last && *layer == layers;
        listed.clone().eq((1..=layers).filter(attends).map(|layer| Some(layer.into())))
    };
    let found = (2..=layers)
        .find_map(|every| [false, true].into_iter().find(|last| is(every, *last)).map(|last| (every, last)));
    let (full_every, full_last) = found.ok_or_else(|| {
        let what = "does not list the last of every so many layers, with or without the last of all";
        keys.error(&place("full_attn_layers"), what, "only such hybrids can be imported")
    })?;
    let from = keys.place(&place("full_attn_layers"));
    keys.report.take("delta_net.full_every", full_every, from);
    Ok(GatedDeltaNet {
        key_heads: heads,
        value_heads: heads,
        key_head: head,
        value_head: head,
        conv,
        full_every,
        full_last,
        gate_rank: Some(head),
    })
}

/// The interval of full-attention layers. `layer_types` lists every layer and overrides `full_attention_interval`.
fn full_every(keys: &mut Keys<'_>, layers: u32) -> Result<u32, Problem> {
    /// The class's default interval.
    const USUAL: u32 = 4;
    let said = keys.count("delta_net.full_every", &["full_attention_interval"])?;
    let Some(types) = keys.list("layer_types")? else {
        if said.is_none() {
            keys.assume("delta_net.full_every", USUAL, "full_attention_interval");
        }
        return Ok(said.unwrap_or(USUAL));
    };
    let regular = |every: &u32| {
        let expected = (1..=layers)
            .map(|count| if u32::is_multiple_of(count, *every) { "full_attention" } else { "linear_attention" });
        types.iter().map(|kind| kind.as_str()).eq(expected.map(Some))
    };
    (2..=layers).find(regular).ok_or_else(|| {
        let what =
            "does not have full_attention in the last of every so many layers, and linear_attention in the others";
        keys.error("layer_types", what, "only such hybrids can be imported")
    })
}
