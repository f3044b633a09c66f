//! Which layers of a configuration have a gated delta net, and its shape.

use shardscope_engine::model::GatedDeltaNet;

use super::family::Family;
use super::keys::Keys;
use shardscope_engine::problem::Problem;

/// The gated delta net of a model of so many layers, where its class has one.
pub(super) fn read(keys: &mut Keys<'_>, family: &Family, layers: u32) -> Result<Option<GatedDeltaNet>, Problem> {
    if !family.delta_net {
        return Ok(None);
    }
    Ok(Some(GatedDeltaNet {
        key_heads: keys.needed("delta_net.key_heads", &["linear_num_key_heads"])?,
        value_heads: keys.needed("delta_net.value_heads", &["linear_num_value_heads"])?,
        key_head: keys.needed("delta_net.key_head", &["linear_key_head_dim"])?,
        value_head: keys.needed("delta_net.value_head", &["linear_value_head_dim"])?,
        conv: keys.needed("delta_net.conv", &["linear_conv_kernel_dim"])?,
        full_every: full_every(keys, layers)?,
    }))
}

/// The last of how many layers has attention: `layer_types` says it layer by layer, before `full_attention_interval`.
fn full_every(keys: &mut Keys<'_>, layers: u32) -> Result<u32, Problem> {
    /// The interval of the class.
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
